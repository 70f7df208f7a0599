/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/parallel_model.h"
#include "config.h"
#include "core/forecast/parallel_alike.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- kernels ---- */

const char *const parallel_kernel_names[PARALLEL_KERNELS] = {"gemm", "trsm", "ger",  "add",   "copy",
                                                             "swap", "scal", "amax", "potf2", "getf2"};

double parallel_polynomial(const struct parallel_polynomials *polynomials, enum parallel_kernel kernel,
                           double m, double n, double k)
{
    const double *c = polynomials->of[kernel];
    switch (kernel) {
    case PARALLEL_GEMM:
        return (c[0] * m * n + c[1] * m + c[2] * n + c[3]) * k + (c[4] * m * n + c[5] * m + c[6] * n + c[7]);
    case PARALLEL_TRSM:
        return (c[0] * n + c[1]) * m * m + (c[2] * n + c[3]) * m + (c[4] * n + c[5]);
    case PARALLEL_GER:
    case PARALLEL_ADD:
        return (c[0] * m + c[1]) * n + (c[2] * m + c[3]);
    case PARALLEL_POTF2:
        return ((c[0] * m + c[1]) * m + c[2]) * m + c[3];
    case PARALLEL_GETF2:
        return (c[0] * m + c[1]) * n * n + (c[2] * m + c[3]) * n + c[4];
    default:
        return c[0] * m + c[1];
    }
}

int parallel_terms(enum parallel_kernel kernel, double m, double n, double k, double *terms)
{
    static const int counts[PARALLEL_KERNELS] = {8, 6, 4, 4, 2, 2, 2, 2, 4, 5};
    for (int i = 0; i < counts[kernel]; i++) {
        struct parallel_polynomials unit = {{{0}}};
        unit.of[kernel][i] = 1;
        terms[i] = parallel_polynomial(&unit, kernel, m, n, k);
    }
    return counts[kernel];
}

struct parallel_polynomials parallel_polynomials_from_rates(double fast, double slow, double call_s)
{
    struct parallel_polynomials made = {{{0}}};
    double(*c)[PARALLEL_TERMS] = made.of;
    c[PARALLEL_GEMM][0] = 2 / fast;
    c[PARALLEL_GEMM][7] = call_s;
    c[PARALLEL_TRSM][0] = 1 / fast;
    c[PARALLEL_TRSM][5] = call_s;
    c[PARALLEL_GER][0] = 2 / slow;
    c[PARALLEL_GER][3] = call_s;
    c[PARALLEL_ADD][0] = 1 / slow;
    c[PARALLEL_ADD][3] = call_s;
    c[PARALLEL_POTF2][0] = 1 / (3 * slow);
    c[PARALLEL_POTF2][3] = call_s;
    for (enum parallel_kernel kernel = PARALLEL_COPY; kernel <= PARALLEL_AMAX; kernel++) {
        c[kernel][0] = 1 / slow;
        c[kernel][1] = call_s;
    }
    return made;
}

double parallel_kernel_s(const struct parallel_machine *machine, enum parallel_kernel kernel, double m,
                         double n, double k)
{
    if (m <= 0 || ((kernel == PARALLEL_GEMM || kernel == PARALLEL_TRSM) && n <= 0) ||
        (kernel == PARALLEL_GEMM && k <= 0))
        return 0;
    const double seconds = machine->kernel ? machine->kernel(kernel, m, n, k, machine->arg)
                                           : parallel_polynomial(&machine->polynomials, kernel, m, n, k);
    return machine->turns > 1 ? machine->turns * seconds : seconds;
}

struct parallel_machine parallel_machine_for(const struct parallel_machine *machine, double ranks)
{
    struct parallel_machine own = *machine;
    const double together = machine->sharers > 0 ? fmin(ranks, machine->sharers) : ranks;
    own.turns = machine->processors > 0 ? fmax(1, together / machine->processors) : 1;
    return own;
}

