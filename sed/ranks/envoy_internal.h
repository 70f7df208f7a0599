/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of envoys share.
 */
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
    uint32_t threads, strangers; /* strangers: of these, who has not proved anything */
    char secret[RANK_SECRET_TEXT];
    int64_t told_ns;               /* when the log last told of a stranger; 0: never */
    struct porter_lenders lenders; /* those that are there */
};

struct envoy {
    struct envoys *envoys;
    int socket;  /* to the rank; -1: it was given to the pool */
    int channel; /* to the pool; -1: there is none, and nothing to serve */
    struct far_hello hello;
    struct porter_end end;
};

/* Lets in who proves that it is a rank of the job. ESP_SECURITY, ESP_PROTOCOL, ESP_TIMEOUT, ... tell why it
 * is not; ESP_CANCELLED: all of it ends. */
enum esp_status envoy_meet(struct envoy *envoy, struct esp_error *error);
/* Hands it calls. Returns when it is lost, or (ESP_CANCELLED) wanted no more. */
enum esp_status envoy_serve(const struct envoy *envoy, struct esp_error *error);

/* The rank's next message, however long it takes: who is dead is noticed by the connection. ESP_UNREACHABLE:
 * it has ended; if it has said how, the pool at the channel `end` was told. */
enum esp_status envoy_hear(int socket, const struct porter_end *end, struct far_message *message,
                           struct esp_error *error);

/* ---- envoys.c ---- */

/* The rank lends at that port of its host (0: nowhere); or is gone. */
void envoys_lends(const struct envoy *envoy, uint32_t port);
void envoys_lends_no_more(const struct envoy *envoy);

/* ---- envoy.c ---- */

/* One rank's side of a call in the ring of that job. */
struct envoy_call {
    int socket; /* to the rank */
    struct porter_end end;
    uint32_t rank;
    struct ring *ring;
    struct ring_job *job; /* a copy: routines of this host may write over the ring's; FAR_JOB_BYTES of it */
    const int *files;
    uint32_t n_files;
    int bell;
    struct envoys *envoys; /* that count */
};

#endif
