/* SPDX-License-Identifier: Apache-2.0
 *
 * pdgetrf after B.4.1 of "Optimization of the ScaLAPACK LU Factorization", the block size at which it is
 * fastest, and pdpotrf and pdgeqrf composed in the same way; and solvers, which are one of these and what
 * their right-hand sides take.
 */
#include "config.h"

#include "core/forecast/parallel_model.h"

#include <math.h>

/* A broadcast among so many ranks: to begin it, and for each element. */
struct spread {
    double begin_s, element_s;
};

static struct spread spread_of(const struct parallel_machine *machine, double ranks)
{
    return (struct spread){parallel_broadcast_begin_s(machine, ranks),
                           parallel_broadcast_element_s(machine, ranks)};
}

static double spread_s(const struct spread *spread, double elements)
{
    return spread->begin_s + elements * spread->element_s;
}

/* One factorization of n columns by panels of `block` on p x q ranks. */
struct factor {
    const struct parallel_machine *machine;
    double p, q, n, block, panels;
    double lacking;         /* of the last block, where it is not whole */
    struct spread down, on; /* along the p ranks of a column, and the q of a row: the same for all panels */
};

static struct factor factor_of(const struct parallel_machine *machine, struct parallel_grid grid,
                               int64_t block, int64_t n)
{
    struct factor factor = {.machine = machine,
                            .p = (double)grid.p,
                            .q = (double)grid.q,
                            .n = (double)n,
                            .block = fmin((double)block, (double)n),
                            .panels = n > 0 ? ceil((double)n / (double)block) : 0,
                            .down = spread_of(machine, (double)grid.p),
                            .on = spread_of(machine, (double)grid.q)};
    factor.lacking = factor.panels * factor.block - factor.n;
    return factor;
}

static double send(const struct factor *factor, double elements)
{
    return factor->machine->latency_s + elements * factor->machine->element_s;
}

/* Rows (columns) that a rank has of the last i blocks. */
static double share(const struct factor *factor, double i, double ranks)
{
    return parallel_share(i * factor->block - factor->lacking, factor->block, ranks);
}

static double kernel(const struct factor *factor, enum parallel_kernel which, double m, double n, double k)
{
    return parallel_kernel_s(factor->machine, which, m, n, k);
}

/* ---- LU ---- */

/* What the ranks of a column say to each other for each column of a panel: DGAMX2D, the pivot's row, and the
 * one for which it is swapped. */
static double column_s(const struct factor *factor)
{
    const double doublings = ceil(log2(factor->p));
    if (factor->p <= 1)
        return 0;
    if (factor->machine->column_s > 0)
        return doublings * factor->machine->column_s;
    return doublings * send(factor, 1) + spread_s(&factor->down, factor->block) + send(factor, factor->block);
}

/* B.4.1.2: PDGETF2 of the panel that has i blocks of rows left; as a whole where that was measured. */
static double panel_s(const struct factor *factor, double i)
{
    double rows = share(factor, i, factor->p), block = factor->block, seconds = 0;
    if (parallel_kernel_is_known(factor->machine, PARALLEL_GETF2))
        return kernel(factor, PARALLEL_GETF2, rows, block, 0) + block * column_s(factor);
    double each = kernel(factor, PARALLEL_AMAX, rows, 0, 0) + kernel(factor, PARALLEL_SCAL, rows, 0, 0) +
                  2 * kernel(factor, PARALLEL_COPY, block, 0, 0) + column_s(factor);
    /* Updates of 1, 2, ..., block - 1 columns: half of block is their mean, and GER linear in them. */
    if (block > 1)
        seconds += (block - 1) * kernel(factor, PARALLEL_GER, rows, block / 2, 0);
    return seconds + block * each;
}

/* PDLASWP: a pivot's row lies in the same rank with probability 1 / p. The paper writes the rows' length with
 * P_r; it is the part of a row that one of the P_c columns of ranks has. */
