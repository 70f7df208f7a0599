/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier admin restart: daemons are run again one after the other, so that the platform goes on working.
 */
#include "command/admin.h"
#include "command/offers.h"
#include "command/session.h"
#include "command/verbs.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATIENCE_S 60.0 /* with one daemon, unless --timeout says */
#define POLL_NS    (100 * NS_PER_MS)
#define ASK_NS     NS_PER_S

/* What the platform has to be again before the next daemon goes. */
struct whole {
    struct orders *orders;
    uint64_t offers; /* problems, each counted as often as there are servers for it */
    double idle_s, patience_s;
};

/* As the agents know it. */
static uint64_t count_offers(void)
{
    struct esp_problem_entry *entries = NULL;
    size_t n = 0;
    uint64_t offers = 0;
    if (esp_problem_list(&entries, &n) != ESP_OK)
        return 0;
    for (size_t i = 0; i < n; i++)
        offers += entries[i].servers;
    esp_problem_list_free(entries);
    return offers;
}

/* The first node that was there and is not; NULL: all are. `node` must have been started since. */
static const struct esp_node *first_missing(const struct view *before, const struct view *now,
                                            const struct esp_node *node)
{
    for (size_t i = 0; i < before->n; i++) {
        const struct esp_node *wanted = &before->nodes[i], *found = NULL;
        for (size_t k = 0; k < now->n && !found; k++)
            if (strcmp(now->nodes[k].name, wanted->name) == 0)
                found = &now->nodes[k];
        if (wanted->unreachable)
            continue;
        if (!found || found->unreachable || (wanted == node && found->incarnation == node->incarnation))
            return wanted;
    }
    return NULL;
}

/* ---- who went to a refuge ---- */

static bool has_parent(const struct view *view, const struct esp_node *node)
{
    return (node->role == ESP_ROLE_LEADER || node->role == ESP_ROLE_SERVER) && !node->unreachable &&
           view_parent(view, node);
}

/* How many the tree shows of that name, and whether one is below that parent; *other: another one. */
static unsigned count_shown(const struct view *view, const char *name, const char *parent, bool *below,
                            const struct esp_node **other)
{
    unsigned n = 0;
    *below = false;
    *other = NULL;
    for (size_t i = 0; i < view->n; i++) {
        const struct esp_node *node = &view->nodes[i];
        if (node->unreachable || strcmp(node->name, name) != 0)
            continue;
        n++;
        if (strcmp(node->parent, parent) == 0)
            *below = true;
        else
            *other = node;
    }
    return n;
}

/* Told where its parent is now, it goes there at once. True: it belongs where it is, or is of a version that
 * does not say. */
static bool belongs_there(const struct view *now, const struct esp_node *node, const char *parent)
{
    const struct esp_node *top = view_top(now, node), *above = view_there(now, parent);
    const char *address = above ? above->address : "";
    char *home = NULL;
    if (!top || !above)
        return false;
    const enum esp_status status = esp_administer(top->address, node->name, "home", &address, 1, NULL, &home);
    const bool belongs = status == ESP_INVALID || (status == ESP_OK && !*home);
    free(home);
    return belongs;
}

/* The first node that is not below the parent that it had, but at a refuge, or at both; NULL: none is.
 * `stays`: of each node, whether it belongs where it is; those that are away are asked when `ask`. */
static const struct esp_node *first_away(const struct view *before, const struct view *now, bool *stays,
                                         bool ask)
{
    const struct esp_node *first = NULL, *other;
    bool below, was_below;
    for (size_t i = 0; i < before->n; i++) {
        const struct esp_node *wanted = &before->nodes[i];
        if (stays[i] || !has_parent(before, wanted) ||
            count_shown(before, wanted->name, wanted->parent, &was_below, &other) > 1 ||
            (count_shown(now, wanted->name, wanted->parent, &below, &other) == 1 && below))
            continue;
        stays[i] = ask && !below && other && belongs_there(now, other, wanted->parent);
        if (!stays[i] && !first)
            first = wanted;
    }
    return first;
}

/* Waiting for that. */
struct wait {
    const struct whole *whole;
    const struct esp_node *node; /* which was told to start again */
    bool *stays;                 /* as first_away() has it */
    int64_t ask_ns;              /* when those that are away are asked next */
    char missing[700];
};

