/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sed/crd/checkpoint.h"
#include "util/crc32c.h"
#include "util/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = "ESPCKPT1";

static void put(unsigned char *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get(const unsigned char *from, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = bytes; i-- > 0;)
        value = value << 8 | from[i];
    return value;
}

static void make_header(unsigned char *header, uint64_t number, const void *state, uint64_t bytes)
{
    memcpy(header, magic, sizeof magic);
    put(header + 8, number, 8);
    put(header + 16, bytes, 8);
    put(header + 24, crc32c(0, state, bytes), 4);
    put(header + 28, crc32c(0, header, 28), 4);
}

/* Returns the number in the header; 0: the header is invalid. */
static uint64_t read_header(const unsigned char *header, uint64_t file_bytes, uint64_t *bytes)
{
    *bytes = 0;
    if (file_bytes < CHECKPOINT_HEADER_BYTES || memcmp(header, magic, sizeof magic) != 0 ||
        get(header + 28, 4) != crc32c(0, header, 28) ||
        get(header + 16, 8) != file_bytes - CHECKPOINT_HEADER_BYTES)
        return 0;
    *bytes = get(header + 16, 8);
    return get(header + 8, 8);
}

static bool write_all(int fd, const void *data, uint64_t bytes)
{
    for (const char *at = data; bytes > 0;) {
        ssize_t n = write(fd, at, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        bytes -= (uint64_t)n;
    }
    return true;
}

static bool read_all(int fd, void *data, uint64_t bytes)
{
    for (char *at = data; bytes > 0;) {
        ssize_t n = read(fd, at, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        bytes -= (uint64_t)n;
    }
    return true;
}

/* Makes the file's name durable. */
static bool sync_folder(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (!slash)
        return true;
    *slash = '\0';
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool good = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return good;
}

int checkpoint_save(const char *path, uint64_t number, const void *state, uint64_t bytes)
{
    unsigned char header[CHECKPOINT_HEADER_BYTES];
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.new", path) >= (int)sizeof temporary)
        return ENAMETOOLONG;
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    make_header(header, number, state, bytes);
    bool good = write_all(fd, header, sizeof header) && write_all(fd, state, bytes) && fsync(fd) == 0;
    int why = good ? 0 : errno;
    if (close(fd) != 0 && good)
        why = errno;
    if (why == 0 && rename(temporary, path) != 0)
        why = errno;
    if (why == 0 && !sync_folder(path))
        why = errno;
    if (why != 0)
        unlink(temporary);
    return why;
}

/* Opens the file and reads its header: -1 when there is no valid one. */
static int open_good(const char *path, unsigned char *header, uint64_t *number, uint64_t *bytes)
{
    struct stat is;
    int fd = regular_file_descriptor(path, O_RDONLY, NULL);
    if (fd < 0)
        return -1;
    if (fstat(fd, &is) == 0 && read_all(fd, header, CHECKPOINT_HEADER_BYTES) &&
        (*number = read_header(header, (uint64_t)is.st_size, bytes)) != 0)
        return fd;
    close(fd);
    return -1;
}

uint64_t checkpoint_number(const char *path, uint64_t *bytes)
{
    unsigned char header[CHECKPOINT_HEADER_BYTES];
    uint64_t number = 0, found;
    int fd = open_good(path, header, &number, &found);
    if (fd < 0)
        return 0;
    close(fd);
    if (bytes)
        *bytes = found;
    return number;
}

uint64_t checkpoint_load(const char *path, void *state, uint64_t capacity, uint64_t *bytes)
{
    unsigned char header[CHECKPOINT_HEADER_BYTES];
    uint64_t number = 0;
    int fd = open_good(path, header, &number, bytes);
    if (fd < 0)
        return 0;
    const bool good =
        *bytes <= capacity && read_all(fd, state, *bytes) && get(header + 24, 4) == crc32c(0, state, *bytes);
    close(fd);
    return good ? number : 0;
}

uint64_t checkpoint_check(const void *file, uint64_t file_bytes)
{
    const unsigned char *header = file;
    uint64_t bytes,
        number = file_bytes < CHECKPOINT_HEADER_BYTES ? 0 : read_header(header, file_bytes, &bytes);
    if (number == 0 || get(header + 24, 4) != crc32c(0, header + CHECKPOINT_HEADER_BYTES, bytes))
        return 0;
    return number;
}
