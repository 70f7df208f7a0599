/* SPDX-License-Identifier: Apache-2.0
 *
 * A datum on its way here from another server, as these share it:
 *
 *     server_pull.c        who waits for it, and who asks
 *     server_pull_fetch.c  the thread that fetches it
 *     server_pull_ask.c    who has it, and asking them
 *     server_pull_move.c   the original comes: the one where it was goes
 *     server_porters.c     pieces that come through porters, to lie otherwise here
 *     server_loans.c       pieces that porters lend
 */
#ifndef SED_SERVER_PULL_H
#define SED_SERVER_PULL_H

#include "core/hierarchy/membership.h"
#include "sed/server/server_data.h"
#include "sed/server/server_holders.h"
#include "sed/server/server_state.h"
#include "services/data/transfer.h"

#include <stdatomic.h>

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
    struct server *server;
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

/* ---- server_pull_fetch.c ---- */

/* Has the datum fetched, and tells those who wait. A thread's work; frees the pull. */
void pull_run(void *pull);

/* ---- server_pull_ask.c: the thread's, but for the first ---- */

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

/* ---- server_pull_move.c ---- */

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

/* ---- server_pull.c ---- */

/* With the lock: tells all who wait. */
void pull_tell(struct pull *pull, enum esp_status status, const struct esp_error *error);

/* ---- server_porters.c ---- */

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
