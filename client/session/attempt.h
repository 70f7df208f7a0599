/* SPDX-License-Identifier: Apache-2.0
 *
 * How a session finds a server that takes it, and another one when that is allowed.
 */
#ifndef CLIENT_ATTEMPT_H
#define CLIENT_ATTEMPT_H

#include "client/session/session.h"

/* PHASE_CHOOSE: asks the agents for candidates (bound: takes the one there is). Goes to PHASE_OFFER, or ends
 * the session. */
void attempt_choose(struct session *session);

/* PHASE_OFFER: calls the next candidate. Goes to PHASE_REMOTE, stays for the one after it, goes back to
 * PHASE_CHOOSE when there are no more, or ends the session.
 *
 * A reply that was lost is asked for again, by the session's identity, from the same server, before anything
 * else; only when that server is gone for good may another one have it, and only if the problem is
 * idempotent, because the first may have computed. */
void attempt_offer(struct session *session);

/* The server that had accepted it is gone, or has forgotten it: begins again under a new identity, or ends
 * the session, by the same rule. */
void attempt_recover(struct session *session);

/* A small request to the server that has the session, repeated when the connection breaks: all of them may
 * be. Sets session->lost when the server is gone or does not know the session any more. */
enum esp_status attempt_ask(struct session *session, const struct message *request, int64_t patience_ms,
                            struct message *reply, struct esp_error *error);

/* How long a call may wait for its result: a runner that others wait for does not. */
int64_t attempt_patience_ms(const struct session *session);

/* A server has ended the session as workers were lost with it: then it is lost as with a server. */
bool attempt_lost_worker(struct session *session);

/* A server has ended the session as data of a sequence were gone when it wanted them: dropped for want of
 * memory, or lost with another server. They are found, or made, again. False: then it fails. May block. */
bool attempt_finds_data(struct session *session);

/* A server has ended the session before anything was computed, as it may not fetch a datum that the call
 * takes: another one may. False: then it fails. */
bool attempt_was_shut_out(struct session *session);

#define MOST_TRIES 4 /* of one request, when connections break */

/* Whether to go on asking a server that has the session and did not answer in time: no other may have it, and
 * it may be stopped. */
bool attempt_waits(const struct session *session, struct patience *patience, enum esp_status status);

/* Before the attempt of that number: 0, 20, 80, 320, then 1280 ms each. A server that is being restarted, a
 * router that hiccups. */
void attempt_pause(const struct session *session, unsigned attempt);

#endif
