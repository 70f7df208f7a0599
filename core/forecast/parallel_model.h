/* SPDX-License-Identifier: Apache-2.0
 *
 * How long ScaLAPACK's routines take on a grid of p x q equal ranks: models that are composed of those of the
 * sequential routines they call and of the links they send over, after the code of each routine.
 *
 * Sources: "Parallel Extension of a Dynamic Performance Forecasting Tool" (FAST; equations 4.1 to 4.8) for
 * pdgemm and pdtrsm, "Optimization of the ScaLAPACK LU Factorization" (B.4.1) for pdgetrf and its block
 * size; pdpotrf and pdgeqrf are composed alike. What they are and are not: doc/parallel-models.md.
 *
 * Times are seconds, sizes elements, for matrices of doubles unless the machine is given for others. Pure
 * computation; any thread.
 */
#ifndef CORE_PARALLEL_MODEL_H
#define CORE_PARALLEL_MODEL_H

#include "core/redistribution/redistribution.h"

/* ---- a rank and its links ---- */

enum parallel_kernel {
    PARALLEL_GEMM,  /* C (m x n) += A (m x k) B (k x n) */
    PARALLEL_TRSM,  /* a triangle of m x m against m x n */
    PARALLEL_GER,   /* m x n += column times row */
    PARALLEL_ADD,   /* m x n += m x n */
    PARALLEL_COPY,  /* m elements */
    PARALLEL_SWAP,  /* m elements with m others */
    PARALLEL_SCAL,  /* m elements */
    PARALLEL_AMAX,  /* the largest of m */
    PARALLEL_POTF2, /* Cholesky of m x m, unblocked */
    PARALLEL_GETF2, /* LU of a panel of m x n on one rank, unblocked; nothing known of it: composed of others
                     */
    PARALLEL_KERNELS
};
extern const char *const parallel_kernel_names[PARALLEL_KERNELS]; /* "gemm", "trsm", ... */

#define PARALLEL_TERMS 8

/* Coefficients of the polynomials of B.4.1.2 and B.4.1.3; unused ones are 0.
 *   GEMM: (c0 mn + c1 m + c2 n + c3) k + (c4 mn + c5 m + c6 n + c7)
 *   TRSM: (c0 n + c1) m^2 + (c2 n + c3) m + (c4 n + c5)
 *   GER, ADD: (c0 m + c1) n + (c2 m + c3)
 *   COPY, SWAP, SCAL, AMAX: c0 m + c1
 *   POTF2: c0 m^3 + c1 m^2 + c2 m + c3
 *   GETF2: (c0 m + c1) n^2 + (c2 m + c3) n + c4 */
struct parallel_polynomials {
    double of[PARALLEL_KERNELS][PARALLEL_TERMS];
};
double parallel_polynomial(const struct parallel_polynomials *polynomials, enum parallel_kernel kernel,
                           double m, double n, double k);
/* What its coefficients are multiplied by: PARALLEL_TERMS at most. Returns how many there are. */
int parallel_terms(enum parallel_kernel kernel, double m, double n, double k, double *terms);

/* Where nothing was measured: level 3 kernels at `fast` floating-point operations a second, level 1 and 2 at
 * `slow`, each call `call_s`. */
struct parallel_polynomials parallel_polynomials_from_rates(double fast, double slow, double call_s);

/* A broadcast of L elements to p ranks (its sender among them) lasts
 * latency_terms(p) * latency_s + volume_terms(p) * L * element_s. */
struct parallel_broadcast {
    const char *name;
    double (*latency_terms)(double p);
    double (*volume_terms)(double p);
};
/* "tree": ceil(log2 p) of both, as behind a switch (section 4.1); "ring": p - 1 of both (B.4.1.1);
 * "pipeline": the ring with long messages cut, p - 1 latencies and the volume twice, once for two ranks;
 * "split": scatter and allgather, as MPI libraries send long messages. NULL: no such name. */
const struct parallel_broadcast *parallel_broadcast_find(const char *name);
#define PARALLEL_BROADCASTS 4
/* Number i of them. */
const struct parallel_broadcast *parallel_broadcast_at(size_t i);

struct parallel_machine {
    struct parallel_polynomials polynomials;
    /* In place of the polynomials, when given: measured models of any form. pdgetrf's block size by the
     * derivative (parallel_getrf_block) reads the polynomials. */
    double (*kernel)(enum parallel_kernel kernel, double m, double n, double k, const void *arg);
    const void *arg;
    double latency_s, element_s;                /* of a message between two ranks: lambda, tau */
    const struct parallel_broadcast *broadcast; /* never NULL */
    /* Of a broadcast's messages, where those were measured; both 0: as of others. */
    double broadcast_latency_s, broadcast_element_s;
    /* What the ranks of a column say to each other for each column of a panel of an LU, for each time that
     * their number doubles; 0: composed of messages. */
    double column_s;
    double panel; /* PBLAS multiplies by panels of so many columns, whatever the blocks; 0: by blocks */
    double memory_elements; /* of a rank; 0: not considered */
    /* So many ranks of a host share so many processors; 0: each has one of its own. */
    double sharers, processors;
    double turns; /* as parallel_machine_for() made it; 0: those of a single rank */
};

