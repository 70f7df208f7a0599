/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds a matrix from the entries of a file, in any order. */
#include "config.h"

#include "core/matrix/matrix_text.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct entry_place {
    int64_t row, col; /* from 0 */
    uint64_t line;
};

/* Even empty columns take memory: a line of text must not cause gigabytes to be allocated. */
#define MOST_EMPTY_COLUMNS (1 << 24)

static size_t parts_of(const struct entry_sink *sink)
{
    return sink->file->field == FIELD_COMPLEX ? 2 : 1;
}

enum esp_status entry_sink_init(struct entry_sink *sink, const struct lines *lines, struct matrix_file *file,
                                int64_t rows, int64_t cols, int64_t entries, struct esp_error *error)
{
    *sink = (struct entry_sink){lines, file, rows, cols, 0, entries, NULL, NULL};
    enum esp_status status;
    if (file->is_sparse && cols > MOST_EMPTY_COLUMNS && cols / 64 > entries) {
        status =
            error_set(error, ESP_LIMIT,
                      "a matrix of %lld columns with %lld entries: expected at most %d columns, or 64 for "
                      "each entry",
                      (long long)cols, (long long)entries, MOST_EMPTY_COLUMNS);
    } else if (!file->is_sparse) {
        status =
            matrix_init(&file->matrix, rows, cols, file->field == FIELD_COMPLEX, lines->max_bytes, error);
    } else {
        /* Only checks the announced sizes before memory is allocated for them. */
        struct matrix none = {0};
        status = matrix_init_sparse(&none, rows, cols, 0, false, lines->max_bytes, error);
        matrix_clear(&none);
    }
    if (status != ESP_OK) {
        error_prefix(error, "%s:%llu", lines->name, (unsigned long long)lines->number);
        return status;
    }
    if (!file->is_sparse)
        return ESP_OK;
    sink->places = calloc((size_t)entries + 1, sizeof *sink->places);
    sink->values = calloc((size_t)entries + 1, parts_of(sink) * sizeof *sink->values);
    return sink->places && sink->values ? ESP_OK : error_no_memory(error, "the entries of a matrix");
}

void entry_sink_clear(struct entry_sink *sink)
{
    free(sink->places);
    free(sink->values);
    sink->places = NULL;
    sink->values = NULL;
}

static enum esp_status check_index(const struct lines *lines, const char *what, int64_t index, int64_t extent,
                                   struct esp_error *error)
{
    if (index >= 1 && index <= extent)
        return ESP_OK;
    if (index < 1)
        return lines_error(lines, error, "%s %lld: indices start at 1", what, (long long)index);
    return lines_error(lines, error, "%s %lld: the matrix has %lld %ss", what, (long long)index,
                       (long long)extent, strcmp(what, "row") ? "column" : "row");
}

/* Checks an element on the diagonal against the symmetry. */
static enum esp_status check_diagonal(const struct entry_sink *sink, int64_t row, const double value[2],
                                      struct esp_error *error)
{
    enum matrix_symmetry symmetry = sink->file->symmetry;
    if (symmetry == SYMMETRY_SKEW && (value[0] != 0 || value[1] != 0))
        return lines_error(sink->lines, error,
                           "entry (%lld,%lld) is not zero, as the diagonal of a skew-symmetric matrix is",
                           (long long)row, (long long)row);
    if (symmetry == SYMMETRY_HERMITIAN && value[1] != 0)
        return lines_error(sink->lines, error,
                           "entry (%lld,%lld) is not real, as the diagonal of a Hermitian matrix is",
                           (long long)row, (long long)row);
    return ESP_OK;
}

static void store(double *values, size_t parts, int64_t at, double re, double im)
{
    values[parts * (size_t)at] = re;
    if (parts == 2)
        values[2 * (size_t)at + 1] = im;
}

/* Stores the value at the mirrored place. */
static void store_mirrored(const struct entry_sink *sink, double *values, int64_t at, double re, double im)
{
    enum matrix_symmetry symmetry = sink->file->symmetry;
    store(values, parts_of(sink), at, symmetry == SYMMETRY_SKEW ? -re : re,
          symmetry == SYMMETRY_SYMMETRIC ? im : -im);
}

