/* SPDX-License-Identifier: Apache-2.0
 *
 * Declarations that the files of the server share (see sed/server/server.h). All functions are called under
 * the endpoint's lock, except where a comment says otherwise.
 */
#ifndef SED_SERVER_STATE_H
#define SED_SERVER_STATE_H

#include "core/forecast/cost_model.h"
#include "core/choice/estimate.h"
#include "core/hierarchy/membership.h"
#include "core/choice/terms.h"
#include "sed/sessions/admission.h"
#include "sed/sessions/queue.h"
#include "sed/server/server.h"
#include "sed/data/data.h"
#include "sed/states/states.h"
#include "sed/sessions/promises.h"
#include "sed/sessions/session.h"
#include "sed/forecast/speed.h"
#include "util/log.h"
#include "util/metrics.h"
#include "util/timer.h"

#include <stdatomic.h>
#include <stddef.h>

/* Sessions of all clients together. Small sessions take memory that admission does not count. */
#define SERVER_MOST_SESSIONS 100000
/* Bytes of inline values of all sessions that wait for memory. */
#define SERVER_MOST_STASHED (64u << 20)

/* A set of problem descriptions. The server uses the present set, and sessions the set with which they began.
 */
struct shelf {
    struct problem_set *set;
    uint64_t digest;
    struct catalog_entry *entries;
    uint32_t n_entries;
    uint32_t users;
};

/* A call, run or await that has not been answered yet. */
struct waiter {
    struct server *server;
    struct call *call;
    struct session *session;                                /* call, run */
    struct client *client;                                  /* await */
    struct message *(*answer)(const struct waiter *waiter); /* call, run, follow: how the session stands */
    struct timer patience;
    bool brief;   /* the patience ends before the transport checks whether the asker is there */
    bool follows; /* the call is a follow */
    uint64_t seen;
    double progress;
    bool collects;      /* a follow that fetches the result, and does not only look at the state */
    uint64_t answering; /* a follow: the question that the client is working on; 0: none */
    /* Read without the lock by the thread that brought the call: */
    _Atomic uint64_t job_id;
    _Atomic int64_t until_ns;
    struct waiter *prev, *next; /* in the list of the session, or in the free list */
    struct waiter *next_made;
};

/* Counters for metrics (sed/server/server_figures.c). */
struct server_totals {
    struct histogram queued_s, computed_s,
        took_s;             /* of sessions that ended well: in the queue, in the routine, in all */
    struct histogram ratio; /* computing time divided by the forecast */
    struct status_counts failures, refusals;  /* sessions that failed; calls that were refused */
    uint64_t done, failed;                    /* sessions */
    uint64_t bytes_in, bytes_out, bytes_lent; /* of arguments and results */
    uint64_t
        extra_runs; /* sessions begun here that clients called elsewhere as well, as this server was silent */
};

/* A part of the server that hears of the lives of sessions. A NULL slot is skipped. server.c has the table of
 * observers; slots are called in its order, with the lock. */
struct session_observer {
    /* The session begins to receive arguments, is queued again, or has ended. */
    void (*changed)(struct server *server, struct session *session);
    /* A datum or a thread has done what the session waited for. */
    void (*proceeds)(struct server *server, struct session *session);
    /* The session ends while it is queued. */
    void (*unqueued)(struct server *server, struct session *session);
    /* The session has ended; `state` and `error` say how. */
    void (*ended)(struct server *server, struct session *session);
    /* Nobody will come for the result (any more). */
    void (*result_goes)(struct server *server, struct session *session);
    /* The client wants nothing more of the session. */
    void (*forgotten)(struct server *server, struct session *session);
    /* The session's memory is not in use any more, and is freed next. */
    void (*released)(struct server *server, struct session *session);
};

extern const struct session_observer call_observer, await_observer, run_observer, figures_observer,
    idle_observer, checkpoint_observer, operands_observer, lend_observer, trace_observer, results_observer;

