/* SPDX-License-Identifier: Apache-2.0
 *
 * Host names that do not resolve. The ORB says of them what it says of a port where nobody listens.
 */
#ifndef ORB_HOST_NAMES_H
#define ORB_HOST_NAMES_H

#include "orb/corba.h"

/* After an invocation that began at `since_ns` (clock_system) and failed with `status`: where that is
 * ESP_UNREACHABLE, and the host's name is not known here, the error's text says so instead, and a daemon's
 * log. Looks the name up, but not where the ORB has waited long already. Returns `status`. */
enum esp_status host_name_explain(const char *address, const char *what, enum esp_status status,
                                  int64_t since_ns, struct esp_error *error);

#endif
