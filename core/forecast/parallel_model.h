/* SPDX-License-Identifier: Apache-2.0
 *
 * Models of ScaLAPACK's routines on a grid of p x q equal ranks, composed of models of the sequential
 * routines that they call and of the links that they use, following the code of each routine.
 *
 * Sources: "Parallel Extension of a Dynamic Performance Forecasting Tool" (FAST; equations 4.1 to 4.8) for
 * pdgemm and pdtrsm, "Optimization of the ScaLAPACK LU Factorization" (B.4.1) for pdgetrf and its block
 * size; pdpotrf and pdgeqrf are composed in the same way. doc/parallel-models.md describes their limits.
 *
 * Times are seconds, sizes elements, for matrices of doubles unless the machine is given for another type.
 * Pure computation; any thread. */
#ifndef CORE_PARALLEL_MODEL_H
#define CORE_PARALLEL_MODEL_H

#include "core/redistribution/redistribution.h"

/* ---- a rank and its links ---- */

enum parallel_kernel {
    PARALLEL_GEMM,  /* C (m x n) += A (m x k) B (k x n) */
    PARALLEL_TRSM,  /* a triangle of m x m applied to m x n */
    PARALLEL_GER,   /* m x n += column times row */
    PARALLEL_ADD,   /* m x n += m x n */
    PARALLEL_COPY,  /* m elements */
    PARALLEL_SWAP,  /* m elements with m others */
    PARALLEL_SCAL,  /* m elements */
    PARALLEL_AMAX,  /* the largest of m */
    PARALLEL_POTF2, /* Cholesky of m x m, unblocked */
    PARALLEL_GETF2, /* LU of a panel of m x n on one rank, unblocked; if not measured, composed of other
                       kernels */
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
/* Computes the factors of a kernel's coefficients: PARALLEL_TERMS at most. Returns how many. */
int parallel_terms(enum parallel_kernel kernel, double m, double n, double k, double *terms);

/* Polynomials without measurements: level 3 kernels at `fast` floating-point operations a second, level 1
 * and 2 at `slow`, each call `call_s`. */
struct parallel_polynomials parallel_polynomials_from_rates(double fast, double slow, double call_s);

/* A broadcast of L elements to p ranks (including its sender) takes latency_terms(p) * latency_s +
 * volume_terms(p) * L * element_s. */
struct parallel_broadcast {
    const char *name;
    double (*latency_terms)(double p);
    double (*volume_terms)(double p);
};
/* Finds a form of broadcast. "tree": ceil(log2 p) of both, as with a switch (section 4.1); "ring": p - 1
 * of both (B.4.1.1); "pipeline": the ring with long messages cut, p - 1 latencies and the volume twice,
 * once for two ranks; "split": scatter and allgather, as MPI libraries send long messages. NULL: unknown
 * name. */
const struct parallel_broadcast *parallel_broadcast_find(const char *name);
#define PARALLEL_BROADCASTS 4
/* Returns form number i. */
const struct parallel_broadcast *parallel_broadcast_at(size_t i);

struct parallel_machine {
    struct parallel_polynomials polynomials;
    /* If set, used instead of the polynomials: measured models of any form. parallel_getrf_block(), which
     * uses the derivative, always reads the polynomials. */
    double (*kernel)(enum parallel_kernel kernel, double m, double n, double k, const void *arg);
    const void *arg;
    double latency_s, element_s;                /* of a message between two ranks: lambda, tau */
    const struct parallel_broadcast *broadcast; /* never NULL */
    /* Of the messages of a broadcast, if measured; both 0: as for other messages. */
    double broadcast_latency_s, broadcast_element_s;
    /* Time of the messages within a column of ranks for each column of a panel of an LU, for each doubling
     * of the number of ranks; 0: composed of single messages. */
    double column_s;
    double panel; /* PBLAS multiplies by panels with this many columns, whatever the blocks; 0: by blocks */
    double memory_elements; /* of a rank; 0: not considered */
    /* `sharers` ranks of a host share `processors` processors; 0: each rank has its own. */
    double sharers, processors;
    double turns; /* factor set by parallel_machine_for(); 0: as for a single rank */
};

/* Returns the machine for a grid with that many ranks. If a host has more ranks than processors, ranks
 * take turns, and computing takes longer accordingly. (A grid has consecutive ranks, which fill one host
 * before the next.) */
struct parallel_machine parallel_machine_for(const struct parallel_machine *machine, double ranks);

double parallel_kernel_s(const struct parallel_machine *machine, enum parallel_kernel kernel, double m,
                         double n, double k);
double parallel_broadcast_s(const struct parallel_machine *machine, double ranks, double elements);

struct parallel_grid {
    int64_t p, q; /* rows and columns of ranks, >= 1 */
};

/* ---- routines ---- */

/* Equation 4.3 (4.4 with the tree): C (m x n) = A (m x k) B (k x n), blocks of `block`. The ranks with the
 * most rows and columns count, not the mean. */
double parallel_gemm_s(const struct parallel_machine *machine, struct parallel_grid grid, int64_t block,
                       int64_t m, int64_t n, int64_t k);

/* Figure 4.3: returns the case (1 to 4) of a call of pdtrsm; 0 for invalid letters (valid: 'U' or 'L', 'L'
 * or 'R', 'N' or 'T', upper or lower case). */
int parallel_trsm_case(char uplo, char side, char trans);
/* Equations 4.5 to 4.8: a triangle of n x n and m right-hand sides. Cases 1 and 3 run along the rows of
 * the grid; 2 and 4 along its columns, computed with p and q exchanged. NaN for an invalid case. */
double parallel_trsm_s(const struct parallel_machine *machine, struct parallel_grid grid, int64_t block,
                       int which, int64_t n, int64_t m);

/* B.4.1: LU with partial pivoting of n x n. */
double parallel_getrf_s(const struct parallel_machine *machine, struct parallel_grid grid, int64_t block,
                        int64_t n);
/* Returns the best block size: where the derivative of B.4.1's sum, without its ceilings, is 0. This is
 * the positive root of a cubic equation: a real number; at least 1, at most n. */
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
    /* pdgemm: as above; pdtrsm: n x n and m right-hand sides; pdgeqrf: m x n; pdgels: m x n and k
     * right-hand sides; pdgetrs and pdposv: n x n and k right-hand sides; otherwise n */
    int64_t m, n, k;
    int trsm_case;
};

