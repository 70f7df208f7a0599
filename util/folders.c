/* SPDX-License-Identifier: Apache-2.0 */
#include "util/folders.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path)
{
    struct stat is;
    if (stat(path, &is) == 0 && S_ISDIR(is.st_mode))
        return true;
    errno = ENOTDIR;
    return false;
}

/* Whether the folder belongs to root or to this user: another owner could exchange its contents. */
static bool is_trusted(const char *path)
{
    struct stat is;
    if (stat(path, &is) == 0 && (is.st_uid == 0 || is.st_uid == geteuid()))
        return true;
    errno = EPERM;
    return false;
}

/* Creates one folder. `end`: where the folder's name ends in `path`; `above`: where that of the folder
 * above it ends. */
static bool make_one(char *path, char *end, char *above)
{
    const char after = *end, slash = *above;
    *end = 0;
    bool there = mkdir(path, 0700) == 0;
    if (there) {
        *above = 0;
        there = is_trusted(*path ? path : "/");
        *above = slash;
        if (!there) {
            rmdir(path);
            errno = EPERM;
        }
    } else if (errno == EEXIST) {
        there = is_folder(path);
    }
    *end = after;
    return there;
}

bool folders_make(const char *path, size_t there)
{
    char own[PATH_MAX + 2];
    struct stat is;
    if (stat(path, &is) == 0)
        return is_folder(path);
    /* "./" gives a relative path a folder above its first one. */
    if (snprintf(own, sizeof own, "%s%s", *path == '/' ? "" : "./", path) >= (int)sizeof own) {
        errno = ENAMETOOLONG;
        return false;
    }
    char *above = own + (*path == '/' ? there : there > 0 ? there + 2 : 1);
    for (char *at = above + 1;; at++) {
        if (*at != '/' && *at != 0)
            continue;
        if (!make_one(own, at, above))
            return false;
        above = at;
        if (*at == 0)
            return true;
    }
}
