/* SPDX-License-Identifier: Apache-2.0
 *
 * The terms of servers, and the constraints of requests on them: extensions of records (a server's terms)
 * and of requests (constraints).
 *
 * Numbers travel as 8 bytes, little-endian; texts with a NUL after each, one after the other. */
#ifndef CORE_TERMS_H
#define CORE_TERMS_H

#include "core/message/message.h"

/* Tags in a node_record. */
#define EXTENSION_PRICE      50 /* a double: price of an hour of a slot, in the site's unit */
#define EXTENSION_PROPERTIES 51 /* texts: words that requests may ask for ("gpu", "site=lyon") */
#define EXTENSION_INCOMING   52 /* an integer: bytes of arguments on their way to it */
#define EXTENSION_WEATHER    56 /* struct weather, packed by weather_put() */
/* Empty: the server has a sensor of its processor without a measurement yet (EXTENSION_WEATHER). */
#define EXTENSION_SENSES 145
#define EXTENSION_MEMORY_HELD                                                                                \
    81 /* an integer: bytes that other processes on its machine use, so that calls cannot */
#define EXTENSION_RANKS_TROUBLE                                                                              \
    99 /* a text: why its ranks are missing. Problems that only ranks compute must not be sent to it */
/* Empty: other hosts may not reach the node, because its address or name resolves to loopback, to no
 * address of its machine, or not at all. */
#define EXTENSION_LOOPBACK_ONLY 150
#define EXTENSION_LINK_BACK     58 /* a double: bytes per second from the node to its parent, if measured */
/* Empty: the server accepts no new sessions until its restart, which comes next. */
#define EXTENSION_BACK_SOON 98
/* Empty: the server accepts no new sessions because it is ending in good order, and has not said whether
 * it will come back. Its clients wait until it is gone, and then as for a server that died. */
#define EXTENSION_ENDING 123
/* An integer, milliseconds: a server that ends in good order, without having been told that this is final,
 * is expected back for this time, and clients that need it wait. In a record of a tree reply about a
 * server that has gone (EXTENSION_UNREACHABLE): the time left. Likewise in the only record of a reply that
 * there is no such node (ESP_NO_SERVER), also if the agent has just started and may learn of the node
 * within that time. */
#define EXTENSION_EXPECTED 125
/* Empty, in the reply to a request or to the offer of a datum that fails with ESP_UNREACHABLE, and in the
 * report of a call that fails in this way or ends with its server: the server for it is restarting, or (in
 * a reply) ending. As long as replies have this tag, the client waits. */
#define EXTENSION_AWAITED 100
/* Empty, in the report of a session that its server no longer has (SESSION_UNKNOWN): it was not started,
 * and may be called elsewhere even if it is not idempotent. */
#define EXTENSION_UNBEGUN 120
/* Of a server: texts, the problems that administrators have disabled on it, DISABLED_BYTES at most; sent
 * when they change, one empty text when there are none any more. In a record of a tree reply: an integer,
 * the number of these problems. */
#define EXTENSION_DISABLED 124
#define DISABLED_BYTES     16384
/* Of a server: pairs of texts, a problem that its files describe and why the server cannot call it,
 * UNCALLABLE_BYTES at most; sent like EXTENSION_DISABLED. */
#define EXTENSION_UNCALLABLE 161
#define UNCALLABLE_BYTES     4096
/* Tags in a request. */
#define EXTENSION_WANTED      53 /* texts: properties that the server must have, all of them */
#define EXTENSION_FINISH      54 /* a double: seconds after which the results are useless */
#define EXTENSION_MOST_MEMORY 55 /* an integer: most bytes that the call may use */
/* A double, from master agent to master agent: the expected seconds of the call on the best server found
 * so far. Only servers on which it ends sooner are wanted. */
#define EXTENSION_SOONER 161

#define CAP_PROPERTY   64 /* bytes of one, with its NUL */
#define CAP_PROPERTIES 32 /* of one server, or of one request */

/* Texts in an extension, borrowed from it. All-zero is empty. */
struct property_set {
    const char *texts; /* each with a NUL */
    uint32_t length;
};

/* The processor of a server as its sensor sees it: the fraction that a session would get besides other
 * processes. */
#define WEATHER_HISTORY 48
struct weather {
    double available;                /* now, from 0 to 1; 0: there is no sensor */
    double forecast, error;          /* for the next seconds */
    uint32_t step_ms;                /* between the values of the history */
    uint32_t n;                      /* values in it, the oldest first */
    uint8_t shares[WEATHER_HISTORY]; /* in 250ths */
    double memory_free, disk_free;   /* of the machine, in bytes; 0: not known */
};
#define WEATHER_BYTES (5 * 8 + 2 * 4 + WEATHER_HISTORY)
/* Packs the weather; returns the length. */
uint32_t weather_put(const struct weather *weather, uint8_t bytes[WEATHER_BYTES]);
/* Reads the weather; false, with all zero, when it is missing or malformed. */
bool weather_get(const struct extensions *extensions, struct weather *weather);

/* Terms of a server. Malformed ones count as missing. */
struct server_terms {
    struct weather weather;
    double price; /* of an hour; 0: free */
    uint64_t incoming_bytes;
    uint64_t held_bytes; /* memory used by other processes there; not in its record's memory_total */
    struct property_set properties;
    struct property_set ranks_trouble; /* one text; empty: its ranks are there, or starting */
};
void server_terms_get(const struct extensions *extensions, struct server_terms *terms);

/* Returns the link from the parent to the node, in both directions. */
struct path terms_link(const struct node_record *record);

/* Constraints of a request. */
struct constraints {
    struct property_set wanted;
    double finish_s;            /* HUGE_VAL: none */
    uint64_t most_memory_bytes; /* UINT64_MAX: none */
};
void constraints_get(const struct extensions *extensions, struct constraints *constraints);

/* Returns the next property after `after` (NULL: the first), NULL after the last. Texts without a NUL are
 * skipped. */
const char *property_next(const struct property_set *set, const char *after);
/* Returns the first wanted property that is not in `has`; NULL: all are. */
const char *property_missing(const struct property_set *wanted, const struct property_set *has);
/* Why a word cannot be a property (empty, too long, blanks or control characters); NULL: it can. */
const char *property_fault(const char *word);

/* Append an extension of 8 bytes, or of texts; false without memory (or with more than CAP_PROPERTIES). */
bool terms_add_real(struct extensions *extensions, uint32_t tag, double value, struct arena *arena);
bool terms_get_real(const struct extensions *extensions, uint32_t tag, double *value);
bool terms_get_integer(const struct extensions *extensions, uint32_t tag, uint64_t *value);
bool terms_add_integer(struct extensions *extensions, uint32_t tag, uint64_t value, struct arena *arena);
bool terms_add_weather(struct extensions *extensions, const struct weather *weather, struct arena *arena);
bool terms_add_texts(struct extensions *extensions, uint32_t tag, const char *const *texts, size_t n,
                     struct arena *arena);

#endif
