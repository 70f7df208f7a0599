/* SPDX-License-Identifier: Apache-2.0 */
#include "services/nws/ring_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define IDLE_S (RING_FILES_IDLE_DAYS * 24 * 3600)

struct ring_file {
    char name[256];
    struct timespec written;
};

static bool ends_in(const char *name, const char *end)
{
    const size_t n = strlen(name), n_end = strlen(end);
    return n > n_end && strcmp(name + n - n_end, end) == 0;
}

static int latest_first(const void *a, const void *b)
{
    const struct timespec *one = &((const struct ring_file *)a)->written;
    const struct timespec *other = &((const struct ring_file *)b)->written;
    if (one->tv_sec != other->tv_sec)
        return one->tv_sec < other->tv_sec ? 1 : -1;
    return (one->tv_nsec < other->tv_nsec) - (one->tv_nsec > other->tv_nsec);
}

static bool look(int folder, const char *name, struct ring_file *file)
{
    struct stat status;
    const size_t n = strlen(name);
    if (n >= sizeof file->name || !(ends_in(name, ".ring") || ends_in(name, ".ring.damaged")) ||
        fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
        return false;
    memcpy(file->name, name, n + 1);
    file->written = status.st_mtim;
    return true;
}

/* Returns how many there are; fewer if there is no memory for all. */
static size_t list(DIR *folder, struct ring_file **files)
{
    size_t n = 0, capacity = 0;
    struct ring_file file;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        if (!look(dirfd(folder), entry->d_name, &file))
            continue;
        if (n == capacity) {
            capacity = capacity ? 2 * capacity : 64;
            struct ring_file *grown = realloc(*files, capacity * sizeof *grown);
            if (!grown)
                break;
            *files = grown;
        }
        (*files)[n++] = file;
    }
    return n;
}

unsigned ring_files_drop_old(const char *folder, unsigned most)
{
    struct ring_file *files = NULL;
    unsigned n_gone = 0;
    DIR *opened = opendir(folder);
    const size_t n = opened ? list(opened, &files) : 0;
    if (n)
        qsort(files, n, sizeof *files, latest_first);
    for (size_t i = 0; i < n; i++)
        if (i >= most || files[0].written.tv_sec - files[i].written.tv_sec > IDLE_S)
            n_gone += unlinkat(dirfd(opened), files[i].name, 0) == 0;
    free(files);
    if (opened)
        closedir(opened);
    return n_gone;
}
