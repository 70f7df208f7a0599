/* SPDX-License-Identifier: Apache-2.0
 *
 * A session: one call on its way through the hierarchy. session_advance() drives it, in one thread at a
 * time, as far as possible without waiting for the server's computation.
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

/* Operations of the room of jobs for a session that is a job (client/jobs/job.c). Called by the session's
 * runner, except where noted. */
struct session_job_ops {
    /* Whether the server has everything that it needs of a session that is being submitted. */
    bool (*is_handed_over)(const struct session *session);
    /* An attached session has lost its server (session->error says how). Afterwards it continues under the
     * identity with which the job was called again, or has paused for another try, or has ended with the
     * loss. */
    void (*recover)(struct session *session);
    /* Whether arguments are stored with which the job may be called again, and no end of it is known. */
    bool (*is_kept)(const struct job_record *record);
    /* The session that waits for the job is cancelled: cancels the job. Takes `timeout_ms` at most. */
    void (*call_off)(struct session *session, int64_t timeout_ms);
    /* The server reports how the job ended. Also called under the link's lock. */
    void (*take_end)(const struct job_record *record, const struct session_report *report);
    /* Returns which of the job's inputs the submitting process left on servers; NULL: none. */
    const struct left *(*left)(const struct job_record *record);
    /* Frees the record. Any thread. */
    void (*destroy)(struct job_record *record);
};

/* The handle of a call, in the engine's terms. */
struct target {
    const char *server;  /* name of the server to which the call is bound; NULL: the agents choose */
    const char *address; /* of that server */
    const struct session_job_ops *job;      /* the session is to become a job; NULL: a plain call */
    const struct esp_call_options *options; /* constraints on the choice; NULL: none */
};

enum session_phase {
    PHASE_CHOOSE, /* ask the agents */
    PHASE_OFFER,  /* call the next candidate */
    PHASE_REMOTE, /* a server has it */
    PHASE_ENDED
};

/* A session whose output and progress are wanted while it runs (client/session/follow.c). Members that
 * threads other than its runner use are under the engine's marks lock. */
struct following {
    void (*output)(void *arg, const char *text, size_t length); /* or NULL: stored */
    void (*progress)(void *arg, double fraction);               /* or NULL */
    void (*sent)(void *arg, double fraction);                   /* or NULL */
    void *arg;
    uint64_t seen; /* bytes of output; used by the runner */
    double told;   /* progress; below 0: none */
    char *kept;
    size_t n_kept;
    uint64_t lost; /* bytes dropped before the stored ones */
};

/* The result of session_advance(): the next step. */
enum session_step {
    STEP_WAIT, /* for the server that has it */
    STEP_HELD, /* for room at any server: client/session/backlog.h */
    STEP_ENDED
};

/* The server also knows the session's deadline: its answer may take so long after it. */
#define GRACE_MS 300

#define MOST_CANDIDATES 16 /* candidates of an answer that are stored */
#define MOST_EXCLUDED   16

struct session_candidate {
    char server[CAP_NAME + 1];
    char address[CAP_ADDRESS + 1];
    uint64_t incarnation;
    double compute_s, queue_s, transfer_s, error_s;
    bool tried;
    enum esp_status status;
};