enum esp_status entry_sink_put(struct entry_sink *sink, int64_t row, int64_t col, const double value[2],
                               struct esp_error *error)
{
    enum esp_status status = check_index(sink->lines, "row", row, sink->rows, error);
    if (status == ESP_OK)
        status = check_index(sink->lines, "column", col, sink->cols, error);
    if (status == ESP_OK && row < col && sink->file->symmetry != SYMMETRY_GENERAL)
        return lines_error(
            sink->lines, error,
            "entry (%lld,%lld) is above the diagonal: of a matrix that is not general the file "
            "has the lower triangle only; write (%lld,%lld), or say general",
            (long long)row, (long long)col, (long long)col, (long long)row);
    if (status == ESP_OK && row == col)
        status = check_diagonal(sink, row, value, error);
    if (status != ESP_OK)
        return status;
    size_t parts = parts_of(sink);
    if (!sink->file->is_sparse) {
        double *values = sink->file->matrix.values;
        store(values, parts, (col - 1) * sink->rows + row - 1, value[0], value[1]);
        if (sink->file->symmetry != SYMMETRY_GENERAL && row != col)
            store_mirrored(sink, values, (row - 1) * sink->rows + col - 1, value[0], value[1]);
        return ESP_OK;
    }
    store(sink->values, parts, sink->n, value[0], value[1]);
    sink->places[sink->n++] = (struct entry_place){row - 1, col - 1, sink->lines->number};
    return ESP_OK;
}

static bool is_mirrored(const struct entry_sink *sink, const struct entry_place *place)
{
    return sink->file->symmetry != SYMMETRY_GENERAL && place->row != place->col;
}

/* An entry of one column before sorting: the entry's number, ~number for its mirror image. */
struct pending {
    int64_t row, entry;
};

/* Entries at one place stay in the order of the file, so that their sum is always rounded in the same way. */
static int by_row(const void *left, const void *right)
{
    const struct pending *a = left, *b = right;
    int64_t first = a->entry < 0 ? ~a->entry : a->entry, second = b->entry < 0 ? ~b->entry : b->entry;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return first < second ? -1 : first > second;
}

static const struct entry_place *place_of(const struct entry_sink *sink, const struct pending *pending)
{
    return &sink->places[pending->entry < 0 ? ~pending->entry : pending->entry];
}

/* Finds the repeated entry that comes first in the file. */
static void find_repeated(const struct entry_sink *sink, const struct pending *pending, int64_t n,
                          const struct entry_place **repeated)
{
    for (int64_t k = 1; k < n; k++) {
        if (pending[k].row != pending[k - 1].row)
            continue;
        const struct entry_place *a = place_of(sink, &pending[k]), *b = place_of(sink, &pending[k - 1]);
        const struct entry_place *later = a > b ? a : b;
        if (!*repeated || later < *repeated)
            *repeated = later;
    }
}

static enum esp_status tell_repeated(const struct entry_sink *sink, const struct entry_place *place,
                                     struct esp_error *error)
{
    struct lines at = *sink->lines;
    at.number = place->line;
    return lines_error(&at, error,
                       "entry (%lld,%lld) is given a second time%s; --sum-duplicates adds such entries",
                       (long long)place->row + 1, (long long)place->col + 1,
                       sink->file->symmetry == SYMMETRY_GENERAL ? "" : " (each pair is written once)");
}

/* Sets starts[j] to the beginning of column j, *total to the number of entries including mirrored ones. */
static void count_columns(const struct entry_sink *sink, int64_t *starts)
{
    for (int64_t k = 0; k < sink->n; k++) {
        starts[sink->places[k].col + 1]++;
        if (is_mirrored(sink, &sink->places[k]))
            starts[sink->places[k].row + 1]++;
    }
    for (int64_t j = 0; j < sink->cols; j++)
        starts[j + 1] += starts[j];
}

static void deal_out(const struct entry_sink *sink, int64_t *next, struct pending *pending)
{
    for (int64_t k = 0; k < sink->n; k++) {
        const struct entry_place *place = &sink->places[k];
        pending[next[place->col]++] = (struct pending){place->row, k};
        if (is_mirrored(sink, place))
            pending[next[place->row]++] = (struct pending){place->col, ~k};
    }
}

/* Appends a column to the `n` entries of the matrix. Entries at one place are added up; in a pattern they
 * are one entry. Returns the new number of entries. */
