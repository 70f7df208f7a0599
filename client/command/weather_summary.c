/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "client/command/table.h"
#include "client/command/weather.h"
#include "client/command/weather_summary.h"

static void add_link(struct table *table, const struct esp_node *node)
{
    char text[QUANTITY_TEXT];
    if (!node->link_known) {
        for (int i = 0; i < 3; i++)
            table_cell(table, "%s", "");
        return;
    }
    table_cell(table, "%s", quantity_seconds(2 * node->latency_s, text));
    table_cell(table, "%s",
               node->bandwidth_bps > 0 ? quantity_si(8 * node->bandwidth_bps, "bit/s", text) : "");
    table_cell(table, "%s", node->back_bps > 0 ? quantity_si(8 * node->back_bps, "bit/s", text) : "");
}

static void add_row(struct table *table, const struct esp_node *node)
{
    char text[QUANTITY_TEXT], plot[4 * WEATHER_PLOT + 1];
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
               sensed                          ? weather_plot(node->cpu_history, node->n_cpu_history, 1, plot)
               : node->role == ESP_ROLE_SERVER ? "no sensor"
                                               : "");
}

static enum exit_code print(const struct esp_node *nodes, size_t n)
{
    static const char *const headings[] = {"node",    ">processor",      ">forecast",       ">±",
                                           ">memory", ">disk",           ">there and back", ">bandwidth",
                                           ">back",   "the last minutes"};
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

enum exit_code weather_summary(const struct command_line *command, const struct esp_node *nodes, size_t n)
{
    return command->json ? print_json(nodes, n) : print(nodes, n);
}
