/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits of waiting: how long the client waits for nodes that are gone or silent, and until when what a
 * thread does has to be over. Time is passed in.
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

/* A node that refuses connections is gone: it comes back soon or not at all. A node that accepts connections
 * and does not answer is stopped, frozen or overloaded: it may go on with all that it has, so the client
 * waits longer for it. */

/* A restarted node is mostly gone for less than this. A node that never was there is to be reported soon. */
#define PATIENCE_GONE_NS 1000000000

struct patience {
    int64_t gone_ns, silent_ns; /* limits for nodes that are gone and for silent ones */
    int64_t begun_ns;           /* 0: nobody is waited for */
    int64_t silence_ns;         /* when a node was silent last; at first begun_ns */
};

/* The limit for silent nodes is at least the one for nodes that are gone. */
struct patience patience_begin(int64_t gone_ms, int64_t silent_ms, int64_t now_ns);

/* Whether to try again after a try in which a node that could have helped was `silent`, or all were gone. A
 * node that falls silent and then dies is waited for as one that has just gone. */
bool patience_lasts(struct patience *patience, bool silent, int64_t now_ns);

/* Puts whom the caller has waited for since `since_ns`, and how long, before the error's text, if it was a
 * second or more. */
void patience_tell(const char *whom, int64_t since_ns, int64_t now_ns, struct esp_error *error);

/* Begins the engine's patience with nodes that a session cannot do without. */
struct patience engine_patience(const struct engine *engine);

/* Begins the patience with a node that has just said that it restarts: as long as agents expect it back
 * (RETURNING_NS). */
struct patience engine_patience_returning(const struct engine *engine);

/* Waits `ms`, or until the library is being closed. */
void engine_pause(const atomic_bool *closing, int64_t ms);

/* ---- the deadline of a thread ----
 *
 * To find out what is to be called, a thread asks agents, redirectors and servers one after the other, from
 * many places. None of them is waited for beyond the thread's deadline, which is on the engine's clock.
 * Sessions have deadlines of their own. */

/* Sets the deadline of the calling thread, unless it has an earlier one; CLOCK_NEVER changes nothing. Returns
 * what deadline_end() takes. */
int64_t deadline_begin(int64_t until_ns);
void deadline_end(int64_t before_ns);
/* Returns `ms`, or what is left until the deadline when that is less. 0: the deadline has passed. */
int64_t deadline_left_ms(const struct clock *clock, int64_t ms);
/* transport_call() within the deadline. ESP_TIMEOUT, and nothing is sent, when it has passed. */
enum esp_status deadline_call(struct transport *transport, const char *address, const struct message *request,
                              int64_t ms, struct message *reply, struct esp_error *error);

#endif
