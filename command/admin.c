/* SPDX-License-Identifier: Apache-2.0 */
#include "command/admin.h"

#include "command/namesakes.h"
#include "command/session.h"
#include "util/clock.h"
#include "util/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A node that the tree has just shown and that nobody finds now is on its way to another parent, or one above
 * it is: so long it may be so. */
#define ORDER_PATIENCE_NS (5 * NS_PER_S)
#define ORDER_PAUSE_NS    (50 * NS_PER_MS)

enum exit_code view_open(const struct command_line *command, struct view *view)
{
    *view = (struct view){0};
    if (esp_tree(NULL, &view->nodes, &view->n) == ESP_OK)
        return EXIT_DONE;
    return session_fail(command);
}

void view_close(struct view *view)
{
    esp_tree_free(view->nodes);
    *view = (struct view){0};
}

static const struct esp_node *find(const struct view *view, const char *name)
{
    for (size_t i = 0; i < view->n; i++)
        if (strcmp(view->nodes[i].name, name) == 0)
            return &view->nodes[i];
    return NULL;
}

const struct esp_node *view_find(const struct command_line *command, const struct view *view,
                                 const char *name)
{
    const struct esp_node *node = find(view, name);
    const struct esp_node *other = node ? namesake_of(view->nodes, view->n, node) : NULL;
    if (node && !other)
        return node;
    struct esp_error error;
    if (other) {
        error_set(
            &error, ESP_INVALID,
            "two nodes are named '%s', at %s below '%s' and at %s below '%s': say which by the agent at "
            "the top of its tree (--agent HOST:PORT), or give one another name (name in its file)",
            name, node->address, node->parent, other->address, other->parent);
        command_fail(command, &error);
        return NULL;
    }
    const char **names = calloc(view->n + 1, sizeof *names);
    for (size_t i = 0; names && i < view->n; i++)
        names[i] = view->nodes[i].name;
    const char *closest = names ? names_closest(name, names, view->n) : NULL;
    error_set(&error, ESP_INVALID,
              "the platform has no node named '%s'%s%s%s ('espalier tree' shows them; "
              "'espalier admin add FILE' starts one that has ended, by its configuration file)",
              name, closest ? "; did you mean '" : "", closest ? closest : "", closest ? "'?" : "");
    free(names);
    command_fail(command, &error);
    return NULL;
}

const struct esp_node *view_there(const struct view *view, const char *name)
{
    const struct esp_node *node = find(view, name);
    return node && !node->unreachable ? node : NULL;
}

const struct esp_node *view_parent(const struct view *view, const struct esp_node *node)
{
    return *node->parent ? find(view, node->parent) : NULL;
}

const struct esp_node *view_top(const struct view *view, const struct esp_node *node)
{
    /* As many steps as there are nodes, whatever the names say. */
    for (size_t i = 0; i <= view->n && node->role != ESP_ROLE_MASTER; i++) {
        const struct esp_node *parent = view_parent(view, node);
        if (!parent || parent->role == ESP_ROLE_REDIRECTOR)
            break;
        node = parent;
    }
    return node->role == ESP_ROLE_REDIRECTOR ? NULL : node;
}

unsigned view_depth(const struct view *view, const struct esp_node *node)
{
    unsigned depth = 0;
    while (depth <= view->n && (node = view_parent(view, node)))
        depth++;
    return depth;
}

bool view_is_within(const struct view *view, const struct esp_node *node, const struct esp_node *top)
{
    for (size_t i = 0; node && i <= view->n; i++) {
        if (node == top)
            return true;
        node = view_parent(view, node);
    }
    return false;
}

/* What the top of a tree says of an order is not about the command's own input files. A node that the view
 * has, and that is not found, cannot be reached. */
static enum exit_code refused(const struct command_line *command)
{
    struct esp_error error = *esp_last_error();
    enum exit_code code = command_fail(command, &error);
    return error.status == ESP_SYNTAX || error.status == ESP_INVALID ? EXIT_USAGE
           : error.status == ESP_NOT_FOUND                           ? EXIT_UNREACHABLE
           : code == EXIT_INPUT                                      ? EXIT_FAILED
                                                                     : code;
}

