/* SPDX-License-Identifier: Apache-2.0
 *
 * A session: one call on its way through the hierarchy. It is driven by session_advance(), by one thread at a
 * time, which goes as far as it can without waiting for the server's computation.
 */
#ifndef CLIENT_SESSION_H
#define CLIENT_SESSION_H

#include "client/session/backlog.h"
#include "client/session/engine.h"
#include "client/session/left.h"
#include "client/session/wishes.h"
#include "core/message/message_basic.h"
#include "core/message/session_ranks.h"
#include "espalier.h"
#include "util/arena.h"

struct handle;
struct job_record;
struct library;
struct link;
struct session;

/* What the room of jobs does for a session that is a job (client/jobs/job.c). By the session's runner, except
 * where noted. */
struct session_job_ops {
    /* Whether the server has all that it needs for a session that is being submitted. */
    bool (*is_handed_over)(const struct session *session);
    /* An attached session has lost its server (session->error says how): it goes on with what the job is
     * called again as, has paused to be tried again, or has ended with the loss. */
    void (*recover)(struct session *session);
    /* Whether arguments are kept by which the job may be called again, and no end of it is known. */
    bool (*is_kept)(const struct job_record *record);
    /* Whoever waits for the job cancels it. Takes `timeout_ms` at most. */
    void (*call_off)(struct session *session, int64_t timeout_ms);
    /* The server says how the job ended. Also under the link's lock. */
    void (*take_end)(const struct job_record *record, const struct session_report *report);
    /* What of the job's inputs was left on servers by whoever submitted it; NULL: nothing. */
    const struct left *(*left)(const struct job_record *record);
    /* Frees the record. Any thread. */
    void (*destroy)(struct job_record *record);
};

/* The handle of a call as the engine sees it. */
struct target {
    const char *server;                     /* name: bound to it; NULL: let the agents choose */
    const char *address;                    /* of that server */
    const struct session_job_ops *job;      /* the session is to become a job; NULL: a plain call */
    const struct esp_call_options *options; /* constraints on the choice; NULL: none */
};

enum session_phase {
    PHASE_CHOOSE, /* ask the agents */
    PHASE_OFFER,  /* call the next candidate */
    PHASE_REMOTE, /* a server has it */
    PHASE_ENDED
};

/* A session whose output and progress are wanted while it runs (client/session/follow.c). What is not for its
 * runner alone is under the engine's marks lock. */
struct following {
    void (*output)(void *arg, const char *text, size_t length); /* or NULL: kept */
    void (*progress)(void *arg, double fraction);               /* or NULL */
    void (*sent)(void *arg, double fraction);                   /* or NULL */
    void *arg;
    uint64_t seen; /* bytes of output; the runner's */
    double told;   /* progress; below 0: none */
    char *kept;
    size_t n_kept;
    uint64_t lost; /* bytes before what is kept */
};

/* What session_advance() found to be next. */
enum session_step {
    STEP_WAIT, /* for the server that has it */
    STEP_HELD, /* for room at any server: client/session/backlog.h */
    STEP_ENDED
};

/* The server knows the session's deadline, too: its answer may take so long after it. */
#define GRACE_MS 300

#define MOST_CANDIDATES 16 /* kept of an answer */
#define MOST_EXCLUDED   16

struct session_candidate {
    char server[CAP_NAME + 1];
    char address[CAP_ADDRESS + 1];
    uint64_t incarnation;
    double compute_s, queue_s, transfer_s, error_s;
    bool tried;
    enum esp_status status;
};

/* What was answered to the question where it may go: client/session/choice.h. */
struct choice {
    struct session_candidate *candidates; /* best first */
    uint32_t n;
    uint64_t master, placement;
    uint32_t capable;
    bool asked;
};

struct session {
    struct engine *engine;
    struct invocation invocation;
    struct session_id id;     /* sequence 0: it has ended */
    struct session_id log_id; /* stays */
    struct session_id origin; /* the first one of all: what was saved of the call is known by it */
    char *keepers;            /* who may have that: EXTENSION_KEEPERS; NULL: nobody yet */
    bool sought_keepers;      /* below other master agents */
    char problem[PROBLEM_MAX_NAME + 1];
    bool bound;
    struct wishes wishes; /* which servers may take it */
    uint64_t stream;      /* of equal small calls that it belongs to: client/session/ahead.h; 0: to none */

