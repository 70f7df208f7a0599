/* SPDX-License-Identifier: Apache-2.0
 *
 * What a rank on another host and its envoy, a thread of the server daemon (sed/ranks/envoy.h), say to each
 * other over TCP, one connection a rank, and one for its pulse. Structs travel as they lie in memory: both
 * ends are the same build, which the hello makes sure of.
 *
 *     rank                             envoy
 *     hello: its number in the job  ->
 *                                   <- challenge: the proof of the daemon
 *     proof of the rank             ->
 *                                   <- FAR_WELCOME
 *     FAR_READY: how fast it is     ->
 *                                   <- FAR_CALL, the job, the small values
 *     FAR_WANTS                     ->    unless FAR_CANNOT: no arguments follow
 *                                   <- each whole array that goes in, and each part of this rank but those
 *                                      that it keeps, or has had from other ranks; none to a rank beside the
 *                                      grid, which then has done
 *     FAR_PROGRESS                  ->    of the first rank, as often as it tells something new, but seldom
 *     FAR_DONE                      ->    with what the first rank puts back, and its own parts
 *                                   <- FAR_THROUGH: no rank of the grid is in the routine any more
 *     FAR_LAST_WORD                 ->    in place of any of these, if it can: how it ends
 *
 * The connection proves who is at its ends when it begins, and protects nothing that follows: as MPI's own,
 * it belongs on a network of the site. When one end closes, the other gives up, as with rank_link.h.
 *
 * The connection of its pulse is made, by the same first messages, when the rank has been let in: each byte
 * that the pool sends there comes back, also while the rank computes, unless it is stopped.
 */
#ifndef SED_RANK_FAR_H
#define SED_RANK_FAR_H

#include "sed/ranks/rank_link.h"
#include "sed/ranks/rank_secret.h"

#define RANK_AT_VARIABLE     "ESPALIER_RANKS_AT"     /* of the environment: host:port of the daemon */
#define RANK_SECRET_VARIABLE "ESPALIER_RANKS_SECRET" /* and the secret of the job */

#define FAR_MAGIC    UINT64_C(0x3152414652505345) /* "ESPRFAR1"; the other way round on other machines */
#define FAR_HELLO_MS 5000                         /* for all of the first messages */

/* What of a job travels: parallel calls are no commands. */
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

/* What both sign. */
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

/* What porters of other servers may have of what a rank keeps. */
enum far_lends {
    FAR_LENDS_NOTHING,
    FAR_LENDS,       /* whoever knows its name */
    FAR_LENDS_SEALED /* likewise, over encrypted connections only */
};

struct far_message {
    uint32_t kind;
    uint32_t returned;   /* FAR_DONE: the routine has; else no values follow */
    uint32_t unable;     /* FAR_DONE: because this rank could not make the call, for the reason `text` */
    uint32_t starved;    /* FAR_DONE: as it has no memory left for that */
    int32_t strayed;     /* FAR_DONE: the argument beside whose part was written; -1: none */
    uint64_t compute_ns; /* FAR_DONE */
    struct ring_verdict verdict;        /* FAR_DONE: of the first rank */
    uint64_t refused_bytes, kept_bytes; /* FAR_DONE: that the routine could not allocate; that it has kept
                                           too much; 0: none */
    uint64_t keeps_bytes;               /* FAR_WELCOME: that the rank may keep parts of data in */
    uint64_t kept, moved;               /* FAR_WANTS: parts that are there already, a bit each: this rank has
                                           kept them; other ranks have sent them */
    double progress;                    /* FAR_PROGRESS: from 0 to 1 */
    uint32_t end;                       /* FAR_LAST_WORD: as of rank_link.h, with refused_bytes */
    int32_t code;                       /* likewise */
    struct parallel_speed speed;        /* FAR_READY */
    uint32_t
        lends; /* FAR_WELCOME: enum far_lends; FAR_READY: the port of the rank's porter, 0: it has none */
    char text[RING_ANSWER_TEXT];
};

#endif
