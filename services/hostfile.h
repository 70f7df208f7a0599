/* SPDX-License-Identifier: Apache-2.0
 *
 * The file that tells mpirun on which hosts ranks are: lines "NAME [slots=N] [max_slots=N]", and what follows
 * a
 * "#". It is mpirun that uses it; here it is looked at, so that what is wrong is told before anything starts.
 */
#ifndef SERVICES_HOSTFILE_H
#define SERVICES_HOSTFILE_H

#include "util/error.h"
#include <stdint.h>

/* Whether the file is there, names a host, and has places for so many ranks, as far as it says how many it
 * has. ESP_CONFIG names the line. */
enum esp_status hostfile_check(const char *path, int64_t ranks, struct esp_error *error);

#endif
