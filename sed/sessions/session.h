/* SPDX-License-Identifier: Apache-2.0
 *
 * The sessions of a server and their clients: tables, identities and acknowledgement. The life of a session
 * is in sed/server/server_sessions.c.
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
#include "sed/sessions/admission.h"
#include "sed/sessions/call_plan.h"
#include "sed/sessions/queue.h"
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
struct state;
struct shelf;
struct lent;

/* A client, or the jobs of one owner. Shares take turns for memory and for slots, and have their own places
 * in the queue. */
struct share {
    struct admission_owner memory;
    struct queue_owner run;
};

static inline uint32_t share_waiting(const struct share *share)
{
    return share->memory.waiting + share->run.length;
}

/* One client program, while it has sessions here or was heard of lately. A server that forgot what a client
 * has acknowledged could execute a call a second time. */
struct client {
    uint64_t key[2];
    uint64_t floor; /* the lowest sequence number that the client may still ask for */
    struct open_sessions
        *open; /* sessions above the floor that are open, as the client said last; NULL: it never did */
    struct share share;
    struct session *sessions;
    uint32_t n_sessions;
    uint64_t kept_bytes;  /* memory of sessions that have ended */
    struct waiter *await; /* its long poll */
    int64_t seen_ns;
    int64_t lost_ns;    /* when a connection on which the client waited was closed; 0: not since seen_ns */
    int64_t doubted_ns; /* when the lease was found to be over; 0: not since lost_ns */
    struct client *prev, *next; /* clients without sessions, the longest silent one first */
    bool resting;               /* in that list */
    UT_hash_handle hh;
};

/* The jobs of one owner, from several clients. Exists while there are sessions. */
struct shared {
    uint64_t key[2];
    struct share share;
    uint32_t n_sessions;
    UT_hash_handle hh;
};

struct session_argument {
    uint32_t kind;     /* enum argument_kind, from the call */
    bool in_store;     /* the argument is, or becomes, a datum: its memory belongs to the store */
    bool was_lent;     /* the argument lies in the client's own memory (server_lend.c), */
    struct lent *lent; /* as long as the session has not ended */
    struct ranges arrived;
    int64_t asked_ns; /* when the client fetched the first piece; 0: it has not */
    bool suspect;     /* a piece has a number that is not finite, or could not be checked on its own */
};

struct session {
    struct session_id id;
    struct client *client; /* NULL: the session is forgotten, and only its memory is in use */
    enum session_state state;
    struct shelf *shelf; /* keeps the problem alive when descriptions are read again */
    const struct problem *problem;

    struct job job; /* arguments and scope lie in the block */
    struct session_argument *arguments;
    char *block;
    size_t block_size;
    uint8_t *block_data; /* small values */
    int64_t doubted_ns;  /* when the lease of an open job was found over; 0: not yet */
    int64_t parted_ns;   /* when the connection with the arguments was closed; 0: it was not */
    uint8_t *stash;      /* inline values, while there is no segment */
    uint64_t stash_bytes;
    struct segment *segment;
    uint64_t segment_bytes;
    struct operands *operands;     /* arguments and results that are data; NULL: none */
    struct admission_entry memory; /* in line; afterwards memory.bytes are reserved */
    bool reserved;
    struct queue_entry queued;
    struct shared *shared; /* NULL: the client's own share */

    uint32_t moving;          /* chunks under way and threads at work: the memory must stay */
    bool bulk;                /* some inputs come as chunks */
    bool looked_at;           /* the values of the inputs are checked */
    bool run_asked;           /* `run` came while chunks were still moving */
    bool awaited;             /* named in the client's long poll */
    bool detached;            /* outlives its client: a client fetches the result within the lease */
    bool job_counted;         /* counted as a job (server_jobs.c) */
    bool collected;           /* of a job: a client has fetched the result */
    bool told;                /* the client has heard how it ended */
    bool stored;              /* the result has a file (server_results.c), which is deleted with it */
    bool given_up;            /* the client has called it elsewhere */
    bool attended;            /* the thread of the operation under way will wait for it (job.attended) */
    bool begun;               /* the routine has been started, at least once */
    bool cut_short;           /* ended only because the server shuts down, or given back to its client */
    bool dropped;             /* the result waited too long: only the end is remembered */
    enum esp_status stopping; /* RUNNING, and the reason to stop; ESP_OK: none */
    uint64_t kept_bytes;      /* the part of the client's kept_bytes */
    struct waiter *waiters;

