/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/pool/ring.h"

#include "util/clock.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum esp_status ring_create(struct ring **ring, int *fd, struct esp_error *error)
{
    int file = memfd_create("espalier-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return error_errno(error, "cannot make memory shared with a worker");
    /* Sealed, because a worker that truncates it would kill the daemon. */
    if (ftruncate(file, sizeof **ring) != 0 ||
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        error_errno(error, "cannot make %zu bytes shared with a worker", sizeof **ring);
        close(file);
        return ESP_SYSTEM;
    }
    void *memory = mmap(NULL, sizeof **ring, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
        error_errno(error, "cannot map memory shared with a worker");
        close(file);
        return ESP_SYSTEM;
    }
    *ring = memory;
    *fd = file;
    return ESP_OK;
}

struct ring *ring_map_guarded(int fd)
{
    const size_t words = offsetof(struct ring, arena), first = offsetof(struct ring, bays);
    char *room = mmap(NULL, words + RING_REACH + RING_GUARD_BYTES, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    void *memory = mmap(room, first, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0);
    if (memory == MAP_FAILED || sysconf(_SC_PAGESIZE) > BAY_LEAST_BYTES)
        return memory == MAP_FAILED ? NULL : memory;
    for (uint32_t i = 0; i < BAYS; i++)
        if (mmap(room + words + ring_bay_there(i), bay_bytes(i), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_FIXED, fd, (off_t)(first + bay_offset(i))) == MAP_FAILED)
            return NULL;
    return memory;
}

void ring_unmap(struct ring *ring)
{
    if (ring)
        munmap(ring, sizeof *ring);
}

void ring_sleep(_Atomic uint32_t *word, uint32_t value, int64_t until_ns)
{
    struct timespec until = {.tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S};
    /* The bitset form takes an absolute time, so an interrupted wait need not recompute it. */
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, until_ns == CLOCK_NEVER ? NULL : &until, NULL,
            FUTEX_BITSET_MATCH_ANY);
}

void ring_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

bool ring_reply(struct ring *ring, int bell)
{
    static const uint64_t one = 1;
    uint32_t before = atomic_exchange(&ring->reply, RING_DONE);
    if (before & RING_WAITERS)
        ring_wake(&ring->reply);
    /* A thread that stops watching the word checks it once more afterwards, so one of the two sees the
     * other. */
    return atomic_load(&ring->attended) != 0 || write(bell, &one, sizeof one) == sizeof one;
}

#define LOOK_NS (100 * NS_PER_MS)

void ring_await_answer(struct ring *ring, uint32_t request, int64_t until_ns)
{
    const uint32_t waited_for = RING_POSTED | RING_WAITERS;
    uint32_t posted = RING_POSTED;
    atomic_compare_exchange_strong(&ring->reply, &posted, waited_for);
    for (int64_t now = clock_now_ns(&clock_system); now < until_ns; now = clock_now_ns(&clock_system)) {
        if (atomic_load(&ring->reply) != waited_for || atomic_load(&ring->request) != request)
            return;
        ring_sleep(&ring->reply, waited_for, until_ns - now < LOOK_NS ? until_ns : now + LOOK_NS);
    }
}

/* A value that code rarely writes: neither 0 nor a small integer, -2e300 as a double. */
#define FENCE_BYTE 0xfd

void ring_fence_write(unsigned char *from, uint64_t bytes)
{
    memset(from, FENCE_BYTE, bytes);
}

int64_t ring_fence_damage(const unsigned char *from, uint64_t bytes)
{
    /* Fences are almost always intact: compared at once, and byte by byte only when they are not. */
    if (bytes == 0 || (from[0] == FENCE_BYTE && memcmp(from, from + 1, bytes - 1) == 0))
        return -1;
    for (uint64_t i = 0; i < bytes; i++)
        if (from[i] != FENCE_BYTE)
            return (int64_t)i;
    return -1;
}

double ring_progress(const struct ring *ring)
{
    const double progress = atomic_load_explicit(&ring->progress, memory_order_relaxed);
    return progress >= 0 && progress <= 1 ? progress : -1;
}

void ring_tell_progress(struct ring *ring, double fraction)
{
    if (fraction == fraction)
        atomic_store_explicit(&ring->progress,
                              fraction < 0   ? 0
                              : fraction > 1 ? 1
                                             : fraction,
                              memory_order_relaxed);
}
