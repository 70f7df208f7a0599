/* SPDX-License-Identifier: Apache-2.0
 *
 * UMFPACK: sparse LU factorisation of general matrices (Davis, ACM TOMS 30, 2004).
 */
#include "solvers/condition.h"
#include "solvers/kept.h"
#include "solvers/sparse_structure.h"

#include <stdlib.h>
#include <string.h>
#include <umfpack.h>

static int meaning(int status)
{
    switch (status) {
    case UMFPACK_OK:
        return SOLVER_OK;
    case UMFPACK_WARNING_singular_matrix:
        return SOLVER_SINGULAR;
    case UMFPACK_ERROR_out_of_memory:
        return SOLVER_NO_MEMORY;
    case UMFPACK_ERROR_invalid_matrix:
    case UMFPACK_ERROR_n_nonpositive:
        return SOLVER_INVALID;
    default:
        return SOLVER_FAILED;
    }
}

static int system_of(char trans)
{
    return trans == 'N' || trans == 'n' ? UMFPACK_A : trans == 'T' || trans == 't' ? UMFPACK_Aat : UMFPACK_At;
}

/* The factors that an estimate of the condition solves with. */
struct estimating {
    const int *pointers, *rows;
    const double *values;
    void *numeric;
    int n;
};

/* x := inverse(A) x, or that of the conjugate transpose; without refinement, as a factor of 10 is exact
 * enough. */
static bool apply_d(void *arg, bool transposed, void *x)
{
    const struct estimating *by = arg;
    double control[UMFPACK_CONTROL];
    const size_t bytes = (size_t)by->n * sizeof(double);
    double *b = malloc(bytes + 1);
    umfpack_di_defaults(control);
    control[UMFPACK_IRSTEP] = 0;
    if (b)
        memcpy(b, x, bytes);
    const bool done = b && umfpack_di_solve(transposed ? UMFPACK_At : UMFPACK_A, by->pointers, by->rows,
                                            by->values, x, b, by->numeric, control, NULL) == UMFPACK_OK;
    free(b);
    return done;
}

static bool apply_z(void *arg, bool transposed, void *x)
{
    const struct estimating *by = arg;
    double control[UMFPACK_CONTROL];
    const size_t bytes = 2 * (size_t)by->n * sizeof(double);
    double *b = malloc(bytes + 1);
    umfpack_zi_defaults(control);
    control[UMFPACK_IRSTEP] = 0;
    if (b)
        memcpy(b, x, bytes);
    const bool done =
        b && umfpack_zi_solve(transposed ? UMFPACK_At : UMFPACK_A, by->pointers, by->rows, by->values, NULL,
                              x, NULL, b, NULL, by->numeric, control, NULL) == UMFPACK_OK;
    free(b);
    return done;
}

SOLVER int esp_dumfpack(char trans, int n, int nrhs, const int *pointers, const int *rows,
                        const double *values, const double *b, double *x, double *rcond)
{
    void *symbolic = NULL, *numeric = NULL;
    double info[UMFPACK_INFO] = {0};
    *rcond = 1;
    if (!structure_is_good(n, pointers, rows))
        return SOLVER_INVALID;
    if (n == 0)
        return SOLVER_OK;
    int status = umfpack_di_symbolic(n, n, pointers, rows, values, &symbolic, NULL, info);
    if (status == UMFPACK_OK)
        status = umfpack_di_numeric(pointers, rows, values, symbolic, &numeric, NULL, info);
    *rcond = info[UMFPACK_RCOND];
    for (int j = 0; j < nrhs && status == UMFPACK_OK; j++)
        status = umfpack_di_solve(system_of(trans), pointers, rows, values, x + (size_t)j * (size_t)n,
                                  b + (size_t)j * (size_t)n, numeric, NULL, info);
    struct estimating estimating = {pointers, rows, values, numeric, n};
    if (status == UMFPACK_OK && nrhs > 0)
        *rcond = condition_d(n, pointers, rows, values, 0, apply_d, &estimating);
    umfpack_di_free_symbolic(&symbolic);
    umfpack_di_free_numeric(&numeric);
    return meaning(status);
}

/* Complex numbers come as pairs, which UMFPACK calls packed: no array of imaginary parts. */
SOLVER int esp_zumfpack(char trans, int n, int nrhs, const int *pointers, const int *rows,
                        const double *values, const double *b, double *x, double *rcond)
{
    void *symbolic = NULL, *numeric = NULL;
    double info[UMFPACK_INFO] = {0};
    *rcond = 1;
    if (!structure_is_good(n, pointers, rows))
        return SOLVER_INVALID;
    if (n == 0)
        return SOLVER_OK;
    int status = umfpack_zi_symbolic(n, n, pointers, rows, values, NULL, &symbolic, NULL, info);
    if (status == UMFPACK_OK)
        status = umfpack_zi_numeric(pointers, rows, values, NULL, symbolic, &numeric, NULL, info);
    *rcond = info[UMFPACK_RCOND];
    for (int j = 0; j < nrhs && status == UMFPACK_OK; j++)
        status =
            umfpack_zi_solve(system_of(trans), pointers, rows, values, NULL, x + 2 * (size_t)j * (size_t)n,
                             NULL, b + 2 * (size_t)j * (size_t)n, NULL, numeric, NULL, info);
    struct estimating estimating = {pointers, rows, values, numeric, n};
    if (status == UMFPACK_OK && nrhs > 0)
        *rcond = condition_z(n, pointers, rows, values, 0, apply_z, &estimating);
    umfpack_zi_free_symbolic(&symbolic);
    umfpack_zi_free_numeric(&numeric);
    return meaning(status);
}