enum esp_status admin_send(const struct view *view, const struct esp_node *node, const char *verb,
                           const char *const *words, size_t n_words, uint64_t *generation, char **text)
{
    const struct timespec pause = {.tv_nsec = ORDER_PAUSE_NS};
    const struct esp_node *top = view_top(view, node);
    if (!top)
        top = node; /* a redirector: what can be said to it, it does itself */
    const int64_t until_ns = clock_now_ns(&clock_system) + ORDER_PATIENCE_NS;
    enum esp_status status;
    while ((status = esp_administer(top->address, node->name, verb, words, n_words, generation, text)) ==
               ESP_NOT_FOUND &&
           !node->unreachable && clock_now_ns(&clock_system) < until_ns)
        nanosleep(&pause, NULL);
    return status;
}

enum exit_code admin_order(const struct command_line *command, const struct view *view,
                           const struct esp_node *node, const char *verb, const char *const *words,
                           size_t n_words, uint64_t *generation, char **text)
{
    return admin_send(view, node, verb, words, n_words, generation, text) == ESP_OK ? EXIT_DONE
                                                                                    : refused(command);
}

/* ---- orders, one after the other ---- */

void orders_done(struct orders *orders, const char *node, const char *what, const char *remark)
{
    orders->told++;
    if (orders->command->json)
        json_array_append_new(orders->list, json_pack("{s:s, s:s, s:o}", "node", node, "done", what, "remark",
                                                      command_json_text(remark)));
    else
        printf("%s: %s%s%s\n", node, what, *remark ? ", " : "", remark);
}

static enum exit_code finish(const struct command_line *command, enum exit_code code, json_t *list)
{
    grpc_finalize();
    if (code == EXIT_DONE && command->json)
        return command_json(list);
    json_decref(list);
    return code == EXIT_DONE ? command_flush() : code;
}

static enum exit_code run(const struct command_line *command, enum exit_code opened,
                          enum exit_code (*give)(struct orders *orders, const void *arg), const void *arg)
{
    enum exit_code code = opened;
    if (code != EXIT_DONE)
        return code;
    struct orders orders = {.command = command, .list = json_array()};
    code = view_open(command, &orders.view);
    if (code == EXIT_DONE)
        code = give(&orders, arg);
    view_close(&orders.view);
    return finish(command, code, orders.list);
}

enum exit_code orders_run(const struct command_line *command,
                          enum exit_code (*give)(struct orders *orders, const void *arg), const void *arg)
{
    return run(command, session_within(command, session_open(command)), give, arg);
}

enum exit_code orders_run_patiently(const struct command_line *command,
                                    enum exit_code (*give)(struct orders *orders, const void *arg),
                                    const void *arg)
{
    return run(command, session_open(command), give, arg);
}

enum exit_code orders_tell(struct orders *orders, const struct esp_node *node, const char *verb,
                           const char *const *words, size_t n_words, const char *what)
{
    char *text = NULL;
    enum exit_code code =
        admin_order(orders->command, &orders->view, node, verb, words, n_words, NULL, &text);
    if (code == EXIT_DONE)
        orders_done(orders, node->name, what, text);
    free(text);
    return code;
}

/* ---- the end of a node ---- */

/* Results of jobs that ended while the server was drained are fetched in a moment where somebody waits. */
static enum exit_code spare_last(struct orders *orders, const struct esp_node *node, bool for_good)
{
    const struct timespec pause = {.tv_nsec = ORDER_PAUSE_NS};
    const int64_t until_ns = clock_now_ns(&clock_system) + ORDER_PATIENCE_NS;
    struct esp_error error;
    while (orders_would_lose(orders, node, for_good, &error)) {
        if (clock_now_ns(&clock_system) >= until_ns) {
            const enum exit_code code = command_fail(orders->command, &error);
            if (!node->draining)
                admin_order(orders->command, &orders->view, node, "undrain", NULL, 0, NULL, NULL);
            return code;
        }
        nanosleep(&pause, NULL);
    }
    return EXIT_DONE;
}

/* Whoever starts it again wants it to work; clients wait for one that is, and not for one that goes. An older
 * server does not tell the two apart. It holds for DUTY_BRIEF_NS (services/duty.h). */
static enum exit_code drain_briefly(struct orders *orders, const struct esp_node *node, bool for_good)
{
    const char *briefly = "briefly";
    if (for_good && admin_send(&orders->view, node, "retire", NULL, 0, NULL, NULL) == ESP_OK)
        return EXIT_DONE;
    return admin_order(orders->command, &orders->view, node, "drain", &briefly, 1, NULL, NULL);
}

