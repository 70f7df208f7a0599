/* SPDX-License-Identifier: Apache-2.0
 *
 * Porters of two servers and the memory of their stores, as the tests of porters have them.
 */
#ifndef TESTS_PORTER_RIG_H
#define TESTS_PORTER_RIG_H

#include "tests/unit/unit.h"

#include "sed/porter/porter_internal.h"
#include "sed/porter/porter_order.h"

#define MOST 6

/* Porters of one server, and the memory of its store. */
struct side {
    struct porter *porters[MOST];
    struct porter_list list;
    int loans[MOST];
    int fd;
    double *pieces;
    uint64_t bytes;
};

/* The watch over a fetch. */
struct told {
    uint64_t bytes;
    bool stop;
    int64_t patience_ms;
    struct esp_error silent; /* what was told before all had let go */
    int heal;                /* closed when the watch reports; 0: nothing */
};

int make_folder(void **state);
int remove_folder(void **state); /* no socket may be left in it */

/* This many porters, with memory for so many elements. */
void open_side(struct side *side, const char *name, uint32_t n, uint64_t elements);
void close_side(struct side *side);
struct porter_order order_of(const struct block_cyclic_matrix *from, const struct block_cyclic_matrix *to,
                             uint64_t bytes);
/* All porters of the side lend what the order says, which learns their ports. */
void lend(struct side *side, struct porter_order *order);
enum esp_status fetch(struct side *side, const struct porter_order *order, struct told *told,
                      struct esp_error *error);
/* Numbers by which each element can be told; or that they are there. */
void fill(const struct block_cyclic_matrix *layout, double *pieces, bool check);
/* From so many porters here to so many there; with a key the order says so. */
void carries(struct block_cyclic_matrix from, struct block_cyclic_matrix to, uint32_t here, uint32_t there,
             const char *host, bool sealed);

#endif
