/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/table.h"
#include "util/escape.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void table_init(struct table *table, unsigned n_columns, const char *const *headings)
{
    *table = (struct table){.n_columns = n_columns};
    for (unsigned i = 0; i < n_columns; i++) {
        table->right[i] = headings[i][0] == '>';
        table->titles[i] = headings[i] + table->right[i];
    }
}

void table_cell(struct table *table, const char *format, ...)
{
    if (table->n_cells == table->capacity) {
        size_t capacity = table->capacity ? table->capacity * 2 : 64;
        char **cells = realloc(table->cells, capacity * sizeof *cells);
        if (!cells)
            return;
        table->cells = cells;
        table->capacity = capacity;
    }
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&table->cells[table->n_cells], format, arguments) >= 0)
        table->n_cells++;
    va_end(arguments);
}

void table_text_cell(struct table *table, const char *text)
{
    char shown[TABLE_MOST_TEXT + 1];
    shown[escape_append(shown, sizeof shown, 0, text)] = '\0';
    table_cell(table, "%s", shown);
}

/* In columns of a terminal: bytes that go on with a character of UTF-8 take none. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* Without the blanks that empty cells leave at the end. */
static void print_row(const struct table *table, const int *widths, const char *const *cells, unsigned indent,
                      FILE *stream)
{
    unsigned n = table->n_columns;
    while (n > 0 && !*cells[n - 1])
        n--;
    for (unsigned i = 0; i < n; i++) {
        int blanks = widths[i] - width_of(cells[i]), before = table->right[i] ? blanks : 0;
        int after = i + 1 < n ? blanks - before : 0;
        fprintf(stream, "%*s%s%*s", (int)(i ? 2 : indent) + before, "", cells[i], after, "");
    }
    fputc('\n', stream);
}

void table_print(struct table *table, unsigned indent, FILE *stream)
{
    int widths[TABLE_MAX_COLUMNS];
    for (unsigned i = 0; i < table->n_columns; i++)
        widths[i] = width_of(table->titles[i]);
    for (size_t k = 0; k < table->n_cells; k++) {
        const int width = width_of(table->cells[k]);
        if (width > widths[k % table->n_columns])
            widths[k % table->n_columns] = width;
    }
    print_row(table, widths, table->titles, indent, stream);
    for (size_t k = 0; k + table->n_columns <= table->n_cells; k += table->n_columns)
        print_row(table, widths, (const char *const *)table->cells + k, indent, stream);
    table_clear(table);
}

void table_clear(struct table *table)
{
    for (size_t k = 0; k < table->n_cells; k++)
        free(table->cells[k]);
    free(table->cells);
    table->cells = NULL;
    table->n_cells = table->capacity = 0;
}

const char *quantity_seconds(double seconds, char *text)
{
    if (!isfinite(seconds))
        snprintf(text, QUANTITY_TEXT, "unknown");
    else if (fabs(seconds) < 0.5e-9) /* what is left of a difference of times */
        snprintf(text, QUANTITY_TEXT, "0");
    else if (fabs(seconds) < 999.5e-9)
        snprintf(text, QUANTITY_TEXT, "%.3g ns", seconds * 1e9);
    else if (fabs(seconds) < 999.5e-6)
        snprintf(text, QUANTITY_TEXT, "%.3g us", seconds * 1e6);
    else if (fabs(seconds) < 999.5e-3)
        snprintf(text, QUANTITY_TEXT, "%.3g ms", seconds * 1e3);
    else if (fabs(seconds) < 600)
        snprintf(text, QUANTITY_TEXT, "%.3g s", seconds);
    else if (fabs(seconds) < 7200)
        snprintf(text, QUANTITY_TEXT, "%.3g min", seconds / 60);
    else
        snprintf(text, QUANTITY_TEXT, "%.3g h", seconds / 3600);
    return text;
}

const char *quantity_si(double value, const char *unit, char *text)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
    unsigned i = 0;
    while (fabs(value) >= 999.5 && i < 6) {
        value /= 1000;
        i++;
    }
    snprintf(text, QUANTITY_TEXT, "%.3g %s%s", value, prefixes[i], unit);
    return text;
}

const char *quantity_bytes(uint64_t bytes, char *text)
{
    return quantity_si((double)bytes, "B", text);
}
