/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of the pool of worker processes: its state, shared by processes.c (jobs), processes_workers.c
 * (starts), processes_monitor.c (deaths, time limits, output) and processes_link.c (the spawner).
 *
 * The life of a worker: its ring and socket are created and the spawner is asked to fork it; from then on
 * it may be given a job, which it finds when it starts. IDLE <-> BUSY until it dies, or is DOOMED: it gets
 * no job any more, and its death is awaited. Only the spawner's report of its death ends everything: until
 * then it may write to memory.
 *
 * A thread that finds a finished job claims it under the lock, so that its end is reported once. */
#ifndef SED_PROCESSES_POOL_H
#define SED_PROCESSES_POOL_H

#include "sed/pool/handoff.h"
#include "sed/pool/oom.h"
#include "sed/pool/processes.h"
#include "util/clock.h"
#include "util/log.h"

#include <errno.h>
#include <sched.h>
#include <pthread.h>
#include <uthash.h>

#define POOL_RETRY_NS (500 * NS_PER_MS) /* after a worker could not be created, or died at its start */
#define LAST_WORDS    160
#define OUTPUT_BYTES  (4u << 20) /* most output of one job in OUTPUT_NS; beyond, its writes wait */
#define OUTPUT_NS     (250 * NS_PER_MS)

/* Events of the monitor's epoll. */
#define EVENT_BELL    2
#define EVENT_WAKE    3
#define EVENT_OUTPUT  (UINT64_C(1) << 32) /* plus the worker's id */
#define EVENT_SPAWNER (UINT64_C(2) << 32) /* plus the link's number */

enum worker_state { WORKER_IDLE, WORKER_BUSY, WORKER_DOOMED, WORKER_PARKED };

/* A worker's output, passed on by lines. Under the pool's output_lock. */
struct output {
    char line[512];
    size_t length;
    bool returned; /* the last character was a carriage return */
    char last[LAST_WORDS];
    uint64_t bytes; /* since `since_ns` */
    int64_t since_ns;
    uint64_t job_seen;
    /* without the lock */
    _Atomic bool muted; /* beyond OUTPUT_BYTES: the pipe is not read, and a routine's writes wait */
    _Atomic uint64_t job_id;
    _Atomic uint64_t read_for; /* the job during which the pipe was last read, or is about to be */
};

/* A message to a spawner that did not fit into the socket. */
struct unsent {
    struct spawner_message message;
    int descriptors[SPAWNER_DESCRIPTORS]; /* copies */
    uint32_t n_descriptors;
    struct unsent *prev, *next;
};

/* A spawner, and the daemon's end of the socket to it. There are several while calls still run in workers
 * of one whose libraries have been rebuilt. */
struct link {
    int socket; /* -1: lost, or stopped */
    pid_t pid;
    uint32_t number;
    uint32_t workers;       /* that it created and that are not freed yet */
    uint32_t pings, checks; /* not answered yet */
    uint32_t silent_looks;  /* checks since its last message, while it should answer */
    int64_t looked_ns;
    struct unsent *unsent;           /* messages that wait for room in the socket, the oldest first */
    int64_t send_ns;                 /* when to try sending again; CLOCK_NEVER: when the socket has room */
    char folder[SIGNATURE_MAX_PATH]; /* its folder, with those of its workers */
    struct link *next;
};

struct worker {
    uint32_t id;
    struct link *link; /* of the spawner that created it */
    int32_t pid;       /* 0: not started yet */
    enum worker_state state;
    bool dead;       /* reported by the spawner, or never started */
    int wait_status; /* of a dead one */
    uint32_t users;  /* threads that use it without the lock: the last one frees it */
    struct ring *ring;
    int socket, output;
    uint64_t kept; /* the job whose state it keeps; 0: none. Such a worker is not one of `alive`. */
    /* the job */
    uint64_t job_id;
    unsigned tries; /* workers that died before they began it */
    bool awake;     /* it was polling for this job when it was posted, so it has it already */
    uint32_t told;  /* the last question that was reported */
    bool promised;  /* counted in ring->attended for a helper thread that has not come yet */
    bool claimed;
    bool wait_for_death;     /* the end is known, and is reported when it is dead */
    enum esp_status verdict; /* ESP_CANCELLED, ESP_TIMEOUT: killed on purpose; else ESP_OK */
    int64_t started_ns, due_ns;
    struct job_end end;
    struct handoff handoff;
    /* its output */
    struct output printed;
    struct worker *prev, *next; /* idle ones, the most recently used first */
    UT_hash_handle by_id, by_job;
};

struct check {
    uint32_t id, link; /* link: the number of the spawner that was asked */
    bool done;
    struct esp_error error;
};

#define POOL_WHY 440 /* of a text that says why workers cannot be created */

struct pool {
    struct workers workers; /* first */
    struct processes_options options;
    struct spawner_limit limits[SPAWNER_MAX_LIMITS];
    char *program, *library_path, folder[SIGNATURE_MAX_PATH];
    int folder_lock; /* shows that the folder is in use */
    pthread_mutex_t lock;
    pthread_mutex_t output_lock; /* taken alone, never with `lock` */
    pthread_cond_t checked;
    /* under the lock */
    struct worker *by_id, *by_job, *idle, *parked; /* parked: with a state, linked by prev and next */
    uint32_t alive;                                /* not doomed */
    uint32_t next_id;
    uint64_t n_started, born, died, grown;
    struct log_quota grown_lines, unborn_lines;
    char unborn[POOL_WHY + 32]; /* why the last worker could not be created; "": it could */
    struct oom_watch oom;
    struct check check;
    bool checking;
    struct link *link;  /* creates workers; NULL: lost */
    struct link *links; /* all of them */
    uint32_t last_link;
    int64_t retry_ns; /* when to try again to create missing workers */
    /* the monitor */
    pthread_t monitor;
    bool has_monitor;
    int bell, wake, epoll; /* eventfds, epoll */
    _Atomic int64_t monitor_until_ns;
    _Atomic bool stopping;
};

