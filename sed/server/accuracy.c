/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/server/accuracy.h"

#include "util/log.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct row {
    char problem[64];
    float off[ACCURACY_KEPT]; /* a ring */
    unsigned n;               /* ever */
};

struct accuracy {
    char *path;
    FILE *file;
    long bytes;
    struct row *rows;
    size_t n_rows;
};

/* ---- what can be told ---- */

static struct row *row_of(struct accuracy *accuracy, const char *problem)
{
    for (size_t i = 0; i < accuracy->n_rows; i++)
        if (strcmp(accuracy->rows[i].problem, problem) == 0)
            return &accuracy->rows[i];
    struct row *rows = accuracy->n_rows < ACCURACY_PROBLEMS
                           ? realloc(accuracy->rows, (accuracy->n_rows + 1) * sizeof *rows)
                           : NULL;
    if (!rows)
        return NULL;
    accuracy->rows = rows;
    struct row *row = &rows[accuracy->n_rows++];
    *row = (struct row){.n = 0};
    snprintf(row->problem, sizeof row->problem, "%s", problem);
    return row;
}

static void remember(struct accuracy *accuracy, const char *problem, double forecast_s, double actual_s)
{
    const double off = (actual_s - forecast_s) / actual_s;
    struct row *row = isfinite(off) ? row_of(accuracy, problem) : NULL;
    if (row)
        row->off[row->n++ % ACCURACY_KEPT] = (float)off;
}

/* Lines that are not as we write them were touched by somebody else: they are passed over. */
static void remember_former(struct accuracy *accuracy)
{
    char line[512], problem[64];
    double forecast_s, actual_s;
    FILE *file = fopen(accuracy->path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%*s\t%63s\t%lf\t%lf", problem, &forecast_s, &actual_s) == 3 && actual_s > 0)
            remember(accuracy, problem, forecast_s, actual_s);
    if (file)
        fclose(file);
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int tell_row(const struct row *row, char *text, size_t size)
{
    float sizes[ACCURACY_KEPT];
    const unsigned n = row->n < ACCURACY_KEPT ? row->n : ACCURACY_KEPT;
    double mean = 0, bias = 0;
    for (unsigned i = 0; i < n; i++) {
        sizes[i] = fabsf(row->off[i]);
        mean += sizes[i] / n;
        bias += row->off[i] / n;
    }
    qsort(sizes, n, sizeof *sizes, by_value);
    return snprintf(text, size, "%s\t%u\t%.6g\t%.6g\t%.6g\t%.6g\n", row->problem, n, mean,
                    (double)sizes[n / 2], (double)sizes[n * 9 / 10], bias);
}

const char *accuracy_tell(const struct accuracy *accuracy, struct arena *arena)
{
    enum { LINE = 160 };
    const size_t size = accuracy->n_rows * LINE + 1;
    char *text = arena_alloc(arena, size);
    size_t at = 0;
    for (size_t i = 0; text && i < accuracy->n_rows; i++) {
        const int n = tell_row(&accuracy->rows[i], text + at, size - at);
        at += n > 0 && (size_t)n < size - at ? (size_t)n : 0;
    }
    return text;
}

/* ---- the file ---- */

static FILE *open_file(const char *path, long *bytes)
{
    FILE *file = fopen(path, "ae");
    if (!file) {
        log_warning("forecasts are not noted: %s: %s", path, strerror(errno));
        return NULL;
    }
    setvbuf(file, NULL, _IOLBF, 4096);
    fseek(file, 0, SEEK_END);
    *bytes = ftell(file);
    return file;
}

struct accuracy *accuracy_open(const char *path)
{
    struct accuracy *accuracy = calloc(1, sizeof *accuracy);
    if (!accuracy)
        return NULL;
    accuracy->path = strdup(path);
    accuracy->file = accuracy->path ? open_file(path, &accuracy->bytes) : NULL;
    if (accuracy->file) {
        remember_former(accuracy);
        return accuracy;
    }
    accuracy_close(accuracy);
    return NULL;
}

void accuracy_close(struct accuracy *accuracy)
{
    if (!accuracy)
        return;
    if (accuracy->file)
        fclose(accuracy->file);
    free(accuracy->rows);
    free(accuracy->path);
    free(accuracy);
}

static void begin_anew(struct accuracy *accuracy)
{
    char old[4096];
    fclose(accuracy->file);
    snprintf(old, sizeof old, "%s.old", accuracy->path);
    rename(accuracy->path, old);
    accuracy->file = open_file(accuracy->path, &accuracy->bytes);
}

void accuracy_note(struct accuracy *accuracy, const char *problem, double forecast_s, double actual_s)
{
    if (!(actual_s >= ACCURACY_LEAST_S))
        return;
    remember(accuracy, problem, forecast_s, actual_s);
    if (!accuracy->file)
        return;
    int n = fprintf(accuracy->file, "%lld\t%s\t%.6g\t%.6g\n", (long long)time(NULL), problem, forecast_s,
                    actual_s);
    accuracy->bytes += n > 0 ? n : 0;
    if (accuracy->bytes > ACCURACY_BYTES)
        begin_anew(accuracy);
}
