/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/buffer.h"
#include "util/segment.h"
#include "util/fork_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#define ALIGNMENT 8

struct buffer {
    uint8_t *pages;
    uint64_t bytes;  /* of all pages */
    uint64_t offset; /* of the program's part */
    int file;        /* -1: it cannot be shared */
    bool written;    /* lent for writing */
    struct buffer *prev, *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the list and its entries */
static struct buffer *buffers;

/* ---- memory files ---- */

/* Makes a sealed memory file of that size. Returns its descriptor, or -1. */
static int make_file(uint64_t bytes)
{
    int file = memfd_create("espalier-buffer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file >= 0 && ftruncate(file, (off_t)bytes) == 0 &&
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

/* Maps the file at that address, or anywhere if `at` is NULL. Without a file, maps private memory. */
static void *map(void *at, uint64_t bytes, int file)
{
    int flags = (file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS) | (at ? MAP_FIXED : 0);
    void *pages = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

/* ---- for the program ---- */

void *buffer_alloc(size_t bytes)
{
    struct buffer *buffer = calloc(1, sizeof *buffer);
    uint64_t rounded = bytes > 0 ? ((uint64_t)bytes + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1) : ALIGNMENT;
    if (!buffer || rounded < bytes ||
        (buffer->offset = segment_place(&buffer->bytes, rounded)) == UINT64_MAX ||
        buffer->bytes > INT64_MAX) {
        free(buffer);
        errno = ENOMEM;
        return NULL;
    }
    buffer->file = make_file(buffer->bytes);
    buffer->pages = map(NULL, buffer->bytes, buffer->file);
    if (!buffer->pages) {
        if (buffer->file >= 0)
            close(buffer->file);
        free(buffer);
        errno = ENOMEM;
        return NULL;
    }
    pthread_mutex_lock(&lock);
    DL_PREPEND(buffers, buffer);
    pthread_mutex_unlock(&lock);
    return buffer->pages + buffer->offset;
}

bool buffer_free(void *memory, void (*forget)(const void *pages, uint64_t bytes))
{
    struct buffer *buffer;
    pthread_mutex_lock(&lock);
    for (buffer = buffers; buffer && buffer->pages + buffer->offset != memory;)
        buffer = buffer->next;
    if (buffer)
        DL_DELETE(buffers, buffer);
    pthread_mutex_unlock(&lock);
    if (!buffer)
        return false;
    forget(buffer->pages, buffer->bytes);
    munmap(buffer->pages, buffer->bytes);
    if (buffer->file >= 0)
        close(buffer->file);
    free(buffer);
    return true;
}

/* ---- for the library ---- */

/* Called with the lock held. */
static struct buffer *find(const void *memory, uint64_t bytes)
{
    uintptr_t at = (uintptr_t)memory;
    struct buffer *buffer;
    for (buffer = buffers; buffer; buffer = buffer->next) {
        uintptr_t begin = (uintptr_t)buffer->pages;
        if (at >= begin && at - begin <= buffer->bytes && bytes <= buffer->bytes - (at - begin))
            return buffer;
    }
    return NULL;
}

bool buffer_holds(const void *memory, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    const struct buffer *buffer = find(memory, bytes);
    bool holds = buffer && buffer->file >= 0;
    pthread_mutex_unlock(&lock);
    return holds;
}

bool buffer_lend(const void *memory, uint64_t bytes, bool write, struct buffer_place *place)
{
    place->file = -1;
    pthread_mutex_lock(&lock);
    struct buffer *buffer = find(memory, bytes);
    bool own_page = buffer && memory == buffer->pages + buffer->offset;
    if (buffer && buffer->file >= 0 && !(write && (buffer->written || !own_page))) {
        place->file = fcntl(buffer->file, F_DUPFD_CLOEXEC, 0);
        place->offset = (uint64_t)((const uint8_t *)memory - buffer->pages);
        buffer->written |= write && place->file >= 0;
    }
    pthread_mutex_unlock(&lock);
    return place->file >= 0;
}

bool buffer_put(void *memory, const void *from, uint64_t bytes)
{
    uint64_t done = 0;
    pthread_mutex_lock(&lock);
    const struct buffer *buffer = find(memory, bytes);
    bool good = buffer && buffer->file >= 0;
    while (good && done < bytes) {
        const off_t at = (off_t)((const uint8_t *)memory - buffer->pages) + (off_t)done;
        const ssize_t put = pwrite(buffer->file, (const char *)from + done, bytes - done, at);
        good = put > 0;
        done += good ? (uint64_t)put : 0;
    }
    pthread_mutex_unlock(&lock);
    return good;
}

/* Called with the lock held. Copies the contents to another file, which then replaces the first one. */
static void part(struct buffer *buffer)
{
    int file = make_file(buffer->bytes);
    void *copy = file >= 0 ? map(NULL, buffer->bytes, file) : NULL;
    if (copy) {
        memcpy(copy, buffer->pages, buffer->bytes);
        if (mremap(copy, buffer->bytes, buffer->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, buffer->pages) !=
            MAP_FAILED) {
            close(buffer->file);
            buffer->file = file;
            file = -1;
        } else {
            munmap(copy, buffer->bytes);
        }
    }
    if (file >= 0)
        close(file);
}

void buffer_return(const void *memory, bool well)
{
    pthread_mutex_lock(&lock);
    struct buffer *buffer = find(memory, 1);
    if (buffer && buffer->written && !well)
        part(buffer);
    if (buffer)
        buffer->written = false;
    pthread_mutex_unlock(&lock);
}

bool buffer_after_fork(void)
{
    return fork_lock_was_free(&lock);
}