/* ---- kept factors ---- */

/* The matrix is kept too: UMFPACK refines each solution with it. */
struct factors {
    struct kept kept;
    int *pointers, *rows;
    double *values;
    void *numeric;
};

static void release(struct kept *kept)
{
    struct factors *factors = (struct factors *)kept;
    if (kept->kind == KEPT_UMFPACK + 'z')
        umfpack_zi_free_numeric(&factors->numeric);
    else
        umfpack_di_free_numeric(&factors->numeric);
    free(factors->pointers);
    free(factors->rows);
    free(factors->values);
    free(factors);
}

static void *copy(const void *from, size_t bytes)
{
    void *to = malloc(bytes + 1);
    if (to && bytes > 0)
        memcpy(to, from, bytes);
    return to;
}

static struct factors *keep(char letter, int n, const int *pointers, const int *rows, const double *values)
{
    struct factors *factors = calloc(1, sizeof *factors);
    size_t nz = (size_t)pointers[n], element = letter == 'z' ? 2 * sizeof *values : sizeof *values;
    if (!factors)
        return NULL;
    factors->kept = (struct kept){KEPT_UMFPACK + letter, n, release};
    factors->pointers = copy(pointers, ((size_t)n + 1) * sizeof *pointers);
    factors->rows = copy(rows, nz * sizeof *rows);
    factors->values = copy(values, nz * element);
    if (factors->pointers && factors->rows && factors->values)
        return factors;
    release(&factors->kept);
    return NULL;
}

static int factor(struct factors *factors, double *rcond)
{
    double info[UMFPACK_INFO] = {0};
    void *symbolic = NULL;
    int n = factors->kept.n, status;
    if (n == 0)
        return SOLVER_OK;
    if (factors->kept.kind == KEPT_UMFPACK + 'z') {
        status = umfpack_zi_symbolic(n, n, factors->pointers, factors->rows, factors->values, NULL, &symbolic,
                                     NULL, info);
        if (status == UMFPACK_OK)
            status = umfpack_zi_numeric(factors->pointers, factors->rows, factors->values, NULL, symbolic,
                                        &factors->numeric, NULL, info);
        umfpack_zi_free_symbolic(&symbolic);
    } else {
        status = umfpack_di_symbolic(n, n, factors->pointers, factors->rows, factors->values, &symbolic, NULL,
                                     info);
        if (status == UMFPACK_OK)
            status = umfpack_di_numeric(factors->pointers, factors->rows, factors->values, symbolic,
                                        &factors->numeric, NULL, info);
        umfpack_di_free_symbolic(&symbolic);
    }
    *rcond = info[UMFPACK_RCOND];
    return meaning(status);
}

static int open(char letter, int n, const int *pointers, const int *rows, const double *values, void **state,
                double *rcond)
{
    *state = NULL;
    *rcond = 1;
    if (!structure_is_good(n, pointers, rows))
        return SOLVER_INVALID;
    struct factors *factors = keep(letter, n, pointers, rows, values);
    if (!factors)
        return SOLVER_NO_MEMORY;
    int status = factor(factors, rcond);
    if (status == SOLVER_OK)
        *state = factors;
    else
        release(&factors->kept);
    return status;
}

SOLVER int esp_dumfpack_open(int n, const int *pointers, const int *rows, const double *values, void **state,
                             double *rcond)
{
    return open('d', n, pointers, rows, values, state, rcond);
}

SOLVER int esp_zumfpack_open(int n, const int *pointers, const int *rows, const double *values, void **state,
                             double *rcond)
{
    return open('z', n, pointers, rows, values, state, rcond);
}

SOLVER int esp_dumfpack_solve(void *state, char trans, int n, int nrhs, const double *b, double *x)
{
    const struct factors *factors = state;
    int status = kept_check(state, KEPT_UMFPACK, 'd', n), done = UMFPACK_OK;
    for (int j = 0; n > 0 && j < nrhs && status == SOLVER_OK && done == UMFPACK_OK; j++)
        done = umfpack_di_solve(system_of(trans), factors->pointers, factors->rows, factors->values,
                                x + (size_t)j * (size_t)n, b + (size_t)j * (size_t)n, factors->numeric, NULL,
                                NULL);
    return status == SOLVER_OK ? meaning(done) : status;
}

SOLVER int esp_zumfpack_solve(void *state, char trans, int n, int nrhs, const double *b, double *x)
{
    const struct factors *factors = state;
    int status = kept_check(state, KEPT_UMFPACK, 'z', n), done = UMFPACK_OK;
    for (int j = 0; n > 0 && j < nrhs && status == SOLVER_OK && done == UMFPACK_OK; j++)
        done = umfpack_zi_solve(system_of(trans), factors->pointers, factors->rows, factors->values, NULL,
                                x + 2 * (size_t)j * (size_t)n, NULL, b + 2 * (size_t)j * (size_t)n, NULL,
                                factors->numeric, NULL, NULL);
    return status == SOLVER_OK ? meaning(done) : status;
}
