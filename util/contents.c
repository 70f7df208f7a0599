/* SPDX-License-Identifier: Apache-2.0 */
#include "util/contents.h"
#include "util/bytes.h"
#include "util/random.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE ((size_t)1 << 30) /* one read or write moves at most 2 GiB */

static size_t piece(uint64_t left)
{
    return left < PIECE ? (size_t)left : PIECE;
}

enum esp_status contents_open(const char *path, int *file, uint64_t *bytes, struct esp_error *error)
{
    struct stat info;
    enum esp_status status = ESP_OK;
    int fd =
        open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe that nobody writes to is not waited for */
    if (fd < 0) {
        status = errno == ENOENT ? ESP_NOT_FOUND : ESP_SYSTEM;
        error_errno(error, "cannot open %s", path);
        if (error)
            error->status = status;
        return status;
    }
    if (fstat(fd, &info) != 0)
        status = error_errno(error, "cannot read %s", path);
    else if (!S_ISREG(info.st_mode))
        status = error_set(error, ESP_SYNTAX, "%s: expected a regular file", path);
    if (status != ESP_OK) {
        close(fd);
        return status;
    }
    *file = fd;
    *bytes = (uint64_t)info.st_size;
    return ESP_OK;
}

enum esp_status contents_load(const char *path, void **data, uint64_t *bytes, struct esp_error *error)
{
    int fd;
    uint64_t size = 0, done = 0;
    enum esp_status status = contents_open(path, &fd, &size, error);
    if (status != ESP_OK)
        return status;
    char *memory = malloc((size_t)size + 1);
    if (!memory)
        status = error_no_memory(error, path);
    while (status == ESP_OK && done < size) {
        ssize_t n = read(fd, memory + done, piece(size - done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status = error_errno(error, "cannot read %s", path);
        if (n <= 0)
            break; /* it became shorter: that is its contents now */
        done += (uint64_t)n;
    }
    close(fd);
    if (status != ESP_OK) {
        free(memory);
        return status;
    }
    *data = memory;
    *bytes = done;
    return ESP_OK;
}

static enum esp_status write_all(int fd, const char *data, uint64_t bytes, const char *path,
                                 struct esp_error *error)
{
    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = write(fd, data + done, piece(bytes - done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(error, "cannot write %s", path);
        done += (uint64_t)n;
    }
    return ESP_OK;
}

/* A new file beside `path`; its name is written behind the path. */
static int open_beside(const char *path, char *temporary, size_t size)
{
    for (int attempt = 0; attempt < 16; attempt++) {
        uint64_t draw = 0;
        if (random_bytes(&draw, sizeof draw, NULL) != ESP_OK)
            break;
        snprintf(temporary, size, "%s.%08x", path, (unsigned)draw);
        int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

enum esp_status contents_save(const char *path, const void *data, uint64_t bytes, struct esp_error *error)
{
    struct stat info;
    size_t length = strlen(path) + sizeof ".01234567";
    char *temporary = malloc(length);
    if (!temporary)
        return error_no_memory(error, path);
    /* Devices and pipes are written to, not replaced, and so is what a link such as /dev/stdout leads to. */
    bool in_place = lstat(path, &info) == 0 && !S_ISREG(info.st_mode) && access(path, F_OK) == 0;
    int fd = in_place ? open(path, O_WRONLY | O_TRUNC | O_CLOEXEC) : open_beside(path, temporary, length);
    if (fd < 0) {
        error_errno(error, "cannot write %s", path);
        free(temporary);
        return ESP_SYSTEM;
    }
    enum esp_status status = write_all(fd, data, bytes, path, error);
    if (close(fd) != 0 && status == ESP_OK)
        status = error_errno(error, "cannot write %s", path);
    if (status == ESP_OK && !in_place && rename(temporary, path) != 0)
        status = error_errno(error, "cannot write %s", path);
    if (status != ESP_OK && !in_place)
        unlink(temporary);
    free(temporary);
    return status;
}

#define MAX_TEXT_FILE (64 << 20) /* bytes of a string's file */

enum esp_status contents_load_text(const char *path, char **text, struct esp_error *error)
{
    FILE *stream = fopen(path, "re");
    if (!stream)
        return errno == ENOENT ? error_set(error, ESP_NOT_FOUND, "%s: no such file", path)
                               : error_errno(error, "cannot open %s", path);
    char most[BYTES_TEXT];
    size_t used = 0, size = 4096;
    enum esp_status status = ESP_OK;
    *text = malloc(size);
    while (*text && !feof(stream) && !ferror(stream)) {
        used += fread(*text + used, 1, size - used - 1, stream);
        if (used + 1 < size)
            continue;
        char *more = size < MAX_TEXT_FILE ? realloc(*text, size *= 2) : NULL;
        if (!more)
            free(*text);
        *text = more;
    }
    if (!*text) {
        status =
            error_set(error, ESP_LIMIT, "%s: a string has at most %s", path, bytes_text(MAX_TEXT_FILE, most));
    } else if (ferror(stream)) {
        status = error_errno(error, "cannot read %s", path);
        free(*text);
    } else if (memchr(*text, 0, used)) {
        status = error_set(error, ESP_INVALID, "%s: expected text, found a zero byte", path);
        free(*text);
    } else {
        (*text)[used] = 0;
    }
    fclose(stream);
    return status;
}