/* How many sessions run on the server or wait there; what is not seen any more has ended too. */
static enum exit_code count_sessions(const struct command_line *command, const char *name, unsigned *busy)
{
    struct view view;
    enum exit_code code = view_open(command, &view);
    *busy = 0;
    for (size_t i = 0; code == EXIT_DONE && i < view.n; i++)
        if (strcmp(view.nodes[i].name, name) == 0 && !view.nodes[i].unreachable)
            *busy = view.nodes[i].running + view.nodes[i].queued;
    if (code == EXIT_DONE)
        view_close(&view);
    return code;
}

#define IDLE_PAUSE_NS  (300 * NS_PER_MS)
#define DRAIN_AGAIN_NS (5 * NS_PER_S)

/* Until nothing runs on the server or waits there, or it took longer than `patience_s` (0: any time), which
 * is said. Whoever is interrupted here leaves a server that soon takes sessions again. */
static enum exit_code wait_idle(struct orders *orders, const struct esp_node *node, bool for_good,
                                double patience_s)
{
    const struct timespec pause = {.tv_nsec = IDLE_PAUSE_NS};
    const int64_t begun_ns = clock_now_ns(&clock_system);
    int64_t drained_ns = begun_ns, told_ns = begun_ns;
    unsigned busy;
    enum exit_code code;
    while ((code = count_sessions(orders->command, node->name, &busy)) == EXIT_DONE && busy > 0) {
        const int64_t now_ns = clock_now_ns(&clock_system);
        if (patience_s > 0 && (double)(now_ns - begun_ns) / NS_PER_S >= patience_s) {
            struct esp_error error;
            error_set(
                &error, ESP_TIMEOUT,
                "'%s' still has %u session%s; it has not been stopped, and takes new ones again in a moment",
                node->name, busy, busy == 1 ? "" : "s");
            return command_fail(orders->command, &error);
        }
        if (now_ns - drained_ns >= DRAIN_AGAIN_NS) {
            if ((code = drain_briefly(orders, node, for_good)) != EXIT_DONE)
                return code;
            drained_ns = now_ns;
        }
        if (now_ns - told_ns >= NS_PER_S) {
            command_progress(orders->command, "%s: %u session%s to go", node->name, busy,
                             busy == 1 ? "" : "s");
            told_ns = now_ns;
        }
        nanosleep(&pause, NULL);
    }
    return code;
}

enum exit_code orders_make_idle(struct orders *orders, const struct esp_node *node, bool for_good,
                                double patience_s)
{
    if (node->role != ESP_ROLE_SERVER)
        return EXIT_DONE;
    enum exit_code code = orders_spare(orders, node, for_good);
    if (code == EXIT_DONE)
        code = drain_briefly(orders, node, for_good);
    if (code == EXIT_DONE)
        code = wait_idle(orders, node, for_good, patience_s);
    return code == EXIT_DONE ? spare_last(orders, node, for_good) : code;
}

enum exit_code orders_end(struct orders *orders, const struct esp_node *node, const char *verb, bool for_good,
                          uint64_t *generation, char **text)
{
    const char *words[4];
    size_t n = 0;
    if (command_option_value(orders->command, "cut"))
        words[n++] = "cut";
    if (command_option_value(orders->command, "force"))
        words[n++] = "lose";
    if (for_good)
        words[n++] = "removed";
    if (for_good && orders->kept.node == node)
        words[n++] = orders->kept.word;
    return admin_order(orders->command, &orders->view, node, verb, words, n, generation, text);
}

enum exit_code orders_wait_gone(const struct command_line *command, const char *name, double patience_s)
{
    const struct timespec pause = {.tv_nsec = 100 * 1000000L};
    for (double waited_s = 0;; waited_s += 0.1) {
        struct view view;
        enum exit_code code = view_open(command, &view);
        if (code != EXIT_DONE)
            return code;
        const struct esp_node *node = find(&view, name);
        const bool there = node && !node->unreachable;
        view_close(&view);
        if (!there)
            return EXIT_DONE;
        if (waited_s >= patience_s) {
            struct esp_error error;
            error_set(&error, ESP_TIMEOUT, "'%s' was told to stop and is still there after %.3g s", name,
                      patience_s);
            return command_fail(command, &error);
        }
        nanosleep(&pause, NULL);
    }
}
