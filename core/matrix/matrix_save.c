/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes matrix files completely or not at all. */
#include "config.h"

#include "core/matrix/matrix_format.h"
#include "util/c_numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

bool entry_is_listed(const struct matrix_file *file, int64_t row, int64_t col, int64_t entry)
{
    const struct matrix *matrix = &file->matrix;
    if (file->symmetry != SYMMETRY_GENERAL && (row < col || (row == col && file->symmetry == SYMMETRY_SKEW)))
        return false;
    if (matrix_is_sparse(matrix))
        return true;
    return matrix->is_complex ? matrix->values[2 * entry] != 0 || matrix->values[2 * entry + 1] != 0
                              : matrix->values[entry] != 0;
}

int64_t entries_listed(const struct matrix_file *file)
{
    const struct matrix *matrix = &file->matrix;
    int64_t n = 0;
    for (int64_t j = 0; j < matrix->cols; j++)
        for (int64_t k = column_begin(matrix, j); k < column_begin(matrix, j + 1); k++)
            n += entry_is_listed(file, entry_row(matrix, j, k), j, k);
    return n;
}

/* The options for writing a file. */
struct order {
    const char *path;
    const struct matrix_file *file;
    const struct matrix_format *format;
    bool compressed;
};

/* Writes to the descriptor and closes it; -1: it could not be opened (errno). */
static enum esp_status write_to(int fd, const struct order *order, struct esp_error *error)
{
    FILE *stream = fd < 0 ? NULL : order->compressed ? gzip_stream(fd) : fdopen(fd, "w");
    if (!stream) {
        if (fd >= 0)
            close(fd);
        return error_errno(error, "cannot write %s", order->path);
    }
    const locale_t before = c_numbers_begin();
    enum esp_status status = order->format->write(stream, order->file, error);
    c_numbers_end(before);
    bool failed = fflush(stream) != 0 || ferror(stream);
    int reason = errno;
    bool closed = fclose(stream) == 0;
    if (status != ESP_OK)
        return error_prefix(error, "%s (%s)", order->path, order->format->name);
    if (closed && !failed)
        return ESP_OK;
    errno = failed ? reason : errno;
    return error_errno(error, "cannot write %s", order->path);
}

/* Takes the first free name beside the path for a new file, or for an unnamed one (`nameless`: its path in
 * /proc; or NULL). -1: errno. */
static int take_name(const char *path, const char *nameless, char **temporary)
{
    size_t size = strlen(path) + 32;
    *temporary = malloc(size);
    if (!*temporary)
        return -1;
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        snprintf(*temporary, size, "%s.%ld-%u.part", path, (long)getpid(), attempt);
        int taken = nameless ? linkat(AT_FDCWD, nameless, AT_FDCWD, *temporary, AT_SYMLINK_FOLLOW)
                             : open(*temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (taken >= 0 || errno != EEXIST)
            return taken;
    }
    return -1;
}

int matrix_open_beside(const char *path, char **temporary)
{
    return take_name(path, NULL, temporary);
}

/* Returns the path in /proc of an open file: linking a descriptor itself needs a privilege. */
static const char *seen_at(int fd, char *name, size_t size)
{
    snprintf(name, size, "/proc/self/fd/%d", fd);
    return name;
}

int matrix_open_nameless(const char *path, char **temporary)
{
    char name[64];
    const char *slash = strrchr(path, '/');
    char *folder = !slash ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
    int fd = folder ? open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0666) : -1;
    free(folder);
    *temporary = NULL;
    if (fd >= 0 && access(seen_at(fd, name, sizeof name), F_OK) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return matrix_open_beside(path, temporary);
}

bool matrix_name_beside(int fd, const char *path, char **temporary)
{
    char name[64];
    if (take_name(path, seen_at(fd, name, sizeof name), temporary) >= 0)
        return true;
    const int reason = errno;
    free(*temporary); /* the file belongs to another process, or to none */
    *temporary = NULL;
    errno = reason;
    return false;
}

static enum esp_status save(const struct order *order, struct esp_error *error)
{
    const char *path = order->path;
    struct stat there;
    if (strcmp(path, "-") == 0)
        return write_to(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), order, error);
    /* A rename would replace a device, or a link such as /dev/stdout, by a file. */
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return write_to(open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), order, error);
    char *temporary = NULL;
    int fd = matrix_open_beside(path, &temporary);
    enum esp_status status = ESP_OK;
    if (fd < 0) {
        status =
            temporary ? error_errno(error, "cannot write %s", path) : error_no_memory(error, "a file name");
    } else {
        status = write_to(fd, order, error);
        if (status == ESP_OK && rename(temporary, path) != 0)
            status = error_errno(error, "cannot write %s", path);
        if (status != ESP_OK)
            unlink(temporary);
    }
    free(temporary);
    return status;
}

static bool ends_in_gz(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && strcasecmp(path + length - 3, ".gz") == 0;
}

enum esp_status matrix_save(const char *path, const struct matrix_file *file,
                            const struct matrix_format *format, struct esp_error *error)
{
    struct matrix_file shown = *file;
    struct matrix dense = {0};
    if (!format && !(format = matrix_format_of_path(path)))
        format = &matrix_formats[0];
    if (file->n_dims > 2 && !format->has_arrays)
        return error_set(error, ESP_INVALID,
                         "%s: %s has no arrays of %u dimensions: save it as NumPy's .npy (--format npy)",
                         path, format->name, file->n_dims);
    if (format->layout != LAYOUT_EITHER)
        shown.is_sparse = format->layout == LAYOUT_SPARSE;
    if (!shown.is_sparse && matrix_is_sparse(&file->matrix)) {
        enum esp_status status = matrix_to_dense(&file->matrix, 0, &dense, error);
        if (status != ESP_OK)
            return error_prefix(error, "%s", path);
        shown.matrix = dense;
    }
    const struct order order = {path, &shown, format, ends_in_gz(path)};
    enum esp_status status = save(&order, error);
    matrix_clear(&dense);
    return status;
}
