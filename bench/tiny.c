/* SPDX-License-Identifier: Apache-2.0
 *
 * The tiny problems of the benchmarks: what is measured is everything but this.
 */
#include <stdlib.h>
#include <time.h>

void bench_add(double a, double b, double *c);

__attribute__((visibility("default"))) void bench_add(double a, double b, double *c)
{
    *c = a + b;
}

void bench_take(const double *a);

/* An array comes, or goes, and nobody touches it. */
__attribute__((visibility("default"))) void bench_take(const double *a)
{
    (void)a;
}

void bench_nap(int work, int m, const double *x, int n, double *y);

/* Takes as long as `work` million operations would, on a computer of $BENCH_NAP_SPEED operations per second,
 * and leaves the processor to others meanwhile: several computers fit into one. */
__attribute__((visibility("default"))) void bench_nap(int work, int m, const double *x, int n, double *y)
{
    const char *speed = getenv("BENCH_NAP_SPEED");
    const double seconds = 1e6 * work / (speed ? atof(speed) : 1e9);
    struct timespec rest = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&rest, &rest) != 0)
        ;
    for (int i = 0; i < n; i++)
        y[i] = m > 0 ? x[i % m] : 0;
}
