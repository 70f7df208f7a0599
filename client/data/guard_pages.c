/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/guard_pages.h"
#include "client/data/buffer.h"
#include "util/random.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int own_memory = -1; /* /proc/self/mem */
static uintptr_t page_bytes;
static uint64_t mark[2]; /* drawn for each process: what no program has in its memory */

struct stamp {
    uint64_t mark[2];
    uintptr_t page;
};

static void set_up(void)
{
    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (random_bytes(mark, sizeof mark, NULL) == ESP_OK)
        own_memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
}

static uintptr_t page_size(void)
{
    pthread_once(&once, set_up);
    return page_bytes;
}

void guard_pages_within(const void *memory, uint64_t bytes, uintptr_t *from, uintptr_t *to)
{
    const uintptr_t page = page_size(), begin = (uintptr_t)memory;
    *from = *to = 0;
    if (bytes < 2 * GUARD_EDGE)
        return;
    const uintptr_t first = (begin + GUARD_EDGE + page - 1) / page * page,
                    last = (begin + bytes - GUARD_EDGE) / page * page;
    if (first < last) {
        *from = first;
        *to = last;
    }
}

/* ---- past the protection ---- */

/* What is shared cannot be written through /proc/self/mem: its file is. */
static bool put(uintptr_t at, const void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        const ssize_t put = pwrite(own_memory, (const char *)bytes + done, n - done, (off_t)(at + done));
        if (put <= 0)
            return done == 0 && buffer_put((void *)at, bytes, n);
        done += (size_t)put;
    }
    return true;
}

enum page { PAGE_CLOSED, PAGE_EMPTIED, PAGE_OTHER };

static enum page look_at(uintptr_t page)
{
    const struct stamp expected = {{mark[0], mark[1]}, page}, nothing = {{0, 0}, 0};
    struct stamp found;
    if (pread(own_memory, &found, sizeof found, (off_t)page) != (ssize_t)sizeof found)
        return PAGE_OTHER;
    if (memcmp(&found, &expected, sizeof found) == 0)
        return PAGE_CLOSED;
    return memcmp(&found, &nothing, sizeof found) == 0 ? PAGE_EMPTIED : PAGE_OTHER;
}

bool guard_pages_close(uintptr_t from, uintptr_t to)
{
    const uintptr_t page = page_size();
    bool closed = own_memory >= 0;
    for (uintptr_t at = from; closed && at < to; at += page) {
        const struct stamp stamp = {{mark[0], mark[1]}, at};
        closed = put(at, &stamp, sizeof stamp);
    }
    closed = closed && mprotect((void *)from, to - from, PROT_NONE) == 0;
    if (!closed)
        mprotect((void *)from, to - from, PROT_READ | PROT_WRITE);
    return closed;
}

enum guard_pages guard_pages_closed(uintptr_t from, uintptr_t to)
{
    const uintptr_t page = page_size();
    bool some = false, others = false;
    for (uintptr_t at = from; at < to; at += page)
        if (look_at(at) == PAGE_CLOSED)
            some = true;
        else
            others = true;
    return !some ? GUARD_PAGES_NONE : others ? GUARD_PAGES_SOME : GUARD_PAGES_ALL;
}

void guard_pages_open(uintptr_t from, uintptr_t to, const char *contents)
{
    const uintptr_t page = page_size();
    for (uintptr_t at = from, next; at < to; at = next) {
        const enum page kind = look_at(at);
        for (next = at + page; next < to && look_at(next) == kind; next += page)
            ;
        if (kind == PAGE_OTHER)
            continue;
        if (kind == PAGE_CLOSED && contents)
            put(at, contents + (at - from), next - at);
        mprotect((void *)at, next - at, PROT_READ | PROT_WRITE);
    }
}

/* ---- which memory ---- */

/* glibc's malloc has the blocks of threads but the first one in such regions, each aligned to its size and
 * beginning with where its arena is, the region before it, and its bytes in use. */
#define HEAP_BYTES ((uintptr_t)64 << 20)

static bool is_in_heap_of_thread(uintptr_t at)
{
    struct {
        uintptr_t arena, before;
        size_t used, writable;
    } head;
    const uintptr_t begin = at & ~(HEAP_BYTES - 1);
    if (pread(own_memory, &head, sizeof head, (off_t)begin) != (ssize_t)sizeof head)
        return false;
    return head.arena != 0 && head.arena % HEAP_BYTES <= 256 && head.before % HEAP_BYTES == 0 &&
           head.used <= head.writable && head.writable <= HEAP_BYTES && head.used % page_bytes == 0 &&
           at < begin + head.used;
}

struct mapping {
    uintptr_t from, to;
    const char *access, *name;
};

static bool next_mapping(FILE *maps, char **line, size_t *size, struct mapping *mapping)
{
    char *at;
    if (getline(line, size, maps) <= 0)
        return false;
    mapping->from = strtoull(*line, &at, 16);
    if (*at != '-')
        return false;
    mapping->to = strtoull(at + 1, &at, 16);
    if (*at != ' ')
        return false;
    mapping->access = at + 1;
    mapping->name = strchr(at, '[') ? strchr(at, '[') : "";
    return true;
}

struct wish {
    const void *memory;
    uint64_t bytes;
    uintptr_t stack; /* an address of the thread's */
    bool (*is_closed)(uintptr_t from, uintptr_t to);
};

static bool suits(const struct mapping *mapping, const struct wish *wish)
{
    const uintptr_t begin = (uintptr_t)wish->memory, end = begin + wish->bytes;
    const bool is_stack = strncmp(mapping->name, "[stack", 6) == 0 ||
                          (wish->stack >= mapping->from && wish->stack < mapping->to);
    if (is_stack || strncmp(mapping->name, "[heap", 5) == 0)
        return false;
    if (mapping->access[3] != 'p' && !buffer_holds(wish->memory, wish->bytes))
        return false;
    if (mapping->access[0] == 'r' && mapping->access[1] == 'w')
        return true;
    return wish->is_closed(mapping->from > begin ? mapping->from : begin,
                           mapping->to < end ? mapping->to : end);
}

static bool all_suit(const struct wish *wish)
{
    struct mapping mapping;
    char *line = NULL;
    size_t size = 0;
    uintptr_t at = (uintptr_t)wish->memory;
    const uintptr_t end = at + wish->bytes;
    FILE *maps = fopen("/proc/self/maps", "re");
    bool good = maps != NULL;
    while (good && at < end && (good = next_mapping(maps, &line, &size, &mapping))) {
        if (mapping.to <= at)
            continue;
        good = mapping.from <= at && suits(&mapping, wish);
        at = mapping.to;
    }
    free(line);
    if (maps)
        fclose(maps);
    return good;
}

bool guard_pages_can(const void *memory, uint64_t bytes, bool (*is_closed)(uintptr_t from, uintptr_t to))
{
    uintptr_t from, to;
    char here = 0;
    guard_pages_within(memory, bytes, &from, &to);
    const struct wish wish = {memory, bytes, (uintptr_t)&here, is_closed};
    return from < to && own_memory >= 0 && !is_in_heap_of_thread((uintptr_t)memory) && all_suit(&wish);
}