/* Whether the kernel was measured. */
static bool parallel_kernel_is_known(const struct parallel_machine *machine, enum parallel_kernel kernel)
{
    bool known = false;
    for (size_t i = 0; i < PARALLEL_TERMS; i++)
        known |= machine->polynomials.of[kernel][i] > 0;
    return known && !machine->kernel;
}

/* ---- broadcasts ---- */

static double tree_terms(double p)
{
    return p > 1 ? ceil(log2(p)) : 0;
}

static double ring_terms(double p)
{
    return p - 1;
}

static double pipeline_volume(double p)
{
    return p > 2 ? 2 : p - 1;
}

/* Scatter by halves, then an allgather round the ring: van de Geijn's broadcast. */
static double split_latency(double p)
{
    return p > 2 ? tree_terms(p) + p - 1 : p - 1;
}

static double split_volume(double p)
{
    return p > 2 ? 2 * (p - 1) / p : p - 1;
}

static const struct parallel_broadcast broadcasts[PARALLEL_BROADCASTS] = {
    {"tree", tree_terms, tree_terms},
    {"ring", ring_terms, ring_terms},
    {"pipeline", ring_terms, pipeline_volume},
    {"split", split_latency, split_volume},
};

const struct parallel_broadcast *parallel_broadcast_find(const char *name)
{
    for (size_t i = 0; i < PARALLEL_BROADCASTS; i++)
        if (strcmp(broadcasts[i].name, name) == 0)
            return &broadcasts[i];
    return NULL;
}

const struct parallel_broadcast *parallel_broadcast_at(size_t i)
{
    return &broadcasts[i];
}

static bool has_own_figures(const struct parallel_machine *machine)
{
    return machine->broadcast_latency_s > 0 || machine->broadcast_element_s > 0;
}

/* Returns the start-up time of a broadcast; parallel_broadcast_element_s() the time for each element. */
static double parallel_broadcast_begin_s(const struct parallel_machine *machine, double ranks)
{
    return machine->broadcast->latency_terms(ranks) *
           (has_own_figures(machine) ? machine->broadcast_latency_s : machine->latency_s);
}

static double parallel_broadcast_element_s(const struct parallel_machine *machine, double ranks)
{
    return machine->broadcast->volume_terms(ranks) *
           (has_own_figures(machine) ? machine->broadcast_element_s : machine->element_s);
}

double parallel_broadcast_s(const struct parallel_machine *machine, double ranks, double elements)
{
    return parallel_broadcast_begin_s(machine, ranks) +
           elements * parallel_broadcast_element_s(machine, ranks);
}

/* Returns the rows (columns) of n that the rank with the most has, in blocks of `block` dealt to that many
 * ranks: the R ceil(n / (P R)) of the papers, reduced if the last block is not whole. */
static double parallel_share(double n, double block, double ranks)
{
    const double rounds = n > 0 ? floor(n / (block * ranks)) : 0;
    return n > 0 ? rounds * block + fmin(block, n - rounds * block * ranks) : 0;
}

/* ---- pdgemm ---- */

/* PBLAS multiplies in one step if all of A's columns and all of B's rows lie in one row and column of
 * ranks. */
static double panel_of(const struct parallel_machine *machine, struct parallel_grid grid, double block,
                       double depth)
{
    const bool at_once = (grid.p == 1 && grid.q == 1) || depth <= block;
    return !(machine->panel > 0) ? block : at_once ? fmax(depth, 1) : machine->panel;
}

/* Every step broadcasts a panel of A along the rows of the grid (a rank has M / p rows of it) and one of B
 * along its columns, and multiplies: equation 4.3, where tau_p^q = volume_terms(q) tau / p, with R ceil(M
 * / (P R)) for M / p, because all ranks wait for the one with the most. */