struct parallel_forecast {
    struct parallel_grid grid;
    int64_t block;
    double seconds;  /* INFINITY when the matrices do not fit the ranks' memory */
    double elements; /* of the rank with the most */
};

/* Forecasts a call, with ranks taking turns on shared processors. ESP_INVALID: unknown routine, or invalid
 * numbers. */
enum esp_status parallel_forecast(const struct parallel_machine *machine,
                                  const struct parallel_problem *problem, struct parallel_grid grid,
                                  int64_t block, struct parallel_forecast *forecast, struct esp_error *error);

/* The block sizes that servers choose from, and that forecasts for grids use. */
#define PARALLEL_BLOCKS 4
extern const int64_t parallel_blocks[PARALLEL_BLOCKS];

/* Forecasts all grids of at most `ranks` ranks, each with its best block size, the fastest first (of
 * equally fast ones, that with fewer ranks). The caller frees *forecasts. ESP_INVALID, ESP_NO_MEMORY. */
enum esp_status parallel_grids(const struct parallel_machine *machine, const struct parallel_problem *problem,
                               int64_t ranks, const int64_t *blocks, size_t n_blocks,
                               struct parallel_forecast **forecasts, size_t *n, struct esp_error *error);

/* Section 5: A and B lie on separate grids and are multiplied on one. */
struct parallel_place {
    struct block_cyclic_matrix layout;
    const int64_t *ids; /* the processes of its grid */
};
struct parallel_alignment {
    double move_a_s, move_b_s, compute_s, seconds;
};
/* C = A B on the place `on` (its layout's n is ignored, its blocks must be square): the time of moving A
 * and B there and of the product. ESP_INVALID: matrices that do not fit each other. */
enum esp_status parallel_align(const struct parallel_machine *machine, const struct parallel_place *a,
                               const struct parallel_place *b, const struct parallel_place *on,
                               struct parallel_alignment *alignment, struct esp_error *error);

#endif
