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

static enum exit_code finish(const struct command_line *command, enum exit_code code, json_t *list)
{
    grpc_finalize();
    if (code == EXIT_DONE && command->json)
        return command_json(list);
    json_decref(list);
    return code == EXIT_DONE ? command_flush() : code;
}

/* One order to one node, and a line about it. */
static enum exit_code tell(const struct command_line *command, const struct view *view,
                           const struct esp_node *node, const char *verb, const char *const *words,
                           size_t n_words, const char *what, json_t *list)
{
    char *text = NULL;
    enum exit_code code = admin_order(command, view, node, verb, words, n_words, NULL, &text);
    if (code == EXIT_DONE)
        done(command, list, node->name, what, text);
    free(text);
    return code;
}

/* ---- move ---- */

enum exit_code verb_admin_move(const struct command_line *command)
{
    const char *to = command_option_value(command, "to");
    if (!to)
        return command_usage(command, "expected --to PARENT, the agent that '%s' is to be below",
                             command->operands[0]);
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    struct view view;
    json_t *list = json_array();
    code = view_open(command, &view);
    const struct esp_node *node = code == EXIT_DONE ? view_find(command, &view, command->operands[0]) : NULL;
    const struct esp_node *parent = node ? view_find(command, &view, to) : NULL;
    if (code == EXIT_DONE && !parent)
        code = EXIT_USAGE;
    char remark[300] = "";
    uint64_t generation = 0;
    if (code == EXIT_DONE) /* what was looked at is what is changed */
        code = admin_order(command, &view, view_top(&view, node) ? view_top(&view, node) : node, "look", NULL,
                           0, &generation, NULL);
    if (code == EXIT_DONE) {
        char *text = NULL;
        code = admin_order(command, &view, node, "move", &to, 1, &generation, &text);
        if (code == EXIT_DONE && *node->parent)
            snprintf(remark, sizeof remark, "was below %.100s%s%.100s", node->parent, *text ? ", " : "",
                     text);
        free(text);
    }
    if (code == EXIT_DONE) {
        char what[300];
        snprintf(what, sizeof what, "moved below %.200s", to);
        done(command, list, node->name, what, remark);
    }
    view_close(&view);
    return finish(command, code, list);
}

/* ---- drain, undrain, reload, stop: each node that is named ---- */

/* To the node, or, of an agent, to each server below it. */
static enum exit_code tell_servers(const struct command_line *command, const struct view *view,
                                   const struct esp_node *top, const char *verb, const char *const *words,
                                   size_t n_words, const char *what, json_t *list)
{
    enum exit_code code = EXIT_DONE, one;
    size_t told = 0;
    for (size_t i = 0; i < view->n; i++) {
        const struct esp_node *node = &view->nodes[i];
        if (node->role != ESP_ROLE_SERVER || node->unreachable || (top && !view_is_within(view, node, top)))
            continue;
        one = tell(command, view, node, verb, words, n_words, what, list);
        code = code == EXIT_DONE ? one : code;
        told++;
    }
    if (told > 0)
        return code;
    struct esp_error error;
    error_set(&error, ESP_NO_SERVER, "there is no server below '%s' that could be told",
              top ? top->name : "the platform");
    return command_fail(command, &error);
}

struct order {
    const char *verb, *what;
    bool servers; /* it is for servers */
};

static enum exit_code each(const struct command_line *command, const struct order *order)
{
    static const char *const cut = "cut";
    const bool may_cut = command_option_value(command, "cut") != NULL;
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    struct view view;
    json_t *list = json_array();
    code = view_open(command, &view);
    for (int i = 0; i < command->n_operands && code == EXIT_DONE; i++) {
        const struct esp_node *node = view_find(command, &view, command->operands[i]);
        if (!node)
            code = EXIT_USAGE;
        else if (order->servers)
            code = tell_servers(command, &view, node, order->verb, NULL, 0, order->what, list);
        else
            code = tell(command, &view, node, order->verb, &cut, may_cut ? 1 : 0, order->what, list);
    }
    view_close(&view);
    return finish(command, code, list);
}

enum exit_code verb_admin_drain(const struct command_line *command)
{
    static const struct order order = {"drain", "takes no new sessions", true};
    return each(command, &order);
}

enum exit_code verb_admin_undrain(const struct command_line *command)
{
    static const struct order order = {"undrain", "takes sessions again", true};
    return each(command, &order);
}

enum exit_code verb_admin_reload(const struct command_line *command)
{
    static const struct order order = {"reload", "reads its files again", false};
    return each(command, &order);
}

enum exit_code verb_admin_stop(const struct command_line *command)
{
    static const struct order order = {"stop", "stops", false};
    return each(command, &order);
}

/* ---- disable, enable ---- */

static enum exit_code switch_problems(const struct command_line *command, const char *verb, const char *what)
{
    const char *on = command_option_value(command, "on");
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    struct view view;
    json_t *list = json_array();
    code = view_open(command, &view);
    const struct esp_node *top = code == EXIT_DONE && on ? view_find(command, &view, on) : NULL;
    if (code == EXIT_DONE && on && !top)
        code = EXIT_USAGE;
    if (code == EXIT_DONE)
        code = tell_servers(command, &view, top, verb, (const char *const *)command->operands,
                            (size_t)command->n_operands, what, list);
    view_close(&view);
    return finish(command, code, list);
}

enum exit_code verb_admin_disable(const struct command_line *command)
{
    return switch_problems(command, "disable", "does not solve them any more");
}

enum exit_code verb_admin_enable(const struct command_line *command)
{
    return switch_problems(command, "enable", "solves them again");
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

enum exit_code verb_admin_remove(const struct command_line *command)
{
    static const char *const cut = "cut";
    const bool may_cut = command_option_value(command, "cut") != NULL;
    double patience_s = 0;
    struct esp_error error;
    if (session_timeout(command, &patience_s, &error) != ESP_OK)
        return command_usage(command, "%s", error.text);
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    struct view view;
    json_t *list = json_array();
    code = view_open(command, &view);
    for (int i = 0; i < command->n_operands && code == EXIT_DONE; i++) {
        const struct esp_node *node = view_find(command, &view, command->operands[i]);
        if (!node) {
            code = EXIT_USAGE;
            break;
        }
        if (node->role == ESP_ROLE_SERVER)
            code = admin_order(command, &view, node, "drain", NULL, 0, NULL, NULL);
        if (code == EXIT_DONE && node->role == ESP_ROLE_SERVER)
            code = wait_idle(command, node->name, patience_s);
        if (code == EXIT_DONE)
            code = tell(command, &view, node, "stop", &cut, may_cut ? 1 : 0, "removed", list);
    }
    view_close(&view);
    return finish(command, code, list);
}
