/* SPDX-License-Identifier: Apache-2.0
 *
 * Declarations that the files of this room share. From the bottom up:
 *
 *     layings.c     data that were made here by laying other data otherwise
 *     errands.c     threads for work that blocks
 *     chores.c      the asker of a call, work on the disk, records of data
 *     holders.c     servers that may have a datum: copies given away lately, and servers that other nodes
 * name tickets.c     tickets, their chunks, and pieces that porters lend moves.c       offer, open, finish,
 * drop; handing the original to another server; replicas pull.c        fetching: the waiters; moves of an
 * original to this server; data that no client has taken pull_fetch.c  fetching: the thread porters.c
 * fetching a matrix in pieces that is to lie otherwise here rescue.c      damaged files and originals; data
 * that were deleted elsewhere while this server was away data.c        calls, the clock, create and destroy
 *
 * A ticket stands for one datum that is being put or read. The sender of a chunk shows the number of the
 * ticket.
 *
 * All functions are called under the endpoint's lock, except where a comment says otherwise.
 */
#ifndef SED_DATA_INTERNAL_H
#define SED_DATA_INTERNAL_H

#include "core/hierarchy/location.h"
#include "sed/data/data.h"
#include "services/data/replication.h"
#include "services/data/transfer.h"
#include "util/clock.h"
#include "util/config.h"
#include "util/log.h"

#include <stdatomic.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct porter_order;
struct porter_lenders;
struct porter_loans;

#define DATA_MOST_TICKETS 10000
/* A ticket ends after so long without a chunk: its asker is gone. */
#define DATA_TICKET_LEASE_NS (60 * NS_PER_S)

struct ticket {
    uint64_t number;
    struct datum_id id;
    struct asker asker;
    bool put;          /* of an offer; else of an open */
    bool lends;        /* an open: porters lend the pieces */
    bool lends_sealed; /* over encrypted connections */
    uint64_t bytes;
    struct store_pin *pin;      /* of an open */
    char *fetcher;              /* the server that reads the datum for a session; NULL: another asker */
    struct copy *copy;          /* the server that reads the datum to have a copy; NULL: another asker */
    bool moves;                 /* the original goes to the asker */
    uint32_t moving;            /* chunks under way: the pin must stay */
    struct porter_loans *loans; /* the pieces that porters lend; NULL: none */
    bool over;                  /* ends when no chunk is under way */
    int64_t heard_ns;
    UT_hash_handle hh;
};

/* A server that may have a copy of a datum. */
struct copy {
    struct datum_key key;
    char *server, *address;
    bool moved; /* the copy is the original now */
    int64_t since_ns;
    struct copy *prev, *next;
};

struct server_data {
    struct server_data_options options;
    const struct server_data_ops *ops;
    void *server;
    struct endpoint *endpoint; /* NULL until server_data_start() */
    struct store *store;       /* NULL: the server keeps no data */
    struct location *location; /* news for the parent: all data are at child `here` */
    uint32_t here;
    struct replication *replication; /* which servers may keep copies; NULL: none may */
    struct copy *copies;             /* that agents may not know of yet, the oldest first */
    uint32_t n_copies;
    struct errands *errands;
    struct ticket *tickets; /* by number */
    uint32_t n_tickets;
    struct chore *chores;       /* under way */
    struct pull *pulls;         /* by key */
    struct layings layings;     /* of the last data that were laid otherwise here */
    struct untaken *untaken;    /* data that clients have ordered and not taken yet, by key */
    struct porter_loans *loans; /* that are being made */
    struct rescue *rescues;     /* originals with damaged files, of which a copy is searched */
    uint32_t n_rescues;
    uint64_t rescued;          /* originals that were replaced by a copy */
    struct returned *returned; /* data that may have been deleted elsewhere before the start; NULL: none */
    int64_t due_ns;            /* when server_data_tick() has work */
    bool leaving;              /* no new errands */
    bool blocked;              /* a session waits for room */
    bool verifying;            /* a file is being read to see whether it is whole */
};

static inline int64_t data_now(const struct server_data *data)
{
    return clock_now_ns(data->options.clock);
}

