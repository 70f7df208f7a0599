/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier_server.h: functions for routines that servers of Espalier call.
 *
 * A library of routines links with no library of Espalier, because the worker process that calls the routines
 * has these functions. Any other program that loads the library must define the functions itself.
 */
#ifndef ESPALIER_SERVER_H
#define ESPALIER_SERVER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reports the progress of the routine, from 0 to 1. A value outside is replaced by 0 or 1; NaN is ignored.
 * Any thread may call it, as often as it likes: a call takes a few nanoseconds. When ranks compute a call
 * together, only the first rank's reports count. */
void esp_progress(double fraction);

/* ---- checkpoints, for problems whose description says "checkpoint yes" ---- */

/* Saves the state of the call, `bytes` from `state`, in place of the state saved before. When this returns 0,
 * the state is on the disk and survives a crash of the routine, a crash of the server and a power cut. The
 * server also sends a copy to another server, which continues the call if this server is lost. Because the
 * function writes to the disk, call it every few seconds rather than in each iteration. One thread at a time.
 * Returns 0 or errno. ENOSPC: the disk is full; the state saved before is still there. ENOENT: the server has
 * no state_dir, or the description does not allow checkpoints; the routine can continue without. */
int esp_checkpoint_save(const void *state, size_t bytes);

/* Copies the state that an earlier attempt at the same call has saved to `state`, and returns its bytes.
 * Returns 0 if there is no state, or it has more than `capacity` bytes; the routine must then start from the
 * beginning. Call it once, when the routine begins. */
size_t esp_checkpoint_load(void *state, size_t capacity);

/* Fortran, with default integers:
 *     call esp_checkpoint_save(state, bytes, status)      status: as the function returns
 *     call esp_checkpoint_load(state, capacity, bytes)    bytes: as the function returns */

/* ---- parallel routines, which the ranks of a server compute together ---- */

/* A block-cyclic layout, as ScaLAPACK defines it. Fortran: an array of eight default integers. */
struct esp_layout {
    int first;                /* the grid's first rank in the communicator; the next ones follow row by row */
    int rows, cols;           /* of the grid */
    int row_block, col_block; /* elements of a block */
    int source_row, source_col; /* row and column of the grid that have the first block; usually 0 */
    int leading;                /* leading dimension of this rank's part; 0: the number of its rows */
};

/* Redistributes an m x n matrix over the ranks of a communicator from one layout to another. Every rank of
 * the communicator calls it. `before` is the rank's part in layout `from`, by columns. `after` receives its
 * part in layout `to` and must not overlap `before`. Either is NULL if the rank has no part. The arguments
 * must be equal on all ranks, except the parts and `leading`. Ranks exchange messages directly, in the steps
 * of a plan (doc/redistribution.md). `communicator` is the result of MPI_Comm_c2f(), in Fortran the
 * communicator itself. No other messages may be received on it meanwhile. Returns the same code on all ranks:
 * 0; EINVAL: a grid does not fit the communicator, a block is smaller than 1, a size is negative, or a
 * leading dimension is smaller than the rows of a part; ENOMEM; EIO: MPI failed; ENOTSUP: in a worker, which
 * has no ranks. Fortran: call esp_redistribute(communicator, m, n, bytes, from, before, to, after, status) */
int esp_redistribute(int communicator, int m, int n, size_t element_bytes, const struct esp_layout *from,
                     const void *before, const struct esp_layout *to, void *after);

#ifdef __cplusplus
}
#endif
#endif
