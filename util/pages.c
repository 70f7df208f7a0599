/* SPDX-License-Identifier: Apache-2.0 */
#include "util/pages.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/* Below this size a second thread costs more than it saves. */
#define WORTH_TWO (8u << 20)
/* Granularity of the split between two threads: they must not share a page table. */
#define CUT (2u << 20)

/* Constants of Linux 5.14, which older C libraries do not define. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif
/* A constant of Linux 6.1. */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

struct stretch {
    char *pages;
    size_t bytes;
    int advice;
};

static struct stretch whole_pages(void *data, size_t bytes, int advice)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)data;
    const uintptr_t first = (begin + page - 1) & ~(page - 1), last = (begin + bytes) & ~(page - 1);
    return (struct stretch){
        .pages = (char *)data + (first - begin), .bytes = last > first ? last - first : 0, .advice = advice};
}

static void *advise(void *context)
{
    const struct stretch *stretch = context;
    if (stretch->bytes > 0)
        (void)madvise(stretch->pages, stretch->bytes,
                      stretch->advice); /* a failure shows when the pages are used */
    return NULL;
}

static void advise_by_two(struct stretch first)
{
    pthread_t thread;
    struct stretch second = first;
    if (first.bytes < WORTH_TWO) {
        advise(&first);
        return;
    }
    first.bytes = first.bytes / 2 & ~(size_t)(CUT - 1);
    second.pages += first.bytes;
    second.bytes -= first.bytes;
    bool helped = pthread_create(&thread, NULL, advise, &second) == 0;
    advise(&first);
    if (helped)
        pthread_join(thread, NULL);
    else
        advise(&second);
}

void pages_touch(void *data, size_t bytes, bool write)
{
    struct stretch all = whole_pages(data, bytes, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
    advise(&all);
}

void pages_leave_by_two(void *data, size_t bytes)
{
    if (bytes >= WORTH_TWO)
        advise_by_two(whole_pages(data, bytes, MADV_DONTNEED));
}

char *pages_reserve(size_t bytes, uint64_t offset, size_t guard)
{
    const size_t spare = bytes >= PAGES_LARGE ? PAGES_LARGE : 0, wanted = bytes + 2 * guard;
    char *room = mmap(NULL, wanted + spare, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    if (spare == 0)
        return room + guard;
    const size_t before = (size_t)((offset - (uintptr_t)(room + guard)) % PAGES_LARGE);
    if (before > 0)
        munmap(room, before);
    munmap(room + before + wanted, spare - before);
    return room + before + guard;
}

/* The system refuses ranges with unpopulated parts, so each large page is converted by itself. */
bool pages_make_large(void *data, size_t bytes)
{
    const uintptr_t begin = (uintptr_t)data;
    const size_t first = (size_t)(-begin % PAGES_LARGE);
    bool all = true;
    for (size_t at = first; at < bytes && PAGES_LARGE <= bytes - at; at += PAGES_LARGE)
        all = madvise((char *)data + at, PAGES_LARGE, MADV_COLLAPSE) == 0 && all;
    return all;
}

/* ---- whether pages are mapped ---- */

static uintptr_t page_of(const void *data)
{
    return (uintptr_t)data & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

bool pages_are_mapped(const void *data, size_t bytes)
{
    enum { AT_A_TIME = 1024 };
    unsigned char present[AT_A_TIME];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const uintptr_t end = (uintptr_t)data + bytes;
    for (uintptr_t at = page_of(data); at < end; at += AT_A_TIME * page) {
        const size_t left = end - at, most = AT_A_TIME * page;
        if (mincore((void *)at, left < most ? left : most, present) != 0 && errno == ENOMEM)
            return false;
    }
    return true;
}

enum { MOST_PLACES = 2 };

/* Whether a byte at each of the places is accessible. The kernel copies them as from another process, so
 * an inaccessible byte gives an error and no signal. */
static bool are_reachable(const struct iovec *places, size_t n, bool write)
{
    char bytes[MOST_PLACES];
    const struct iovec here = {bytes, n};
    return process_vm_readv(getpid(), &here, 1, places, n, 0) == (ssize_t)n &&
           (!write || process_vm_writev(getpid(), &here, 1, places, n, 0) == (ssize_t)n);
}

bool pages_ends_reachable(void *data, size_t bytes, bool write)
{
    const struct iovec ends[MOST_PLACES] = {{data, 1}, {(char *)data + bytes - 1, 1}};
    return are_reachable(ends, MOST_PLACES, write);
}

size_t pages_reachable(void *data, size_t bytes, bool write)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const uintptr_t begin = (uintptr_t)data, end = begin + bytes;
    for (uintptr_t at = begin; at < end; at = (at & ~(page - 1)) + page) {
        const struct iovec place = {(void *)at, 1};
        if (!are_reachable(&place, 1, write))
            return at - begin;
    }
    return bytes;
}
