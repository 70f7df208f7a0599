/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the table of sessions: client/session/table.c has their lives, client/session/table_wait.c who asks
 * after them and waits.
 */
#ifndef CLIENT_TABLE_PARTS_H
#define CLIENT_TABLE_PARTS_H

#include "client/session/failures.h"
#include "client/session/table.h"

#define HASH_NONFATAL_OOM 1 /* a library does not end the process */
#include <uthash.h>

struct ticket {
    UT_hash_handle hh;
    grpc_sessionid_t id;
    uint64_t serial; /* in the order of starting; ids come again */
    grpc_function_handle_t *handle;
    uint64_t handle_number;
    struct table *table;
    struct session *session; /* until it is reported, then */
    struct past *past;       /* what is kept; NULL: there was no memory for that */
    bool ended, reported;
    bool pinned;         /* it failed, and there was no memory to remember that */
    unsigned cancelling; /* threads that look at the session without the lock */
    unsigned users;      /* threads that look at it without the lock, or wait for it */
    struct ticket *prev, *next;
};

struct table {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct ticket *tickets; /* by id */
    struct ticket *running, *ended, *reported;
    unsigned n_reported;
    uint64_t last_serial;
    grpc_sessionid_t first_id, last_id; /* known: between them, both included */
    struct failures *failures;
};

/* With the lock held. NULL: there is none, or it is kept no more. */
struct ticket *table_find(struct table *table, grpc_sessionid_t id);
/* With the lock held: it was reported so long ago that how it ended is all that is known. */
bool table_is_past(struct table *table, grpc_sessionid_t id);
/* Of one that has ended; `error` is set when it failed. */
enum esp_status table_how_it_ended(const struct ticket *ticket, struct esp_error *error);

#endif
