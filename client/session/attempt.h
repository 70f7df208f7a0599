/* SPDX-License-Identifier: Apache-2.0
 *
 * How a session finds a server that takes it, and another one if that is allowed.
 */
#ifndef CLIENT_ATTEMPT_H
#define CLIENT_ATTEMPT_H

#include "client/session/session.h"

/* PHASE_CHOOSE: asks the agents for candidates; a bound session takes its one server. Goes to PHASE_OFFER,
 * or ends the session. */
void attempt_choose(struct session *session);

/* PHASE_OFFER: calls the next candidate. Goes to PHASE_REMOTE, stays for the following candidate, goes
 * back to PHASE_CHOOSE if there are none left, or ends the session.
 *
 * If a reply was lost, the same server is first asked for it again, by the session's identity. Another
 * server may have the session only if that server is gone for good and the problem is idempotent, because
 * the first server may have computed. */
void attempt_offer(struct session *session);

/* The server that had accepted the session is gone, or has forgotten it: begins again under a new
 * identity, or ends the session, by the same rule. */
void attempt_recover(struct session *session);

/* Sends a small request to the server that has the session, and repeats it if the connection breaks; all
 * these requests may be repeated. Sets session->lost if the server is gone or does not know the session. */
enum esp_status attempt_ask(struct session *session, const struct message *request, int64_t patience_ms,
                            struct message *reply, struct esp_error *error);

/* How long a call may wait for its result. Zero for a session in a pool thread that other sessions need. */
int64_t attempt_patience_ms(const struct session *session);

/* The server has given the session back, which had not begun: calls the chosen servers under a new identity.
 * Takes the choice over. */
void attempt_move(struct session *session, struct choice *choice);

/* A server has ended the session because its workers were lost: the session is handled as if the server
 * were lost. */
bool attempt_lost_worker(struct session *session);

/* A server has ended the session because data of a sequence were gone: they were dropped for lack of
 * memory, or lost with another server. Finds the data or makes them again. Returns false if the session
 * fails. May block. */
bool attempt_finds_data(struct session *session);

/* A server has ended the session before it computed anything, because it may not fetch a datum that the
 * call takes. Another server may be allowed to. Returns false if the session fails. */
bool attempt_was_shut_out(struct session *session);

#define MOST_TRIES 4 /* tries of one request if connections break */

/* Whether to go on asking a server that has the session and did not answer in time. This is so if no other
 * server may have the session and the server may be only stopped. */
bool attempt_waits(const struct session *session, struct patience *patience, enum esp_status status);

/* Pauses before the attempt of that number: 0, 20, 80, 320, then 1280 ms. This bridges a server's restart
 * or a short fault of the network. */
void attempt_pause(const struct session *session, unsigned attempt);

#endif
