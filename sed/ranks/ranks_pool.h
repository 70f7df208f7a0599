/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the pool of ranks: its state, shared by ranks.c (calls), ranks_job.c (the job of MPI and the thread
 * that watches it) and ranks_launch.c (mpirun). Threads of ranks on other hosts (envoy.h) come to it as ranks
 * do.
 *
 * The job: DOWN until the monitor launches it; STARTING until every rank has said that it is ready; UP;
 * ENDING when a rank is gone, or a call has to be stopped: all channels are closed, which ends all ranks, and
 * when the last one is gone, so that nobody writes to the memory of calls any more, these are reported. Then
 * it is DOWN.
 */
#ifndef SED_RANKS_POOL_H
#define SED_RANKS_POOL_H

#include "core/forecast/parallel_profile.h"
#include "sed/ranks/envoy.h"
#include "sed/pool/handoff.h"
#include "sed/pool/oom.h"
#include "sed/ranks/rank_board.h"
#include "sed/ranks/ranks.h"
#include "util/clock.h"

#include <pthread.h>
#include <sys/types.h>

enum job_state { JOB_DOWN, JOB_STARTING, JOB_UP, JOB_ENDING };

struct rank {
    int socket;  /* -1: not there */
    int process; /* pidfd of its process, by which it is killed when it does not end; -1: none */
    int32_t pid;
    int64_t still_ns; /* since when it was seen stopped, with a call; 0: it is not */
    int pulse;        /* far: the connection of its pulse, or -1 */
    int64_t asked_ns; /* when it was sent what it has not answered yet; 0: nothing */
    bool ready;
    bool explained; /* it has said how it ends */
    bool far;       /* on another host: its socket leads to its envoy */
    char host[64];
};

#define RANK_NOT_THERE ((struct rank){.socket = -1, .process = -1, .pulse = -1})

/* A call under way, or the place for one. */
struct gang {
    bool used, claimed;
    uint64_t job_id;
    uint32_t first, n;       /* its ranks, */
    uint32_t beside;         /* the last of which are beside the grid */
    uint32_t users;          /* threads that look at the ring without the lock */
    bool held_up;            /* a rank of it was seen stopped: it tells nothing of what calls take */
    bool promised;           /* counted in ring->attended for a helper that has not come yet */
    enum esp_status verdict; /* ESP_CANCELLED, ESP_TIMEOUT, ESP_FAILED: to be stopped; else ESP_OK */
    int64_t alone_ns;        /* since when others go on without one that was refused memory; 0: none does */
    char why[400];           /* ESP_FAILED: what its caller is told, unless it ends by itself */
    unsigned shy;            /* tiny calls to go without looking for their answers */
    int64_t started_ns, due_ns;
    struct ring *ring;
    int ring_fd;
    struct handoff handoff;
};

struct rank_pool {
    struct workers workers; /* first */
    struct ranks_options options;
    struct oom_watch oom;                              /* of the monitor's thread */
    char *mpirun, *program, *hostfile, *folder, *path; /* path: of the socket */
    int folder_lock;                                   /* that says it is in use */
    int folder_held;                                   /* the folder itself, locked for programs that clean */
    char *shared;          /* folder of what ranks of this host share in memory; NULL: MPI's own */
    int shared_lock;       /* as folder_lock */
    struct envoys *envoys; /* NULL: all ranks are on this host */
    char *profile_path;    /* or NULL */
    pthread_mutex_t lock;
    /* under the lock */
    enum job_state state;
    struct rank *ranks;
    bool *busy;                         /* ranks with a call */
    uint64_t (*known)[RANK_CALLS_KEPT]; /* of each rank: keys of the calls that it has prepared; 0: none */
    struct rank_board *board;
    int board_fd;
    struct gang gangs[RANK_RINGS_MOST];
    uint32_t n_gangs, n_ready, n_gone;
    struct parallel_profile profile;
    int64_t profile_saved_ns;        /* of who saves it alone, as is: */
    struct timespec profile_written; /* when the file was last changed, as far as it was read */
    bool profile_changed;
    /* Since workers.changed was told, at told_ns: other ranks, or other knowledge; calls that took another
     * time than was known. And when it is told again, as whom it was told could not look at all of it, if
     * `has_more`. */
    bool proposes_other, has_news, has_more;
    int64_t told_ns, more_ns;
    pid_t mpirun_pid;   /* 0: none */
    int mpirun_process; /* its pidfd, or -1 */
    uint64_t n_started; /* jobs */
    uint64_t n_calls;
    int64_t since_ns;       /* of the state */
    int64_t retry_ns;       /* JOB_DOWN: when to start it */
    int64_t pause_ns;       /* until the next attempt when one fails; doubles */
    bool failed;            /* the last attempt */
    uint32_t killed_starts; /* since they were there: attempts that somebody's signal has ended */
    bool told;              /* the killing that JOB_ENDING ends with was done */
    bool blamed;  /* `trouble` names who ended first; else mpirun has told ranks to end before we heard */
    bool guessed; /* ...as far as is known: it has said nothing, and mpirun was ending ranks already */
    char trouble[400]; /* why the job is ending, or could not be started */
    uint32_t culprit;  /* the rank that it ends for; RANKS_NOBODY: none that is known */
    bool outside;      /* that rank, or mpirun, was ended by somebody else, as far as can be seen */
    char words[300];   /* what mpirun said first */
    char worn[300];    /* why no call is given to this job any more; "": calls are */
    /* the monitor */
    int64_t looked_ns; /* for stopped ranks */
    pthread_t monitor;
    bool has_monitor;
    int listener, bell, wake, epoll, output; /* output: mpirun's pipe, or -1 */
    char line[512];
    size_t line_length;
    _Atomic int64_t until_ns;
    _Atomic bool stopping;
    /* ranks_check() */
    pid_t checker;
    int checker_in, checker_out;
    bool checker_lost; /* one has ended by itself: what it had loaded is not known any more */
};

