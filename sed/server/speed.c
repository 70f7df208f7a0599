/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/server/speed.h"

#include "util/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A measurement counts as so many observations: real calls outvote it soon. */
#define MEASURED_WEIGHT 3

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const struct speed *speed)
{
    double values[SPEED_OBSERVATIONS + MEASURED_WEIGHT];
    uint32_t n = speed->n;
    memcpy(values, speed->observed, n * sizeof *values);
    for (uint32_t i = 0; i < MEASURED_WEIGHT && speed->measured > 0; i++)
        values[n++] = speed->measured;
    qsort(values, n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

void speed_measured(struct speed *speed, double flops)
{
    if (!(flops > 0) || !isfinite(flops))
        return;
    speed->measured = flops;
    speed->flops = median(speed);
}

bool speed_observe(struct speed *speed, double work_flop, uint64_t bytes, double seconds)
{
    if (!(seconds >= SPEED_LEAST_S) || !(work_flop >= SPEED_LEAST_FLOP) || !isfinite(work_flop / seconds) ||
        work_flop < SPEED_LEAST_INTENSITY * (double)bytes)
        return false;
    double before = speed->flops;
    speed->observed[speed->next] = work_flop / seconds;
    speed->next = (speed->next + 1) % SPEED_OBSERVATIONS;
    if (speed->n < SPEED_OBSERVATIONS)
        speed->n++;
    speed->flops = median(speed);
    return fabs(speed->flops - before) > 0.1 * before;
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
