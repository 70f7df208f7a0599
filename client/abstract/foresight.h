/* SPDX-License-Identifier: Apache-2.0
 *
 * What the rules of an abstract problem would take, by the forecasts of the problems that their steps name:
 * of sizes alone, or of what is given to a run. What a step gives the next one is not there; its extents are.
 */
#ifndef CLIENT_FORESIGHT_H
#define CLIENT_FORESIGHT_H

#include "client/abstract/abstract.h"
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
 * tells how much is lacking. */
bool foresight_lacks_memory(const struct foresight *foresight, struct esp_error *error);

/* When all rules have been told: ESP_INVALID when a size was given that neither the problem nor any step
 * takes; which there are, and the nearest. */
enum esp_status foresight_check_sizes(const struct foresight *foresight, struct esp_error *error);

/* What has been told, for fast_rules_free(); the foresight ends. */
struct fast_step *foresight_end(struct foresight *foresight, size_t *n);
void foresight_destroy(struct foresight *foresight); /* NULL is nothing to do */

#endif
