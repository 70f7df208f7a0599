/* SPDX-License-Identifier: Apache-2.0
 *
 * Redistributions between the ranks of MPI jobs against ScaLAPACK's pdgemr2d: starts bench/redistribute_mpi
 * with mpirun, once for each number of ranks. Ranks share what processors there are.
 */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_CASES = 64 };

static double ratios[MOST_CASES];
static size_t n_ratios;

static void run(int ranks)
{
    char command[256], name[80];
    double ours, reference;
    snprintf(
        command, sizeof command,
        "OPENBLAS_NUM_THREADS=1 mpirun --allow-run-as-root --oversubscribe -n %d bench/redistribute_mpi 5",
        ranks);
    FILE *output = popen(command, "r");
    if (!output)
        bench_fail("cannot run %s", command);
    while (fscanf(output, "%79s %lf %lf", name, &ours, &reference) == 3) {
        double ratio =
            bench_row(&(struct bench_case){"pdgemr2d", name, "ms", BENCH_SHOWN, 0}, ours, reference);
        if (n_ratios < MOST_CASES)
            ratios[n_ratios++] = ratio;
    }
    if (pclose(output) != 0)
        bench_fail("%s failed", command);
}

int main(void)
{
    static const int ranks[] = {4, 6, 8, 9, 10, 12, 16};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        run(ranks[i]);
    if (n_ratios == 0)
        bench_fail("bench/redistribute_mpi measured nothing");
    bench_row(&(struct bench_case){"pdgemr2d", "all, median", "ratio", BENCH_AT_MOST, 0.8},
              bench_median(ratios, n_ratios), 1);
    bench_row(&(struct bench_case){"pdgemr2d", "all, worst", "ratio", BENCH_AT_MOST, 1.25},
              bench_percentile(ratios, n_ratios, 1), 1);
    return 0;
}
