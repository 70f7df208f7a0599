/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/table.h"
#include "command/weather.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    const bool single = outlook_is_single(row);
    table_cell(table, "%s", single ? "?" : quantity(unit, row->forecast, text));
    table_cell(table, "%s", single ? "?" : quantity(unit, row->error, text));
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
    const bool single = outlook_is_single(row);
    json_t *forecast = single ? json_null() : json_real(row->forecast);
    json_t *error = single ? json_null() : json_real(row->error);
    json_t *object = json_pack("{s:s, s:s, s:s, s:f, s:o, s:o, s:f, s:f, s:o}", "resource", row->resource,
                               "unit", outlook_unit(row->resource), *row->to ? "from" : "node", row->from,
                               "now", row->now, "forecast", forecast, "error", error, "age_s", row->age_s,
                               "step_s", row->step_s, "history", recent);
    if (*row->to)
        json_object_set_new(object, "to", command_json_text(row->to));
    return object;
}

enum exit_code weather_print_json(const struct weather_rows *rows, struct missing *missing)
{
    json_t *list = json_array();
    for (const struct weather_row *row = rows->first; row; row = row->hh.next)
        json_array_append_new(list, row_json(&row->outlook));
    missing_json(missing, list);
    return command_json(list);
}
