/* SPDX-License-Identifier: Apache-2.0
 *
 * The batch jobs of a server: submits them, follows them to their end, and finds them again after a restart.
 *
 * Below the folder of all jobs, each job has a folder NAME with the server's record of the job ("job") and a
 * folder "run", which belongs to the job's user and holds the job's files (sed/batch/batch_script.h). All of
 * them must be on a file system that the server shares with the nodes.
 *
 * Functions may be called by any thread unless they say otherwise. Only batch_jobs_turn() asks the batch
 * system; the other functions do not wait for it.
 */
#ifndef SED_BATCH_JOBS_H
#define SED_BATCH_JOBS_H

#include "sed/batch/batch_life.h"
#include "sed/batch/batch_system.h"
#include "util/clock.h"

#include <limits.h>

#define BATCH_JOBS_MOST 10000 /* jobs at a time, ended ones included that nobody has forgotten yet */

/* How a job stands. */
struct batch_report {
    char name[BATCH_NAME_BYTES];
    char id[BATCH_ID_BYTES]; /* "": the batch system has not told it */
    enum batch_state state;
    struct esp_error error; /* ESP_PENDING before the end; ESP_OK after COMPLETED; else why, for the user */
    int32_t exit_code;      /* that the job has written; -1: none */
    char note[400];     /* before the end, for people: "waits: its partition is down"; "": nothing to say */
    char nodes[128];    /* where it runs or ran; "": not known */
    int64_t created_s;  /* seconds since 1970 */
    int64_t started_s;  /* of its latest start; 0: not started */
    int64_t expected_s; /* when the batch system expects to start it; 0: not known */
};

struct batch_jobs_options {
    struct batch_system *system; /* outlives the jobs */
    const char *folder;          /* of all jobs, absolute, made if it is missing */
    const struct batch_user
        *user;                 /* that the batch system runs the jobs as; NULL: the user of this process */
    const struct clock *clock; /* NULL: the system's */
    const struct batch_patience *patience; /* NULL: batch_patience_default */
    /* A job's state has changed. Called by batch_jobs_turn() without a lock; or NULL. */
    void (*changed)(void *arg, const struct batch_report *report);
    void *arg;
};

struct batch_jobs;

/* Takes up the jobs that an earlier process has left in the folder. A damaged record is logged and its folder
 * is left alone. ESP_CONFIG: the folder cannot be one of jobs ("expected an absolute path ..."); ESP_SYSTEM;
 * ESP_NO_MEMORY; ESP_BUSY: another process uses the folder. */
enum esp_status batch_jobs_create(const struct batch_jobs_options *options, struct batch_jobs **jobs,
                                  struct esp_error *error);

/* Ends the thread of batch_jobs_start(). The jobs themselves go on. NULL is nothing to do. */
void batch_jobs_destroy(struct batch_jobs *jobs);

/* Begins a job: makes its folder, so that the caller can put files for the job into `run` (PATH_MAX bytes).
 * `name` has BATCH_NAME_BYTES. The caller goes on with batch_jobs_submit() or batch_jobs_forget(). ESP_LIMIT:
 * BATCH_JOBS_MOST; ESP_SYSTEM; ESP_NO_MEMORY. */
enum esp_status batch_jobs_prepare(struct batch_jobs *jobs, char *name, char *run, struct esp_error *error);

struct batch_work {
    const char *const *words; /* the argument vector, NULL at the end; the program with its path */
    int64_t time_s;           /* time limit; 0: as the settings of the batch system say */
    uint32_t cores;           /* 0: as the batch system does by default */
    uint64_t memory_mb;       /* 0: as the batch system does by default */
};

/* Hands a prepared job over: when this returns ESP_OK, a restart of the server does not lose the job. The
 * job's folder and the files in it become the user's. ESP_NOT_FOUND: no such job; ESP_INVALID: it was
 * submitted before; ESP_LIMIT: the words are too long; ESP_SYSTEM. After a failure the job is still prepared.
 */
enum esp_status batch_jobs_submit(struct batch_jobs *jobs, const char *name, const struct batch_work *work,
                                  struct esp_error *error);

/* Asks for the end of the job, which batch_jobs_turn() brings about. ESP_NOT_FOUND. ESP_OK also when it has
 * ended. */
enum esp_status batch_jobs_cancel(struct batch_jobs *jobs, const char *name, struct esp_error *error);

/* ESP_NOT_FOUND. */
enum esp_status batch_jobs_look(struct batch_jobs *jobs, const char *name, struct batch_report *report,
                                struct esp_error *error);

/* The job's folder for files of the job. `run` has PATH_MAX bytes. ESP_NOT_FOUND. */
enum esp_status batch_jobs_folder(struct batch_jobs *jobs, const char *name, char *run,
                                  struct esp_error *error);

/* Removes a job that has ended, or was only prepared, with its folder. ESP_NOT_FOUND; ESP_BUSY: it has not
 * ended. */
enum esp_status batch_jobs_forget(struct batch_jobs *jobs, const char *name, struct esp_error *error);

/* Calls `each` for every submitted job, with the lock held: it must not call functions of this header. */
void batch_jobs_list(struct batch_jobs *jobs, void (*each)(void *arg, const struct batch_report *report),
                     void *arg);

/* Does what is due: submits, cancels, looks for files, asks the batch system. Returns when to call it next,
 * or CLOCK_NEVER. One thread at a time; blocks as long as the commands of the batch system do. Earlier calls
 * are harmless. */
int64_t batch_jobs_turn(struct batch_jobs *jobs);

/* Starts a thread that calls batch_jobs_turn() whenever it is due. ESP_SYSTEM. */
enum esp_status batch_jobs_start(struct batch_jobs *jobs, struct esp_error *error);

#endif
