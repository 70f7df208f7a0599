/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the URL of a directory. A separate file, so that programs that only check configuration files
 * need no libldap. */
#ifndef SERVICES_DIRECTORY_URL_H
#define SERVICES_DIRECTORY_URL_H

#include "util/error.h"

/* ESP_CONFIG: not the URL of a directory (the text describes valid ones). Any thread. */
enum esp_status directory_check_url(const char *url, struct esp_error *error);

#endif
