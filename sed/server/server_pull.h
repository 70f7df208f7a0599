/* SPDX-License-Identifier: Apache-2.0
 *
 * A datum on its way here from another server, as these share it:
 *
 *     server_pull.c        who waits for it, and who asks
 *     server_pull_fetch.c  the thread that fetches it
 *     server_porters.c     pieces that come through porters, to lie otherwise here
 *     server_loans.c       pieces that porters lend
 */
#ifndef SED_SERVER_PULL_H
#define SED_SERVER_PULL_H

#include "core/hierarchy/membership.h"
#include "sed/server/server_data.h"
#include "sed/server/server_state.h"
#include "services/data/transfer.h"

#include <stdatomic.h>

#define PULL_ASK_MS   10000
#define PULL_CHUNK_MS 30000

struct pull {
    struct thread_job job;
    struct server *server;
    struct datum_id id; /* as it is called where it is, */
    struct datum_id as; /* and here */
    struct asker asker;
    enum datum_mode mode;
    uint32_t flags;
    bool laid; /* it is to lie as `layout` says, under an identity of its own */
    struct pull_layout layout;
    char addresses[CAP_SOURCES][CAP_ADDRESS + 1];
    uint32_t n_addresses;
    char above[CAP_ADDRESS + 1]; /* an agent that may know more holders; "": none */
    struct pull_waiter *waiters;
    bool asked_for; /* by who wants it here, and not by sessions only */
    atomic_bool stop;
    _Atomic uint64_t arrived, bytes;
    /* The thread's own: */
    bool begun; /* the store has room for it */
    bool stays; /* as a replica: somebody asked for one, or the source permits it */
    bool stuck; /* somebody may write to its memory for ever */
    uint64_t ticket;
    struct ranges done;
    UT_hash_handle hh; /* by as.key */
};

/* ---- server_pull_fetch.c ---- */

/* Has the datum fetched, and tells those who wait. A thread's work; frees the pull. */
void pull_run(void *pull);
/* A holder to be asked: false: it is known, or there are too many. */
bool pull_add_address(struct pull *pull, const char *address);

/* ---- server_pull.c ---- */

/* With the lock: tells all who wait. */
void pull_tell(struct pull *pull, enum esp_status status, const struct esp_error *error);

/* ---- server_porters.c ---- */

/* How a datum lies; one that is whole is one piece. ESP_INVALID: it is no matrix or vector. */
enum esp_status pull_lie(const struct datum_shape *shape, struct block_cyclic_matrix *layout,
                         struct esp_error *error);
/* The shape of what comes, as it is to lie here. ESP_INVALID: it cannot be in pieces. */
enum esp_status pull_lay(const struct pull *pull, struct datum_shape *shape, struct esp_error *error);
/* Has porters fill the datum, whose room the store has. The thread's; `opened` is the holder's answer. */
enum esp_status pull_carry(struct pull *pull, const char *address, const struct open_reply *opened,
                           struct esp_error *error);

#endif
