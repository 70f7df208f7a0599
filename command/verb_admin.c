/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier admin: orders to nodes of a running platform.
 */
#include "command/admin.h"
#include "command/offers.h"
#include "command/session.h"
#include "command/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- move ---- */

static enum exit_code refuse_redirector(const struct command_line *command)
{
    struct esp_error error;
    error_set(&error, ESP_INVALID,
              "a redirector has no place in a tree: a master agent registers with it as its file says "
              "(redirector)");
    command_fail(command, &error);
    return EXIT_USAGE;
}

/* Whether a node has a parent, and is registered with redirectors, is what its file says. */
static enum exit_code refuse_master(const struct command_line *command, const struct view *view,
                                    const struct esp_node *node, const struct esp_node *above)
{
    struct esp_error error;
    if (view_is_within(view, above, node))
        error_set(&error, ESP_INVALID, "'%s' is below '%s': moved there, the tree would hang on itself",
                  above->name, node->name);
    else
        error_set(
            &error, ESP_INVALID,
            "'%s' is a master agent, and goes below another agent by its file only: write parent = "
            "\"%s\" there in place of its redirector, then 'espalier admin restart %s'. Or move what is "
            "below it ('espalier admin move NODE --to %s')",
            node->name, above->address, node->name, above->name);
    command_fail(command, &error);
    return EXIT_USAGE;
}

static enum exit_code move(struct orders *orders, const void *to)
{
    const struct command_line *command = orders->command;
    const struct view *view = &orders->view;
    const struct esp_node *node = view_find(command, view, command->operands[0]);
    const char *parent[2] = {to, NULL};
    uint64_t generation = 0;
    char *text = NULL, what[300], remark[MOVED_BYTES] = "";
    const struct esp_node *above = node ? view_find(command, view, to) : NULL;
    if (!above)
        return EXIT_USAGE;
    const struct esp_node *top = view_top(view, node);
    if (!top || !view_top(view, above))
        return refuse_redirector(command);
    if (node->role == ESP_ROLE_MASTER)
        return refuse_master(command, view, node, above);
    if (view_top(view, above) != top) /* which the top of its tree does not see */
        parent[1] = above->address;
    /* What was looked at is what is changed. */
    enum exit_code code = admin_order(command, view, top, "look", NULL, 0, &generation, NULL);
    if (code == EXIT_DONE)
        code = admin_order(command, view, node, "move", parent, parent[1] ? 2 : 1, &generation, &text);
    if (code == EXIT_DONE && *node->parent)
        snprintf(remark, sizeof remark, "was below %.100s%s%s", node->parent, *text ? ", " : "", text);
    free(text);
    if (code != EXIT_DONE)
        return code;
    snprintf(what, sizeof what, "moved below %.200s", above->name);
    orders_done(orders, node->name, what, remark);
    return EXIT_DONE;
}

enum exit_code verb_admin_move(const struct command_line *command)
{
    const char *to = command_option_value(command, "to");
    if (!to)
        return command_usage(command, "expected --to PARENT, the agent that '%s' is to be below",
                             command->operands[0]);
    return orders_run(command, move, to);
}

/* ---- drain, undrain, reload: each node that is named ---- */

static bool has_servers(const struct view *view, const struct esp_node *top)
{
    for (size_t i = 0; i < view->n; i++)
        if (view->nodes[i].role == ESP_ROLE_SERVER && view_is_within(view, &view->nodes[i], top))
            return true;
    return false;
}

/* An order did not reach that node. */
static enum exit_code tell_unreached(const struct orders *orders, const struct esp_node *node)
{
    struct esp_error error;
    error_set(&error, ESP_UNREACHABLE,
              "'%s' at %s does not answer, and was not told: say it again when '%s' is back", node->name,
              node->address, node->name);
    return command_fail(orders->command, &error);
}

/* To the node, or, of an agent, to each server below it; NULL: to all. */
static enum exit_code tell_servers(struct orders *orders, const struct esp_node *top, const char *verb,
                                   const char *const *words, size_t n_words, const char *what)
{
    const struct view *view = &orders->view;
    enum exit_code code = EXIT_DONE, one;
    size_t meant = 0;
    for (size_t i = 0; i < view->n; i++) {
        const struct esp_node *node = &view->nodes[i];
        if (node->role != ESP_ROLE_SERVER || (top && !view_is_within(view, node, top)))
            continue;
        one = node->unreachable ? tell_unreached(orders, node)
                                : orders_tell(orders, node, verb, words, n_words, what);
        code = code == EXIT_DONE ? one : code;
        meant++;
    }
    if (meant > 0)
        return code;
    struct esp_error error;
    error_set(&error, ESP_NO_SERVER, "there is no server below '%s' that could be told",
              top ? top->name : "the platform");
    return command_fail(orders->command, &error);
}

struct order {
    const char *verb, *what;
    bool servers;       /* it is for servers */
    const char *agents; /* and comes of it for those that join below an agent later; NULL: nothing */
};

/* An agent, or the master agents of a redirector, first: who joins while the others are told is told by it.
 */
