/* SPDX-License-Identifier: Apache-2.0
 *
 * A scheduler that a site brings as a shared library (espalier_scheduler.h).
 */
#ifndef SERVICES_SCHEDULER_LIBRARY_H
#define SERVICES_SCHEDULER_LIBRARY_H

#include "core/choice/scheduler.h"
#include "util/error.h"

/* Loads it and asks it for its scheduler, which is valid until the library is closed. ESP_CONFIG: it cannot
 * be loaded, or what it has is no scheduler of this version. *library is for scheduler_library_close(). */
enum esp_status scheduler_library_open(const char *path, void **library,
                                       const struct esp_scheduler **scheduler, struct esp_error *error);
/* NULL is nothing to do. */
void scheduler_library_close(void *library);
/* Whether what an agent's file has as its scheduler could be loaded, if it is a library's path at all: it is
 * loaded, asked, and let go. ESP_CONFIG. */
enum esp_status scheduler_library_check(const char *scheduler, struct esp_error *error);

#endif
