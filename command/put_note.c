/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/put_note.h"

#include "services/state_folder.h"
#include "util/fingerprint.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static void read_note(struct put_note *note)
{
    struct datum_id id;
    char text[DATUM_TEXT + CAP_NAME] = "", *server = text;
    int fd = open(note->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    const char *word = strsep(&server, "\n");
    if (n > 0 && server && datum_id_parse(word, &id, NULL) == ESP_OK) {
        datum_id_text(&id, note->id);
        snprintf(note->server, sizeof note->server, "%s", server);
    }
}

static void lock_path(const struct put_note *note, char *path, size_t size)
{
    snprintf(path, size, "%s.lock", note->path);
}

/* Who holds the lock removes its file with it: so it has to be the one that is there still. The kernel lets
 * go of it when the process ends, however that is. False: another process has it. */
static bool take_lock(struct put_note *note)
{
    char path[sizeof note->path + 8];
    lock_path(note, path, sizeof path);
    for (;;) {
        struct stat own, there;
        note->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (note->lock < 0)
            return false;
        const bool held = flock(note->lock, LOCK_EX | LOCK_NB) == 0;
        if (held && fstat(note->lock, &own) == 0 && stat(path, &there) == 0 && own.st_ino == there.st_ino &&
            own.st_dev == there.st_dev)
            return true;
        close(note->lock);
        note->lock = -1;
        if (!held)
            return false;
    }
}

void put_note_find(struct put_note *note, const char *file, const char *what)
{
    char folder[PATH_MAX], whole[PATH_MAX], about[PATH_MAX + 512];
    struct stat now;
    *note = (struct put_note){.lock = -1};
    if (!realpath(file, whole) || stat(whole, &now) != 0 || !S_ISREG(now.st_mode) ||
        state_folder("puts", folder, sizeof folder - 32, NULL) != ESP_OK ||
        state_folder_make(folder, NULL) != ESP_OK)
        return;
    /* Times of writing can be set, and another file may be in its place: what no program sets tells, too. */
    int n = snprintf(about, sizeof about, "%s %lld %lld.%09ld %lld.%09ld %ju:%ju %s", whole,
                     (long long)now.st_size, (long long)now.st_mtim.tv_sec, now.st_mtim.tv_nsec,
                     (long long)now.st_ctim.tv_sec, now.st_ctim.tv_nsec, (uintmax_t)now.st_dev,
                     (uintmax_t)now.st_ino, what);
    if (n >= (int)sizeof about || snprintf(note->path, sizeof note->path, "%s/%016" PRIx64, folder,
                                           fingerprint(about, (size_t)n)) >= (int)sizeof note->path) {
        note->path[0] = 0;
        return;
    }
    if (take_lock(note))
        read_note(note);
    else
        note->path[0] = 0;
}

/* Whole or not at all: who is killed at any moment leaves one that the next put can read. */
void put_note_write(const struct put_note *note)
{
    char fresh[sizeof note->path + 32], text[DATUM_TEXT + CAP_NAME];
    const size_t length = (size_t)snprintf(text, sizeof text, "%s\n%s", note->id, note->server);
    if (!note->path[0])
        return;
    snprintf(fresh, sizeof fresh, "%s.%ld.new", note->path, (long)getpid());
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return;
    const bool whole = write(fd, text, length) == (ssize_t)length;
    if (close(fd) != 0 || !whole || rename(fresh, note->path) != 0)
        unlink(fresh);
}

void put_note_remove(const struct put_note *note)
{
    if (note->path[0])
        unlink(note->path);
}

void put_note_close(struct put_note *note)
{
    char path[sizeof note->path + 8];
    if (note->lock < 0)
        return;
    lock_path(note, path, sizeof path);
    unlink(path);
    close(note->lock);
    note->lock = -1;
}
