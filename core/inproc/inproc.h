/* SPDX-License-Identifier: Apache-2.0
 *
 * The in-process transport: the same messages through the same codec and caps, from a queue and a clock
 * that a test or a simulation owns. Single-threaded: everything happens inside inproc_run().
 *
 * Addresses are the endpoints' names, or what follows INPROC_LISTEN in `listen`. Faults are drawn from a
 * seeded generator, so that a run can be repeated.
 */
#ifndef CORE_INPROC_H
#define CORE_INPROC_H

#include "core/transport.h"
#include "util/clock.h"

#define INPROC_LISTEN "inproc:"

/* How the network treats what is sent; an all-zero struct is a perfect one. */
struct inproc_faults {
    int64_t latency_ns; /* each message, one way */
    int64_t jitter_ns;  /* 0 .. that much more: messages overtake each other */
    double lose;        /* probability that a one-way message is lost */
    double duplicate;   /* probability that it comes twice */
    double maybe;       /* probability that a call's reply is lost: the asker gets ESP_MAYBE */
    /* Probability that a request (not a chunk) comes once more, up to so much later: its connection broke,
     * and it still lay in the server's socket while the client asked again on another one. */
    double ghost;
    int64_t ghost_ns;
    double damage; /* probability that a chunk comes with a bit turned over (chunks have checksums then) */
};

/* The manual clock starts at 1 s. */
enum esp_status inproc_create(uint64_t seed, struct transport **transport, struct esp_error *error);

void inproc_set_faults(struct transport *transport, const struct inproc_faults *faults);
/* For all between two addresses, both ways: nothing passes (calls end in ESP_TIMEOUT, posts vanish). The
 * askers of calls have the address "client". */
void inproc_partition(struct transport *transport, const char *a, const char *b, bool cut);
/* As if the process died: its endpoint no longer answers, others get ESP_UNREACHABLE / undelivered, and those
 * that it has posted to hear that it has hung up. The state machine itself is the test's to destroy, and so
 * is the endpoint (endpoint_close(), which calls no operation any more). Another may serve under the address
 * at once. */
void inproc_kill(struct transport *transport, const char *address);
/* As if all connections of that address were closed that it has posted on, while it goes on: those at their
 * other ends hear that it has hung up. */
void inproc_hang_up(struct transport *transport, const char *address);

/* Runs what is due until nothing is left to do before `until_ns`; the clock then stands at `until_ns`.
 * Returns the number of events run. */
uint64_t inproc_run(struct transport *transport, int64_t until_ns);
/* Runs until the next `max_events` events are done or nothing is left at all; the clock stands at the last.
 */
uint64_t inproc_run_events(struct transport *transport, uint64_t max_events);

int64_t inproc_now_ns(const struct transport *transport);

/* A call that does not block: `done` is called from inproc_run(), with the reply and its outcome as `status`;
 * with NULL when no reply came. The reply dies when `done` returns. Not for chunks. */
typedef void inproc_done(void *arg, enum esp_status status, const struct message *reply);
enum esp_status inproc_call_async(struct transport *transport, const char *address,
                                  const struct message *request, int64_t timeout_ms, inproc_done *done,
                                  void *arg, struct esp_error *error);

/* What has been sent so far, for assertions on traffic. */
struct inproc_counters {
    uint64_t posts, messages, calls, bytes, lost, duplicated;
};
void inproc_counters(const struct transport *transport, struct inproc_counters *counters);

#endif