static double swaps_s(const struct factor *factor)
{
    double length = share(factor, factor->panels, factor->q), local = factor->n / factor->p;
    double far = 2 * kernel(factor, PARALLEL_COPY, length, 0, 0) + send(factor, length);
    return local * kernel(factor, PARALLEL_SWAP, length, 0, 0) + (factor->n - local) * far;
}

/* B.4.1.3: what PDGETRF does besides when i blocks of rows and columns remain behind the panel. */
static double update_s(const struct factor *factor, double i)
{
    double rows = share(factor, i, factor->p), cols = share(factor, i, factor->q), block = factor->block;
    double below = share(factor, i + 1, factor->p);
    double seconds =
        kernel(factor, PARALLEL_TRSM, block, cols, 0) + kernel(factor, PARALLEL_GEMM, rows, cols, block);
    if (factor->q > 1)
        seconds += spread_s(&factor->on, below * block) + kernel(factor, PARALLEL_COPY, below * block, 0, 0);
    if (factor->p > 1)
        seconds += spread_s(&factor->down, cols * block) + kernel(factor, PARALLEL_COPY, cols * block, 0, 0);
    return seconds;
}

double parallel_getrf_s(const struct parallel_machine *machine, struct parallel_grid grid, int64_t block,
                        int64_t n)
{
    struct factor factor = factor_of(machine, grid, block, n);
    double seconds = factor.panels > 0 ? swaps_s(&factor) : 0;
    for (double i = 1; i <= factor.panels; i++) {
        seconds += panel_s(&factor, i) + (i < factor.panels ? update_s(&factor, i) : 0);
        if (factor.q > 1)
            seconds += spread_s(&factor.on, factor.block); /* pivots: IGEBS2D */
    }
    return seconds;
}

/* ---- its block size ---- */

/* c[0] / S + c[1] + c[2] S + c[3] S^2: what each term of the sum becomes without ceilings, with M / S panels.
 */
struct laurent {
    double c[4];
};

static void add(struct laurent *sum, double factor, double c0, double c1, double c2, double c3)
{
    sum->c[0] += factor * c0;
    sum->c[1] += factor * c1;
    sum->c[2] += factor * c2;
    sum->c[3] += factor * c3;
}

/* The terms of PDGETF2. With H = sum over panels of S i = (M^2 / S + M) / 2. */
static void add_panels(struct laurent *sum, const struct parallel_machine *machine, double m, double p)
{
    const double(*c)[PARALLEL_TERMS] = machine->polynomials.of;
    double linear = c[PARALLEL_AMAX][0] + c[PARALLEL_SCAL][0];
    add(sum, linear / p, 0, m * m / 2, m / 2, 0); /* S H */
    add(sum, 2 * c[PARALLEL_COPY][0], 0, 0, m, 0);
    if (p > 1)
        add(sum, parallel_broadcast_element_s(machine, p) + machine->element_s, 0, 0, m, 0);
    const double *ger = c[PARALLEL_GER];
    /* H S (S - 1) / 2, M / S S (S - 1) / 2, H (S - 1), M / S (S - 1) */
    add(sum, ger[0] / p, 0, -m * m / 4, m * m / 4 - m / 4, m / 4);
    add(sum, ger[1], 0, -m / 2, m / 2, 0);
    add(sum, ger[2] / p, -m * m / 2, m * m / 2 - m / 2, m / 2, 0);
    add(sum, ger[3], -m, m, 0, 0);
}

/* The terms of PDGETRF. With G = sum over the panels but one of S i = (M^2 / S - M) / 2 and W that of (S i)^2
 * = (2 M^3 / S - 3 M^2 + M S) / 6. */
