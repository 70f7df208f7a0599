/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's folders of what outlives a process: $XDG_STATE_HOME/espalier/NAME, else
 * ~/.local/state/espalier/NAME.
 */
#ifndef CLIENT_STATE_FOLDER_H
#define CLIENT_STATE_FOLDER_H

#include "util/error.h"
#include <stddef.h>

/* The path of that one; a file in it fits `size` too. ESP_SYSTEM: there is no place, or its path is too long.
 */
enum esp_status state_folder(const char *name, char *path, size_t size, struct esp_error *error);
/* Makes it, and those above it but for a home that is not there, for the user alone. ESP_SYSTEM. */
enum esp_status state_folder_make(const char *path, struct esp_error *error);

#endif
