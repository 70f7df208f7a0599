/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/matrix.h"

#include "core/matrix_text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A text file's numbers take more room than a double; beyond this a text is the wrong form. */
#define MAX_FILE_BYTES (UINT64_C(64) << 30)

enum esp_status matrix_init(struct matrix *matrix, int64_t rows, int64_t cols, bool is_complex,
                            uint64_t max_bytes, struct esp_error *error)
{
    if (rows < 0 || cols < 0)
        return error_set(error, ESP_INVALID, "a matrix of %lld x %lld elements: expected extents >= 0",
                         (long long)rows, (long long)cols);
    uint64_t bytes = 0, size = is_complex ? 16 : 8, limit = max_bytes ? max_bytes : MATRIX_DEFAULT_MAX_BYTES;
    if (__builtin_mul_overflow((uint64_t)rows, (uint64_t)cols, &bytes) ||
        __builtin_mul_overflow(bytes, size, &bytes) || bytes > limit)
        return error_set(error, ESP_LIMIT,
                         "a dense matrix of %lld x %lld elements needs more than the limit of %.1f GB",
                         (long long)rows, (long long)cols, (double)limit / 1e9);
    double *values = calloc(bytes ? bytes : 1, 1);
    if (!values)
        return error_no_memory(error, "a matrix");
    *matrix = (struct matrix){rows, cols, is_complex, values};
    return ESP_OK;
}

void matrix_clear(struct matrix *matrix)
{
    if (!matrix)
        return;
    free(matrix->values);
    *matrix = (struct matrix){0};
}

size_t matrix_bytes(const struct matrix *matrix)
{
    return (size_t)matrix->rows * (size_t)matrix->cols * (matrix->is_complex ? 16 : 8);
}

const char *matrix_format_name(enum matrix_format format)
{
    return format == MATRIX_MARKET ? "Matrix Market" : "Harwell-Boeing";
}

const char *matrix_field_name(enum matrix_field field)
{
    static const char *const names[] = {"real", "integer", "complex", "pattern"};
    return names[field];
}

const char *matrix_symmetry_name(enum matrix_symmetry symmetry)
{
    static const char *const names[] = {"general", "symmetric", "skew-symmetric", "hermitian"};
    return names[symmetry];
}

void matrix_file_clear(struct matrix_file *file)
{
    if (!file)
        return;
    matrix_clear(&file->matrix);
    matrix_clear(&file->rhs);
}

enum esp_status matrix_parse(const char *text, size_t length, const char *name, uint64_t max_bytes,
                             struct matrix_file *file, struct esp_error *error)
{
    struct lines lines = {.name = name, .at = text, .end = text + length, .max_bytes = max_bytes};
    *file = (struct matrix_file){0};
    enum esp_status status;
    if (matrix_market_probe(text, length)) {
        status = matrix_market_parse(&lines, file, error);
    } else if (harwell_boeing_probe(text, length)) {
        status = harwell_boeing_parse(&lines, file, error);
    } else {
        struct span first = {text, 0};
        lines_next(&lines, &first);
        if (length == 0)
            status = error_set(error, ESP_SYNTAX, "%s: expected a matrix, found an empty file", name);
        else
            status = lines_expected(&lines, error, first,
                                    "\"%%%%MatrixMarket ...\" or the header of a Harwell-Boeing file");
    }
    if (status != ESP_OK)
        matrix_file_clear(file);
    return status;
}

static enum esp_status read_all(int fd, const char *path, char **text, size_t *length,
                                struct esp_error *error)
{
    size_t size = 1 << 16, used = 0;
    char *buffer = malloc(size);
    while (buffer) {
        ssize_t got = read(fd, buffer + used, size - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            free(buffer);
            return error_errno(error, "cannot read %s", path);
        }
        if (got == 0) {
            *text = buffer;
            *length = used;
            return ESP_OK;
        }
        used += (size_t)got;
        if (used < size)
            continue;
        if (size >= MAX_FILE_BYTES) {
            free(buffer);
            return error_set(error, ESP_LIMIT, "%s: a matrix file has at most %.0f GB", path,
                             (double)MAX_FILE_BYTES / 1e9);
        }
        size *= 2;
        char *larger = realloc(buffer, size);
        if (!larger)
            free(buffer);
        buffer = larger;
    }
    return error_no_memory(error, path);
}

enum esp_status matrix_load(const char *path, uint64_t max_bytes, struct matrix_file *file,
                            struct esp_error *error)
{
    bool standard_input = strcmp(path, "-") == 0;
    int fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return error_set(error, ESP_NOT_FOUND, "%s: no such file", path);
    if (fd < 0)
        return error_errno(error, "cannot open %s", path);
    char *text = NULL;
    size_t length = 0;
    enum esp_status status = read_all(fd, path, &text, &length, error);
    if (!standard_input)
        close(fd);
    if (status == ESP_OK)
        status = matrix_parse(text, length, standard_input ? "standard input" : path, max_bytes, file, error);
    free(text);
    return status;
}

/* |element| */
static double magnitude(const struct matrix *matrix, int64_t row, int64_t col)
{
    size_t element = (size_t)col * (size_t)matrix->rows + (size_t)row;
    return matrix->is_complex ? hypot(matrix->values[2 * element], matrix->values[2 * element + 1])
                              : fabs(matrix->values[element]);
}

