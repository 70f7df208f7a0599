/* SPDX-License-Identifier: Apache-2.0
 *
 * What a product of sparse matrices will hold, whatever its type.
 */
#include "solvers/solvers.h"
#include "solvers/sparse_structure.h"

#include <limits.h>
#include <stdlib.h>

SOLVER int esp_cscproduct_size(int m, int n, int k, const int *Ap, const int *Ai, const int *Bp,
                               const int *Bi, int *count)
{
    *count = 0;
    if (!columns_are_good(m, k, Ap, Ai) || !columns_are_good(k, n, Bp, Bi))
        return SOLVER_INVALID;
    int *seen_in = calloc((size_t)m + 1, sizeof *seen_in), status = seen_in ? SOLVER_OK : SOLVER_NO_MEMORY;
    for (int j = 0; j < n && status == SOLVER_OK; j++)
        for (int q = Bp[j]; q < Bp[j + 1]; q++)
            for (int p = Ap[Bi[q]]; p < Ap[Bi[q] + 1]; p++) {
                if (seen_in[Ai[p]] > j)
                    continue;
                if (*count == INT_MAX)
                    status = SOLVER_NO_MEMORY;
                else
                    ++*count;
                seen_in[Ai[p]] = j + 1;
            }
    free(seen_in);
    return status;
}
