/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs: sessions whose result any process can fetch that has the job's record.
 *
 * A job is a session under a client id of its own, so that acknowledging one job says nothing about
 * others. Submission runs the session until the server has all arguments. Then the record is written, and
 * only then the server gets the order to keep the job. If the submitting process dies before that, the server
 * ends the session like any other whose client is gone.
 */
#ifndef CLIENT_JOB_H
#define CLIENT_JOB_H

#include "client/session/session.h"
#include "core/problem/abstract.h"

struct esp_job;

#define JOB_MOST_LOSSES 8 /* servers that may lose it, as the job itself may end them */

/* Another name of an output: a job of an abstract problem has the outputs of the problem that does it. */
struct other_name {
    char name[PROBLEM_MAX_NAME + 1], of[PROBLEM_MAX_NAME + 1];
    int64_t rows; /* rows under that name; -1: all. LAPACK has other numbers below */
};

/* A former session of the job, at a server that was unreachable and may come back with it. */
struct job_left {
    struct session_id session;
    char address[CAP_ADDRESS + 1];
};

/* Identity of a job and its results. */
struct job_record {
    struct session_id session;
    struct session_id origin; /* the first session: the job's id and its saved states are named after it */
    char server[CAP_NAME + 1], address[CAP_ADDRESS + 1];
    struct left *data; /* owned: its inputs that live on servers, or NULL */
    char *keepers;     /* owned: servers that may have its saved states (EXTENSION_KEEPERS), or NULL */
    uint32_t losses;   /* servers that lost it; each time it became another session */
    bool unsure; /* the process that called it again may have died before the server was told to keep it */
    struct job_left left[JOB_MOST_LOSSES];
    uint32_t n_left;
    uint64_t incarnation; /* of the server */
    double submitted_s;
    struct function *function;                       /* in use */
    const void *scalars[PROBLEM_MAX_ARGUMENTS];      /* inputs, by the description's index; NULL: none */
    unsigned char values[PROBLEM_MAX_ARGUMENTS][16]; /* values of the scalars */
    struct other_name names[ABSTRACT_MAX_PAIRS];     /* of outputs, if it does an abstract problem */
    uint32_t n_names;
};

void job_record_clear(struct job_record *record);
/* Returns an independent copy; NULL without memory. */
struct job_record *job_record_copy(const struct job_record *record);
/* Accepts NULL. */
void job_record_destroy(struct job_record *record);
/* "c0ffee12-1": stays the same on another server. */
const char *job_id(const struct job_record *record, char id[SESSION_TEXT]);

/* ---- job_store.c: the record as a text (JSON) ---- */

/* malloc'ed; NULL without memory. */
char *job_token_write(const struct job_record *record);
/* ESP_SYNTAX says what is missing or wrong. */
enum esp_status job_token_read(const char *token, struct job_record *record, struct esp_error *error);

/* ---- job_store.c: the user's list, one file for each ---- */

enum esp_status job_store_write(const char *id, const char *token, struct esp_error *error);
/* The file for that job's arguments, if they are stored (client/jobs/job.h). */
enum esp_status job_store_call_path(const char *id, char *path, size_t size, struct esp_error *error);
/* Returns the token of the job whose id begins so, malloc'ed. Errors: ESP_NOT_FOUND, ESP_INVALID (several
 * jobs), ESP_SYSTEM. */
enum esp_status job_store_read(const char *id, char **token, struct esp_error *error);
/* The job will not be called again: removes its arguments. */
void job_store_remove_call(const char *id);
/* Whether there is a job with exactly that id. */
bool job_store_has(const char *id);
/* Writes how the job ended (client/jobs/job.h). The text is on the disk when this returns ESP_OK. */
enum esp_status job_store_write_end(const char *id, const char *text, struct esp_error *error);
/* The text is malloc'ed. Returns false if there is none, or if it cannot be read. */
bool job_store_read_end(const char *id, char **text);
void job_store_remove_end(const char *id);
/* The random number that identifies the owner of this list's jobs; created at first use. Returns false if
 * there is no list and it cannot be created. */
bool job_store_owner(uint8_t owner[OWNER_BYTES]);
enum esp_status job_store_list(const char *const **ids, size_t *n, struct esp_error *error);
/* Removes the job with its arguments and its end. A job that does not exist is no error. */
enum esp_status job_store_remove(const char *id, struct esp_error *error);

/* ---- job.c ---- */

/* Gathers the arguments of a job and finds its data. On failure releases the invocation. Returns
 * ESP_INVALID if a result cannot be left by a job; else errors of invocation_from_vector() and
 * invocation_find_data(). */
enum esp_status job_gather(struct library *library, struct handle *handle,
                           const struct esp_argument *arguments, size_t n_arguments,
                           const struct esp_call_options *options, struct invocation *invocation,
                           struct esp_error *error);
/* Submits a job of a problem that is not abstract. Takes over the invocation. */
enum esp_status job_submit(struct library *library, struct handle *handle, struct invocation *invocation,
                           const struct esp_call_options *options, bool listed, struct esp_job **job,
                           struct esp_error *error);

/* Makes the server forget the job. Best effort. Returns ESP_OK also if the server does not know it. */
enum esp_status job_drop(struct engine *engine, const struct job_record *record, struct esp_error *error);

