/* SPDX-License-Identifier: Apache-2.0
 *
 * Explains connections that fail because the two sides do not agree on TLS: which side is wrong, and why.
 * The ORB only knows that a connection is lost, so this module asks OpenSSL, and reads the ORB's own
 * trace:
 *
 *   a daemon    logs it with the other side's address, a few lines per second
 *   a client    gets it in the text of the error, with what to do */
#ifndef ORB_REFUSAL_H
#define ORB_REFUSAL_H

#include "orb/peer.h"

/* Call it before the ORB starts, and after loading the TLS library if that is needed. `logs`: this process
 * is a daemon. */
void refusals_start(bool logs, bool tls);
/* Call it before the ORB ends. */
void refusals_stop();

/* Forgets the outcome of this thread's last handshake: call it before each invocation. */
void refusal_forget();

/* After an invocation whose connection broke: connects again to learn the other side's reason (some round
 * trips, at most some seconds), if it has never answered. Call it inside the guard against SIGPIPE. */
void refusal_ask(const Peers &peers, const Peer &peer);

/* Writes to a daemon's log, once and then rarely: there is no connection to that address, and why. */
void refusal_log(const char *address, const char *why);
/* Like refusal_log(), for an incoming connection, with the ORB's address of it. */
void refusal_log_incoming(const char *address, const char *why);

/* Replaces the error of this thread's invocation that failed with `status`, if TLS or its lack is the
 * reason. A certain refusal, after which nothing was executed, is ESP_SECURITY. */
enum esp_status refusal_explain(const char *address, const char *what, enum esp_status status,
                                struct esp_error *error);

#endif
