/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs: sessions whose result is fetched by whoever knows their record.
 *
 * A job is a session under a client id of its own: acknowledging one says nothing of the others. Submitting
 * is a session that goes as far as that the server has all arguments; then the record is written, and only
 * then is the server told to keep the job. Whoever dies in between leaves a session that the server ends as
 * any other whose client is gone.
 */
#ifndef CLIENT_JOB_H
#define CLIENT_JOB_H

#include "client/session/session.h"

/* What identifies a job and its results. */
struct job_record {
    struct session_id session;
    char server[CAP_NAME + 1], address[CAP_ADDRESS + 1];
    uint64_t incarnation; /* of the server */
    double submitted_s;
    struct function *function;                       /* used */
    const void *scalars[PROBLEM_MAX_ARGUMENTS];      /* inputs, by the description's index; NULL: none */
    unsigned char values[PROBLEM_MAX_ARGUMENTS][16]; /* what they point to */
};

void job_record_clear(struct job_record *record);

/* ---- job_token.c: the record as a text (JSON) ---- */

/* malloc'ed; NULL without memory. */
char *job_token_write(const struct job_record *record);
/* ESP_SYNTAX: what is missing or wrong in it. */
enum esp_status job_token_read(const char *token, struct job_record *record, struct esp_error *error);

/* ---- job_store.c: the user's list, one file for each ---- */

enum esp_status job_store_write(const char *id, const char *token, struct esp_error *error);
/* The token of the job whose id begins so, malloc'ed. ESP_NOT_FOUND, ESP_INVALID: several, ESP_SYSTEM. */
enum esp_status job_store_read(const char *id, char **token, struct esp_error *error);
/* The number that says whose the jobs of this list are: drawn when it is first asked for. False: there is no
 * list, and can be none. */
bool job_store_owner(uint8_t owner[OWNER_BYTES]);
enum esp_status job_store_list(const char *const **ids, size_t *n, struct esp_error *error);
/* One that is not there is left alone. */
enum esp_status job_store_remove(const char *id, struct esp_error *error);

/* ---- job.c ---- */

/* Whether the server has all that it needs for a session that is being submitted. */
bool job_is_handed_over(const struct session *session);

/* Runs a session that is a job until the server has it, and fills the record (but for the function and
 * the scalars). On failure nothing is left on a server. */
enum esp_status job_hand_over(struct session *session, struct job_record *record, struct esp_error *error);
/* The record is safe: the server keeps the job from now on. */
enum esp_status job_keep(struct engine *engine, const struct job_record *record, struct esp_error *error);
/* The server forgets it. Best effort: ESP_OK when it knows it no more. */
enum esp_status job_drop(struct engine *engine, const struct job_record *record, struct esp_error *error);
enum esp_status job_cancel(struct engine *engine, const struct job_record *record, struct esp_error *error);

/* Asks its server how it stands: a follow_reply. */
enum esp_status job_ask(struct engine *engine, const struct job_record *record, const struct follow *follow,
                        struct message *reply, struct esp_error *error);

/* A session that waits for the job. Takes the invocation over, also when it fails. */
enum esp_status job_attach(struct engine *engine, const struct job_record *record,
                           struct invocation *invocation, double deadline_s, struct session **session,
                           struct esp_error *error);
/* Why an attached session was lost, in place of what is in `error`; returns its status. */
enum esp_status job_explain_loss(const struct session *session, struct esp_error *error);

#endif