struct server {
    char *name;
    struct server_options options;
    struct endpoint *endpoint;
    struct workers *workers;
    struct membership *membership;
    struct shelf *shelf;
    struct duty duty; /* the orders of administrators, and the trace */
    struct server_stage {
        bool draining; /* no new sessions */
        bool ending;   /* it is to shut down, and may come back */
        bool leaving;  /* it shuts down: clients call its stopped sessions elsewhere */
    } stage;

    struct sessions sessions;
    const struct session_observer *const *observers; /* the last one is NULL */
    struct queue queue;
    struct slots slots;
    struct admission admission;
    struct segments *segments;
    struct timers timers;
    struct speed speed;
    struct server_totals totals;
    struct timer overdue; /* when a running session has taken longer than agents heard */

    /* Parts, whose structs only their own files know: */
    struct server_data *data;        /* sed/data/data.h */
    struct waiters *waiters;         /* server_await.c */
    struct states *states;           /* sed/states/states.h */
    struct promises *promises;       /* sed/sessions/promises.h */
    struct forecasts *forecasts;     /* server_models.c */
    struct ranks_told *ranks;        /* server_ranks.c */
    struct measurement *measurement; /* server_measure.c */
    struct sensed *sensed;           /* server_sense.c */
    struct fetched_links *links;     /* server_links.c */
    struct checkpoints *checkpoints; /* server_checkpoint.c */
    struct idleness *idleness;       /* server_idle.c */
    struct problems_told *problems;  /* server_problems.c */
};

static inline int64_t server_now(const struct server *server)
{
    return clock_now_ns(server->options.clock);
}

