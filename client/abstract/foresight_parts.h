/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside a foresight: foresight.c (what it begins with, its rules), foresight_step.c (what servers would take
 * for one step) and foresight_way.c (which of them make the steps of a rule).
 */
#ifndef CLIENT_FORESIGHT_PARTS_H
#define CLIENT_FORESIGHT_PARTS_H

#include "client/abstract/abstract_steps.h"
#include "client/abstract/foresight.h"
#include "client/forecast.h"

#define MOST_KNOWN (PROBLEM_MAX_ARGUMENTS + ABSTRACT_MAX_STEPS * PROBLEM_MAX_ARGUMENTS)
#define MOST_STEPS (2 * ABSTRACT_MAX_RULES * ABSTRACT_MAX_STEPS)

/* What goes by a name: an array with these extents. */
struct known_array {
    const char *name;
    struct shape shape;
};

/* What each server would take for a step, the soonest first. */
struct gathered {
    struct fast_server *servers; /* for fast_forecast_free() */
    size_t n;
    bool wants_state;       /* it goes where the step before went, and nowhere else */
    enum esp_status status; /* else nothing is known of it: */
    struct esp_error why;
    size_t taken; /* by foresight_way(): which of them makes it; >= n: none, as `why` says */
    bool stays;   /* that made the step before as well */
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
    struct gathered gathered[ABSTRACT_MAX_STEPS]; /* of the rule that is told */
    char
        first_at[CAP_NAME + 1]; /* where its first step goes, as that is clearly better for all of them; "" */
    enum forecast_reach reach;
    bool *taken;    /* of `sizes`: by the problem, or a step's */
    bool unknown;   /* nobody says what a step's problem takes */
    bool too_large; /* no server has the memory for the first step of the rule that was told last, */
    struct esp_error lacking; /* as this says */
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

/* The forecasts of a step whose problem is this one, into *gathered; what it gives is known from then on. */
void foresight_step(struct foresight *foresight, const struct step *step, const struct problem *problem,
                    struct gathered *gathered);

/* ---- client/abstract/foresight_way.c ---- */

/* Which servers make these steps of a rule: those that the call would take. */
void foresight_way(struct foresight *foresight, struct gathered *steps, uint32_t n);
/* Whether each server that may make the step has less memory than the step needs. `only`: the one server that
 * may make it; NULL: any may. *error tells of one. */
bool foresight_is_too_large(const struct gathered *step, const char *problem, const char *only,
                            struct esp_error *error);
/* What the server that makes it would take for it; the queue there is over when it stays. */
struct fast_server foresight_taken(const struct gathered *step);

#endif
