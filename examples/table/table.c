/* SPDX-License-Identifier: Apache-2.0
 *
 * A routine that reads a file, asks its caller about each row, and writes a file. table.esp describes it.
 *
 *   cc -shared -fPIC -o libtable.so table.c
 */
#include <stdio.h>
#include <stdlib.h>

/* Whether a row counts; if not, *why says why: memory from malloc, which the routine frees. */
typedef int keep_row(int row, const double *x, char **why);

int table_means(keep_row *keep, int columns, const char *table, const char *report, int *rows);

/* 1 and the row; 0: there are no more. */
static int read_row(FILE *in, int columns, double *x)
{
    int n = 0;
    while (n < columns && fscanf(in, "%lf", &x[n]) == 1)
        n++;
    return n == columns;
}

static void add_rows(keep_row *keep, int columns, FILE *in, FILE *out, double *x, double *sums, int *rows)
{
    for (int row = 1; read_row(in, columns, x); row++) {
        char *why = NULL;
        if (keep(row, x, &why)) {
            ++*rows;
            for (int i = 0; i < columns; i++)
                sums[i] += x[i];
        } else
            fprintf(out, "row %d is left out: %s\n", row, why);
        free(why);
    }
}

/* The means of all rows that are kept. 0; 1: the table cannot be read; 2: the report cannot be written. */
int table_means(keep_row *keep, int columns, const char *table, const char *report, int *rows)
{
    FILE *in = fopen(table, "r"), *out = in ? fopen(report, "w") : NULL;
    double *x = calloc(2 * (size_t)columns, sizeof *x);
    int status = !in ? 1 : !out || !x ? 2 : 0;
    *rows = 0;
    if (status == 0)
        add_rows(keep, columns, in, out, x, x + columns, rows);
    for (int i = 0; status == 0 && i<columns && * rows> 0; i++)
        fprintf(out, "column %d: mean %g\n", i + 1, x[columns + i] / *rows);
    free(x);
    if (in)
        fclose(in);
    if (out && fclose(out) != 0)
        status = 2;
    return status;
}
