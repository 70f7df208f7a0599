/* SPDX-License-Identifier: Apache-2.0
 *
 * pdtrsm: one call of pbdtrsm for each block of right-hand sides, which follows the diagonal of the triangle
 * round the grid.
 */
#include "config.h"

#include "core/forecast/parallel_model.h"

#include <math.h>
#include <stdlib.h>

int parallel_trsm_case(char uplo, char side, char trans)
{
    bool upper = uplo == 'U' || uplo == 'u', lower = uplo == 'L' || uplo == 'l';
    bool left = side == 'L' || side == 'l', right = side == 'R' || side == 'r';
    bool plain = trans == 'N' || trans == 'n', transposed = trans == 'T' || trans == 't';
    if (!(upper || lower) || !(left || right) || !(plain || transposed))
        return 0;
    /* Figure 4.3: ULN and URT are case 1, ULT and URN case 2; with L for U, 3 and 4. */
    int odd = left == plain ? 1 : 2;
    return upper ? odd : odd + 2;
}

/* One pbdtrsm on p x q ranks that runs along the rows. `ready` has a clock per row of ranks and one per
 * column: a rank is free when its row and its column are. That the later of two partners makes the other wait
 * is the paper's correction (C_b for the broadcast, C_u for the send). */
struct pipeline {
    const struct parallel_machine *machine;
    int64_t p, q;
    double block;
    double *row_free; /* until when the rows are busy with the second half of their update */
    double *col_free; /* and the columns with their update */
};

/* Columns of unsolved blocks that a rank updates after i blocks are solved: R ceil((N - iR) / (qR)). */
static double unsolved(const struct pipeline *pipeline, double n, double i)
{
    return parallel_share(n - i * pipeline->block, pipeline->block, (double)pipeline->q);
}

/* Equation 4.5, between the rank that solved and its neighbour; on one column a copy. */
static double pass_on(const struct pipeline *pipeline)
{
    double elements = pipeline->block * pipeline->block;
    return pipeline->q > 1 ? elements * pipeline->machine->element_s + pipeline->machine->latency_s
                           : parallel_kernel_s(pipeline->machine, PARALLEL_COPY, elements, 0, 0);
}

/* The update of what the next p - 1 rows of ranks need first, sent down and added there (equation 4.7); the
 * rest is updated while those work. Returns when the next row may go on. */
static double update(struct pipeline *pipeline, int64_t row, double now, double cols)
{
    const struct parallel_machine *machine = pipeline->machine;
    double block = pipeline->block;
    double first = fmin(cols, block * (double)(pipeline->p - 1)), rest = cols - first;
    if (pipeline->p == 1)
        return now + parallel_kernel_s(machine, PARALLEL_GEMM, block, cols, block);
    double sent = now + parallel_kernel_s(machine, PARALLEL_GEMM, block, first, block);
    if (first > 0)
        sent += block * first * machine->element_s + machine->latency_s;
    pipeline->row_free[row] = sent + parallel_kernel_s(machine, PARALLEL_GEMM, block, rest, block);
    double down = fmax(sent, pipeline->row_free[(row + 1) % pipeline->p]);
    return first > 0 ? down + parallel_kernel_s(machine, PARALLEL_ADD, block, first, 0) : down;
}

/* Equations 4.6 (p = 1) and 4.8, along the critical path. */
static double follow_diagonal(struct pipeline *pipeline, int64_t n)
{
    const struct parallel_machine *machine = pipeline->machine;
    double now = 0, blocks = ceil((double)n / pipeline->block);
    for (int64_t i = 0; (double)i < blocks; i++) {
        int64_t row = i % pipeline->p, col = i % pipeline->q, next = (col + 1) % pipeline->q;
        double size = fmin(pipeline->block, (double)n - (double)i * pipeline->block);
        now = fmax(now, fmax(pipeline->row_free[row], pipeline->col_free[col]));
        now += parallel_kernel_s(machine, PARALLEL_TRSM, size, size, 0);
        double cols = unsolved(pipeline, (double)n, (double)i + 1);
        if (cols <= 0)
            break;
        now = fmax(now, pipeline->col_free[next]) + pass_on(pipeline);
        now = update(pipeline, row, now, cols);
        pipeline->col_free[col] = now; /* the one that solved updates meanwhile */
    }
    return now;
}

double parallel_trsm_s(const struct parallel_machine *machine, struct parallel_grid grid, int64_t block,
                       int which, int64_t n, int64_t m)
{
    bool along_rows = which == 1 || which == 3;
    if (which < 1 || which > 4)
        return NAN;
    struct pipeline pipeline = {.machine = machine,
                                .p = along_rows ? grid.p : grid.q,
                                .q = along_rows ? grid.q : grid.p,
                                .block = (double)(block < n ? block : n)};
    pipeline.row_free = calloc((size_t)pipeline.p + 1, sizeof(double));
    pipeline.col_free = calloc((size_t)pipeline.q + 1, sizeof(double));
    double seconds = NAN;
    if (pipeline.row_free && pipeline.col_free)
        seconds = n > 0 && m > 0 ? fmax((double)m / (double)block, 1) * follow_diagonal(&pipeline, n) : 0;
    free(pipeline.row_free);
    free(pipeline.col_free);
    return seconds;
}