double parallel_gemm_s(const struct parallel_machine *machine, struct parallel_grid grid, int64_t block,
                       int64_t m, int64_t n, int64_t k)
{
    const double p = (double)grid.p, q = (double)grid.q, depth = (double)k,
                 panel = panel_of(machine, grid, (double)block, depth);
    const double rows = parallel_share((double)m, (double)block, p),
                 cols = parallel_share((double)n, (double)block, q);
    const double steps = ceil(depth / panel), whole = floor(depth / panel);
    const double compute = whole * parallel_kernel_s(machine, PARALLEL_GEMM, rows, cols, panel) +
                           parallel_kernel_s(machine, PARALLEL_GEMM, rows, cols, depth - whole * panel);
    const double volume_s = rows * depth * parallel_broadcast_element_s(machine, q) +
                            depth * cols * parallel_broadcast_element_s(machine, p);
    return compute + volume_s +
           steps * (parallel_broadcast_begin_s(machine, q) + parallel_broadcast_begin_s(machine, p));
}

static const struct row {
    const char *name, *model;
    double part;
} like_rows[] = {
    {"gemm", "pdgemm", 1},   {"symm", "pdgemm", 1},   {"hemm", "pdgemm", 1},   {"syrk", "pdgemm", 0.5},
    {"herk", "pdgemm", 0.5}, {"trsm", "pdtrsm", 1},   {"getrf", "pdgetrf", 1}, {"getrs", "pdgetrs", 1},
    {"gesv", "pdgetrf", 1},  {"potrf", "pdpotrf", 1}, {"potrs", "pdgetrs", 1}, {"posv", "pdposv", 1},
    {"geqrf", "pdgeqrf", 1}, {"gels", "pdgels", 1},
};

#define ROWS (sizeof like_rows / sizeof *like_rows)

static double type_of(char letter)
{
    return letter == 's' ? 0.5 : letter == 'c' ? 2 : letter == 'z' ? 4 : 1;
}

static bool is_named(const char *rest, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(rest, name, length) == 0 && (!rest[length] || strcmp(rest + length, "_") == 0);
}

/* Extracts "pdgesv" from "esp_pdgesv_unequal_". False: another form of name. */
static bool strip_unequal(const char *name, char *bare, size_t size)
{
    static const char before[] = "esp_", behind[] = "_unequal";
    const char *end = strstr(name, behind);
    if (strncmp(name, before, sizeof before - 1) != 0 || !end || !is_named(end, behind))
        return false;
    const char *from = name + sizeof before - 1;
    return (size_t)snprintf(bare, size, "%.*s", (int)(end - from), from) < size;
}

bool parallel_alike(const char *name, struct parallel_alike *alike)
{
    char bare[16];
    if (strip_unequal(name, bare, sizeof bare)) {
        const bool known = parallel_alike(bare, alike);
        alike->unequal = true;
        return known;
    }
    *alike =
        (struct parallel_alike){.model = "pdgetrf", .part = 1, .type = name[0] == 'p' ? type_of(name[1]) : 1};
    if (name[0] != 'p' || !name[1] || !strchr("sdcz", name[1]))
        return false;
    for (size_t i = 0; i < ROWS; i++)
        if (is_named(name + 2, like_rows[i].name)) {
            alike->model = like_rows[i].model;
            alike->part = like_rows[i].part;
            return true;
        }
    return false;
}

bool parallel_alike_has_rhs(const struct parallel_alike *alike)
{
    return strcmp(alike->model, "pdgetrs") == 0 || strcmp(alike->model, "pdposv") == 0 ||
           strcmp(alike->model, "pdgels") == 0;
}

const char *parallel_alike_names(char *text, unsigned size)
{
    unsigned at = 0;
    *text = 0;
    for (size_t i = 0; i < ROWS && at < size; i++) {
        const char *joint = i == 0 ? "" : i + 1 < ROWS ? ", " : " or ";
        at += (unsigned)snprintf(text + at, size - at, "%s%s", joint, like_rows[i].name);
    }
    return text;
}

/* pdtrsm: one call of pbdtrsm for each block of right-hand sides, which follows the diagonal of the
 * triangle round the grid. */