    struct state *works_on; /* RUNNING: the state that it uses */
    struct state *aside;    /* QUEUED, and not in the queue: the state that it waits for */
    struct session *prev_aside, *next_aside;
    struct mirror *mirror;   /* the checkpoint of the routine, and its copies; NULL: none */
    uint64_t beyond_bytes;   /* memory that the description asks for beyond the arguments */
    struct printed *printed; /* what it has printed; NULL: nothing */

    uint64_t call_bytes; /* by the description: arguments, results and memory beyond them */
    double work_flop, forecast_s, compute_s;
    uint32_t restarts;          /* after the worker or the ranks were lost */
    struct session_ranks ranks; /* that computed it; rows 0: a worker did */
    double alone_s;             /* forecast for a worker */
    enum cost_ground ground;    /* of the forecast */
    int64_t arrived_ns, admitted_ns, ready_ns, started_ns, ended_ns;
    /* When all had come from the client, and when data that live on servers were here, too. */
    int64_t gathered_ns, fetched_ns;
    int64_t deadline_ns;    /* of the whole session; CLOCK_NEVER: none */
    int64_t heard_ns;       /* the client's last sign of life about it */
    struct timer timer;     /* for the deadline or a lease, whichever is next */
    struct esp_error error; /* how it ended; ESP_OK: the text is the note on its results, or "" */

    struct session *prev, *next;               /* in the list of the client, or in the free list */
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
    uint32_t receiving, waiting; /* of them: sessions that receive arguments, and that wait for memory */
    uint32_t n_jobs;
    uint64_t job_bytes;            /* memory of jobs, including results that wait */
    uint32_t n_lent;               /* arguments and results in memory of clients */
    uint64_t stashed_bytes;        /* inline values of sessions that wait for memory */
    uint64_t printed_bytes;        /* bytes of rings with the output of sessions */
    int64_t clients_due_ns;        /* when to look for clients that were silent for long, */
    int64_t orphans_due_ns;        /* and for clients that are gone */
    struct log_quota failed_lines; /* about sessions that failed */
};

/* Frees all sessions and clients, none of which may be in use. */
void sessions_clear(struct sessions *sessions);

/* NULL: not known. */
struct client *client_find(struct sessions *sessions, uint64_t high, uint64_t low);
/* Finds or makes the client; NULL without memory. Forgets the longest silent client without sessions if there
 * are more than SESSIONS_MOST_RESTING. */
struct client *client_get(struct sessions *sessions, uint64_t high, uint64_t low, int64_t now_ns);
/* Forgets clients without sessions that were silent for the lease. Returns when to call it again. */
int64_t clients_expire(struct sessions *sessions, int64_t now_ns, int64_t lease_ns);

#define SESSIONS_MOST_RESTING 4096

/* NULL: not known. Does not check the secret. */
struct session *session_find(struct sessions *sessions, const struct session_id *id);

/* A new session of that client, laid out as planned, with the small values of the call in its block.
 * ESP_NO_MEMORY. */
enum esp_status session_create(struct sessions *sessions, struct client *client, const struct session_id *id,
                               const struct call_plan *plan, struct session **session,
                               struct esp_error *error);

/* The session belongs to the share of that owner, instead of its client's. */
void session_share(struct sessions *sessions, struct session *session, const uint64_t owner[2]);
/* The share of that owner; NULL: it has no sessions now. */
struct share *sessions_share_of(struct sessions *sessions, const uint64_t owner[2]);
/* How many shares have sessions that wait. O(clients). */
uint32_t sessions_waiting_shares(const struct sessions *sessions);

static inline struct share *session_share_of(const struct session *session)
{
    return session->shared ? &session->shared->share : &session->client->share;
}

/* Moves inline values into the segment. */
void session_attach_segment(struct session *session, struct segment *segment);

/* All inputs are there: removes the NUL at the end of texts (workers add their own). */
void session_trim_texts(struct session *session);

/* Takes the session out of the tables. */
void session_detach(struct sessions *sessions, struct session *session);
/* Puts a detached session without a segment into the free list. */
void session_free(struct sessions *sessions, struct session *session);

/* The memory of an argument; NULL: it has none (yet). */
uint8_t *session_argument_data(const struct session *session, uint32_t index);

/* Whether every byte of every bulk input has arrived; else ESP_INVALID names the first gap. */
enum esp_status session_is_complete(const struct session *session, struct esp_error *error);

#endif