/* A tree that cannot be had now is one that is not whole: its top may be what starts again. */
static bool is_whole(struct wait *wait)
{
    struct view now = {0};
    const struct view *before = &wait->whole->orders->view;
    const struct esp_node *first = wait->node, *away = NULL;
    const int64_t now_ns = clock_now_ns(&clock_system);
    if (esp_tree(NULL, &now.nodes, &now.n) == ESP_OK)
        first = first_missing(before, &now, wait->node);
    if (!first) {
        away = first_away(before, &now, wait->stays, now_ns >= wait->ask_ns);
        wait->ask_ns = now_ns >= wait->ask_ns ? now_ns + ASK_NS : wait->ask_ns;
    }
    view_close(&now);
    if (first)
        snprintf(wait->missing, sizeof wait->missing, "'%s'", first->name);
    else if (away)
        snprintf(wait->missing, sizeof wait->missing, "'%s' below '%s'", away->name, away->parent);
    else if (count_offers() < wait->whole->offers)
        snprintf(wait->missing, sizeof wait->missing, "what the servers solve");
    else
        return true;
    return false;
}

static enum exit_code await_whole(struct wait *wait)
{
    const struct whole *whole = wait->whole;
    const struct command_line *command = whole->orders->command;
    const struct timespec pause = {.tv_nsec = POLL_NS};
    const int64_t begun_ns = clock_now_ns(&clock_system);
    int64_t told_ns = begun_ns + NS_PER_S;
    while (!is_whole(wait)) {
        const int64_t now_ns = clock_now_ns(&clock_system);
        if ((double)(now_ns - begun_ns) / NS_PER_S >= whole->patience_s) {
            struct esp_error error;
            error_set(&error, ESP_TIMEOUT,
                      "after the restart of '%s', %s is not there again within %.3g s: nothing more is "
                      "restarted; its log tells why",
                      wait->node->name, wait->missing, whole->patience_s);
            return command_fail(command, &error);
        }
        if (now_ns >= told_ns) {
            command_progress(command, "%s: waiting for %s", wait->node->name, wait->missing);
            told_ns = now_ns + NS_PER_S;
        }
        nanosleep(&pause, NULL);
    }
    return EXIT_DONE;
}

static enum exit_code wait_whole(const struct whole *whole, const struct esp_node *node)
{
    struct wait wait = {
        .whole = whole, .node = node, .stays = calloc(whole->orders->view.n + 1, sizeof *wait.stays)};
    struct esp_error error;
    if (!wait.stays) {
        error_no_memory(&error, "the tree");
        return command_fail(whole->orders->command, &error);
    }
    const enum exit_code code = await_whole(&wait);
    free(wait.stays);
    return code;
}

static enum exit_code restart_one(const struct whole *whole, const struct esp_node *node)
{
    struct orders *orders = whole->orders;
    const int64_t begun_ns = clock_now_ns(&clock_system);
    enum exit_code code = orders_make_idle(orders, node, false, whole->idle_s);
    if (code == EXIT_DONE)
        code = orders_end(orders, node, "restart", false, NULL, NULL);
    if (code == EXIT_DONE)
        code = wait_whole(whole, node);
    char remark[60];
    snprintf(remark, sizeof remark, "%.1f s", (double)(clock_now_ns(&clock_system) - begun_ns) / NS_PER_S);
    if (code == EXIT_DONE)
        orders_done(orders, node->name, "restarted", remark);
    return code;
}

/* ---- the whole platform ---- */

/* Those so far below the top: the servers, or the agents. */
static enum exit_code restart_level(const struct whole *whole, bool servers, unsigned depth)
{
    const struct view *view = &whole->orders->view;
    enum exit_code code = EXIT_DONE;
    for (size_t i = 0; i < view->n && code == EXIT_DONE; i++) {
        const struct esp_node *node = &view->nodes[i];
        if ((node->role == ESP_ROLE_SERVER) == servers && view_depth(view, node) == depth &&
            !node->unreachable)
            code = restart_one(whole, node);
    }
    return code;
}

/* One that says nothing may be stopped, and goes on with the program that it has. */
static enum exit_code tell_silent(const struct whole *whole)
{
    const struct view *view = &whole->orders->view;
    enum exit_code code = EXIT_DONE;
    for (size_t i = 0; i < view->n; i++)
        if (view->nodes[i].unreachable) {
            fprintf(
                stderr,
                "espalier %s: '%s' at %s does not answer, and was not restarted: if it has ended, start it "
                "with 'espalier admin add FILE' (its configuration file)\n",
                whole->orders->command->verb->name, view->nodes[i].name, view->nodes[i].address);
            code = EXIT_UNREACHABLE;
        }
    return code;
}

