/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing Matrix Market files.
 */
#include "config.h"

#include "core/matrix_text.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_element(FILE *stream, const struct matrix *matrix, size_t element)
{
    if (matrix->is_complex)
        fprintf(stream, "%.17g %.17g\n", matrix->values[2 * element], matrix->values[2 * element + 1]);
    else
        fprintf(stream, "%.17g\n", matrix->values[element]);
}

static bool is_zero(const struct matrix *matrix, size_t element)
{
    return matrix->is_complex ? matrix->values[2 * element] == 0 && matrix->values[2 * element + 1] == 0
                              : matrix->values[element] == 0;
}

static void write_matrix(FILE *stream, const struct matrix *matrix, enum matrix_layout layout)
{
    fprintf(stream, "%s matrix %s %s general\n", MATRIX_MARKET_BANNER,
            layout == LAYOUT_ARRAY ? "array" : "coordinate", matrix->is_complex ? "complex" : "real");
    fprintf(stream, "%lld %lld", (long long)matrix->rows, (long long)matrix->cols);
    if (layout == LAYOUT_COORDINATE)
        fprintf(stream, " %lld", (long long)matrix_nonzeros(matrix));
    fputc('\n', stream);
    for (int64_t j = 0; j < matrix->cols; j++)
        for (int64_t i = 0; i < matrix->rows; i++) {
            size_t element = (size_t)(j * matrix->rows + i);
            if (layout == LAYOUT_COORDINATE) {
                if (is_zero(matrix, element))
                    continue;
                fprintf(stream, "%lld %lld ", (long long)i + 1, (long long)j + 1);
            }
            write_element(stream, matrix, element);
        }
}

/* Writes to the open descriptor, which it closes; -1: it could not be opened (errno). */
static enum esp_status write_to(int fd, const char *path, const struct matrix *matrix,
                                enum matrix_layout layout, struct esp_error *error)
{
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "w");
    if (!stream) {
        if (fd >= 0)
            close(fd);
        return error_errno(error, "cannot write %s", path);
    }
    /* The decimal point must be a point, whatever locale the program has chosen. */
    locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    write_matrix(stream, matrix, layout);
    uselocale(before);
    bool failed = fflush(stream) != 0 || ferror(stream);
    int reason = errno;
    if (fclose(stream) == 0 && !failed)
        return ESP_OK;
    errno = failed ? reason : errno;
    return error_errno(error, "cannot write %s", path);
}

/* A new file in the same folder; *temporary is its name, to be freed. */
static int open_beside(const char *path, char **temporary)
{
    size_t size = strlen(path) + 32;
    *temporary = malloc(size);
    if (!*temporary)
        return -1;
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        snprintf(*temporary, size, "%s.%ld-%u.part", path, (long)getpid(), attempt);
        int fd = open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

enum esp_status matrix_save(const char *path, const struct matrix *matrix, enum matrix_layout layout,
                            struct esp_error *error)
{
    struct stat there;
    if (strcmp(path, "-") == 0)
        return write_to(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), path, matrix, layout, error);
    /* A rename would put a file in the place of a device, or of a link such as /dev/stdout. */
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return write_to(open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), path, matrix, layout, error);
    char *temporary = NULL;
    int fd = open_beside(path, &temporary);
    enum esp_status status = ESP_OK;
    if (fd < 0) {
        status =
            temporary ? error_errno(error, "cannot write %s", path) : error_no_memory(error, "a file name");
    } else {
        status = write_to(fd, path, matrix, layout, error);
        if (status == ESP_OK && rename(temporary, path) != 0)
            status = error_errno(error, "cannot write %s", path);
        if (status != ESP_OK)
            unlink(temporary);
    }
    free(temporary);
    return status;
}