static bool answer_at(int64_t i, int64_t j, int64_t *row, int64_t *col)
{
    if (row)
        *row = i;
    if (col)
        *col = j;
    return false;
}

bool matrix_is_finite(const struct matrix *matrix, int64_t *row, int64_t *col)
{
    size_t part = matrix->is_complex ? 2 : 1, doubles = matrix_bytes(matrix) / sizeof(double);
    for (size_t k = 0; k < doubles; k++)
        if (!isfinite(matrix->values[k])) {
            int64_t element = (int64_t)(k / part);
            return answer_at(element % matrix->rows, element / matrix->rows, row, col);
        }
    return true;
}

bool matrix_is_symmetric(const struct matrix *matrix, int64_t *row, int64_t *col)
{
    int64_t n = matrix->rows;
    const double *v = matrix->values;
    if (matrix->cols != n)
        return answer_at(0, 0, row, col);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            size_t below = (size_t)(j * n + i), above = (size_t)(i * n + j);
            bool equal = matrix->is_complex
                             ? v[2 * below] == v[2 * above] && v[2 * below + 1] == -v[2 * above + 1]
                             : v[below] == v[above];
            if (!equal)
                return answer_at(i, j, row, col);
        }
    return true;
}

bool matrix_has_positive_diagonal(const struct matrix *matrix)
{
    if (matrix->rows != matrix->cols)
        return false;
    for (int64_t i = 0; i < matrix->rows; i++) {
        size_t element = (size_t)(i * matrix->rows + i);
        double re = matrix->values[matrix->is_complex ? 2 * element : element];
        double im = matrix->is_complex ? matrix->values[2 * element + 1] : 0;
        if (!(re > 0) || im != 0)
            return false;
    }
    return true;
}

int64_t matrix_nonzeros(const struct matrix *matrix)
{
    int64_t count = 0;
    for (int64_t j = 0; j < matrix->cols; j++)
        for (int64_t i = 0; i < matrix->rows; i++)
            count += magnitude(matrix, i, j) != 0;
    return count;
}

/* A maximum that a NaN survives. */
static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

double matrix_norm_inf(const struct matrix *matrix)
{
    double norm = 0;
    double *sums = calloc((size_t)matrix->rows + 1, sizeof *sums);
    if (!sums)
        return NAN;
    for (int64_t j = 0; j < matrix->cols; j++)
        for (int64_t i = 0; i < matrix->rows; i++)
            sums[i] += magnitude(matrix, i, j);
    for (int64_t i = 0; i < matrix->rows; i++)
        norm = larger(norm, sums[i]);
    free(sums);
    return norm;
}

static double column_norm(const struct matrix *matrix, int64_t col)
{
    double norm = 0;
    for (int64_t i = 0; i < matrix->rows; i++)
        norm = larger(norm, magnitude(matrix, i, col));
    return norm;
}

/* residual -= column * factor, of `n` elements */
static void subtract_column(double *residual, const double *column, const double *factor, int64_t n,
                            bool is_complex)
{
    if (!is_complex) {
        for (int64_t i = 0; i < n; i++)
            residual[i] -= column[i] * factor[0];
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        residual[2 * i] -= column[2 * i] * factor[0] - column[2 * i + 1] * factor[1];
        residual[2 * i + 1] -= column[2 * i] * factor[1] + column[2 * i + 1] * factor[0];
    }
}

enum esp_status matrix_backward_error(const struct matrix *a, const struct matrix *x, const struct matrix *b,
                                      double *result, struct esp_error *error)
{
    if (a->rows != b->rows || a->cols != x->rows || x->cols != b->cols || a->is_complex != x->is_complex ||
        a->is_complex != b->is_complex)
        return error_set(error, ESP_INVALID,
                         "A X = B with A %lld x %lld, X %lld x %lld, B %lld x %lld: expected matching shapes",
                         (long long)a->rows, (long long)a->cols, (long long)x->rows, (long long)x->cols,
                         (long long)b->rows, (long long)b->cols);
    size_t part = a->is_complex ? 2 : 1;
    struct matrix residual;
    enum esp_status status = matrix_init(&residual, a->rows, 1, a->is_complex, 0, error);
    if (status != ESP_OK)
        return status;
    double a_norm = matrix_norm_inf(a), worst = 0;
    for (int64_t j = 0; j < b->cols; j++) {
        const double *b_column = b->values + (size_t)(j * b->rows) * part;
        const double *x_column = x->values + (size_t)(j * x->rows) * part;
        memcpy(residual.values, b_column, matrix_bytes(&residual));
        for (int64_t k = 0; k < a->cols; k++)
            subtract_column(residual.values, a->values + (size_t)(k * a->rows) * part,
                            x_column + (size_t)k * part, a->rows, a->is_complex);
        double norm = column_norm(&residual, 0);
        double scale = a_norm * column_norm(x, j) + column_norm(b, j);
        worst = larger(worst, norm == 0 ? 0 : norm / scale);
    }
    matrix_clear(&residual);
    *result = worst;
    return ESP_OK;
}
