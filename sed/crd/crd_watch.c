/* SPDX-License-Identifier: Apache-2.0
 *
 * Watches the files of loaded libraries: a rebuilt library is another file, or has other contents, under a
 * path that this process has loaded. */
#include "sed/crd/crd.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_FILES 4096

struct watched {
    char *path;
    struct stat was;
};

static struct watched *files;
static size_t n_files;

static bool is_watched(const char *path)
{
    for (size_t i = 0; i < n_files; i++)
        if (strcmp(files[i].path, path) == 0)
            return true;
    return false;
}

/* A file that cannot be read, or without memory for it, is not watched: it counts as unchanged. */
void watch_file(const char *path)
{
    struct watched new = {0};
    if (!strchr(path, '/') || is_watched(path) || n_files == MOST_FILES || stat(path, &new.was) != 0)
        return;
    struct watched *more = realloc(files, (n_files + 1) * sizeof *more);
    if (more)
        files = more;
    if (!more || !(new.path = strdup(path)))
        return;
    files[n_files++] = new;
}

static int watch_one(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    if (info->dlpi_name && info->dlpi_name[0])
        watch_file(info->dlpi_name);
    return 0;
}

void watch_loaded(void)
{
    dl_iterate_phdr(watch_one, NULL);
}

static bool is_as_it_was(const struct watched *file)
{
    struct stat is;
    return stat(file->path, &is) == 0 && is.st_ino == file->was.st_ino && is.st_dev == file->was.st_dev &&
           is.st_size == file->was.st_size && is.st_mtim.tv_sec == file->was.st_mtim.tv_sec &&
           is.st_mtim.tv_nsec == file->was.st_mtim.tv_nsec;
}

const char *watch_changed(void)
{
    for (size_t i = 0; i < n_files; i++)
        if (!is_as_it_was(&files[i]))
            return files[i].path;
    return NULL;
}
