/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the in-process transport share: inproc.c (the network and its endpoints), inproc_parcel.c
 * (one-way messages) and inproc_call.c (requests, replies and chunks).
 */
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
    uint64_t id; /* tells it from earlier and later ones under the same address */
    uint64_t incarnation;
    const struct endpoint_ops *ops;
    void *self;
    bool alive;
    unsigned inside; /* operations and enters under way */
    struct timer tick;
    struct parcel *outbox;               /* posted during the operation, in order of the first message */
    struct parcel *outbox_by_address;    /* the newest parcel to each address */
    struct inproc_line *lines;           /* to whom it has posted: its connections */
    struct inproc_call *calls;           /* handed to the node and not answered */
    struct inproc_endpoint *prev, *next; /* among all, killed ones too */
    UT_hash_handle hh;                   /* by address, living ones only */
};

/* The connection for posts to an address; closed when its endpoint ends. */
struct inproc_line {
    UT_hash_handle hh;
    char to[];
};

/* A pair of addresses between which nothing passes. */
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
    struct inproc_call *calls; /* whose asker waits, or that a node holds */
    uint64_t last_id;
    bool running; /* inside inproc_run() */
};

/* One post under way (or, after a failed delivery, the news of it on its way back; or that the connection of
 * the sender is closed). */
struct parcel {
    struct batch batch;
    bool closes;
    struct timer timer;
    char *from, *to;
    uint64_t from_id, to_id; /* to_id: of what closes: to a later one under that address it tells nothing */
    struct parcel *prev, *next; /* in the sender's outbox, then among those under way */
    UT_hash_handle hh;          /* in the sender's outbox_by_address */
};

/* The name under which the asking side of calls appears in inproc_partition(). */
#define INPROC_CLIENT "client"

struct inproc *inproc_of(const struct inproc_endpoint *endpoint);
struct inproc_endpoint *inproc_find(const struct inproc *net, const char *address);
bool inproc_is_cut(const struct inproc *net, const char *a, const char *b);
/* When something sent now arrives. */
int64_t inproc_arrival_ns(struct inproc *net);
/* With a probability. */
bool inproc_draw(struct inproc *net, double probability);
/* Runs the next event; false when there is none by `until_ns`. */
bool inproc_step(struct inproc *net, int64_t until_ns);

/* Around each call of an operation: end() sends what was posted and asks when the next tick is due. */
void inproc_begin(struct inproc_endpoint *endpoint);
void inproc_end(struct inproc_endpoint *endpoint);

/* ---- inproc_parcel.c ---- */

enum esp_status inproc_post(struct endpoint *base, const char *address, uint64_t to_incarnation,
                            const struct message *message, struct esp_error *error);
/* On its way, with all that can happen to it there; takes it over. */
void parcel_send(struct inproc *net, struct parcel *parcel);
/* One that is under way comes to nothing. */
void parcel_end(struct inproc *net, struct parcel *parcel);
void parcel_free(struct parcel *parcel);
/* Those that the endpoint has posted to hear that it hung up, if they are to be told and are not cut off now.
 */
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
/* The endpoint was killed: its askers learn that their calls were perhaps executed. */
void inproc_calls_lost(struct inproc_endpoint *endpoint);
/* The endpoint closes: the node forgets its calls, the askers get ESP_UNREACHABLE. */
void inproc_calls_close(struct inproc_endpoint *endpoint);
/* Frees all that is under way, calling nobody. */
void inproc_calls_clear(struct inproc *net);

#endif
