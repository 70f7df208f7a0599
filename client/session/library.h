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

/* Each function of the interface calls library_enter() first and library_leave() last. NULL: the library is
 * not initialized, or this is a forked child (ESP_REFUSED); `error` says which. */
struct library *library_enter(struct esp_error *error);
/* `succeeded`: the thread's last error becomes what it was at library_enter(), as failures on the way did not
 * matter in the end. */
void library_leave(bool succeeded);

/* The calling thread's last error. */
struct esp_error *library_error(void);

/* Destroys a blocking session that has ended, and keeps what is told of it until the next one of the calling
 * thread. */
void library_keep(struct session *session);
/* What library_keep() has kept for the calling thread. NULL: nothing. */
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
