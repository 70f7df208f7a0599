/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections that do not come about because the two sides do not agree on TLS: whose fault it is, and why.
 * The ORB knows only that a connection is lost. Here OpenSSL is asked, and the ORB's own trace is listened
 * to:
 *
 *   a daemon    logs it with the other side's address, a few lines in each second
 *   who asks    finds it in the text of the error, with what to do
 */
#ifndef ORB_REFUSAL_H
#define ORB_REFUSAL_H

#include "orb/peer.h"

/* Before the ORB starts, and when the TLS library is there already if it is wanted. `logs`: this process is a
 * daemon. */
void refusals_start(bool logs, bool tls);
/* Before the ORB goes. */
void refusals_stop();

/* What this thread's last handshake left is forgotten: before each invocation. */
void refusal_forget();

/* After an invocation whose connection broke: asks the other side anew for its reason (some round trips, at
 * most some seconds), but only one that has never answered. Inside the guard against SIGPIPE. */
void refusal_ask(const Peers &peers, const Peer &peer);

/* A line in a daemon's log, once and then rarely: there is no connection to that address, and why. */
void refusal_log(const char *address, const char *why);
/* The same of one that came in, from the address that the ORB gives it. */
void refusal_log_incoming(const char *address, const char *why);

/* Replaces the error of an invocation of this thread that failed with `status`, when TLS or its lack is why.
 * What surely was refused, and so was not executed, is ESP_SECURITY. */
enum esp_status refusal_explain(const char *address, const char *what, enum esp_status status,
                                struct esp_error *error);

#endif
