/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "client/command/session.h"
#include "client/command/table.h"
#include "client/command/weather.h"
#include "core/message/message_basic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PAGES 1000 /* of one node */

void weather_clear(struct weather_rows *rows)
{
    HASH_CLEAR(hh, rows->first);
    arena_clear(&rows->arena);
    *rows = (struct weather_rows){0};
}

static bool is_of(const struct outlook *outlook, const char *node, const char *resource)
{
    return (!resource || strcmp(outlook->resource, resource) == 0) &&
           (!node || strcmp(outlook->from, node) == 0 || strcmp(outlook->to, node) == 0);
}

void weather_narrow(struct weather_rows *rows, const char *node, const char *resource)
{
    struct weather_row *row, *next;
    HASH_ITER(hh, rows->first, row, next)
    {
        if (!is_of(&row->outlook, node, resource))
            HASH_DELETE(hh, rows->first, row);
    }
}

/* ---- asking ---- */

static enum esp_status add(struct weather_rows *rows, const struct outlook *outlook, struct esp_error *error)
{
    char key[2 * CAP_NAME + 64];
    struct weather_row *row;
    snprintf(key, sizeof key, "%s\t%s\t%s", outlook->resource, outlook->from, outlook->to);
    HASH_FIND_STR(rows->first, key, row);
    if (row)
        return ESP_OK;
    if (HASH_COUNT(rows->first) == WEATHER_MOST_ROWS)
        return error_set(error, ESP_LIMIT, "more than %d figures are told: use --node", WEATHER_MOST_ROWS);
    const char *own = arena_strdup(&rows->arena, key);
    row = own ? arena_alloc(&rows->arena, sizeof *row) : NULL;
    if (!row)
        return error_no_memory(error, "the weather");
    row->outlook = *outlook;
    row->outlook.resource = arena_strdup(&rows->arena, outlook->resource);
    row->outlook.from = arena_strdup(&rows->arena, outlook->from);
    row->outlook.to = arena_strdup(&rows->arena, outlook->to);
    if (row->outlook.resource && row->outlook.from && row->outlook.to)
        HASH_ADD_KEYPTR(hh, rows->first, own, strlen(own), row);
    return row->hh.tbl ? ESP_OK : error_no_memory(error, "the weather");
}

/* *next: 0 behind the last page. */
static enum esp_status read_page(char *text, struct weather_rows *rows, size_t *next, struct esp_error *error)
{
    char *rest = NULL;
    enum esp_status status = ESP_OK;
    const size_t asked = *next;
    *next = 0;
    for (char *line = strtok_r(text, "\n", &rest); line && status == ESP_OK;
         line = strtok_r(NULL, "\n", &rest)) {
        struct outlook outlook;
        switch (outlook_read(line, &outlook, next)) {
        case OUTLOOK_LINE:
            status = add(rows, &outlook, error);
            break;
        case OUTLOOK_NEXT:
            if (*next <= asked)
                return error_set(error, ESP_PROTOCOL, "its answer goes round in a circle");
            break;
        case OUTLOOK_NONSENSE:
            return error_set(error, ESP_PROTOCOL, "its answer has a line that is nonsense (\"%.40s\")", line);
        }
    }
    return status;
}

static enum esp_status ask_page(const char *address, const char *name, size_t first, char **text,
                                struct esp_error *error)
{
    char number[24];
    const char *const words[] = {number};
    snprintf(number, sizeof number, "%zu", first);
    const enum esp_status status = esp_administer(address, name, "weather", words, 1, NULL, text);
    if (status != ESP_OK)
        *error = *esp_last_error();
    return status;
}

enum exit_code weather_ask(const struct command_line *command, const struct view *view,
                           const struct esp_node *node, struct bar *bar, struct weather_rows *rows)
{
    struct esp_error error = {0};
    const struct esp_node *top = view_top(view, node);
    size_t next = 0;
    unsigned pages = 0;
    enum esp_status status;
    do {
        char *text = NULL;
        status = ask_page(top ? top->address : node->address, node->name, next, &text, &error);
        if (status == ESP_OK)
            status = read_page(text, rows, &next, &error);
        free(text);
    } while (status == ESP_OK && next && ++pages < MOST_PAGES);
    if (status == ESP_OK)
        return EXIT_DONE;
    bar_clear(bar);
    error_prefix(&error, "%s", node->name);
    command_complain(command->verb->name, error.text);
    return status == ESP_INVALID ? EXIT_FAILED : command_exit_code(status); /* it is of an older version */
}

