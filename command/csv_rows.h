/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of CSV files (RFC 4180), as `espalier sweep --csv` writes them.
 */
#ifndef COMMAND_CSV_ROWS_H
#define COMMAND_CSV_ROWS_H

#include "util/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CSV_MOST_BYTES ((size_t)1 << 30)

struct csv_row {
    const char *text; /* as the file has the row */
    size_t length;    /* of the text, with the end of its line */
    char **cells;     /* without their quotes */
    size_t n;
};

struct csv_rows {
    struct csv_row *rows;
    size_t n;
    bool is_torn; /* the file goes on behind its last row, with one that has no end; that one is left out */
    char *text, *unquoted, **cells;
};

/* Reads all rows of a file. ESP_NOT_FOUND, ESP_SYSTEM, ESP_INVALID (no regular file), ESP_LIMIT (more than
 * CSV_MOST_BYTES), ESP_NO_MEMORY. csv_rows_clear() frees the rows, also when reading has failed. */
enum esp_status csv_rows_read(struct csv_rows *rows, const char *path, struct esp_error *error);
void csv_rows_clear(struct csv_rows *rows);

/* Writes one cell, in quotes where it needs them. NULL: an empty cell. */
void csv_cell_write(FILE *file, const char *text, bool first);

#endif