/* Whether sendmsg(2) failed because memory or the number of descriptors in flight was short: it may
 * succeed later. */
static inline bool pool_is_short(int why)
{
    return why == EAGAIN || why == EWOULDBLOCK || why == ENOBUFS || why == ENOMEM || why == ETOOMANYREFS;
}

/* ---- processes.c ---- */

extern const struct workers_ops pool_ops;
int64_t pool_now_ns(void);

void pool_drop(struct workers *workers, uint64_t state);
double pool_progress(struct workers *workers, uint64_t job_id);
bool pool_question(struct workers *workers, uint64_t job_id, struct job_question *question, void *data);
void pool_answer(struct workers *workers, uint64_t job_id, uint64_t number, enum esp_status status,
                 const void *data, uint32_t length);
/* Reports new questions. Without the lock. */
void pool_tell_questions(struct pool *pool);
/* Returns the worker that has the job, or NULL. With the lock. */
struct worker *pool_find_job(struct pool *pool, uint64_t job_id);
/* If a reply is there, claims, reads and reports it, unless another thread has claimed it. Without the
 * lock; the caller is a user of the worker. */
void pool_collect(struct pool *pool, struct worker *worker);
/* The process is dead (wait status), or was never created (`why` not NULL). Without the lock. */
void pool_buried(struct pool *pool, struct worker *worker, int wait_status, const char *why,
                 const char *last_words);
/* A worker was started. Without the lock. */
void pool_born(struct pool *pool, uint32_t id, int32_t pid);
/* Creates missing workers; shortly after a failure only if it is urgent. With the lock. */
void pool_refill(struct pool *pool, bool urgent);
/* Logs why workers cannot be created, for which calls wait, and stores it for processes_lack(). With the
 * lock. */
void pool_cannot(struct pool *pool, const char *why);
/* Releases a worker that was used without the lock. With the lock. */
void pool_release(struct pool *pool, struct worker *worker);
/* The worker gets no job any more: its death is awaited, and another replaces it. The caller has removed
 * it from the lists of its state. With the lock. */
void pool_doom(struct pool *pool, struct worker *worker);
/* Another spawner creates workers now: idle workers of earlier ones end, others when their calls end. With
 * the lock. */
void pool_retire(struct pool *pool);
/* Whether it may have another job. */
static inline bool pool_is_current(const struct pool *pool, const struct worker *worker)
{
    return worker->link == pool->link;
}
/* Frees all of them, when no thread uses them any more. */
void pool_free_workers(struct pool *pool);

/* ---- processes_create.c ---- */

void pool_destroy(struct workers *workers);

/* ---- processes_monitor.c ---- */

void *monitor_run(void *pool);
void monitor_wake(struct pool *pool);
/* Reads a worker's output and passes on its lines; copies the job's last one (LAST_WORDS bytes). Without
 * the lock; the caller is a user of the worker. */
void monitor_last_words(struct pool *pool, struct worker *worker, char *words);
/* Passes on the rest of the job's output, so that its end comes after it. Cheap when it has printed
 * nothing. Without the lock; the caller is a user of the worker. */
void monitor_finish_output(struct pool *pool, struct worker *worker);
enum esp_status monitor_watch_output(struct pool *pool, struct worker *worker, struct esp_error *error);
/* A new job starts on the worker: its output is counted from 0. With the lock. */
void monitor_expect_output(struct pool *pool, struct worker *worker, uint64_t job_id);

/* ---- processes_link.c: the spawner ---- */

/* Starts a spawner that creates workers from now on; an earlier one stays as long as it has workers. With
 * the lock, if there are threads. */
enum esp_status link_start(struct pool *pool, struct esp_error *error);
/* Makes the question whether the signature's library and symbol exist. */
struct spawner_check link_wanted(const struct call_signature *signature);
/* Asks for a worker with these descriptors, which remain the caller's. */
enum esp_status link_spawn(struct pool *pool, uint32_t id, const int descriptors[SPAWNER_DESCRIPTORS],
                           struct esp_error *error);
void link_kill(struct pool *pool, const struct worker *worker);
/* Asks the spawner that creates workers; `check` NULL: whether files have changed. */
enum esp_status link_check(struct pool *pool, uint32_t id, const struct spawner_check *check,
                           struct esp_error *error);
/* Checks whether a spawner that must answer is still working; one that is silent for long (stopped, or
 * hanging) is killed, which ends its workers. Returns when to check again. With the lock. */
int64_t link_look(struct pool *pool);
/* Whether messages to the spawner wait for room in its socket. With the lock. */
bool link_is_full(const struct link *link);
/* Sends as many of them as there is room for now. With the lock. */
void link_send_rest(struct pool *pool, struct link *link);
/* Receives one message from the spawner; false when there is none (*lost: and never will be). */
bool link_receive(struct link *link, struct spawner_message *message, bool *lost);
struct link *link_find(struct pool *pool, uint32_t number);
/* Closes the socket and waits for the spawner's end, which ends all its workers. */
void link_stop(struct pool *pool, struct link *link);
/* The spawner has no worker any more: it ends, unless it creates workers. */
void link_release(struct pool *pool, struct link *link);
/* Stops all of them. */
void link_stop_all(struct pool *pool);
void link_free_all(struct pool *pool); /* stopped before */

#endif
