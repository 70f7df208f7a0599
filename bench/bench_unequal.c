/* SPDX-License-Identifier: Apache-2.0
 *
 * Factorisations on ranks of cycle times 3, 5 and 8 (quotas of processor time that sum to 1.6 processors),
 * against the sum of the ranks' own rates and against ScaLAPACK's equal shares; and on ranks of equal speed
 * against ScaLAPACK. Needs the right to make control groups. Starts bench/unequal_mpi.
 */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 64
enum { TIMES_MOST = 16 };

struct figures {
    double own_gflops, ours_s, scalapack_s; /* medians */
};

static struct figures run(const char *routine, int n, int times, int ranks, const char *quotas)
{
    char command[300];
    double ours[TIMES_MOST], scalapack[TIMES_MOST];
    struct figures figures;
    size_t got = 0;
    snprintf(command, sizeof command,
             "OPENBLAS_NUM_THREADS=1 mpirun --allow-run-as-root --oversubscribe --bind-to none --mca "
             "mpi_yield_when_idle 1 -n %d bench/unequal_mpi %s %d %d %d %s",
             ranks, routine, n, BLOCK, times, quotas);
    FILE *output = popen(command, "r");
    if (!output || fscanf(output, "%lf", &figures.own_gflops) != 1)
        bench_fail("cannot run %s", command);
    while (got < TIMES_MOST && fscanf(output, "%lf %lf", &ours[got], &scalapack[got]) == 2)
        got++;
    if (pclose(output) != 0 || got == 0)
        bench_fail("%s failed", command);
    figures.ours_s = bench_median(ours, got);
    figures.scalapack_s = bench_median(scalapack, got);
    return figures;
}

static void unlike(const char *routine, int n, int times)
{
    const double cubes = (double)n * n * n / 1e9,
                 gflop = strcmp(routine, "qr") == 0 ? 4 * cubes / 3 : 2 * cubes / 3;
    const struct figures figures = run(routine, n, times, 3, "4050,2430,1519");
    char name[80];
    snprintf(name, sizeof name, "%s n = %d, cycle times 3, 5, 8: of the summed rates", routine, n);
    bench_row(&(struct bench_case){"unequal", name, "GFlop/s", BENCH_AT_LEAST, 0.8}, gflop / figures.ours_s,
              figures.own_gflops);
    snprintf(name, sizeof name, "%s n = %d, cycle times 3, 5, 8: times faster than cyclic", routine, n);
    bench_row(&(struct bench_case){"unequal", name, "1/s", BENCH_AT_LEAST, 1.5}, 1 / figures.ours_s,
              1 / figures.scalapack_s);
}

static void alike(const char *routine, int n, int times)
{
    const struct figures figures = run(routine, n, times, 2, "-");
    char name[80];
    snprintf(name, sizeof name, "%s n = %d, two equal ranks, against ScaLAPACK", routine, n);
    bench_row(&(struct bench_case){"unequal", name, "s", BENCH_AT_MOST, 1.05}, figures.ours_s,
              figures.scalapack_s);
}

/* BENCH_N: another order of the matrices. */
int main(void)
{
    const char *order = getenv("BENCH_N");
    const int n = order ? atoi(order) : 6000;
    unlike("lu", n, 3);
    unlike("qr", n, 1);
    alike("lu", n, 3);
    alike("qr", n, 1);
    return 0;
}
