/* SPDX-License-Identifier: Apache-2.0
 *
 * What the rules of an abstract problem would take, by the forecasts of the problems that their steps name:
 * of sizes alone, or of what is given to a run. What a step gives the next one is not there; its extents are.
 */
#ifndef CLIENT_FORESIGHT_H
#define CLIENT_FORESIGHT_H

#include "client/abstract/abstract.h"
#include "client/abstract/abstract_steps.h"
#include "client/session/forecast.h"
#include "fast.h"

struct foresight;

/* `values` and `options` (NULL: no constraints) outlive it. Values that the abstract problem does not have go
 * to the steps (nz). ESP_INVALID: sizes are missing or wrong. */
enum esp_status foresight_of_sizes(const struct problem *problem, const struct fast_call *values,
                                   const struct esp_call_options *options, struct foresight **foresight,
                                   struct esp_error *error);
/* Steps get what is given, data where they live. The run outlives it; `first` is what its first array is
 * like. ESP_NO_MEMORY. */
enum esp_status foresight_of_run(const struct abstract_run *run, const struct given *first,
                                 struct foresight **foresight, struct esp_error *error);

/* Adds the steps of that rule to what is told. *seconds (may be NULL): of all of them; HUGE_VAL: not known.
 * False without memory. */
bool foresight_rule(struct foresight *foresight, uint32_t rule, double *seconds);

/* Where the first step of the rule that was told last is to go, as that is clearly better for all of its
 * steps than where it would be over first; "": where the agents say. */
const char *foresight_first_at(const struct foresight *foresight);

/* All master agents are asked from now on, not only the one that a call would go to. */
void foresight_ask_all(struct foresight *foresight);

/* Whether no server that was asked has the memory for the first step of the rule that was told last; *error
 * tells how much is lacking, *bytes how much the step takes. */
bool foresight_lacks_memory(const struct foresight *foresight, uint64_t *bytes, struct esp_error *error);

/* When all rules have been told: ESP_INVALID when a size was given that neither the problem nor any step
 * takes; which there are, and the nearest. */
enum esp_status foresight_check_sizes(const struct foresight *foresight, struct esp_error *error);

/* What has been told, for fast_rules_free(); the foresight ends. */
struct fast_step *foresight_end(struct foresight *foresight, size_t *n);
void foresight_destroy(struct foresight *foresight); /* NULL is nothing to do */

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
    struct esp_error lacking; /* as this says, */
    uint64_t lacking_bytes;   /* and the least that it takes on one of them */
};

/* ---- client/abstract/foresight.c ---- */

/* Which servers make these steps of a rule: those that the call would take. */
void foresight_way(struct foresight *foresight, struct gathered *steps, uint32_t n);
/* Whether each server that may make the step has less memory than the step needs. `only`: the one server that
 * may make it; NULL: any may. *error tells of one, *bytes is the least that the step takes. */
bool foresight_is_too_large(const struct gathered *step, const char *problem, const char *only,
                            uint64_t *bytes, struct esp_error *error);
/* What the server that makes it would take for it; the queue there is over when it stays. */
struct fast_server foresight_taken(const struct gathered *step);

#endif
