/* SPDX-License-Identifier: Apache-2.0
 *
 * The data that live on a server: clients and servers put, read, list and delete them; the server fetches
 * them from other servers. Sessions use them as arguments and results (sed/server/server_operands.h).
 *
 * This room knows the server by the operations in struct server_data_ops only. All functions are called under
 * the endpoint's lock, except where a comment says otherwise.
 */
#ifndef SED_DATA_H
#define SED_DATA_H

#include "core/choice/estimate.h"
#include "core/message/message.h"
#include "core/transport.h"
#include "sed/data/errands.h"
#include "sed/data/layings.h"
#include "services/data/store.h"
#include "util/metrics.h"
#include "util/timer.h"

struct server_data;
struct ticket;
struct pull;
struct files;
struct config_strings;
struct porter_list;
struct porter_lenders;

/* Questions and news of the data for their server. `server` is the pointer that was given to
 * server_data_create(). All slots are called under the endpoint's lock and must not block, except `traffic`
 * and the two of fetches. */
struct server_data_ops {
    /* A datum has come or gone, which is news for agents. */
    void (*news)(void *server);
    /* The address of the parent; NULL while there is none. */
    const char *(*parent)(const void *server);
    /* Whether the server is, or is to be, part of a hierarchy. */
    bool (*has_parents)(const void *server);
    /* Whether the server takes new data: ESP_OK, or why not. */
    enum esp_status (*takes)(const void *server, struct esp_error *error);
    /* Whether a server that takes none is expected to start again soon. */
    bool (*is_back_soon)(const void *server);
    /* Whether the sender may see the damaged files of all owners. */
    bool (*permits)(const void *server, const struct envelope *envelope);
    /* Whether nothing computes, so that files may be read to see whether they are whole. */
    bool (*is_idle)(const void *server);
    /* The store may have room again for sessions that found none (server_data_block()). */
    void (*room)(void *server);
    /* A transfer that a probe of a link would measure as well begins or ends. Any thread. */
    void (*traffic)(void *server, bool begins);
    /* A fetch from that server begins. Returns a mark for `fetch_ends`. Without the lock. */
    double (*fetch_begins)(void *server, const char *peer);
    /* The fetch has ended. Returns the seconds for which it had the link to itself, as far as this server
     * knows; 0: unknown. Without the lock. */
    double (*fetch_ends)(void *server, const char *peer, double begun_ns);
};

struct server_data_options {
    const char *name; /* of the server; this and all pointers below are borrowed, except `files` */
    const struct clock *clock;
    struct segments *segments;
    struct timers *timers;
    uint64_t seed;
    uint64_t store_memory; /* bytes; 0: the server keeps no data */
    uint64_t store_disk;   /* bytes */
    struct files *files;   /* taken over, also when creating fails; NULL: there is no disk */
    int64_t data_lease_ns, replica_rest_ns;
    uint32_t replicas, replica_asks;
    uint64_t replica_bytes;
    struct errands *errands; /* NULL: nothing is fetched */
    const struct config_strings *data_servers;
    void (*fetched)(void *arg, const char *from, uint64_t bytes, double seconds);
    void *fetched_arg;
    void (*porters)(void *arg, struct porter_list *list);
    void (*lenders)(void *arg, struct datum_key value, uint64_t ticket, struct porter_lenders *lenders);
    void *porters_arg;
    bool porters_seal;
};

enum esp_status server_data_create(const struct server_data_options *options,
                                   const struct server_data_ops *ops, void *server, struct server_data **data,
                                   struct esp_error *error);
/* NULL is nothing to do. */
void server_data_destroy(struct server_data *data);
/* The endpoint is open: transfers and news go over it. */
void server_data_start(struct server_data *data, struct endpoint *endpoint);
/* No new work for threads from now on; transfers end soon. */
void server_data_stop(struct server_data *data);
/* When server_data_tick() is to be called next. */
int64_t server_data_due(const struct server_data *data);
void server_data_tick(struct server_data *data, int64_t now_ns);

/* ---- messages ---- */

/* False: the call is not about data. */
bool server_data_on_call(struct server_data *data, struct call *call, const struct message *request);
/* Whether the call that was abandoned was about data. */
bool server_data_abandoned(struct server_data *data, struct call *call);
void server_data_on_chunk(struct server_data *data, const struct message *header, bool write,
                          struct chunk_area *area);
void server_data_on_chunk_done(struct server_data *data, bool write, struct chunk_area *area, bool complete);
/* The parent says that a datum was given up while this server could not be reached: the datum is deleted. */
void server_data_on_given_up(struct server_data *data, const struct order *order);
/* The client is alive: its volatile data stay. */
void server_data_client_seen(struct server_data *data, const uint64_t client[2]);

