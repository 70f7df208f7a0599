/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier tree: the hierarchy as it is now.
 */
#include "config.h"

#include "command/namesakes.h"
#include "command/session.h"
#include "command/table.h"
#include "command/verbs.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The nodes as they are shown: each one behind its parent and that one's earlier children. */
struct shown {
    size_t node;
    unsigned depth;
};

#define NOBODY SIZE_MAX

/* What is older than two heartbeats and a half, as they are without configuration, is not how it is now. */
#define OLD_S 5.0

static size_t parent_of(const struct esp_node *nodes, size_t i)
{
    /* Parents come before their children, so nothing leads in a circle whatever the names say. */
    for (size_t j = i; *nodes[i].parent && j-- > 0;)
        if (strcmp(nodes[j].name, nodes[i].parent) == 0)
            return j;
    return NOBODY;
}

/* `first` and `next`: of each node its first child and its next sibling; `roots`: the first of those without
 * a parent. */
static void link_children(const struct esp_node *nodes, size_t n, size_t *first, size_t *next, size_t *roots)
{
    *roots = NOBODY;
    for (size_t i = 0; i < n; i++)
        first[i] = NOBODY;
    for (size_t i = n; i-- > 0;) { /* each list by name */
        size_t parent = parent_of(nodes, i);
        size_t *list = parent == NOBODY ? roots : &first[parent];
        while (*list != NOBODY && strcmp(nodes[*list].name, nodes[i].name) < 0)
            list = &next[*list];
        next[i] = *list;
        *list = i;
    }
}

/* `n` entries, to be freed; NULL without memory. */
static struct shown *order_nodes(const struct esp_node *nodes, size_t n)
{
    struct shown *order = calloc(n + 1, sizeof *order), *stack = calloc(n + 1, sizeof *stack);
    size_t *first = calloc(n + 1, sizeof *first), *next = calloc(n + 1, sizeof *next);
    size_t n_shown = 0, n_stack = 0, roots;
    if (order && stack && first && next) {
        link_children(nodes, n, first, next, &roots);
        if (roots != NOBODY)
            stack[n_stack++] = (struct shown){roots, 0};
        while (n_stack) {
            struct shown top = stack[--n_stack];
            order[n_shown++] = top;
            if (next[top.node] != NOBODY)
                stack[n_stack++] = (struct shown){next[top.node], top.depth};
            if (first[top.node] != NOBODY)
                stack[n_stack++] = (struct shown){first[top.node], top.depth + 1};
        }
    }
    if (n_shown < n) {
        free(order);
        order = NULL;
    }
    free(stack);
    free(first);
    free(next);
    return order;
}

static void server_cells(struct table *table, const struct esp_node *node)
{
    char text[3][QUANTITY_TEXT];
    if (node->role != ESP_ROLE_SERVER || node->unreachable) {
        for (int i = 0; i < 5; i++)
            table_cell(table, "%s", "");
        table_cell(table, "%s", node->draining && !node->unreachable ? "(draining)" : "");
        return;
    }
    table_cell(table, "%s", quantity_si(node->speed_flops, "flop/s", text[0]));
    table_cell(table, "%u/%u", node->running, node->slots);
    table_cell(table, "%u", node->queued);
    table_cell(table, "%s of %s", quantity_bytes(node->memory_free, text[1]),
               quantity_bytes(node->memory_total, text[2]));
    table_cell(table, "%llu", (unsigned long long)node->completed);
    char disabled[40] = "";
    if (node->disabled > 0)
        snprintf(disabled, sizeof disabled, " (%u disabled)", node->disabled);
    table_cell(table, "%llu%s%s", (unsigned long long)node->failed, disabled,
               node->draining ? " (draining)" : "");
}

