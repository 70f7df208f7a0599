/* SPDX-License-Identifier: Apache-2.0
 *
 * Two pools as one: processes for what one computes alone, ranks for what they compute together.
 */
#ifndef SED_WORKERS_JOINED_H
#define SED_WORKERS_JOINED_H

#include "sed/pool/workers.h"

/* Takes both over, also when it fails; `joined` is used as any pool is. ESP_NO_MEMORY. */
enum esp_status workers_join(struct workers *processes, struct workers *ranks, struct workers **joined,
                             struct esp_error *error);

#endif
