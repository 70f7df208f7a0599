/* SPDX-License-Identifier: Apache-2.0
 *
 * Problems that work on a state: the problem that makes it is called first, with matrices of the same sizes.
 */
#ifndef SED_CALIBRATE_STATE_H
#define SED_CALIBRATE_STATE_H

#include "sed/calibrate/calibrate_call.h"

/* Whether a call works on a state. */
bool state_is_taken(const struct problem *problem);

/* Whether states for the problem can be made: one of the calibration's problems, which the texts of this one
 * name, leaves such a state, and its sizes are among this one's. ESP_INVALID tells what is missing. */
enum esp_status state_check(const struct calibration *calibration, const struct problem *problem,
                            struct esp_error *error);

/* Makes the state for a call: *kept is the job that left it, for state_drop(). Errors as measured_run(). */
enum esp_status state_make(struct calibration *calibration, const struct problem *problem,
                           const struct design_point *point, uint64_t *kept, struct esp_error *error);
/* 0 is nothing to do. */
void state_drop(struct calibration *calibration, uint64_t kept);

#endif
