/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of this room share. From the bottom up:
 *
 *     layings.c     which data were made here by laying others otherwise
 *     errands.c     threads for what blocks
 *     chores.c      the asker of a call, work on the disk, records of data
 *     holders.c     which servers may have a datum: copies given away lately, and those that others name
 *     tickets.c     who was let in to put or read a datum, the chunks, pieces that porters lend
 *     moves.c       offer, open, finish, drop; handing the original to another server; replicas
 *     pull.c        fetching: who waits; how the original moves here; data that no client has taken yet
 *     pull_fetch.c  fetching: the thread
 *     porters.c     fetching a matrix in pieces that is to lie otherwise here
 *     rescue.c      damaged files and originals; data that were deleted elsewhere while this server was away
 *     data.c        calls, the clock, create and destroy
 *
 * A ticket stands for one datum that is being put or read: whoever shows its number with a chunk was let in
 * before. All under the endpoint's lock, except where a comment says otherwise.
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

#define DATA_MOST_TICKETS 10000
/* A ticket that no chunk has shown for so long ends: its asker is gone. */
#define DATA_TICKET_LEASE_NS (60 * NS_PER_S)

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

struct server_data {
    struct server_data_options options;
    const struct server_data_ops *ops;
    void *server;
    struct endpoint *endpoint; /* NULL until server_data_start() */
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

static inline int64_t data_now(const struct server_data *data)
{
    return clock_now_ns(data->options.clock);
}

#define HOLDERS_MOST 64

struct holder {
    char address[CAP_ADDRESS + 1];
    bool is_agent;
};

struct holders {
    struct transport *transport;
    char id[DATUM_TEXT], own[CAP_ADDRESS + 1], name[CAP_NAME + 1]; /* this server's */
    struct holder items[HOLDERS_MOST];                             /* grows while they are asked */
    uint32_t n;
};

/* Those that are known here. With the lock. */
void holders_begin(struct holders *holders, struct server_data *data, const struct datum_id *id);
/* What who is at that address says of the datum, a data_reply, which the caller clears in every case; whom it
 * names is noted. Without the lock; waits for the answer. */
enum esp_status holders_ask_at(struct holders *holders, const char *address, int64_t timeout_ms,
                               struct message *reply, struct esp_error *error);
/* The same of number `i`, with ten seconds for it. */
enum esp_status holders_ask(struct holders *holders, uint32_t i, struct message *reply,
                            struct esp_error *error);

/* A record of it, in the arena. False without memory. */
bool data_record(const struct server_data *data, const struct store_entry *entry, struct arena *arena,
                 struct datum_info *record);
/* What a record from outside says of the shape. ESP_INVALID. */
enum esp_status data_shape(const struct datum_info *record, struct datum_shape *shape,
                           struct esp_error *error);

/* A datum has come or gone: agents are to hear of it. */
void data_news(void *self, const struct datum_id *id, uint64_t bytes, enum store_news news);

/* ---- chores.c ---- */
/* Answers that it cannot be; `datum` (or NULL) is for the log. */
void data_refuse(struct call *call, enum message_kind reply, const char *datum,
                 const struct esp_error *error);
void data_done(struct call *call);
/* Who brought the call, and, as its extensions tell, for which client. Its lease is renewed. */
void data_asker_of(struct server_data *data, const struct call *call, const struct extensions *extensions,
                   struct asker *asker);
/* NULL without memory. */
struct chore *chore_for(struct call *call, struct ticket *ticket,
                        void (*then)(struct chore *chore, enum esp_status status,
                                     const struct esp_error *error));

/* ---- tickets.c ---- */
/* The one of that number that is not over; NULL: there is none. */
struct ticket *ticket_find(struct server_data *data, uint64_t number);
/* NULL: ESP_BUSY, ESP_NO_MEMORY. */
struct ticket *ticket_create(struct server_data *data, const struct datum_id *id, const struct asker *asker,
                             bool put, struct esp_error *error);
/* It is over: at once, or when nothing moves any more. */
void ticket_end(struct server_data *data, struct ticket *ticket);
/* The offer of that datum that is under way; NULL: none is. */
struct ticket *ticket_of_offer(struct server_data *data, struct datum_key key);
/* The one that is meant; NULL: ESP_NOT_FOUND. */
struct ticket *ticket_shown(struct server_data *data, uint64_t number, struct datum_key key, bool put,
                            struct esp_error *error);
/* Ends those of which nothing was heard for too long. */
void tickets_tick(struct server_data *data, int64_t now_ns);
void tickets_release(struct server_data *data);

/* ---- moves.c ---- */
/* Adds to the response which servers may fetch the datum of that argument from here. */
void data_tell_fetchers(const struct server_data *data, uint32_t argument, const struct datum_id *id,
                        struct response *response, struct arena *arena);
void data_on_offer(struct server_data *data, struct call *call, const struct offer *offer);
/* The reply to an open; NULL without memory. */
struct message *data_open_answer(struct server_data *data, const struct ticket *ticket);
void data_on_open(struct server_data *data, struct call *call, const struct open *open);
void data_on_finish(struct server_data *data, struct call *call, const struct finish *finish);
/* A server whose client's data may be used here (data_servers). */
bool data_is_server(const struct server_data *data, const char *identity);

/* ---- rescue.c: damaged files ---- */
/* Lists them. */
void data_on_damaged(struct server_data *data, struct call *call, const struct data *asked);
/* Removes what is left of that datum. ESP_NOT_FOUND, ESP_REFUSED, ESP_SYSTEM. */
enum esp_status data_drop_damaged(struct server_data *data, const struct call *call,
                                  const struct datum_id *id, struct esp_error *error);

/* ---- moves.c: data that leave ---- */
void data_on_drop(struct server_data *data, struct call *call, const struct drop *drop);
/* Lets a server in that wants the original, or refuses it: ESP_NOT_FOUND: there is a replica here only;
 * ESP_REFUSED: it may not move, or another server is having it. */
enum esp_status data_claim(struct server_data *data, struct ticket *ticket,
                           const struct extensions *extensions, struct esp_error *error);
/* Whoever was let have the original of this server comes too late from now on: another one has it, or is to
 * let go of his because it is here. */
void data_reclaim(struct server_data *data, struct datum_key key);
/* The server that was let in has the datum (EXTENSION_MOVES): the one here goes. ESP_REFUSED is said only
 * when the original stays here, or was deleted: who is told so drops his. ESP_NOT_FOUND: he was not let in,
 * or it is not here. */
void data_hand_over(struct server_data *data, struct call *call, const struct finish *finish,
                    const struct datum_id *id, const struct extension *to);

/* ---- holders.c: copies given away ---- */
/* What an open says of who fetches (EXTENSION_COPIES); NULL: nothing, or there is no memory. */
struct copy *copy_read(struct datum_key key, const struct extensions *extensions);
void copy_destroy(struct copy *copy);
/* The transfer has ended: from now on the copy is there, or never. Takes it over; NULL is nothing to do. */
void copies_note(struct server_data *data, struct copy *copy);
/* Says in the answer who may have copies of that one, who keeps it, and whether it was deleted here. */
void copies_tell(struct server_data *data, struct datum_key key, struct message *reply);
/* The copy on that server is the original now; whether one is. */
void copies_note_moved(struct server_data *data, struct datum_key key, const char *name);
bool copies_has_moved(const struct server_data *data, struct datum_key key, const char *name);
void copies_release(struct server_data *data);

/* ---- rescue.c ---- */
/* The file of the original here was damaged: has a sound copy elsewhere take its place. `of_start`: that was
 * found at the start, or before. */
void rescue_begin(struct server_data *data, const struct datum_id *id, bool of_start);
/* When it is to be called next. */
int64_t rescues_tick(struct server_data *data, int64_t now_ns);
void rescues_release(struct server_data *data);
/* A pull: the replica here is to become the original, which that server has lost. Nothing is fetched. */
void rescue_inherit(struct server_data *data, struct call *call, const struct datum_id *id,
                    const struct extension *from);

/* ---- rescue.c: after the start ---- */
/* After the start: data that others keep, too, may have been deleted there while this server was away. */
void returned_begin(struct server_data *data);
/* When it is to be called next. */
int64_t returned_tick(struct server_data *data, int64_t now_ns);
void returned_release(struct server_data *data);

/* ---- pull.c: data that no client has taken yet ---- */
/* A client asks for a datum that is made for it, and waits for so long: unless it has taken it, or asks again
 * soon after, the datum goes, or is not made. ESP_BUSY: there are too many. */
enum esp_status untaken_ask(struct server_data *data, const struct asker *asker, const struct datum_id *id,
                            int64_t patience_ns, struct esp_error *error);
/* The client knows it: it stays. ESP_NOT_FOUND: it is not here (any more). */
enum esp_status untaken_take(struct server_data *data, const struct datum_id *id, struct esp_error *error);
/* It is about to be there: where a client has to take it, the disk knows that, too. ESP_NO_MEMORY,
 * ESP_SYSTEM. */
enum esp_status untaken_made(struct server_data *data, struct datum_key key, struct esp_error *error);
void untaken_tick(struct server_data *data, int64_t now_ns);
/* Those that nobody has taken are deleted. */
void untaken_release(struct server_data *data);

/* ---- moves.c: replicas ---- */
enum esp_status replicas_create(struct server_data *data, struct esp_error *error);
/* Remembers which server reads the datum, if one does. */
void replicas_note(struct ticket *ticket, const struct extensions *extensions);
/* The datum goes out with that ticket: says in the answer whether the copy may stay. */
void replicas_answer(struct server_data *data, const struct ticket *ticket, const struct store_entry *entry,
                     struct message *reply);

/* ---- holders.c: copies given away ---- */
/* That server may have a copy of it: told to who asks for the datum, as long as agents may not know it.
 * Without memory it is not. */
void copies_note_source(struct server_data *data, struct datum_key key, const char *name,
                        const char *address);

/* ---- tickets.c: loans ---- */
/* Has porters lend the pieces of the ticket's datum, and answers the open with where they are. The ticket
 * stays meanwhile. */
void loans_make(struct server_data *data, struct call *call, struct ticket *ticket);
bool loans_abandoned(struct server_data *data, struct call *call);
/* Nobody is to read the pieces any more. NULL is nothing to do. */
void loans_end(struct porter_loans *loans);

/* The datum is deleted while a copy of it is on its way: gives that up. ESP_NOT_FOUND: none is; ESP_REFUSED:
 * it is somebody else's; ESP_BUSY: it is being written to the disk. */
enum esp_status pull_forbid(struct server_data *data, const struct asker *asker, const struct datum_id *id,
                            struct esp_error *error);
/* Whether the original of it is just coming here: then nobody else is to have it from here. */
bool pull_moves(const struct server_data *data, struct datum_key key);
void data_on_pull(struct server_data *data, struct call *call, const struct message *request);
bool pull_abandoned(struct server_data *data, struct call *call);
/* The store has done its part for a pull of what is here: the `then` of a chore, with the pull's call. */
void pull_kept(struct chore *chore, enum esp_status status, const struct esp_error *error);
/* Nobody wants it any more: whether it was on its way. */
bool pull_give_up(struct server_data *data, struct datum_key key);
/* All transfers are to end soon. */
void pull_stop_all(struct server_data *data);

#define PULL_ASK_MS   10000
#define PULL_CHUNK_MS 30000
#define PULL_LEAST_MS 200 /* that anything is waited for, whatever the patience */
/* Whose bytes stay away for so long, and for several times what his answers took, is left for another one
 * that has the datum; where all are silent they are asked again, each time for twice as long. */
#define PULL_SILENCE_MS      2000
#define PULL_SILENCE_ANSWERS 4
#define PULL_BUSY_MS         50 /* before asking a store again that has no room now */

struct pull {
    struct thread_job job;
    struct server_data *data;
    struct datum_id id; /* as it is called where it is, */
    struct datum_id as; /* and here */
    struct asker asker;
    enum pull_kind kind;
    enum datum_mode mode;
    uint32_t flags;
    bool laid;                  /* PULL_LAID: it is to lie as `layout` says, under an identity of its own */
    char here[CAP_ADDRESS + 1]; /* this server's address */
    struct pull_layout layout;
    struct block_cyclic_matrix lies; /* laid: as it lies where it is */
    char addresses[CAP_SOURCES][CAP_ADDRESS + 1];
    bool silent[CAP_SOURCES]; /* was reached, or waited for, in vain */
    uint32_t n_addresses;
    struct holders known; /* agents that may know more holders, and those that were named */
    uint32_t n_asked;     /* of them: the agents have been asked */
    struct pull_waiter *waiters;
    bool asked_for; /* by who wants it here, and not by sessions only */
    bool counted;   /* an earlier transfer has asked for the same session: it is not to count once more */
    /* Of all who wait, the most patient one's: without anything coming, and for room in the store. */
    _Atomic int64_t patience_ns, room_ns;
    atomic_bool stop;
    bool forbidden; /* with the lock: it was deleted meanwhile */
    _Atomic uint64_t arrived, bytes;
    /* The thread's own: */
    bool begun;         /* the store has room for it */
    bool asked;         /* a holder has answered */
    bool opened;        /* the one that is asked now has let this server in */
    bool stays;         /* as a replica: somebody asked for one, or the source permits it */
    bool stuck;         /* somebody may write to its memory for ever */
    int64_t answer_ms;  /* the longest that a holder has taken to let this server in */
    int64_t silence_ms; /* that nothing may come for from who is asked now; 0: nothing is fetched now */
    bool promotes;      /* a replica that is here becomes the original */
    char giver[CAP_ADDRESS + 1]; /* who lets this server have the original, "": nobody */
    uint64_t ticket;             /* with which he has done so */
    struct ranges done;
    _Atomic int64_t since_ns; /* when something came last, or another holder was turned to */
    UT_hash_handle hh;        /* by as.key */
};

/* ---- pull_fetch.c ---- */

/* Has the datum fetched, and tells those who wait. A thread's work; frees the pull. */
void pull_run(void *pull);

/* ---- pull_fetch.c: asking holders. The thread calls these; anybody the first ---- */

/* A holder to be asked: false: it is known, or there are too many. */
bool pull_add_address(struct pull *pull, const char *address);
/* Those that are known, or were named meanwhile, are to be asked too: whether there are new ones. */
bool pull_add_named(struct pull *pull);
/* Asks the agents, the nearest first, and those that they name; whether there are new addresses. */
bool pull_look_up(struct pull *pull);
/* That one does not have it: he is asked whom he gave it. */
void pull_look_behind(struct pull *pull, const char *address);
/* Has that holder let this server in; waits while it has no room. The caller clears *reply in every case. */
enum esp_status pull_open(struct pull *pull, const char *address, struct message *reply,
                          struct esp_error *error);
/* Closes the ticket of an open. */
void pull_close(struct pull *pull, const char *address, uint64_t ticket);
/* Before asking a store again that is busy. */
void pull_nap(void);
/* For one question, or for a chunk, of those that take at most so long. */
int64_t pull_ask_ms(const struct pull *pull);
int64_t pull_chunk_ms(const struct pull *pull);
/* That nothing may come for from the one that is asked now. The next round takes more. */
int64_t pull_silence_ms(const struct pull *pull);
/* Something has come, or somebody else is asked. */
void pull_note_life(struct pull *pull);
/* Nobody wants it any more, or nothing has come for longer than those who wait are ready to wait. */
bool pull_is_over(const struct pull *pull);

/* ---- pull.c: the original moves here ---- */

/* Whether there is an original here already. ESP_REFUSED: it is somebody else's. With the lock, before
 * anything else. */
enum esp_status pull_find_original(struct pull *pull, bool *is_here, struct esp_error *error);
/* An original is here: others that have one, too, let go of it, one after the other, when the one here has
 * been looked at. (Who dies at the end of a move leaves two.) The first that cannot is told. The thread's. */
enum esp_status pull_settle(struct pull *pull, struct esp_error *error);
/* The replica that is here becomes an original. The thread's. */
enum esp_status pull_promote(struct pull *pull, struct esp_error *error);
/* It is here for good: has the giver let go of his. ESP_REFUSED: it is not to be here after all (another
 * server was faster, or it was deleted), and is not any more; ESP_NOT_FOUND: it was deleted here. The
 * thread's. */
enum esp_status pull_take_over(struct pull *pull, struct esp_error *error);

/* ---- server_data_pull.c ---- */

/* With the lock: tells all who wait. */
void pull_tell(struct pull *pull, enum esp_status status, const struct esp_error *error);

/* ---- porters.c ---- */

/* The value of EXTENSION_PORTERS in a reply, from the order that was given and back. `value` has
 * PORTERS_VALUE_MOST bytes; returns how many are used. False: it is none. */
struct porter_order;
#define PORTERS_VALUE_MOST 16384
uint32_t porters_write(const struct porter_order *order, uint8_t *value);
bool porters_read(const struct extension *ports, struct porter_order *order);
/* That of EXTENSION_LENDERS, or (sealed) of EXTENSION_LENDERS_SEALED: `value` has as many bytes as the
 * struct. One that is malformed, or none, is as if nobody lent. */
struct porter_lenders;
uint32_t lenders_write(const struct porter_lenders *lenders, bool sealed, uint8_t *value);
void lenders_read(const struct extension *extension, bool sealed, struct porter_lenders *lenders);

/* How a datum lies; one that is whole is one piece. ESP_INVALID: it is no matrix or vector. */
enum esp_status pull_lie(const struct datum_shape *shape, struct block_cyclic_matrix *layout,
                         struct esp_error *error);
/* The shape of what comes, as it is to lie here. ESP_INVALID: it cannot be in pieces. */
enum esp_status pull_lay(const struct pull *pull, struct datum_shape *shape, struct esp_error *error);
/* Has porters fill the datum, whose room the store has. The thread's; `opened` is the holder's answer. */
enum esp_status pull_carry(struct pull *pull, const char *address, const struct open_reply *opened,
                           struct esp_error *error);

#endif
