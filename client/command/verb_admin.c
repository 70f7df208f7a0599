/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier admin: orders to nodes of a running platform.
 */
#include "client/command/admin.h"
#include "client/command/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What came of an order: a line for people, an object of a list for programs. */
static void done(const struct command_line *command, json_t *list, const char *node, const char *what,
                 const char *remark)
{
    if (command->json)
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s}", "node", node, "done", what, "remark", remark));
    else
        printf("%s: %s%s%s\n", node, what, *remark ? ", " : "", remark);
}

/* What orders are given by: the tree as it is now, and what has come of them. */
struct orders {
    const struct command_line *command;
    struct view view;
    json_t *list;
};

static enum exit_code finish(const struct command_line *command, enum exit_code code, json_t *list)
{
    grpc_finalize();
    if (code == EXIT_DONE && command->json)
        return command_json(list);
    json_decref(list);
    return code == EXIT_DONE ? command_flush() : code;
}

/* Between opening and closing: `give` gives the orders. */
static enum exit_code with_view(const struct command_line *command,
                                enum exit_code (*give)(struct orders *orders, const void *arg),
                                const void *arg)
{
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    struct orders orders = {.command = command, .list = json_array()};
    code = view_open(command, &orders.view);
    if (code == EXIT_DONE)
        code = give(&orders, arg);
    view_close(&orders.view);
    return finish(command, code, orders.list);
}

/* One order to one node, and a line about it. */
static enum exit_code tell(struct orders *orders, const struct esp_node *node, const char *verb,
                           const char *const *words, size_t n_words, const char *what)
{
    char *text = NULL;
    enum exit_code code =
        admin_order(orders->command, &orders->view, node, verb, words, n_words, NULL, &text);
    if (code == EXIT_DONE)
        done(orders->command, orders->list, node->name, what, text);
    free(text);
    return code;
}

/* ---- move ---- */

static enum exit_code move(struct orders *orders, const void *to)
{
    const struct command_line *command = orders->command;
    const struct view *view = &orders->view;
    const struct esp_node *node = view_find(command, view, command->operands[0]);
    const char *parent = to;
    uint64_t generation = 0;
    char *text = NULL, what[300], remark[300] = "";
    if (!node || !view_find(command, view, parent))
        return EXIT_USAGE;
    /* What was looked at is what is changed. */
    const struct esp_node *top = view_top(view, node);
    enum exit_code code = admin_order(command, view, top ? top : node, "look", NULL, 0, &generation, NULL);
    if (code == EXIT_DONE)
        code = admin_order(command, view, node, "move", &parent, 1, &generation, &text);
    if (code == EXIT_DONE && *node->parent)
        snprintf(remark, sizeof remark, "was below %.100s%s%.100s", node->parent, *text ? ", " : "", text);
    free(text);
    if (code != EXIT_DONE)
        return code;
    snprintf(what, sizeof what, "moved below %.200s", parent);
    done(command, orders->list, node->name, what, remark);
    return EXIT_DONE;
}

enum exit_code verb_admin_move(const struct command_line *command)
{
    const char *to = command_option_value(command, "to");
    if (!to)
        return command_usage(command, "expected --to PARENT, the agent that '%s' is to be below",
                             command->operands[0]);
    return with_view(command, move, to);
}

/* ---- drain, undrain, reload, stop: each node that is named ---- */

/* To the node, or, of an agent, to each server below it; NULL: to all. */
static enum exit_code tell_servers(struct orders *orders, const struct esp_node *top, const char *verb,
                                   const char *const *words, size_t n_words, const char *what)
{
    const struct view *view = &orders->view;
    enum exit_code code = EXIT_DONE, one;
    size_t told = 0;
    for (size_t i = 0; i < view->n; i++) {
        const struct esp_node *node = &view->nodes[i];
        if (node->role != ESP_ROLE_SERVER || node->unreachable || (top && !view_is_within(view, node, top)))
            continue;
        one = tell(orders, node, verb, words, n_words, what);
        code = code == EXIT_DONE ? one : code;
        told++;
    }
    if (told > 0)
        return code;
    struct esp_error error;
    error_set(&error, ESP_NO_SERVER, "there is no server below '%s' that could be told",
              top ? top->name : "the platform");
    return command_fail(orders->command, &error);
}

/* "cut", where nodes below may be cut off; the number of words. */
static size_t cut_word(const struct command_line *command, const char **word)
{
    *word = "cut";
    return command_option_value(command, "cut") != NULL;
}

struct order {
    const char *verb, *what;
    bool servers; /* it is for servers */
};

