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

#include "client/arguments/invocation.h"
#include "client/data/distant.h"
#include "client/data/holding.h"
#include "client/session/engine.h"

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
/* Makes a call of an abstract problem again, wherever that may be done now. */
typedef enum esp_status sequence_abstract(struct engine *engine, struct invocation *invocation,
                                          struct esp_error *error);
/* Registers how; before the first sequence begins. */
void sequence_set_abstract(sequence_abstract *call);

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

/* Results of a sequence that are lost with their server are computed again: the calls that made them are
 * remembered with what went in. What went in is on another server still, or in the program's memory, or a
 * result that can be computed again itself. */

#define SEQUENCE_MOST_CALLS 4096 /* that are remembered; of earlier ones nothing can be computed again */
/* Of inputs over which results belong, so that these can be computed again: the latest are kept. */
#define SEQUENCE_MOST_SAVED ((uint64_t)512 << 20)

struct sequence_entry {
    char *memory;
    uint64_t bytes;
    enum base_type type;
    uint64_t print; /* of the memory, when its value was taken; none of a result */
    void *saved;    /* owned: what was in the memory before a result was to come there */
    bool taken;     /* a later call took the value from servers, or the program does not want it */
    struct holding *holding;
    struct distant *distant;            /* used: it is a result; NULL: it has gone in */
    struct sequence_entry *prev, *next; /* of the entries, or past ones */
};

/* An array of strings that has gone in. It is known by what the strings are: the same pointers may lead to
 * others by the next call. */
struct sequence_strings {
    uint64_t bytes, print; /* of what travels (core/problem/texts.h) */
    struct holding *holding;
    struct sequence_strings *next;
};

/* The thread that began it changes it, with its lock held; others that compute results again have the lock
 * meanwhile. It lives as long as one of its results is left somewhere. */
struct sequence {
    struct engine *engine; /* NULL: it is there no more */
    _Atomic unsigned users;
    pthread_mutex_t lock;
    struct sequence_entry *entries;
    struct sequence_entry *past; /* what they were before, oldest first: goes from the servers at the end */
    uint64_t saved_bytes;        /* of all entries */
    struct sequence_strings *strings;
    bool paused;
    struct sequence_call *calls; /* in their order */
    unsigned n_calls;
};

/* One user: the caller. NULL without memory. */
void sequence_use(struct sequence *sequence);
void sequence_release(struct sequence *sequence);

/* Makes the call again whose result that is, in this thread, which may be any; those that made what it takes
 * first, where that is lost too. Then the holding has a datum. ESP_NOT_FOUND: no call is known that made it,
 * or what it took is nowhere any more; else how the call failed. */
enum esp_status sequence_make_again(struct sequence *sequence, struct holding *holding,
                                    struct esp_error *error);

#endif
