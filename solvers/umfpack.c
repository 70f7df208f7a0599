/* SPDX-License-Identifier: Apache-2.0
 *
 * UMFPACK: sparse LU factorisation of general matrices (Davis, ACM TOMS 30, 2004).
 */
#include "solvers/solvers.h"
#include "solvers/sparse_structure.h"

#include <stdlib.h>
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
    umfpack_zi_free_symbolic(&symbolic);
    umfpack_zi_free_numeric(&numeric);
    return meaning(status);
}