int parallel_trsm_case(char uplo, char side, char trans)
{
    bool upper = uplo == 'U' || uplo == 'u', lower = uplo == 'L' || uplo == 'l';
    bool left = side == 'L' || side == 'l', right = side == 'R' || side == 'r';
    bool plain = trans == 'N' || trans == 'n', transposed = trans == 'T' || trans == 't';
    if (!(upper || lower) || !(left || right) || !(plain || transposed))
        return 0;
    /* Figure 4.3: ULN and URT are case 1, ULT and URN case 2; with L instead of U, 3 and 4. */
    int odd = left == plain ? 1 : 2;
    return upper ? odd : odd + 2;
}

/* One pbdtrsm on p x q ranks that runs along the rows. `ready` has a clock per row of ranks and one per
 * column: a rank is free when its row and its column are. The later of two partners makes the other wait:
 * this is the paper's correction (C_b for the broadcast, C_u for the send). */
struct pipeline {
    const struct parallel_machine *machine;
    int64_t p, q;
    double block;
    double *row_free; /* when the rows have finished the second half of their update */
    double *col_free; /* when the columns have finished their update */
};

/* Returns the columns of unsolved blocks that a rank updates after i blocks are solved: R ceil((N - iR) /
 * (qR)). */
static double unsolved(const struct pipeline *pipeline, double n, double i)
{
    return parallel_share(n - i * pipeline->block, pipeline->block, (double)pipeline->q);
}

/* Equation 4.5, between the rank that solved and its neighbour; with one column of ranks, a copy. */
static double pass_on(const struct pipeline *pipeline)
{
    double elements = pipeline->block * pipeline->block;
    return pipeline->q > 1 ? elements * pipeline->machine->element_s + pipeline->machine->latency_s
                           : parallel_kernel_s(pipeline->machine, PARALLEL_COPY, elements, 0, 0);
}

/* Updates what the next p - 1 rows of ranks need first, which is sent down and added there (equation 4.7);
 * the rest is updated while those rows work. Returns when the next row may start. */
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
        pipeline->col_free[col] = now; /* the rank that solved updates meanwhile */
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

/* pdgetrf after B.4.1 of "Optimization of the ScaLAPACK LU Factorization", and its fastest block size;
 * pdpotrf and pdgeqrf composed in the same way; and solvers: a factorization plus the right-hand sides. */

/* A broadcast among that many ranks: start-up time, and time for each element. */
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
    double lacking;         /* elements missing in an incomplete last block */
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

/* Returns the rows (columns) that a rank has of the last i blocks. */
static double share(const struct factor *factor, double i, double ranks)
{
    return parallel_share(i * factor->block - factor->lacking, factor->block, ranks);
}

static double kernel(const struct factor *factor, enum parallel_kernel which, double m, double n, double k)
{
    return parallel_kernel_s(factor->machine, which, m, n, k);
}

/* ---- LU ---- */

/* Messages within a column of ranks for each column of a panel: DGAMX2D, the pivot's row, and the row
 * swapped with it. */
static double column_s(const struct factor *factor)
{
    const double doublings = ceil(log2(factor->p));
    if (factor->p <= 1)
        return 0;
    if (factor->machine->column_s > 0)
        return doublings * factor->machine->column_s;
    return doublings * send(factor, 1) + spread_s(&factor->down, factor->block) + send(factor, factor->block);
}

/* B.4.1.2: PDGETF2 of the panel with i blocks of rows left; measured as a whole if possible. */
static double panel_s(const struct factor *factor, double i)
{
    double rows = share(factor, i, factor->p), block = factor->block, seconds = 0;
    if (parallel_kernel_is_known(factor->machine, PARALLEL_GETF2))
        return kernel(factor, PARALLEL_GETF2, rows, block, 0) + block * column_s(factor);
    double each = kernel(factor, PARALLEL_AMAX, rows, 0, 0) + kernel(factor, PARALLEL_SCAL, rows, 0, 0) +
                  2 * kernel(factor, PARALLEL_COPY, block, 0, 0) + column_s(factor);
    /* Updates of 1, 2, ..., block - 1 columns: their mean is block / 2, because GER is linear in them. */
    if (block > 1)
        seconds += (block - 1) * kernel(factor, PARALLEL_GER, rows, block / 2, 0);
    return seconds + block * each;
}

