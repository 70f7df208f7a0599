/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/forecast/accuracy.h"

#include "util/log.h"
#include "util/regular_file.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct row {
    char problem[64];
    bool is_short;
    float off[ACCURACY_KEPT];    /* a ring */
    unsigned n;                  /* ever */
    unsigned together;           /* short ones that have no line yet */
    double forecast_s, actual_s; /* their sums */
};

struct accuracy {
    char *path;
    FILE *file;
    long bytes;
    struct row *rows;
    size_t n_rows, newest; /* newest: the row that was found last */
};

/* ---- what can be told ---- */

static bool is_of(const struct row *row, const char *problem, bool is_short)
{
    return row->is_short == is_short && strcmp(row->problem, problem) == 0;
}

static struct row *add_row(struct accuracy *accuracy, const char *problem, bool is_short)
{
    struct row *rows = accuracy->n_rows < ACCURACY_PROBLEMS
                           ? realloc(accuracy->rows, (accuracy->n_rows + 1) * sizeof *rows)
                           : NULL;
    if (!rows)
        return NULL;
    accuracy->rows = rows;
    accuracy->newest = accuracy->n_rows++;
    struct row *row = &rows[accuracy->newest];
    *row = (struct row){.is_short = is_short};
    snprintf(row->problem, sizeof row->problem, "%s", problem);
    return row;
}

/* Calls of one problem come one after the other. */
static struct row *row_of(struct accuracy *accuracy, const char *problem, bool is_short)
{
    if (accuracy->newest < accuracy->n_rows && is_of(&accuracy->rows[accuracy->newest], problem, is_short))
        return &accuracy->rows[accuracy->newest];
    for (size_t i = 0; i < accuracy->n_rows; i++)
        if (is_of(&accuracy->rows[i], problem, is_short))
            return &accuracy->rows[accuracy->newest = i];
    return add_row(accuracy, problem, is_short);
}

/* NULL: it cannot be. */
static struct row *remember(struct accuracy *accuracy, const char *problem, double forecast_s,
                            double actual_s)
{
    const double off = (actual_s - forecast_s) / actual_s;
    struct row *row = isfinite((float)off) ? row_of(accuracy, problem, actual_s < ACCURACY_LEAST_S) : NULL;
    if (row)
        row->off[row->n++ % ACCURACY_KEPT] = (float)off;
    return row;
}

/* Lines of many short ones together are passed over: only those since the server was started are told. So are
 * those that are not as we write them, as a machine that fell leaves them, or somebody who wrote into the
 * file. */
static void remember_former(struct accuracy *accuracy)
{
    char text[ACCURACY_LINE];
    struct accuracy_line line;
    unsigned n = 0, wrong = 0, first = 0;
    FILE *file = regular_file_open(accuracy->path, "r", NULL);
    while (file && fgets(text, sizeof text, file)) {
        n++;
        if (!accuracy_line_read(text, &line))
            first = wrong++ == 0 ? n : first;
        else if (line.together == 0)
            remember(accuracy, line.problem, line.forecast_s, line.actual_s);
    }
    if (file)
        fclose(file);
    if (wrong > 0)
        log_warning("%s:%u: %u of its %u lines are not as a server writes them (time, problem, forecast and "
                    "actual seconds, with tabs between them): they are passed over",
                    accuracy->path, first, wrong, n);
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* "mean, median, 9 of 10, bias" */
static void write_figures(const struct row *row, char *text, size_t size)
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
    snprintf(text, size, "%.6g\t%.6g\t%.6g\t%.6g", mean, (double)sizes[n / 2], (double)sizes[n * 9 / 10],
             bias);
}

const char *accuracy_tell(const struct accuracy *accuracy, struct arena *arena)
{
    enum { LINE = 160 };
    const size_t size = accuracy->n_rows * LINE + 1;
    char *text = arena_alloc(arena, size), figures[80];
    size_t at = 0;
    for (size_t i = 0; text && i < accuracy->n_rows; i++) {
        const struct row *row = &accuracy->rows[i];
        write_figures(row, figures, sizeof figures);
        const int n = snprintf(text + at, size - at, "%s\t%u\t%s%s\n", row->problem,
                               row->n < ACCURACY_KEPT || row->is_short ? row->n : ACCURACY_KEPT, figures,
                               row->is_short ? "\tshort" : "");
        at += n > 0 && (size_t)n < size - at ? (size_t)n : 0;
    }
    return text;
}

/* ---- the file ---- */

static FILE *open_file(const char *path, long *bytes)
{
    struct esp_error error;
    FILE *file = regular_file_open(path, "a", &error);
    if (!file) {
        log_warning("forecasts are not noted: %s", error.text);
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

static void begin_anew(struct accuracy *accuracy)
{
    char old[4096];
    fclose(accuracy->file);
    snprintf(old, sizeof old, "%s.old", accuracy->path);
    rename(accuracy->path, old);
    accuracy->file = open_file(accuracy->path, &accuracy->bytes);
}

static void count_bytes(struct accuracy *accuracy, int n)
{
    accuracy->bytes += n > 0 ? n : 0;
    if (accuracy->bytes > ACCURACY_BYTES)
        begin_anew(accuracy);
}

static void write_together(struct accuracy *accuracy, struct row *row)
{
    char figures[80];
    if (accuracy->file && row->together > 0) {
        write_figures(row, figures, sizeof figures);
        count_bytes(accuracy, fprintf(accuracy->file, "%lld\t%s\t%.6g\t%.6g\t%u\t%s\n", (long long)time(NULL),
                                      row->problem, row->forecast_s / row->together,
                                      row->actual_s / row->together, row->together, figures));
    }
    row->together = 0;
    row->forecast_s = row->actual_s = 0;
}

void accuracy_close(struct accuracy *accuracy)
{
    if (!accuracy)
        return;
    for (size_t i = 0; i < accuracy->n_rows; i++)
        write_together(accuracy, &accuracy->rows[i]);
    if (accuracy->file)
        fclose(accuracy->file);
    free(accuracy->rows);
    free(accuracy->path);
    free(accuracy);
}

void accuracy_note(struct accuracy *accuracy, const char *problem, double forecast_s, double actual_s,
                   const struct session_ranks *ranks)
{
    char text[SESSION_RANKS_TEXT];
    struct row *row = actual_s > 0 ? remember(accuracy, problem, forecast_s, actual_s) : NULL;
    if (row && row->is_short) {
        row->forecast_s += forecast_s;
        row->actual_s += actual_s;
        if (++row->together >= ACCURACY_TOGETHER)
            write_together(accuracy, row);
    } else if (actual_s >= ACCURACY_LEAST_S && accuracy->file) {
        const bool on_ranks = ranks && ranks->rows > 0;
        count_bytes(accuracy, fprintf(accuracy->file, "%lld\t%s\t%.6g\t%.6g%s%s\n", (long long)time(NULL),
                                      problem, forecast_s, actual_s, on_ranks ? "\t" : "",
                                      on_ranks ? session_ranks_text(ranks, text) : ""));
    }
}
