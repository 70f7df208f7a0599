/* SPDX-License-Identifier: Apache-2.0
 *
 * Envoys: threads of the server daemon that stand for ranks on other hosts, which share no memory with it. To
 * the pool each is what a rank of this host is: it has a channel (sed/ranks/rank_link.h), is sent the files
 * of each call over it, and counts itself in the call's ring. What the rank needs of the arguments, its parts
 * of the matrices and no more, unless it has them (sed/mpi/prd_kept.c, sed/mpi/prd_moves.c), and what comes
 * back goes over TCP (sed/ranks/rank_far.h).
 *
 *     envoys.c      who connects
 *     envoy.c       one of them: who is let in, and waits for calls
 *     envoy.c  a call's way there and back; its arguments: envoy.c
 */
#ifndef SED_ENVOY_H
#define SED_ENVOY_H

#include "sed/ranks/rank_far.h"

struct envoys;

struct envoys_options {
    const char *host; /* on which they listen, at any free port; NULL or "": all interfaces */
    uint32_t ranks;   /* of the job */
    uint64_t keeps;   /* bytes in which each rank may keep parts of data */
    bool lends;       /* which porters of other servers may have from it; */
    bool seals;       /* over encrypted connections only */
    int hello_ms;     /* for a stranger to say each of its messages; 0: FAR_HELLO_MS */
    int bell;         /* eventfd for answers that nobody watches for */
    /* The ring of that number, NULL when there is none. Any thread. */
    struct ring *(*ring)(void *arg, uint32_t number);
    /* A rank has proved that it belongs to the job: `socket` is the pool's end of its envoy's channel, and
     * the pool's when it takes it (true). Any thread. */
    bool (*arrived)(void *arg, const struct far_hello *hello, int socket);
    /* The connection of the pulse of a rank that has arrived, which is the pool's when it takes it (true).
     * Any thread. */
    bool (*pulse)(void *arg, const struct far_hello *hello, int socket);
    void *arg;
};

/* Listens. ESP_SYSTEM; ESP_SECURITY without OpenSSL. */
enum esp_status envoys_create(const struct envoys_options *options, struct envoys **envoys,
                              struct esp_error *error);
/* Ends all of them, and waits for that. NULL is nothing to do. */
void envoys_destroy(struct envoys *envoys);

/* A new job is about to start: its ranks are to prove themselves by another secret, which is written to
 * `secret`. ESP_SYSTEM. */
enum esp_status envoys_expect(struct envoys *envoys, char secret[RANK_SECRET_TEXT], struct esp_error *error);
/* What ranks of this job call the datum with that key, which opens it and is nobody else's: they can tell
 * whether two are the same. None where there is no key. Any thread. */
struct job_key envoys_name(struct envoys *envoys, struct job_key key);

/* Ranks of this job that lend what they keep to porters of other servers, the name of the datum with that key
 * there, and the key of encrypted connections for that ticket (or PORTER_ORDERS). Any thread. */
struct porter_lenders;
void envoys_lenders(struct envoys *envoys, struct job_key key, uint64_t ticket,
                    struct porter_lenders *lenders);

/* What became of the parts of arguments that ranks needed, bytes: the daemon sent them; the ranks had kept
 * them; other ranks sent them. Any thread. */
struct envoys_counts {
    uint64_t sent, kept, moved;
};
void envoys_count(struct envoys *envoys, struct envoys_counts *counts);
/* host:port, for the ranks. */
const char *envoys_at(const struct envoys *envoys);

#endif
