/* SPDX-License-Identifier: Apache-2.0
 *
 * Request sequencing: between esp_sequence_begin() and esp_sequence_end() of a thread, arrays of its calls
 * that have been sent stay where they were sent, results stay where they were made, and both are found again
 * by their address.
 *
 * An entry is an array of the program: address, bytes, and its holding. Of one that went in, a fingerprint
 * tells whether the program has written there since. Of a result the memory is guarded while it is on a
 * server only (client/data/distant.h); one that later calls have taken, and at which nobody has looked, stays
 * so behind the end.
 */
#ifndef CLIENT_SEQUENCE_H
#define CLIENT_SEQUENCE_H

#include "client/session/engine.h"
#include "client/arguments/invocation.h"

/* Smaller arrays are sent and come back with the calls: that costs less than leaving them. */
#define SEQUENCE_LEAST_BYTES ((uint64_t)32 << 10)

/* An argument of a call, its bytes known (`span`: of the memory that it may lie in, at least those): what it
 * takes, and then, when all have been looked at so, what it gives, becomes part of the sequence where there
 * is one and it can be; else what belongs in its memory comes first. May block. */
enum esp_status sequence_take_input(struct value *value, const struct argument *argument, uint64_t span,
                                    struct esp_error *error);
/* The same of an array of strings, packed as it travels (`in`), which the call only reads. */
enum esp_status sequence_take_strings(struct value *value, struct esp_error *error);
enum esp_status sequence_take_result(struct value *value, const struct problem *problem, uint64_t span,
                                     struct esp_error *error);
/* That memory is about to be read or written otherwise: results that belong there come. Any thread. */
enum esp_status sequence_sync(const void *memory, uint64_t bytes, struct esp_error *error);

/* A call of this thread is about to begin: what it takes and gives is remembered, so that its results can be
 * computed again. */
void sequence_note_call(const struct invocation *invocation);
/* What `holding` has is on no server any more, which `error` tells: if it was a result of this sequence, the
 * call that made it is made again, and the holding has its datum then. ESP_OK; else `error` says why not. */
enum esp_status sequence_restore(struct holding *holding, struct esp_error *error);

/* Until resumed, calls of this thread are none of the sequence (their arguments are made good only). Returns
 * whether it was so already, for sequence_resume(). */
bool sequence_pause(void);
void sequence_resume(bool was_paused);

#endif
