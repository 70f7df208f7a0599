/* SPDX-License-Identifier: Apache-2.0
 *
 * Saves the corrections of cost models as a text, so that a restarted server continues with them:
 *
 *     espalier-corrections 1
 *     0a1b2c3d 1.02 0.98 1.1        fingerprint of the model, then the latest ratios, the oldest first
 *     speed 0123456789abcdef lapack 2.1e+10:0.52   what else a server has learned (sed/forecast/speed.h)
 *     end 89abcdef                  CRC32C of all above
 *
 * A recalibrated model has another fingerprint, so old corrections are not applied to it. */
#ifndef CORE_CORRECTIONS_H
#define CORE_CORRECTIONS_H

#include "core/forecast/cost_model.h"

#include <stdio.h>

/* Further lines in the same text, each with a keyword of its caller's. */
struct corrections_beside {
    void (*write)(void *arg, FILE *file);
    void (*take)(void *arg, const char *line);
    void *arg;
};

/* Returns the text, for free(); NULL without memory. `beside` may be NULL. */
char *corrections_write(const struct cost_set *set, const struct cost_correction *corrections,
                        const struct corrections_beside *beside, size_t *length);

/* Sets the corrections (one for each model of the set) and the models' factors from the text; *taken
 * counts them. Lines that belong to no model are passed to `beside` (may be NULL). ESP_INVALID, with
 * nothing set: the text is damaged or of another version. ESP_NO_MEMORY. */
enum esp_status corrections_read(const char *text, size_t length, struct cost_set *set,
                                 struct cost_correction *corrections, const struct corrections_beside *beside,
                                 uint32_t *taken, struct esp_error *error);

#endif