static enum exit_code print_tree(const struct esp_node *nodes, size_t n)
{
    static const char *const headings[] = {"node",    "role",         "address", ">speed", ">running",
                                           ">queued", ">memory free", ">done",   ">failed"};
    struct shown *order = order_nodes(nodes, n);
    bool *namesakes = namesakes_all(nodes, n);
    struct table table;
    if (!order || !namesakes) {
        free(order);
        free(namesakes);
        fputs("espalier tree: out of memory\n", stderr);
        return EXIT_FAILED;
    }
    table_init(&table, 9, headings);
    for (size_t i = 0; i < n; i++) {
        const struct esp_node *node = &nodes[order[i].node];
        table_cell(&table, "%*s%s", (int)(2 * order[i].depth), "", node->name);
        table_cell(&table, "%s", esp_role_name(node->role));
        if (namesakes[order[i].node])
            table_cell(&table, "%s: another node has this name", node->address);
        else if (!node->unreachable && node->age_s >= OLD_S)
            table_cell(&table, "%s: as it was %.0f s ago", node->address, node->age_s);
        else if (!node->unreachable && node->loopback_only)
            table_cell(&table, "%s: others may not reach it (see its log)", node->address);
        else if (!node->unreachable)
            table_cell(&table, "%s", node->address);
        else if (node->expected_s > 0)
            table_cell(&table, "%s: ended %.0f s ago, is waited for (%.0f s more)", node->address,
                       node->age_s, node->expected_s);
        else if (node->age_s > 0)
            table_cell(&table, "%s: unreachable since %.0f s", node->address, node->age_s);
        else
            table_cell(&table, "%s: unreachable", node->address);
        server_cells(&table, node);
    }
    table_print(&table, 0, stdout);
    for (size_t i = 0; i < n; i++)
        if (nodes[i].left_out > 0)
            printf(
                "%llu more nodes below %s: the answer had no room for them; ask the leader agents one by one "
                "(--redirector HOST:PORT)\n",
                (unsigned long long)nodes[i].left_out, nodes[i].name);
    free(namesakes);
    free(order);
    return command_flush();
}

static json_t *node_json(const struct esp_node *node)
{
    json_t *value =
        json_pack("{s:s, s:s, s:s, s:s, s:f, s:b, s:b}", "name", node->name, "parent", node->parent, "role",
                  esp_role_name(node->role), "address", node->address, "age_s", node->age_s, "draining",
                  node->draining, "unreachable", node->unreachable);
    if (value && node->expected_s > 0)
        json_object_set_new(value, "expected_s", json_real(node->expected_s));
    if (value && node->loopback_only)
        json_object_set_new(value, "loopback_only", json_true());
    if (value && node->left_out > 0)
        json_object_set_new(value, "left_out", json_integer((json_int_t)node->left_out));
    if (!value || node->role != ESP_ROLE_SERVER)
        return value;
    json_t *more = json_pack("{s:f, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:I}", "speed_flops",
                             node->speed_flops, "slots", (int)node->slots, "threads", (int)node->threads,
                             "queued", (int)node->queued, "running", (int)node->running, "memory_total",
                             (json_int_t)node->memory_total, "memory_free", (json_int_t)node->memory_free,
                             "completed", (json_int_t)node->completed, "failed", (json_int_t)node->failed);
    json_object_update(value, more);
    json_object_set_new(value, "disabled", json_integer((json_int_t)node->disabled));
    json_decref(more);
    return value;
}

/* In the order of the table: the same tree is the same text. */
static enum exit_code print_json(const struct esp_node *nodes, size_t n)
{
    struct shown *order = order_nodes(nodes, n);
    json_t *list = json_array();
    bool *namesakes = namesakes_all(nodes, n);
    const bool whole = order && namesakes;
    for (size_t i = 0; whole && i < n; i++) {
        json_t *node = node_json(&nodes[order[i].node]);
        if (namesakes[order[i].node])
            json_object_set_new(node, "namesake", json_true());
        json_array_append_new(list, node);
    }
    free(namesakes);
    free(order);
    if (whole)
        return command_json(list);
    json_decref(list);
    fputs("espalier tree: out of memory\n", stderr);
    return EXIT_FAILED;
}

static enum exit_code show(const struct command_line *command)
{
    struct esp_node *nodes = NULL;
    size_t n = 0;
    enum exit_code code;
    if (esp_tree(NULL, &nodes, &n) != ESP_OK) {
        code = session_fail(command);
    } else if (command->json) {
        code = print_json(nodes, n);
    } else {
        code = print_tree(nodes, n);
    }
    esp_tree_free(nodes);
    return code;
}

enum exit_code verb_tree(const struct command_line *command)
{
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    code = command_option_value(command, "watch") ? command_watch(command, show)
                                                  : (session_within(command, code), show(command));
    grpc_finalize();
    return code;
}
