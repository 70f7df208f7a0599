/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of the pool of ranks: its state, shared by ranks.c (calls), ranks_job.c (the MPI job and the
 * thread that watches it) and ranks_launch.c (mpirun). Threads for ranks on other hosts (envoy.h) connect
 * to it like ranks.
 *
 * States of the job: DOWN until the monitor launches it; STARTING until every rank is ready; UP; ENDING
 * when a rank is gone, or a call must be stopped. ENDING closes all channels, which ends all ranks. When
 * the last one has ended, so that no process writes to the memory of calls any more, the calls are
 * reported, and the job is DOWN. */
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
    int socket;  /* -1: not connected */
    int process; /* pidfd of its process, to kill it if it does not end; -1: none */
    int32_t pid;
    int64_t still_ns; /* since when it was seen stopped, with a call; 0: it is not */
    int pulse;        /* for `far`: its heartbeat connection, or -1 */
    int64_t asked_ns; /* when the byte was sent that it has not returned yet; 0: none */
    bool ready;
    bool explained; /* it has sent how it ends */
    bool far;       /* on another host: its socket leads to its envoy */
    char host[64];
};

#define RANK_NOT_THERE ((struct rank){.socket = -1, .process = -1, .pulse = -1})

/* A running call, or room for one. */
struct gang {
    bool used, claimed;
    uint64_t job_id;
    uint32_t first, n;       /* its ranks, */
    uint32_t beside;         /* the last of which are outside the grid */
    uint32_t users;          /* threads that use the ring without the lock */
    bool held_up;            /* a rank of it was seen stopped, so its time is not recorded */
    bool promised;           /* counted in ring->attended for a helper thread that has not come yet */
    enum esp_status verdict; /* ESP_CANCELLED, ESP_TIMEOUT, ESP_FAILED: to be stopped; else ESP_OK */
    int64_t alone_ns; /* since when other ranks continue after one failed to allocate memory; 0: none did */
    char why[400];    /* ESP_FAILED: the text for its caller, unless it ends by itself */
    unsigned shy;     /* tiny calls to go without polling for their answers */
    int64_t started_ns, due_ns;
    struct ring *ring;
    int ring_fd;
    struct handoff handoff;
};

struct rank_pool {
    struct workers workers; /* first */
    struct ranks_options options;
    struct oom_watch oom;                              /* used by the monitor's thread */
    char *mpirun, *program, *hostfile, *folder, *path; /* path: of the socket */
    int folder_lock;                                   /* shows that the folder is in use */
    int folder_held;       /* the folder itself, locked against programs that clean up */
    char *shared;          /* folder for the shared memory of this host's ranks; NULL: MPI's own */
    int shared_lock;       /* as folder_lock */
    struct envoys *envoys; /* NULL: all ranks are on this host */
    char *profile_path;    /* or NULL */
    pthread_mutex_t lock;
    /* under the lock */
    enum job_state state;
    struct rank *ranks;
    bool *busy;                         /* ranks that have a call */
    uint64_t (*known)[RANK_CALLS_KEPT]; /* of each rank: keys of the calls that it has prepared; 0: none */
    struct rank_board *board;
    int board_fd;
    struct gang gangs[RANK_RINGS_MOST];
    uint32_t n_gangs, n_ready, n_gone;
    struct parallel_profile profile;
    int64_t profile_saved_ns;        /* used only by the thread that saves it: */
    struct timespec profile_written; /* when the file was last changed, as last read */
    bool profile_changed;
    /* Changes since workers.changed was last called, at told_ns: of the ranks or the profile; of the times
     * of calls. `has_more`: it is called again, because the receiver could not examine everything. */
    bool proposes_other, has_news, has_more;
    int64_t told_ns, more_ns;
    pid_t mpirun_pid;   /* 0: none */
    int mpirun_process; /* its pidfd, or -1 */
    uint64_t n_started; /* jobs */
    uint64_t n_calls;
    int64_t since_ns;       /* of the state */
    int64_t retry_ns;       /* JOB_DOWN: when to start it */
    int64_t pause_ns;       /* pause before the next attempt after a failure; doubles */
    bool failed;            /* the last attempt failed */
    uint32_t killed_starts; /* starts ended by a signal since the ranks were last there */
    bool told;              /* the remaining processes of JOB_ENDING were killed */
    bool blamed;  /* `trouble` names the rank that ended first; else mpirun ended ranks before we noticed */
    bool guessed; /* the blame is uncertain: it sent no message, and mpirun was already ending ranks */
    char trouble[400]; /* why the job is ending, or could not be started */
    uint32_t culprit;  /* the rank that caused the end; RANKS_NOBODY: not known */
    bool outside;      /* that rank, or mpirun, was probably ended from outside */
    char words[300];   /* mpirun's first message */
    char worn[300];    /* why this job gets no call any more; "": it does */
    /* the monitor */
    int64_t looked_ns; /* when stopped ranks were last checked */
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
    bool checker_lost; /* one has ended by itself: which files it had loaded is no longer known */
};

