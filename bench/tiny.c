/* SPDX-License-Identifier: Apache-2.0
 *
 * The tiny problems of the benchmarks: what is measured is everything but this.
 */
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
