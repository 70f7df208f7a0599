/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties of matrices, dense and sparse. */
#include "config.h"

#include "core/matrix/matrix_format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void stored_value(const struct matrix *matrix, int64_t entry, double *re, double *im)
{
    *re = matrix->values[matrix->is_complex ? 2 * entry : entry];
    *im = matrix->is_complex ? matrix->values[2 * entry + 1] : 0;
}

/* |value| of a stored one */
static double magnitude(const struct matrix *matrix, int64_t entry)
{
    return matrix->is_complex ? hypot(matrix->values[2 * entry], matrix->values[2 * entry + 1])
                              : fabs(matrix->values[entry]);
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
    for (int64_t j = 0; j < matrix->cols; j++)
        for (int64_t k = column_begin(matrix, j); k < column_begin(matrix, j + 1); k++) {
            double re, im;
            stored_value(matrix, k, &re, &im);
            if (!isfinite(re) || !isfinite(im))
                return answer_at(entry_row(matrix, j, k), j, row, col);
        }
    return true;
}

/* In units of epsilon and of the largest of three elements: rounding differences by the order of summation
 * in products with hundreds of rows (A^T A, Q D Q^T), with a margin. */
#define SYMMETRIC_ROUNDING 64

double matrix_asymmetry_bound(const struct matrix *matrix, double epsilon, int64_t row, int64_t col)
{
    double largest = 0;
    const int64_t at[3][2] = {{row, col}, {row, row}, {col, col}};
    for (int i = 0; i < 3 && epsilon > 0; i++) {
        double re, im;
        matrix_element(matrix, at[i][0], at[i][1], &re, &im);
        largest = fmax(largest, hypot(re, im));
    }
    return isfinite(largest) ? SYMMETRIC_ROUNDING * epsilon * largest : 0;
}

bool matrix_is_symmetric(const struct matrix *matrix, double epsilon, int64_t *row, int64_t *col)
{
    if (matrix->cols != matrix->rows)
        return answer_at(0, 0, row, col);
    for (int64_t j = 0; j < matrix->cols; j++)
        for (int64_t k = column_begin(matrix, j); k < column_begin(matrix, j + 1); k++) {
            int64_t i = entry_row(matrix, j, k);
            if (i < j && !matrix_is_sparse(matrix))
                continue; /* already compared from the other side; a sparse matrix may store it on this side
                             only */
            double re, im, here_re, here_im;
            stored_value(matrix, k, &here_re, &here_im);
            matrix_element(matrix, j, i, &re, &im);
            bool is_equal = here_re == re && here_im == -im;
            if (!is_equal &&
                !(hypot(here_re - re, here_im + im) <= matrix_asymmetry_bound(matrix, epsilon, i, j)))
                return answer_at(i, j, row, col);
        }
    return true;
}

bool matrix_has_positive_diagonal(const struct matrix *matrix, double epsilon)
{
    if (matrix->rows != matrix->cols)
        return false;
    for (int64_t i = 0; i < matrix->rows; i++) {
        double re, im;
        matrix_element(matrix, i, i, &re, &im);
        if (!(re > 0) || !(fabs(im) <= SYMMETRIC_ROUNDING * epsilon * re))
            return false;
    }
    return true;
}

int64_t matrix_nonzeros(const struct matrix *matrix)
{
    int64_t count = 0, stored = matrix_stored(matrix);
    for (int64_t k = 0; k < stored; k++)
        count += magnitude(matrix, k) != 0;
    return count;
}

/* Returns the maximum; NaN if either is NaN. */
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
        for (int64_t k = column_begin(matrix, j); k < column_begin(matrix, j + 1); k++)
            sums[entry_row(matrix, j, k)] += magnitude(matrix, k);
    for (int64_t i = 0; i < matrix->rows; i++)
        norm = larger(norm, sums[i]);
    free(sums);
    return norm;
}

static double column_norm(const struct matrix *matrix, int64_t col)
{
    double norm = 0;
    for (int64_t k = column_begin(matrix, col); k < column_begin(matrix, col + 1); k++)
        norm = larger(norm, magnitude(matrix, k));
    return norm;
}

/* residual -= column * factor, in the range of long doubles: products of doubles do not overflow there. */
static void subtract_column(long double *residual, const struct matrix *a, int64_t col, const double *factor)
{
    for (int64_t k = column_begin(a, col); k < column_begin(a, col + 1); k++) {
        const int64_t i = entry_row(a, col, k);
        if (!a->is_complex) {
            residual[i] -= (long double)a->values[k] * (long double)factor[0];
            continue;
        }
        const long double re = (long double)a->values[2 * k], im = (long double)a->values[2 * k + 1];
        const long double by_re = (long double)factor[0], by_im = (long double)factor[1];
        residual[2 * i] -= re * by_re - im * by_im;
        residual[2 * i + 1] -= re * by_im + im * by_re;
    }
}

static long double larger_long(long double a, long double b)
{
    return isnan(a) || a > b ? a : b;
}

