/* SPDX-License-Identifier: Apache-2.0
 *
 * Trials of solvers/unequal.h for one type, against LAPACK.
 */
#ifndef TESTS_MPI_UNEQUAL_H
#define TESTS_MPI_UNEQUAL_H

#include "util/random.h"

#include <stdbool.h>

struct trial_grid {
    int comm, context, p, q, row, col, block;
};

/* Tests with equal draws on all ranks. Each returns how many of its results are wrong. */
int trials_s(struct random *random, const struct trial_grid *grid);
int trials_d(struct random *random, const struct trial_grid *grid);
int trials_c(struct random *random, const struct trial_grid *grid);
int trials_z(struct random *random, const struct trial_grid *grid);
/* A larger LU whose phases find other speeds than it was told. */
int trial_phases_d(struct random *random, const struct trial_grid *grid);

/* Says what is wrong, on the first rank. Returns 1. */
int wrong(const char *what, int m, int n, const struct trial_grid *grid);

#endif
