/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool of workers as processes: `slots` that compute, and `spares` that replace workers which crashed
 * or were killed. Routines run in workers and never in the daemon, which must not call BLAS. */
#ifndef SED_PROCESSES_H
#define SED_PROCESSES_H

#include "sed/crd/spawner.h"
#include "sed/pool/workers.h"

struct processes_options {
    uint32_t slots;                     /* jobs at a time, >= 1 */
    uint32_t spares;                    /* further workers kept ready */
    uint32_t threads;                   /* of BLAS in each worker, >= 1 */
    const char *library_path;           /* folders, separated by ':', searched first for libraries; or NULL */
    const struct problem_set *problems; /* their libraries are loaded before workers are forked; or NULL */
    const char *program;                /* espalier-crd; NULL: beside this program, or as installed */
    const char *folder; /* where workers' private folders are created; NULL: $TMPDIR or /tmp */
    uint64_t memory;    /* that each worker may allocate besides arguments; 0: unlimited */
    uint64_t keep;      /* kept of it after a call; a worker that keeps more is replaced; 0: unlimited */
    int nice;           /* added to workers' niceness */
    const struct spawner_limit *limits; /* further resource limits of workers (no core files in any case) */
    uint32_t n_limits;
    /* Called with a line that a routine has printed, with its '\n' (a piece of a long line, and an
     * incomplete last line, have none); `job_id` is 0 outside of a job. All lines of a job come before its
     * end is reported. A job that prints more than 4 MiB in a quarter of a second waits at its next write.
     * Called on a thread of the pool or one that helps, without its lock; or NULL. */
    void (*output)(void *arg, uint64_t job_id, const char *line);
    void *output_arg;
};

/* Starts the spawner and the workers. Best called before other threads exist, but safe at any time. Does
 * not wait for the workers: the first jobs may. The caller sets workers->ended before it starts a job, and
 * ends with workers->ops->destroy(), which kills running jobs (without reporting them) and leaves no
 * process and no file behind. ESP_INVALID, ESP_LIMIT (descriptors: needed, available, what to do),
 * ESP_NOT_FOUND (the program), ESP_SYSTEM. */
enum esp_status processes_create(const struct processes_options *options, struct workers **workers,
                                 struct esp_error *error);

/* Checks that this implementation can be called here: a worker supports its signature, and the library
 * loads and has the symbol. ESP_NOT_FOUND or ESP_INVALID with the text for the log. Waits for the spawner,
 * at most 30 s: call it while starting up, without locks. Any thread except those of the pool. */
enum esp_status processes_check(struct workers *workers, const struct problem *problem,
                                const struct implementation *implementation, struct esp_error *error);

/* Checks whether files of loaded libraries have changed since they were loaded. If so, all workers are
 * replaced, and the libraries of `problems` loaded again; running calls, and states, stay in their present
 * workers until they end. ESP_TIMEOUT, ESP_SYSTEM: the workers are unchanged. Waits like
 * processes_check(). */
enum esp_status processes_renew(struct workers *workers, const struct problem_set *problems,
                                struct esp_error *error);

/* The pool's counters, for tests and metrics. */
struct processes_counts {
    uint32_t alive;  /* workers: busy, idle and starting */
    uint32_t ready;  /* idle ones that have started */
    uint64_t born;   /* since the beginning */
    uint64_t died;   /* of these, except at destroy */
    uint64_t grown;  /* of these, replaced because they kept too much memory after a call */
    int32_t spawner; /* process id */
};
void processes_count(struct workers *workers, struct processes_counts *counts);

/* Whether workers are missing that cannot be created now; then `why`. */
bool processes_lack(struct workers *workers, char *why, size_t size);

/* Returns the process id of the worker that has the job, 0 when it is not known (yet). */
int32_t processes_pid(struct workers *workers, uint64_t job_id);

#endif
