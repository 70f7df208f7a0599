/* SPDX-License-Identifier: Apache-2.0
 *
 * What many messages have in common (core/message/message.h): the contract's version, caps, sessions,
 * outcomes, records of nodes.
 */
#ifndef CORE_MESSAGE_BASIC_H
#define CORE_MESSAGE_BASIC_H

#include "core/message/wire.h"

#define CONTRACT_MAJOR 1 /* part of every object key: another major is another object */
#define CONTRACT_MINOR 0

/* Caps on what is accepted from outside (elements or bytes). */
#define CAP_NAME       255
#define CAP_ADDRESS    255
#define CAP_TEXT       (64 * 1024) /* a problem's description */
#define CAP_ERROR_TEXT 4096
#define CAP_ARGUMENTS  64
#define CAP_DIMS       7
#define CAP_ROWS       (1 + 8 * CAP_ARGUMENTS) /* of a response: where data are */
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
#define CAP_GAPS       4096                   /* of a datum that has arrived in part */
#define CAP_DATA       4096                   /* data in one answer */
#define CAP_WORDS      64                     /* of an order */
#define CAP_SOURCES    16                     /* servers that hold one datum */
#define MESSAGE_BYTES  (8 << 20)              /* one message, all in all */
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

/* One call of one client. The secret proves that the asker is the one who opened the session. */
struct session_id {
    uint64_t client_high, client_low; /* 128 random bits, drawn by the client library at start */
    uint64_t sequence;                /* 1, 2, 3, ... within the client */
    uint64_t secret;
};

/* Prints "c0ffee12-7" (shortened client id, sequence) without the secret, for logs and messages.
 * `text` has at least SESSION_TEXT bytes. */
#define SESSION_TEXT 48
const char *session_id_text(const struct session_id *session, char *text);
/* In each second so many sessions that fail, and so many that are refused, have log lines of their own. */
#define SESSION_LINES 5
/* Compares client and sequence, not the secret. */
bool session_id_equal(const struct session_id *a, const struct session_id *b);

/* How an operation went; every reply begins with it. The text of a call that is done is the note on its
 * results (core/problem/problem.h), or "". */
struct outcome {
    uint32_t status; /* enum esp_status */
    const char *text;
};

/* A path through the tree or the network: what is carried is the sum of latencies and the least bandwidth. */
struct path {
    bool known;
    double latency_s;     /* one way: half of a round trip */
    double bandwidth_bps; /* bytes per second; 0: not known */
    double back_bps;      /* the same the other way round; 0: not measured, taken for the same. It travels in
                           * extensions (core/choice/terms.h, core/choice/aggregate.h) */
};

/* A master's placements up to `number` are contained in the queue that a record describes. */
struct placement_mark {
    uint64_t master; /* incarnation of the master agent */
    uint64_t number;
};

/* What is known of one node below an agent. Agents' own records leave the server's fields at 0. */
struct node_record {
    const char *name;
    const char *parent;
    const char *address;
    uint32_t role;
    uint64_t incarnation;
    bool draining;      /* takes no new sessions */
    struct path link;   /* from its parent to it */
    uint64_t catalog;   /* digest of the list of problems it solves; 0: none */
    double speed_flops; /* measured: what one slot reaches, flop/s */
    uint32_t slots;
    uint32_t threads;  /* of BLAS, per slot */
    double *free_in_s; /* per slot, ascending: seconds until it is free, all known work counted */
    uint32_t n_free_in;
    uint32_t queued, running;
    uint64_t memory_total, memory_free; /* bytes for sessions */
    uint64_t completed, failed;
    struct placement_mark *marks;
    uint32_t n_marks;
    double age_s; /* how long ago the node itself said so */
    struct extensions extensions;
};

#endif