/* ---- chores.c ---- */

/* Answers the call with the error. `datum` (or NULL) is for the log. */
void data_refuse(struct call *call, enum message_kind reply, const char *datum,
                 const struct esp_error *error);
void data_done(struct call *call);
/* The sender of the call, and the client that the extensions name. Renews the lease of that client. */
void data_asker_of(struct server_data *data, const struct call *call, const struct extensions *extensions,
                   struct asker *asker);
/* NULL without memory. */
struct chore *chore_for(struct call *call, struct ticket *ticket,
                        void (*then)(struct chore *chore, enum esp_status status,
                                     const struct esp_error *error));
/* Makes a record of the entry, in the arena. False without memory. */
bool data_record(const struct server_data *data, const struct store_entry *entry, struct arena *arena,
                 struct datum_info *record);
/* Reads the shape in a record from outside. ESP_INVALID. */
enum esp_status data_shape(const struct datum_info *record, struct datum_shape *shape,
                           struct esp_error *error);

/* ---- holders.c ---- */

#define HOLDERS_MOST 64

struct holder {
    char address[CAP_ADDRESS + 1];
    bool is_agent;
};

/* Nodes that may know where a datum is beside this server. A thread asks one after the other. */
struct holders {
    struct transport *transport;
    char id[DATUM_TEXT], own[CAP_ADDRESS + 1], name[CAP_NAME + 1]; /* `own`, `name`: of this server */
    struct holder items[HOLDERS_MOST];                             /* grows while nodes are asked */
    uint32_t n;
};

/* Begins with the nodes that are known here. With the lock. */
void holders_begin(struct holders *holders, struct server_data *data, const struct datum_id *id);
/* Asks the node at that address for the datum, and notes the nodes that it names. The caller clears *reply, a
 * data_reply, in every case. Without the lock; waits for the answer. */
enum esp_status holders_ask_at(struct holders *holders, const char *address, int64_t timeout_ms,
                               struct message *reply, struct esp_error *error);
/* Asks number `i`, with a timeout of ten seconds. */
enum esp_status holders_ask(struct holders *holders, uint32_t i, struct message *reply,
                            struct esp_error *error);

/* Reads the fetching server from an open (EXTENSION_COPIES). NULL: there is none, or no memory. */
struct copy *copy_read(struct datum_key key, const struct extensions *extensions);
void copy_destroy(struct copy *copy);
/* The transfer to that server has ended. Takes the copy over. NULL is nothing to do. */
void copies_note(struct server_data *data, struct copy *copy);
/* That server may have a copy: askers for the datum hear it as long as agents may not know it. Does nothing
 * without memory. */
void copies_note_source(struct server_data *data, struct datum_key key, const char *name,
                        const char *address);
/* Adds to the answer which servers may have copies, which servers keep the datum, and whether it was deleted.
 */
void copies_tell(struct server_data *data, struct datum_key key, struct message *reply);
/* The copy on that server is the original now. */
void copies_note_moved(struct server_data *data, struct datum_key key, const char *name);
bool copies_has_moved(const struct server_data *data, struct datum_key key, const char *name);
void copies_release(struct server_data *data);

/* ---- tickets.c ---- */

/* NULL: there is no ticket of that number, or it is over. */
struct ticket *ticket_find(struct server_data *data, uint64_t number);
/* NULL: ESP_BUSY, ESP_NO_MEMORY. */
struct ticket *ticket_create(struct server_data *data, const struct datum_id *id, const struct asker *asker,
                             bool put, struct esp_error *error);
/* Ends the ticket, at once or when no chunk is under way. */
void ticket_end(struct server_data *data, struct ticket *ticket);
/* The offer of that datum that is under way; NULL: none is. */
struct ticket *ticket_of_offer(struct server_data *data, struct datum_key key);
/* The ticket with that number, key and kind. NULL: ESP_NOT_FOUND. */
struct ticket *ticket_shown(struct server_data *data, uint64_t number, struct datum_key key, bool put,
                            struct esp_error *error);
/* Ends tickets that no chunk has shown for too long. */
void tickets_tick(struct server_data *data, int64_t now_ns);
void tickets_release(struct server_data *data);