static void add_updates(struct laurent *sum, const struct parallel_machine *machine, double m, double p,
                        double q)
{
    const double *trsm = machine->polynomials.of[PARALLEL_TRSM],
                 *gemm = machine->polynomials.of[PARALLEL_GEMM],
                 *copy = machine->polynomials.of[PARALLEL_COPY];
    if (q > 1) {
        double column = parallel_broadcast_element_s(machine, q) + copy[0],
               begin = parallel_broadcast_begin_s(machine, q);
        add(sum, column / p, 0, m * m / 2, m / 2, -1);
        add(sum, begin + copy[1], m, -1, 0, 0);
        add(sum, begin, m, 0, 0, 0); /* pivots */
    }
    if (p > 1) {
        double row = parallel_broadcast_element_s(machine, p) + copy[0],
               begin = parallel_broadcast_begin_s(machine, p) + copy[1];
        add(sum, row / q, 0, m * m / 2, -m / 2, 0);
        add(sum, begin, m, -1, 0, 0);
    }
    add(sum, trsm[0] / q, 0, 0, m * m / 2, -m / 2); /* G S^2 */
    add(sum, trsm[1], 0, 0, m, -1);
    add(sum, trsm[2] / q, 0, m * m / 2, -m / 2, 0);
    add(sum, trsm[3], 0, m, -1, 0);
    add(sum, trsm[4] / q, m * m / 2, -m / 2, 0, 0);
    add(sum, trsm[5], m, -1, 0, 0);
    double pq = p * q, cube = m * m * m / 3, square = m * m / 2;
    add(sum, gemm[0] / pq, 0, cube, -square, m / 6); /* W S */
    add(sum, gemm[4] / pq, cube, -square, m / 6, 0); /* W */
    add(sum, gemm[1] / p + gemm[2] / q, 0, square, -m / 2, 0);
    add(sum, gemm[5] / p + gemm[6] / q, square, -m / 2, 0, 0);
    add(sum, gemm[3], 0, m, -1, 0);
    add(sum, gemm[7], m, -1, 0, 0);
}

/* The coefficients are read one by one here. */
static struct parallel_machine taking_turns(const struct parallel_machine *machine)
{
    struct parallel_machine own = *machine;
    for (int kernel = 0; kernel < PARALLEL_KERNELS && machine->turns > 1; kernel++)
        for (int i = 0; i < PARALLEL_TERMS; i++)
            own.polynomials.of[kernel][i] *= machine->turns;
    return own;
}

/* The derivative times S^2: 2 c3 S^3 + c2 S^2 - c0. With c0 > 0 (what a panel costs) it is negative at first,
 * and has one positive root where it grows after it. */
static double derivative(const struct laurent *sum, double s)
{
    return (2 * sum->c[3] * s + sum->c[2]) * s * s - sum->c[0];
}

double parallel_getrf_block(const struct parallel_machine *machine, struct parallel_grid grid, int64_t n)
{
    struct laurent sum = {{0}};
    double m = (double)n, low = 1, high = m;
    const struct parallel_machine own = taking_turns(machine);
    add_panels(&sum, &own, m, (double)grid.p);
    add_updates(&sum, &own, m, (double)grid.p, (double)grid.q);
    if (n <= 1 || derivative(&sum, low) >= 0)
        return 1;
    if (derivative(&sum, high) <= 0)
        return m;
    for (int i = 0; i < 200 && high - low > 1e-9 * high; i++) {
        double middle = (low + high) / 2;
        *(derivative(&sum, middle) < 0 ? &low : &high) = middle;
    }
    return (low + high) / 2;
}

/* ---- Cholesky ---- */

/* PDPOTRF, lower: a block of the diagonal, the panel below it, and the lower half of what remains. */
double parallel_potrf_s(const struct parallel_machine *machine, struct parallel_grid grid, int64_t block,
                        int64_t n)
{
    struct factor factor = factor_of(machine, grid, block, n);
    double size = factor.block, seconds = 0;
    for (double i = 0; i < factor.panels; i++) { /* blocks that remain */
        double rows = share(&factor, i, factor.p), cols = share(&factor, i, factor.q);
        seconds += kernel(&factor, PARALLEL_POTF2, size, 0, 0);
        if (i > 0)
            seconds += spread_s(&factor.down, size * size) + spread_s(&factor.on, rows * size) +
                       spread_s(&factor.down, cols * size) + kernel(&factor, PARALLEL_TRSM, size, rows, 0) +
                       kernel(&factor, PARALLEL_GEMM, rows, cols, size) / 2;
    }
    return seconds;
}

