/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/forecast/parallel_model.h"

#include <math.h>
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

bool parallel_kernel_is_known(const struct parallel_machine *machine, enum parallel_kernel kernel)
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

/* Scatter by halves, then everybody passes everything on: van de Geijn's broadcast. */
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

double parallel_broadcast_begin_s(const struct parallel_machine *machine, double ranks)
{
    return machine->broadcast->latency_terms(ranks) *
           (has_own_figures(machine) ? machine->broadcast_latency_s : machine->latency_s);
}

double parallel_broadcast_element_s(const struct parallel_machine *machine, double ranks)
{
    return machine->broadcast->volume_terms(ranks) *
           (has_own_figures(machine) ? machine->broadcast_element_s : machine->element_s);
}

double parallel_broadcast_s(const struct parallel_machine *machine, double ranks, double elements)
{
    return parallel_broadcast_begin_s(machine, ranks) +
           elements * parallel_broadcast_element_s(machine, ranks);
}

double parallel_share(double n, double block, double ranks)
{
    const double rounds = n > 0 ? floor(n / (block * ranks)) : 0;
    return n > 0 ? rounds * block + fmin(block, n - rounds * block * ranks) : 0;
}

/* ---- pdgemm ---- */

/* PBLAS multiplies at once where all of A's columns and all of B's rows lie in one rank's row and column. */
static double panel_of(const struct parallel_machine *machine, struct parallel_grid grid, double block,
                       double depth)
{
    const bool at_once = (grid.p == 1 && grid.q == 1) || depth <= block;
    return !(machine->panel > 0) ? block : at_once ? fmax(depth, 1) : machine->panel;
}

/* Every step broadcasts a panel of A along the rows of the grid (a rank's share is M / p rows of it) and one
 * of B along its columns, and multiplies: equation 4.3, where tau_p^q = volume_terms(q) tau / p, with R
 * ceil(M / (P R)) for M / p, as all wait for who has the most. */
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
