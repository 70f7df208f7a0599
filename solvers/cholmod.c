/* SPDX-License-Identifier: Apache-2.0
 *
 * CHOLMOD: sparse Cholesky factorisation (Chen, Davis, Hager and Rajamanickam, ACM TOMS 35, 2008).
 */
#include "solvers/condition.h"
#include "solvers/kept.h"
#include "solvers/sparse_structure.h"

#include <cholmod.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static cholmod_sparse as_sparse(int n, const int *pointers, const int *rows, const void *values, int xtype)
{
    return (cholmod_sparse){.nrow = (size_t)n,
                            .ncol = (size_t)n,
                            .nzmax = (size_t)pointers[n],
                            .p = (void *)(uintptr_t)pointers,
                            .i = (void *)(uintptr_t)rows,
                            .x = (void *)(uintptr_t)values,
                            .stype = 1, /* the upper triangle is read */
                            .itype = CHOLMOD_INT,
                            .xtype = xtype,
                            .dtype = CHOLMOD_DOUBLE,
                            .sorted = 1,
                            .packed = 1};
}

static cholmod_dense as_dense(int n, int nrhs, const void *values, int xtype)
{
    return (cholmod_dense){.nrow = (size_t)n,
                           .ncol = (size_t)nrhs,
                           .nzmax = (size_t)n * (size_t)nrhs,
                           .d = (size_t)n,
                           .x = (void *)(uintptr_t)values,
                           .xtype = xtype,
                           .dtype = CHOLMOD_DOUBLE};
}

static int meaning(const cholmod_common *common)
{
    return common->status == CHOLMOD_OK              ? SOLVER_OK
           : common->status == CHOLMOD_NOT_POSDEF    ? SOLVER_SINGULAR
           : common->status == CHOLMOD_OUT_OF_MEMORY ? SOLVER_NO_MEMORY
                                                     : SOLVER_FAILED;
}

static cholmod_factor *factorize(int xtype, int n, const int *pointers, const int *rows, const void *values,
                                 double *rcond, int *minor, cholmod_common *common)
{
    cholmod_start(common);
    common->print = 0;
    common->final_asis = 0; /* L L^H: L D L^H would accept an indefinite matrix */
    common->final_ll = 1;
    cholmod_sparse A = as_sparse(n, pointers, rows, values, xtype);
    cholmod_factor *factor = cholmod_analyze(&A, common);
    if (factor && cholmod_factorize(&A, factor, common) && common->status == CHOLMOD_OK)
        *rcond = cholmod_rcond(factor, common);
    else if (factor && common->status == CHOLMOD_NOT_POSDEF)
        *minor = (int)factor->minor + 1;
    return factor;
}

static int solve_with(cholmod_factor *factor, int xtype, int n, int nrhs, const void *b, void *x,
                      cholmod_common *common)
{
    cholmod_dense B = as_dense(n, nrhs, b, xtype);
    cholmod_dense *X = cholmod_solve(CHOLMOD_A, factor, &B, common);
    int status = meaning(common);
    if (X)
        memcpy(x, X->x, (size_t)n * (size_t)nrhs * sizeof(double) * (xtype == CHOLMOD_REAL ? 1 : 2));
    else if (status == SOLVER_OK)
        status = SOLVER_FAILED;
    cholmod_free_dense(&X, common);
    return status;
}

/* The factors that an estimate of the condition solves with. */
struct estimating {
    cholmod_factor *factor;
    cholmod_common *common;
    int xtype, n;
};

/* The conjugate transpose is the matrix itself. */
static bool apply(void *arg, bool transposed, void *x)
{
    const struct estimating *by = arg;
    (void)transposed;
    return solve_with(by->factor, by->xtype, by->n, 1, x, x, by->common) == SOLVER_OK;
}

