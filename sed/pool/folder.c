/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/pool/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void folder_empty(int folder)
{
    fchmod(folder, 0700); /* a command may have locked itself out */
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = copy >= 0 ? fdopendir(copy) : NULL;
    if (!files) {
        if (copy >= 0)
            close(copy);
        return;
    }
    for (struct dirent *file = readdir(files); file; file = readdir(files)) {
        if (strcmp(file->d_name, ".") == 0 || strcmp(file->d_name, "..") == 0 ||
            unlinkat(folder, file->d_name, 0) == 0)
            continue;
        fchmodat(folder, file->d_name, 0700, 0); /* no link: unlinking one does not fail */
        int below = openat(folder, file->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0) {
            folder_empty(below);
            close(below);
            unlinkat(folder, file->d_name, AT_REMOVEDIR);
        }
    }
    closedir(files);
}

void folder_remove(const char *path)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return;
    folder_empty(folder);
    close(folder);
    rmdir(path);
}

/* ---- folders of daemons ---- */

#define LOCK       "lock"
#define FRESH_LOCK "lock.new"

/* Locked before it has its name: nobody finds it free. */
static int take_lock(const char *folder)
{
    int lock = -1, in = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (in >= 0)
        lock = openat(in, FRESH_LOCK, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (lock >= 0 && (flock(lock, LOCK_EX | LOCK_NB) != 0 || renameat(in, FRESH_LOCK, in, LOCK) != 0)) {
        close(lock);
        lock = -1;
    }
    if (in >= 0)
        close(in);
    return lock;
}

/* Whether it is of this user, and of a daemon that is no more, whose lock went with it. */
static bool is_left(const char *folder)
{
    struct stat is;
    int lock = -1, in = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (in >= 0 && fstat(in, &is) == 0 && is.st_uid == geteuid())
        lock = openat(in, LOCK, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    bool left = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0;
    if (lock >= 0)
        close(lock);
    if (in >= 0)
        close(in);
    return left;
}

static void remove_left(const char *where, const char *prefix)
{
    char path[4096];
    DIR *folders = opendir(where);
    const struct dirent *entry;
    while (folders && (entry = readdir(folders)))
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
            snprintf(path, sizeof path, "%s/%s", where, entry->d_name) < (int)sizeof path && is_left(path))
            folder_remove(path);
    if (folders)
        closedir(folders);
}

enum esp_status folder_make(const char *where, const char *kind, char *path, size_t size, int *lock,
                            struct esp_error *error)
{
    char prefix[64];
    const char *temporary = getenv("TMPDIR");
    if (!where || !*where)
        where = temporary && *temporary ? temporary : "/tmp";
    *lock = -1;
    snprintf(prefix, sizeof prefix, "espalier-%s-", kind);
    int length = snprintf(path, size, "%s/%sXXXXXX", where, prefix);
    enum esp_status status = ESP_OK;
    if (length < 0 || (size_t)length >= size)
        status = error_set(error, ESP_LIMIT, "the path of a folder in %s is too long", where);
    else if (!mkdtemp(path))
        status = error_errno(error, "cannot make a folder (%s)", path);
    if (status == ESP_OK && (*lock = take_lock(path)) < 0) {
        error_errno(error, "cannot lock the folder %s", path);
        folder_remove(path);
        status = ESP_SYSTEM;
    }
    if (status != ESP_OK)
        path[0] = 0;
    else
        remove_left(where, prefix);
    return status;
}