    /* Since when, until when (CLOCK_NEVER), and how it went, on the transport's clock. */
    int64_t started_ns, deadline_ns, submitted_ns, ended_ns;
    double limit_s;  /* what made that deadline, as it was asked for: it may have begun before the session */
    int64_t sent_ns; /* spent on chunks, both ways */

    atomic_int phase; /* enum session_phase; written by the runner */
    atomic_bool cancelled;
    struct esp_error error; /* ESP_PENDING until it has ended */
    struct left *left;      /* of it, when it has ended; NULL: nothing */

    struct session_candidate *candidates; /* of the newest answer, best first; under the marks lock */
    uint32_t n_candidates, next_candidate;
    uint32_t rounds; /* times that candidates were looked for */
    char *bound_address;
    char **excluded; /* servers that did not take it or lost it, MOST_EXCLUDED of them */
    enum esp_status why[MOST_EXCLUDED];
    uint32_t n_excluded;
    uint64_t master, placement;
    uint32_t capable;
    bool asked;

    /* The server that has it; `link` and `server` change under the engine's marks lock. */
    struct link *link;
    bool settled;
    char server[CAP_NAME + 1];
    atomic_int remote; /* enum session_state, the newest that is known */
    bool heavy;        /* chunks have moved: the server holds much memory for it */
    bool lost;         /* the server is gone or has forgotten it, */
    bool unbegun;      /* and had surely not begun it */
    bool doubted;      /* the server is silent, and agents have lost it: client/session/given_up.h */
    struct esp_error remote_error;
    struct session_timings timings;
    struct session_ranks ranks; /* that have computed it; rows 0: a worker, or nobody has */
    double fetch_s;             /* that its server waited for data, as it has told */
    struct patience absence;    /* with servers that are not there; begun_ns 0: nobody is waited for */
    int64_t absent_wait_ms;
    bool silent;          /* of those that did not take it, one takes connections */
    bool awaited;         /* who was called last does not take it, or have it, as it is to start again */
    uint32_t losses;      /* servers that had accepted it, and lost it */
    uint32_t data_losses; /* times that data of its sequence were gone */
    char *loss;           /* how the last of them did, and when; NULL: none has */
    int64_t loss_ns;
    bool loss_unbegun;         /* before it had begun it */
    char again[AGAIN_WHY + 1]; /* why the attempt before was given up, and when */
    int64_t again_ns;
    struct link *given_up;         /* the last of them may have opened a state, */
    struct session_id given_up_id; /* as this session: it was not reached to close it. Or NULL */
    double forecast_s, forecast_compute_s, forecast_transfer_s, forecast_error_s;

    struct session *mark_prev, *mark_next; /* engine->unsettled or link->held */

    /* Waiting for the server, under the link's lock. */
    struct session *park_prev, *park_next;
    bool parked;
    uint64_t parked_after; /* the newest poll at that time: later ones know of it */

    struct backlog_entry back; /* client/session/backlog.h */
    bool holding;              /* it is to be held back; the runner's */

    /* Asynchronous sessions: runs session_run() in the pool; then `ended` is called in a pool thread, once,
     * as the last thing that the engine does with the session. NULL: a blocking session. */
    bool follow;
    struct following following;

    /* An abstract problem (client/abstract/abstract.h) is a session that no server sees, in a thread of its
     * own, and each of its steps is a blocking one. `step` changes under the engine's marks lock. */
    void (*work)(struct session *session); /* all of it, in place of session_advance(); else NULL */
    void *plan;                            /* owned, of `work`: for free() */
    struct session *whole;                 /* of a step: what it is a step of */
    struct session *step;                  /* that is under way */

    uint8_t owner[OWNER_BYTES]; /* whose job it is */
    bool has_owner;
    bool is_job;   /* it outlives this process, under a client id of its own (client/jobs/job.h) */
    bool attached; /* a job that another process may have submitted: it is waited for, no more */
    struct job_record *record;             /* owned, of an attached session: where the job is now */
    const struct session_job_ops *job_ops; /* of a job */

    bool here;    /* of an asynchronous session: the thread that starts it runs it as far as it can */
    int ended_fd; /* of an asynchronous session: the caller's, written to when it has ended; 0: none */
    struct thread_job job;
    void (*ended)(struct session *session, void *arg);
    void *arg;
};

