/* SPDX-License-Identifier: Apache-2.0
 *
 * The block LU factorization with partial pivoting of Schaeli, Gerlach, Hersch: A simulator for adaptive
 * parallel applications, section 5, as a flow graph without data.
 *
 * The n x n matrix is K = n/r column blocks of width r. Thread i of the set "column" keeps column block i;
 * the threads of the set "multiply" multiply blocks. Operations have the letters of figure 6, followed by the
 * level:
 *
 *   f  factorize the panel of this level (a of the figure is f of level 0)
 *   b  solve the triangular system for one column block, and flip its rows
 *   c  collect the blocks of L21 and T12, send pairs of them
 *   d  multiply a pair
 *   e  subtract a product from its block
 *   g  flip the rows of an earlier column block
 *   h  collect the notifications that rows are exchanged, of g and of c
 *
 * With S1 = K (K - 1) / 2 and S2 = sum of j^2 over j < K there are 2 S2 + 2 S1 + 2 K operations (a) to (h),
 * and 3 S2 + 6 S1 + 3 K + 1 messages with those that set up the column blocks.
 */
#ifndef SIMULATE_APPLICATIONS_LU_H
#define SIMULATE_APPLICATIONS_LU_H

#include "core/flow/flow.h"

#define LU_MOST_BLOCKS 256 /* K */
#define LU_MOST_KILLS  16

struct lu_spec {
    unsigned n, r;           /* r divides n; n/r is 2 to LU_MOST_BLOCKS */
    unsigned column_nodes;   /* column block i is on node i % column_nodes; 0: all nodes */
    unsigned multiply_nodes; /* one multiplying thread on each of the first so many nodes; 0: all */
    unsigned n_nodes;        /* of the platform */
    bool pipelined;          /* P: c and f are streams; otherwise they wait for all their inputs */
    unsigned window;         /* FC: pairs of one level in circulation; 0: any number */
    unsigned sub_block;      /* PM: s, which divides r; 0: d multiplies a pair by itself */
    /* Seconds that operations take, at speed 1. */
    double factorize_s; /* f for each block of r x r in the panel, less a third of one block */
    double solve_s, multiply_s, subtract_s, flip_s; /* b, d, e, g */
    double copy_s;                                  /* c, for each pair that it sends */
    struct {
        unsigned after; /* levels that are over: 1 is "after iteration 1" */
        unsigned threads;
    } kills[LU_MOST_KILLS]; /* multiplying threads to remove */
    unsigned n_kills;
};

struct lu;

/* A checked graph. ESP_INVALID for a spec that makes no sense. */
enum esp_status lu_create(const struct lu_spec *spec, struct lu **lu, struct esp_error *error);
void lu_destroy(struct lu *lu);

struct flow_graph *lu_graph(const struct lu *lu);
unsigned lu_entry(const struct lu *lu);
/* Whether an operation is one of (a) to (h), by its number. */
bool lu_factorizes(const struct lu *lu, unsigned operation);
/* The level of an operation, or -1. */
int lu_level(const struct lu *lu, unsigned operation);

#endif
