/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the pool of worker processes: its state, shared by processes.c (jobs), processes_workers.c (births),
 * processes_monitor.c (deaths, time limits, output) and processes_link.c (the spawner).
 *
 * A worker's life: it is made (ring, socket) and the spawner asked to fork it; from then on it may be given a
 * job, which it finds when it wakes up. IDLE <-> BUSY until it dies, or is DOOMED: no job any more, and its
 * death is awaited. The spawner's word that it died ends everything: until then it may write to memory.
 *
 * Whoever finds that a job is over claims it under the lock, so that its end is reported once.
 */
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

#define POOL_RETRY_NS (500 * NS_PER_MS) /* after a worker could not be made, or died at birth */
#define LAST_WORDS    160
#define OUTPUT_BYTES  (4u << 20) /* that one job may print in OUTPUT_NS; then its writes wait for a while */
#define OUTPUT_NS     (250 * NS_PER_MS)

/* What the monitor's epoll tells apart. */
#define EVENT_BELL    2
#define EVENT_WAKE    3
#define EVENT_OUTPUT  (UINT64_C(1) << 32) /* and the worker's id */
#define EVENT_SPAWNER (UINT64_C(2) << 32) /* and the link's number */

enum worker_state { WORKER_IDLE, WORKER_BUSY, WORKER_DOOMED, WORKER_PARKED };

/* What a worker prints, handed on by lines. Under the pool's output_lock. */
struct output {
    char line[512];
    size_t length;
    bool returned; /* the last character was a carriage return */
    char last[LAST_WORDS];
    uint64_t bytes; /* since `since_ns` */
    int64_t since_ns;
    uint64_t job_seen;
    /* without the lock */
    _Atomic bool muted; /* beyond OUTPUT_BYTES: nobody reads the pipe, and a routine's writes wait */
    _Atomic uint64_t job_id;
    _Atomic uint64_t read_for; /* the job in which the pipe was last read, or is about to be */
};

/* A message to a spawner that the socket had no room for. */
struct unsent {
    struct spawner_message message;
    int descriptors[SPAWNER_DESCRIPTORS]; /* copies */
    uint32_t n_descriptors;
    struct unsent *prev, *next;
};

/* A spawner, and the daemon's end of the socket to it. There is more than one while calls go on in workers of
 * one whose libraries were built anew. */
struct link {
    int socket; /* -1: lost, or stopped */
    pid_t pid;
    uint32_t number;
    uint32_t workers;       /* it has made that are not freed yet */
    uint32_t pings, checks; /* that it has not answered */
    uint32_t silent_looks;  /* at it since it said something, while it owed an answer */
    int64_t looked_ns;
    struct unsent *unsent; /* messages that wait for room in the socket, the oldest first */
    int64_t send_ns;       /* when to try to send them again; CLOCK_NEVER: when the socket has room */
    char folder[SIGNATURE_MAX_PATH]; /* with those of its workers */
    struct link *next;
};

