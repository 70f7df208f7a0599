/* SPDX-License-Identifier: Apache-2.0 */
#include "client/state_folder.h"

#include "util/folders.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum esp_status state_folder(const char *name, char *path, size_t size, struct esp_error *error)
{
    const char *state = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
    int length = -1;
    if (state && *state == '/')
        length = snprintf(path, size, "%s/espalier/%s", state, name);
    else if (home && *home)
        length = snprintf(path, size, "%s/.local/state/espalier/%s", home, name);
    if (length < 0)
        return error_set(error, ESP_SYSTEM,
                         "no place for the list of %s: neither $XDG_STATE_HOME nor $HOME is set", name);
    if ((size_t)length + NAME_MAX + 2 > size)
        return error_set(error, ESP_SYSTEM, "the path of the list of %s is longer than %zu bytes", name,
                         size);
    return ESP_OK;
}

enum esp_status state_folder_make(const char *path, struct esp_error *error)
{
    const char *home = secure_getenv("HOME");
    const size_t length = home ? strlen(home) : 0;
    const bool below_home = length > 0 && strncmp(path, home, length) == 0 && path[length] == '/';
    return folders_make(path, below_home ? length : 0)
               ? ESP_OK
               : error_errno(error, "cannot make the folder %s", path);
}