#define RANKS_NOBODY UINT32_MAX

/* Events of the monitor's epoll; others are ranks. */
#define RANKS_LISTENER UINT32_MAX
#define RANKS_BELL     (UINT32_MAX - 1)
#define RANKS_WAKE     (UINT32_MAX - 2)
#define RANKS_OUTPUT   (UINT32_MAX - 3)
#define RANKS_MPIRUN   (UINT32_MAX - 4)
#define RANKS_PENDING  (UINT32_MAX - 5) /* a rank before its hello: its socket is in the upper 32 bits */

int64_t ranks_now_ns(void);

/* ---- ranks.c ---- */

extern const struct workers_ops ranks_ops;
void ranks_wake(struct rank_pool *pool);

/* ---- ranks_job.c ---- */

/* Reads and reports a call that the monitor finds answered, unless another thread does. Without the lock. */
void ranks_collect(struct rank_pool *pool, struct gang *gang);
/* Whether its answer is there. */
bool ranks_is_answered(const struct gang *gang);

/* ---- ranks.c: with the lock ---- */

/* The gang's call has succeeded, so its ranks have prepared it. */
void ranks_know(struct rank_pool *pool, const struct gang *gang);
/* A new MPI job has prepared no calls. */
void ranks_forget_calls(struct rank_pool *pool);

void ranks_destroy(struct workers *workers);

/* ---- ranks_job.c: with the lock, but for arrival ---- */

/* ---- ranks_job.c: with the lock ---- */

/* Ends the job without fault of its calls: `trouble` has the reason. Ignored when it is ending already. */
void ranks_end_job(struct rank_pool *pool, const char *trouble);
/* Ends the job because of that rank, which was ended (or stopped) from `outside`, or by its call; other
 * calls are not the cause. */
void ranks_end_job_for(struct rank_pool *pool, uint32_t rank, bool outside, const char *trouble);
/* Stops giving calls to this job, for that reason. */
void ranks_wear_out(struct rank_pool *pool, const char *why);
/* Ends the job when a call must be stopped, or a rank is worn out, and no other call is running. */
void ranks_end_when_wanted(struct rank_pool *pool);
/* Handles timed events: starts, deadlines of starting and ending, time limits. Returns when to check
 * again, and
 * *buried when the last rank of an ending job has ended: its calls must be reported. */
bool ranks_watch(struct rank_pool *pool, int fd, uint64_t what);

/* ---- ranks.c: with the lock ---- */

/* Text about a rank on another host: silent for so many seconds. */
#define RANKS_SILENT "has not answered for %.3g s: it is stopped, or its host is, or cannot be reached"

/* While the job is up, at most once a second: warns about stopped ranks while calls wait for them, and
 * ends the job when one has been stopped for options.still_ns. */
void ranks_look_for_stopped(struct rank_pool *pool, int64_t now);

/* ---- ranks.c: with the lock ---- */

/* While the job is up: stops calls that will not end by themselves. */
void ranks_look_for_alone(struct rank_pool *pool, int64_t now);

void ranks_profile_load(struct rank_pool *pool);
/* With the lock: all ranks have measured; a call has ended well. */
void ranks_profile_measured(struct rank_pool *pool, const struct parallel_speed *speed);
void ranks_profile_learn(struct rank_pool *pool, const struct gang *gang, int64_t now_ns);
/* With the lock: whether workers.changed must be called now, and whether with news;
 * ranks_profile_tells_ns() returns when, CLOCK_NEVER: not at all. */
bool ranks_profile_tells(struct rank_pool *pool, int64_t now_ns, bool *news);
int64_t ranks_profile_tells_ns(const struct rank_pool *pool);
/* Calls it again soon, because the receiver could not examine everything. */
void ranks_profile_tell_again(struct rank_pool *pool, int64_t now_ns);
/* Without the lock, one thread at a time: takes over what a calibration has written to the file, and saves
 * changes, `now` or once a minute. */
void ranks_profile_save(struct rank_pool *pool, bool now);

/* ---- ranks_launch.c ---- */

/* Creates the folders of the ranks' socket and files again if another program has removed them. Before a
 * job is started. */
enum esp_status ranks_keep_folders(struct rank_pool *pool, struct esp_error *error);

enum esp_status ranks_launch(struct rank_pool *pool, struct esp_error *error);
/* Ends mpirun and waits for it: at most a second, then it is killed. */
void ranks_stop_mpirun(struct rank_pool *pool);
/* Removes the files of an ended job from the folders that MPI was given. */
void ranks_remove_files(const struct rank_pool *pool);
/* Kills what mpirun, which has ended, has left in its session, such as an ssh that waits for a silent
 * host. */
void ranks_kill_session(pid_t session);
void ranks_stop_checker(struct rank_pool *pool);

#endif
