/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier weather: what others leave of the servers' processors, now and soon; memory, disks and links.
 */
#include "config.h"

#include "client/command/session.h"
#include "client/command/table.h"

#include <math.h>
#include <string.h>

/* One character a value, from an eighth of the height to all of it. */
static const char *draw(const struct esp_node *node, char *text, size_t size)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    size_t used = 0;
    *text = 0;
    for (unsigned i = 0; i < node->n_cpu_history && used + 4 < size; i++) {
        long level = lrint(ceil(8 * node->cpu_history[i])) - 1;
        const char *bar = bars[level < 0 ? 0 : level > 7 ? 7 : level];
        strcpy(text + used, bar);
        used += strlen(bar);
    }
    return text;
}

static void add_link(struct table *table, const struct esp_node *node)
{
    char text[QUANTITY_TEXT];
    if (!node->link_known) {
        for (int i = 0; i < 3; i++)
            table_cell(table, "%s", "");
        return;
    }
    table_cell(table, "%s", quantity_seconds(node->latency_s, text));
    table_cell(table, "%s",
               node->bandwidth_bps > 0 ? quantity_si(8 * node->bandwidth_bps, "bit/s", text) : "");
    table_cell(table, "%s", node->back_bps > 0 ? quantity_si(8 * node->back_bps, "bit/s", text) : "");
}

static void add_row(struct table *table, const struct esp_node *node)
{
    char text[QUANTITY_TEXT], plot[4 * ESP_WEATHER_HISTORY + 1];
    const bool sensed = node->cpu_available > 0;
    table_cell(table, "%s", node->name);
    if (sensed) {
        table_cell(table, "%.0f %%", 100 * node->cpu_available);
        table_cell(table, "%.0f %%", 100 * node->cpu_forecast);
        table_cell(table, "%.0f %%", 100 * node->cpu_error);
    } else {
        for (int i = 0; i < 3; i++)
            table_cell(table, "%s", "");
    }
    table_cell(table, "%s", node->machine_memory_free ? quantity_bytes(node->machine_memory_free, text) : "");
    table_cell(table, "%s", node->machine_disk_free ? quantity_bytes(node->machine_disk_free, text) : "");
    add_link(table, node);
    table_cell(table, "%s",
               sensed                          ? draw(node, plot, sizeof plot)
               : node->role == ESP_ROLE_SERVER ? "no sensor"
                                               : "");
}

static enum exit_code print(const struct esp_node *nodes, size_t n)
{
    static const char *const headings[] = {"node",  ">processor", ">forecast",  ">±",    ">memory",
                                           ">disk", ">latency",   ">bandwidth", ">back", "the last minutes"};
    struct table table;
    size_t shown = 0;
    table_init(&table, 10, headings);
    for (size_t i = 0; i < n; i++)
        if (!nodes[i].unreachable && (nodes[i].role == ESP_ROLE_SERVER || nodes[i].link_known)) {
            add_row(&table, &nodes[i]);
            shown++;
        }
    if (shown)
        table_print(&table, 0, stdout);
    else
        puts("no server is there");
    return command_flush();
}

static json_t *node_json(const struct esp_node *node)
{
    json_t *value = json_pack("{s:s, s:s}", "name", node->name, "role", esp_role_name(node->role));
    if (node->cpu_available > 0) {
        json_t *history = json_array();
        for (unsigned i = 0; i < node->n_cpu_history; i++)
            json_array_append_new(history, json_real(node->cpu_history[i]));
        json_object_set_new(value, "availableCpu",
                            json_pack("{s:f, s:f, s:f, s:f, s:o}", "now", node->cpu_available, "forecast",
                                      node->cpu_forecast, "error", node->cpu_error, "step_s",
                                      node->cpu_step_s, "history", history));
        json_object_set_new(value, "freeMemory", json_real((double)node->machine_memory_free / 1e6));
        json_object_set_new(value, "freeDisk", json_real((double)node->machine_disk_free / 1e6));
    }
    if (node->link_known) {
        json_object_set_new(value, "latencyTcp", json_real(2e3 * node->latency_s));
        json_object_set_new(value, "bandwidthTcp", json_real(8e-6 * node->bandwidth_bps));
        if (node->back_bps > 0)
            json_object_set_new(value, "bandwidthTcpBack", json_real(8e-6 * node->back_bps));
    }
    return value;
}

static enum exit_code print_json(const struct esp_node *nodes, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        if (!nodes[i].unreachable && (nodes[i].role == ESP_ROLE_SERVER || nodes[i].link_known))
            json_array_append_new(list, node_json(&nodes[i]));
    return command_json(list);
}

enum exit_code verb_weather(const struct command_line *command)
{
    struct esp_node *nodes = NULL;
    size_t n = 0;
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    if (esp_tree(NULL, &nodes, &n) != ESP_OK)
        code = session_fail(command);
    else
        code = command->json ? print_json(nodes, n) : print(nodes, n);
    esp_tree_free(nodes);
    grpc_finalize();
    return code;
}
