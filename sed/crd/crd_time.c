/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the time of a call independent of competitors for the processor: the processor time of all its
 * threads, and the time of voluntary waiting (for a disk, a device, a licence, a clock). Of the time
 * without computing, the fraction of voluntary context switches counts as waiting: a process that competes
 * for the processor is switched involuntarily, one that waits voluntarily. */
#include "sed/crd/crd.h"

#include "util/clock.h"

#include <sys/resource.h>
#include <time.h>

/* Some voluntary switches are no waiting (a lock, page faults): waiting below this fraction of the
 * computing time is ignored. */
#define WORTH_COUNTING 0.25

static int64_t nanoseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

void own_time_begin(struct own_time *begun)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_THREAD, &usage);
    *begun = (struct own_time){.clock_ns = nanoseconds(CLOCK_MONOTONIC),
                               .cpu_ns = nanoseconds(CLOCK_PROCESS_CPUTIME_ID),
                               .left = usage.ru_nvcsw,
                               .taken_off = usage.ru_nivcsw};
}

static int64_t own_time(int64_t computed, int64_t idle, long left, long taken_off, int64_t *waiting)
{
    const long all = left + taken_off;
    const double waited = idle > 0 && all > 0 ? (double)idle * (double)left / (double)all : 0;
    *waiting = waited > WORTH_COUNTING * (double)computed ? (int64_t)waited : 0;
    return computed + *waiting;
}

int64_t own_time_since(const struct own_time *begun, int64_t *waited)
{
    struct own_time now;
    own_time_begin(&now);
    const int64_t computed = now.cpu_ns - begun->cpu_ns;
    return own_time(computed, now.clock_ns - begun->clock_ns - computed, now.left - begun->left,
                    now.taken_off - begun->taken_off, waited);
}

int64_t own_time_computed(const struct own_time *begun)
{
    return nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - begun->cpu_ns;
}

int64_t own_time_clock(const struct own_time *begun)
{
    return nanoseconds(CLOCK_MONOTONIC) - begun->clock_ns;
}

static int64_t of_timeval(const struct timeval *time)
{
    return (int64_t)time->tv_sec * NS_PER_S + time->tv_usec * (NS_PER_S / 1000000);
}

int64_t own_time_of(const struct rusage *usage, int64_t clock_ns, int64_t *waited)
{
    const int64_t computed = of_timeval(&usage->ru_utime) + of_timeval(&usage->ru_stime);
    const int64_t own = own_time(computed, clock_ns - computed, usage->ru_nvcsw, usage->ru_nivcsw, waited);
    return own < clock_ns ? own : clock_ns; /* several of its processes may have computed at the same time */
}