/* PDLASWP: a pivot's row lies in the same rank with probability 1 / p. The paper writes the rows' length
 * with P_r; it is the part of a row that one of the P_c columns of ranks has. */
static double swaps_s(const struct factor *factor)
{
    double length = share(factor, factor->panels, factor->q), local = factor->n / factor->p;
    double far = 2 * kernel(factor, PARALLEL_COPY, length, 0, 0) + send(factor, length);
    return local * kernel(factor, PARALLEL_SWAP, length, 0, 0) + (factor->n - local) * far;
}

/* B.4.1.3: the remaining time of PDGETRF when i blocks of rows and columns remain after the panel. */
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

/* Converts the machine for a grid whose ranks share processors: the derivative reads the coefficients one
 * by one. */
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

/* PDPOTRF, lower: a block of the diagonal, the panel below it, and the lower half of the remainder. */
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

/* PDGEQR2: a column's norm over the ranks of a column, its scaling, and the reflection of the other
 * columns. */
static double reflectors_s(const struct factor *factor, double rows)
{
    double reduce = factor->p > 1 ? 2 * ceil(log2(factor->p)) : 0, seconds = 0;
    seconds += factor->block * (kernel(factor, PARALLEL_SCAL, rows, 0, 0) * 2 + reduce * send(factor, 1));
    if (factor->block > 1) /* of 1, 2, ... columns: their mean */
        seconds += (factor->block - 1) * (2 * kernel(factor, PARALLEL_GER, rows, factor->block / 2, 0) +
                                          reduce * send(factor, factor->block / 2));
    return seconds;
}

/* PDGEQRF: reflectors of a panel, V and T to all columns of ranks, then C -= V T' (V' C). Columns after
 * the first `least` have no reflectors of their own: PDORMQR does the same with right-hand sides. */
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

/* Solves with the two triangles of an LU or a Cholesky of n x n and nrhs right-hand sides: pdgetrs,
 * pdpotrs. Forwards and backwards: one triangle from the left as it is, the other transposed or the upper
 * one. */
static double parallel_solves_s(const struct parallel_machine *machine, struct parallel_grid grid,
                                int64_t block, int64_t n, int64_t nrhs)
{
    return parallel_trsm_s(machine, grid, block, 1, n, nrhs) +
           parallel_trsm_s(machine, grid, block, 3, n, nrhs);
}

/* Cholesky and its triangular solves. */
static double parallel_posv_s(const struct parallel_machine *machine, struct parallel_grid grid,
                              int64_t block, int64_t n, int64_t nrhs)
{
    return parallel_potrf_s(machine, grid, block, n) + parallel_solves_s(machine, grid, block, n, nrhs);
}

/* Least squares with m x n: QR (LQ for a wide matrix), applied to the right-hand sides too, and the solve.
 * A wide matrix is factorised like its transpose, and solved in the other order. */
static double parallel_gels_s(const struct parallel_machine *machine, struct parallel_grid grid,
                              int64_t block, int64_t m, int64_t n, int64_t nrhs)
{
    const int64_t most = m < n ? n : m, least = m < n ? m : n;
    return reflect_s(machine, grid, block, most, least + nrhs, least) +
           parallel_trsm_s(machine, grid, block, 1, least, nrhs);
}

/* Chooses number of ranks, shape of the grid, block size and place by the models. */

/* One row per routine: its time, and the matrices that are distributed. */
struct routine {
    const char *name;
    double (*seconds)(const struct parallel_machine *, const struct parallel_problem *, struct parallel_grid,
                      int64_t block);
    int (*shapes)(const struct parallel_problem *, int64_t (*shapes)[2]);
};

static double gemm_seconds(const struct parallel_machine *machine, const struct parallel_problem *problem,
                           struct parallel_grid grid, int64_t block)
{
    return parallel_gemm_s(machine, grid, block, problem->m, problem->n, problem->k);
}