static int solve(int xtype, int n, int nrhs, const int *pointers, const int *rows, const void *values,
                 const void *b, void *x, double *rcond, int *minor)
{
    *rcond = 1;
    *minor = 0;
    if (!structure_is_good(n, pointers, rows))
        return SOLVER_INVALID;
    if (n == 0 || nrhs == 0)
        return SOLVER_OK;
    cholmod_common common;
    cholmod_factor *factor = factorize(xtype, n, pointers, rows, values, rcond, minor, &common);
    int status = meaning(&common);
    if (status == SOLVER_OK)
        status = solve_with(factor, xtype, n, nrhs, b, x, &common);
    struct estimating estimating = {factor, &common, xtype, n};
    if (status == SOLVER_OK)
        *rcond = (xtype == CHOLMOD_REAL ? condition_d : condition_z)(n, pointers, rows, values, 'U', apply,
                                                                     &estimating);
    cholmod_free_factor(&factor, &common);
    cholmod_finish(&common);
    return status;
}

SOLVER int esp_dcholmod(int n, int nrhs, const int *pointers, const int *rows, const double *values,
                        const double *b, double *x, double *rcond, int *minor)
{
    return solve(CHOLMOD_REAL, n, nrhs, pointers, rows, values, b, x, rcond, minor);
}

SOLVER int esp_zcholmod(int n, int nrhs, const int *pointers, const int *rows, const double *values,
                        const double *b, double *x, double *rcond, int *minor)
{
    return solve(CHOLMOD_COMPLEX, n, nrhs, pointers, rows, values, b, x, rcond, minor);
}

/* ---- kept factors ---- */

struct factors {
    struct kept kept;
    cholmod_common common;
    cholmod_factor *factor; /* NULL: of order 0 */
};

static void release(struct kept *kept)
{
    struct factors *factors = (struct factors *)kept;
    if (kept->n > 0) {
        cholmod_free_factor(&factors->factor, &factors->common);
        cholmod_finish(&factors->common);
    }
    free(factors);
}

static int open(char letter, int n, const int *pointers, const int *rows, const void *values, void **state,
                double *rcond, int *minor)
{
    int xtype = letter == 'z' ? CHOLMOD_COMPLEX : CHOLMOD_REAL;
    *state = NULL;
    *rcond = 1;
    *minor = 0;
    if (!structure_is_good(n, pointers, rows))
        return SOLVER_INVALID;
    struct factors *factors = calloc(1, sizeof *factors);
    if (!factors)
        return SOLVER_NO_MEMORY;
    factors->kept = (struct kept){KEPT_CHOLMOD + letter, n, release};
    int status = SOLVER_OK;
    if (n > 0) {
        factors->factor = factorize(xtype, n, pointers, rows, values, rcond, minor, &factors->common);
        status = meaning(&factors->common);
    }
    if (status == SOLVER_OK)
        *state = factors;
    else
        release(&factors->kept);
    return status;
}

static int solve_kept(char letter, void *state, int n, int nrhs, const void *b, void *x)
{
    struct factors *factors = state;
    int status = kept_check(state, KEPT_CHOLMOD, letter, n);
    if (status != SOLVER_OK || n == 0 || nrhs == 0)
        return status;
    return solve_with(factors->factor, letter == 'z' ? CHOLMOD_COMPLEX : CHOLMOD_REAL, n, nrhs, b, x,
                      &factors->common);
}

SOLVER int esp_dcholmod_open(int n, const int *pointers, const int *rows, const double *values, void **state,
                             double *rcond, int *minor)
{
    return open('d', n, pointers, rows, values, state, rcond, minor);
}

SOLVER int esp_zcholmod_open(int n, const int *pointers, const int *rows, const double *values, void **state,
                             double *rcond, int *minor)
{
    return open('z', n, pointers, rows, values, state, rcond, minor);
}

SOLVER int esp_dcholmod_solve(void *state, int n, int nrhs, const double *b, double *x)
{
    return solve_kept('d', state, n, nrhs, b, x);
}

SOLVER int esp_zcholmod_solve(void *state, int n, int nrhs, const double *b, double *x)
{
    return solve_kept('z', state, n, nrhs, b, x);
}
