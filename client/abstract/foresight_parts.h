/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside a foresight: foresight.c (what it begins with, its rules) and foresight_step.c (one step).
 */
#ifndef CLIENT_FORESIGHT_PARTS_H
#define CLIENT_FORESIGHT_PARTS_H

#include "client/abstract/abstract_steps.h"
#include "client/abstract/foresight.h"

#define MOST_KNOWN (PROBLEM_MAX_ARGUMENTS + ABSTRACT_MAX_STEPS * PROBLEM_MAX_ARGUMENTS)
#define MOST_STEPS (2 * ABSTRACT_MAX_RULES * ABSTRACT_MAX_STEPS)

/* What goes by a name: an array with these extents. */
struct known_array {
    const char *name;
    struct shape shape;
};

struct foresight {
    const struct problem *problem;
    const struct fast_call *sizes;  /* or: */
    const struct abstract_run *run; /* what is given */
    const struct esp_call_options *options;
    struct given first;
    struct known_array known[MOST_KNOWN];
    uint32_t n_known, n_given; /* n_given: those of the abstract problem */
    struct fast_step *steps;   /* a package */
    size_t n;
    char at[CAP_NAME + 1]; /* the server of the step before, in this rule; "": none */
    bool *taken;           /* of `sizes`: by the problem, or a step's */
    bool unknown;          /* nobody says what a step's problem takes */
};

/* ---- client/abstract/foresight.c ---- */

struct number foresight_number(double value, enum base_type type);
/* A scalar that goes by that name: its value. */
bool foresight_scalar(const struct foresight *foresight, const char *name, double *value);
/* Somebody has a scalar input of that name. */
void foresight_take(struct foresight *foresight, const char *name);
/* An array now goes by that name, which outlives the foresight. */
void foresight_set_array(struct foresight *foresight, const char *name, const struct shape *shape);
/* The shapes of a problem whose scalars have these values. Errors as problem_bind() has them. */
enum esp_status foresight_shapes(const struct problem *problem, const struct number *scalars,
                                 struct shape *shapes, struct esp_error *error);

/* ---- client/abstract/foresight_step.c ---- */

/* The forecast of a step whose problem is this one, on the server of the step before, or of the first one
 * where it would be over first; what it gives is known from then on. ESP_NO_SERVER, or why nothing is known.
 */
enum esp_status foresight_step(struct foresight *foresight, const struct step *step,
                               const struct problem *problem, struct fast_step *told,
                               struct esp_error *error);

#endif
