/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/link_rates.h"

#include "core/forecast/path.h"
#include "core/message/chunk.h"

#include <math.h>
#include <stdlib.h>

/* ---- calls ---- */

/* They tell of each other's sizes that differ so many times. */
#define NEAR 2

/* The most bytes of a call that told a rate, or only the least; 0: none did. */
static double longest_call(const struct link *link, bool is_least)
{
    double most = 0;
    for (unsigned i = 0; i < LINK_RATES && i < link->n_called; i++)
        if (link->called[i].is_least == is_least)
            most = fmax(most, (double)link->called[i].bytes);
    return most;
}

/* The quickest of those with so many bytes or more: whatever else happened made calls longer, and where a
 * rate depends on size, shorter ones are no slower. 0: there was none. */
static double quickest_call(const struct link *link, bool is_least, double bytes)
{
    double most_bps = 0;
    for (unsigned i = 0; i < LINK_RATES && i < link->n_called; i++)
        if (link->called[i].is_least == is_least && (double)link->called[i].bytes >= bytes)
            most_bps = fmax(most_bps, link->called[i].bps);
    return most_bps;
}

static int by_bytes(const void *a, const void *b)
{
    const struct size_point *x = a, *y = b;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* At that size, by calls that told a rate; 0: none did. */
static double rate_between_calls(const struct link *link, double bytes)
{
    struct size_point points[LINK_RATES];
    size_t n = 0;
    for (unsigned i = 0; i < LINK_RATES && i < link->n_called; i++) {
        const double size = (double)link->called[i].bytes;
        if (!link->called[i].is_least)
            points[n++] = (struct size_point){size, size / quickest_call(link, false, size / NEAR)};
    }
    qsort(points, n, sizeof *points, by_bytes);
    return size_points_rate(points, n, bytes);
}

struct called_rate rate_of_calls(const struct link *link, double bytes)
{
    const double told = longest_call(link, false), least = longest_call(link, true),
                 longest = told > 0 ? told : least, size = bytes > 0 ? bytes : longest;
    const double rate_bps = rate_between_calls(link, size),
                 least_bps = quickest_call(link, true, fmin(size, least) / NEAR);
    return (struct called_rate){fmax(rate_bps, least_bps), (uint64_t)longest,
                                least_bps > rate_bps || size > CALLS_REACH * told};
}

/* ---- transfers ---- */

struct weighed {
    double rate_bps, weight;
};

static int by_rate(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;
    return (x->rate_bps > y->rate_bps) - (x->rate_bps < y->rate_bps);
}

/* Its place among those, of which there is one, ascending. */
static unsigned median_of(const struct weighed *rates, unsigned n)
{
    double left = 0;
    for (unsigned i = 0; i < n; i++)
        left += rates[i].weight / 2;
    for (unsigned i = 0; i < n; i++)
        if ((left -= rates[i].weight) < 0)
            return i;
    return n - 1;
}

/* Where two others or more were clearly quicker, what is held up weighs no more than one of them: nothing
 * makes a transfer quicker than its link. */
static void outvote(struct weighed *rates, unsigned n, unsigned slow)
{
    double most = 0;
    unsigned quicker = 0;
    for (unsigned i = slow + 1; i < n; i++)
        if (rates[i].rate_bps > RATE_MORE * rates[slow].rate_bps) {
            most = fmax(most, rates[i].weight);
            quicker++;
        }
    if (quicker >= 2)
        rates[slow].weight = fmin(rates[slow].weight, most);
}

double rate_of_transfers(const struct link *link, bool there)
{
    struct weighed rates[LINK_RATES];
    const unsigned n = link->n_rates[there] < LINK_RATES ? link->n_rates[there] : LINK_RATES;
    if (n == 0)
        return 0;
    for (unsigned i = 0; i < n; i++)
        rates[i] = (struct weighed){link->rates[there][i], sqrt((double)link->rate_bytes[there][i])};
    qsort(rates, n, sizeof *rates, by_rate);
    outvote(rates, n, median_of(rates, n));
    return rates[median_of(rates, n)].rate_bps;
}

bool rate_depends_on_size(double rate_bps)
{
    return rate_bps >= CHUNK_LINK_BYTES_PER_S;
}

double rate_at_size(double rate_bps, const struct size_rates *sizes, uint64_t bytes)
{
    const double size_bps = rate_depends_on_size(rate_bps) ? size_rates_at(sizes, (double)bytes) : 0;
    return size_bps > 0 ? size_bps : rate_bps;
}

/* Sizes that nothing went in that direction of are those of the other one. */
static const struct size_rates *sizes_of(const struct size_rates sizes[2], bool there)
{
    struct size_rate rate;
    for (unsigned i = 0; i < SIZE_CLASSES; i++)
        if (size_rates_class(&sizes[there], i, &rate))
            return &sizes[there];
    return &sizes[!there];
}

void rates_fit(struct path *path, const struct size_rates sizes[2], const struct request_bytes *bytes)
{
    const double there_bps = path->bandwidth_bps, back_bps = path_turned(*path).bandwidth_bps;
    path->bandwidth_bps = rate_at_size(there_bps, sizes_of(sizes, true), bytes->in);
    if (rate_depends_on_size(back_bps))
        path->back_bps = rate_at_size(back_bps, sizes_of(sizes, false), bytes->out);
}
