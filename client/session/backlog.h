/* SPDX-License-Identifier: Apache-2.0
 *
 * The backlog: sessions for which the servers that could take them have no room (ESP_LIMIT). They are held
 * back, in the order in which they came, and each session of this client that a server is rid of sends the
 * first one that waits for that server out again. A session that is held back has no number
 * (client/session/engine.h): what it was declined with is over.
 *
 * Room that others leave is not told: now and then, 20 ms after the last movement and then ever less often
 * down to twice a second, the first session that waits for a server is sent there; if it is taken, it sends
 * the next one. Where no session of this client is at those servers and none was for agent_patience, there is
 * nothing to wait for: the session fails.
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

/* What lies in a session for this. */
struct backlog_entry {
    /* Its runner's. */
    struct link *full[BACKLOG_MOST_FULL]; /* servers that had no room for it, in this turn */
    unsigned n_full;
    struct link *given; /* the server that has it now */
    int64_t since_ns;   /* waiting for room; 0: it never did */
    uint64_t movements; /* that had been when its turn began */
    unsigned hurried;   /* turns that began without having waited */

    atomic_bool held; /* written under the backlog's lock */

    /* Under the backlog's lock while it is held. */
    uint64_t number; /* its place in the order; 0: it was never held */
    bool probe;      /* it looks whether there is room, and sends the next one if so */
    struct session *prev, *next;
};

enum esp_status backlog_create(struct engine *engine, struct backlog **backlog, struct esp_error *error);
/* After all sessions have ended. NULL is nothing to do. */
void backlog_destroy(struct backlog *backlog);

/* ---- for the session's runner ---- */

/* A turn of the session begins: it is about to look for a server. True: it is to be held back behind others
 * like it (same server, or same problem without constraints). */
bool backlog_joins(struct session *session);

/* That server had no room. */
void backlog_note_full(struct session *session, struct link *link);

/* Nobody took it: whether it is to be held back. Otherwise, if it was for want of room, session->error says
 * what to do. */
bool backlog_wants(struct session *session);

/* Holds an asynchronous session without a thread: at its next turn its job is submitted to the runners.
 * False: its turn is now. */
bool backlog_park(struct session *session);

/* Holds a blocking session: returns at its next turn, at its deadline, or when it is cancelled. */
void backlog_wait(struct session *session);

/* The server session->link has it. */
void backlog_taken(struct session *session);

/* No server has it (any more). */
void backlog_left(struct session *session);

/* ---- for others ---- */

/* It was cancelled: lets its owner go on with it, and with the step of it that is under way. Any thread; the
 * session must not be destroyed meanwhile. */
void backlog_release(struct session *session);

/* The engine is being closed: lets all go on. */
void backlog_release_all(struct backlog *backlog);

#endif