/* Has porters lend the pieces of the ticket's datum, and answers the open with where the pieces are. The
 * ticket stays until then. */
void loans_make(struct server_data *data, struct call *call, struct ticket *ticket);
bool loans_abandoned(struct server_data *data, struct call *call);
/* The pieces are lent no longer. NULL is nothing to do. */
void loans_end(struct porter_loans *loans);

/* ---- moves.c ---- */

void data_on_offer(struct server_data *data, struct call *call, const struct offer *offer);
void data_on_open(struct server_data *data, struct call *call, const struct open *open);
/* The reply to an open. NULL without memory. */
struct message *data_open_answer(struct server_data *data, const struct ticket *ticket);
void data_on_finish(struct server_data *data, struct call *call, const struct finish *finish);
void data_on_drop(struct server_data *data, struct call *call, const struct drop *drop);
/* Whether the peer is a server that may use everybody's data (data_servers). */
bool data_is_server(const struct server_data *data, const char *identity);
/* Adds to the response which servers may fetch the datum of that argument from here. */
void data_tell_fetchers(const struct server_data *data, uint32_t argument, const struct datum_id *id,
                        struct response *response, struct arena *arena);
/* Promises the original to the asker of the ticket, if it wants the original. ESP_NOT_FOUND: there is only a
 * replica here; ESP_REFUSED: the original may not move, or is promised to another server. */
enum esp_status data_claim(struct server_data *data, struct ticket *ticket,
                           const struct extensions *extensions, struct esp_error *error);
/* Withdraws the promise of the original: it is at another server, or stays here. */
void data_reclaim(struct server_data *data, struct datum_key key);
/* The server to which the original was promised has it (EXTENSION_MOVES): the datum here goes. ESP_REFUSED:
 * the original stays here, or was deleted; then that server must drop its own. ESP_NOT_FOUND: the original
 * was not promised, or is not here. */
void data_hand_over(struct server_data *data, struct call *call, const struct finish *finish,
                    const struct datum_id *id, const struct extension *to);

enum esp_status replicas_create(struct server_data *data, struct esp_error *error);
/* Notes the server that reads the datum for a session. */
void replicas_note(struct ticket *ticket, const struct extensions *extensions);
/* Adds to the answer of an open whether the copy may stay on that server. */
void replicas_answer(struct server_data *data, const struct ticket *ticket, const struct store_entry *entry,
                     struct message *reply);

/* ---- pull.c ---- */

#define PULL_ASK_MS   10000
#define PULL_CHUNK_MS 30000
#define PULL_LEAST_MS 200 /* the shortest wait for anything, whatever the patience */
/* A holder that sends nothing for so long, and for several times as long as its answers took, is left for
 * another holder. When all are silent, they are asked again, each time with twice this limit. */
#define PULL_SILENCE_MS      2000
#define PULL_SILENCE_ANSWERS 4
#define PULL_BUSY_MS         50 /* pause before a store without room is asked again */

