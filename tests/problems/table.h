/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of all groups: which check belongs to which problem. A program tries each group
 * (test_<group>.c); test_coverage.c tells which problem has no row.
 */
#ifndef TESTS_PROBLEMS_TABLE_H
#define TESTS_PROBLEMS_TABLE_H

#include "tests/problems/trial.h"

struct row {
    const char *problem;
    char type;
    void (*check)(struct trial *trial);
};
struct group {
    const char *name;
    const struct row *rows;
    size_t n_rows;
};

/* The rows of a family. */
#define REAL_ROWS(root, check)                                                                               \
    {"s" #root, 's', check},                                                                                 \
    {                                                                                                        \
        "d" #root, 'd', check                                                                                \
    }
#define COMPLEX_ROWS(root, check)                                                                            \
    {"c" #root, 'c', check},                                                                                 \
    {                                                                                                        \
        "z" #root, 'z', check                                                                                \
    }
#define ROWS(root, check) REAL_ROWS(root, check), COMPLEX_ROWS(root, check)
#define GROUP(rows)                                                                                          \
    {                                                                                                        \
#rows, rows, sizeof rows / sizeof *rows                                                              \
    }

extern const struct group blas1_group, blas2_group, blas3_group, linear_group, eigen_group, orthogonal_group,
    solvers_group, functions_group;
/* Of problems that only ranks compute: no program of its own tries them. */
extern const struct group differential_group;

/* Of problems that ranks compute: against workers. Not one of `groups`. */
extern const struct group alike_group;

extern const struct group *const groups[];
extern const size_t n_groups;

/* All of problems/; the caller destroys them. */
struct problem_set *load_problems(void);

/* Runs the check of a row with these workers; the test fails with it. */
void try_row_on(struct rig *rig, const struct row *row);

/* Runs the checks of a group, one test a row, with a pool of workers of its own; the main function's result.
 */
int try_group(const struct group *group);

#endif
