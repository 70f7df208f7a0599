/* SPDX-License-Identifier: Apache-2.0
 *
 * The resources of a simulated platform: nodes with one processor each, joined in a star.
 *
 * The model is that of Schaeli, Gerlach, Hersch: A simulator for adaptive parallel applications, section 4.
 * Each node has a full-duplex link to a switch that is never a bottleneck. A transfer of s bytes takes at
 * least l + s/b. It progresses at the smaller one of two shares: the outgoing link of its sender is shared
 * equally by the sender's transfers, the incoming link of its receiver by the receiver's. Transfers take a
 * part of the processors at both ends, which depends on their number there. The computations of a node share
 * the rest equally.
 *
 * Jobs end in a fixed order that depends on nothing but the calls: by time, then by the order of their
 * beginnings.
 */
#ifndef SIMULATE_STAR_H
#define SIMULATE_STAR_H

#include "util/error.h"
#include <stdbool.h>
#include <stdint.h>

#define STAR_MOST_SHARES 64 /* numbers of transfers for which the use of the processor is given */

struct star_shares {
    unsigned n;
    double of[STAR_MOST_SHARES]; /* [i]: the part of a processor that i + 1 transfers use; more use the last
                                    one */
};

struct star_spec {
    unsigned n_nodes;
    double latency_s, bandwidth_Bps;
    const double *speeds; /* of each processor; NULL: 1 */
    struct star_shares send, receive;
    unsigned
        channel; /* transfers from one node to another one that progress at a time, the others wait; 0: all */
};

struct star;

/* ESP_INVALID for numbers that are no platform. Copies what the spec points to. */
enum esp_status star_create(const struct star_spec *spec, struct star **star, struct esp_error *error);
void star_destroy(struct star *star);

double star_now(const struct star *star); /* seconds from 0 */

/* A computation of `seconds` at speed 1 on a node. False without memory. */
bool star_compute(struct star *star, unsigned node, double seconds, void *ticket);
/* A transfer between two different nodes. False without memory. */
bool star_transfer(struct star *star, unsigned from, unsigned to, uint64_t bytes, void *ticket);

/* Advances to the end of the next job. False when there is none, or none progresses. */
bool star_next(struct star *star, void **ticket, bool *is_transfer);

/* What a node did until now. */
struct star_use {
    double computing_s;            /* the processor computed, counted in seconds of the whole processor */
    double sending_s, receiving_s; /* at least one transfer went out, came in */
    double communicating_s;        /* of the processor, used by transfers */
};
void star_use(struct star *star, unsigned node, struct star_use *use);

#endif