/* ---- what agents and administrators hear ---- */

/* Adds the data that have come and gone since the last report, or all. */
void server_data_report(struct server_data *data, bool complete, struct message *message);
/* Whether a report did not hold all news. */
bool server_data_has_news(const struct server_data *data);
/* Adds to an answer which of the request's data are here. `certified`: the peer has a certificate, so the
 * answer also says which servers may fetch them. */
void server_data_answer(const struct server_data *data, const struct request *request, bool certified,
                        struct message *answer);
void server_data_metrics(const struct server_data *data, struct metrics *metrics);

/* ---- what sessions use ---- */

/* NULL: the server keeps no data. */
struct store *server_data_store(const struct server_data *data);
/* Has a thread run the job. False: no thread can, or the server shuts down. */
bool server_data_submit(struct server_data *data, struct thread_job *job);
/* A session found no room in the store: ops->room is called soon. */
void server_data_block(struct server_data *data);
/* The datum from which that one was made by laying it otherwise here; NULL: unknown. */
const struct laying *server_data_laying(const struct server_data *data, struct datum_key key);
/* A strict datum has been used here: has all other servers delete their copies of it, in the background. */
void server_data_consumed(struct server_data *data, const struct datum_id *id);

/* The node on whose behalf something is done with a datum, beyond the call that brought the question. */
struct asker {
    char identity[CAP_NAME + 1];
    struct store_asker is; /* `identity` points to the array above */
};
void asker_set(struct asker *asker, const char *identity, bool trusted);
/* Copies the asker, with the client whose lease counts. */
void asker_copy(struct asker *to, const struct asker *from);
/* The sender of the call. */
void asker_of(const struct call *call, struct asker *asker);

/* Work on the disk by a thread, and what comes after it. */
struct chore {
    struct thread_job job;
    struct server_data *data;
    struct store_work *work;
    struct call *call; /* that waits for the work; NULL: none, or it was given up */
    /* With the lock. `status`: of store_work_end(). */
    void (*then)(struct chore *chore, enum esp_status status, const struct esp_error *error);
    struct ticket *ticket;
    void *arg;
    struct chore *prev, *next;
};
/* Has the work done; then calls `chore->then`, perhaps before this returns. The chore is on the heap and is
 * freed afterwards. `work` NULL: there is nothing to do, and `then` is called at once. */
void server_data_chore(struct server_data *data, struct chore *chore, struct store_work *work);

/* Kinds of copies that are fetched. */
enum pull_kind {
    PULL_REPLICA,
    PULL_KEPT,  /* a copy that is kept by a mode of its own */
    PULL_MOVED, /* the original */
    PULL_LAID   /* another datum of the same value */
};
/* A session, or a call, that waits for a datum to come. */
struct pull_waiter {
    struct call *call; /* that wants a pull_reply; NULL: `arrived` is called */
    void (*arrived)(struct pull_waiter *waiter, enum esp_status status, const struct esp_error *error);
    struct timer patience;
    enum pull_kind kind;
    bool asked; /* for `arrived`: a holder has counted this request for the datum, */
    bool stays; /* and lets the copy stay */
    struct server_data *data;
    struct pull *pull;
    struct pull_waiter *prev, *next;
};
/* A matrix in pieces over rows x cols ranks; rows 0: in one piece. As a message had it, unchecked. */
struct pull_layout {
    int64_t rows, cols, row_block, col_block;
};
struct pull_wish {
    const struct datum_id *id;
    const char *const *sources; /* addresses, tried in this order before those that the parent names */
    uint32_t n_sources;
    enum pull_kind kind;
    enum datum_mode mode; /* PULL_KEPT, PULL_MOVED: by which the datum is kept here */
    uint32_t flags;       /* of enum datum_flag, beside those that the datum has */
    const struct datum_id
        *as; /* another datum of the same value, that lies as `layout` says; NULL: the same datum */
    struct pull_layout layout;
    bool asked, stays;   /* a replica: what an earlier transfer for the same session was told */
    int64_t patience_ns; /* that nothing may come for, and for an answer of a holder; 0: a minute */
    int64_t room_ns;     /* to wait for room in the store; 0: a minute */
};
/* Fetches the datum unless it is here. The waiter is called later, never before this returns. ESP_NO_MEMORY,
 * ESP_REFUSED (no store). */
enum esp_status server_data_pull(struct server_data *data, const struct asker *asker,
                                 const struct pull_wish *wish, struct pull_waiter *waiter,
                                 struct esp_error *error);
/* The waiter waits no longer. */
void server_data_pull_leave(struct pull_waiter *waiter);

#endif
