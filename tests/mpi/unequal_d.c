/* SPDX-License-Identifier: Apache-2.0 */
#define P(root)      esp_pd##root
#define LAPACK(root) d##root##_
#define ALL_TRIALS   trials_d
#define SCALAR       double
#define REAL         double
#define IS_COMPLEX   0
#include "tests/mpi/unequal_type.h"

int trial_phases_d(struct random *random, const struct trial_grid *grid)
{
    const int n = 900;
    double *a = draw_matrix(random, n, n);
    const int errors = compare_lu(grid, a, n, n, "LU in phases");
    free(a);
    return errors;
}
