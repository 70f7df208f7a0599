/* SPDX-License-Identifier: Apache-2.0
 *
 * The sessions of a server, and the clients they belong to: who has which, under which identity, what has
 * been acknowledged. What happens to them is the business of sed/server/server_*.c.
 *
 * Sessions and clients come from free lists and keep the memory of small calls, so that a server that has
 * made a million calls is as large as one that has made ten thousand. All under the endpoint's lock.
 */
#ifndef SED_SESSION_H
#define SED_SESSION_H

#include "core/message/open_sessions.h"
#include "core/forecast/cost_model.h"
#include "core/message/message.h"
#include "core/message/session_ranks.h"
#include "sed/server/admission.h"
#include "sed/server/call_plan.h"
#include "sed/server/queue.h"
#include "util/ranges.h"
#include "util/segment.h"
#include "sed/pool/workers.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/timer.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct waiter;
struct printed;
struct operands;
struct kept;
struct shelf;
struct lent;

/* One client program, as long as it has sessions here or was heard of lately: whoever forgets what a client
 * has acknowledged could execute a call a second time. */
/* What a server is shared by: a client, or jobs of one owner. They take turns for memory and for workers, and
 * have places in the queue of their own. */
struct share {
    struct admission_owner memory;
    struct queue_owner run;
};

static inline uint32_t share_waiting(const struct share *share)
{
    return share->memory.waiting + share->run.length;
}

struct client {
    uint64_t key[2];
    uint64_t floor;             /* the lowest sequence number it may still ask for */
    struct open_sessions *open; /* above it, as last told; NULL: never */
    struct share share;
    struct session *sessions;
    uint32_t n_sessions;
    uint64_t kept_bytes;  /* memory of its sessions that have ended */
    struct waiter *await; /* its long poll */
    int64_t seen_ns;
    int64_t lost_ns;    /* when a connection on which it waited was closed; 0: not since it was seen */
    int64_t doubted_ns; /* when its lease was found to be over; 0: not since it was lost */
    struct client *prev, *next; /* those without sessions, the one not heard of for longest first */
    bool resting;               /* in that list */
    UT_hash_handle hh;
};

/* Several clients that share: jobs of one owner. As long as it has sessions. */
struct shared {
    uint64_t key[2];
    struct share share;
    uint32_t n_sessions;
    UT_hash_handle hh;
};

struct session_argument {
    uint32_t kind;     /* enum argument_kind, from the call */
    bool in_store;     /* it is, or becomes, a datum: its memory is the store's */
    bool was_lent;     /* it lies in the client's own memory (server_lend.c), */
    struct lent *lent; /* as long as the session has not ended */
    struct ranges arrived;
    int64_t asked_ns; /* when its first piece was fetched; 0: it has not been */
    bool suspect;     /* a piece had a number in it that is not finite, or could not be told by itself */
};

struct session {
    struct session_id id;
    struct client *client; /* NULL: forgotten, only its memory is still in use */
    enum session_state state;
    struct shelf *shelf; /* keeps the problem alive when descriptions are read again */
    const struct problem *problem;

    struct job job; /* arguments and scope lie in the block */
    struct session_argument *arguments;
    char *block;
    size_t block_size;
    uint8_t *block_data; /* small values */
    int64_t doubted_ns;  /* when the lease of an open job was found to be over; 0: not yet */
    int64_t parted_ns;   /* when the connection was closed on which its arguments came; 0: it was not */
    uint8_t *stash;      /* inline values for the segment, while there is none */
    uint64_t stash_bytes;
    struct segment *segment;
    uint64_t segment_bytes;
    struct operands *operands;     /* arguments and results that are data; NULL: none */
    struct admission_entry memory; /* in line; afterwards memory.bytes are reserved */
    bool reserved;
    struct queue_entry queued;
    struct shared *shared; /* NULL: its client's own */

    uint32_t moving;          /* chunks on their way in or out: the memory must stay */
    bool bulk;                /* some inputs come as chunks */
    bool looked_at;           /* the contents of its inputs are good */
    bool run_asked;           /* `run` came while chunks were still moving */
    bool awaited;             /* named in its client's long poll */
    bool detached;            /* it outlives its client: somebody comes for the result within its lease */
    bool job_counted;         /* it is a job, or will be one: what it takes is counted with the jobs' */
    bool collected;           /* of a job: somebody has come for its result and has it */
    bool told;                /* its client has heard how it ended */
    bool stored;              /* its result has a file (server_results.c) that goes with it */
    bool given_up;            /* its client has called it elsewhere */
    bool attended;            /* the thread of the operation under way will wait for it (job.attended) */
    bool begun;               /* its routine has been started, at least once */
    bool cut_short;           /* ended as the server shuts down: that is no end of it */
    bool dropped;             /* its result waited too long: only its end is remembered */
    enum esp_status stopping; /* RUNNING and told to stop: why; ESP_OK: not */
    uint64_t kept_bytes;      /* counted in its client's */
    struct waiter *waiters;

