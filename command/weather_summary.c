/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/table.h"
#include "command/weather.h"
#include "command/weather_summary.h"

#include <string.h>

/* A line a node: what each column shows, and of which resource. */
enum column {
    COLUMN_CPU,
    COLUMN_CPU_FORECAST,
    COLUMN_CPU_ERROR,
    COLUMN_MEMORY,
    COLUMN_DISK,
    COLUMN_TRIP,
    COLUMN_RATE,
    COLUMN_RATE_BACK,
    COLUMN_CPU_PLOT,
    COLUMNS
};
static const struct {
    const char *heading, *resource;
} columns[COLUMNS] = {
    {">processor", "availableCpu"}, {">forecast", "availableCpu"}, {">±", "availableCpu"},
    {">memory", "freeMemory"},      {">disk", "freeDisk"},         {">there and back", "latencyTcp"},
    {">bandwidth", "bandwidthTcp"}, {">back", "bandwidthTcp"},     {"the last minutes", "availableCpu"},
};

static bool is_shown(enum column column, const char *resource)
{
    return !resource || strcmp(columns[column].resource, resource) == 0;
}

bool weather_summary_has(const char *resource)
{
    for (int i = 0; i < COLUMNS; i++)
        if (is_shown(i, resource))
            return true;
    return false;
}

static const char *share(const struct esp_node *node, double value, char text[QUANTITY_TEXT])
{
    if (node->cpu_available > 0)
        snprintf(text, QUANTITY_TEXT, "%.0f %%", 100 * value);
    return text;
}

static const char *rate(const struct esp_node *node, double bps, char text[QUANTITY_TEXT])
{
    return node->link_known && bps > 0 ? quantity_si(8 * bps, "bit/s", text) : text;
}

/* "" where nothing is known. */
static const char *cell(const struct esp_node *node, enum column column, char text[4 * WEATHER_PLOT + 1])
{
    *text = 0;
    switch (column) {
    case COLUMN_CPU:
        return share(node, node->cpu_available, text);
    case COLUMN_CPU_FORECAST:
        return share(node, node->cpu_forecast, text);
    case COLUMN_CPU_ERROR:
        return share(node, node->cpu_error, text);
    case COLUMN_MEMORY:
        return node->machine_memory_free ? quantity_bytes(node->machine_memory_free, text) : text;
    case COLUMN_DISK:
        return node->machine_disk_free ? quantity_bytes(node->machine_disk_free, text) : text;
    case COLUMN_TRIP:
        return node->link_known ? quantity_seconds(2 * node->latency_s, text) : text;
    case COLUMN_RATE:
        return rate(node, node->bandwidth_bps, text);
    case COLUMN_RATE_BACK:
        return rate(node, node->back_bps, text);
    case COLUMN_CPU_PLOT:
        if (node->cpu_available > 0)
            return weather_plot(node->cpu_history, node->n_cpu_history, 1, text);
        return node->role != ESP_ROLE_SERVER ? text : node->senses ? "nothing read yet" : "no sensor";
    case COLUMNS:
        break;
    }
    return text;
}

static void add_row(struct table *table, const struct esp_node *node, const char *resource)
{
    char text[4 * WEATHER_PLOT + 1];
    table_cell(table, "%s", node->name);
    for (int i = 0; i < COLUMNS; i++)
        if (is_shown(i, resource))
            table_cell(table, "%s", cell(node, i, text));
}

static bool is_row(const struct esp_node *node, const char *name)
{
    return !node->unreachable && (!name || strcmp(node->name, name) == 0) &&
           (node->role == ESP_ROLE_SERVER || node->link_known);
}

static enum exit_code print(const struct view *view, const char *node, const char *resource)
{
    const char *headings[COLUMNS + 1] = {"node"};
    unsigned n = 1;
    struct table table;
    size_t shown = 0;
    for (int i = 0; i < COLUMNS; i++)
        if (is_shown(i, resource))
            headings[n++] = columns[i].heading;
    table_init(&table, n, headings);
    for (size_t i = 0; i < view->n; i++)
        if (is_row(&view->nodes[i], node)) {
            add_row(&table, &view->nodes[i], resource);
            shown++;
        }
    if (shown)
        table_print(&table, 0, stdout);
    else if (node)
        printf("of %s the agents have heard nothing\n", node);
    else
        puts("no server is there");
    return command_flush();
}

static json_t *node_json(const struct esp_node *node, const char *resource)
{
    json_t *value = json_pack("{s:s, s:s}", "name", node->name, "role", esp_role_name(node->role));
    if (node->cpu_available > 0 && is_shown(COLUMN_CPU, resource)) {
        json_t *history = json_array();
        for (unsigned i = 0; i < node->n_cpu_history; i++)
            json_array_append_new(history, json_real(node->cpu_history[i]));
        json_object_set_new(value, "availableCpu",
                            json_pack("{s:f, s:f, s:f, s:f, s:o}", "now", node->cpu_available, "forecast",
                                      node->cpu_forecast, "error", node->cpu_error, "step_s",
                                      node->cpu_step_s, "history", history));
    }
    if (node->machine_memory_free && is_shown(COLUMN_MEMORY, resource))
        json_object_set_new(value, "freeMemory", json_real((double)node->machine_memory_free / 1e6));
    if (node->machine_disk_free && is_shown(COLUMN_DISK, resource))
        json_object_set_new(value, "freeDisk", json_real((double)node->machine_disk_free / 1e6));
    if (node->link_known && is_shown(COLUMN_TRIP, resource))
        json_object_set_new(value, "latencyTcp", json_real(2e3 * node->latency_s));
    if (node->link_known && is_shown(COLUMN_RATE, resource)) {
        json_object_set_new(value, "bandwidthTcp", json_real(8e-6 * node->bandwidth_bps));
        if (node->back_bps > 0)
            json_object_set_new(value, "bandwidthTcpBack", json_real(8e-6 * node->back_bps));
    }
    return value;
}

static enum exit_code print_json(const struct view *view, const char *node, const char *resource,
                                 struct missing *missing)
{
    json_t *list = json_array();
    for (size_t i = 0; i < view->n; i++)
        if (is_row(&view->nodes[i], node))
            json_array_append_new(list, node_json(&view->nodes[i], resource));
    missing_json(missing, list);
    return command_json(list);
}

enum exit_code weather_summary(const struct command_line *command, const struct view *view, const char *node,
                               const char *resource, struct missing *missing)
{
    return command->json ? print_json(view, node, resource, missing) : print(view, node, resource);
}
