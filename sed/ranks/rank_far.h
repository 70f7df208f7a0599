/* SPDX-License-Identifier: Apache-2.0
 *
 * The protocol between a rank on another host and its envoy, a thread of the server daemon
 * (sed/ranks/envoy.h), over TCP: one connection per rank, and one for its heartbeat. Structs travel as in
 * memory: both ends are the same build, which the hello checks.
 *
 *     rank                             envoy
 *     hello: its number in the job  ->
 *                                   <- challenge: the proof of the daemon
 *     proof of the rank             ->
 *                                   <- FAR_WELCOME
 *     FAR_READY: its speed          ->
 *                                   <- FAR_CALL, the job, the small values
 *     FAR_WANTS                     ->    unless FAR_CANNOT: no arguments follow
 *                                   <- each whole input array, and each part of this rank, except those that
 * it has kept or received from other ranks; nothing for a rank outside the grid, which has finished then
 *     FAR_PROGRESS                  ->    from the first rank, when its progress changes, at a limited rate
 *     FAR_DONE                      ->    with what the first rank puts back, and its own parts
 *                                   <- FAR_THROUGH: no rank of the grid is in the routine any more
 *     FAR_LAST_WORD                 ->    instead of any of these, if possible: how it ends
 *
 * The connection authenticates both ends when it begins, and does not protect later data: like MPI's own,
 * it belongs on a network of the site. When one end closes, the other ends as well, as with rank_link.h.
 *
 * The heartbeat connection is made, by the same first messages, when the rank has been accepted: each byte
 * that the pool sends there comes back, even while the rank computes, unless it is stopped. */
#ifndef SED_RANK_FAR_H
#define SED_RANK_FAR_H

#include "sed/ranks/rank_link.h"
#include "sed/ranks/rank_secret.h"

#define RANK_AT_VARIABLE     "ESPALIER_RANKS_AT"     /* environment variable: host:port of the daemon */
#define RANK_SECRET_VARIABLE "ESPALIER_RANKS_SECRET" /* environment variable: the secret of the job */

#define FAR_MAGIC    UINT64_C(0x3152414652505345) /* "ESPRFAR1"; byte-swapped on other machines */
#define FAR_HELLO_MS 5000                         /* for all of the first messages */

/* The part of a job that travels: parallel calls are no commands. */
#define FAR_JOB_BYTES offsetof(struct ring_job, command)

enum far_purpose { FAR_CALLS, FAR_PULSE };

struct far_hello {
    uint64_t magic;
    uint32_t version, ring_bytes; /* RANK_LINK_VERSION, sizeof(struct ring) */
    uint32_t rank, size;
    int32_t pid;
    uint32_t purpose; /* enum far_purpose: of the connection */
    char host[64];
    unsigned char nonce[RANK_NONCE_BYTES];
};

struct far_challenge {
    unsigned char nonce[RANK_NONCE_BYTES];
    unsigned char proof[RANK_PROOF_BYTES]; /* "daemon", over the hello and this nonce */
};

struct far_proof {
    unsigned char proof[RANK_PROOF_BYTES]; /* "rank", over the same */
};

/* The data that both sign. */
struct far_signed {
    struct far_hello hello;
    unsigned char nonce[RANK_NONCE_BYTES];
};

enum far_kind {
    FAR_WELCOME = 1,
    FAR_READY,
    FAR_CALL,
    FAR_WANTS,
    FAR_CANNOT,
    FAR_DONE,
    FAR_THROUGH,
    FAR_PROGRESS,
    FAR_LAST_WORD
};

/* The parts of data that porters of other servers may fetch from a rank. */
enum far_lends {
    FAR_LENDS_NOTHING,
    FAR_LENDS,       /* to any porter that knows a part's name */
    FAR_LENDS_SEALED /* to such a porter, over encrypted connections only */
};

struct far_message {
    uint32_t kind;
    uint32_t returned;           /* FAR_DONE: the routine has returned; else no values follow */
    uint32_t unable;             /* FAR_DONE: this rank could not make the call; `text` has the reason */
    uint32_t starved;            /* FAR_DONE: because it has no memory left */
    int32_t strayed;             /* FAR_DONE: the argument beside whose part it wrote; -1: none */
    uint64_t compute_ns;         /* FAR_DONE */
    struct ring_verdict verdict; /* FAR_DONE: of the first rank */
    uint64_t refused_bytes, kept_bytes; /* FAR_DONE: that the routine could not allocate; that it has kept
                                           above the limit; 0: none */
    uint64_t keeps_bytes;               /* FAR_WELCOME: memory of the rank for parts of data */
    uint64_t kept, moved; /* FAR_WANTS: parts that are there already, a bit each: this rank has kept them;
                             other ranks have sent them */
    double progress;      /* FAR_PROGRESS: from 0 to 1 */
    uint32_t end;         /* FAR_LAST_WORD: as in rank_link.h, with refused_bytes */
    int32_t code;         /* likewise */
    struct parallel_speed speed; /* FAR_READY */
    uint32_t
        lends; /* FAR_WELCOME: enum far_lends; FAR_READY: the port of the rank's porter, 0: it has none */
    char text[RING_ANSWER_TEXT];
};

#endif
