/* SPDX-License-Identifier: Apache-2.0
 *
 * One call made twice, by a worker and by ranks, with the same inputs: what rows_alike.c (elements are the
 * same) and rows_alike_values.c (eigenvalues and singular values are) have in common.
 */
#ifndef TESTS_PROBLEMS_ALIKE_H
#define TESTS_PROBLEMS_ALIKE_H

#include "tests/problems/table.h"

enum { MOST_OUTPUTS = 3 };

struct twice {
    struct trial *trial;
    int n; /* the size that it is made of */
    char flags[4];
    struct mat alone[MOST_OUTPUTS], together[MOST_OUTPUTS];
};

/* Gives the inputs, the same each time: what the matrices are made of begins anew. */
typedef void give_inputs(struct twice *twice);

/* Sizes that no block of the grids divides, with fewer rows than ranks too. */
enum { N_SIZES = 3 };
extern const int alike_sizes[N_SIZES];

/* Of this call, with its letters in the case; `outputs` end with NULL or are MOST_OUTPUTS. False: one of the
 * two failed, which is noted. */
bool run_twice(struct twice *twice, give_inputs *give_them, const char *const *outputs);
void give_flags(struct twice *twice, const char *first, const char *second);

/* rows_alike_values.c */
void eigen_alike(struct trial *trial);
void divided_eigen_alike(struct trial *trial); /* ScaLAPACK has it with vectors only */
void singular_alike(struct trial *trial);

#endif
