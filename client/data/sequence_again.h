/* SPDX-License-Identifier: Apache-2.0
 *
 * Results of a sequence that are lost with their server are computed again: the calls that made them are
 * remembered with what went in. What went in is on another server still, or in the program's memory, or a
 * result that can be computed again itself.
 */
#ifndef CLIENT_SEQUENCE_AGAIN_H
#define CLIENT_SEQUENCE_AGAIN_H

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
    uint64_t print;     /* of the memory, when its value was taken; none of a result */
    _Atomic bool stale; /* a result belongs there that has not come; the owner's thread sets it */
    _Atomic bool gone;  /* the program gave the memory back: it is not to be touched; any thread sets it */
    bool passed_on;
    void *saved; /* owned: what was in the memory before a result was to come there */
    struct holding *holding;
    const struct sequence *owner;
    struct sequence_entry *prev, *next;         /* of the owner's entries, or past ones */
    struct sequence_entry *all_prev, *all_next; /* client/data/sequence_places.h */
};

/* An array of strings that has gone in. It is known by what the strings are: the same pointers may lead to
 * others by the next call. */
struct sequence_strings {
    uint64_t bytes, print; /* of what travels (core/problem/texts.h) */
    struct holding *holding;
    struct sequence_strings *next;
};

struct sequence {
    struct engine *engine;
    struct sequence_entry *entries;
    struct sequence_entry *past; /* what they were before, oldest first: goes from the servers at the end */
    uint64_t saved_bytes;        /* of all entries */
    struct sequence_strings *strings;
    bool paused;
    struct sequence_call *calls; /* in their order */
    unsigned n_calls;
};

/* Remembers a call that leaves results; others, and those with arguments that cannot be kept (texts, files,
 * sections, functions), are passed over. */
void sequence_remember(struct sequence *sequence, const struct invocation *invocation);
/* Makes the call again whose result that is, in this thread; those that made what it takes first, where that
 * is lost too. Then the holding has a datum. ESP_NOT_FOUND: no call is known that made it, or what it took is
 * nowhere any more; else how the call failed. */
enum esp_status sequence_make_again(struct sequence *sequence, struct holding *holding,
                                    struct esp_error *error);
void sequence_forget_calls(struct sequence *sequence);

#endif
