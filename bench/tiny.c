/* SPDX-License-Identifier: Apache-2.0
 *
 * The tiny problem of the call benchmarks: what is measured is everything but this.
 */
void bench_add(double a, double b, double *c);

__attribute__((visibility("default"))) void bench_add(double a, double b, double *c)
{
    *c = a + b;
}
