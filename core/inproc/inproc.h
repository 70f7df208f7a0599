/* SPDX-License-Identifier: Apache-2.0
 *
 * The in-process transport: the same messages through the same codec and caps, driven by a queue and a
 * clock that a test or a simulation owns. Single-threaded: everything happens inside inproc_run().
 *
 * Addresses are the endpoints' names, or the text after INPROC_LISTEN in `listen`. Faults are drawn from a
 * seeded generator, so that a run can be repeated. */
#ifndef CORE_INPROC_H
#define CORE_INPROC_H

#include "core/transport.h"
#include "util/clock.h"

#define INPROC_LISTEN "inproc:"

/* Faults of the network; an all-zero struct has none. */
struct inproc_faults {
    int64_t latency_ns; /* of each message, one way */
    int64_t jitter_ns;  /* up to this much more, at random: messages overtake each other */
    double lose;        /* probability that a one-way message is lost */
    double duplicate;   /* probability that a one-way message arrives twice */
    double maybe;       /* probability that a call's reply is lost: the caller gets ESP_MAYBE */
    /* Probability that a request (not a chunk) arrives once more, up to that much later. This imitates a
     * connection that broke while the request was still in the server's socket, after which the client
     * asked again over another connection. */
    double ghost;
    int64_t ghost_ns;
    double damage; /* probability that a chunk arrives with a flipped bit (chunks have checksums then) */
};

/* The manual clock starts at 1 s. */
enum esp_status inproc_create(uint64_t seed, struct transport **transport, struct esp_error *error);

void inproc_set_faults(struct transport *transport, const struct inproc_faults *faults);
/* Cuts the network between two addresses, both ways: calls end in ESP_TIMEOUT, posts vanish. Callers have
 * the address "client". */
void inproc_partition(struct transport *transport, const char *a, const char *b, bool cut);
/* Imitates the death of the process: its endpoint stops answering, other nodes get ESP_UNREACHABLE or
 * undelivered(), and nodes that it has posted to get hung_up(). The test destroys the state machine
 * itself, and the endpoint (endpoint_close(), which calls no operation any more). Another endpoint may
 * serve under the address at once. */
void inproc_kill(struct transport *transport, const char *address);
/* Closes all connections that the node at that address has posted on, while it continues: the nodes at the
 * other ends get hung_up(). */
void inproc_hang_up(struct transport *transport, const char *address);

/* Runs all events due until `until_ns`; the clock then stands at `until_ns`. Returns the number of events. */
uint64_t inproc_run(struct transport *transport, int64_t until_ns);
/* Runs until `max_events` events are done or none is left; the clock stands at the last. */
uint64_t inproc_run_events(struct transport *transport, uint64_t max_events);

int64_t inproc_now_ns(const struct transport *transport);

/* Starts a call without blocking. `done` is called from inproc_run(), with the reply and its outcome as
 * `status`, or with NULL when no reply came. The reply is freed when `done` returns. Not for chunks. */
typedef void inproc_done(void *arg, enum esp_status status, const struct message *reply);
enum esp_status inproc_call_async(struct transport *transport, const char *address,
                                  const struct message *request, int64_t timeout_ms, inproc_done *done,
                                  void *arg, struct esp_error *error);

/* Counts of everything sent so far, for assertions on traffic. */
struct inproc_counters {
    uint64_t posts, messages, calls, bytes, lost, duplicated;
};
void inproc_counters(const struct transport *transport, struct inproc_counters *counters);

#endif