struct worker {
    uint32_t id;
    struct link *link; /* of the spawner that has made it */
    int32_t pid;       /* 0: not born yet */
    enum worker_state state;
    bool dead;       /* the spawner said so, or that it was never born */
    int wait_status; /* of a dead one */
    uint32_t users;  /* threads that look at it without the lock: it is freed by the last */
    struct ring *ring;
    int socket, output;
    uint64_t kept; /* the job whose state it keeps; 0: none. Such a worker is not one of `alive`. */
    /* the job */
    uint64_t job_id;
    unsigned tries; /* workers that died before they began it */
    bool awake;     /* it was looking for this job when it was posted, so it has it already */
    uint32_t told;  /* the question that was told of */
    bool promised;  /* counted in ring->attended for a helper that has not come yet */
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

#define POOL_WHY 440 /* of a text that says why workers cannot be made */

struct pool {
    struct workers workers; /* first */
    struct processes_options options;
    struct spawner_limit limits[SPAWNER_MAX_LIMITS];
    char *program, *library_path, folder[SIGNATURE_MAX_PATH];
    int folder_lock; /* that says it is in use */
    pthread_mutex_t lock;
    pthread_mutex_t output_lock; /* taken alone, never with `lock` */
    pthread_cond_t checked;
    /* under the lock */
    struct worker *by_id, *by_job, *idle, *parked; /* parked: with a state, by prev and next */
    uint32_t alive;                                /* not doomed */
    uint32_t next_id;
    uint64_t n_started, born, died, grown;
    struct log_quota grown_lines, unborn_lines;
    char unborn[POOL_WHY + 32]; /* why the last worker could not be made; "": it could */
    struct oom_watch oom;
    struct check check;
    bool checking;
    struct link *link;  /* that makes workers; NULL: lost */
    struct link *links; /* all of them */
    uint32_t last_link;
    int64_t retry_ns; /* when to try again to make what is missing */
    /* the monitor */
    pthread_t monitor;
    bool has_monitor;
    int bell, wake, epoll; /* eventfds, epoll */
    _Atomic int64_t monitor_until_ns;
    _Atomic bool stopping;
};

/* Whether sendmsg(2) failed because room, memory or descriptors on their way were short: it may succeed
 * later. */
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
/* Tells of the questions that are new. Without the lock. */
void pool_tell_questions(struct pool *pool);
/* The worker that has the job, or NULL. With the lock. */
struct worker *pool_find_job(struct pool *pool, uint64_t job_id);
/* A reply may be there: claims, reads and reports it, unless that is another's. Without the lock; the caller
 * is a user of the worker. */
void pool_collect(struct pool *pool, struct worker *worker);
/* The process is dead (wait status), or never came to be (`why` not NULL). Without the lock. */
void pool_buried(struct pool *pool, struct worker *worker, int wait_status, const char *why,
                 const char *last_words);
/* A worker was born. Without the lock. */
void pool_born(struct pool *pool, uint32_t id, int32_t pid);
/* Makes the workers that are missing; when that failed a moment ago only if it is urgent. With the lock. */
void pool_refill(struct pool *pool, bool urgent);
/* Logs why workers cannot be made, for which calls wait, and keeps it for processes_lack(). With the lock. */
void pool_cannot(struct pool *pool, const char *why);
/* Writes why a process could not be made: `number` is an errno. A limit of processes is named. */
void pool_why_unmade(int number, char *text, size_t size);
/* Lets go of a worker that was used without the lock. With the lock. */
void pool_release(struct pool *pool, struct worker *worker);
/* No job any more: its death is awaited, another takes its place. The caller has taken it off the lists of
 * its state. With the lock. */
void pool_doom(struct pool *pool, struct worker *worker);
/* The spawner that makes workers is another now: idle workers of those before it go, others when their calls
 * end. With the lock. */
void pool_retire(struct pool *pool);
/* Whether it may have another job. */
static inline bool pool_is_current(const struct pool *pool, const struct worker *worker)
{
    return worker->link == pool->link;
}
/* All of them, when no thread uses them any more. */
void pool_free_workers(struct pool *pool);

/* ---- processes_create.c ---- */

void pool_destroy(struct workers *workers);

/* ---- processes_monitor.c ---- */

void *monitor_run(void *pool);
void monitor_wake(struct pool *pool);
/* Reads what a worker has printed and hands on its lines; copies the job's last one (LAST_WORDS bytes).
 * Without the lock; the caller is a user of the worker. */
void monitor_last_words(struct pool *pool, struct worker *worker, char *words);
/* Hands on the rest of what the worker's job has printed, so that its end comes behind it. Cheap when it has
 * printed nothing. Without the lock; the caller is a user of the worker. */
void monitor_finish_output(struct pool *pool, struct worker *worker);
enum esp_status monitor_watch_output(struct pool *pool, struct worker *worker, struct esp_error *error);
/* A new job on the worker: its output counts anew. With the lock. */
void monitor_expect_output(struct pool *pool, struct worker *worker, uint64_t job_id);

/* ---- processes_link.c: the spawner ---- */

/* Makes it the one that makes workers; one before it stays for as long as it has some. With the lock, where
 * there are threads. */
enum esp_status link_start(struct pool *pool, struct esp_error *error);
/* The question whether what the signature names is there. */
struct spawner_check link_wanted(const struct call_signature *signature);
/* Asks for a worker with these descriptors, which stay the caller's. */
enum esp_status link_spawn(struct pool *pool, uint32_t id, const int descriptors[SPAWNER_DESCRIPTORS],
                           struct esp_error *error);
void link_kill(struct pool *pool, const struct worker *worker);
/* Asks the spawner that makes workers; `check` NULL: whether files have changed. */
enum esp_status link_check(struct pool *pool, uint32_t id, const struct spawner_check *check,
                           struct esp_error *error);
/* Looks whether a spawner that owes answers is still at work; one that says nothing for long (it was stopped,
 * or hangs) is killed, which ends its workers. Returns when to look again. With the lock. */
int64_t link_look(struct pool *pool);
/* Whether messages to the spawner wait for room in its socket. With the lock. */
bool link_is_full(const struct link *link);
/* Sends as many of them as there is room for now. With the lock. */
void link_send_rest(struct pool *pool, struct link *link);
/* One message from the spawner; false when there is none (*lost: and never will be). */
bool link_receive(struct link *link, struct spawner_message *message, bool *lost);
struct link *link_find(struct pool *pool, uint32_t number);
/* Closes the socket and waits for the spawner's end, which is the end of all its workers. */
void link_stop(struct pool *pool, struct link *link);
/* It has no worker any more: it ends, unless it makes workers. */
void link_release(struct pool *pool, struct link *link);
/* All of them. */
void link_stop_all(struct pool *pool);
void link_free_all(struct pool *pool); /* stopped before */

#endif