static enum exit_code each(struct orders *orders, const void *arg)
{
    const struct order *order = arg;
    const struct command_line *command = orders->command;
    const char *cut;
    const size_t n_cut = cut_word(command, &cut);
    enum exit_code code = EXIT_DONE;
    for (int i = 0; i < command->n_operands && code == EXIT_DONE; i++) {
        const struct esp_node *node = view_find(command, &orders->view, command->operands[i]);
        if (!node)
            code = EXIT_USAGE;
        else if (order->servers)
            code = tell_servers(orders, node, order->verb, NULL, 0, order->what);
        else
            code = tell(orders, node, order->verb, &cut, n_cut, order->what);
    }
    return code;
}

enum exit_code verb_admin_drain(const struct command_line *command)
{
    return with_view(command, each, &(struct order){"drain", "takes no new sessions", true});
}

enum exit_code verb_admin_undrain(const struct command_line *command)
{
    return with_view(command, each, &(struct order){"undrain", "takes sessions again", true});
}

enum exit_code verb_admin_reload(const struct command_line *command)
{
    return with_view(command, each, &(struct order){"reload", "reads its files again", false});
}

enum exit_code verb_admin_stop(const struct command_line *command)
{
    return with_view(command, each, &(struct order){"stop", "stops", false});
}

/* ---- disable, enable ---- */

static enum exit_code switch_problems(struct orders *orders, const void *arg)
{
    const struct order *order = arg;
    const struct command_line *command = orders->command;
    const char *on = command_option_value(command, "on");
    const struct esp_node *top = on ? view_find(command, &orders->view, on) : NULL;
    if (on && !top)
        return EXIT_USAGE;
    return tell_servers(orders, top, order->verb, (const char *const *)command->operands,
                        (size_t)command->n_operands, order->what);
}

enum exit_code verb_admin_disable(const struct command_line *command)
{
    return with_view(command, switch_problems,
                     &(struct order){"disable", "does not solve them any more", true});
}

enum exit_code verb_admin_enable(const struct command_line *command)
{
    return with_view(command, switch_problems, &(struct order){"enable", "solves them again", true});
}

/* ---- remove ---- */

/* Waits until nothing runs on it or waits there; what is not seen any more has ended too. */
static enum exit_code wait_idle(const struct command_line *command, const char *name, double patience_s)
{
    const struct timespec pause = {.tv_nsec = 300 * 1000000L};
    for (double waited_s = 0;; waited_s += 0.3) {
        struct view view;
        unsigned busy = 0;
        enum exit_code code = view_open(command, &view);
        if (code != EXIT_DONE)
            return code;
        for (size_t i = 0; i < view.n; i++)
            if (strcmp(view.nodes[i].name, name) == 0 && !view.nodes[i].unreachable)
                busy = view.nodes[i].running + view.nodes[i].queued;
        view_close(&view);
        if (busy == 0)
            return EXIT_DONE;
        if (patience_s > 0 && waited_s >= patience_s) {
            struct esp_error error;
            error_set(&error, ESP_TIMEOUT,
                      "'%s' still has %u sessions; it takes no new ones and has not been stopped", name,
                      busy);
            return command_fail(command, &error);
        }
        if (waited_s >= 1)
            command_progress(command, "%s: %u sessions to go", name, busy);
        nanosleep(&pause, NULL);
    }
}

static enum exit_code remove_one(struct orders *orders, const struct esp_node *node, double patience_s)
{
    const char *cut;
    const size_t n_cut = cut_word(orders->command, &cut);
    enum exit_code code = EXIT_DONE;
    if (node->role == ESP_ROLE_SERVER)
        code = admin_order(orders->command, &orders->view, node, "drain", NULL, 0, NULL, NULL);
    if (code == EXIT_DONE && node->role == ESP_ROLE_SERVER)
        code = wait_idle(orders->command, node->name, patience_s);
    return code == EXIT_DONE ? tell(orders, node, "stop", &cut, n_cut, "removed") : code;
}

static enum exit_code remove_each(struct orders *orders, const void *patience_s)
{
    const struct command_line *command = orders->command;
    enum exit_code code = EXIT_DONE;
    for (int i = 0; i < command->n_operands && code == EXIT_DONE; i++) {
        const struct esp_node *node = view_find(command, &orders->view, command->operands[i]);
        code = node ? remove_one(orders, node, *(const double *)patience_s) : EXIT_USAGE;
    }
    return code;
}

enum exit_code verb_admin_remove(const struct command_line *command)
{
    double patience_s = 0;
    struct esp_error error;
    if (session_timeout(command, &patience_s, &error) != ESP_OK)
        return command_usage(command, "%s", error.text);
    return with_view(command, remove_each, &patience_s);
}
