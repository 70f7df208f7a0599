/* SPDX-License-Identifier: Apache-2.0 */
#include "services/state_folder.h"
#include "util/folders.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* ---- the last session ---- */

static bool path_of(char *folder, char *path, size_t size, bool make)
{
    if (state_folder("last", folder, PATH_MAX, NULL) != ESP_OK ||
        (make && state_folder_make(folder, NULL) != ESP_OK))
        return false;
    return (size_t)snprintf(path, size, "%s/session", folder) < size;
}

/* Programs that end at the same time each replace the file as a whole. */
void last_session_keep(const struct session_id *session)
{
    char folder[PATH_MAX], path[PATH_MAX + 16], fresh[PATH_MAX + 40], text[SESSION_TEXT];
    if (!path_of(folder, path, sizeof path, true))
        return;
    snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid());
    FILE *file = fopen(fresh, "we");
    if (!file)
        return;
    const bool written = fprintf(file, "%s\n", session_id_text(session, text)) > 0;
    if (fclose(file) != 0 || !written || rename(fresh, path) != 0)
        unlink(fresh);
}

bool last_session_find(char text[SESSION_TEXT])
{
    char folder[PATH_MAX], path[PATH_MAX + 16];
    FILE *file = path_of(folder, path, sizeof path, false) ? fopen(path, "re") : NULL;
    const bool found = file && fgets(text, SESSION_TEXT, file);
    if (file)
        fclose(file);
    if (found)
        text[strcspn(text, "\n")] = '\0';
    return found && *text;
}
