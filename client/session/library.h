/* SPDX-License-Identifier: Apache-2.0
 *
 * The one initialized library of a process: its parts, the threads inside it, and the last error of each
 * thread. client/api/life.c creates and destroys it.
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

/* Each function of the interface calls library_enter() first and library_leave() last. Returns NULL if the
 * library is not initialized, or if this is a forked child (ESP_REFUSED); `error` says which. */
struct library *library_enter(struct esp_error *error);
/* If `succeeded`, the thread's last error becomes again what it was at library_enter(), because failures
 * on the way did not matter in the end. */
void library_leave(bool succeeded);

/* The calling thread's last error. */
struct esp_error *library_error(void);

/* Destroys a blocking session that has ended. Stores its information until the next one of the calling
 * thread. */
void library_keep(struct session *session);
/* Returns what library_keep() has stored for the calling thread; NULL: nothing. */
const struct past *library_kept(void);

/* ---- creation and destruction ---- */

enum library_state {
    LIBRARY_DOWN,
    LIBRARY_CHANGING, /* it is being created or destroyed */
    LIBRARY_UP,
    LIBRARY_FORKED /* this is a child of the process that initialized it */
};

/* Claims the library, with all members zero, to create it. *forked: the parent's members are still in it.
 * Returns NULL if it exists already (*again), or if a thread of the parent was inside it. library_settle()
 * ends the claim. */
struct library *library_begin(bool *forked, bool *again, struct esp_error *error);
/* Claims the library to end it; no thread enters from now on. Returns NULL if it does not exist. */
struct library *library_end(struct esp_error *error);
void library_settle(enum library_state next);
/* Drops the parent's state. Returns false if a thread of the parent was in the middle of a change at the
 * fork. */
bool library_after_fork(void);
/* Waits until that time (CLOCK_REALTIME) for all threads to leave. Returns whether they have. */
bool library_is_left(const struct timespec *until);

#endif
