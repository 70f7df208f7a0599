/* SPDX-License-Identifier: Apache-2.0
 *
 * What a job was called with, as a file in the user's list: by it the job is called again when its server is
 * lost (client/jobs/job_again.c).
 */
#ifndef CLIENT_JOB_CALL_H
#define CLIENT_JOB_CALL_H

#include "client/session/session.h"

/* A call as it was read. */
struct job_call {
    struct invocation invocation;
    struct esp_call_options
        options;             /* constraints, and deadline_s, 0: none. Both since the job was submitted */
    const char **properties; /* owned; what they point to is in */
    void *texts;             /* owned */
};
void job_call_clear(struct job_call *call);

/* Whether the job may be called again: its problem is idempotent and works on no state that lives on a
 * server, no server was named, and its arguments take `most_bytes` at most. */
bool job_call_is_wanted(const struct session *session, uint64_t most_bytes);

/* The arguments of a session that is to be a job, as they were sent. Of failures no file is left. ESP_SYSTEM.
 */
enum esp_status job_call_write(const char *path, const struct session *session, struct esp_error *error);
/* ESP_NOT_FOUND: there is no such file; ESP_SYNTAX: it is damaged, or of another signature; ESP_NO_MEMORY. */
enum esp_status job_call_read(const char *path, struct function *function, struct job_call *call,
                              struct esp_error *error);

#endif