static double trsm_seconds(const struct parallel_machine *machine, const struct parallel_problem *problem,
                           struct parallel_grid grid, int64_t block)
{
    return parallel_trsm_s(machine, grid, block, problem->trsm_case, problem->n, problem->m);
}

static double getrf_seconds(const struct parallel_machine *machine, const struct parallel_problem *problem,
                            struct parallel_grid grid, int64_t block)
{
    return parallel_getrf_s(machine, grid, block, problem->n);
}

static double potrf_seconds(const struct parallel_machine *machine, const struct parallel_problem *problem,
                            struct parallel_grid grid, int64_t block)
{
    return parallel_potrf_s(machine, grid, block, problem->n);
}

static double geqrf_seconds(const struct parallel_machine *machine, const struct parallel_problem *problem,
                            struct parallel_grid grid, int64_t block)
{
    return parallel_geqrf_s(machine, grid, block, problem->m, problem->n);
}

static double getrs_seconds(const struct parallel_machine *machine, const struct parallel_problem *problem,
                            struct parallel_grid grid, int64_t block)
{
    return parallel_solves_s(machine, grid, block, problem->n, problem->k);
}

static double posv_seconds(const struct parallel_machine *machine, const struct parallel_problem *problem,
                           struct parallel_grid grid, int64_t block)
{
    return parallel_posv_s(machine, grid, block, problem->n, problem->k);
}

static double gels_seconds(const struct parallel_machine *machine, const struct parallel_problem *problem,
                           struct parallel_grid grid, int64_t block)
{
    return parallel_gels_s(machine, grid, block, problem->m, problem->n, problem->k);
}

static int gemm_shapes(const struct parallel_problem *problem, int64_t (*shapes)[2])
{
    int64_t all[3][2] = {{problem->m, problem->k}, {problem->k, problem->n}, {problem->m, problem->n}};
    memcpy(shapes, all, sizeof all);
    return 3;
}

static int trsm_shapes(const struct parallel_problem *problem, int64_t (*shapes)[2])
{
    int64_t all[2][2] = {{problem->n, problem->n}, {problem->m, problem->n}};
    memcpy(shapes, all, sizeof all);
    return 2;
}

static int square_shapes(const struct parallel_problem *problem, int64_t (*shapes)[2])
{
    shapes[0][0] = shapes[0][1] = problem->n;
    return 1;
}

static int geqrf_shapes(const struct parallel_problem *problem, int64_t (*shapes)[2])
{
    shapes[0][0] = problem->m;
    shapes[0][1] = problem->n;
    return 1;
}

static int solve_shapes(const struct parallel_problem *problem, int64_t (*shapes)[2])
{
    int64_t all[2][2] = {{problem->n, problem->n}, {problem->n, problem->k}};
    memcpy(shapes, all, sizeof all);
    return 2;
}

static int gels_shapes(const struct parallel_problem *problem, int64_t (*shapes)[2])
{
    const int64_t most = problem->m < problem->n ? problem->n : problem->m;
    int64_t all[2][2] = {{problem->m, problem->n}, {most, problem->k}};
    memcpy(shapes, all, sizeof all);
    return 2;
}

static const struct routine routines[] = {
    {"pdgemm", gemm_seconds, gemm_shapes},     {"pdtrsm", trsm_seconds, trsm_shapes},
    {"pdgetrf", getrf_seconds, square_shapes}, {"pdpotrf", potrf_seconds, square_shapes},
    {"pdgeqrf", geqrf_seconds, geqrf_shapes},  {"pdgetrs", getrs_seconds, solve_shapes},
    {"pdposv", posv_seconds, solve_shapes},    {"pdgels", gels_seconds, gels_shapes},
};

