/* SPDX-License-Identifier: Apache-2.0 */
#include "services/fast/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* BLAS and LAPACK with Fortran's interface. */
double dnrm2_(const int *n, const double *x, const int *incx);
void dgels_(const char *trans, const int *m, const int *n, const int *nrhs, double *A, const int *lda,
            double *B, const int *ldb, double *work, const int *lwork, int *info, size_t trans_length);

#define LWORK(rows, columns) ((columns) + 64 * ((rows) + (columns)))

struct scaled {
    int rows, columns;
    double *A, *b, *scale; /* weighted; columns scaled to norm 1 */
    double *part, *right, *work;
};

static void release(struct scaled *scaled)
{
    free(scaled->A);
    free(scaled->b);
    free(scaled->scale);
    free(scaled->part);
    free(scaled->right);
    free(scaled->work);
}

/* Powers of sizes differ by tens of orders of magnitude: with columns of norm 1 the rank is determined
 * correctly. */
static bool weigh(const double *A, const double *b, const double *weights, int rows, int columns,
                  struct scaled *s)
{
    const int one = 1;
    size_t elements = (size_t)rows * (size_t)columns;
    *s = (struct scaled){.rows = rows, .columns = columns};
    s->A = malloc(elements * sizeof *s->A);
    s->b = malloc((size_t)rows * sizeof *s->b);
    s->scale = malloc((size_t)columns * sizeof *s->scale);
    s->part = malloc(elements * sizeof *s->part);
    s->right = malloc((size_t)(rows + columns) * sizeof *s->right);
    s->work = malloc((size_t)LWORK(rows, columns) * sizeof *s->work);
    if (!s->A || !s->b || !s->scale || !s->part || !s->right || !s->work)
        return false;
    for (int i = 0; i < rows; i++)
        s->b[i] = weights[i] * b[i];
    for (int j = 0; j < columns; j++) {
        for (int i = 0; i < rows; i++)
            s->A[j * rows + i] = weights[i] * A[j * rows + i];
        const double norm = dnrm2_(&rows, s->A + j * rows, &one);
        if (!isfinite(norm))
            return false;
        s->scale[j] = norm > 0 ? norm : 1;
        for (int i = 0; i < rows; i++)
            s->A[j * rows + i] /= s->scale[j];
    }
    return true;
}

/* Solves the least squares problem over the columns of the set. */
static bool solve_part(struct scaled *s, const bool *in, double *c)
{
    int n = 0, rows = s->rows, one = 1, info = 0, lwork = LWORK(s->rows, s->columns);
    for (int j = 0; j < s->columns; j++)
        if (in[j])
            memcpy(s->part + (n++) * rows, s->A + j * rows, (size_t)rows * sizeof *s->part);
    memset(c, 0, (size_t)s->columns * sizeof *c);
    if (n == 0)
        return true;
    if (n > rows)
        return false;
    memcpy(s->right, s->b, (size_t)rows * sizeof *s->right);
    dgels_("N", &rows, &n, &one, s->part, &rows, s->right, &rows, s->work, &lwork, &info, 1);
    for (int j = 0, k = 0; j < s->columns; j++)
        if (in[j]) {
            c[j] = s->right[k++];
            if (!isfinite(c[j]) || fabs(c[j]) > 1e9) /* nearly dependent columns */
                return false;
        }
    return info == 0;
}

/* Returns the column that would reduce the residual most; -1 when none would. */
static int best_gradient(const struct scaled *s, const double *c, const bool *in, const bool *barred)
{
    int best = -1;
    double most = 1e-10;
    memcpy(s->right, s->b, (size_t)s->rows * sizeof *s->right);
    for (int j = 0; j < s->columns; j++)
        for (int i = 0; i < s->rows && c[j] != 0; i++)
            s->right[i] -= s->A[j * s->rows + i] * c[j];
    for (int j = 0; j < s->columns; j++) {
        if (in[j] || barred[j])
            continue;
        double gradient = 0;
        for (int i = 0; i < s->rows; i++)
            gradient += s->A[j * s->rows + i] * s->right[i];
        if (gradient > most) {
            most = gradient;
            best = j;
        }
    }
    return best;
}

/* Steps from c towards z until the first coefficient of the set reaches 0, and removes it from the set. */
static void step_back(double *c, const double *z, bool *in, int columns)
{
    double alpha = 1;
    for (int j = 0; j < columns; j++)
        if (in[j] && z[j] <= 0)
            alpha = fmin(alpha, c[j] / (c[j] - z[j]));
    for (int j = 0; j < columns; j++) {
        c[j] += alpha * (z[j] - c[j]);
        if (in[j] && (c[j] <= 1e-14 || (z[j] <= 0 && !(c[j] > 0)))) {
            in[j] = false;
            c[j] = 0;
        }
    }
}

static bool has_negative(const double *z, const bool *in, int columns)
{
    for (int j = 0; j < columns; j++)
        if (in[j] && z[j] <= 0)
            return true;
    return false;
}

static bool non_negative(struct scaled *s, double *c, double *z)
{
    bool in[COST_MOST_TERMS] = {false}, barred[COST_MOST_TERMS] = {false};
    memset(c, 0, (size_t)s->columns * sizeof *c);
    for (int round = 0; round < 6 * s->columns; round++) {
        int j = best_gradient(s, c, in, barred);
        if (j < 0)
            break;
        in[j] = true;
        if (!solve_part(s, in, z) || z[j] <= 0) { /* it depends on the other columns */
            in[j] = false;
            barred[j] = true;
            continue;
        }
        for (int k = 0; k < s->columns && has_negative(z, in, s->columns); k++) {
            step_back(c, z, in, s->columns);
            if (!solve_part(s, in, z))
                return false;
        }
        memcpy(c, z, (size_t)s->columns * sizeof *c);
        memset(barred, 0, sizeof barred);
        barred[j] = !in[j];
    }
    for (int j = 0; j < s->columns; j++)
        if (!(c[j] > 0))
            c[j] = 0;
    return true;
}

bool fit_least_squares(const double *A, const double *b, const double *weights, int rows, int columns,
                       bool any_sign, double *c)
{
    struct scaled scaled;
    double z[COST_MOST_TERMS];
    bool all[COST_MOST_TERMS];
    if (columns > COST_MOST_TERMS || columns < 1 || rows < 1)
        return false;
    memset(all, true, sizeof all);
    bool solved = weigh(A, b, weights, rows, columns, &scaled) &&
                  (any_sign ? solve_part(&scaled, all, c) : non_negative(&scaled, c, z));
    for (int j = 0; solved && j < columns; j++)
        c[j] /= scaled.scale[j];
    release(&scaled);
    return solved;
}
