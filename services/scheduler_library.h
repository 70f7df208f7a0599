/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads a site's scheduler from a shared library (espalier_scheduler.h). */
#ifndef SERVICES_SCHEDULER_LIBRARY_H
#define SERVICES_SCHEDULER_LIBRARY_H

#include "core/choice/scheduler.h"
#include "util/error.h"

/* Loads the library and gets its scheduler, which is valid until the library is closed. ESP_CONFIG: it
 * cannot be loaded, or has no scheduler of this version. Close *library with scheduler_library_close(). */
enum esp_status scheduler_library_open(const char *path, void **library,
                                       const struct esp_scheduler **scheduler, struct esp_error *error);
/* NULL is ignored. */
void scheduler_library_close(void *library);
/* Checks an agent's configured scheduler, if it is the path of a library: loads it, gets its scheduler,
 * and closes it. ESP_CONFIG. */
enum esp_status scheduler_library_check(const char *scheduler, struct esp_error *error);

#endif
