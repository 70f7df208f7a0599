/* SPDX-License-Identifier: Apache-2.0
 *
 * What names a directory: a URL. Of its own, as whoever looks at configuration files needs no libldap.
 */
#ifndef SERVICES_DIRECTORY_URL_H
#define SERVICES_DIRECTORY_URL_H

#include "util/error.h"

/* ESP_CONFIG: no URL of a directory (the text says what one is). Any thread. */
enum esp_status directory_check_url(const char *url, struct esp_error *error);

#endif