/* ---- showing ---- */

const char *weather_plot(const double *values, unsigned n, double most, char text[4 * WEATHER_PLOT + 1])
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const unsigned each = (n + WEATHER_PLOT - 1) / WEATHER_PLOT;
    char *at = text;
    for (unsigned i = 0; i < n; i += each) {
        const unsigned end = i + each < n ? i + each : n;
        double sum = 0;
        for (unsigned k = i; k < end; k++)
            sum += values[k] / (end - i);
        const long level = most > 0 ? lrint(ceil(8 * sum / most)) - 1 : 0;
        at = stpcpy(at, bars[level < 0 ? 0 : level > 7 ? 7 : level]);
    }
    *at = 0;
    return text;
}

/* A figure in the unit that people like; `value` in that of the resource. */
static const char *quantity(const char *unit, double value, char text[QUANTITY_TEXT])
{
    if (strcmp(unit, "fraction") == 0)
        snprintf(text, QUANTITY_TEXT, "%.0f %%", 100 * value);
    else if (strcmp(unit, "MB") == 0)
        quantity_bytes(value < 1e12 ? (uint64_t)(1e6 * value) : UINT64_MAX, text);
    else if (strcmp(unit, "Mb/s") == 0)
        quantity_si(1e6 * value, "bit/s", text);
    else
        quantity_seconds(value / 1e3, text);
    return text;
}

static double most_of(const struct outlook *row)
{
    double most = strcmp(outlook_unit(row->resource), "fraction") == 0 ? 1 : 0;
    for (unsigned i = 0; i < row->n; i++)
        most = fmax(most, row->recent[i]);
    return most;
}

static void add_row(struct table *table, const struct outlook *row)
{
    char text[QUANTITY_TEXT], plot[4 * WEATHER_PLOT + 1], link[600];
    const char *unit = outlook_unit(row->resource);
    const bool both = strcmp(unit, "ms") == 0; /* there and back */
    snprintf(link, sizeof link, "%s%s%s", row->from, !*row->to ? "" : both ? " <> " : " > ", row->to);
    table_text_cell(table, link);
    table_cell(table, "%s", row->resource);
    table_cell(table, "%s", quantity(unit, row->now, text));
    table_cell(table, "%s", quantity(unit, row->forecast, text));
    table_cell(table, "%s", quantity(unit, row->error, text));
    table_cell(table, "%s", weather_plot(row->recent, row->n, most_of(row), plot));
}

void weather_print(const struct weather_rows *rows)
{
    static const char *const headings[] = {"node or link", "resource", ">now", ">forecast", ">±", "before"};
    struct table table;
    table_init(&table, 6, headings);
    for (const struct weather_row *row = rows->first; row; row = row->hh.next)
        add_row(&table, &row->outlook);
    if (rows->first)
        table_print(&table, 0, stdout);
    else
        puts("nothing is measured there yet");
}

static json_t *row_json(const struct outlook *row)
{
    json_t *recent = json_array();
    for (unsigned k = 0; k < row->n; k++)
        json_array_append_new(recent, json_real(row->recent[k]));
    json_t *object = json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:o}", "resource", row->resource,
                               "unit", outlook_unit(row->resource), *row->to ? "from" : "node", row->from,
                               "now", row->now, "forecast", row->forecast, "error", row->error, "age_s",
                               row->age_s, "step_s", row->step_s, "history", recent);
    if (*row->to)
        json_object_set_new(object, "to", json_string(row->to));
    return object;
}

enum exit_code weather_print_json(const struct weather_rows *rows)
{
    json_t *list = json_array();
    for (const struct weather_row *row = rows->first; row; row = row->hh.next)
        json_array_append_new(list, row_json(&row->outlook));
    return command_json(list);
}
