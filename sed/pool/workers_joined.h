/* SPDX-License-Identifier: Apache-2.0
 *
 * Joins two pools: processes for calls that one worker computes, ranks for calls that they compute
 * together. */
#ifndef SED_WORKERS_JOINED_H
#define SED_WORKERS_JOINED_H

#include "sed/pool/workers.h"

/* Takes both over, also when it fails; `joined` is used like any pool. ESP_NO_MEMORY. */
enum esp_status workers_join(struct workers *processes, struct workers *ranks, struct workers **joined,
                             struct esp_error *error);

#endif
