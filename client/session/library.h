/* SPDX-License-Identifier: Apache-2.0
 *
 * The one initialized library of a process: what it consists of, which threads are inside it, and the last
 * error of each thread. It is made and ended by client/api/life.c.
 */
#ifndef CLIENT_LIBRARY_H
#define CLIENT_LIBRARY_H

#include "client/session/handle.h"
#include "client/session/past.h"
#include "client/session/session.h"
#include "client/session/table.h"
#include "services/settings.h"

#include <time.h>

struct library {
    struct settings_client settings;
    struct transport *transport;
    struct engine *engine;
    struct handles *handles;
    struct table *table;
};

/* Every function of the interface is between these two. NULL: outside initialize .. finalize, or a forked
 * child (status ESP_REFUSED); `error` says which. */
struct library *library_enter(struct esp_error *error);
/* After a success the thread's last error is what it was before: what failed on the way was made up for. */
void library_leave(bool succeeded);

/* The calling thread's last error. */
struct esp_error *library_error(void);

/* Destroys a blocking session that has ended, and keeps how it went until the calling thread's next one. */
void library_keep(struct session *session);
/* NULL: there was none. */
const struct past *library_kept(void);

/* ---- for its life ---- */

enum library_state {
    LIBRARY_DOWN,
    LIBRARY_CHANGING, /* it is being made or ended */
    LIBRARY_UP,
    LIBRARY_FORKED /* this is a child of the process that initialized it */
};

/* Claims the library, with all members zero, to make it. *forked: the parent's members are still in it. NULL:
 * it is there already (*again), or a thread of the parent was inside it. library_settle() ends the claim. */
struct library *library_begin(bool *forked, bool *again, struct esp_error *error);
/* Claims the library to end it: no thread enters from now on. NULL: it is not there. */
struct library *library_end(struct esp_error *error);
void library_settle(enum library_state next);
/* Forgets what the parent had. False: a thread of the parent was in the middle of a change at the fork. */
bool library_after_fork(void);
/* Waits until that time (CLOCK_REALTIME) for all threads to leave. Returns whether they have. */
bool library_is_left(const struct timespec *until);

#endif
