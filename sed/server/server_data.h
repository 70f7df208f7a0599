/* SPDX-License-Identifier: Apache-2.0
 *
 * Data that live on the server, as the files of the server daemon share them (see sed/server/server.h). All
 * under the endpoint's lock, but for what says otherwise.
 *
 * A ticket stands for one datum that is being put or read: who shows it with a chunk has been let in before.
 */
#ifndef SED_SERVER_DATA_H
#define SED_SERVER_DATA_H

#include "core/hierarchy/location.h"
#include "core/message/message.h"
#include "core/transport.h"
#include "sed/server/errands.h"
#include "sed/server/layings.h"
#include "services/data/replication.h"
#include "services/data/store.h"
#include "util/timer.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define DATA_MOST_TICKETS 10000
/* A ticket that no chunk has shown for so long ends: its asker is gone. */
#define DATA_TICKET_LEASE_NS (60 * NS_PER_S)

struct server;

/* Who asked, beyond the call that brought the question. */
struct asker {
    char identity[CAP_NAME + 1];
    struct store_asker is; /* `identity` is the one above */
};
void asker_set(struct asker *asker, const char *identity, bool trusted);
/* The same one again, with the client whose lease counts. */
void asker_copy(struct asker *to, const struct asker *from);
/* Who brought the call. */
void asker_of(const struct call *call, struct asker *asker);

struct ticket {
    uint64_t number;
    struct datum_id id;
    struct asker asker;
    bool put, lends;   /* an offer; an open whose pieces porters are to lend */
    bool lends_sealed; /* over encrypted connections */
    uint64_t bytes;
    struct store_pin *pin;      /* of an open */
    char *fetcher;              /* the server that reads it for a session; NULL: another asker */
    struct copy *copy;          /* the server that reads it to have a copy; NULL: another asker */
    bool moves;                 /* so that the original is there and not here */
    uint32_t moving;            /* chunks: the pin must stay */
    struct porter_loans *loans; /* the pieces that porters lend; NULL: none */
    bool over;                  /* goes when nothing moves any more */
    int64_t heard_ns;
    UT_hash_handle hh;
};

/* A server that may have a copy of a datum. */
struct copy {
    struct datum_key key;
    char *server, *address;
    bool moved; /* it is the original now */
    int64_t since_ns;
    struct copy *prev, *next;
};

/* The disk's part of something, done by a thread, and what comes then. */
struct chore {
    struct thread_job job;
    struct server *server;
    struct store_work *work;
    struct call *call; /* that waits for it; NULL: none, or it was given up */
    /* With the lock. `status`: of store_work_end(). */
    void (*then)(struct chore *chore, enum esp_status status, const struct esp_error *error);
    struct ticket *ticket;
    void *arg;
    struct chore *prev, *next;
};

struct server_data {
    struct store *store;       /* NULL: the server keeps no data */
    struct location *location; /* what the parent has to hear of: all is at child `here` */
    uint32_t here;
    struct replication *replication; /* which servers may keep copies; NULL: none may */
    struct copy *copies;             /* that agents may not know of yet, the oldest first */
    uint32_t n_copies;
    struct errands *errands;
    struct ticket *tickets;
    uint32_t n_tickets;
    struct chore *chores;
    struct pull *pulls;         /* by key */
    struct layings layings;     /* of the last data that were laid otherwise here */
    struct untaken *untaken;    /* that clients have ordered and do not know yet, by key */
    struct porter_loans *loans; /* that are being made */
    struct rescue *rescues;     /* originals whose files were damaged, and of which a copy is looked for */
    uint32_t n_rescues;
    uint64_t rescued;          /* whose place another server's copy took */
    struct returned *returned; /* data that may have been deleted elsewhere before the start; NULL: none */
    int64_t due_ns;            /* of tickets and leases */
    bool leaving;              /* no new errands */
    bool blocked;              /* some session waits for room */
    bool verifying;            /* a file is being read to see whether it is whole */
};

/* ---- server_data.c ---- */
enum esp_status server_data_create(struct server *server, struct esp_error *error);
void server_data_release(struct server *server);
void server_data_tick(struct server *server, int64_t now_ns);
/* The parent says that a datum was given up while this server could not be reached: it goes. */
void data_on_given_up(struct server *server, const struct order *order);
/* False: it is none of these. */
bool server_data_on_call(struct server *server, struct call *call, const struct message *request);
/* Whether it was a call about data. */
bool server_data_abandoned(struct server *server, struct call *call);
void server_data_on_chunk(struct server *server, const struct message *header, bool write,
                          struct chunk_area *area);
void server_data_on_chunk_done(struct server *server, bool write, struct chunk_area *area, bool complete);
/* Has the work done; then `chore->then` is called, perhaps from within. The chore is on the heap and goes
 * with it. `work` NULL: there is nothing to do, `then` comes at once. */
