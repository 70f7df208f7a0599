/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/last_session.h"
#include "client/state_folder.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