/* The answer to the question which servers may take the session: client/session/choice.h. */
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
    struct session_id log_id; /* never changes */
    struct session_id origin; /* the first identity: states that the call has saved are known by it */
    char *keepers;            /* servers that may have saved states: EXTENSION_KEEPERS; NULL: none yet */
    bool sought_keepers;      /* below other master agents */
    char problem[PROBLEM_MAX_NAME + 1];
    bool bound;
    struct wishes wishes; /* constraints on the servers */
    uint64_t stream;      /* of equal small calls that it belongs to: client/session/ahead.h; 0: none */

    /* Times on the transport's clock. deadline_ns may be CLOCK_NEVER. */
    int64_t started_ns, deadline_ns, submitted_ns, ended_ns;
    double limit_s;  /* the requested limit behind that deadline, which may have begun before the session */
    int64_t sent_ns; /* spent on chunks, both ways */

    atomic_int phase; /* enum session_phase; written by the runner */
    atomic_bool cancelled;
    struct esp_error error; /* ESP_PENDING until it has ended */
    struct left *left;      /* data of an ended session on servers; NULL: none */

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
    bool lost;         /* the server is gone or has forgotten it */
    bool unbegun;      /* and had surely not begun it */
    bool doubted;      /* the server is silent, and agents have lost it: client/session/given_up.h */
    struct esp_error remote_error;
    struct session_timings timings;
    struct session_ranks ranks; /* ranks that have computed it; rows 0: a worker, or not computed */
    double fetch_s;             /* time that its server waited for data, as the server reported */
    struct patience absence;    /* with absent servers; begun_ns 0: there is no wait */
    int64_t absent_wait_ms;
    bool silent;  /* a server that did not take it accepts connections but does not answer */
    bool awaited; /* the last server called is restarting */
    /* Waiting in the server's queue: client/session/requeue.h. */
    int64_t queued_ns, requeue_ns; /* since when, and when it looks for another server */
    double queue_patience_s;       /* doubled by each search */
    bool restless;                 /* it is to look for another server now */
    uint32_t losses;               /* servers that had accepted it, and lost it */
    uint32_t data_losses;          /* times that data of its sequence were gone */
    char *loss;                    /* how and when the last server lost it; NULL: none has */
    int64_t loss_ns;
    bool loss_unbegun;         /* before it had begun it */
    char again[AGAIN_WHY + 1]; /* why and when the previous attempt was given up */
    int64_t again_ns;
    struct link *given_up;         /* the last server that lost it may have opened a state */
    struct session_id given_up_id; /* under this identity, and could not be reached to close it; or NULL */
    double forecast_s, forecast_compute_s, forecast_transfer_s, forecast_error_s;

    struct session *mark_prev, *mark_next; /* engine->unsettled or link->held */

    /* Waiting for the server, under the link's lock. */
    struct session *park_prev, *park_next;
    bool parked;
    uint64_t parked_after; /* the newest poll at that time: later polls cover it */

    struct backlog_entry back; /* client/session/backlog.h */
    bool holding;              /* it is to be held back; used by the runner */

    /* Asynchronous sessions: session_run() runs in the pool. Then `ended` is called once in a pool thread;
     * the engine does not access the session afterwards. NULL: a blocking session. */
    bool follow;
    struct following following;

    /* A run of an abstract problem (client/abstract/abstract.h) is a session that no server sees. It has a
     * thread of its own, and each of its steps is a blocking session. `step` changes under the engine's
     * marks lock. */
    void (*work)(struct session *session); /* the whole run, in place of session_advance(); else NULL */
    void *plan;                            /* owned by `work`: for free() */
    struct session *whole;                 /* of a step: the session that it is a step of */
    struct session *step;                  /* the step under way */

    uint8_t owner[OWNER_BYTES]; /* owner of the job */
    bool has_owner;
    bool is_job;   /* it outlives this process, under a client id of its own (client/jobs/job.h) */
    bool attached; /* a job that another process may have submitted: this session only waits for it */
    struct job_record *record;             /* owned, of an attached session: where the job is now */
    const struct session_job_ops *job_ops; /* of a job */

    bool here;    /* of an asynchronous session: the thread that starts it runs it as far as it can */
    int ended_fd; /* asynchronous: the caller's, written to at the end; 0: none */
    struct thread_job job;
    void (*ended)(struct session *session, void *arg);
    void *arg;
};

/* The time, on the engine's clock, when a session that begins now must be over; `deadline_s` 0: the
 * engine's. May be CLOCK_NEVER.
 */
int64_t session_until_ns(const struct engine *engine, double deadline_s);

/* Creates a session for an invocation, which it takes over (also if this fails). `deadline_s` is as in
 * session_until_ns(), but counts from the search for its data if there was one. Returns ESP_INVALID if a
 * constraint is impossible, or if the target leaves nothing to choose. */
enum esp_status session_begin(struct engine *engine, struct invocation *invocation,
                              const struct target *target, double deadline_s, struct session **session,
                              struct esp_error *error);
/* Frees members that only a running session needs, mainly its arguments. The information about its result
 * stays. */
void session_compact(struct session *session);
void session_discard(struct session *session);

/* ---- session.c: the data of a session ---- */

