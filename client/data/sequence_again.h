/* SPDX-License-Identifier: Apache-2.0
 *
 * Results of a sequence that are lost with their server are computed again: the calls that made them are
 * remembered with what went in. What went in is on another server still, or in the program's memory, or a
 * result that can be computed again itself.
 */
#ifndef CLIENT_SEQUENCE_AGAIN_H
#define CLIENT_SEQUENCE_AGAIN_H

#include "client/data/distant.h"
#include "client/session/engine.h"
#include "client/data/holding.h"
#include "client/arguments/invocation.h"

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
struct sequence *sequence_create(struct engine *engine);
void sequence_use(struct sequence *sequence);
void sequence_release(struct sequence *sequence);

/* What is in that memory, into malloc'ed memory; NULL: it cannot be read, as the program has given it back or
 * a result belongs there, or there is no memory. */
void *sequence_copy_memory(const void *memory, uint64_t bytes);

/* Remembers a call that leaves results; others, and those with arguments that cannot be kept (texts, files,
 * sections, functions), are passed over. */
void sequence_remember(struct sequence *sequence, const struct invocation *invocation);
/* Makes the call again whose result that is, in this thread, which may be any; those that made what it takes
 * first, where that is lost too. Then the holding has a datum. ESP_NOT_FOUND: no call is known that made it,
 * or what it took is nowhere any more; else how the call failed. */
enum esp_status sequence_make_again(struct sequence *sequence, struct holding *holding,
                                    struct esp_error *error);
#endif
