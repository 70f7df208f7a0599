/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits of waiting: how long the client waits for nodes that are gone or silent, and until when a
 * thread's work must be done. Time is passed in.
 */
#ifndef CLIENT_PATIENCE_H
#define CLIENT_PATIENCE_H

#include "core/message/message.h"
#include "core/transport.h"
#include "util/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct clock;
struct engine;

/* A node that refuses connections is gone: it comes back soon or not at all. A node that accepts
 * connections but does not answer is stopped, frozen or overloaded: it may continue with all its sessions,
 * so the client waits longer for it. */

/* A restarted node is mostly gone for less than this. A node that never was there must be reported soon. */
#define PATIENCE_GONE_NS 1000000000

struct patience {
    int64_t gone_ns, silent_ns; /* limits for nodes that are gone and for silent ones */
    int64_t begun_ns;           /* 0: there is no wait */
    int64_t silence_ns;         /* when a node was silent last; at first begun_ns */
};

/* The limit for silent nodes is at least the one for nodes that are gone. */
struct patience patience_begin(int64_t gone_ms, int64_t silent_ms, int64_t now_ns);

/* Whether to try again after a try in which a node that could have helped was `silent`, or all such nodes
 * were gone. A node that falls silent and then dies is waited for like one that has just gone. */
bool patience_lasts(struct patience *patience, bool silent, int64_t now_ns);

/* Puts the name of the node that the caller has waited for since `since_ns`, and the duration, before the
 * error's text, if it was a second or more. */
void patience_tell(const char *whom, int64_t since_ns, int64_t now_ns, struct esp_error *error);

/* Begins the engine's patience with nodes that a session needs. */
struct patience engine_patience(const struct engine *engine);

/* Begins the patience with a node that has just said that it restarts: as long as agents expect it back
 * (RETURNING_NS). */
struct patience engine_patience_returning(const struct engine *engine);

/* Waits `ms`, or until the library is being closed. */
void engine_pause(const atomic_bool *closing, int64_t ms);

/* ---- the deadline of a thread ----
 *
 * Before a call, a thread asks agents, redirectors and servers one after the other, from many places in
 * the code. None of these waits lasts beyond the thread's deadline, which is on the engine's clock.
 * Sessions have deadlines of their own. */

/* Sets the deadline of the calling thread, unless it has an earlier one; CLOCK_NEVER changes nothing.
 * Returns the argument for deadline_end(). */
int64_t deadline_begin(int64_t until_ns);
void deadline_end(int64_t before_ns);
/* Returns `ms`, or the time left until the deadline if that is less. 0: the deadline has passed. */
int64_t deadline_left_ms(const struct clock *clock, int64_t ms);
/* transport_call() within the deadline. If the deadline has passed, returns ESP_TIMEOUT and sends nothing. */
enum esp_status deadline_call(struct transport *transport, const char *address, const struct message *request,
                              int64_t ms, struct message *reply, struct esp_error *error);

#endif
