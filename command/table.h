/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables and quantities for people.
 */
#ifndef COMMAND_TABLE_H
#define COMMAND_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TABLE_MAX_COLUMNS 12

/* Rows of text cells, printed when all widths are known. One thread. */
struct table {
    unsigned n_columns;
    const char *titles[TABLE_MAX_COLUMNS];
    bool right[TABLE_MAX_COLUMNS]; /* numbers */
    char **cells;
    size_t n_cells, capacity;
};

/* A heading that begins with '>' is of a column of numbers, aligned to the right. */
void table_init(struct table *table, unsigned n_columns, const char *const *headings);
/* The next cell, row by row. Out of memory, the cell is left out. */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The next cell from a text that others wrote: control characters are escaped, as everywhere, and what is
 * longer than TABLE_MOST_TEXT bytes is cut between two characters. */
#define TABLE_MOST_TEXT 40
void table_text_cell(struct table *table, const char *text);
/* Prints with `indent` blanks in front of each line, and empties the table. */
void table_print(struct table *table, unsigned indent, FILE *stream);
/* Empties it unprinted. */
void table_clear(struct table *table);

#define QUANTITY_TEXT 32

/* "1.93 ms", "0", "2.5 h". All return `text`, of at least QUANTITY_TEXT bytes. */
const char *quantity_seconds(double seconds, char *text);
/* "18.2 M" + unit: "18.2 Mflop", "4.1 Gflop/s". */
const char *quantity_si(double value, const char *unit, char *text);
/* "720 kB", powers of 1000. */
const char *quantity_bytes(uint64_t bytes, char *text);

#endif
