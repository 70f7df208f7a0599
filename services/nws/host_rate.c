/* SPDX-License-Identifier: Apache-2.0 */
#include "services/nws/host_rate.h"

#include "util/clock.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define BYTES  ((size_t)8 << 20) /* beyond the caches of one core */
#define ROUNDS 3

static void *fresh_memory(void)
{
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static double copy_once(const void *from)
{
    void *to = fresh_memory(); /* a datum's pages are new too */
    if (!to)
        return 0;
    const int64_t begun_ns = clock_now_ns(&clock_system);
    memcpy(to, from, BYTES);
    const double seconds = (double)(clock_now_ns(&clock_system) - begun_ns) / 1e9;
    munmap(to, BYTES);
    return seconds > 0 ? (double)BYTES / seconds : 0;
}

double host_rate_measure(void)
{
    double best_bps = 0;
    void *from = fresh_memory();
    if (!from)
        return 0;
    memset(from, 1, BYTES);
    for (int i = 0; i < ROUNDS; i++)
        best_bps = fmax(best_bps, copy_once(from));
    munmap(from, BYTES);
    return best_bps;
}
