/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of envoys, shared by their files. */
#ifndef SED_ENVOY_INTERNAL_H
#define SED_ENVOY_INTERNAL_H

#include "sed/porter/porter_stream.h"
#include "sed/porter/porter_wire.h"
#include "sed/ranks/envoy.h"

#include <pthread.h>
#include <stdatomic.h>

#define ENVOY_ADDRESS 320

struct envoys {
    struct envoys_options options;
    int gate, stop;
    char at[ENVOY_ADDRESS];
    pthread_t keeper;
    bool has_keeper;
    _Atomic uint64_t sent, kept, moved; /* struct envoys_counts */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under the lock */
    uint32_t threads, strangers; /* strangers: of these, connections that are not authenticated yet */
    char secret[RANK_SECRET_TEXT];
    int64_t told_ns;               /* when a stranger was last logged; 0: never */
    struct porter_lenders lenders; /* ranks that lend, now */
};

struct envoy {
    struct envoys *envoys;
    int socket;  /* to the rank; -1: given to the pool */
    int channel; /* to the pool; -1: none, and nothing to serve */
    struct far_hello hello;
    struct porter_end end;
};

/* Authenticates a rank of the job. ESP_SECURITY, ESP_PROTOCOL, ESP_TIMEOUT, ... say why it failed;
 * ESP_CANCELLED: everything ends. */
enum esp_status envoy_meet(struct envoy *envoy, struct esp_error *error);
/* Passes calls to the rank. Returns when it is lost, or (ESP_CANCELLED) not needed any more. */
enum esp_status envoy_serve(const struct envoy *envoy, struct esp_error *error);

/* Waits for the rank's next message without a deadline, because the connection detects a dead peer.
 * ESP_UNREACHABLE: it has ended; if it sent the reason, that was passed to the pool at the channel `end`. */
enum esp_status envoy_hear(int socket, const struct porter_end *end, struct far_message *message,
                           struct esp_error *error);

/* ---- envoys.c ---- */

/* Notes that the rank lends at that port of its host (0: it does not, or is gone). */
void envoys_lends(const struct envoy *envoy, uint32_t port);
void envoys_lends_no_more(const struct envoy *envoy);

/* ---- envoy.c ---- */

/* One rank's part in a call in the ring of that job. */
struct envoy_call {
    int socket; /* to the rank */
    struct porter_end end;
    uint32_t rank;
    struct ring *ring;
    struct ring_job
        *job; /* a copy, because routines of this host may overwrite the ring's; FAR_JOB_BYTES of it */
    const int *files;
    uint32_t n_files;
    int bell;
    struct envoys *envoys; /* that count */
};

#endif
