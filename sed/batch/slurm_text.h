/* SPDX-License-Identifier: Apache-2.0
 *
 * Pure functions that read the output of Slurm's programs. Any bytes are safe to read.
 */
#ifndef SED_SLURM_TEXT_H
#define SED_SLURM_TEXT_H

#include "sed/batch/batch.h"

#define SLURM_MOST_JOBS 100000 /* lines of one answer; more are ESP_LIMIT */

/* The columns that slurm_read_queue() reads: the argument of `squeue --Format`. The reason comes last,
 * because it may contain the separator. Times are seconds since 1970 with SLURM_TIME_FORMAT=%s in the
 * environment. */
#define SLURM_QUEUE_FORMAT                                                                                   \
    "JobID:|,State:|,RestartCnt:|,exit_code:|,SubmitTime:|,StartTime:|,EndTime:|,NodeList:|,Name:|,Reason:|"

/* The columns that slurm_read_accounting() reads: the argument of `sacct --format`. */
#define SLURM_ACCOUNTING_FORMAT "JobIDRaw,State,ExitCode,Submit,Start,End,NodeList,JobName"

/* The id in the output of `sbatch --parsable`: digits, and perhaps ";cluster", which is left out. Lines
 * before it come from plug-ins of the site. False: there is none. `id` has BATCH_ID_BYTES. */
bool slurm_read_id(const char *text, size_t length, char *id);

/* The jobs of an answer of squeue. *sightings is for free(). ESP_PROTOCOL: a line is no job ("expected,
 * found"); ESP_LIMIT; ESP_NO_MEMORY. */
enum esp_status slurm_read_queue(const char *text, size_t length, struct batch_sighting **sightings,
                                 size_t *n_sightings, struct esp_error *error);

/* The jobs of an answer of `sacct --noheader --parsable2 --allocations`, as slurm_read_queue(). */
enum esp_status slurm_read_accounting(const char *text, size_t length, struct batch_sighting **sightings,
                                      size_t *n_sightings, struct esp_error *error);

/* The hint of a state; BATCH_HINT_NONE: an unknown state. "CANCELLED by 1000" and "CANCELLED+" are
 * CANCELLED. */
enum batch_hint slurm_hint(const char *state);

/* The meaning of a reason, for people; NULL: the reason says enough by itself, or is not known. */
const char *slurm_reason_means(const char *reason);

/* Whether these words of a program's standard error mean that Slurm could not be asked, and not that it
 * refused. */
bool slurm_is_no_answer(const char *errors);
/* Whether they mean that Slurm does not know a job. */
bool slurm_is_unknown_job(const char *errors);
/* Whether they mean that the site keeps no accounts. */
bool slurm_is_without_accounts(const char *errors);

/* The value of KEY in "KEY=value KEY=value" as `scontrol --oneliner show` prints it. False: it is not there.
 * The value is cut to `size`. */
bool slurm_read_field(const char *text, size_t length, const char *key, char *value, size_t size);

/* A time limit as Slurm prints it ("30", "1:00:00", "2-12:00:00"), in seconds. -1: "UNLIMITED", "INFINITE"
 * and whatever is no time. "30" alone is minutes. */
int64_t slurm_read_minutes(const char *text);

#endif