/* The machine as the ranks of a grid of so many find it: where these are more than processors they take
 * turns, and whatever one of them computes lasts longer by that. (A grid has consecutive ranks, which fill
 * one host before the next.) */
struct parallel_machine parallel_machine_for(const struct parallel_machine *machine, double ranks);

double parallel_kernel_s(const struct parallel_machine *machine, enum parallel_kernel kernel, double m,
                         double n, double k);
double parallel_broadcast_s(const struct parallel_machine *machine, double ranks, double elements);

struct parallel_grid {
    int64_t p, q; /* rows and columns of ranks, >= 1 */
};

/* ---- routines ---- */

/* Equation 4.3 (4.4 with the tree): C (m x n) = A (m x k) B (k x n), blocks of `block`. What the ranks with
 * the most rows and columns have counts, not the mean. */
double parallel_gemm_s(const struct parallel_machine *machine, struct parallel_grid grid, int64_t block,
                       int64_t m, int64_t n, int64_t k);

/* Figure 4.3: which of its four cases a call of pdtrsm is; 0 for letters that are none ('U' or 'L', 'L' or
 * 'R', 'N' or 'T', of either size). */
int parallel_trsm_case(char uplo, char side, char trans);
/* Equations 4.5 to 4.8: a triangle of n x n and m right-hand sides. Cases 1 and 3 run along the rows of the
 * grid, 2 and 4 along its columns: the same with p and q changed. NaN for no case. */
double parallel_trsm_s(const struct parallel_machine *machine, struct parallel_grid grid, int64_t block,
                       int which, int64_t n, int64_t m);

/* B.4.1: LU with partial pivoting of n x n. */
double parallel_getrf_s(const struct parallel_machine *machine, struct parallel_grid grid, int64_t block,
                        int64_t n);
/* The block size at which the derivative of B.4.1's sum, with its ceilings dropped, is 0: the positive root
 * of an equation of the third degree. A real number; at least 1, at most n. */
double parallel_getrf_block(const struct parallel_machine *machine, struct parallel_grid grid, int64_t n);
/* Cholesky of n x n. */
double parallel_potrf_s(const struct parallel_machine *machine, struct parallel_grid grid, int64_t block,
                        int64_t n);
/* QR of m x n. */
double parallel_geqrf_s(const struct parallel_machine *machine, struct parallel_grid grid, int64_t block,
                        int64_t m, int64_t n);

/* ---- choices ---- */

struct parallel_problem {
    const char
        *routine; /* "pdgemm", "pdtrsm", "pdgetrf", "pdgetrs", "pdpotrf", "pdposv", "pdgeqrf", "pdgels" */
    /* pdgemm: as above; pdtrsm: n x n and m right-hand sides; pdgeqrf: m x n; pdgels: m x n and k right-hand
     * sides; pdgetrs and pdposv: n x n and k right-hand sides; else n */
    int64_t m, n, k;
    int trsm_case;
};

struct parallel_forecast {
    struct parallel_grid grid;
    int64_t block;
    double seconds;  /* INFINITY when the matrices do not fit the ranks' memory */
    double elements; /* that the busiest rank holds */
};

/* With ranks that take turns where they have to. ESP_INVALID: no such routine, or numbers that are wrong for
 * it. */
enum esp_status parallel_forecast(const struct parallel_machine *machine,
                                  const struct parallel_problem *problem, struct parallel_grid grid,
                                  int64_t block, struct parallel_forecast *forecast, struct esp_error *error);

/* The block sizes that servers choose from, and forecasts for grids with them. */
#define PARALLEL_BLOCKS 4
extern const int64_t parallel_blocks[PARALLEL_BLOCKS];

/* All grids of at most `ranks` ranks with the best of the block sizes for each, the fastest first (of equally
 * fast ones that with fewer ranks). *forecasts is the caller's (free). ESP_INVALID, ESP_NO_MEMORY. */
enum esp_status parallel_grids(const struct parallel_machine *machine, const struct parallel_problem *problem,
                               int64_t ranks, const int64_t *blocks, size_t n_blocks,
                               struct parallel_forecast **forecasts, size_t *n, struct esp_error *error);

/* Section 5: A and B lie on grids of their own and are multiplied on one. */
struct parallel_place {
    struct block_cyclic_matrix layout;
    const int64_t *ids; /* the processes of its grid */
};
struct parallel_alignment {
    double move_a_s, move_b_s, compute_s, seconds;
};
/* C = A B where `on` says (its layout's n is not read, its blocks must be square): what moving A and B there
 * and the product take. ESP_INVALID: matrices that do not fit each other. */
enum esp_status parallel_align(const struct parallel_machine *machine, const struct parallel_place *a,
                               const struct parallel_place *b, const struct parallel_place *on,
                               struct parallel_alignment *alignment, struct esp_error *error);

#endif