/* When a session that begins now is over, on the engine's clock; `deadline_s` 0: the engine's. CLOCK_NEVER.
 */
int64_t session_until_ns(const struct engine *engine, double deadline_s);

/* A session for an invocation, which it takes over (also when this fails). `deadline_s` as there, unless its
 * time began when its data were looked for. ESP_INVALID: a constraint cannot be, or the target leaves nothing
 * to choose. */
enum esp_status session_begin(struct engine *engine, struct invocation *invocation,
                              const struct target *target, double deadline_s, struct session **session,
                              struct esp_error *error);
/* Frees what only a running session needs, its arguments most of all. What tells how it went stays. */
void session_compact(struct session *session);
void session_discard(struct session *session);

/* ---- session.c: what a session is ---- */

/* Takes what a server said of it. By its runner, or, while it is parked, under the link's lock. */
void session_absorb(struct session *session, const struct session_report *report);

/* Whether its caller or the closing library wants it ended. */
bool session_is_cancelled(struct session *session);
/* Milliseconds until its deadline, at least 1; about a month when it has none. */
int64_t session_left_ms(const struct session *session);
/* Whether executing its call twice does no harm: the problem is idempotent and its inputs are still there. */
bool session_may_repeat(const struct session *session);
/* Whether another server may have it, though this one may have executed it. */
bool session_may_move(const struct session *session);
/* Whether a request with that outcome may have arrived or not: the connection may be to blame. */
bool session_is_uncertain(enum esp_status status);

/* Sets the server that has it, or NULL. `server` may be session->server. */
void session_set_server(struct session *session, struct link *link, const char *server);
/* Notes why the session is to begin again (`server`, and what of it), for those who look at its way
 * afterwards. */
void session_note_again(struct session *session, const char *server, const char *why);

/* ---- ending.c ---- */

/* The last thing that happens to a session: sets error.status (the text is there already), takes its number
 * back. */
void session_end(struct session *session, enum esp_status status);
/* Ends it as its deadline has passed. The text says what session->error told before. */
void session_end_late(struct session *session);
/* Ends it if its caller or its deadline says so. Returns whether it has ended. */
bool session_called_off(struct session *session);
/* Tells the server in given_up, if there is one, that it may forget the session. Best effort. */
void session_tell_given_up(struct session *session);

/* ---- follow.c ---- */

/* Waits, in the runner's thread, until there is news of the session other than output and progress, which are
 * handed on as they come. */
void session_follow(struct session *session);
/* Takes kept output: see esp_session_output(). Any thread that may look at the session. */
size_t session_take_output(struct session *session, char *buffer, size_t size);

/* ---- run.c: what drives a session ---- */

/* Goes on with it. STEP_WAIT: the server computes; park it at session->link. STEP_HELD: to backlog_park() or
 * backlog_wait() with it. */
enum session_step session_advance(struct session *session);
/* Runs a blocking session to its end, in this thread. Returns session->error.status. */
enum esp_status session_call(struct session *session);
/* Hands an asynchronous session to the pool. ESP_SYSTEM: no thread can be made; `ended` is not called. */
enum esp_status session_start(struct session *session, struct esp_error *error);
/* Runs an asynchronous session, which has no work of its own, in this thread until it has ended, or waits for
 * its server: then the pool goes on with it. The session may be gone when this returns. */
void session_start_here(struct session *session);
/* Ends it as soon as possible and stops the computation. Any thread; the session must not be destroyed
 * meanwhile. */
void session_cancel(struct session *session);

/* Makes the session of a call by a handle. Takes the invocation over. `options` may be NULL. */
enum esp_status start_session(struct library *library, struct handle *handle, struct invocation *invocation,
                              const struct esp_call_options *options, struct session **session,
                              struct esp_error *error);
/* When a session of the handle that begins now is over, for invocation_find_data(). `options` may be NULL. */
int64_t start_until_ns(const struct library *library, struct handle *handle,
                       const struct esp_call_options *options);

/* Runs the session to its end, as a step of `whole` unless that is NULL; returns how it ended, with the text
 * in `error`. *session is the caller's, NULL when there was none. Takes the invocation over. `options` may be
 * NULL. */
enum esp_status start_blocking(struct library *library, struct handle *handle, struct invocation *invocation,
                               const struct esp_call_options *options, struct session *whole,
                               struct session **session, struct esp_error *error);

#endif
