/* SPDX-License-Identifier: Apache-2.0 */
#include "util/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *regular_file_kind(mode_t mode)
{
    return S_ISREG(mode)    ? NULL
           : S_ISDIR(mode)  ? "a folder"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISSOCK(mode) ? "a socket"
           : S_ISLNK(mode)  ? "a symbolic link"
                            : "a device";
}

static enum esp_status refuse(const char *path, mode_t mode, struct esp_error *error)
{
    return error_set(error, ESP_INVALID, "%s: expected a regular file, found %s", path,
                     regular_file_kind(mode));
}

/* Explains why open() failed on a path that is no regular file: sockets, folders opened for writing, and
 * FIFOs without a reader. */
static enum esp_status not_opened(const char *path, struct esp_error *error)
{
    const int why = errno;
    struct stat is;
    if (why == ENOENT)
        return error_set(error, ESP_NOT_FOUND, "there is no file %s", path);
    if (stat(path, &is) == 0 && !S_ISREG(is.st_mode))
        return refuse(path, is.st_mode, error);
    errno = why;
    return error_errno(error, "%s cannot be opened", path);
}

int regular_file_descriptor(const char *path, int flags, struct esp_error *error)
{
    struct stat is;
    const int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    if (fd < 0) {
        not_opened(path, error);
        return -1;
    }
    if (fstat(fd, &is) != 0)
        error_errno(error, "%s cannot be looked at", path);
    else if (S_ISREG(is.st_mode))
        return fd;
    else
        refuse(path, is.st_mode, error);
    close(fd);
    return -1;
}

FILE *regular_file_open(const char *path, const char *mode, struct esp_error *error)
{
    const int flags = *mode == 'a'     ? O_WRONLY | O_APPEND | O_CREAT
                      : *mode == 'w'   ? O_WRONLY | O_TRUNC | O_CREAT
                      : mode[1] == '+' ? O_RDWR
                                       : O_RDONLY;
    const int fd = regular_file_descriptor(path, flags, error);
    FILE *file = fd < 0 ? NULL : fdopen(fd, mode);
    if (fd >= 0 && !file) {
        error_errno(error, "%s cannot be opened", path);
        close(fd);
    }
    return file;
}

static void folder_of(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    const int n = slash ? (int)(slash - path) : 1;
    snprintf(folder, PATH_MAX, "%.*s", n > 0 ? n : 1, slash ? path : ".");
}

enum esp_status regular_file_replaceable(const char *path, struct esp_error *error)
{
    struct stat is;
    char folder[PATH_MAX];
    if (stat(path, &is) == 0 && !S_ISREG(is.st_mode))
        return refuse(path, is.st_mode, error);
    folder_of(path, folder);
    if (stat(folder, &is) != 0 || !S_ISDIR(is.st_mode))
        return error_set(error, ESP_NOT_FOUND, "%s cannot be written: there is no folder %s", path, folder);
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0)
        return error_errno(error, "%s cannot be written: no file can be made in %s", path, folder);
    return ESP_OK;
}
