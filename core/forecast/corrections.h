/* SPDX-License-Identifier: Apache-2.0
 *
 * The corrections of cost models as a text, so that a server that is started again goes on where it was:
 *
 *     espalier-corrections 1
 *     0a1b2c3d 1.02 0.98 1.1        fingerprint of the model, then the latest ratios, the oldest first
 *     speed 0123456789abcdef lapack 2.1e+10:0.52   what else a server has learned (sed/server/speed.h)
 *     end 89abcdef                  CRC32C of all above
 *
 * A model that was calibrated anew has another fingerprint: corrections of the old one are not for it.
 */
#ifndef CORE_CORRECTIONS_H
#define CORE_CORRECTIONS_H

#include "core/forecast/cost_model.h"

#include <stdio.h>

/* Lines of somebody else in the same text, each with a word of its own before it. */
struct corrections_beside {
    void (*write)(void *arg, FILE *file);
    void (*take)(void *arg, const char *line);
    void *arg;
};

/* The text, for free(); NULL without memory. `beside` may be NULL. */
char *corrections_write(const struct cost_set *set, const struct cost_correction *corrections,
                        const struct corrections_beside *beside, size_t *length);

/* Sets the corrections (one for each model of the set) and the models' factors as the text has them; *taken
 * counts them. Lines that are of no model are given to `beside` (may be NULL). ESP_INVALID, and nothing set:
 * it is damaged, or of another version. ESP_NO_MEMORY. */
enum esp_status corrections_read(const char *text, size_t length, struct cost_set *set,
                                 struct cost_correction *corrections, const struct corrections_beside *beside,
                                 uint32_t *taken, struct esp_error *error);

#endif
