/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/size_rates.h"

#include <math.h>
#include <stdlib.h>

double size_points_rate(struct size_point *points, size_t n, double bytes)
{
    size_t above = 0;
    for (size_t i = n; i-- > 1;)
        points[i - 1].seconds = fmin(points[i - 1].seconds, points[i].seconds);
    while (above < n && points[above].bytes < bytes)
        above++;
    if (n == 0)
        return 0;
    if (above == 0 || above == n) {
        const struct size_point *end = &points[above == 0 ? 0 : n - 1];
        return end->bytes / end->seconds;
    }
    const struct size_point *low = &points[above - 1], *high = &points[above];
    const double part = (bytes - low->bytes) / (high->bytes - low->bytes);
    return bytes / (low->seconds + part * (high->seconds - low->seconds));
}

static unsigned class_of(double bytes)
{
    unsigned i = 0;
    for (double end = SIZE_FIRST; i + 1 < SIZE_CLASSES && bytes >= end; end *= SIZE_STEP)
        i++;
    return i;
}

void size_rates_add(struct size_rates *rates, double bytes, double rate_bps)
{
    struct size_class *size = &rates->classes[class_of(bytes)];
    if (rate_bps > 0 && bytes > 0)
        size->last[size->n++ % SIZE_EACH] = (struct size_rate){rate_bps, bytes};
}

static int by_rate(const void *a, const void *b)
{
    const struct size_rate *x = a, *y = b;
    return (x->rate_bps > y->rate_bps) - (x->rate_bps < y->rate_bps);
}

/* Of two times the shorter one counts, because other activity only makes transfers longer. */
bool size_rates_class(const struct size_rates *rates, unsigned i, struct size_rate *rate)
{
    const struct size_class *size = &rates->classes[i];
    const unsigned n = size->n < SIZE_EACH ? size->n : SIZE_EACH;
    struct size_rate sorted[SIZE_EACH];
    for (unsigned k = 0; k < n; k++)
        sorted[k] = size->last[k];
    qsort(sorted, n, sizeof *sorted, by_rate);
    if (n > 0)
        *rate = sorted[n / 2];
    return n > 0;
}

double size_rates_at(const struct size_rates *rates, double bytes)
{
    struct size_point points[SIZE_CLASSES];
    struct size_rate rate;
    size_t n = 0;
    for (unsigned i = 0; i < SIZE_CLASSES; i++)
        if (size_rates_class(rates, i, &rate))
            points[n++] = (struct size_point){rate.bytes, rate.bytes / rate.rate_bps};
    return size_points_rate(points, n, bytes);
}

void size_rates_disprove(struct size_rates *rates, double bytes)
{
    for (unsigned i = 0; i <= class_of(bytes); i++)
        rates->classes[i].n = 0;
}
