/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits the memory that a worker has besides its arguments: what routines allocate, and what they leave
 * allocated.
 *
 * RLIMIT_DATA is the suitable limit: it counts private writable memory, and so neither the arguments
 * (shared files) nor the guards around them (inaccessible addresses), which RLIMIT_AS would count too.
 * Programs that a routine or a command starts have the same limit each.
 *
 * A routine whose allocation fails rarely says so: it ends by a null pointer, abort(), or its own error
 * number. So the allocation functions are wrapped here, for all libraries of this program, and record the
 * failure. */
#include "sed/crd/crd.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic uint64_t refused; /* bytes of a failed allocation; 0: none */
static _Atomic bool large;       /* an allocation of this call was large */
static uint64_t allowed;         /* 0: unlimited */
static uint64_t at_start;
static struct rlimit outside; /* limit outside of routines, for a process that is limited in them only */

/* Returns private writable memory, in bytes of addresses; 0 when the system does not say. Allocates
 * nothing, because there may be no memory left. */
static uint64_t data_bytes(void)
{
    unsigned long long pages = 0;
    char text[256];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    if (sscanf(text, "%*u %*u %*u %*u %*u %llu", &pages) != 1)
        return 0;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t growth(void)
{
    uint64_t now = data_bytes();
    return now > at_start ? now - at_start : 0;
}

bool memory_bound(uint64_t bytes)
{
    allowed = bytes;
    at_start = data_bytes();
    if (bytes == 0 || at_start == 0)
        return true;
    const struct rlimit limit = {at_start + bytes, at_start + bytes};
    struct rlimit is;
    if (getrlimit(RLIMIT_DATA, &is) == 0 && is.rlim_max <= limit.rlim_max)
        return true; /* the server was started with a lower limit */
    return setrlimit(RLIMIT_DATA, &limit) == 0;
}

bool memory_bound_routines(uint64_t bytes)
{
    allowed = bytes;
    at_start = data_bytes();
    return getrlimit(RLIMIT_DATA, &outside) == 0;
}

static bool is_bound(void)
{
    return allowed > 0 && at_start > 0;
}

void memory_enter(uint64_t more)
{
    const struct rlimit limit = {at_start + allowed + more, outside.rlim_max};
    if (is_bound() &&
        limit.rlim_cur < outside.rlim_cur) /* otherwise the server was started with a lower limit */
        setrlimit(RLIMIT_DATA, &limit);
}

uint64_t memory_leave(void)
{
    if (is_bound())
        setrlimit(RLIMIT_DATA, &outside);
    return atomic_exchange_explicit(&refused, 0, memory_order_relaxed);
}

uint64_t memory_kept(uint64_t most)
{
    uint64_t kept = growth();
    if (kept > most) {
        malloc_trim(0); /* freed memory that was not returned to the system yet */
        kept = growth();
    }
    return kept;
}

void memory_begin_call(void)
{
    atomic_store_explicit(&refused, 0, memory_order_relaxed);
    atomic_store_explicit(&large, false, memory_order_relaxed);
}

bool memory_was_large(void)
{
    return atomic_load_explicit(&large, memory_order_relaxed);
}

uint64_t memory_refused(uint64_t *most)
{
    *most = allowed;
    return atomic_load_explicit(&refused, memory_order_relaxed);
}

/* ---- allocation functions ---- */

/* Sanitizers have their own allocators, which must not be replaced. */
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__

#define LARGE_BYTES   (1 << 20)
#define MOST_REFUSALS 100 /* failures of mmap() in a row */

static void *note(void *memory, uint64_t bytes)
{
    if (!memory && bytes > 0 && errno == ENOMEM)
        atomic_store_explicit(&refused, bytes, memory_order_relaxed);
    if (bytes >= LARGE_BYTES)
        atomic_store_explicit(&large, true, memory_order_relaxed);
    return memory;
}

/* The C library's own functions, under the names exported for this. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

void __libc_free(void *memory);

#define OVERRIDE __attribute__((visibility("default")))

/* A preloaded allocator has its own free(), which could not free memory from the functions below. */
OVERRIDE void free(void *memory)
{
    __libc_free(memory);
}

OVERRIDE void *malloc(size_t bytes)
{
    return note(__libc_malloc(bytes), bytes);
}

OVERRIDE void *calloc(size_t n, size_t bytes)
{
    return note(__libc_calloc(n, bytes), (uint64_t)n * bytes);
}

OVERRIDE void *realloc(void *memory, size_t bytes)
{
    return note(__libc_realloc(memory, bytes), bytes);
}

OVERRIDE void *memalign(size_t alignment, size_t bytes)
{
    return note(__libc_memalign(alignment, bytes), bytes);
}

OVERRIDE void *valloc(size_t bytes)
{
    return memalign((size_t)sysconf(_SC_PAGESIZE), bytes);
}

OVERRIDE void *aligned_alloc(size_t alignment, size_t bytes)
{
    return note(__libc_memalign(alignment, bytes), bytes);
}

OVERRIDE int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0)
        return EINVAL;
    int before = errno;
    void *made = note(__libc_memalign(alignment, bytes), bytes);
    errno = before;
    if (!made)
        return ENOMEM;
    *memory = made;
    return 0;
}

/* OpenBLAS repeats a failed request for its buffers for ever. */
static void give_up_asking(bool refused_now)
{
    static _Atomic unsigned in_a_row;
    if (!refused_now)
        atomic_store_explicit(&in_a_row, 0, memory_order_relaxed);
    else if (atomic_fetch_add_explicit(&in_a_row, 1, memory_order_relaxed) >= MOST_REFUSALS)
        abort();
}

OVERRIDE void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    void *mapped = (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
    note(mapped == MAP_FAILED ? NULL : mapped, bytes);
    give_up_asking(mapped == MAP_FAILED && errno == ENOMEM);
    return mapped;
}

#endif
