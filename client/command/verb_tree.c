/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier tree: the hierarchy as it is now.
 */
#include "config.h"

#include "client/command/session.h"
#include "client/command/table.h"

#include <string.h>

static unsigned depth_of(const struct esp_node *nodes, size_t i)
{
    unsigned depth = 0;
    /* Parents come before their children, so this ends whatever the names say. */
    for (size_t j = i; j-- > 0 && *nodes[i].parent;)
        if (strcmp(nodes[j].name, nodes[i].parent) == 0) {
            depth++;
            i = j;
        }
    return depth;
}

static void server_cells(struct table *table, const struct esp_node *node)
{
    char text[3][QUANTITY_TEXT];
    if (node->role != ESP_ROLE_SERVER) {
        for (int i = 0; i < 5; i++)
            table_cell(table, "%s", "");
        return;
    }
    table_cell(table, "%s", quantity_si(node->speed_flops, "flop/s", text[0]));
    table_cell(table, "%u/%u", node->running, node->slots);
    table_cell(table, "%u", node->queued);
    table_cell(table, "%s of %s", quantity_bytes(node->memory_free, text[1]),
               quantity_bytes(node->memory_total, text[2]));
    table_cell(table, "%llu%s", (unsigned long long)node->completed, node->draining ? " (draining)" : "");
}

static void print_tree(const struct esp_node *nodes, size_t n)
{
    static const char *const headings[] = {"node",     "role",    "address",      ">speed",
                                           ">running", ">queued", ">memory free", ">done"};
    struct table table;
    table_init(&table, 8, headings);
    for (size_t i = 0; i < n; i++) {
        table_cell(&table, "%*s%s", (int)(2 * depth_of(nodes, i)), "", nodes[i].name);
        table_cell(&table, "%s", esp_role_name(nodes[i].role));
        table_cell(&table, "%s", nodes[i].address);
        server_cells(&table, &nodes[i]);
    }
    table_print(&table, 0, stdout);
}

static json_t *node_json(const struct esp_node *node)
{
    json_t *value = json_pack("{s:s, s:s, s:s, s:s, s:f, s:b}", "name", node->name, "parent", node->parent,
                              "role", esp_role_name(node->role), "address", node->address, "age_s",
                              node->age_s, "draining", node->draining);
    if (!value || node->role != ESP_ROLE_SERVER)
        return value;
    json_t *more = json_pack("{s:f, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:I}", "speed_flops",
                             node->speed_flops, "slots", (int)node->slots, "threads", (int)node->threads,
                             "queued", (int)node->queued, "running", (int)node->running, "memory_total",
                             (json_int_t)node->memory_total, "memory_free", (json_int_t)node->memory_free,
                             "completed", (json_int_t)node->completed, "failed", (json_int_t)node->failed);
    json_object_update(value, more);
    json_decref(more);
    return value;
}

enum exit_code verb_tree(const struct command_line *command)
{
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    struct esp_node *nodes = NULL;
    size_t n = 0;
    if (esp_tree(NULL, &nodes, &n) != ESP_OK) {
        code = session_fail(command);
    } else if (command->json) {
        json_t *list = json_array();
        for (size_t i = 0; i < n; i++)
            json_array_append_new(list, node_json(&nodes[i]));
        code = command_json(list);
    } else {
        print_tree(nodes, n);
        code = command_flush();
    }
    esp_tree_free(nodes);
    grpc_finalize();
    return code;
}
