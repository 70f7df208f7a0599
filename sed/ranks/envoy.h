/* SPDX-License-Identifier: Apache-2.0
 *
 * Envoys: threads of the server daemon that represent ranks on other hosts, which do not share its memory.
 * To the pool each looks like a rank of this host: it has a channel (sed/ranks/rank_link.h), receives the
 * files of each call over it, and counts itself in the call's ring. Arguments for the rank (only its parts
 * of matrices, unless it has them already: sed/mpi/prd_kept.c, sed/mpi/prd_moves.c) and its results travel
 * over TCP (sed/ranks/rank_far.h).
 *
 *     envoys.c      incoming connections
 *     envoy.c       one envoy: authenticates the rank, waits for calls, sends arguments and receives results
 */
#ifndef SED_ENVOY_H
#define SED_ENVOY_H

#include "sed/ranks/rank_far.h"

struct envoys;

struct envoys_options {
    const char *host; /* host to listen on, at any free port; NULL or "": all interfaces */
    uint32_t ranks;   /* of the job */
    uint64_t keeps;   /* memory for parts of data in each rank */
    bool lends;       /* porters of other servers may fetch parts from the ranks; */
    bool seals;       /* only over encrypted connections */
    int hello_ms;     /* time for an unauthenticated peer to send each message; 0: FAR_HELLO_MS */
    int bell;         /* eventfd for answers that no thread waits for */
    /* Returns the ring with that number, NULL when there is none. Any thread. */
    struct ring *(*ring)(void *arg, uint32_t number);
    /* A rank has proved that it belongs to the job: `socket` is the pool's end of its envoy's channel,
     * which the pool owns if it returns true. Any thread. */
    bool (*arrived)(void *arg, const struct far_hello *hello, int socket);
    /* A heartbeat connection of a rank that has arrived, which the pool owns if it returns true. Any
     * thread. */
    bool (*pulse)(void *arg, const struct far_hello *hello, int socket);
    void *arg;
};

/* Starts listening. ESP_SYSTEM; ESP_SECURITY without OpenSSL. */
enum esp_status envoys_create(const struct envoys_options *options, struct envoys **envoys,
                              struct esp_error *error);
/* Ends all envoys, and waits for that. NULL is ignored. */
void envoys_destroy(struct envoys *envoys);

/* A new job is about to start: its ranks must authenticate with a new secret, which is written to
 * `secret`. ESP_SYSTEM. */
enum esp_status envoys_expect(struct envoys *envoys, char secret[RANK_SECRET_TEXT], struct esp_error *error);
/* Returns the name that ranks of this job use for the datum with that key. The name does not reveal the
 * key, and shows whether two data are the same. None without a key. Any thread. */
struct job_key envoys_name(struct envoys *envoys, struct job_key key);

/* Lists ranks of this job that lend their parts to porters of other servers, the name there of the datum
 * with that key, and the key of encrypted connections for that ticket (or PORTER_ORDERS). Any thread. */
struct porter_lenders;
void envoys_lenders(struct envoys *envoys, struct job_key key, uint64_t ticket,
                    struct porter_lenders *lenders);

/* Bytes of argument parts that ranks needed, by source: sent by the daemon; kept by the ranks; sent by
 * other ranks. Any thread. */
struct envoys_counts {
    uint64_t sent, kept, moved;
};
void envoys_count(struct envoys *envoys, struct envoys_counts *counts);
/* Returns host:port, for the ranks. */
const char *envoys_at(const struct envoys *envoys);

#endif
