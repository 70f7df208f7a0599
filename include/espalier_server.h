/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier_server.h: for authors of routines that servers of Espalier call.
 *
 * A library that uses these functions needs no library of Espalier to be linked with: the worker process that
 * calls its routines has them. Programs that load it otherwise must bring their own.
 */
#ifndef ESPALIER_SERVER_H
#define ESPALIER_SERVER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tells how far the routine that is being called has come, from 0 to 1; what is outside counts as the nearest
 * of the two, NaN as nothing. Costs a few nanoseconds: call it as often as you like. Any thread. Of the ranks
 * that compute a call together the first one tells it for all; what others tell is not heard. */
void esp_progress(double fraction);

/* ---- checkpoints: of problems whose description says "checkpoint yes" ---- */

/* Saves the state of the call: `bytes` from `state`, whatever they mean to the routine. It replaces the one
 * saved before; when this returns 0, neither a crash of the routine, nor of the server, nor a power cut takes
 * it away, and it is on its way to another server, which goes on with the call should this one be lost. It
 * is written to the disk before this returns, so save every few seconds rather than in each iteration.
 * Returns 0, or errno: ENOSPC (disk full; the one before is still there), ENOENT: this server keeps none (no
 * state_dir) or the description does not say so; the routine can go on without. One thread at a time. */
int esp_checkpoint_save(const void *state, size_t bytes);

/* The state that an earlier attempt at this very call has saved, with the same arguments: copies it to
 * `state` and returns its bytes; 0: there is none, or it takes more than `capacity`: begin at the beginning.
 * To be called once, at the beginning. */
size_t esp_checkpoint_load(void *state, size_t capacity);

/* Fortran, with default integers:
 *     call esp_checkpoint_save(state, bytes, status)      status: as the function returns
 *     call esp_checkpoint_load(state, capacity, bytes)    bytes: as the function returns */

/* ---- parallel routines: of implementations that the ranks of a server compute together ---- */

/* How a matrix lies block-cyclically, as ScaLAPACK has it. Fortran: an array of eight default integers. */
struct esp_layout {
    int first;      /* rank of the communicator that is the grid's first; the others follow it, row by row */
    int rows, cols; /* of ranks */
    int row_block, col_block;   /* of elements */
    int source_row, source_col; /* row and column of ranks with the first block: 0 as a rule */
    int leading; /* of this rank's part: elements from a column to the next; 0: as many as it has rows */
};

/* Lays an m x n matrix otherwise over the ranks of a communicator: each calls it with the part that it has
 * `before`, by columns, and gets its part `after`, which must not overlap with that (NULL: it has none). The
 * messages go straight from rank to rank, in the steps of a plan (doc/redistribution.md). `communicator` is
 * what MPI_Comm_c2f() makes of it, in Fortran the communicator itself; nothing else is received on it. All
 * ranks give the same but for parts and `leading`. Returns 0, or what is wrong, on all ranks the same: EINVAL
 * (a grid that is not in the communicator, blocks or sizes of less than 1 or 0, a leading dimension below the
 * rows of a part), ENOMEM, EIO (MPI), ENOTSUP (in a worker, which has no ranks). call
 * esp_redistribute(communicator, m, n, bytes, from, before, to, after, status) */
int esp_redistribute(int communicator, int m, int n, size_t element_bytes, const struct esp_layout *from,
                     const void *before, const struct esp_layout *to, void *after);

#ifdef __cplusplus
}
#endif
#endif
