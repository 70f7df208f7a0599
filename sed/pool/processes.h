/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool of workers as processes: `slots` that compute and `spares` that wait to take the place of one that
 * crashed or was killed. Routines run in them and never in the daemon, which must not call BLAS.
 */
#ifndef SED_PROCESSES_H
#define SED_PROCESSES_H

#include "sed/crd/spawner.h"
#include "sed/pool/workers.h"

struct processes_options {
    uint32_t slots;                     /* jobs at a time, >= 1 */
    uint32_t spares;                    /* further workers that are kept ready */
    uint32_t threads;                   /* of BLAS in each worker, >= 1 */
    const char *library_path;           /* folders, ':' between them, searched first for libraries; or NULL */
    const struct problem_set *problems; /* whose libraries are loaded before workers are forked; or NULL */
    const char *program;                /* espalier-crd; NULL: beside this program, or as installed */
    const char *folder;                 /* where workers' private folders are made; NULL: $TMPDIR or /tmp */
    uint64_t memory;                    /* that each worker may allocate beside arguments; 0: any amount */
    uint64_t keep;                      /* of it, after a call; who keeps more is replaced; 0: any amount */
    int nice;                           /* added to workers' niceness */
    const struct spawner_limit *limits; /* further resource limits of workers (no core files in any case) */
    uint32_t n_limits;
    /* A line that a routine has printed, with its '\n' (or a piece of a long one, or the last one, which have
     * none); `job_id` is 0 outside of a job. All of a job's come before its end is reported. A job that
     * prints more than 4 MiB in a quarter of a second waits at its next write. On a thread of the pool or one
     * that helps, without its lock; or NULL. */
    void (*output)(void *arg, uint64_t job_id, const char *line);
    void *output_arg;
};

/* Starts the spawner and the workers. Best called before other threads exist, but safe at any time. Does not
 * wait for the workers: the first jobs may. The caller sets workers->ended before it starts a job, and ends
 * with workers->ops->destroy(), which kills what still runs (without reporting it) and leaves no process and
 * no file behind. ESP_INVALID, ESP_LIMIT (descriptors: what is needed, found, to be done), ESP_NOT_FOUND (the
 * program), ESP_SYSTEM. */
enum esp_status processes_create(const struct processes_options *options, struct workers **workers,
                                 struct esp_error *error);

/* Whether this implementation can be called here: its signature is one that a worker can call, the library
 * loads and has the symbol. ESP_NOT_FOUND or ESP_INVALID with the text for the log. Waits for the spawner, at
 * most 30 s: call it while starting up, without locks. Any thread but those of the pool. */
enum esp_status processes_check(struct workers *workers, const struct problem *problem,
                                const struct implementation *implementation, struct esp_error *error);

/* Looks whether files of loaded libraries are others than they were when they were loaded. If so all workers
 * are replaced, and `problems`' libraries loaded anew; calls that run, and states, end with the workers that
 * they have. ESP_TIMEOUT, ESP_SYSTEM: the workers stay as they were. Waits as processes_check(). */
enum esp_status processes_renew(struct workers *workers, const struct problem_set *problems,
                                struct esp_error *error);

/* What the pool has and did, for tests and metrics. */
struct processes_counts {
    uint32_t alive;  /* workers, busy, idle and being born */
    uint32_t ready;  /* idle ones that have started up */
    uint64_t born;   /* since the beginning */
    uint64_t died;   /* of these, and not on destroy */
    uint64_t grown;  /* of these, since they kept too much memory after a call */
    int32_t spawner; /* process id */
};
void processes_count(struct workers *workers, struct processes_counts *counts);

/* Whether workers are lacking that cannot be made now; then `why`. */
bool processes_lack(struct workers *workers, char *why, size_t size);

/* The process id of the worker that has the job, 0 when it is not known (yet). */
int32_t processes_pid(struct workers *workers, uint64_t job_id);

#endif