static long double long_norm(const long double *column, int64_t rows, bool is_complex)
{
    long double norm = 0;
    for (int64_t i = 0; i < rows; i++)
        norm = larger_long(norm, is_complex ? hypotl(column[2 * i], column[2 * i + 1]) : fabsl(column[i]));
    return norm;
}

/* Computes the largest row sum in long double, because matrix_norm_inf() may overflow. */
static bool long_norm_inf(const struct matrix *matrix, long double *norm)
{
    long double *sums = calloc((size_t)matrix->rows + 1, sizeof *sums);
    *norm = 0;
    for (int64_t j = 0; sums && j < matrix->cols; j++)
        for (int64_t k = column_begin(matrix, j); k < column_begin(matrix, j + 1); k++) {
            double re, im;
            stored_value(matrix, k, &re, &im);
            sums[entry_row(matrix, j, k)] +=
                im == 0 ? fabsl((long double)re) : hypotl((long double)re, (long double)im);
        }
    for (int64_t i = 0; sums && i < matrix->rows; i++)
        *norm = larger_long(*norm, sums[i]);
    free(sums);
    return sums != NULL;
}

/* Computes the largest column sum, which is the row-sum norm of A^H. */
static long double long_norm_one(const struct matrix *matrix)
{
    long double norm = 0;
    for (int64_t j = 0; j < matrix->cols; j++) {
        long double sum = 0;
        for (int64_t k = column_begin(matrix, j); k < column_begin(matrix, j + 1); k++) {
            double re, im;
            stored_value(matrix, k, &re, &im);
            sum += im == 0 ? fabsl((long double)re) : hypotl((long double)re, (long double)im);
        }
        norm = larger_long(norm, sum);
    }
    return norm;
}

/* Computes the largest element of A^H residual. */
static long double normal_residual(const struct matrix *a, const long double *residual)
{
    long double norm = 0;
    for (int64_t j = 0; j < a->cols; j++) {
        long double re = 0, im = 0;
        for (int64_t k = column_begin(a, j); k < column_begin(a, j + 1); k++) {
            const int64_t i = entry_row(a, j, k);
            if (!a->is_complex) {
                re += (long double)a->values[k] * residual[i];
                continue;
            }
            const long double a_re = (long double)a->values[2 * k], a_im = (long double)a->values[2 * k + 1];
            re += a_re * residual[2 * i] + a_im * residual[2 * i + 1];
            im += a_re * residual[2 * i + 1] - a_im * residual[2 * i];
        }
        norm = larger_long(norm, a->is_complex ? hypotl(re, im) : fabsl(re));
    }
    return norm;
}

/* The largest error over the columns: of A X = B, or of A^H A X = A^H B when `fits`. */
static enum esp_status worst_error(const struct matrix *a, const struct matrix *x, const struct matrix *b,
                                   bool fits, double *result, struct esp_error *error)
{
    if (a->rows != b->rows || a->cols != x->rows || x->cols != b->cols || a->is_complex != x->is_complex ||
        a->is_complex != b->is_complex)
        return error_set(error, ESP_INVALID,
                         "A X = B with A %lld x %lld, X %lld x %lld, B %lld x %lld: expected matching shapes",
                         (long long)a->rows, (long long)a->cols, (long long)x->rows, (long long)x->cols,
                         (long long)b->rows, (long long)b->cols);
    const size_t part = a->is_complex ? 2 : 1, n = (size_t)a->rows * part;
    long double a_norm, worst = 0;
    long double *residual = calloc(n + 1, sizeof *residual);
    if (!residual || !long_norm_inf(a, &a_norm)) {
        free(residual);
        return error_no_memory(error, "a residual");
    }
    const long double factor = fits ? long_norm_one(a) : 1;
    for (int64_t j = 0; j < b->cols; j++) {
        const double *b_column = b->values + (size_t)j * n;
        const double *x_column = x->values + (size_t)(j * x->rows) * part;
        for (size_t i = 0; i < n; i++)
            residual[i] = (long double)b_column[i];
        for (int64_t k = 0; k < a->cols; k++)
            subtract_column(residual, a, k, x_column + (size_t)k * part);
        const long double norm =
            fits ? normal_residual(a, residual) : long_norm(residual, a->rows, a->is_complex);
        const long double scale = a_norm * (long double)column_norm(x, j) + (long double)column_norm(b, j);
        worst = larger_long(worst, norm == 0 ? 0 : norm / (factor * scale));
    }
    free(residual);
    *result = (double)worst;
    return ESP_OK;
}

enum esp_status matrix_backward_error(const struct matrix *a, const struct matrix *x, const struct matrix *b,
                                      double *result, struct esp_error *error)
{
    return worst_error(a, x, b, false, result, error);
}

enum esp_status matrix_fit_error(const struct matrix *a, const struct matrix *x, const struct matrix *b,
                                 double *result, struct esp_error *error)
{
    return worst_error(a, x, b, true, result, error);
}