/* From below: an agent that starts again learns at once from those that are whole. */
static enum exit_code restart_all(const struct whole *whole)
{
    const struct view *view = &whole->orders->view;
    enum exit_code code = EXIT_DONE;
    unsigned deepest = 0;
    for (size_t i = 0; i < view->n; i++)
        if (view_depth(view, &view->nodes[i]) > deepest)
            deepest = view_depth(view, &view->nodes[i]);
    for (unsigned depth = deepest + 1; depth-- > 0 && code == EXIT_DONE;)
        code = restart_level(whole, true, depth);
    for (unsigned depth = deepest + 1; depth-- > 0 && code == EXIT_DONE;)
        code = restart_level(whole, false, depth);
    return code == EXIT_DONE ? tell_silent(whole) : code;
}

/* Agents hear of what was disabled a moment ago, or left out of a file, in a moment: servers know it. */
static uint64_t count_wanted(const struct view *view)
{
    uint64_t told, known = count_offers();
    return offers_count(view, &told) && told < known ? told : known;
}

static struct whole whole_of(struct orders *orders, double idle_s)
{
    return (struct whole){.orders = orders,
                          .offers = count_wanted(&orders->view),
                          .idle_s = idle_s,
                          .patience_s = idle_s > 0 ? idle_s : PATIENCE_S};
}

/* The tree is another one with each restart; what has to be there again is as it is now. */
enum exit_code orders_restart(struct orders *orders, const char *name, double idle_s)
{
    view_close(&orders->view);
    enum exit_code code = view_open(orders->command, &orders->view);
    const struct esp_node *node = code == EXIT_DONE ? view_find(orders->command, &orders->view, name) : NULL;
    const struct whole whole = whole_of(orders, idle_s);
    return node ? restart_one(&whole, node) : code == EXIT_DONE ? EXIT_USAGE : code;
}

/* Before the first one goes: nobody wants half a platform restarted. */
static enum exit_code spare_all(struct orders *orders)
{
    const struct command_line *command = orders->command;
    const struct view *view = &orders->view;
    enum exit_code code = EXIT_DONE;
    for (size_t i = 0; command->n_operands == 0 && i < view->n && code == EXIT_DONE; i++)
        if (!view->nodes[i].unreachable)
            code = orders_spare(orders, &view->nodes[i], false);
    for (int i = 0; i < command->n_operands && code == EXIT_DONE; i++) {
        const struct esp_node *node = view_find(command, view, command->operands[i]);
        code = node ? orders_spare(orders, node, false) : EXIT_USAGE;
    }
    return code;
}

/* Before the first one goes. A daemon that has ended cannot start itself again. */
static enum exit_code check_running(const struct orders *orders)
{
    const struct command_line *command = orders->command;
    for (int i = 0; i < command->n_operands; i++) {
        const struct esp_node *node = view_find(command, &orders->view, command->operands[i]);
        struct esp_error error;
        if (!node)
            return EXIT_USAGE;
        if (!node->unreachable)
            continue;
        error_set(&error, ESP_UNREACHABLE,
                  "'%s' at %s does not answer, so it cannot restart itself: if it has ended, start it with "
                  "'espalier admin add FILE' (its configuration file), or as its machine starts services",
                  node->name, node->address);
        return command_fail(command, &error);
    }
    return EXIT_DONE;
}

static enum exit_code restart(struct orders *orders, const void *idle_s)
{
    const struct command_line *command = orders->command;
    const struct whole whole = whole_of(orders, *(const double *)idle_s);
    enum exit_code code = check_running(orders);
    if (code == EXIT_DONE)
        code = spare_all(orders);
    if (code != EXIT_DONE)
        return code;
    if (command->n_operands == 0)
        return restart_all(&whole);
    for (int i = 0; i < command->n_operands && code == EXIT_DONE; i++) {
        code = orders_restart(orders, command->operands[i], *(const double *)idle_s);
        for (int k = i + 1; k < command->n_operands && code != EXIT_DONE; k++)
            fprintf(stderr, "espalier %s: '%s' was not restarted\n", command->verb->name,
                    command->operands[k]);
    }
    return code;
}

enum exit_code verb_admin_restart(const struct command_line *command)
{
    double idle_s = 0;
    struct esp_error error;
    if (session_timeout(command, &idle_s, &error) != ESP_OK)
        return command_usage(command, "%s", error.text);
    return orders_run_patiently(command, restart, &idle_s);
}
