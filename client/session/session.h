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
struct invocation;
struct job_record;
struct library;

/* The handle of a call as the engine sees it. */
struct target {
    const char *server;                     /* name: bound to it; NULL: let the agents choose */
    const char *address;                    /* of that server */
    bool job;                               /* the session is to become a job: see client/jobs/job.h */
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
    struct job_record *record; /* owned, of an attached session: where the job is now */

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

/* Runs a blocking session to its end, in this thread. Returns session->error.status. */
enum esp_status session_call(struct session *session);

/* Hands an asynchronous session to the pool. ESP_SYSTEM: no thread can be made; `ended` is not called. */
enum esp_status session_start(struct session *session, struct esp_error *error);

/* Ends it as soon as possible and stops the computation. Any thread; the session must not be destroyed
 * meanwhile. */
void session_cancel(struct session *session);
/* To who is in given_up, when there is somebody. Best effort. */
void session_tell_given_up(struct session *session);

/* ---- for its other halves, client/session/link.c, attempt.c and bulk.c ---- */

/* Goes on with it. STEP_WAIT: the server computes; park it at session->link. STEP_HELD: to backlog_park() or
 * backlog_wait() with it. */
enum session_step session_advance(struct session *session);

/* Takes what a server said of it. By its runner, or, while it is parked, under the link's lock. */
void session_absorb(struct session *session, const struct session_report *report);

/* Waits, in the runner's thread, until there is news of the session other than output and progress, which are
 * handed on as they come. */
void session_follow(struct session *session);
/* Takes kept output: see esp_session_output(). Any thread that may look at the session. */
size_t session_take_output(struct session *session, char *buffer, size_t size);

/* Whether somebody wants it ended. */
bool session_is_cancelled(struct session *session);

/* The last thing that happens to it: sets error.status (the text is there already), takes its number back. */
void session_end(struct session *session, enum esp_status status);
/* The same, as its deadline passed: the text says what session->error told before. */
void session_end_late(struct session *session);

/* Milliseconds until its deadline, at least 1; about a month when it has none. */
int64_t session_left_ms(const struct session *session);

/* GridRPC's error codes for Espalier's statuses. */

/* How a session ended (ESP_PENDING: GRPC_NOT_COMPLETED). */
grpc_error_t outcome_code(enum esp_status status);

/* Why a handle could not be made. */
grpc_error_t outcome_handle_code(enum esp_status status);

/* Why the library could not be initialized. */
grpc_error_t outcome_config_code(enum esp_status status);

/* The session that the user's last program began last: in a file of the user's state folder, for whoever
 * looks at its way without having noted it. It is a hint and never an error. */

/* Without a folder, or room on the disk, it stays the one that it was. */
void last_session_keep(const struct session_id *session);
/* Its name as session_id_text() has it; false: none is known. */
bool last_session_find(char text[SESSION_TEXT]);

/* What goes out to the program in one piece: a struct or an array, and behind it all that it points to. */

/* `bytes` of zeroed memory with an arena of its own, or NULL. */
void *package_create(size_t bytes);
struct arena *package_arena(void *payload);
/* NULL is nothing to do. */
void package_destroy(void *payload);

/* A copy of the text in the package's arena; NULL without memory, and for NULL. */
const char *package_text(void *payload, const char *text);

/* From a handle and an invocation to a session, for both interfaces. */

/* When a session of the handle that begins now is over, for invocation_find_data(). `options` may be NULL. */
int64_t start_until_ns(const struct library *library, struct handle *handle,
                       const struct esp_call_options *options);

/* Runs the session to its end, as a step of `whole` unless that is NULL; returns how it ended, with the text
 * in `error`. *session is the caller's, NULL when there was none. Takes the invocation over. `options` may be
 * NULL. */
enum esp_status start_blocking(struct library *library, struct handle *handle, struct invocation *invocation,
                               const struct esp_call_options *options, struct session *whole,
                               struct session **session, struct esp_error *error);

/* Starts it. `given` is the caller's struct of the handle. */
enum esp_status start_asynchronous(struct library *library, struct handle *handle,
                                   grpc_function_handle_t *given, struct invocation *invocation,
                                   const struct esp_call_options *options, grpc_sessionid_t *id,
                                   struct esp_error *error);

#endif
