/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of problem_trial() (core/problem/problem_help.h): a call that can be pasted is looked for scalar
 * by scalar, by a bounded search that goes back when a precondition is violated, and then written.
 */
#ifndef CORE_PROBLEM_TRIAL_H
#define CORE_PROBLEM_TRIAL_H

#include "core/problem/problem.h"
#include "util/text.h"

#define TRIAL_MOST_CANDIDATES 96
#define TRIAL_MOST_TYPED      100     /* elements of an array that is typed out; larger ones are random */
#define TRIAL_MOST_ELEMENTS   1000000 /* of a random one; more is no example */

/* How hard one round of the search tries. */
struct trial_effort {
    bool from_conditions; /* numbers that the conditions suggest, besides a few that mostly do */
    bool runs;            /* and those that follow them */
    bool defaults;        /* what has a default may get another value */
    bool widths;          /* bands may be wider or narrower than one diagonal */
    unsigned tries;
};

struct trial {
    const struct problem *problem;
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    bool follows[PROBLEM_MAX_ARGUMENTS]; /* from a matrix: not written */
    bool width[PROBLEM_MAX_ARGUMENTS];   /* of a band */
    bool counted[PROBLEM_MAX_ARGUMENTS]; /* elements of a compressed matrix: follows from its extents */
    const struct trial_effort *effort;
    unsigned tries;
    unsigned blame[64];   /* how often each precondition ended a branch */
    struct esp_error why; /* of the last call that was whole; ESP_OK: there was none */
};

/* Writes a function for a callback, without quotes: "x^2 - 2", "[1 - y[1]; 1 - y[2]]". Roots, integrals,
 * minima and initial values of it are harmless. `scope` are the problem's scalars; sizes of the callback by
 * the same names are theirs. False, with nothing written, when no expressions do: complex numbers, too many
 * results. */
bool trial_write_function(struct text *text, const struct problem *problem, const struct number *scope,
                          const struct argument *argument);

#endif
