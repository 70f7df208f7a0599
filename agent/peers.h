/* SPDX-License-Identifier: Apache-2.0
 *
 * Master agents among themselves: peers.c passes on requests that this agent cannot serve, down.c serves
 * requests that peers pass on.
 */
#ifndef AGENT_PEERS_H
#define AGENT_PEERS_H

#include "core/transport.h"

struct agent;

/* The addresses of the master agents that have had a request, each once. */
struct visited {
    char addresses[CAP_VISITED][CAP_ADDRESS + 1];
    uint32_t n;
};
bool visited_has(const struct visited *visited, const char *address);
/* Returns false if it is full. */
bool visited_add(struct visited *visited, const char *address);
void visited_take(struct visited *visited, const char *const *addresses, uint32_t n);
/* Fills CAP_VISITED places; the addresses are borrowed from `visited`. */
void visited_list(const struct visited *visited, const char **addresses);

/* ---- peers.c ---- */

/* Does what call_reply(call, own) does, with one exception: if `own` says that this agent cannot serve the
 * request, because no node below solves the problem or has that name or datum, the peers are asked first.
 * Then the call is answered with a peer's answer, or with `own` if no peer can serve it. `request` lives
 * as long as the call. */
void peers_reply(struct agent *agent, struct call *call, const struct message *request, struct message *own);
/* For an agent in its warm-up, which may not know a problem that its peers know: asks the peers first. If
 * none can serve the request, it continues here as a request that the peers have had (submit_again(),
 * queries_describe_again()). Exactly one of `submit` and `asked` is not NULL, and lives as long as the
 * call. Returns false if there is no peer to ask. */
bool peers_ask_first(struct agent *agent, struct call *call, const struct submit *submit,
                     const struct describe *describe);
/* The best server below this agent is expected to end the call in `end_s`. If that is long compared to the
 * time that the peers take to answer, they are asked one after the other for a server that ends it sooner.
 * Then the function returns true, and the call is answered with a peer's answer, or continues as in
 * peers_ask_first(). If it returns false, this agent must answer the call. */
bool peers_ask_sooner(struct agent *agent, struct call *call, const struct submit *submit, double end_s);
/* Whether a peer asks for a sooner end. Then only knowledge that is available at once is of use to it. */
bool peers_is_sooner(const struct request *request);
void peers_on_passed(struct agent *agent, const struct envelope *envelope, const struct passed *passed);
void peers_undelivered(struct agent *agent, const char *address);
/* True if the call was one that was sent to peers. */
bool peers_abandon(struct agent *agent, const struct call *call);
void peers_clear(struct agent *agent);

/* ---- down.c ---- */

/* Serves a request that a peer passes on like a client's; the answer goes back to the peer. */
void passed_on_pass(struct agent *agent, const struct envelope *envelope, const struct pass *pass);
void passed_clear(struct agent *agent);
/* Lists the agents that have had the request of this call; empty if it comes from a client. */
void passed_visited(const struct call *call, struct visited *visited);
/* Whether the call was passed on by a peer. That peer asks the other peers itself, and may get an answer
 * while this agent waits. */
bool passed_is(const struct call *call);
/* Adds agents that have had the request, for the answer to the peer. Does nothing for a client's call. */
void passed_note(struct call *call, const struct visited *visited);

#endif
