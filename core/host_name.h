/* SPDX-License-Identifier: Apache-2.0
 *
 * The error of a transport when the look-up of a host's name takes longer than the caller has time. The
 * caller may ask again: the look-up goes on meanwhile.
 */
#ifndef CORE_HOST_NAME_H
#define CORE_HOST_NAME_H

#include "util/error.h"

#include <stdbool.h>
#include <string.h>

/* Begins that text. Its status is ESP_UNREACHABLE, as nothing was executed. */
#define HOST_NAME_LATE "no name server has told"

static inline bool host_name_is_late(const struct esp_error *error)
{
    return error->status == ESP_UNREACHABLE && strstr(error->text, HOST_NAME_LATE);
}

#endif
