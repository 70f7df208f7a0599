/* SPDX-License-Identifier: Apache-2.0
 *
 * Placements in advance. A client that sends a stream of small equal requests may ask, with one of them,
 * for the placements of the next ones. The master agent decides these one after the other, as if they had
 * all arrived at that moment, counts each before it decides the next, and sends all in one reply. The
 * client's next calls then go to their servers without another request. A placement that is not used
 * within AHEAD_MS expires.
 *
 * Placements in advance are made only from memory, and only for as many requests as compute together for
 * less than AHEAD_WORK_S, by forecast and by the client's mean of its last calls. Agents know a server's
 * queue no more precisely than that. */
#ifndef CORE_AHEAD_H
#define CORE_AHEAD_H

#include "core/message/message.h"

/* Tag in a request: the number of wanted placements, one byte, and the mean computation time of the
 * client's last calls, in seconds, a double of 8 bytes, little-endian. In a submit_reply: for each
 * placement, in the order of the coming requests, the index of its candidate, one byte. */
#define EXTENSION_AHEAD 14

#define AHEAD_MOST    32
#define AHEAD_SERVERS 8 /* most servers over which a reply may spread them */
#define AHEAD_MS      20
#define AHEAD_WORK_S  0.001

struct ahead_wish {
    uint32_t n;    /* 0: none wanted; at most AHEAD_MOST */
    double mean_s; /* more than 0 */
};

/* Adds the wish to the request. False without memory. */
bool ahead_ask(struct request *request, const struct ahead_wish *wish, struct arena *arena);
/* Reads the wish; a malformed one wants none. */
struct ahead_wish ahead_asked(const struct request *request);

bool ahead_tell(struct submit_reply *reply, const uint8_t *order, uint32_t n, struct arena *arena);
/* Copies the placements into `order` and returns how many there are, up to the first that is none of the
 * first n_candidates of this reply. */
uint32_t ahead_told(const struct submit_reply *reply, uint32_t n_candidates, uint8_t order[AHEAD_MOST]);

#endif