static enum exit_code tell_agents(struct orders *orders, const struct esp_node *top,
                                  const struct order *order)
{
    const struct view *view = &orders->view;
    enum exit_code code = EXIT_DONE, one;
    for (size_t i = 0; i < view->n; i++) {
        const struct esp_node *node = &view->nodes[i];
        const bool is_agent = node->role == ESP_ROLE_MASTER || node->role == ESP_ROLE_LEADER;
        const bool meant =
            node == top || (top->role == ESP_ROLE_REDIRECTOR && view_parent(view, node) == top);
        if (!is_agent || !meant)
            continue;
        one = node->unreachable ? tell_unreached(orders, node)
                                : orders_tell(orders, node, order->verb, NULL, 0, order->agents);
        code = code == EXIT_DONE ? one : code;
    }
    return code;
}

static enum exit_code tell_all(struct orders *orders, const struct esp_node *node, const struct order *order)
{
    const enum exit_code agents = order->agents ? tell_agents(orders, node, order) : EXIT_DONE;
    if (node->role != ESP_ROLE_SERVER && order->agents && !has_servers(&orders->view, node))
        return agents; /* it holds for those that come */
    const enum exit_code servers = tell_servers(orders, node, order->verb, NULL, 0, order->what);
    return agents == EXIT_DONE ? servers : agents;
}

/* Before the first one is told: a misspelt name is no order to half of them. */
static enum exit_code find_all(const struct command_line *command, const struct view *view)
{
    for (int i = 0; i < command->n_operands; i++)
        if (!view_find(command, view, command->operands[i]))
            return EXIT_USAGE;
    return EXIT_DONE;
}

static enum exit_code each(struct orders *orders, const void *arg)
{
    const struct order *order = arg;
    const struct command_line *command = orders->command;
    enum exit_code code = find_all(command, &orders->view);
    if (code != EXIT_DONE)
        return code;
    for (int i = 0; i < command->n_operands; i++) { /* also behind one that fails */
        const struct esp_node *node = view_find(command, &orders->view, command->operands[i]);
        const enum exit_code one = order->servers
                                       ? tell_all(orders, node, order)
                                       : orders_tell(orders, node, order->verb, NULL, 0, order->what);
        code = code == EXIT_DONE ? one : code;
    }
    return code;
}

enum exit_code verb_admin_drain(const struct command_line *command)
{
    return orders_run(command, each,
                      &(struct order){"drain", "takes no new sessions", true,
                                      "servers that join below it take no new sessions"});
}

enum exit_code verb_admin_undrain(const struct command_line *command)
{
    return orders_run(
        command, each,
        &(struct order){"undrain", "takes sessions again", true, "servers that join below it take sessions"});
}

enum exit_code verb_admin_reload(const struct command_line *command)
{
    return orders_run(command, each, &(struct order){"reload", "reads its files again", false, NULL});
}

/* ---- disable, enable ---- */

static enum exit_code switch_problems(struct orders *orders, const void *arg)
{
    const struct order *order = arg;
    const struct command_line *command = orders->command;
    const char *on = command_option_value(command, "on");
    const struct esp_node *top = on ? view_find(command, &orders->view, on) : NULL;
    struct esp_error error;
    if (on && !top)
        return EXIT_USAGE;
    if (offers_check(&orders->view, top, command->operands, (size_t)command->n_operands, &error) != ESP_OK)
        return command_fail(command, &error);
    return tell_servers(orders, top, order->verb, (const char *const *)command->operands,
                        (size_t)command->n_operands, order->what);
}

enum exit_code verb_admin_disable(const struct command_line *command)
{
    return orders_run(command, switch_problems,
                      &(struct order){"disable", "does not solve them any more", true, NULL});
}

enum exit_code verb_admin_enable(const struct command_line *command)
{
    return orders_run(command, switch_problems, &(struct order){"enable", "solves them again", true, NULL});
}

/* ---- stop, remove ---- */

/* Nodes that are named together. */
struct ending {
    const struct esp_node **nodes; /* from below */
    size_t n;
    bool for_good;
    double patience_s; /* for the sessions of a server that goes for good; 0: any time */
};

#define GONE_S 30.0 /* for a node that was told to end, before the agent above it is */

static bool is_named(const struct ending *ending, const struct esp_node *node)
{
    for (size_t i = 0; i < ending->n; i++)
        if (ending->nodes[i] == node)
            return true;
    return false;
}

static void insert(struct ending *ending, const struct view *view, const struct esp_node *node)
{
    size_t at = ending->n++;
    for (; at > 0 && view_depth(view, ending->nodes[at - 1]) < view_depth(view, node); at--)
        ending->nodes[at] = ending->nodes[at - 1];
    ending->nodes[at] = node;
}

/* In whatever order they are named, and however often. */
static enum exit_code find_named(const struct orders *orders, struct ending *ending)
{
    const struct command_line *command = orders->command;
    struct esp_error error;
    ending->nodes = calloc((size_t)command->n_operands + 1, sizeof *ending->nodes);
    if (!ending->nodes) {
        error_no_memory(&error, "the nodes");
        return command_fail(command, &error);
    }
    for (int i = 0; i < command->n_operands; i++) {
        const struct esp_node *node = view_find(command, &orders->view, command->operands[i]);
        if (!node)
            return EXIT_USAGE;
        if (!is_named(ending, node))
            insert(ending, &orders->view, node);
    }
    return EXIT_DONE;
}

