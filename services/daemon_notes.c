/* SPDX-License-Identifier: Apache-2.0
 *
 * What a daemon writes down of itself: its addresses. Where there is no room on the disk it serves all the
 * same, says in its log and in /health what is not written, and tries again.
 */
#include "services/daemon_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The address of the HTTP port stands beside the daemon's own. */
#define HTTP_SUFFIX ".http"

static void path_of(const struct settings_node *settings, enum daemon_note what, char *path, size_t size)
{
    const char *folder = settings->state_dir, *file = settings->address_file;
    *path = '\0';
    if (what == DAEMON_NOTE_FORMER && folder)
        snprintf(path, size, "%s/" SETTINGS_FORMER_ADDRESS, folder);
    else if (what != DAEMON_NOTE_FORMER && file)
        snprintf(path, size, "%s%s", file, what == DAEMON_NOTE_HTTP ? HTTP_SUFFIX : "");
}

static bool says_so(const char *path, const char *text)
{
    char line[NOTED_TEXT + 2] = "";
    const size_t length = strlen(text);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    const bool same = fgets(line, sizeof line, file) && strncmp(line, text, length) == 0 &&
                      strcmp(line + length, "\n") == 0;
    fclose(file);
    return same;
}

/* Whole or not at all. 0, or errno. */
static int replace(const char *path, const char *temporary, const char *text)
{
    FILE *file = fopen(temporary, "we");
    if (!file)
        return errno;
    errno = 0;
    const bool good = fprintf(file, "%s\n", text) > 0;
    int why = good ? 0 : errno ? errno : EIO;
    if (fclose(file) != 0 && why == 0)
        why = errno;
    if (why == 0 && rename(temporary, path) == 0)
        return 0;
    why = why ? why : errno;
    unlink(temporary);
    return why;
}

static bool is_full(int why)
{
    return why == ENOSPC || why == EDQUOT;
}

/* 0, or errno. What stands there of an earlier life is false, and takes room that this may need. */
static int write_down(const char *path, const char *text)
{
    char temporary[PATH_MAX];
    if (says_so(path, text))
        return 0;
    if (snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid()) >= (int)sizeof temporary)
        return ENAMETOOLONG;
    const int why = replace(path, temporary, text);
    return is_full(why) && unlink(path) == 0 ? replace(path, temporary, text) : why;
}

static const char *thing(enum daemon_note what)
{
    return what == DAEMON_NOTE_FORMER ? "its address for the next start in" : "the address file";
}

enum esp_status daemon_note(struct daemon *daemon, enum daemon_note what, const char *text,
                            struct esp_error *error)
{
    struct noted *note = &daemon->notes[what];
    snprintf(note->text, sizeof note->text, "%s", text);
    path_of(daemon->settings, what, note->path, sizeof note->path);
    if (!*note->path)
        return ESP_OK;
    if (what == DAEMON_NOTE_FORMER)
        mkdir(daemon->settings->state_dir, 0700);
    const int why = write_down(note->path, note->text);
    if (why != 0 && !is_full(why) && what != DAEMON_NOTE_FORMER) {
        errno = why;
        return error_errno(error, "cannot write %s \"%s\"", thing(what), note->path);
    }
    pthread_mutex_lock(&daemon->lock);
    note->why = why;
    pthread_mutex_unlock(&daemon->lock);
    if (why != 0)
        log_warning("cannot write %s \"%s\": %s; it serves all the same, and tries again", thing(what),
                    note->path, strerror(why));
    return ESP_OK;
}

void daemon_notes_again(struct daemon *daemon)
{
    for (size_t i = 0; i < DAEMON_NOTES; i++) {
        struct noted *note = &daemon->notes[i];
        if (note->why == 0 || write_down(note->path, note->text) != 0)
            continue;
        pthread_mutex_lock(&daemon->lock);
        note->why = 0;
        pthread_mutex_unlock(&daemon->lock);
        log_notice("%s \"%s\" is written now", thing((enum daemon_note)i), note->path);
    }
}

void daemon_notes_tell(const struct daemon *daemon, char *text, size_t size)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < DAEMON_NOTES && length < size; i++)
        if (daemon->notes[i].why != 0)
            length += (size_t)snprintf(text + length, size - length, "; cannot write %s \"%s\": %s",
                                       thing((enum daemon_note)i), daemon->notes[i].path,
                                       strerror(daemon->notes[i].why));
}

void daemon_notes_remove(const struct daemon *daemon)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < DAEMON_NOTES; i++) {
        path_of(daemon->settings, (enum daemon_note)i, path, sizeof path);
        if (i != DAEMON_NOTE_FORMER && *path)
            unlink(path);
    }
}
