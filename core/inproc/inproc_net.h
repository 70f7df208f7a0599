/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of the in-process transport, shared by inproc.c (the network and its endpoints),
 * inproc_parcel.c (one-way messages) and inproc_call.c (requests, replies and chunks). */
#ifndef CORE_INPROC_NET_H
#define CORE_INPROC_NET_H

#include "core/message/batch.h"
#include "core/inproc/inproc.h"
#include "util/random.h"
#include "util/timer.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

struct inproc_call;
struct parcel;

struct inproc_endpoint {
    struct endpoint endpoint; /* first */
    char *address, *name;
    uint64_t id; /* differs from that of earlier and later endpoints at the same address */
    uint64_t incarnation;
    const struct endpoint_ops *ops;
    void *self;
    bool alive;
    unsigned inside; /* operations and enters in progress */
    struct timer tick;
    struct parcel *outbox;               /* posted during the operation, in order of the first message */
    struct parcel *outbox_by_address;    /* the newest parcel to each address */
    struct inproc_line *lines;           /* the nodes it has posted to: its connections */
    struct inproc_call *calls;           /* passed to the node and not answered */
    struct inproc_endpoint *prev, *next; /* list of all endpoints, including killed ones */
    UT_hash_handle hh;                   /* by address, only living ones */
};

/* The connection for posts to an address; closed when its endpoint ends. */
struct inproc_line {
    UT_hash_handle hh;
    char to[];
};

/* A pair of addresses without a connection between them. */
struct inproc_cut {
    UT_hash_handle hh;
    char key[];
};

struct inproc {
    struct transport transport; /* first */
    struct manual_clock clock;
    struct random random;
    struct inproc_faults faults;
    struct inproc_counters counters;
    struct timers timers;
    struct inproc_endpoint *endpoints;  /* all */
    struct inproc_endpoint *by_address; /* living */
    struct inproc_cut *cuts;
    struct parcel *parcels;    /* under way */
    struct inproc_call *calls; /* whose caller waits, or that a node holds */
    uint64_t last_id;
    bool running; /* inside inproc_run() */
};

/* One post on its way; or, after a failed delivery, the news of it on the way back; or the news that the
 * sender's connection has closed. */
struct parcel {
    struct batch batch;
    bool closes;
    struct timer timer;
    char *from, *to;
    uint64_t from_id, to_id; /* to_id: of the endpoint that the closing connection led to; a later one at that
                                address is not informed */
    struct parcel *prev, *next; /* in the sender's outbox, then in the list of those on their way */
    UT_hash_handle hh;          /* in the sender's outbox_by_address */
};

/* The name of the callers' side in inproc_partition(). */
#define INPROC_CLIENT "client"

struct inproc *inproc_of(const struct inproc_endpoint *endpoint);
struct inproc_endpoint *inproc_find(const struct inproc *net, const char *address);
bool inproc_is_cut(const struct inproc *net, const char *a, const char *b);
/* Returns when a message sent now arrives. */
int64_t inproc_arrival_ns(struct inproc *net);
/* Draws true with that probability. */
bool inproc_draw(struct inproc *net, double probability);
/* Runs the next event; false when there is none by `until_ns`. */
bool inproc_step(struct inproc *net, int64_t until_ns);

/* Called around each operation: end() sends the posted messages and asks when the next tick is due. */
void inproc_begin(struct inproc_endpoint *endpoint);
void inproc_end(struct inproc_endpoint *endpoint);

/* ---- inproc_parcel.c ---- */

enum esp_status inproc_post(struct endpoint *base, const char *address, uint64_t to_incarnation,
                            const struct message *message, struct esp_error *error);
/* Sends the parcel, with all faults of the network; takes it over. */
void parcel_send(struct inproc *net, struct parcel *parcel);
/* Removes and frees a parcel that is on its way. */
void parcel_end(struct inproc *net, struct parcel *parcel);
void parcel_free(struct parcel *parcel);
/* Closes the endpoint's connections; `tell`: the nodes at their other ends get hung_up(), unless they are
 * cut off now. */
void inproc_close_lines(struct inproc_endpoint *endpoint, bool tell);

/* ---- inproc_call.c ---- */

void inproc_reply(struct call *call, struct message *reply);
const struct envelope *inproc_call_envelope(const struct call *call);
enum esp_status inproc_call(struct transport *transport, const char *address, const struct message *request,
                            int64_t timeout_ms, struct message *reply, struct esp_error *error);
enum esp_status inproc_put(struct transport *transport, const char *address, const struct message *header,
                           const void *data, int64_t timeout_ms, int64_t silence_ms, struct esp_error *error);
enum esp_status inproc_get(struct transport *transport, const char *address, struct message *header,
                           void *data, uint64_t *moved, int64_t timeout_ms, int64_t silence_ms,
                           struct esp_error *error);
/* The endpoint was killed: its callers learn that their calls may have been executed. */
void inproc_calls_lost(struct inproc_endpoint *endpoint);
/* The endpoint closes: the node forgets its calls, the callers get ESP_UNREACHABLE. */
void inproc_calls_close(struct inproc_endpoint *endpoint);
/* Frees all calls without calling back. */
void inproc_calls_clear(struct inproc *net);

#endif
