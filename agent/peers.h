/* SPDX-License-Identifier: Apache-2.0
 *
 * Master agents among themselves: peers.c passes on what an agent cannot serve, down.c serves what others
 * pass on.
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
/* False: it is full. */
bool visited_add(struct visited *visited, const char *address);
void visited_take(struct visited *visited, const char *const *addresses, uint32_t n);
/* Into CAP_VISITED places; they point into `visited`. */
void visited_list(const struct visited *visited, const char **addresses);

/* ---- peers.c ---- */

/* As call_reply(call, own), but when `own` says that this agent cannot serve the request (nobody below solves
 * it, or has that name or datum), its peers are asked first, and the call is answered with what one of them
 * says, or in the end with `own`. `request` lives as long as the call. */
void peers_reply(struct agent *agent, struct call *call, const struct message *request, struct message *own);
/* An agent that was just started does not know this problem yet, but its peers may: they are asked first, and
 * only when none of them can serve the request it goes on here, as one that they have had (submit_again(),
 * queries_describe_again()). One of the two is NULL, the other one lives as long as the call. False: there is
 * nobody to ask. */
bool peers_ask_first(struct agent *agent, struct call *call, const struct submit *submit,
                     const struct describe *describe);
/* The best server below this agent is expected to end the call in `end_s`. Where that is long against the
 * time that the peers take to answer, they are asked, one after the other, for a server that ends it sooner:
 * true, and the call is answered with what one of them says, or goes on as in peers_ask_first(). False: the
 * call is for this agent to answer. */
bool peers_ask_sooner(struct agent *agent, struct call *call, const struct submit *submit, double end_s);
/* Whether a peer asks so. Then only what is known at once is of use to it. */
bool peers_is_sooner(const struct request *request);
void peers_on_passed(struct agent *agent, const struct passed *passed);
void peers_undelivered(struct agent *agent, const char *address);
/* True when the call was one that peers have. */
bool peers_abandon(struct agent *agent, const struct call *call);
void peers_clear(struct agent *agent);

/* ---- down.c ---- */

/* A peer passes a request on: it is served as that of a client, by a call whose answer goes back to the peer.
 */
void passed_on_pass(struct agent *agent, const struct envelope *envelope, const struct pass *pass);
void passed_clear(struct agent *agent);
/* Who has had the request of this call: nobody when it is a client's. */
void passed_visited(const struct call *call, struct visited *visited);
/* Whether a peer has passed it on: it asks the others itself, and may learn more while this agent waits. */
bool passed_is(const struct call *call);
/* These have had it too; its asker will hear of them. A client's call: nothing to do. */
void passed_note(struct call *call, const struct visited *visited);

#endif
