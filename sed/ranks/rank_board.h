/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory through which a server daemon assigns calls to its ranks: one word on which all of them
 * sleep, so that one system call wakes the ranks of a grid and no others, and a cache line for each rank.
 * Channels (sed/ranks/rank_link.h) carry descriptors, and report deaths. */
#ifndef SED_RANK_BOARD_H
#define SED_RANK_BOARD_H

#include "sed/ranks/rank_link.h"

struct rank_line {
    _Alignas(64) _Atomic uint32_t calls; /* number of calls given to the rank since the board was cleared */
    uint32_t ring;                       /* of the last call; written before `calls` */
};

struct rank_board {
    _Alignas(64) _Atomic uint32_t posted;   /* counts posts; futex */
    _Alignas(64) _Atomic uint32_t sleeping; /* ranks in the futex; one that died there remains counted */
    struct rank_line lines[RANKS_MOST];
};

/* Creates a board as a memory file, mapped here. The caller owns both (close, board_unmap). ESP_SYSTEM. */
enum esp_status board_create(struct rank_board **board, int *fd, struct esp_error *error);
/* Maps it in a rank. NULL when the system refuses (errno). */
struct rank_board *board_map(int fd);
void board_unmap(struct rank_board *board);
/* Resets the board before a new MPI job. */
void board_clear(struct rank_board *board);

/* Gives the idle ranks [first, first + n) the call in that ring, and wakes them. */
void board_post(struct rank_board *board, uint32_t first, uint32_t n, uint32_t ring);
/* Whether the rank has been given more than `taken` calls. */
static inline bool board_has_call(const struct rank_board *board, uint32_t rank, uint32_t taken)
{
    return atomic_load_explicit(&board->lines[rank].calls, memory_order_acquire) != taken;
}
/* Sleeps until the rank has a further call. */
void board_sleep(struct rank_board *board, uint32_t rank, uint32_t taken);

#endif