    struct kept *works_on; /* RUNNING: the state that it has to itself */
    struct kept *aside;    /* QUEUED: the state that it waits for, and not in the queue */
    struct session *prev_aside, *next_aside;
    struct mirror *mirror;   /* the state that its routine saves, and its copies; NULL: none */
    uint64_t beyond_bytes;   /* that the description asks for beyond the arguments */
    struct printed *printed; /* what it has printed; NULL: nothing */

    uint64_t call_bytes; /* that the description tells: arguments, results and what it asks for beyond them */
    double work_flop, forecast_s, compute_s;
    uint32_t restarts;          /* as what computed it was ended by others */
    struct session_ranks ranks; /* that computed it, once they have; rows 0: a worker */
    double alone_s;             /* forecast of a worker, when ranks may be sooner */
    enum cost_ground ground;    /* of the forecast */
    int64_t arrived_ns, admitted_ns, ready_ns, started_ns, ended_ns;
    /* Nothing more comes from the client, and data that live on servers are waited for; they are here. */
    int64_t gathered_ns, fetched_ns;
    int64_t deadline_ns;    /* of the whole session; CLOCK_NEVER: none */
    int64_t heard_ns;       /* the client's last sign of life about it */
    struct timer timer;     /* deadline or lease, whichever is next */
    struct esp_error error; /* how it ended; ESP_OK: the text is the note on its results, or "" */

    struct session *prev, *next;               /* its client's, or the free list */
    struct session *prev_active, *next_active; /* those that have not ended */
    UT_hash_handle hh;
};

static inline bool session_has_ended(const struct session *session)
{
    return session->state >= SESSION_DONE;
}

struct sessions {
    struct session *by_id;
    struct client *clients;
    struct shared *shared;
    struct client *resting;
    uint32_t n_sessions, n_clients, n_resting;
    struct session *free;
    uint32_t n_free;
    struct session *active;      /* that have not ended */
    uint32_t receiving, waiting; /* of them: for arguments, for memory */
    uint32_t n_jobs;
    uint64_t job_bytes;            /* that jobs have reserved, results that wait included */
    uint32_t n_lent;               /* arguments and results in memory of clients */
    uint64_t stashed_bytes;        /* inline values of sessions that wait for memory */
    uint64_t printed_bytes;        /* of rings with what sessions have printed */
    int64_t clients_due_ns;        /* when to look for clients of which nothing was heard for long, */
    int64_t orphans_due_ns;        /* and for clients that are gone */
    struct log_quota failed_lines; /* about sessions that failed */
};

/* Frees all. Nothing of them may be in use. */
void sessions_clear(struct sessions *sessions);

/* NULL: not known. */
struct client *client_find(struct sessions *sessions, uint64_t high, uint64_t low);
/* Found or made; NULL without memory. The longest unheard-of one without sessions is let go when there are
 * too many (SESSIONS_MOST_RESTING). */
struct client *client_get(struct sessions *sessions, uint64_t high, uint64_t low, int64_t now_ns);
/* Lets go of clients without sessions that were last heard of before. Returns when to look again. */
int64_t clients_expire(struct sessions *sessions, int64_t now_ns, int64_t lease_ns);

#define SESSIONS_MOST_RESTING 4096

/* NULL: not known. Does not look at the secret. */
struct session *session_find(struct sessions *sessions, const struct session_id *id);

/* A new session of that client, laid out as planned, with the small values of the call in its block.
 * ESP_NO_MEMORY. */
enum esp_status session_create(struct sessions *sessions, struct client *client, const struct session_id *id,
                               const struct call_plan *plan, struct session **session,
                               struct esp_error *error);

/* It shares the server with the other sessions of that owner, instead of with its client's. */
void session_share(struct sessions *sessions, struct session *session, const uint64_t owner[2]);
/* What sessions of that owner share; NULL: it has none now. */
struct share *sessions_share_of(struct sessions *sessions, const uint64_t owner[2]);
/* How many shares have sessions that wait. O(clients). */
uint32_t sessions_waiting_shares(const struct sessions *sessions);

static inline struct share *session_share_of(const struct session *session)
{
    return session->shared ? &session->shared->share : &session->client->share;
}

/* The segment is there: inline values move into it. */
void session_attach_segment(struct session *session, struct segment *segment);

/* All inputs are there: text goes to routines without the NUL that may end it (workers add their own). */
void session_trim_texts(struct session *session);

/* Takes it out of the tables: nobody finds it any more. */
void session_detach(struct sessions *sessions, struct session *session);
/* Back to the free list. It is detached, and its segment given back. */
void session_free(struct sessions *sessions, struct session *session);

/* The memory of an argument. NULL when it has none (yet). */
uint8_t *session_argument_data(const struct session *session, uint32_t index);

/* Whether every byte of every bulk input has arrived; else ESP_INVALID names the first gap. */
enum esp_status session_is_complete(const struct session *session, struct esp_error *error);

#endif