/* State of a job whose server did not answer, or does not have it. */
enum job_fate {
    JOB_THERE,  /* no failure is known */
    JOB_SILENT, /* its server may still have it */
    JOB_OVER,   /* it was fetched or forgotten, or its result expired */
    JOB_GONE,   /* its server is unreachable and not in the tree any more, and may come back with the job */
    JOB_LOST    /* its server was restarted since, or is stopping and has cut it short */
};

/* Asks the job's server for its state: a follow_reply. */
enum esp_status job_ask(struct engine *engine, const struct job_record *record, const struct follow *follow,
                        struct message *reply, enum job_fate *fate, struct esp_error *error);

/* Creates a session that waits for the job. Takes over the invocation, also if this fails. */
enum esp_status job_attach(struct engine *engine, const struct job_record *record,
                           struct invocation *invocation, double deadline_s, struct session **session,
                           struct esp_error *error);
/* Whether arguments are stored with which the job may be called again, and no end of it is known. */
bool job_is_kept(const struct job_record *record);

/* Calls the job again on another server, with the arguments stored in the list; the record names the new
 * session, and the job stays the same. If several processes find the job lost, only one calls it again.
 * `error` is the loss, and stays unchanged if the job cannot be called again (no arguments are stored).
 * ESP_UNREACHABLE: no server takes it now. Returns ESP_OK or error->status. */
enum esp_status job_call_again(struct engine *engine, struct job_record *record, enum job_fate fate,
                               struct esp_error *error);
/* Makes servers that may come back with former sessions of the job forget these. Best effort. */
void job_drop_left(struct engine *engine, const struct job_record *record);

/* ---- job_api.c ---- */

/* Creates the job, which takes over the record. If this fails, the record is the caller's still. */
enum esp_status job_make(struct job_record *record, const char *token, struct esp_job **job,
                         struct esp_error *error);

/* After a job was submitted for an abstract problem: notes the names that the abstract problem has for its
 * outputs; in the user's list too, if it is `listed`. Best effort: without them the outputs have their own
 * names. */
void job_name_outputs(struct esp_job *job, const struct other_name *names, uint32_t n, bool listed);

/* The arguments of a job, as a file in the user's list. If the job's server is lost, the job is called
 * again with them (client/jobs/job.c). */

/* A call as it was read. */
struct job_call {
    struct invocation invocation;
    struct esp_call_options
        options;             /* constraints and deadline_s (0: none), both counted from the submission */
    const char **properties; /* owned; their target lies in `texts` */
    void *texts;             /* owned */
};
void job_call_clear(struct job_call *call);

/* Whether the job may be called again: its problem is idempotent and uses no state that lives on a server,
 * no server was named, and its arguments take at most `most_bytes`. */
bool job_call_is_wanted(const struct session *session, uint64_t most_bytes);

/* Writes the arguments of a session that will be a job, as they were sent. On failure leaves no file.
 * Returns ESP_SYSTEM on failure.
 */
enum esp_status job_call_write(const char *path, const struct session *session, struct esp_error *error);
/* Returns ESP_NOT_FOUND if there is no such file, ESP_SYNTAX if it is damaged or of another signature,
 * ESP_NO_MEMORY. */
enum esp_status job_call_read(const char *path, struct function *function, struct job_call *call,
                              struct esp_error *error);

/* How a job ended, in the user's list beside its record. The end stays known after the server has lost the
 * job. A job that is cancelled is marked here before its server is informed. */

struct job_end {
    struct esp_error error; /* ESP_CANCELLED, or how it failed */
    bool wanted;            /* cancelled in the list only: its server may still compute it */
    double compute_s;
};

/* Whether the list says how it ended. */
bool job_end_known(const struct job_record *record, struct job_end *end);

/* Notes the end: from now on the job is not called again. Does nothing for a job that is not in the list.
 * Returns ESP_SYSTEM on failure. */
enum esp_status job_end_note(const struct job_record *record, const struct job_end *end,
                             struct esp_error *error);

/* Notes a server's report in the list: that the job failed or is cancelled, or that it was done before it
 * was cancelled. A server that shuts down reports the sessions that it stops as cancelled, so that report
 * counts only for a job that the list has as cancelled. */
void job_end_take(const struct job_record *record, const struct session_report *report);

/* Cancels the job: first in the list, then at its server, whose report it waits for. Returns ESP_OK also
 * if the job had ended; ESP_UNREACHABLE if it is cancelled in the list, and the next process that asks for
 * it will inform the server; ESP_NOT_FOUND if its server does not have it any more. With other errors
 * nothing has changed. */
enum esp_status job_call_off(struct engine *engine, struct job_record *record, int64_t timeout_ms,
                             struct esp_error *error);

/* Stops a job that the list has as cancelled and that its server still computes. Best effort. */
void job_stop(struct engine *engine, const struct job_record *record);

/* Called if the server cannot be asked (`fate`, and `why`): returns whether the list knows the end.
 * Returns false with end->wanted if the job is cancelled; `why` becomes ESP_UNREACHABLE with a text that
 * says so. */
bool job_end_instead(const struct job_record *record, enum job_fate fate, struct job_end *end,
                     struct esp_error *why);

#endif
