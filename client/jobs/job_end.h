/* SPDX-License-Identifier: Apache-2.0
 *
 * How a job ended, in the user's list beside its record: what is known of an end outlives the server that had
 * the job, and a job that is cancelled is cancelled before its server knows it.
 */
#ifndef CLIENT_JOB_END_H
#define CLIENT_JOB_END_H

#include "client/jobs/job.h"

struct job_end {
    struct esp_error error; /* ESP_CANCELLED, or how it failed */
    bool wanted;            /* cancelled in the list only: its server may still compute it */
    double compute_s;
};

/* Whether the list says how it ended. */
bool job_end_known(const struct job_record *record, struct job_end *end);

/* The job is called again by nobody from now on. Does nothing for one that is not in the list. ESP_SYSTEM. */
enum esp_status job_end_note(const struct job_record *record, const struct job_end *end,
                             struct esp_error *error);

/* What its server says of it goes to the list: that it failed or is cancelled, or that it was done before it
 * was cancelled. A server that shuts down calls what it stops cancelled; so that is taken for an end only of
 * a job that the list has as cancelled. */
void job_end_take(const struct job_record *record, const struct session_report *report);

/* Cancels it: in the list before its server is told, where it waits for its end. ESP_OK also when it had
 * ended. ESP_UNREACHABLE: it is cancelled in the list, and the server is told by who looks after it next;
 * ESP_NOT_FOUND: its server has it no more; others: nothing has changed. */
enum esp_status job_call_off(struct engine *engine, struct job_record *record, int64_t timeout_ms,
                             struct esp_error *error);

/* For a job that the list has as cancelled, when its server computes it all the same. Best effort. */
void job_stop(struct engine *engine, const struct job_record *record);

/* When its server cannot be asked (`fate`, and `why`): whether its end is known all the same. False with
 * end->wanted: it is cancelled, and `why` becomes ESP_UNREACHABLE with a text that says so. */
bool job_end_instead(const struct job_record *record, enum job_fate fate, struct job_end *end,
                     struct esp_error *why);

#endif
