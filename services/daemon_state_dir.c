/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks that the daemon's state_dir exists. If another program removed the folder, the state for the
 * daemon's next start would be lost unnoticed. */
#include "config.h"
#include "services/daemon_internal.h"
#include "util/folders.h"
#include "util/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void note(struct daemon *daemon, const char *text, bool stateless)
{
    pthread_mutex_lock(&daemon->lock);
    snprintf(daemon->state_dir, sizeof daemon->state_dir, "%s", text);
    daemon->stateless = stateless;
    pthread_mutex_unlock(&daemon->lock);
}

bool daemon_state_dir_look(struct daemon *daemon)
{
    const char *folder = daemon->settings->state_dir;
    char text[sizeof daemon->state_dir] = "";
    struct esp_error error = {0};
    if (!folder || !daemon_lock_is_removed())
        return false;
    const bool before = daemon->stateless, made = folders_make(folder, 0);
    if (!made)
        snprintf(
            text, sizeof text,
            "state_dir (%.200s) was removed by another program and cannot be made again: %s (make it for "
            "this user)",
            folder, strerror(errno));
    else if (daemon_lock_again(daemon->settings, &error) != ESP_OK)
        snprintf(text, sizeof text, "state_dir was removed by another program, and %.400s", error.text);
    else
        snprintf(
            text, sizeof text,
            "state_dir (%.200s) was removed by another program and is made again: what was kept in it is "
            "lost",
            folder);
    const bool stateless = !made || error.status != ESP_OK;
    note(daemon, text, stateless);
    if (!stateless || !before)
        log_warning("%s", text);
    return !stateless;
}

bool daemon_state_dir_tell(const struct daemon *daemon, char *text, size_t size)
{
    const size_t n = strlen(text);
    if (daemon->state_dir[0] && n < size)
        snprintf(text + n, size - n, "; %s", daemon->state_dir);
    return daemon->stateless;
}
