/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/forecast/speed.h"

#include "core/choice/estimate.h"
#include "util/clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Agents hear of changes of forecasts by more than that part and more than that time. */
#define WORTH_TELLING   0.05
#define WORTH_TELLING_S 20e-6

void speed_release(struct speed *speed)
{
    free(speed->called.items);
    free(speed->calls);
    *speed = (struct speed){0};
}

/* Of an even number the lower one of the two in the middle: what disturbs a call makes it longer. */
static double median(double *values, uint32_t n)
{
    qsort(values, n, sizeof *values, by_value);
    return values[(n - 1) / 2];
}

/* ---- from calls to a time that grows with the work ---- */

/* The median of the slopes between calls of different work, in seconds per flop (Theil and Sen). Pairs whose
 * greater call is short, or whose works are alike, say nothing. False: there is no such pair. */
static bool slope_between(const struct speed_calls *calls, double *s_per_flop)
{
    double slopes[SPEED_OBSERVATIONS * (SPEED_OBSERVATIONS - 1) / 2];
    uint32_t n = 0;
    for (uint32_t i = 0; i < calls->n; i++)
        for (uint32_t k = 0; k < calls->n; k++) {
            const struct speed_call *less = &calls->observed[i], *more = &calls->observed[k];
            if (more->work_flop > 2 * less->work_flop && more->seconds >= SPEED_LEAST_S)
                slopes[n++] = (more->seconds - less->seconds) / (more->work_flop - less->work_flop);
        }
    *s_per_flop = n > 0 ? median(slopes, n) : 0;
    return n > 0;
}

/* The median of what calls take beyond their work at that slope. */
static double base_beside(const struct speed_calls *calls, double s_per_flop)
{
    double rest[SPEED_OBSERVATIONS];
    for (uint32_t i = 0; i < calls->n; i++)
        rest[i] = calls->observed[i].seconds - s_per_flop * calls->observed[i].work_flop;
    return median(rest, calls->n);
}

/* The median of the seconds per flop of calls that declare work; 0: none does. */
static double slope_from_zero(const struct speed_calls *calls)
{
    double slopes[SPEED_OBSERVATIONS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < calls->n; i++)
        if (calls->observed[i].work_flop > 0)
            slopes[n++] = calls->observed[i].seconds / calls->observed[i].work_flop;
    return n > 0 ? median(slopes, n) : 0;
}

static double greatest_speed(const struct speed_calls *calls, double measured)
{
    double most = measured > 0 ? measured : ESTIMATE_DEFAULT_SPEED;
    for (uint32_t i = 0; i < calls->n; i++)
        most = fmax(most, calls->observed[i].work_flop / calls->observed[i].seconds);
    return most;
}

/* Whether the declared work may explain the time of the longest calls, so that time grows with it. */
static bool is_plausible(const struct speed_calls *calls, double slope, double measured)
{
    double longest_s = 0, most_flop = 0;
    for (uint32_t i = 0; i < calls->n; i++) {
        longest_s = fmax(longest_s, calls->observed[i].seconds);
        most_flop = fmax(most_flop, calls->observed[i].work_flop);
    }
    return longest_s >= SPEED_LEAST_S && most_flop >= SPEED_LEAST_FLOP && slope * measured <= SPEED_PLAUSIBLE;
}

static void fit(const struct speed_calls *calls, double measured, struct problem_speed *to)
{
    const double from_zero = slope_from_zero(calls), least = 1 / greatest_speed(calls, measured);
    double slope;
    if (!(measured > 0))
        measured = ESTIMATE_DEFAULT_SPEED;
    if (calls->n == 1 && calls->observed[0].seconds < ESTIMATE_UNKNOWN_S) {
        to->flops = 0;
        to->base_s = 0;
        return;
    }
    if (slope_between(calls, &slope))
        slope = fmax(slope, least);
    else
        slope = is_plausible(calls, from_zero, measured) ? from_zero : 1 / measured;
    double base_s = base_beside(calls, slope);
    if (base_s < 0 && from_zero > 0) {
        base_s = 0;
        slope = from_zero;
    }
    to->flops = 1 / slope;
    to->base_s = fmax(base_s, 0);
}

static bool differ(double a, double b)
{
    return fabs(a - b) > WORTH_TELLING * fmin(a, b) + WORTH_TELLING_S;
}

/* Changes forecasts of the problem if they are `news`, or if a call like one of the latest is now forecast
 * otherwise. Returns whether they changed. */
static bool refresh(struct speed *speed, uint32_t at, bool news)
{
    const struct speed_calls *calls = &speed->calls[at];
    struct problem_speed *item = &speed->called.items[at], now = *item;
    fit(calls, speed->measured, &now);
    news |= !(item->flops > 0);
    for (uint32_t i = 0; i < calls->n && !news; i++)
        news = differ(problem_speed_s(item, calls->observed[i].work_flop),
                      problem_speed_s(&now, calls->observed[i].work_flop));
    if (news)
        *item = now;
    return news;
}

bool speed_measured(struct speed *speed, double flops)
{
    bool news = false;
    if (!(flops > 0) || !isfinite(flops))
        return false;
    speed->measured = flops;
    for (uint32_t i = 0; i < speed->called.n; i++)
        news |= refresh(speed, i, false);
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
        speed->called.items[at] = (struct problem_speed){digest, ESTIMATE_DEFAULT_SPEED, 0, 0};
        if (speed->measured > 0)
            speed->called.items[at].flops = speed->measured;
    }
    struct speed_calls *calls = &speed->calls[at];
    *calls = (struct speed_calls){.digest = digest};
    snprintf(calls->implementation, sizeof calls->implementation, "%s", implementation);
    return calls;
}

bool speed_observe(struct speed *speed, uint64_t digest, const char *implementation, double work_flop,
                   double seconds)
{
    if (!(work_flop > 0))
        work_flop = 0;
    if (!(seconds > 0) || !isfinite(seconds) || !isfinite(work_flop / seconds))
        return false;
    struct speed_calls *calls = calls_of(speed, digest, implementation);
    if (!calls)
        return false;
    const bool first = calls->n == 0;
    calls->turn = ++speed->turns;
    calls->observed[calls->next] = (struct speed_call){work_flop, seconds};
    calls->next = (calls->next + 1) % SPEED_OBSERVATIONS;
    if (calls->n < SPEED_OBSERVATIONS)
        calls->n++;
    const uint32_t at = (uint32_t)(calls - speed->calls);
    return refresh(speed, at, first) && speed->called.items[at].flops > 0;
}

bool speed_waits(struct speed *speed, uint64_t digest, double share)
{
    const uint32_t at = place_of(speed, digest);
    if (at == speed->called.n || speed->called.items[at].digest != digest)
        return false;
    struct problem_speed *item = &speed->called.items[at];
    const bool first = speed->calls[at].n == 1;
    const double now = first ? share : (item->waits + share) / 2;
    if (fabs(now - item->waits) <= WORTH_TELLING)
        return false;
    item->waits = now;
    return item->flops > 0;
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
            fprintf(file, " %.6g:%.6g", calls->observed[(oldest + k) % SPEED_OBSERVATIONS].work_flop,
                    calls->observed[(oldest + k) % SPEED_OBSERVATIONS].seconds);
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
    line += length;
    for (double flop = strtod(line, &end); end != line && *end == ':'; flop = strtod(line, &end)) {
        const double seconds = strtod(line = end + 1, &end);
        if (end == line)
            break;
        speed_observe(speed, digest, implementation, flop, seconds);
        line = end;
    }
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
