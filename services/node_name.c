/* SPDX-License-Identifier: Apache-2.0 */
#include "services/node_name.h"
#include "core/message/message_basic.h"
#include "util/fingerprint.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_OF_FILE 127 /* bytes of a name, leaving room for endings */

/* Blanks are invalid, because they separate names in logs, tables and lists of servers on command lines. */
enum esp_status node_name_check(const char *name, struct esp_error *error)
{
    for (const char *at = name; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return error_set(error, ESP_CONFIG,
                             "name: expected no control characters, found code %d as character %zu",
                             (unsigned char)*at, (size_t)(at - name) + 1);
    if (!*name || strchr(name, ' '))
        return error_set(error, ESP_CONFIG,
                         "name: expected a name without blanks, such as \"node7\", found \"%.100s\"", name);
    if (strlen(name) > CAP_NAME)
        return error_set(error, ESP_CONFIG, "name: expected at most %d bytes, found %zu: \"%.40s...\"",
                         CAP_NAME, strlen(name), name);
    return ESP_OK;
}

enum esp_status node_name_check_file(const char *name, struct esp_error *error)
{
    if (*name != '.' && !strchr(name, '/') && strlen(name) <= MOST_OF_FILE)
        return ESP_OK;
    return error_set(error, ESP_CONFIG,
                     "name: the daemon's files bear it, too: expected at most %d bytes without \"/\" and not "
                     "beginning with \".\", found %zu: \"%.40s\"",
                     MOST_OF_FILE, strlen(name), name);
}

/* Returns the part of the name that lasts as long as the node: its port, its state folder, or this
 * process. */
static void mark_of(const char *listen, const char *state_dir, char *mark, size_t size)
{
    const char *colon = strrchr(listen, ':');
    if (colon && strcmp(colon, ":0") != 0) {
        snprintf(mark, size, "%s", colon + 1);
        return;
    }
    if (!state_dir) {
        snprintf(mark, size, "pid%ld", (long)getpid());
        return;
    }
    /* Uses the path as written: before the first start the folder has no real path. */
    char path[4096] = "";
    if (*state_dir != '/' && getcwd(path, sizeof path - 1))
        strcat(path, "/");
    size_t used = strlen(path);
    snprintf(path + used, sizeof path - used, "%s", state_dir);
    for (used = strlen(path); used > 1 && path[used - 1] == '/'; used--)
        continue;
    snprintf(mark, size, "%06x", (unsigned)(fingerprint(path, used) & 0xffffff));
}

char *node_name_default(const char *kind, const char *listen, const char *state_dir, struct arena *arena)
{
    char host[128] = "localhost", mark[32], name[256];
    gethostname(host, sizeof host - 1);
    mark_of(listen, state_dir, mark, sizeof mark);
    snprintf(name, sizeof name, "%s-%s-%s", host, kind, mark);
    return arena_strdup(arena, name);
}
