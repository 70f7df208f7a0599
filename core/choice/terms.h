/* SPDX-License-Identifier: Apache-2.0
 *
 * On which terms servers serve, and which of them a request accepts: extensions of records (what a server
 * tells of itself) and of requests (their constraints). Who does not know them is an older node: it tells no
 * terms, and heeds no constraints.
 *
 * Numbers travel as 8 bytes, little-endian; texts with a NUL behind each, one after the other.
 */
#ifndef CORE_TERMS_H
#define CORE_TERMS_H

#include "core/message/message.h"

/* Tags in a node_record. */
#define EXTENSION_PRICE      50 /* a double: of an hour of a slot, in the site's unit */
#define EXTENSION_PROPERTIES 51 /* texts: words that requests may ask for ("gpu", "site=lyon") */
#define EXTENSION_INCOMING   52 /* an integer: bytes of arguments on their way to it */
#define EXTENSION_WEATHER    56 /* struct weather, as weather_put() has it */
/* Empty: a server has a sensor of its processor, which has not told anything yet (EXTENSION_WEATHER). */
#define EXTENSION_SENSES 145
#define EXTENSION_MEMORY_HELD                                                                                \
    81 /* an integer: bytes that calls could take if others on its machine had not */
#define EXTENSION_RANKS_TROUBLE                                                                              \
    99 /* a text: why its ranks are not there. What only ranks compute is not to be sent to it */
/* Empty: others may not reach a node: the address or name that they are told means loopback, no address of
 * its machine, or nothing. */
#define EXTENSION_LOOPBACK_ONLY 150
#define EXTENSION_LINK_BACK     58 /* a double: bytes per second from the node to its parent, where measured */
/* Empty: a server takes no new sessions until it is started again, which is what comes next. */
#define EXTENSION_BACK_SOON 98
/* Empty: a server takes no new sessions as it ends in good order, and has not said that it is not to come
 * back. Who would be served by it waits until it is gone, and then as for one that died. */
#define EXTENSION_ENDING 123
/* An integer, milliseconds: a server that ends in good order, and has not heard that this is for good, is to
 * be expected back for so long: who needs it waits. In a record of a tree reply, of one that has gone
 * (EXTENSION_UNREACHABLE): it is expected for so long yet; likewise in the one record of a reply that no such
 * node is there (ESP_NO_SERVER), also where the agent was just started and may hear of it within that. */
#define EXTENSION_EXPECTED 125
/* Empty, in the reply to a request, or to the offer of a datum, that fails with ESP_UNREACHABLE, and in the
 * report of a call that fails so, or that its server ends with itself: who would take it is being started
 * again, or ends (in a reply). For as long as this is told it is worth waiting. */
#define EXTENSION_AWAITED 100
/* Empty, in the report of a session that its server does not have any more (SESSION_UNKNOWN): it was not
 * begun, and may be called elsewhere whatever it does. */
#define EXTENSION_UNBEGUN 120
/* Of a server: texts, the problems that administrators have disabled on it, in all DISABLED_BYTES at most;
 * told when they change, one empty text when there are none any more. In a record of a tree reply: an
 * integer, how many of them it has told. */
#define EXTENSION_DISABLED 124
#define DISABLED_BYTES     16384
/* Of a server: pairs of texts, a problem that its files describe and why the server cannot call it, in all
 * UNCALLABLE_BYTES at most; told as EXTENSION_DISABLED is. */
#define EXTENSION_UNCALLABLE 161
#define UNCALLABLE_BYTES     4096
/* Tags in a request. */
#define EXTENSION_WANTED      53 /* texts: properties that the server must have, all of them */
#define EXTENSION_FINISH      54 /* a double: seconds after which the results are no use */
#define EXTENSION_MOST_MEMORY 55 /* an integer: bytes that the call may take at most */
/* A double, from master agent to master agent: seconds in which the call is expected to end on the best
 * server that was found so far. Only servers on which it ends sooner are wanted. */
#define EXTENSION_SOONER 161

#define CAP_PROPERTY   64 /* bytes of one, with its NUL */
#define CAP_PROPERTIES 32 /* of one server, or of one request */

/* Texts in an extension, borrowed from it. All-zero: none. */
struct property_set {
    const char *texts; /* each with a NUL */
    uint32_t length;
};

/* The processor of a server as its sensor sees it: the share that a session would get beside others. */
#define WEATHER_HISTORY 48
struct weather {
    double available;                /* now, from 0 to 1; 0: there is no sensor */
    double forecast, error;          /* of that, for the next seconds */
    uint32_t step_ms;                /* between the values of the history */
    uint32_t n;                      /* of them, the oldest first */
    uint8_t shares[WEATHER_HISTORY]; /* in 250ths */
    double memory_free, disk_free;   /* of the machine, in bytes; 0: not told */
};
#define WEATHER_BYTES (5 * 8 + 2 * 4 + WEATHER_HISTORY)
/* Returns the length. */
uint32_t weather_put(const struct weather *weather, uint8_t bytes[WEATHER_BYTES]);
/* False: nonsense, or not told; *weather is then all zero. */
bool weather_get(const struct extensions *extensions, struct weather *weather);

/* Of a server. Nonsense counts as not told. */
struct server_terms {
    struct weather weather;
    double price; /* of an hour; 0: free */
    uint64_t incoming_bytes;
    uint64_t held_bytes; /* of memory, by others on its machine; not part of its record's memory_total */
    struct property_set properties;
    struct property_set ranks_trouble; /* one text; none: its ranks are there, or being started */
};
void server_terms_get(const struct extensions *extensions, struct server_terms *terms);

/* The link from the parent to the node, both ways. */
struct path terms_link(const struct node_record *record);

/* Of a request. */
struct constraints {
    struct property_set wanted;
    double finish_s;            /* HUGE_VAL: none */
    uint64_t most_memory_bytes; /* UINT64_MAX: none */
};
void constraints_get(const struct extensions *extensions, struct constraints *constraints);

/* The next property behind `after` (NULL: the first), NULL behind the last. What does not end in a NUL is
 * left out. */
const char *property_next(const struct property_set *set, const char *after);
/* The first wanted one that is not in `has`; NULL: all are. */
const char *property_missing(const struct property_set *wanted, const struct property_set *has);
/* Why a word cannot be a property (empty, too long, blanks or control characters); NULL: it can. */
const char *property_fault(const char *word);

/* Appends an extension of 8 bytes or of texts; false without memory (or with more than CAP_PROPERTIES). */
bool terms_add_real(struct extensions *extensions, uint32_t tag, double value, struct arena *arena);
bool terms_get_real(const struct extensions *extensions, uint32_t tag, double *value);
bool terms_get_integer(const struct extensions *extensions, uint32_t tag, uint64_t *value);
bool terms_add_integer(struct extensions *extensions, uint32_t tag, uint64_t value, struct arena *arena);
bool terms_add_weather(struct extensions *extensions, const struct weather *weather, struct arena *arena);
bool terms_add_texts(struct extensions *extensions, uint32_t tag, const char *const *texts, size_t n,
                     struct arena *arena);

#endif
