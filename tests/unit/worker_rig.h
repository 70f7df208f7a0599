/* SPDX-License-Identifier: Apache-2.0
 *
 * Calling routines in worker processes from a test: jobs are built from a problem's description and values.
 */
#ifndef TESTS_WORKER_RIG_H
#define TESTS_WORKER_RIG_H

#include "tests/unit/unit.h"
#include "sed/pool/processes.h"

#include <pthread.h>
#include <stdatomic.h>

#define RIG_JOBS 64

/* Whether what is allocated can be bounded: sanitizers do it by other ways than the C library's, and much. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define MEMORY_TESTS 0
#else
#define MEMORY_TESTS 1
#endif

struct rig_job {
    struct job job;
    struct job_argument arguments[PROBLEM_MAX_ARGUMENTS];
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    unsigned char scratch[PROBLEM_MAX_ARGUMENTS][16];
    char *segment; /* mapped here */
    struct job_end end;
    bool used; /* until rig_finish() */
    int ended; /* times that the end was reported */
};

struct rig {
    struct workers *workers;
    struct problem_set *problems;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct rig_job jobs[RIG_JOBS];
    uint64_t next_id;
    struct process_grid grid; /* of the jobs that are prepared; rows 0: no ranks compute them */
    char last_line[512];
    _Atomic uint64_t lines;   /* that have ended */
    _Atomic uint64_t printed; /* bytes */
};

/* A pool with the problems of `text`, which names its library libroutines.so. */
void rig_open(struct rig *rig, const char *text, uint32_t slots, uint32_t spares, uint32_t threads);
/* With all options but problems and output as given (and the program, unless it is NULL). */
void rig_open_with(struct rig *rig, const char *text, const struct processes_options *options);
/* With a set of problems, which becomes the rig's. */
void rig_open_set(struct rig *rig, struct problem_set *problems, const struct processes_options *options);
/* With a pool of another kind, which becomes the rig's as the problems do. The pool's output goes to
 * rig_output(rig, ...). */
void rig_adopt(struct rig *rig, struct problem_set *problems, struct workers *workers);
void rig_output(void *rig, uint64_t job_id, const char *line);
void rig_close(struct rig *rig);

/* A job with values[i] for argument i (NULL: memory of its own, zeroed); arrays lie in the segment, as a
 * server lays them out, when `in_segment`. Not started. */
struct rig_job *rig_prepare(struct rig *rig, const char *problem, void *const *values, bool in_segment);
/* Starts it; the test fails when it cannot be. */
void rig_start(struct rig *rig, struct rig_job *job);
/* Waits for its end, helping when `help`. */
const struct job_end *rig_wait(struct rig *rig, struct rig_job *job, bool help);
/* Gives its memory back. */
void rig_finish(struct rig_job *job);

/* All of these: the value of argument `i` is values[i]. Returns the end, valid until the next call. */
struct esp_error rig_call(struct rig *rig, const char *problem, void *const *values, bool in_segment);

#endif