/* Takes a server's report. Called by its runner, or, while it is parked, under the link's lock. */
void session_absorb(struct session *session, const struct session_report *report);

/* Whether its caller or the closing library wants it to end. */
bool session_is_cancelled(struct session *session);
/* Milliseconds until its deadline, at least 1; about a month if it has none. */
int64_t session_left_ms(const struct session *session);
/* Whether its call may be executed twice: the problem is idempotent and its inputs are still there. */
bool session_may_repeat(const struct session *session);
/* Whether another server may have it, though this one may have executed it. */
bool session_may_move(const struct session *session);
/* Whether a request with that outcome may have arrived or not, because the connection may have failed. */
bool session_is_uncertain(enum esp_status status);

/* A session that waits in a server's queue for longer than the placement promised looks for another server
 * (client/session/requeue.h). Called when a server has taken the session, and when the server has all its
 * arguments. */
void session_enter_queue(struct session *session);
/* When the session looks for another server, on the engine's clock. CLOCK_NEVER: the session is not in a
 * queue, or may not move: the caller chose the server, its data or state are there, or it is a job. Called by
 * its runner, or, while it is parked, under the link's lock. */
int64_t session_search_ns(const struct session *session);
/* Doubles the wait until the next search. */
void session_search_later(struct session *session);

/* Sets the server that has it, or NULL. `server` may be session->server. */
void session_set_server(struct session *session, struct link *link, const char *server);
/* Notes why the session begins again (the `server`, and the reason), for later views of its history. */
void session_note_again(struct session *session, const char *server, const char *why);

/* ---- ending.c ---- */

/* Ends the session: sets error.status (the text is there already), and retires its number. Nothing happens
 * to the session afterwards. */
void session_end(struct session *session, enum esp_status status);
/* Ends the session because its deadline has passed. The text includes session->error. */
void session_end_late(struct session *session);
/* Ends the session if its caller or its deadline requires it. Returns whether it has ended. */
bool session_called_off(struct session *session);
/* Informs the server in given_up, if there is one, that it may forget the session. Best effort. */
void session_tell_given_up(struct session *session);

/* ---- follow.c ---- */

/* Waits in the runner's thread until there is news of the session. Output and progress are no news: they
 * are passed on as they arrive. */
void session_follow(struct session *session);
/* Takes stored output: see esp_session_output(). Any thread that may access the session. */
size_t session_take_output(struct session *session, char *buffer, size_t size);

/* ---- run.c: driving a session ---- */

/* Continues the session. STEP_WAIT: the server computes; the caller parks it at session->link. STEP_HELD:
 * the caller calls backlog_park() or backlog_wait(). */
enum session_step session_advance(struct session *session);
/* Runs a blocking session to its end, in this thread. Returns session->error.status. */
enum esp_status session_call(struct session *session);
/* Hands an asynchronous session to the pool. Returns ESP_SYSTEM if no thread can be made; `ended` is not
 * called then. */
enum esp_status session_start(struct session *session, struct esp_error *error);
/* Runs an asynchronous session, which has no `work`, in this thread until it has ended or waits for its
 * server; then the pool continues it. The session may be gone when this returns. */
void session_start_here(struct session *session);
/* Ends the session as soon as possible and stops the computation. Any thread; the session must not be
 * destroyed meanwhile. */
void session_cancel(struct session *session);

/* Makes the session of a call by a handle. Takes over the invocation. `options` may be NULL. */
enum esp_status start_session(struct library *library, struct handle *handle, struct invocation *invocation,
                              const struct esp_call_options *options, struct session **session,
                              struct esp_error *error);
/* The time when a session of the handle that begins now must be over, for invocation_find_data().
 * `options` may be NULL. */
int64_t start_until_ns(const struct library *library, struct handle *handle,
                       const struct esp_call_options *options);

/* Runs the session to its end, as a step of `whole` unless that is NULL. Returns how it ended, with the
 * text in `error`. The caller owns *session, which is NULL if there was none. Takes over the invocation.
 * `options` may be NULL. */
enum esp_status start_blocking(struct library *library, struct handle *handle, struct invocation *invocation,
                               const struct esp_call_options *options, struct session *whole,
                               struct session **session, struct esp_error *error);

#endif
