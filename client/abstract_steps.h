/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the files that do abstract problems: names, steps, and what rivals would take.
 */
#ifndef CLIENT_ABSTRACT_STEPS_H
#define CLIENT_ABSTRACT_STEPS_H

#include "client/abstract.h"
#include "client/values.h"

/* What goes by a name now; NULL: nothing, or a state. */
const struct matrix *abstract_find(const struct abstract_run *run, const char *name);
/* What an argument of the step's problem goes by here; NULL: by its own name. */
const struct pair *abstract_renamed(const struct step *step, const char *inner);
/* The step's problem with all that there is for it; both are the caller's, also when this fails. */
enum esp_status abstract_prepare_step(const struct abstract_run *run, const struct step *step,
                                      const char *name, struct esp_problem **problem, struct values *values,
                                      struct esp_error *error);

/* Puts rivals (abstract_rivals()) in the order of what they are expected to take, and notes that in
 * run->weighed. Those of which nothing can be said keep their place behind the others. */
void abstract_order(struct abstract_run *run, uint32_t *rivals, uint32_t n, const struct given *first);

#endif
