/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/pool/folder.h"
#include "sed/pool/strays.h"
#include "util/folders.h"
#include "util/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void folder_empty(int folder)
{
    fchmod(folder, 0700); /* a command may have removed its own permissions */
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
        fchmodat(folder, file->d_name, 0700, 0); /* not a link: unlinking a link does not fail */
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

#define LOCK         "lock"
#define FRESH_LOCK   "lock.new"
#define UNFINISHED_S 60 /* time in which a new folder gets its lock */

/* Locked before it gets its name, so that it never looks abandoned. */
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

/* Whether it is this user's, and of a daemon that has ended, which released its lock. */
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

bool folder_remove_left(const char *path)
{
    if (!is_left(path))
        return false;
    strays_kill(path);
    folder_remove(path);
    return true;
}

/* Removes a folder whose process was killed before it locked the folder, which is empty then. */
static void remove_unfinished(const char *path)
{
    struct stat is;
    char fresh[4096 + sizeof FRESH_LOCK + 1];
    if (lstat(path, &is) != 0 || !S_ISDIR(is.st_mode) || is.st_uid != geteuid() ||
        time(NULL) - is.st_mtime < UNFINISHED_S)
        return;
    if (rmdir(path) != 0 && snprintf(fresh, sizeof fresh, "%s/" FRESH_LOCK, path) < (int)sizeof fresh &&
        unlink(fresh) == 0)
        rmdir(path);
}

static void remove_left(const char *where, const char *prefix)
{
    char path[4096];
    DIR *folders = opendir(where);
    const struct dirent *entry;
    while (folders && (entry = readdir(folders)))
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
            snprintf(path, sizeof path, "%s/%s", where, entry->d_name) < (int)sizeof path &&
            !folder_remove_left(path))
            remove_unfinished(path);
    if (folders)
        closedir(folders);
}

/* Like mkdtemp(), in a folder that is created again if it was removed, except for /tmp, which all users
 * share. */
static bool make_in(const char *where, char *path)
{
    if (mkdtemp(path))
        return true;
    if (errno != ENOENT || strcmp(where, "/tmp") == 0 || !folders_make(where, 0))
        return false;
    log_notice("the folder %s was not there: it is made", where);
    memcpy(path + strlen(path) - 6, "XXXXXX", 6); /* restores the letters that mkdtemp() has replaced */
    return mkdtemp(path) != NULL;
}

enum esp_status folder_make(const char *where, const char *kind, char *path, size_t size, int *lock,
                            struct esp_error *error)
{
    char prefix[64];
    const char *temporary = getenv("TMPDIR");
    const bool own = where && *where;
    if (!own)
        where = temporary && *temporary ? temporary : "/tmp";
    *lock = -1;
    snprintf(prefix, sizeof prefix, "espalier-%s-", kind);
    int length = snprintf(path, size, "%s/%sXXXXXX", where, prefix);
    enum esp_status status = ESP_OK;
    if (length < 0 || (size_t)length >= size)
        status = error_set(error, ESP_LIMIT, "the path of a folder in %s is too long", where);
    else if (!make_in(where, path))
        status = error_set(error, ESP_SYSTEM,
                           "cannot make a folder in %s: %s; see that this user may write there%s", where,
                           strerror(errno), own ? "" : ", or start the daemon with another TMPDIR");
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

/* ---- folders shared by several processes ---- */

#define ATTEMPTS 10

/* Locks the folder itself, which another process may be removing. -1: it has no lock yet. */
static int join_lock(int in)
{
    struct stat is;
    int lock = openat(in, LOCK, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (lock >= 0 && flock(lock, LOCK_SH) == 0 && fstat(lock, &is) == 0 && is.st_nlink > 0)
        return lock;
    if (lock >= 0)
        close(lock);
    return -1;
}

/* Locked before it gets its name, like the lock of a single process. */
static int make_lock(int in)
{
    char fresh[40];
    snprintf(fresh, sizeof fresh, FRESH_LOCK ".%d", (int)getpid());
    int lock = openat(in, fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const bool made = lock >= 0 && flock(lock, LOCK_SH) == 0 && linkat(in, fresh, in, LOCK, 0) == 0;
    unlinkat(in, fresh, 0);
    if (lock >= 0 && !made) {
        close(lock);
        lock = -1;
    }
    return lock;
}

static int share_lock(const char *path)
{
    struct stat is;
    int lock = -1;
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return -1;
    int in = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (in >= 0 && fstat(in, &is) == 0 && is.st_uid == geteuid() && (is.st_mode & 077) == 0) {
        lock = join_lock(in);
        if (lock < 0)
            lock = make_lock(in);
    }
    if (in >= 0)
        close(in);
    return lock;
}

enum esp_status folder_share(const char *where, const char *kind, const char *key, char *path, size_t size,
                             int *lock, struct esp_error *error)
{
    char prefix[80];
    snprintf(prefix, sizeof prefix, "espalier-%s-%u-", kind, (unsigned)geteuid());
    const int length = snprintf(path, size, "%s/%s%s", where, prefix, key);
    *lock = -1;
    if (length < 0 || (size_t)length >= size)
        return error_set(error, ESP_LIMIT, "the path of a folder in %s is too long", where);
    for (int i = 0; i < ATTEMPTS && *lock < 0; i++)
        *lock = share_lock(path);
    if (*lock < 0)
        return error_errno(error, "cannot make and lock the folder %s, of this user alone", path);
    remove_left(where, prefix);
    return ESP_OK;
}

void folder_leave(const char *path, int lock)
{
    if (flock(lock, LOCK_EX | LOCK_NB) == 0)
        folder_remove(path);
    close(lock);
}
