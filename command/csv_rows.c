/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/csv_rows.h"
#include "util/regular_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- reading ---- */

static enum esp_status read_text(struct csv_rows *rows, const char *path, size_t *length,
                                 struct esp_error *error)
{
    struct stat about;
    FILE *file = regular_file_open(path, "r", error);
    if (!file)
        return error->status;
    enum esp_status status = ESP_OK;
    if (fstat(fileno(file), &about) != 0)
        status = error_errno(error, "cannot read %s", path);
    else if ((size_t)about.st_size > CSV_MOST_BYTES)
        status = error_set(error, ESP_LIMIT, "%s: expected at most %zu bytes, found %lld", path,
                           CSV_MOST_BYTES, (long long)about.st_size);
    else if (!(rows->text = malloc((size_t)about.st_size + 1)))
        status = error_no_memory(error, path);
    else
        *length = fread(rows->text, 1, (size_t)about.st_size, file);
    if (status == ESP_OK && ferror(file))
        status = error_errno(error, "cannot read %s", path);
    fclose(file);
    return status;
}

/* Where the row that begins there ends, behind the end of its line; NULL: the row has no end. */
static const char *row_end(const char *at, const char *end, size_t *n_cells)
{
    bool quoted = false;
    *n_cells = 1;
    for (; at < end; at++) {
        quoted ^= *at == '"';
        *n_cells += !quoted && *at == ',';
        if (!quoted && *at == '\n')
            return at + 1;
    }
    return NULL;
}

/* Counts whole rows and their cells. */
static void count(struct csv_rows *rows, size_t length, size_t *n_cells)
{
    const char *at = rows->text, *end = rows->text + length, *next;
    size_t n;
    for (; (next = row_end(at, end, &n)); at = next) {
        rows->n++;
        *n_cells += n;
    }
    rows->is_torn = at < end;
}

/* Splits one row. `to` has room for as many bytes as the row has. Returns where the next row's cells go. */
static char *split(struct csv_row *row, char *to)
{
    bool quoted = false;
    const char *end = row->text + row->length - 1; /* without "\n" */
    end -= end > row->text && end[-1] == '\r';
    row->cells[0] = to;
    row->n = 1;
    for (const char *at = row->text; at < end; at++) {
        if (*at == '"') {
            if (!quoted && at > row->text && at[-1] == '"')
                *to++ = '"'; /* the second of two within quotes */
            quoted = !quoted;
        } else if (*at == ',' && !quoted) {
            *to++ = '\0';
            row->cells[row->n++] = to;
        } else {
            *to++ = *at;
        }
    }
    *to++ = '\0';
    return to;
}

enum esp_status csv_rows_read(struct csv_rows *rows, const char *path, struct esp_error *error)
{
    size_t length = 0, n_cells = 0, n;
    *rows = (struct csv_rows){0};
    enum esp_status status = read_text(rows, path, &length, error);
    if (status != ESP_OK)
        return status;
    count(rows, length, &n_cells);
    rows->rows = calloc(rows->n + 1, sizeof *rows->rows);
    rows->cells = calloc(n_cells + 1, sizeof *rows->cells);
    rows->unquoted = malloc(length + 1);
    if (!rows->rows || !rows->cells || !rows->unquoted) {
        rows->n = 0;
        return error_no_memory(error, path);
    }
    const char *at = rows->text, *next;
    char *to = rows->unquoted, **cells = rows->cells;
    for (struct csv_row *row = rows->rows; (next = row_end(at, rows->text + length, &n)); at = next, row++) {
        *row = (struct csv_row){.text = at, .length = (size_t)(next - at), .cells = cells};
        to = split(row, to);
        cells += n;
    }
    return ESP_OK;
}

void csv_rows_clear(struct csv_rows *rows)
{
    free(rows->rows);
    free(rows->text);
    free(rows->unquoted);
    free(rows->cells);
    *rows = (struct csv_rows){0};
}

/* ---- writing ---- */

void csv_cell_write(FILE *file, const char *text, bool first)
{
    if (!first)
        putc(',', file);
    if (!text || !strpbrk(text, ",\"\n\r")) {
        fputs(text ? text : "", file);
        return;
    }
    putc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', file);
        putc(*text, file);
    }
    putc('"', file);
}
