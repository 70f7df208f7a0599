/* SPDX-License-Identifier: Apache-2.0
 *
 * A result of a sequence's call that stays on the server while its memory is guarded
 * (client/data/guard.h). It is fetched when the program accesses the memory, even after the end of the
 * sequence. Any thread.
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
    DISTANT_HOME, /* on servers and in its memory, which the program may have changed since */
    DISTANT_NONE  /* its call has failed or brought the result, the memory has other contents, or is gone */
};

struct distant {
    struct sequence *sequence; /* in use while the result is left: it can compute a lost result again */
    struct engine *engine;
    struct holding *holding; /* in use */
    char *memory;
    uint64_t bytes;
    bool may_guard; /* else the result comes when its call ends */
    char what[GUARD_WHAT];
    /* Under the lock of all: */
    unsigned users;
    enum distant_state state;
    bool outlives;       /* its sequence has ended: the copy on servers is deleted with this */
    uint64_t head, tail; /* in state LEFT: fingerprints of the ends, as the call sent them */
    uint64_t print;      /* in state HOME: fingerprint of the whole */
};

/* Creates it with one user, the caller, in the program's thread; its state is DUE. Returns NULL without
 * memory. */
struct distant *distant_create(struct sequence *sequence, struct engine *engine, struct holding *holding,
                               void *memory, uint64_t bytes, const char *problem, const char *argument);
struct distant *distant_use(struct distant *distant);
/* Accepts NULL. */
void distant_release(struct distant *distant);

/* How many bytes at both ends come with its call. Returns false if it is not guarded. */
bool distant_edges(const struct distant *distant, uint64_t *head, uint64_t *tail);
/* The call has left the result on servers under that identity, which the holding gets in a moment. Guards
 * its memory, or fetches the result if that is impossible. `edges`: the bytes of both ends, one behind the
 * other; NULL: they are fetched. */
enum esp_status distant_settle(struct distant *distant, const char *datum, const void *edges,
                               struct esp_error *error);
/* The call has failed, or has brought the result. */
void distant_void(struct distant *distant);

enum distant_state distant_state(struct distant *distant, uint64_t *print);
/* Whether the result is left and its ends are unchanged: then a call that takes the memory means the copy
 * on servers. */
bool distant_is_untouched(const struct distant *distant);
/* The sequence of the result ends. Returns true if the result is left; then its copy on servers is deleted
 * later, together with this. */
bool distant_outlive(struct distant *distant);

/* Called before the engine is destroyed (`engine` NULL: it cannot be used any more): leaves nothing on
 * servers. */
void distant_stop(struct engine *engine);

/* Deletes the holding's copy on servers in the background. */
void distant_delete(struct engine *engine, struct holding *holding);

/* Drops the parent's threads before the library is initialized in a forked child. Returns false if another
 * thread of the parent was changing this state during the fork. */
bool distant_after_fork(void);

#endif
