/* SPDX-License-Identifier: Apache-2.0
 *
 * Forecasts the rules of an abstract problem by the forecasts for the problems of their steps: from sizes
 * alone, or from the inputs of a run. The contents of a step's results are not known; their extents are.
 */
#ifndef CLIENT_FORESIGHT_H
#define CLIENT_FORESIGHT_H

#include "client/abstract/abstract.h"
#include "client/abstract/abstract_steps.h"
#include "client/session/forecast.h"
#include "fast.h"

struct foresight;

/* `values` and `options` (NULL: no constraints) outlive the foresight. Values that the abstract problem
 * does not have go to the steps (nz). Returns ESP_INVALID if sizes are missing or wrong. */
enum esp_status foresight_of_sizes(const struct problem *problem, const struct fast_call *values,
                                   const struct esp_call_options *options, struct foresight **foresight,
                                   struct esp_error *error);
/* The steps get the inputs of the run, data at their places. The run outlives the foresight; `first`
 * describes its first array. Returns ESP_NO_MEMORY on failure. */
enum esp_status foresight_of_run(const struct abstract_run *run, const struct given *first,
                                 struct foresight **foresight, struct esp_error *error);

/* Adds the steps of that rule to the result. *seconds (may be NULL): the time of all steps; HUGE_VAL: not
 * known. Returns false without memory. */
bool foresight_rule(struct foresight *foresight, uint32_t rule, double *seconds);

/* The server for the first step of the last added rule, if it is clearly better for all steps than the one
 * where the first step would end first; "": the agents choose. */
const char *foresight_first_at(const struct foresight *foresight);

/* From now on all master agents are asked, not only the one that a call would go to. */
void foresight_ask_all(struct foresight *foresight);

/* Whether no server that was asked has the memory for the first step of the last added rule; *error says
 * how much is lacking, *bytes how much the step takes. */
bool foresight_lacks_memory(const struct foresight *foresight, uint64_t *bytes, struct esp_error *error);

/* Called after all rules were added: returns ESP_INVALID if a size was given that neither the problem nor
 * any step takes; the text lists the possible ones, and the closest. */
enum esp_status foresight_check_sizes(const struct foresight *foresight, struct esp_error *error);

/* Returns the result, for fast_rules_free(), and destroys the foresight. */
struct fast_step *foresight_end(struct foresight *foresight, size_t *n);
void foresight_destroy(struct foresight *foresight); /* accepts NULL */

#define MOST_KNOWN (PROBLEM_MAX_ARGUMENTS + ABSTRACT_MAX_STEPS * PROBLEM_MAX_ARGUMENTS)
#define MOST_STEPS (2 * ABSTRACT_MAX_RULES * ABSTRACT_MAX_STEPS)

/* An array of that name, with these extents. */
struct known_array {
    const char *name;
    struct shape shape;
};

/* Forecasts of a step on each server, the soonest first. */
struct gathered {
    struct fast_server *servers; /* for fast_forecast_free() */
    size_t n;
    bool wants_state;       /* it needs the state on the previous step's server */
    enum esp_status status; /* not ESP_OK: no forecast is known */
    struct esp_error why;
    size_t taken; /* index of its server by foresight_way(); >= n: none, see `why` */
    bool stays;   /* the same server as the previous step */
};

struct foresight {
    const struct problem *problem;
    const struct fast_call *sizes;  /* or: */
    const struct abstract_run *run; /* the inputs */
    const struct esp_call_options *options;
    struct given first;
    struct known_array known[MOST_KNOWN];
    uint32_t n_known, n_given; /* n_given: those of the abstract problem */
    struct fast_step *steps;   /* a package */
    size_t n;
    struct gathered gathered[ABSTRACT_MAX_STEPS]; /* of the last added rule */
    char first_at[CAP_NAME + 1];                  /* server of its first step if clearly better for all; "" */
    enum forecast_reach reach;
    bool *taken;              /* of `sizes`: used by the problem or a step */
    bool unknown;             /* a step's problem is unknown */
    bool too_large;           /* no server has the memory for the first step of the last added rule */
    struct esp_error lacking; /* as this error says */
    uint64_t lacking_bytes;   /* and the least that it takes on a server */
};

/* ---- client/abstract/foresight.c ---- */

/* Chooses the servers for these steps of a rule as the run would. */
void foresight_way(struct foresight *foresight, struct gathered *steps, uint32_t n);
/* Whether each server that may make the step has too little memory for it. `only`: the only permitted
 * server; NULL: any. *error describes one, *bytes is the least that the step takes. */
bool foresight_is_too_large(const struct gathered *step, const char *problem, const char *only,
                            uint64_t *bytes, struct esp_error *error);
/* The forecast of the chosen server for the step; if it stays on the previous step's server, there is no
 * queue any more. */
struct fast_server foresight_taken(const struct gathered *step);

#endif