static enum esp_status find_routine(const struct parallel_problem *problem, const struct routine **routine,
                                    struct esp_error *error)
{
    for (size_t i = 0; i < sizeof routines / sizeof *routines; i++)
        if (strcmp(routines[i].name, problem->routine) == 0)
            *routine = &routines[i];
    if (!*routine)
        return error_set(error, ESP_INVALID,
                         "expected pdgemm, pdtrsm, pdgetrf, pdgetrs, pdpotrf, pdposv, pdgeqrf or pdgels, "
                         "found '%s': others "
                         "have no model",
                         problem->routine);
    if (problem->m < 0 || problem->n < 0 || problem->k < 0)
        return error_set(error, ESP_INVALID,
                         "%s: expected sizes of 0 or more, found %" PRId64 " x %" PRId64 " x %" PRId64,
                         problem->routine, problem->m, problem->n, problem->k);
    if (strcmp(problem->routine, "pdtrsm") == 0 && (problem->trsm_case < 1 || problem->trsm_case > 4))
        return error_set(error, ESP_INVALID, "pdtrsm: expected case 1 to 4, found %d", problem->trsm_case);
    return ESP_OK;
}

/* Returns the elements that rank 0 holds, which has the most of every matrix. */
static double held_elements(const struct routine *routine, const struct parallel_problem *problem,
                            struct parallel_grid grid, int64_t block)
{
    int64_t shapes[3][2];
    double elements = 0;
    for (int i = 0, n = routine->shapes(problem, shapes); i < n; i++) {
        struct block_cyclic rows = {shapes[i][0], block, grid.p, 0}, cols = {shapes[i][1], block, grid.q, 0};
        elements += (double)block_cyclic_count(&rows, 0) * (double)block_cyclic_count(&cols, 0);
    }
    return elements;
}

enum esp_status parallel_forecast(const struct parallel_machine *machine,
                                  const struct parallel_problem *problem, struct parallel_grid grid,
                                  int64_t block, struct parallel_forecast *forecast, struct esp_error *error)
{
    const struct routine *routine = NULL;
    enum esp_status status = find_routine(problem, &routine, error);
    if (status != ESP_OK)
        return status;
    if (grid.p < 1 || grid.q < 1 || grid.p > BLOCK_CYCLIC_MOST_RANKS || grid.q > BLOCK_CYCLIC_MOST_RANKS ||
        block < 1)
        return error_set(error, ESP_INVALID,
                         "%s: expected a grid of 1 x 1 or more and a block size of 1 or more, found %" PRId64
                         " x %" PRId64 " and %" PRId64,
                         problem->routine, grid.p, grid.q, block);
    const struct parallel_machine own = parallel_machine_for(machine, (double)(grid.p * grid.q));
    *forecast = (struct parallel_forecast){grid, block, routine->seconds(&own, problem, grid, block),
                                           held_elements(routine, problem, grid, block)};
    if (machine->memory_elements > 0 && forecast->elements > machine->memory_elements)
        forecast->seconds = INFINITY;
    return ESP_OK;
}

static int compare_forecasts(const void *a, const void *b)
{
    const struct parallel_forecast *x = a, *y = b;
    if (x->seconds < y->seconds || x->seconds > y->seconds)
        return x->seconds < y->seconds ? -1 : 1;
    int64_t ranks_x = x->grid.p * x->grid.q, ranks_y = y->grid.p * y->grid.q;
    if (ranks_x != ranks_y)
        return ranks_x < ranks_y ? -1 : 1;
    return x->grid.p < y->grid.p ? -1 : x->grid.p > y->grid.p;
}

const int64_t parallel_blocks[PARALLEL_BLOCKS] = {16, 32, 64, 128};

static enum esp_status best_block(const struct parallel_machine *machine,
                                  const struct parallel_problem *problem, struct parallel_grid grid,
                                  const int64_t *blocks, size_t n, struct parallel_forecast *best,
                                  struct esp_error *error)
{
    for (size_t i = 0; i < n; i++) {
        struct parallel_forecast forecast;
        enum esp_status status = parallel_forecast(machine, problem, grid, blocks[i], &forecast, error);
        if (status != ESP_OK)
            return status;
        if (i == 0 || forecast.seconds < best->seconds)
            *best = forecast;
    }
    return ESP_OK;
}

