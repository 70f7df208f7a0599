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
 * of the two, NaN as nothing. Costs a few nanoseconds: call it as often as you like. Any thread. */
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

#ifdef __cplusplus
}
#endif
#endif