void server_data_chore(struct server *server, struct chore *chore, struct store_work *work);
/* Who may fetch the datum of that argument from here, where there are certificates (server_moves.c). */
void data_tell_fetchers(const struct server *server, uint32_t argument, const struct datum_id *id,
                        struct response *response, struct arena *arena);
/* A record of it, in the arena. False without memory. */
bool server_data_record(const struct server *server, const struct store_entry *entry, struct arena *arena,
                        struct datum_info *record);
/* What a record from outside says of the shape. ESP_INVALID. */
enum esp_status server_data_shape(const struct datum_info *record, struct datum_shape *shape,
                                  struct esp_error *error);

/* A client gives a sign of life. */
void server_data_client_seen(struct server *server, const uint64_t client[2]);

/* A datum has come or gone: agents are to hear of it. */
void server_data_news(void *self, const struct datum_id *id, uint64_t bytes, enum store_news news);

/* ---- server_copies.c ---- */
/* That server may have a copy of it: told to who asks for the datum, as long as agents may not know it.
 * Without memory it is not. */
void server_copies_note(struct server *server, struct datum_key key, const char *name, const char *address);

/* ---- server_consumed.c ---- */
/* A strict datum has been used here: has all other servers delete their copies of it, in the background. */
void server_data_consumed(struct server *server, const struct datum_id *id);

/* ---- server_pull.c ---- */
/* As what a datum comes. */
enum pull_kind {
    PULL_REPLICA,
    PULL_KEPT,  /* a copy that is kept by a mode of its own */
    PULL_MOVED, /* the original */
    PULL_LAID   /* another datum of the same value */
};
/* A session, or a call, that wants a datum here. */
struct pull_waiter {
    struct call *call; /* a pull_reply is wanted; NULL: `arrived` is called */
    void (*arrived)(struct pull_waiter *waiter, enum esp_status status, const struct esp_error *error);
    struct timer patience;
    enum pull_kind kind;
    bool asked, stays; /* told to `arrived`: a holder has counted the asking for it, and lets the copy stay */
    struct server *server;
    struct pull *pull;
    struct pull_waiter *prev, *next;
};
/* A matrix in pieces over rows x cols ranks; rows 0: in one piece. As it came, not looked at. */
struct pull_layout {
    int64_t rows, cols, row_block, col_block;
};
struct pull_wish {
    const struct datum_id *id;
    const char *const *sources; /* addresses, tried in this order, then whom the parent names */
    uint32_t n_sources;
    enum pull_kind kind;
    enum datum_mode mode; /* PULL_KEPT, PULL_MOVED: by which it is kept here */
    uint32_t flags;       /* of enum datum_flag, beside those that it has */
    const struct datum_id
        *as; /* another datum of the same value, that lies as `layout` says; NULL: the same */
    struct pull_layout layout;
    bool asked, stays; /* a replica: an earlier transfer for the same session has asked, and was told that */
    int64_t patience_ns; /* that nothing may come for, and for an answer of a holder; 0: a minute */
    int64_t room_ns;     /* to wait for room in the store; 0: a minute */
};
/* Brings the datum here unless it is; the waiter is called later, never from within. ESP_NO_MEMORY,
 * ESP_REFUSED (no store). */
enum esp_status server_pull(struct server *server, const struct asker *asker, const struct pull_wish *wish,
                            struct pull_waiter *waiter, struct esp_error *error);
/* It waits no longer. */
void server_pull_leave(struct pull_waiter *waiter);
/* The datum is deleted while a copy of it is on its way: gives that up. ESP_NOT_FOUND: none is; ESP_REFUSED:
 * it is somebody else's; ESP_BUSY: it is being written to the disk. */
enum esp_status server_pull_forbid(struct server *server, const struct asker *asker,
                                   const struct datum_id *id, struct esp_error *error);
/* Whether the original of it is just coming here: then nobody else is to have it from here. */
bool server_pull_moves(const struct server *server, struct datum_key key);
void server_on_pull(struct server *server, struct call *call, const struct message *request);
bool server_pull_abandoned(struct server *server, struct call *call);
/* The store has done its part for a pull of what is here: the `then` of a chore, with the pull's call. */
void server_pull_kept(struct chore *chore, enum esp_status status, const struct esp_error *error);
/* ---- server_loans.c ---- */
/* Has porters lend the pieces of the ticket's datum, and answers the open with where they are. The ticket
 * stays meanwhile. */
void server_loans_make(struct server *server, struct call *call, struct ticket *ticket);
bool server_loans_abandoned(struct server *server, struct call *call);
/* Nobody is to read them any more. NULL is nothing to do. */
void server_loans_end(struct porter_loans *loans);

/* Nobody wants it any more: whether it was on its way. */
bool server_pull_give_up(struct server *server, struct datum_key key);
/* All transfers are to end soon. */
void server_pull_stop(struct server *server);

#endif