static inline double server_seconds(int64_t from_ns, int64_t to_ns)
{
    return from_ns && to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

/* A change that moves forecasts by a millisecond is reported soon; smaller changes are gathered. */
#define SERVER_LEISURE_MS 100
#define SERVER_SOON_MS    5
#define SERVER_SOON_S     0.001

/* Has the load reported to the parent after a change by about so many seconds of computation. */
static inline void tie_load_changed(struct membership *tie, double seconds)
{
    membership_touch(tie, seconds >= SERVER_SOON_S ? SERVER_SOON_MS : SERVER_LEISURE_MS);
}

static inline void server_load_changed(struct server *server, double seconds)
{
    tie_load_changed(server->membership, seconds);
}

/* ---- server_call.c ---- */
void server_on_call(struct server *server, struct call *call, const struct message *request);
void server_on_run(struct server *server, struct call *call, const struct message *request);
void server_on_cancel(struct server *server, struct call *call, const struct message *request);
/* admission.admitted: the session's memory is reserved. */
void server_admitted(void *server, struct admission_entry *entry);
/* Queues the session if all arguments are there. Called when no chunk is under way any more, or `run` came.
 */
enum esp_status server_make_ready(struct server *server, struct session *session, struct esp_error *error);

/* ---- server_administer.c ---- */
enum esp_status server_duty_create(struct server *server, struct esp_error *error);
/* Sends a message; a failure goes to the log. */
void server_post(void *server, const char *address, uint64_t to_incarnation, const struct message *message);
void server_on_administer(struct server *server, struct call *call, const struct message *request);
/* `tie`, here and below: the tie to the sender. While this server moves, that may be the parent that it
 * leaves. */
void server_on_order(struct server *server, const struct membership *tie, const struct envelope *envelope,
                     const struct order *order);
/* Logs the results that end with this process. */
void server_tell_losses(const struct server *server);
/* The client hears how the session ended. Only the first time is noted. */
void server_trace_told(struct server *server, struct session *session);
/* The client has fetched an argument up to `end` bytes. */
void server_trace_fetched(struct server *server, const struct session *session, uint32_t argument,
                          uint64_t end);
/* Whether the server is, or is to be, part of a hierarchy. */
bool server_has_parents(const struct server *server);
/* Options and operations of a tie to a parent. */
void server_membership(const struct server *server, struct membership_options *options,
                       const struct membership_ops **ops);

/* ---- server_contents.c ---- */
/* Checks a piece of the argument that has arrived. */
void server_look_at_piece(struct session *session, uint32_t index, const void *data, uint64_t bytes);
/* Checks the values of the inputs, which are all there, against the description. ESP_INVALID names the
 * element. ESP_PENDING: a thread checks large inputs; then the session goes on, or fails. */
enum esp_status server_check_contents(struct server *server, struct session *session,
                                      struct esp_error *error);
/* Whether the values of the argument are checked, or are needed for checking another argument. */
bool server_looks_at(const struct problem *problem, uint32_t index);

/* ---- server_run.c ---- */
/* queue.start: starts the sessions that can start. */
void server_dispatch(void *server);
/* The workers' report. Takes the lock. */
void server_job_ended(void *arg, uint64_t job_id, const struct job_end *end);
/* Workers report that the worker with the state of that job has died. Takes the lock. */
void server_state_lost(void *arg, uint64_t job_id);

/* ---- server_sessions.c ---- */
/* Tells observers that the session has come to receiving, or is queued again. */
void server_tell_changed(struct server *server, struct session *session);
/* The session goes on: a datum or a thread has done what it waited for. */
void server_proceed(struct server *server, struct session *session);
/* The session ends (it is not running any more): outcome, log, memory, observers. */
void server_end_session(struct server *server, struct session *session, enum session_state state,
                        const struct esp_error *error);
/* Ends a session that does not run, for the reason `why`: ESP_CANCELLED, ESP_TIMEOUT or ESP_UNREACHABLE (its
 * client is gone). */
void server_end_stopped(struct server *server, struct session *session, enum esp_status why);
/* Ends the session for one of these reasons, at once or when its worker is dead. */
void server_stop_session(struct server *server, struct session *session, enum esp_status why);
/* The results of the session that are data are on the disk: it ends. */
void server_results_stored(struct server *server, struct session *session);
/* Nobody came for the result: only the end of the session is remembered. */
void server_drop_result(struct server *server, struct session *session);
/* The client wants nothing more of the session. */
void server_forget_session(struct server *server, struct session *session);
/* Nothing moves in the session's memory any more: gives back what is not needed. */
void server_settle_memory(struct server *server, struct session *session);
/* Frees a forgotten session whose memory nobody uses any more. */
void server_release_session(struct server *server, struct session *session);
/* Sets the session's timer to what is next: its deadline or a lease. */
void server_set_timer(struct server *server, struct session *session);

/* ---- server_await.c ---- */
/* Answers the call when there is news of the session (server_has_news()), or after the patience. */
void server_wait_for(struct server *server, struct session *session, struct call *call, uint64_t patience_ms);
void server_on_await(struct server *server, struct call *call, const struct message *request);
void server_abandoned(struct server *server, struct call *call);

/* Fills the report with the state of the session. False without memory. */
bool server_fill_session(struct server *server, struct session *session, struct arena *arena,
                         struct session_report *report);
bool server_has_news(const struct session *session);
/* A new waiter for that session; `answer` makes its reply. NULL without memory. */
struct waiter *server_take_waiter(struct server *server, struct session *session, struct call *call,
                                  int64_t until_ns, struct message *(*answer)(const struct waiter *waiter));
/* Frees the waiter. The caller answers the call. */
struct call *server_dissolve_waiter(struct waiter *waiter);

/* ---- server_clients.c ---- */
/* The session with that id and secret; else NULL and an error. */
struct session *server_find_session(struct server *server, const struct session_id *id,
                                    struct esp_error *error);
/* Forgets the sessions below `floor`, which the client has acknowledged. */
void server_acknowledge(struct server *server, struct client *client, uint64_t floor);
/* Forgets acknowledged sessions above the floor. */
void server_acknowledge_open(struct server *server, struct client *client,
                             const struct extensions *extensions);
/* A lease counts as over when it is still over after so long: the server itself may have been stopped, and
 * have unread messages of the client. */
#define SECOND_LOOK_NS NS_PER_S

/* The connection on which the client waited, or moved data, is closed. NULL is nothing to do. */
void server_client_lost(struct server *server, struct client *client);
/* The client has sent something. Sessions that were held back begin with the next tick. */
void server_client_heard(struct server *server, struct client *client);
/* Whether the session is not to begin now, as its client may be gone. */
bool server_holds_back(const struct session *session);
/* The connection on which the session's arguments came is closed. If arguments are missing, the client has a
 * moment to connect again. */
void server_part_session(struct server *server, struct session *session);
void server_on_parted(void *server, const struct session_id *session);
/* The client has called the session elsewhere. */
void server_give_up_session(struct server *server, struct session *session);
/* Ends a session that its client may call on another server, unless it has begun or is a job. */
void server_give_back(struct server *server, struct session *session);
/* Ends the sessions of clients that did not come back. */
void server_give_up_orphans(struct server *server);

/* ---- server_jobs.c ---- */
/* Whether a job with so much memory may come: all jobs together take at most half of the memory. */
enum esp_status server_check_job(const struct server *server, const char *problem, uint64_t bytes,
                                 struct esp_error *error);
/* The session counts as a job from now on, or no longer. In between, server_job_resized() reports changes of
 * its memory. */
void server_job_begins(struct server *server, struct session *session);
void server_job_ends(struct server *server, struct session *session);
void server_job_resized(struct server *server, const struct session *session, uint64_t before, uint64_t now);
/* The client has noted where the session is: the session goes on without the client. The caller sets its
 * timer anew. ESP_LIMIT: there are too many jobs. */
enum esp_status server_keep_job(struct server *server, struct session *session, struct esp_error *error);
/* Whether the client has still to say that the job is to be kept. No connection need be open until then, so
 * the death of the client is noticed by its silence only. */
static inline bool server_job_is_open(const struct session *session)
{
    return session->job_counted && !session->detached && session->state != SESSION_RECEIVING;
}
/* Adds to the answer how long the result of a job is kept. False without memory. */
bool server_tell_lease(const struct server *server, const struct session *session,
                       struct message *follow_reply);

/* ---- server_results.c ---- */
#define SERVER_RESULTS_FOLDER "results"
/* How many bytes of results may outlive this process; 0: there is no writable state_dir. */
uint64_t server_results_room(const struct server *server);
/* Whether the session's result outlives the process. Subtracts its bytes from *room. */
bool server_result_fits(const struct session *session, uint64_t *room);
/* Restores saved results, once, before the endpoint is open. Logs those that it cannot restore. */
void server_restore_results(struct server *server);

/* ---- server_follow.c ---- */
void server_on_follow(struct server *server, struct call *call, const struct message *request);
/* Workers report that a routine calls a function of its client. Takes the lock. */
void server_job_asked(void *arg, uint64_t job_id);
/* The session has printed a line (with its '\n'), or a piece of a line. */
void server_printed(struct server *server, struct session *session, const char *line);

/* ---- server_checkpoint.c ---- */
/* Makes the folder, and deletes checkpoints that nobody has used for long, now and from time to time. Once,
 * when the server starts. Without a state_dir there are no checkpoints. */
void server_checkpoints_open(struct server *server);
/* A call has come: if its problem has checkpoints, notes the name of its checkpoint and the servers that keep
 * copies. */
void server_checkpoint_begin(struct server *server, struct session *session, const struct call_request *call);
/* The arguments are here. True: a thread asks the keepers for an earlier checkpoint; the session is queued
 * afterwards. */
bool server_checkpoint_fetch(struct server *server, struct session *session);
/* The session is freed without having ended, as the server is. */
void server_checkpoint_forget(struct session *session);
/* Before the job starts: sets where the routine saves its state, and from which state it goes on. */
void server_checkpoint_prepare(struct server *server, struct session *session);
/* The worker has crashed: whether the job begins again, as it has saved a state in this attempt. */
bool server_checkpoint_resumes(const struct session *session);

/* ---- server_chunk.c ---- */
void server_on_chunk(void *self, const struct message *header, bool write, struct chunk_area *area);
void server_on_chunk_done(void *self, const struct message *header, bool write, struct chunk_area *area,
                          bool complete);

/* ---- server_lend.c ---- */
/* endpoint_ops.lend: an argument or a result lies in the client's memory. */
struct message *server_on_lend(void *self, const struct message *header, int *file, uint64_t offset);

/* ---- server_load.c ---- */
void server_on_place(struct server *server, struct membership *tie, const struct place *place);
void server_on_ask(struct server *server, const struct membership *tie, const struct envelope *envelope,
                   const struct ask *ask);
void server_on_tree(struct server *server, struct call *call, const struct tree *tree);
void server_fill_report(void *self, bool complete, struct message *message);
/* Whether a report did not hold all news. */
bool server_more_to_report(void *self);
/* A session has started: agents hear of it if it takes longer than forecast. */
void server_load_started(struct server *server);

/* ---- server_problems.c ---- */
struct shelf *shelf_create(struct problem_set *set, struct esp_error *error);
void shelf_release(struct shelf *shelf); /* NULL is nothing to do */
/* Agents are to hear again which problems are disabled. */
void server_tell_disabled_again(struct server *server);
/* Adds the disabled problems if the parent has not heard of them; server_count_disabled() adds their number
 * to a tree. False without memory. */
bool server_tell_disabled(struct server *server, bool complete, struct arena *arena,
                          struct node_record *record);
bool server_count_disabled(const struct server *server, struct arena *arena, struct node_record *record);
void server_on_want(struct server *server, const struct membership *tie, const struct want *want);
void server_on_describe(struct server *server, struct call *call, const struct describe *describe);
void server_on_list(struct server *server, struct call *call, const struct list *list);
/* Whether the server takes new sessions and data. ESP_NO_SERVER: it is drained. ESP_UNREACHABLE: it shuts
 * down, mostly to start again, so clients may wait for it. */
enum esp_status server_takes_sessions(const struct server *server, struct esp_error *error);
/* The problem with that name and digest. NULL: ESP_UNKNOWN_PROBLEM. */
const struct problem *server_find_problem(const struct server *server, const char *name, uint64_t digest,
                                          struct esp_error *error);

/* ---- server_ranks.c ---- */

/* The implementation that is to compute a call, and its forecast. */
struct parallel_choice {
    const struct implementation *implementation;
    struct process_grid grid;          /* of a parallel implementation; blocks fit the matrices */
    struct parallel_proposal proposal; /* of another implementation: the time of a worker */
    bool ranks_absent;                 /* there is a parallel implementation, and the ranks are not running */
};
/* ESP_INVALID: workers cannot compute the problem, and ranks cannot with these arguments. */
enum esp_status server_suits(const struct problem *problem, const struct number *scope,
                             struct esp_error *error);
/* Whether ranks could not be started; `why` is one line. */
bool server_lacks_ranks(const struct server *server, char *why, size_t size);
/* ESP_REFUSED: only ranks compute the problem, and they could not be started. Another server may compute it.
 */
enum esp_status server_can_now(const struct server *server, const struct problem *problem,
                               struct esp_error *error);
/* Chooses between the ranks (true) and a worker, which would take `alone_s`. `session`: its data are here,
 * and it would begin now, so it waits for busy ranks; NULL: a call that has just come. */
bool server_choose(const struct server *server, const struct problem *problem, const struct number *scope,
                   double work_flop, uint64_t bytes, const struct session *session, double alone_s,
                   struct parallel_choice *choice);

/* The forecasts of the ranks have changed: computes them for each problem, and tells agents. Without the
 * lock. */
bool server_ranks_changed(void *server, bool news);

/* ---- server_models.c ---- */
const struct cost_set *server_models(const struct server *server);
/* The forecasts for ranks; taken over. False without memory: all stays as it was. */
bool server_set_rank_models(struct server *server, struct cost_ranks *ranks, uint32_t n);
/* How good forecasts were, for administrators. */
const char *server_tell_accuracy(const struct server *server, struct arena *arena);
/* The server as forecasts see it. */
struct computer server_computer(const struct server *server);
/* The share of a processor that control groups leave a slot that has one thread, at most 1. */
double server_cpu_quota(const struct server *server);
/* Forecasts a call on a worker, by the model of its problem if there is one. `scope` has the problem's
 * scalars. */
void server_cost(const struct server *server, const struct problem *problem, const struct number *scope,
                 double work_flop, uint64_t bytes, struct request_cost *cost);
/* The speed of a slot was measured, or is given. */
void server_speed_measured(struct server *server, double flops);
/* A session has computed for session->compute_s: corrects the model and the speed of its problem, and notes
 * how good the forecast was. `cpu_s`: processor time, including `waited_s` of waiting; 0: unknown. */
void server_learn(struct server *server, const struct session *session, double cpu_s, double waited_s);
/* Adds the models to the record if the parent has not heard of them. */
bool server_tell_models(struct server *server, bool complete, struct arena *arena,
                        struct node_record *record);
/* Adds the speeds of called problems to the record if the parent has not heard of them. */
bool server_tell_speeds(struct server *server, bool complete, struct arena *arena,
                        struct node_record *record);

/* ---- server_terms.c ---- */

/* Calls with a forecast of so long, and first calls of a problem, are timed by the processor's clock. */
#define WORTH_TIMING_S 0.01
/* Notes the processor time of a session that had a slot of one thread. */
void server_note_processor(struct server *server, const struct session *session, double cpu_s);

/* Adds the price, the properties and the bytes of arguments to come to the record. False without memory. */
bool server_tell_terms(const struct server *server, struct arena *arena, struct node_record *record);
/* Whether the server has what the request wants, and the call takes no more than it may. */
bool server_accepts(const struct server *server, const struct request *request,
                    const struct request_cost *cost);

/* ---- server_sense.c ---- */
/* The last sensor readings; all zero: there were none. */
const struct weather *server_weather(const struct server *server);
/* The link from the parent, as measured last. */
const struct path *server_link(const struct server *server);
/* Memory that sessions may reserve now, and memory of theirs that others on the machine hold. */
uint64_t server_memory_free(const struct server *server);
uint64_t server_memory_held(const struct server *server);

/* ---- server_links.c ---- */
/* A transfer that a probe of a link would measure as well begins, and ends. Any thread. */
void server_traffic_begins(struct server *server);
void server_traffic_ends(struct server *server);
/* Adds links from other servers to the record if the parent has not heard of them. False without memory. */
bool server_tell_links(struct server *server, bool complete, struct arena *arena, struct node_record *record);
/* A fetch from that server begins (returns a mark for server_fetch_ends()), and ends: returns the seconds for
 * which it had the link to itself, counting only transfers of this server; 0: unknown. Without the lock. */
double server_fetch_begins(struct server *server, const char *peer);
double server_fetch_ends(struct server *server, const char *peer, double begun_ns);

/* ---- server_idle.c ---- */
/* A session has come, or was promised. */
void server_work_comes(struct server *server);
/* The number of promised sessions has changed. */
void server_work_promised(struct server *server, uint32_t n);
/* Whether something of the server's own computes outside of sessions. */
bool server_is_beside(const struct server *server);
void server_idle_begin(struct server *server);

/* ---- server_measure.c ---- */
void server_measure_begin(struct server *server);
/* Whether a job of the measurement runs. */
bool server_measures(const struct server *server);
/* When server_measure_step() is to be called; CLOCK_NEVER. */
int64_t server_measure_due(const struct server *server);
/* Goes on with it when a slot is free and nobody waits for one. */
void server_measure_step(struct server *server);
void server_measure_ended(struct server *server, const struct job_end *end);

/* ---- creating and destroying parts: false without memory; destroy takes what was not created ---- */
bool server_promises_create(struct server *server);
void server_promises_destroy(struct server *server);
bool server_measure_create(struct server *server);
void server_measure_destroy(struct server *server);
bool server_models_create(struct server *server);
void server_models_destroy(struct server *server);
bool server_ranks_create(struct server *server);
void server_ranks_destroy(struct server *server);
bool server_sensed_create(struct server *server);
void server_sensed_destroy(struct server *server);
bool server_links_create(struct server *server);
void server_links_destroy(struct server *server);
bool server_checkpoints_create(struct server *server);
void server_checkpoints_destroy(struct server *server);
bool server_idle_create(struct server *server);
void server_idle_destroy(struct server *server);
bool server_problems_create(struct server *server);
void server_problems_destroy(struct server *server);
bool server_waiters_create(struct server *server);
void server_waiters_destroy(struct server *server);

#endif
