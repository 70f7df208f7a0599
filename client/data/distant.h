/* SPDX-License-Identifier: Apache-2.0
 *
 * A result of a sequence's call that stays on the server while its memory is guarded (client/data/guard.h):
 * it comes when the program looks, also behind the end of the sequence. Any thread.
 */
#ifndef CLIENT_DISTANT_H
#define CLIENT_DISTANT_H

#include "client/data/guard.h"
#include "client/data/holding.h"
#include "client/session/engine.h"

struct sequence;

enum distant_state {
    DISTANT_DUE,  /* its call has not ended */
    DISTANT_LEFT, /* on servers, its memory guarded */
    DISTANT_HOME, /* on servers, and in its memory, where the program may have written since */
    DISTANT_NONE  /* its call has failed or brought it, something else is in its memory, or that is gone */
};

struct distant {
    struct sequence *sequence; /* used while it is left: it can compute what is lost again */
    struct engine *engine;
    struct holding *holding; /* used */
    char *memory;
    uint64_t bytes;
    bool may_guard; /* else it comes when its call ends */
    char what[GUARD_WHAT];
    /* Under the lock of all: */
    unsigned users;
    enum distant_state state;
    bool outlives;       /* its sequence has ended: what it has on servers goes with it */
    uint64_t head, tail; /* of LEFT: fingerprints of the edges, as the call gave them */
    uint64_t print;      /* of HOME: of all of it */
};

/* One user: the caller, in the program's thread; it is due. NULL without memory. */
struct distant *distant_create(struct sequence *sequence, struct engine *engine, struct holding *holding,
                               void *memory, uint64_t bytes, const char *problem, const char *argument);
struct distant *distant_use(struct distant *distant);
/* NULL is nothing to do. */
void distant_release(struct distant *distant);

/* How many bytes at its ends are to come with its call. False: it is not to be guarded. */
bool distant_edges(const struct distant *distant, uint64_t *head, uint64_t *tail);
/* Its call has left it on servers under that identity, which the holding has very soon: guards its memory, or
 * fetches it where that cannot be. `edges`: its ends, one behind the other; NULL: they are fetched. */
enum esp_status distant_settle(struct distant *distant, const char *datum, const void *edges,
                               struct esp_error *error);
/* Its call has failed, or has brought it otherwise. */
void distant_void(struct distant *distant);

enum distant_state distant_state(struct distant *distant, uint64_t *print);
/* It is left, and nobody has written to its edges: a call that takes the memory means what is on servers. */
bool distant_is_untouched(const struct distant *distant);
/* Its sequence ends. True: it is left, and what it has on servers goes when it is not any more. */
bool distant_outlive(struct distant *distant);

/* Before the engine goes (`engine` NULL: it cannot be asked any more): nothing is left on servers. */
void distant_stop(struct engine *engine);

/* Has servers delete what the holding has there, behind the caller's back. */
void distant_delete(struct engine *engine, struct holding *holding);

/* Forgets the threads of the parent, before a new life of the library in a forked child. False: another
 * thread of the parent was in the middle of a change at the fork. */
bool distant_after_fork(void);

#endif
