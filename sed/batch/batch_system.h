/* SPDX-License-Identifier: Apache-2.0
 *
 * A batch system as a table of operations. Each back end is one file and one row in batch_system.c.
 *
 * All operations block, at most for the deadline of one or two commands, and may be called by several
 * threads. A back end keeps no record of jobs: sed/batch/batch_jobs.h does.
 */
#ifndef SED_BATCH_SYSTEM_H
#define SED_BATCH_SYSTEM_H

#include "sed/batch/batch.h"
#include "sed/batch/batch_command.h"

struct batch_system;

/* Settings of a batch system. NULL, 0: not set. */
struct batch_settings {
    const char *partition, *account, *qos, *gres;
    const char *const *options;    /* further options of the submit command, NULL at the end; or NULL: none */
    int64_t time_s;                /* time limit of each job */
    int64_t deadline_ms;           /* of each command of the batch system; 0: BATCH_DEADLINE_MS */
    const struct batch_user *user; /* that submits and owns the jobs; NULL: the user of this process */
    const struct batch_runner *runner; /* NULL: real processes */
};
#define BATCH_DEADLINE_MS 30000

/* One job to submit. */
struct batch_order {
    const char *name;   /* unique among all jobs of all servers */
    const char *folder; /* of the job: absolute, shared with the nodes, with the script in it */
    int64_t time_s;     /* time limit; 0: as the settings say */
    uint32_t cores;     /* 0: as the batch system does by default */
    uint64_t memory_mb; /* 0: as the batch system does by default */
};

struct batch_system_ops {
    const char *name; /* "slurm" */
    const char *text; /* for people: one line */
    /* An expression for the shell of a job's script that gives the id of the job. */
    const char *id_in_script;
    /* Hands the job over. `id` has BATCH_ID_BYTES. ESP_REFUSED: the batch system does not want the job; the
     * text is its standard error word for word. ESP_UNREACHABLE, ESP_TIMEOUT: no answer, so that the job may
     * or may not have been taken. ESP_NOT_FOUND: a program or the folder is missing. Repeating is harmless,
     * because scripts of one folder run once. */
    enum esp_status (*submit)(struct batch_system *system, const struct batch_order *order, char *id,
                              struct esp_error *error);
    /* Asks once for `n` jobs. *sightings (for free()) are the jobs that the batch system knows, in any order;
     * those of `ids` that are not among them are unknown. ESP_UNREACHABLE, ESP_TIMEOUT, ESP_NOT_FOUND and
     * others: no answer, and the text says why. */
    enum esp_status (*query)(struct batch_system *system, const char *const *ids, size_t n,
                             struct batch_sighting **sightings, size_t *n_sightings, struct esp_error *error);
    /* Ends the job, whether it waits or runs. ESP_OK also where the job has ended already or is unknown.
     * ESP_UNREACHABLE, ESP_TIMEOUT: no answer. ESP_REFUSED: with the site's words. Repeating is harmless. */
    enum esp_status (*cancel)(struct batch_system *system, const char *id, struct esp_error *error);
    /* Finds the job of that order by its name or its folder after a restart. ESP_NOT_FOUND: the batch system
     * does not have the job; else as query(). */
    enum esp_status (*attach)(struct batch_system *system, const struct batch_order *order, char *id,
                              struct esp_error *error);
    /* Lines for people about the batch system as it is now: its version, its partition and the partition's
     * limits. ESP_CONFIG: the settings cannot work, such as a partition that does not exist; else as query().
     */
    enum esp_status (*describe)(struct batch_system *system, char *text, size_t size,
                                struct esp_error *error);
    void (*destroy)(struct batch_system *system);
};

/* First member of an implementation. */
struct batch_system {
    const struct batch_system_ops *ops;
};

/* Opens the batch system of that name. What `settings` points to must outlive the system. ESP_CONFIG: there
 * is no back end of that name, or the settings are wrong for it; ESP_NO_MEMORY. Starts no program. */
enum esp_status batch_system_open(const char *name, const struct batch_settings *settings,
                                  struct batch_system **system, struct esp_error *error);
/* NULL is nothing to do. Jobs go on. */
void batch_system_close(struct batch_system *system);

/* The names of all back ends, NULL at the end. */
extern const char *const batch_system_names[];

/* ---- the back ends ---- */

enum esp_status slurm_open(const struct batch_settings *settings, struct batch_system **system,
                           struct esp_error *error);
enum esp_status local_open(const struct batch_settings *settings, struct batch_system **system,
                           struct esp_error *error);

#endif