/* Clients, and nodes that look for their place, come in by it alone, and would find nobody. */
static enum exit_code check_way_in(const struct orders *orders, const struct ending *ending,
                                   const struct esp_node *redirector)
{
    const struct view *view = &orders->view;
    struct esp_error error;
    size_t left = 0;
    for (size_t i = 0; i < view->n; i++) {
        const struct esp_node *node = &view->nodes[i];
        if (node->unreachable || is_named(ending, node))
            continue;
        if (node->role == ESP_ROLE_REDIRECTOR)
            return EXIT_DONE;
        left++;
    }
    if (left == 0 || command_option_value(orders->command, "cut"))
        return EXIT_DONE;
    error_set(&error, ESP_REFUSED,
              "\"%s\" is the only redirector: without it no client finds the %zu other nodes of the "
              "platform any more; start another one, or say that this is meant (--cut)",
              redirector->name, left);
    return command_fail(orders->command, &error);
}

/* Those below an agent that are not named would be cut off: its own word comes when the others are gone. */
static enum exit_code check_cut(const struct orders *orders, const struct ending *ending,
                                const struct esp_node *top)
{
    const struct view *view = &orders->view;
    struct esp_error error;
    size_t n = 0;
    if (top->role == ESP_ROLE_REDIRECTOR)
        return check_way_in(orders, ending, top);
    for (size_t i = 0; i < view->n; i++)
        n += !view->nodes[i].unreachable && view_is_within(view, &view->nodes[i], top) &&
             !is_named(ending, &view->nodes[i]);
    if (n == 0 || command_option_value(orders->command, "cut"))
        return EXIT_DONE;
    error_set(&error, ESP_REFUSED,
              "%zu nodes below \"%s\" would be cut off: move them first, or say that this is meant (--cut)",
              n, top->name);
    return command_fail(orders->command, &error);
}

/* Before the first one ends: nobody wants half of them gone. */
static enum exit_code check_all(struct orders *orders, const struct ending *ending)
{
    enum exit_code code = EXIT_DONE;
    for (size_t i = 0; i < ending->n && code == EXIT_DONE; i++)
        code = check_cut(orders, ending, ending->nodes[i]);
    for (size_t i = 0; i < ending->n && code == EXIT_DONE; i++)
        code = orders_spare(orders, ending->nodes[i], ending->for_good);
    return code;
}

static enum exit_code await_those_below(const struct orders *orders, const struct ending *ending, size_t at)
{
    enum exit_code code = EXIT_DONE;
    for (size_t i = 0; i < at && code == EXIT_DONE; i++)
        if (view_is_within(&orders->view, ending->nodes[i], ending->nodes[at]))
            code = orders_wait_gone(orders->command, ending->nodes[i]->name, GONE_S);
    return code;
}

static enum exit_code end_one(struct orders *orders, const struct ending *ending, size_t at)
{
    const struct esp_node *node = ending->nodes[at];
    char *text = NULL;
    enum exit_code code = await_those_below(orders, ending, at);
    if (code == EXIT_DONE && ending->for_good)
        code = orders_make_idle(orders, node, true, ending->patience_s);
    if (code == EXIT_DONE)
        code = orders_end(orders, node, "stop", ending->for_good, NULL, &text);
    if (code == EXIT_DONE)
        orders_done(orders, node->name, ending->for_good ? "removed" : "stops",
                    orders->kept.node == node ? orders->kept.remark : text);
    free(text);
    return code;
}

static enum exit_code end_each(struct orders *orders, const void *arg)
{
    struct ending ending = *(const struct ending *)arg;
    enum exit_code code = find_named(orders, &ending);
    if (ending.for_good) {
        orders->leaving = ending.nodes;
        orders->n_leaving = ending.n;
    }
    if (code == EXIT_DONE)
        code = check_all(orders, &ending);
    for (size_t i = 0; i < ending.n && code == EXIT_DONE; i++) {
        code = end_one(orders, &ending, i);
        for (size_t k = i + 1; k < ending.n && code != EXIT_DONE; k++)
            fprintf(stderr, "espalier %s: '%s' was not stopped either\n", orders->command->verb->name,
                    ending.nodes[k]->name);
    }
    orders->leaving = NULL;
    orders->n_leaving = 0;
    free(ending.nodes);
    return code;
}

enum exit_code verb_admin_stop(const struct command_line *command)
{
    return orders_run(command, end_each, &(struct ending){.for_good = false});
}

enum exit_code verb_admin_remove(const struct command_line *command)
{
    struct ending ending = {.for_good = true};
    struct esp_error error;
    if (session_timeout(command, &ending.patience_s, &error) != ESP_OK)
        return command_usage(command, "%s", error.text);
    return orders_run_patiently(command, end_each, &ending);
}
