/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts that many messages share (core/message/message.h): the contract's version, caps, sessions,
 * outcomes, records of nodes. */
#ifndef CORE_MESSAGE_BASIC_H
#define CORE_MESSAGE_BASIC_H

#include "core/message/wire.h"

#define CONTRACT_MAJOR                                                                                       \
    1 /* part of every object key, so nodes of another major version do not find each other */
#define CONTRACT_MINOR 0

/* Caps on what is accepted from outside (elements or bytes). */
#define CAP_NAME       255
#define CAP_ADDRESS    255
#define CAP_TEXT       (64 * 1024) /* a problem's description */
#define CAP_ERROR_TEXT 4096
#define CAP_ARGUMENTS  64
#define CAP_DIMS       7
#define CAP_ROWS       (1 + 8 * CAP_ARGUMENTS) /* of a response: locations of data */
#define CAP_CANDIDATES 1024
#define CAP_SLOTS      4096
#define CAP_RECORDS    65536
#define CAP_MESSAGES   65536
#define CAP_EXTENSIONS 64
#define CAP_INLINE     (4 << 20) /* bytes of one inline argument */
#define CAP_PRINTED    65536     /* bytes of output in one answer */
#define CAP_SESSIONS   65536
#define CAP_ANCESTORS  64
#define CAP_DATUM      (CAP_NAME + 1 + 32)    /* the text of a datum's identity (core/data/datum.h) */
#define CAP_GAPS       4096                   /* gaps of a partly received datum */
#define CAP_DATA       4096                   /* data in one answer */
#define CAP_WORDS      64                     /* of an order */
#define CAP_SOURCES    16                     /* servers that hold one datum */
#define MESSAGE_BYTES  (8 << 20)              /* all bytes of one message */
#define CAP_CHUNK      (MESSAGE_BYTES - 4096) /* data of one chunk: header and data are one message */

enum node_role { ROLE_CLIENT, ROLE_REDIRECTOR, ROLE_MASTER, ROLE_LEADER, ROLE_SERVER };
const char *node_role_name(enum node_role role); /* "redirector", "master agent", ... */

struct extension {
    uint32_t tag;
    const uint8_t *value;
    uint32_t length;
};

struct extensions {
    struct extension *items;
    uint32_t n;
};

/* Identifies one call of one client. The secret proves that the sender is the client that opened the
 * session. */
struct session_id {
    uint64_t client_high, client_low; /* 128 random bits, drawn by the client library at start */
    uint64_t sequence;                /* 1, 2, 3, ... within the client */
    uint64_t secret;
};

/* Prints "c0ffee12-7" (shortened client id, sequence) without the secret, for logs and messages.
 * `text` has at least SESSION_TEXT bytes. */
#define SESSION_TEXT 48
const char *session_id_text(const struct session_id *session, char *text);
/* Per second, this many failed and this many refused sessions get log lines of their own. */
#define SESSION_LINES 5
/* Compares client and sequence, not the secret. */
bool session_id_equal(const struct session_id *a, const struct session_id *b);

/* Result of an operation; the first member of every reply. For a successful call, the text is the note on
 * its results (core/problem/problem.h), or "". */
struct outcome {
    uint32_t status; /* enum esp_status */
    const char *text;
};

/* A path through the tree or the network: the sum of the latencies and the least bandwidth of its links. */
struct path {
    bool known;
    double latency_s;     /* one way: half of a round trip */
    double bandwidth_bps; /* bytes per second; 0: not known */
    double back_bps;      /* bandwidth in the other direction; 0: not measured, assumed equal. It travels in
                             extensions (core/choice/terms.h, core/choice/aggregate.h) */
};

/* The queue that a record describes includes the master agent's placements up to `number`. */
struct placement_mark {
    uint64_t master; /* incarnation of the master agent */
    uint64_t number;
};

/* A record of one node. In records of agents the fields of servers are 0. */
struct node_record {
    const char *name;
    const char *parent;
    const char *address;
    uint32_t role;
    uint64_t incarnation;
    bool draining;      /* accepts no new sessions */
    struct path link;   /* link from its parent */
    uint64_t catalog;   /* digest of the list of problems it solves; 0: none */
    double speed_flops; /* measured speed of one slot, flop/s */
    uint32_t slots;
    uint32_t threads;  /* BLAS threads per slot */
    double *free_in_s; /* per slot, ascending: seconds until it is free, including all known work */
    uint32_t n_free_in;
    uint32_t queued, running;
    uint64_t memory_total, memory_free; /* memory for sessions */
    uint64_t completed, failed;
    struct placement_mark *marks;
    uint32_t n_marks;
    double age_s; /* time since the node itself sent these values */
    struct extensions extensions;
};

#endif
