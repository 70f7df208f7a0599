/* SPDX-License-Identifier: Apache-2.0
 *
 * Trying a problem: its description is read from problems/, the routine is called in a worker process, and
 * what comes back is held against mathematics.
 *
 * A check is a function that makes cases. Each begins with trial_case(), gives inputs by the names that they
 * have in the description (sizes that follow from arrays are left to follow), runs, and checks what came
 * out. Everything that belongs to a case is gone at the next one. A check that fails prints problem, case,
 * quantity, value and bound, and the test goes on.
 */
#ifndef TESTS_PROBLEMS_TRIAL_H
#define TESTS_PROBLEMS_TRIAL_H

#include "tests/problems/mat.h"
#include "tests/unit/worker_rig.h"

struct trial {
    struct lab lab; /* first: what makes matrices takes &trial->lab */
    struct rig *rig;
    const struct problem *problem; /* that is called */
    const struct problem *tried;
    char type;    /* s, d, c or z: what the problem computes with */
    double eps;   /* its distance from 1 to the next number */
    double slack; /* factor of the bounds, 1 unless a method is known for less orthogonal vectors */
    unsigned cases, failures;
    char where[200]; /* the case */
    void *values[PROBLEM_MAX_ARGUMENTS];
    struct mat given[PROBLEM_MAX_ARGUMENTS]; /* that are to be stored in a special way */
    int64_t dims[PROBLEM_MAX_ARGUMENTS][2];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    struct layout layouts[PROBLEM_MAX_ARGUMENTS];
};

/* The sizes that most checks go through: trial_size(i), i = 0, 1, ..., until it is negative. */
int trial_size(int i);
#define EACH_SIZE(n)             for (int n##_i = 0, n; (n = trial_size(n##_i)) >= 0; n##_i++)
#define EACH_FLAG(flag, letters) for (const char *flag = (letters); *flag; flag++)

void trial_case(struct trial *trial, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The case continues with another problem of the same type (getrf for dgetrf), without inputs; NULL: with
 * the one that is tried. */
void use(struct trial *trial, const char *root);

/* ---- inputs ---- */
/* Packed and banded matrices are given, and come back, as whole ones. */
void give(struct trial *trial, const char *argument, struct mat value);
void give_number(struct trial *trial, const char *argument, double complex value);
void give_flag(struct trial *trial, const char *argument, char value);
/* Whether the problem has such an argument (a check may serve several problems). */
bool has(const struct trial *trial, const char *argument);

/* ---- the call ---- */
/* True when it succeeded; else the failure is noted. */
bool run(struct trial *trial);
/* It must fail, with `text` in its error. */
void run_fails(struct trial *trial, const char *text);

/* ---- outputs ---- */
struct mat result(struct trial *trial, const char *argument);
/* The first n numbers as they are stored (of a matrix by compressed columns). */
struct mat result_vector(struct trial *trial, const char *argument, int n);
double complex result_number(struct trial *trial, const char *argument);

/* ---- checks ---- */
/* `value` <= `bound`; a NaN fails. */
void at_most(struct trial *trial, const char *quantity, double value, double bound);
/* |X - Y| <= bound, by the largest element. */
void near(struct trial *trial, const char *quantity, struct mat X, struct mat Y, double bound);
/* The normwise backward error of the solution of A X = B (Higham, Accuracy and Stability, theorem 7.1). */
void solves(struct trial *trial, struct mat A, struct mat X, struct mat B);
/* ||R|| / ||A|| <= 10 n eps, in Frobenius' norm: for what should be zero. */
void vanishes(struct trial *trial, const char *quantity, struct mat R, double scale, int n);
/* Columns are orthonormal. */
void orthonormal(struct trial *trial, const char *quantity, struct mat Q);
/* Real parts ascend (or descend). */
void ascending(struct trial *trial, const char *quantity, struct mat w);
void descending(struct trial *trial, const char *quantity, struct mat w);

/* A matrix of examples/matrices, rounded to the type. */
struct mat example(struct trial *trial, const char *file);

#endif
