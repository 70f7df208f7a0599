/* SPDX-License-Identifier: Apache-2.0
 *
 * Placements made ahead. A client that sends a stream of small equal requests may ask, with one of them,
 * where the next ones would go: the master agent decides them one after the other, as if they had all arrived
 * at that moment, counts each before it decides the next, and tells all with one answer. Calls by them reach
 * their servers without another question; what does not come within AHEAD_MS is decided anew.
 *
 * Only an answer from memory goes ahead, and only for so many requests that all of them together compute for
 * less than AHEAD_WORK_S, by forecast and by the mean that the client has seen of its last ones: less than
 * agents know of a server's queue anyway.
 */
#ifndef CORE_AHEAD_H
#define CORE_AHEAD_H

#include "core/message/message.h"

/* Tag in a request: how many are wanted, one byte, and what the last ones computed on average, in seconds, a
 * double of 8 bytes, little-endian. In a submit_reply: for each that was decided, in the order of the
 * requests to come, one byte, which of the candidates it goes to. */
#define EXTENSION_AHEAD 14

#define AHEAD_MOST    32
#define AHEAD_SERVERS 8 /* that an answer may spread them over */
#define AHEAD_MS      20
#define AHEAD_WORK_S  0.001

struct ahead_wish {
    uint32_t n;    /* 0: none are wanted; at most AHEAD_MOST */
    double mean_s; /* more than 0 */
};

/* False without memory. */
bool ahead_ask(struct request *request, const struct ahead_wish *wish, struct arena *arena);
/* Nonsense wants none. */
struct ahead_wish ahead_asked(const struct request *request);

bool ahead_tell(struct submit_reply *reply, const uint8_t *order, uint32_t n, struct arena *arena);
/* Copies what is told into `order` and returns how many there are, up to the first that is none of the first
 * n_candidates of this reply. */
uint32_t ahead_told(const struct submit_reply *reply, uint32_t n_candidates, uint8_t order[AHEAD_MOST]);

#endif
