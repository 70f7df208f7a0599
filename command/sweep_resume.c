/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/sweep_resume.h"
#include "command/csv_rows.h"
#include "util/durable_file.h"
#include "util/regular_file.h"

#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define LAST_COLUMNS 3 /* "sweep", "error" and "note" */

struct resume {
    const struct sweep *sweep;
    const char *identity; /* the sweep's cell of each row */
    const char *path;
    struct csv_rows rows;
    struct csv_row **sorted; /* all but the heading, by what was varied, then by their places */
    bool *drops;             /* by the row's place */
    size_t n_dropped;
};

/* ---- what the file has ---- */

static enum esp_status check_rows(const struct resume *resume, const char *heading, struct esp_error *error)
{
    const struct csv_row *first = resume->rows.rows;
    const size_t length = strlen(heading);
    if (resume->rows.n == 0)
        return resume->rows.is_torn ? error_set(error, ESP_SYNTAX,
                                                "%s, line 1: expected the heading %.*s, found no whole line",
                                                resume->path, (int)length - 1, heading)
                                    : ESP_OK;
    if (first->length != length || memcmp(first->text, heading, length) != 0)
        return error_set(
            error, ESP_SYNTAX,
            "%s, line 1: expected the heading of this sweep, %.*s, found %.*s; name another file",
            resume->path, (int)length - 1, heading, (int)first->length - 1, first->text);
    for (size_t i = 1; i < resume->rows.n; i++) {
        const struct csv_row *row = &resume->rows.rows[i];
        if (row->n != first->n)
            return error_set(error, ESP_SYNTAX, "%s, row %zu: expected %zu cells, found %zu", resume->path,
                             i + 1, first->n, row->n);
        const char *found = row->cells[row->n - LAST_COLUMNS];
        if (strcmp(found, resume->identity) != 0)
            return error_set(error, ESP_SYNTAX,
                             "%s, row %zu: expected a call of this sweep, '%.200s', found one of '%.200s'; "
                             "name another file",
                             resume->path, i + 1, resume->identity, found);
    }
    return ESP_OK;
}

static int compare_cells(const struct csv_row *one, const struct csv_row *other, size_t n)
{
    int order = 0;
    for (size_t i = 0; i < n && order == 0; i++)
        order = strcmp(one->cells[i], other->cells[i]);
    return order;
}

static int compare(const void *one, const void *other, void *resume)
{
    const struct csv_row *a = *(struct csv_row *const *)one, *b = *(struct csv_row *const *)other;
    const int order = compare_cells(a, b, ((struct resume *)resume)->sweep->n_axes);
    return order ? order : a < b ? -1 : a > b;
}

/* The first of the rows with these cells; where there is none, the first behind them. */
static size_t find(const struct resume *resume, const struct csv_row *wanted)
{
    size_t low = 0, high = resume->rows.n - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare_cells(resume->sorted[middle], wanted, resume->sweep->n_axes) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Keeps the first good row of that point, and drops the others. */
static bool keep_one(struct resume *resume, const struct csv_row *wanted, bool is_whole)
{
    bool found = false;
    for (size_t i = find(resume, wanted); i + 1 < resume->rows.n; i++) {
        const struct csv_row *row = resume->sorted[i];
        if (compare_cells(row, wanted, resume->sweep->n_axes) != 0)
            break;
        const bool good = is_whole && !found && !*row->cells[row->n - LAST_COLUMNS + 1];
        found |= good;
        resume->drops[row - resume->rows.rows] = !good;
        resume->n_dropped += !good;
    }
    return found;
}

static enum esp_status match(struct resume *resume, bool (*is_whole)(void *context, size_t point),
                             void *context, bool *done, struct esp_error *error)
{
    char *cells[ESP_MAX_ARGUMENTS];
    enum esp_status status = ESP_OK;
    for (size_t point = 0; point < resume->sweep->n_points && status == ESP_OK; point++) {
        struct csv_row wanted = {.cells = cells};
        for (; wanted.n < resume->sweep->n_axes && status == ESP_OK; wanted.n++)
            status = sweep_value(resume->sweep, point, wanted.n, &cells[wanted.n], error);
        if (status == ESP_OK)
            done[point] = keep_one(resume, &wanted, is_whole(context, point));
        else
            wanted.n--; /* the last one is not there */
        while (wanted.n > 0)
            free(cells[--wanted.n]);
    }
    return status;
}

/* ---- the file ---- */

static bool write_kept(FILE *file, const void *arg)
{
    const struct resume *resume = arg;
    for (size_t i = 0; i < resume->rows.n; i++)
        if (!resume->drops[i])
            fwrite(resume->rows.rows[i].text, 1, resume->rows.rows[i].length, file);
    return !ferror(file);
}

static enum esp_status rewrite(const struct resume *resume, struct esp_error *error)
{
    char real[PATH_MAX], copy[PATH_MAX]; /* a symbolic link stays one */
    if (!realpath(resume->path, real))
        return error_errno(error, "cannot write %s", resume->path);
    strcpy(copy, real);
    return durable_file_replace(dirname(copy), basename(real), write_kept, resume, error);
}

/* With an empty file, or none, as it was. */
static enum esp_status read_rows(struct resume *resume, const char *heading, struct esp_error *error)
{
    enum esp_status status = csv_rows_read(&resume->rows, resume->path, error);
    if (status == ESP_NOT_FOUND)
        return ESP_OK;
    if (status == ESP_OK)
        status = check_rows(resume, heading, error);
    if (status != ESP_OK || resume->rows.n == 0)
        return status;
    resume->sorted = calloc(resume->rows.n, sizeof(struct csv_row *));
    resume->drops = calloc(resume->rows.n, sizeof(bool));
    if (!resume->sorted || !resume->drops)
        return error_no_memory(error, resume->path);
    for (size_t i = 1; i < resume->rows.n; i++)
        resume->sorted[i - 1] = &resume->rows.rows[i];
    qsort_r(resume->sorted, resume->rows.n - 1, sizeof(struct csv_row *), compare, resume);
    return ESP_OK;
}

enum esp_status sweep_resume(const struct sweep *sweep, const char *path, const char *heading,
                             const char *identity, bool (*is_whole)(void *context, size_t point),
                             void *context, bool *done, FILE **file, struct esp_error *error)
{
    struct resume resume = {.sweep = sweep, .identity = identity, .path = path};
    enum esp_status status = read_rows(&resume, heading, error);
    if (status == ESP_OK && resume.rows.n > 0)
        status = match(&resume, is_whole, context, done, error);
    if (status == ESP_OK && (resume.n_dropped > 0 || resume.rows.is_torn))
        status = rewrite(&resume, error);
    if (status == ESP_OK && !(*file = regular_file_open(path, "a", error)))
        status = error->status;
    if (status == ESP_OK && resume.rows.n == 0 && (fputs(heading, *file) < 0 || fflush(*file) != 0)) {
        status = error_errno(error, "cannot write %s", path);
        fclose(*file);
        *file = NULL;
    }
    free(resume.sorted);
    free(resume.drops);
    csv_rows_clear(&resume.rows);
    return status;
}