/* A datum on its way to this server. */
struct pull {
    struct thread_job job;
    struct server_data *data;
    struct datum_id id; /* its identity at the holder */
    struct datum_id as; /* its identity here */
    struct asker asker;
    enum pull_kind kind;
    enum datum_mode mode;
    uint32_t flags;
    bool laid; /* PULL_LAID: the datum is to lie as `layout` says, under an identity of its own */
    char here[CAP_ADDRESS + 1]; /* this server's address */
    struct pull_layout layout;
    struct block_cyclic_matrix lies; /* laid: the layout at the holder */
    char addresses[CAP_SOURCES][CAP_ADDRESS + 1];
    bool silent[CAP_SOURCES]; /* the holder was not reached, or sent nothing */
    uint32_t n_addresses;
    struct holders known; /* agents that may know more holders, and holders that were named */
    uint32_t n_asked;     /* of `known`: the agents that have been asked */
    struct pull_waiter *waiters;
    bool asked_for; /* a call wants the datum here, not only sessions */
    bool counted;   /* an earlier transfer for the same session was counted as a request for a copy */
    /* The patience of the most patient waiter: without anything coming, and for room in the store. */
    _Atomic int64_t patience_ns, room_ns;
    atomic_bool stop;
    bool forbidden; /* with the lock: the datum was deleted meanwhile */
    _Atomic uint64_t arrived, bytes;
    /* For the thread alone: */
    bool begun;                  /* the store has room for the datum */
    bool asked;                  /* a holder has answered */
    bool opened;                 /* the present holder has let this server in */
    bool stays;                  /* the replica stays: a call wants it, or the holder permits it */
    bool stuck;                  /* a chunk may write to the memory at any time: nothing else may */
    int64_t answer_ms;           /* the longest time that a holder took to let this server in */
    int64_t silence_ms;          /* the limit for a silent holder; 0: nothing is fetched now */
    bool promotes;               /* a replica that is here becomes the original */
    char giver[CAP_ADDRESS + 1]; /* the holder that has promised the original, "": none */
    uint64_t ticket;             /* of that promise */
    struct ranges done;
    _Atomic int64_t since_ns; /* when something came last, or another holder was asked */
    UT_hash_handle hh;        /* by as.key */
};

/* Tells all waiters. */
void pull_tell(struct pull *pull, enum esp_status status, const struct esp_error *error);
void data_on_pull(struct server_data *data, struct call *call, const struct message *request);
bool pull_abandoned(struct server_data *data, struct call *call);
/* `then` of a chore for a call that pulls a datum that is here: answers the call. */
void pull_kept(struct chore *chore, enum esp_status status, const struct esp_error *error);
/* The datum is deleted: ends a transfer of it. ESP_NOT_FOUND: there is none; ESP_REFUSED: the datum belongs
 * to another owner; ESP_BUSY: the datum is being written to the disk. */
enum esp_status pull_forbid(struct server_data *data, const struct asker *asker, const struct datum_id *id,
                            struct esp_error *error);
/* Whether the original is moving here. Then no other server may have it from here. */
bool pull_moves(const struct server_data *data, struct datum_key key);
/* Ends a transfer that nobody waits for. Whether there was one. */
bool pull_give_up(struct server_data *data, struct datum_key key);
/* All transfers end soon. */
void pull_stop_all(struct server_data *data);

/* Whether there is an original here already. ESP_REFUSED: it belongs to another owner. */
enum esp_status pull_find_original(struct pull *pull, bool *is_here, struct esp_error *error);
/* An original is here: reads it, then has each other holder of an original delete its own. (A server that
 * dies at the end of a move leaves two originals.) The error is that of the first holder that fails. In the
 * thread. */
enum esp_status pull_settle(struct pull *pull, struct esp_error *error);
/* Makes the replica here an original. In the thread. */
enum esp_status pull_promote(struct pull *pull, struct esp_error *error);
/* The datum is here for good: has the giver delete its own. ESP_REFUSED: another server was faster, or the
 * datum was deleted at the giver, so it was deleted here; ESP_NOT_FOUND: it was deleted here. In the thread.
 */
enum esp_status pull_take_over(struct pull *pull, struct esp_error *error);

/* A client orders a datum that is to be made here, and waits so long for it: unless the client takes the
 * datum, or asks again soon after, the datum is deleted, or is not made. ESP_BUSY: there are too many. */
enum esp_status untaken_ask(struct server_data *data, const struct asker *asker, const struct datum_id *id,
                            int64_t patience_ns, struct esp_error *error);
/* The client knows the datum: it stays. ESP_NOT_FOUND: the datum is not here (any more). */
enum esp_status untaken_take(struct server_data *data, const struct datum_id *id, struct esp_error *error);
/* The datum is about to be stored: notes on the disk that a client has to take it. ESP_NO_MEMORY, ESP_SYSTEM.
 */
enum esp_status untaken_made(struct server_data *data, struct datum_key key, struct esp_error *error);
void untaken_tick(struct server_data *data, int64_t now_ns);
/* Deletes the data that no client has taken. */
void untaken_release(struct server_data *data);

/* ---- pull_fetch.c: all but pull_add_address() and pull_add_named() in the thread, without the lock ---- */

