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
#include "core/problem/abstract.h"

struct esp_job;

#define JOB_MOST_LOSSES 8 /* servers that lost it: it may be what ends them */

/* Another name of an output: a job of an abstract problem has the outputs of the problem that does it. */
struct other_name {
    char name[PROBLEM_MAX_NAME + 1], of[PROBLEM_MAX_NAME + 1];
    int64_t rows; /* the output has at most so many under that name: LAPACK's least squares have other
                   * numbers below the solution; -1: all */
};

/* A session that the job was before, at a server that was out of reach: it may come back with it. */
struct job_left {
    struct session_id session;
    char address[CAP_ADDRESS + 1];
};

/* What identifies a job and its results. */
struct job_record {
    struct session_id session;
    struct session_id
        origin; /* the first one: the job's id is made of it, and what was saved is known by it */
    char server[CAP_NAME + 1], address[CAP_ADDRESS + 1];
    struct left *data; /* owned: what of its inputs lives on servers, or NULL */
    char *keepers;     /* owned: who may have what it saved (EXTENSION_KEEPERS), or NULL */
    uint32_t losses;   /* servers that lost it; before, it was other sessions */
    bool unsure;       /* whoever called it again may have died before the server was told to keep it */
    struct job_left left[JOB_MOST_LOSSES];
    uint32_t n_left;
    uint64_t incarnation; /* of the server */
    double submitted_s;
    struct function *function;                       /* used */
    const void *scalars[PROBLEM_MAX_ARGUMENTS];      /* inputs, by the description's index; NULL: none */
    unsigned char values[PROBLEM_MAX_ARGUMENTS][16]; /* what they point to */
    struct other_name names[ABSTRACT_MAX_PAIRS];     /* of outputs, when it does an abstract problem */
    uint32_t n_names;
};

void job_record_clear(struct job_record *record);
/* A copy of its own; NULL without memory. */
struct job_record *job_record_copy(const struct job_record *record);
/* NULL is nothing to do. */
void job_record_destroy(struct job_record *record);
/* "c0ffee12-1": stays when another server gets it. */
const char *job_id(const struct job_record *record, char id[SESSION_TEXT]);

/* ---- job_store.c: the record as a text (JSON) ---- */

/* malloc'ed; NULL without memory. */
char *job_token_write(const struct job_record *record);
/* ESP_SYNTAX: what is missing or wrong in it. */
enum esp_status job_token_read(const char *token, struct job_record *record, struct esp_error *error);

/* ---- job_store.c: the user's list, one file for each ---- */

enum esp_status job_store_write(const char *id, const char *token, struct esp_error *error);
/* Where the arguments of that job are, if they are kept (client/jobs/job.h). */
enum esp_status job_store_call_path(const char *id, char *path, size_t size, struct esp_error *error);
/* The token of the job whose id begins so, malloc'ed. ESP_NOT_FOUND, ESP_INVALID: several, ESP_SYSTEM. */
enum esp_status job_store_read(const char *id, char **token, struct esp_error *error);
/* It will not be called again. */
void job_store_remove_call(const char *id);
/* Whether there is a job of exactly that id. */
bool job_store_has(const char *id);
/* How it ended, as a text (client/jobs/job.h): on the disk when this returns ESP_OK. */
enum esp_status job_store_write_end(const char *id, const char *text, struct esp_error *error);
/* malloc'ed. False: nothing is known, or it cannot be read. */
bool job_store_read_end(const char *id, char **text);
void job_store_remove_end(const char *id);
/* The number that says whose the jobs of this list are: drawn when it is first asked for. False: there is no
 * list, and can be none. */
bool job_store_owner(uint8_t owner[OWNER_BYTES]);
enum esp_status job_store_list(const char *const **ids, size_t *n, struct esp_error *error);
/* With its arguments and its end. One that is not there is left alone. */
enum esp_status job_store_remove(const char *id, struct esp_error *error);

/* ---- job.c ---- */

/* Gathers the arguments of a job and finds its data. On failure the invocation is released. ESP_INVALID: data
 * cannot be left by a job; else as of invocation_from_vector() and invocation_find_data(). */
enum esp_status job_gather(struct library *library, struct handle *handle,
                           const struct esp_argument *arguments, size_t n_arguments,
                           const struct esp_call_options *options, struct invocation *invocation,
                           struct esp_error *error);
/* Submits a job of a problem that is not abstract. Takes the invocation over. */
enum esp_status job_submit(struct library *library, struct handle *handle, struct invocation *invocation,
                           const struct esp_call_options *options, bool listed, struct esp_job **job,
                           struct esp_error *error);

/* The server forgets it. Best effort: ESP_OK when it knows it no more. */
enum esp_status job_drop(struct engine *engine, const struct job_record *record, struct esp_error *error);

/* What became of a job whose server did not answer, or does not have it. */
enum job_fate {
    JOB_THERE,  /* nothing is known to be wrong */
    JOB_SILENT, /* its server may still have it */
    JOB_OVER,   /* it was fetched or forgotten, or waited too long */
    JOB_GONE,   /* its server cannot be reached, and is not in the tree any more: it may come back with it */
    JOB_LOST    /* its server was restarted since, or is ending and has cut it short */
};

/* Asks its server how it stands: a follow_reply. */
enum esp_status job_ask(struct engine *engine, const struct job_record *record, const struct follow *follow,
                        struct message *reply, enum job_fate *fate, struct esp_error *error);

/* A session that waits for the job. Takes the invocation over, also when it fails. */
enum esp_status job_attach(struct engine *engine, const struct job_record *record,
                           struct invocation *invocation, double deadline_s, struct session **session,
                           struct esp_error *error);
/* Whether arguments are kept by which the job may be called again, and no end of it is known. */
bool job_is_kept(const struct job_record *record);

/* Calls the job again on another server, with the arguments that are kept in the list; by the record it is
 * afterwards the same job. Whoever else was faster has done it: of several programs that find it lost, one
 * calls it. `error` is the loss, and stays as it is when the job cannot be called again (nothing is kept of
 * it); ESP_UNREACHABLE: nobody takes it now. Returns ESP_OK or error->status. */
enum esp_status job_call_again(struct engine *engine, struct job_record *record, enum job_fate fate,
                               struct esp_error *error);
/* Servers that may come back with what the job was before forget it. Best effort. */
void job_drop_left(struct engine *engine, const struct job_record *record);

/* ---- job_api.c ---- */

/* Takes the record over, and leaves it to the job, when that can be made. */
enum esp_status job_make(struct job_record *record, const char *token, struct esp_job **job,
                         struct esp_error *error);

/* After a job was submitted for an abstract problem: the names that the abstract problem has for its outputs;
 * in the user's list too, if it is `listed`. Best effort: without them the outputs have their own names. */
void job_name_outputs(struct esp_job *job, const struct other_name *names, uint32_t n, bool listed);

/* What a job was called with, as a file in the user's list: by it the job is called again when its server is
 * lost (client/jobs/job.c). */

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

/* How a job ended, in the user's list beside its record: what is known of an end outlives the server that had
 * the job, and a job that is cancelled is cancelled before its server knows it. */

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

/* Notes in the list what the server says of the job: that it failed or is cancelled, or that it was done
 * before it was cancelled. A server that shuts down calls what it stops cancelled, so that is taken for an
 * end only of a job that the list has as cancelled. */
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