static int64_t take_column(struct entry_sink *sink, const struct pending *pending, int64_t from, int64_t to,
                           int64_t n)
{
    struct matrix *matrix = &sink->file->matrix;
    size_t parts = parts_of(sink);
    const int64_t first = n;
    for (int64_t k = from; k < to; k++) {
        bool mirrored = pending[k].entry < 0;
        size_t entry = (size_t)(mirrored ? ~pending[k].entry : pending[k].entry);
        double re = sink->values[parts * entry], im = parts == 2 ? sink->values[2 * entry + 1] : 0, sum[2];
        bool is_again = n > first && matrix->indices[n - 1] == pending[k].row;
        if (is_again && sink->file->field == FIELD_PATTERN)
            continue;
        n -= is_again;
        memcpy(sum, matrix->values + parts * (size_t)n, parts * sizeof *sum);
        matrix->indices[n] = pending[k].row;
        if (mirrored)
            store_mirrored(sink, matrix->values, n, re, im);
        else
            store(matrix->values, parts, n, re, im);
        for (size_t part = 0; is_again && part < parts; part++)
            matrix->values[parts * (size_t)n + part] += sum[part];
        n++;
    }
    return n;
}

/* ESP_SYNTAX when a sum of integers is not exact, or a sum of finite numbers is beyond the range of a double.
 */
static enum esp_status check_sums(const struct entry_sink *sink, struct esp_error *error)
{
    const struct matrix *matrix = &sink->file->matrix;
    const double most = sink->file->field == FIELD_INTEGER ? 0x1p53 : DBL_MAX;
    bool finite = true;
    for (int64_t k = 0; k < sink->n * (int64_t)parts_of(sink) && finite; k++)
        finite = isfinite(sink->values[k]);
    for (int64_t k = 0; k < matrix_stored(matrix) * (int64_t)parts_of(sink) && finite; k++)
        if (fabs(matrix->values[k]) > most)
            return error_set(error, ESP_SYNTAX, "%s: a sum of entries at one place is beyond %.17g",
                             sink->lines->name, most);
    return ESP_OK;
}

static enum esp_status fill(struct entry_sink *sink, const int64_t *starts, struct pending *pending,
                            struct esp_error *error)
{
    struct matrix *matrix = &sink->file->matrix;
    const struct entry_place *repeated = NULL;
    enum esp_status status =
        matrix_init_sparse(matrix, sink->rows, sink->cols, starts[sink->cols],
                           sink->file->field == FIELD_COMPLEX, sink->lines->max_bytes, error);
    if (status != ESP_OK)
        return error_prefix(error, "%s", sink->lines->name);
    int64_t taken = 0;
    for (int64_t j = 0; j < sink->cols; j++) {
        int64_t n = starts[j + 1] - starts[j];
        bool sorted = true;
        for (int64_t k = starts[j] + 1; k < starts[j + 1] && sorted; k++)
            sorted = pending[k - 1].row < pending[k].row;
        if (!sorted) {
            qsort(pending + starts[j], (size_t)n, sizeof *pending, by_row);
            find_repeated(sink, pending + starts[j], n, &repeated);
        }
        taken = take_column(sink, pending, starts[j], starts[j + 1], taken);
        matrix->starts[j + 1] = taken;
    }
    if (!repeated)
        return ESP_OK;
    return sink->lines->sum_duplicates ? check_sums(sink, error) : tell_repeated(sink, repeated, error);
}

enum esp_status entry_sink_finish(struct entry_sink *sink, struct esp_error *error)
{
    if (!sink->file->is_sparse)
        return ESP_OK;
    size_t columns = (size_t)sink->cols + 1;
    int64_t *starts = calloc(columns, sizeof *starts), *next = malloc(columns * sizeof *next);
    struct pending *pending = malloc((2 * (size_t)sink->n + 1) * sizeof *pending);
    enum esp_status status = ESP_NO_MEMORY;
    if (starts && next && pending) {
        count_columns(sink, starts);
        memcpy(next, starts, columns * sizeof *next);
        deal_out(sink, next, pending);
        status = fill(sink, starts, pending, error);
    } else {
        error_no_memory(error, "the columns of a matrix");
    }
    free(starts);
    free(next);
    free(pending);
    return status;
}