/* Fetches the datum and tells the waiters. Frees the pull. */
void pull_run(void *pull);
/* Adds a holder. False: it is known, or there are too many. */
bool pull_add_address(struct pull *pull, const char *address);
/* Adds the holders that were named meanwhile. Whether there are new ones. */
bool pull_add_named(struct pull *pull);
/* Asks the agents, the nearest first, and the agents that they name. Whether there are new holders. */
bool pull_look_up(struct pull *pull);
/* Asks a server that does not have the datum to which servers it gave it. */
void pull_look_behind(struct pull *pull, const char *address);
/* Has the holder let this server in; waits while the holder has no room. The caller clears *reply in every
 * case. */
enum esp_status pull_open(struct pull *pull, const char *address, struct message *reply,
                          struct esp_error *error);
/* Closes the ticket of an open. */
void pull_close(struct pull *pull, const char *address, uint64_t ticket);
/* A pause before a busy store is asked again. */
void pull_nap(void);
/* Timeouts of one question and of one chunk. */
int64_t pull_ask_ms(const struct pull *pull);
int64_t pull_chunk_ms(const struct pull *pull);
/* How long the present holder may send nothing. */
int64_t pull_silence_ms(const struct pull *pull);
/* Something has come, or another holder is asked. */
void pull_note_life(struct pull *pull);
/* Nobody waits any more, or nothing has come for longer than the patience of all waiters. */
bool pull_is_over(const struct pull *pull);

/* ---- porters.c ---- */

/* Writes the value of EXTENSION_PORTERS from an order, and reads it back. `value` has PORTERS_VALUE_MOST
 * bytes. Writing returns how many are used; reading returns false for a malformed value. */
#define PORTERS_VALUE_MOST 16384
uint32_t porters_write(const struct porter_order *order, uint8_t *value);
bool porters_read(const struct extension *ports, struct porter_order *order);
/* Writes and reads the value of EXTENSION_LENDERS, or (sealed) EXTENSION_LENDERS_SEALED. `value` has as many
 * bytes as the struct. A malformed value, or none, reads as an empty list. */
uint32_t lenders_write(const struct porter_lenders *lenders, bool sealed, uint8_t *value);
void lenders_read(const struct extension *extension, bool sealed, struct porter_lenders *lenders);

/* The layout of a datum; a whole datum is one piece. ESP_INVALID: the datum is no matrix or vector. */
enum esp_status pull_lie(const struct datum_shape *shape, struct block_cyclic_matrix *layout,
                         struct esp_error *error);
/* Changes the shape at the holder to the shape that the datum is to have here. ESP_INVALID: it cannot be in
 * pieces. */
enum esp_status pull_lay(const struct pull *pull, struct datum_shape *shape, struct esp_error *error);
/* Has porters fill the datum, for which the store has room. `opened` is the holder's answer. In the thread.
 */
enum esp_status pull_carry(struct pull *pull, const char *address, const struct open_reply *opened,
                           struct esp_error *error);

/* ---- rescue.c ---- */

/* Lists the damaged files. */
void data_on_damaged(struct server_data *data, struct call *call, const struct data *asked);
/* Removes a damaged file. False: the call is not about one. */
bool rescue_on_drop(struct server_data *data, struct call *call, const struct drop *drop);
/* The file of the original here is damaged: has a sound copy elsewhere take its place. `of_start`: the damage
 * was found at the start, or before. */
void rescue_begin(struct server_data *data, const struct datum_id *id, bool of_start);
/* Returns when it is to be called next. */
int64_t rescues_tick(struct server_data *data, int64_t now_ns);
void rescues_release(struct server_data *data);
/* A server that has lost an original asks that the replica here becomes it; nothing is fetched. False: the
 * call is not about that. */
bool rescue_on_pull(struct server_data *data, struct call *call, const struct pull_request *pull);
/* After the start: asks other servers that keep a datum whether it was deleted while this server was away. */
void returned_begin(struct server_data *data);
/* Returns when it is to be called next. */
int64_t returned_tick(struct server_data *data, int64_t now_ns);
void returned_release(struct server_data *data);

#endif
