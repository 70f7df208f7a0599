/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks mpirun's host file before ranks are started, so that errors are reported early. Lines are "NAME
 * [slots=N] [max_slots=N]", with comments after "#". */
#ifndef SERVICES_HOSTFILE_H
#define SERVICES_HOSTFILE_H

#include "util/error.h"
#include <stdint.h>

/* Checks that the file exists, names a host, and has slots for that many ranks, as far as it gives
 * numbers. ESP_CONFIG names the line. */
enum esp_status hostfile_check(const char *path, int64_t ranks, struct esp_error *error);

#endif
