/* SPDX-License-Identifier: Apache-2.0
 *
 * LU factors that stay with the routine: factor once, solve many times. kept.esp describes it.
 *
 *   cc -shared -fPIC -o libkept.so kept.c -llapack
 */
#include <stdlib.h>
#include <string.h>

struct kept_lu {
    int n;
    int *pivots;
    double *factors;
};

void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *ipiv, int *info);
void dgetrs_(const char *trans, const int *n, const int *nrhs, const double *a, const int *lda,
             const int *ipiv, double *b, const int *ldb, int *info, size_t trans_length);
int kept_lu_open(int n, const double *a, void **state);
int kept_lu_solve(void *state, int n, int nrhs, double *b);
void kept_lu_close(void **state);

void kept_lu_close(void **state)
{
    struct kept_lu *lu = *state;
    if (lu) {
        free(lu->pivots);
        free(lu->factors);
    }
    free(lu);
    *state = NULL;
}

/* 0, k > 0: the k-th pivot is zero, -1: no memory. */
int kept_lu_open(int n, const double *a, void **state)
{
    size_t elements = (size_t)n * (size_t)n;
    struct kept_lu *lu = calloc(1, sizeof *lu);
    int info = -1, lda = n > 1 ? n : 1;
    *state = lu;
    if (lu) {
        lu->n = n;
        lu->factors = malloc(elements * sizeof *lu->factors + 1);
        lu->pivots = malloc((size_t)n * sizeof *lu->pivots + 1);
    }
    if (lu && lu->factors && lu->pivots) {
        memcpy(lu->factors, a, elements * sizeof *a);
        dgetrf_(&n, &n, lu->factors, &lda, lu->pivots, &info);
    }
    if (info != 0)
        kept_lu_close(state);
    return info;
}

/* 0, or the order of the factors when that is not n. */
int kept_lu_solve(void *state, int n, int nrhs, double *b)
{
    const struct kept_lu *lu = state;
    int info, ld = n > 1 ? n : 1;
    if (n != lu->n)
        return lu->n ? lu->n : -1;
    dgetrs_("N", &n, &nrhs, lu->factors, &ld, lu->pivots, b, &ld, &info, 1);
    return 0;
}
