/* SPDX-License-Identifier: Apache-2.0
 *
 * The backlog holds sessions back while all servers that could take them have no room (ESP_LIMIT). They
 * are held in the order in which they came. When a session of this client leaves a server, the first
 * session that waits for that server is sent out again. A session that is held back has no sequence number
 * (client/session/engine.h), because the number with which it was declined is retired.
 *
 * Room that other clients leave is not announced. The client therefore sends the first session that waits
 * for a server there now and then: 20 ms after the last session left, and then less and less often, down
 * to twice a second. If the server takes it, it sends out the next one. If no session of this client has
 * been at those servers for agent_patience, no room is expected and the session fails.
 */
#ifndef CLIENT_BACKLOG_H
#define CLIENT_BACKLOG_H

#include "util/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct backlog;
struct engine;
struct link;
struct session;

#define BACKLOG_MOST_FULL 16

/* The backlog's part of a session. */
struct backlog_entry {
    /* Used by the session's runner only. */
    struct link *full[BACKLOG_MOST_FULL]; /* servers that had no room for it, in this turn */
    unsigned n_full;
    struct link *given; /* the server that has it now */
    int64_t since_ns;   /* when it began to wait for room; 0: it never did */
    uint64_t movements; /* number of movements when its turn began */
    unsigned hurried;   /* turns that began without a wait */

    atomic_bool held; /* written under the backlog's lock */

    /* Under the backlog's lock while the session is held. */
    uint64_t number; /* its place in the order; 0: it was never held */
    bool probe;      /* it looks for room, and sends out the next one if there is some */
    struct session *prev, *next;
};

enum esp_status backlog_create(struct engine *engine, struct backlog **backlog, struct esp_error *error);
/* Called after all sessions have ended. Accepts NULL. */
void backlog_destroy(struct backlog *backlog);

/* ---- for the session's runner ---- */

/* Begins a turn of the session, in which it looks for a server. Returns true if it must be held back
 * behind sessions like it (same server, or same problem without constraints). */
bool backlog_joins(struct session *session);

/* Notes that the server had no room. */
void backlog_note_full(struct session *session, struct link *link);

/* No server took the session: returns whether to hold it back. If it was declined for lack of room and is
 * not held, session->error says what to do. */
bool backlog_wants(struct session *session);

/* Holds an asynchronous session without a thread. At its next turn its job is submitted to the runners.
 * Returns false if its turn is now. */
bool backlog_park(struct session *session);

/* Holds a blocking session. Returns at its next turn, at its deadline, or when it is cancelled. */
void backlog_wait(struct session *session);

/* Notes that the server session->link has taken the session. */
void backlog_taken(struct session *session);

/* Notes that no server has the session (any more). */
void backlog_left(struct session *session);

/* ---- for others ---- */

/* The session was cancelled: lets its owner continue it, and its present step. Any thread; the session
 * must not be destroyed meanwhile. */
void backlog_release(struct session *session);

/* The engine is being closed: releases all sessions. */
void backlog_release_all(struct backlog *backlog);

#endif