#define RANKS_NOBODY UINT32_MAX

/* What the monitor's epoll tells apart; others are ranks. */
#define RANKS_LISTENER UINT32_MAX
#define RANKS_BELL     (UINT32_MAX - 1)
#define RANKS_WAKE     (UINT32_MAX - 2)
#define RANKS_OUTPUT   (UINT32_MAX - 3)
#define RANKS_MPIRUN   (UINT32_MAX - 4)
#define RANKS_PENDING  (UINT32_MAX - 5) /* a rank that has not said hello: its socket is above the 32 bits */

int64_t ranks_now_ns(void);

/* ---- ranks.c ---- */

extern const struct workers_ops ranks_ops;
void ranks_wake(struct rank_pool *pool);

/* ---- ranks_job.c ---- */

/* A call that the monitor finds answered: read and reported, unless that is another's. Without the lock. */
void ranks_collect(struct rank_pool *pool, struct gang *gang);
/* Whether its answer is there. */
bool ranks_is_answered(const struct gang *gang);

/* ---- ranks.c: with the lock ---- */

/* The call of that gang has ended well, so that its ranks know it. */
void ranks_know(struct rank_pool *pool, const struct gang *gang);
/* A fresh job of MPI knows nothing. */
void ranks_forget_calls(struct rank_pool *pool);

void ranks_destroy(struct workers *workers);

/* ---- ranks_job.c: with the lock, but for arrival ---- */

/* ---- ranks_job.c: with the lock ---- */

/* Ends the job by no fault of its calls: `trouble` says why. Nothing when it is ending already. */
void ranks_end_job(struct rank_pool *pool, const char *trouble);
/* For that rank, which was ended (or stopped) from `outside`, or by its call; others are not to blame. */
void ranks_end_job_for(struct rank_pool *pool, uint32_t rank, bool outside, const char *trouble);
/* No call is given to this job any more, for that reason. */
void ranks_wear_out(struct rank_pool *pool, const char *why);
/* Ends it when a call is to be stopped, or a rank is worn out, and no other call is under way. */
void ranks_end_when_wanted(struct rank_pool *pool);
/* What time brings: starts, deadlines of starting and ending, time limits. Returns when to look again, and
 * *buried when the last rank of an ending job is gone: its calls are to be reported. */
bool ranks_watch(struct rank_pool *pool, int fd, uint64_t what);

/* ---- ranks.c: with the lock ---- */

/* What is said of a rank on another host: for so many seconds. */
#define RANKS_SILENT "has not answered for %.3g s: it is stopped, or its host is, or cannot be reached"

/* While the job is up, at most once a second: warns of ranks that are stopped while calls wait for them, and
 * ends the job when one has been so for options.still_ns. */
void ranks_look_for_stopped(struct rank_pool *pool, int64_t now);

/* ---- ranks.c: with the lock ---- */

/* While the job is up: calls that will not end by themselves are to be stopped. */
void ranks_look_for_alone(struct rank_pool *pool, int64_t now);

void ranks_profile_load(struct rank_pool *pool);
/* With the lock: all ranks have measured; a call has ended well. */
void ranks_profile_measured(struct rank_pool *pool, const struct parallel_speed *speed);
void ranks_profile_learn(struct rank_pool *pool, const struct gang *gang, int64_t now_ns);
/* With the lock: whether workers.changed is to be told now, and whether of something new; and when,
 * CLOCK_NEVER: there is nothing to tell. */
bool ranks_profile_tells(struct rank_pool *pool, int64_t now_ns, bool *news);
int64_t ranks_profile_tells_ns(const struct rank_pool *pool);
/* Soon, as whom it was told could not look at all of it. */
void ranks_profile_tell_again(struct rank_pool *pool, int64_t now_ns);
/* Without the lock, one thread at a time: takes over what a calibration has written to the file, and writes
 * what is new, `now` or once a minute. */
void ranks_profile_save(struct rank_pool *pool, bool now);

/* ---- ranks_launch.c ---- */

/* Makes the folders of the ranks' socket and files anew where another program has removed them. Before a job
 * is started. */
enum esp_status ranks_keep_folders(struct rank_pool *pool, struct esp_error *error);

enum esp_status ranks_launch(struct rank_pool *pool, struct esp_error *error);
/* Ends mpirun and waits for it: at most a second, then it is killed. */
void ranks_stop_mpirun(struct rank_pool *pool);
/* What a job that is no more has left in the folders that MPI was given. */
void ranks_remove_files(const struct rank_pool *pool);
/* Kills what mpirun, which has ended, has left in its session: an ssh that waits for a host that is silent.
 */
void ranks_kill_session(pid_t session);
void ranks_stop_checker(struct rank_pool *pool);

#endif
