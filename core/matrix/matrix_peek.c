/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/matrix/matrix_peek.h"

#include "core/matrix/matrix_format.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES 70000 /* the longest header of a .npy file, and comments of usual length */

static ssize_t read_start(const char *path, char *start)
{
    struct stat about;
    int fd = strcmp(path, "-") == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n =
        fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) ? read(fd, start, MOST_BYTES - 1) : -1;
    if (fd >= 0)
        close(fd);
    return n;
}

bool matrix_peek(const char *path, struct matrix_file *file)
{
    char *start = malloc(MOST_BYTES);
    ssize_t n = start ? read_start(path, start) : -1;
    *file = (struct matrix_file){0};
    bool known = false;
    for (const struct matrix_format *format = matrix_formats; n > 0 && format->name; format++) {
        if (!format->probe(start, (size_t)n))
            continue;
        while (n == MOST_BYTES - 1 && start[n - 1] != '\n') /* the rest of a cut line */
            n--;
        struct lines lines = {.name = path, .begin = start, .at = start, .end = start + n};
        file->format = format;
        known = format->announce && format->announce(&lines, file, NULL) == ESP_OK;
        break;
    }
    free(start);
    return known;
}