/* ---- QR ---- */

/* PDGEQR2: a column's norm over the ranks of a column, its scaling, and the reflection of the others. */
static double reflectors_s(const struct factor *factor, double rows)
{
    double reduce = factor->p > 1 ? 2 * ceil(log2(factor->p)) : 0, seconds = 0;
    seconds += factor->block * (kernel(factor, PARALLEL_SCAL, rows, 0, 0) * 2 + reduce * send(factor, 1));
    if (factor->block > 1) /* of 1, 2, ... columns: their mean */
        seconds += (factor->block - 1) * (2 * kernel(factor, PARALLEL_GER, rows, factor->block / 2, 0) +
                                          reduce * send(factor, factor->block / 2));
    return seconds;
}

/* PDGEQRF: reflectors of a panel, V and T to all columns of ranks, then C -= V T' (V' C). Of the n columns
 * those behind the first `least` have none of their own: PDORMQR does the same with right-hand sides. */
static double reflect_s(const struct parallel_machine *machine, struct parallel_grid grid, int64_t block,
                        int64_t m, int64_t n, int64_t least)
{
    struct factor factor = factor_of(machine, grid, block, least);
    double size = factor.block, seconds = 0;
    double all_rows = ceil((double)m / (double)block), all_cols = ceil((double)n / (double)block);
    for (double i = 0; i < factor.panels; i++) {
        double rows = share(&factor, all_rows - i, factor.p),
               cols = share(&factor, all_cols - i - 1, factor.q);
        seconds += reflectors_s(&factor, rows);
        if (cols <= 0)
            continue;
        seconds += spread_s(&factor.on, rows * size + size * size) +
                   kernel(&factor, PARALLEL_GEMM, size, cols, rows) +
                   kernel(&factor, PARALLEL_TRSM, size, cols, 0) +
                   kernel(&factor, PARALLEL_GEMM, rows, cols, size);
        if (factor.p > 1)
            seconds += 2 * ceil(log2(factor.p)) * send(&factor, size * cols); /* V' C is summed over rows */
    }
    return seconds;
}

double parallel_geqrf_s(const struct parallel_machine *machine, struct parallel_grid grid, int64_t block,
                        int64_t m, int64_t n)
{
    return reflect_s(machine, grid, block, m, n, m < n ? m : n);
}

/* ---- solvers ---- */

/* Forwards and backwards: one triangle from the left as it is, the other transposed or the upper one. */
double parallel_solves_s(const struct parallel_machine *machine, struct parallel_grid grid, int64_t block,
                         int64_t n, int64_t nrhs)
{
    return parallel_trsm_s(machine, grid, block, 1, n, nrhs) +
           parallel_trsm_s(machine, grid, block, 3, n, nrhs);
}

double parallel_posv_s(const struct parallel_machine *machine, struct parallel_grid grid, int64_t block,
                       int64_t n, int64_t nrhs)
{
    return parallel_potrf_s(machine, grid, block, n) + parallel_solves_s(machine, grid, block, n, nrhs);
}

/* A wide matrix is factorised as its transpose would be, and solved in the other order. */
double parallel_gels_s(const struct parallel_machine *machine, struct parallel_grid grid, int64_t block,
                       int64_t m, int64_t n, int64_t nrhs)
{
    const int64_t most = m < n ? n : m, least = m < n ? m : n;
    return reflect_s(machine, grid, block, most, least + nrhs, least) +
           parallel_trsm_s(machine, grid, block, 1, least, nrhs);
}
