/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/server/speed.h"

#include "util/clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The measurement counts as so many calls of each problem: real ones outvote it soon. */
#define MEASURED_WEIGHT 3

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What moves forecasts by less is not worth telling agents, who forecast by what they were told. */
#define WORTH_TELLING 0.05

void speed_release(struct speed *speed)
{
    free(speed->called.items);
    free(speed->calls);
    *speed = (struct speed){0};
}

static double median(const struct speed_calls *calls, double measured)
{
    double values[SPEED_OBSERVATIONS + MEASURED_WEIGHT];
    uint32_t n = calls->n;
    memcpy(values, calls->observed, n * sizeof *values);
    for (uint32_t i = 0; i < MEASURED_WEIGHT && measured > 0; i++)
        values[n++] = measured;
    qsort(values, n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static bool refresh(struct speed *speed, uint32_t at)
{
    double *flops = &speed->called.items[at].flops;
    const double now = median(&speed->calls[at], speed->measured);
    if (fabs(now - *flops) <= WORTH_TELLING * *flops)
        return false;
    *flops = now;
    return true;
}

bool speed_measured(struct speed *speed, double flops)
{
    bool news = false;
    if (!(flops > 0) || !isfinite(flops))
        return false;
    speed->measured = flops;
    for (uint32_t i = 0; i < speed->called.n; i++)
        news |= refresh(speed, i);
    return news;
}

static void remove_at(struct speed *speed, uint32_t at)
{
    const uint32_t behind = --speed->called.n - at;
    memmove(speed->calls + at, speed->calls + at + 1, behind * sizeof *speed->calls);
    memmove(speed->called.items + at, speed->called.items + at + 1, behind * sizeof *speed->called.items);
}

static bool make_room(struct speed *speed)
{
    uint32_t oldest = 0;
    if (speed->called.n == SPEED_MOST) {
        for (uint32_t i = 1; i < SPEED_MOST; i++)
            if (speed->calls[i].turn < speed->calls[oldest].turn)
                oldest = i;
        remove_at(speed, oldest);
        return true;
    }
    const size_t n = speed->called.n + 1;
    struct speed_calls *calls = realloc(speed->calls, n * sizeof *calls);
    if (calls)
        speed->calls = calls;
    struct problem_speed *items = calls ? realloc(speed->called.items, n * sizeof *items) : NULL;
    if (items)
        speed->called.items = items;
    return items != NULL;
}

/* Where calls of that problem are noted, or are to be. */
static uint32_t place_of(const struct speed *speed, uint64_t digest)
{
    uint32_t at = 0;
    while (at < speed->called.n && speed->calls[at].digest < digest)
        at++;
    return at;
}

/* Its calls by that implementation; NULL without memory. */
static struct speed_calls *calls_of(struct speed *speed, uint64_t digest, const char *implementation)
{
    uint32_t at = place_of(speed, digest);
    const bool known = at < speed->called.n && speed->calls[at].digest == digest;
    if (known && strcmp(speed->calls[at].implementation, implementation) == 0)
        return &speed->calls[at];
    if (!known) {
        if (!make_room(speed))
            return NULL;
        at = place_of(speed, digest); /* who made room may have been before it */
        const uint32_t behind = speed->called.n++ - at;
        memmove(speed->calls + at + 1, speed->calls + at, behind * sizeof *speed->calls);
        memmove(speed->called.items + at + 1, speed->called.items + at, behind * sizeof *speed->called.items);
        speed->called.items[at] = (struct problem_speed){digest, speed->measured};
    }
    struct speed_calls *calls = &speed->calls[at];
    *calls = (struct speed_calls){.digest = digest};
    snprintf(calls->implementation, sizeof calls->implementation, "%s", implementation);
    return calls;
}

bool speed_observe(struct speed *speed, uint64_t digest, const char *implementation, double work_flop,
                   double seconds)
{
    if (!(seconds >= SPEED_LEAST_S) || !(work_flop >= SPEED_LEAST_FLOP) || !isfinite(work_flop / seconds) ||
        !(work_flop / seconds > 0))
        return false;
    struct speed_calls *calls = calls_of(speed, digest, implementation);
    if (!calls)
        return false;
    calls->turn = ++speed->turns;
    calls->observed[calls->next] = work_flop / seconds;
    calls->next = (calls->next + 1) % SPEED_OBSERVATIONS;
    if (calls->n < SPEED_OBSERVATIONS)
        calls->n++;
    return refresh(speed, (uint32_t)(calls - speed->calls));
}

/* ---- over the life of the server ---- */

#define LINE "speed "

void speed_write(const struct speed *speed, FILE *file)
{
    for (uint32_t i = 0; i < speed->called.n; i++) {
        const struct speed_calls *calls = &speed->calls[i];
        const uint32_t oldest = calls->n < SPEED_OBSERVATIONS ? 0 : calls->next;
        fprintf(file, LINE "%016" PRIx64 " %s", calls->digest, calls->implementation);
        for (uint32_t k = 0; k < calls->n; k++)
            fprintf(file, " %.6g", calls->observed[(oldest + k) % SPEED_OBSERVATIONS]);
        fputc('\n', file);
    }
}

bool speed_take(struct speed *speed, const char *line)
{
    uint64_t digest;
    char implementation[PROBLEM_MAX_NAME + 1], *end;
    int length = 0;
    _Static_assert(PROBLEM_MAX_NAME == 63, "the width below");
    if (sscanf(line, LINE "%16" SCNx64 " %63s%n", &digest, implementation, &length) != 2)
        return false;
    const uint32_t at = place_of(speed, digest);
    if (at < speed->called.n && speed->calls[at].digest == digest)
        return false;
    for (double flops = strtod(line += length, &end); end != line; flops = strtod(line = end, &end))
        if (flops >= SPEED_LEAST_FLOP)
            speed_observe(speed, digest, implementation, flops, 1);
    return true;
}

static double seconds_of_thread(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

double speed_of_plain_loop(double seconds)
{
    enum { WIDTH = 16, ROUNDS = 4096 };
    volatile double sink = 0;
    double x[WIDTH];
    for (int i = 0; i < WIDTH; i++)
        x[i] = 1.0 + i;
    int64_t start_ns = clock_now_ns(&clock_system), now_ns = start_ns;
    double flop = 0, cpu_start_s = seconds_of_thread();
    while ((double)(now_ns - start_ns) < seconds * 1e9) {
        for (int round = 0; round < ROUNDS; round++)
            for (int i = 0; i < WIDTH; i++)
                x[i] = x[i] * 0.999999 + 1e-6; /* stays near 1: no overflow, no denormals */
        flop += 2.0 * WIDTH * ROUNDS;
        now_ns = clock_now_ns(&clock_system);
    }
    for (int i = 0; i < WIDTH; i++)
        sink += x[i];
    /* In a second of processor time: others' starts do not count. */
    double cpu_s = seconds_of_thread() - cpu_start_s;
    return flop / (cpu_s > 0 ? cpu_s : (double)(now_ns - start_ns) / 1e9);
}
