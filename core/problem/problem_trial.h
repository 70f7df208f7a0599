/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of problem_trial() (core/problem/problem_help.h): a bounded search with backtracking finds the
 * scalars of a valid call one by one; then the call is written. */
#ifndef CORE_PROBLEM_TRIAL_H
#define CORE_PROBLEM_TRIAL_H

#include "core/problem/problem.h"
#include "util/text.h"

#define TRIAL_MOST_CANDIDATES 96
#define TRIAL_MOST_TYPED      100     /* most elements of an array written in full; larger ones are random */
#define TRIAL_MOST_ELEMENTS   1000000 /* most elements of a random array in an example */

/* How hard one round of the search tries. */
struct trial_effort {
    bool from_conditions; /* values that the conditions suggest, besides common ones */
    bool runs;            /* also the next larger values */
    bool defaults;        /* arguments with a default may get another value */
    bool widths;          /* bands may have more or fewer diagonals than one */
    unsigned tries;
};

struct trial {
    const struct problem *problem;
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    bool follows[PROBLEM_MAX_ARGUMENTS]; /* computed from a matrix: not written */
    bool width[PROBLEM_MAX_ARGUMENTS];   /* width of a band */
    bool counted[PROBLEM_MAX_ARGUMENTS]; /* number of elements of a compressed matrix: follows from its
                                            extents */
    const struct trial_effort *effort;
    unsigned tries;
    unsigned blame[64];   /* how often each precondition ended a branch */
    struct esp_error why; /* of the last complete call; ESP_OK: there was none */
};

/* Writes a function for a callback, without quotes: "x^2 - 2", "[1 - y[1]; 1 - y[2]]". It suits searches
 * for roots and minima, integrals, and initial value problems. `scope` has the problem's scalars; sizes of
 * the callback with the same names use them. False, with nothing written, when no expression is possible:
 * complex numbers, too many results. */
bool trial_write_function(struct text *text, const struct problem *problem, const struct number *scope,
                          const struct argument *argument);

#endif