enum esp_status parallel_grids(const struct parallel_machine *machine, const struct parallel_problem *problem,
                               int64_t ranks, const int64_t *blocks, size_t n_blocks,
                               struct parallel_forecast **forecasts, size_t *n, struct esp_error *error)
{
    const int64_t most = 1 << 16;
    if (ranks < 1 || ranks > most || n_blocks == 0)
        return error_set(error, ESP_INVALID,
                         "expected 1 to %" PRId64 " ranks and a block size, found %" PRId64
                         " and %zu block sizes",
                         most, ranks, n_blocks);
    size_t room = 0, made = 0;
    for (int64_t p = 1; p <= ranks; p++)
        room += (size_t)(ranks / p);
    struct parallel_forecast *list = malloc(room * sizeof *list);
    enum esp_status status = list ? ESP_OK : error_no_memory(error, "forecasts of grids");
    for (int64_t p = 1; p <= ranks && status == ESP_OK; p++)
        for (int64_t q = 1; q <= ranks / p && status == ESP_OK; q++)
            status = best_block(machine, problem, (struct parallel_grid){p, q}, blocks, n_blocks,
                                &list[made++], error);
    if (status != ESP_OK) {
        free(list);
        return status;
    }
    qsort(list, made, sizeof *list, compare_forecasts);
    *forecasts = list;
    *n = made;
    return ESP_OK;
}

/* Returns the best plan of a redistribution, and its time (redistribution_summary.seconds).
 * ---- places ---- */
static enum esp_status parallel_redistribution(const struct parallel_machine *machine,
                                               const struct redistribution *what,
                                               struct redistribution_summary *summary,
                                               struct esp_error *error)
{
    struct redistribution_costs costs = {machine->latency_s, machine->element_s};
    struct redistribution_plan *plan;
    enum esp_status status = redistribution_plan_create(what, REDISTRIBUTION_BEST, &costs, &plan, error);
    if (status != ESP_OK)
        return status;
    *summary = *redistribution_plan_summary(plan);
    redistribution_plan_destroy(plan);
    return ESP_OK;
}

static enum esp_status move_s(const struct parallel_machine *machine, const struct parallel_place *from,
                              const struct parallel_place *on, double *seconds, struct esp_error *error)
{
    struct redistribution_summary summary;
    struct redistribution what = {from->layout, on->layout, from->ids, on->ids};
    what.to.rows.n = from->layout.rows.n;
    what.to.cols.n = from->layout.cols.n;
    enum esp_status status = parallel_redistribution(machine, &what, &summary, error);
    *seconds = status == ESP_OK ? summary.seconds : 0;
    return status;
}

enum esp_status parallel_align(const struct parallel_machine *machine, const struct parallel_place *a,
                               const struct parallel_place *b, const struct parallel_place *on,
                               struct parallel_alignment *alignment, struct esp_error *error)
{
    const struct block_cyclic_matrix *grid = &on->layout;
    if (a->layout.cols.n != b->layout.rows.n)
        return error_set(error, ESP_INVALID,
                         "A B: expected as many columns of A as rows of B, found %" PRId64 " and %" PRId64,
                         a->layout.cols.n, b->layout.rows.n);
    if (grid->rows.block != grid->cols.block)
        return error_set(error, ESP_INVALID, "A B: expected square blocks, found %" PRId64 " x %" PRId64,
                         grid->rows.block, grid->cols.block);
    struct parallel_forecast forecast;
    struct parallel_problem problem = {
        .routine = "pdgemm", .m = a->layout.rows.n, .n = b->layout.cols.n, .k = a->layout.cols.n};
    enum esp_status status = move_s(machine, a, on, &alignment->move_a_s, error);
    if (status == ESP_OK)
        status = move_s(machine, b, on, &alignment->move_b_s, error);
    if (status == ESP_OK)
        status =
            parallel_forecast(machine, &problem, (struct parallel_grid){grid->rows.ranks, grid->cols.ranks},
                              grid->rows.block, &forecast, error);
    if (status != ESP_OK)
        return status;
    alignment->compute_s = forecast.seconds;
    alignment->seconds = alignment->move_a_s + alignment->move_b_s + alignment->compute_s;
    return ESP_OK;
}
