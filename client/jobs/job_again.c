/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs whose server is lost are called again elsewhere, by whoever looks after them next. Of several programs
 * the first one does it, under a lock on the file of the arguments: the others find its record in the list.
 */
#include "client/arguments/invocation_data.h"
#include "client/jobs/job.h"
#include "client/jobs/job_call.h"
#include "client/jobs/job_end.h"
#include "client/session/attempt_parts.h"
#include "client/session/given_up.h"
#include "client/session/link.h"
#include "client/session/session.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* -1: no arguments are kept (status ESP_OK), or another program is at it (ESP_LIMIT). */
static int lock_call(const char *path, enum esp_status *status, struct esp_error *error)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    *status = ESP_OK;
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    close(fd);
    *status = error_set(error, ESP_LIMIT, "another program is calling it again");
    return -1;
}

/* What does not change. The scalars of `fresh` point into the record, which it is to become. */
static void inherit(struct job_record *fresh, const struct job_record *record)
{
    free(fresh->data);
    fresh->data = record->data;
    fresh->function = record->function;
    fresh->submitted_s = record->submitted_s;
    memcpy(fresh->values, record->values, sizeof fresh->values);
    memcpy(fresh->scalars, record->scalars, sizeof fresh->scalars);
}

static void become(struct job_record *record, const struct job_record *fresh)
{
    free(record->keepers);
    *record = *fresh;
}

static bool is_same(const struct session_id *one, const struct session_id *other)
{
    return memcmp(one, other, sizeof *one) == 0;
}

bool job_refresh(struct job_record *record)
{
    char id[SESSION_TEXT], *token = NULL;
    struct job_record found;
    struct esp_error ignored;
    if (job_store_read(job_id(record, id), &token, &ignored) != ESP_OK)
        return false;
    const bool read = job_token_read(token, &found, &ignored) == ESP_OK;
    const bool other =
        read && is_same(&found.origin, &record->origin) && !is_same(&found.session, &record->session);
    free(token);
    if (read)
        function_release(found.function);
    if (other) {
        inherit(&found, record);
        become(record, &found);
    } else if (read) {
        free(found.keepers);
        free(found.data);
    }
    return other;
}

/* ---- calling ---- */

static double passed_s(const struct job_record *record)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const double passed = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - record->submitted_s;
    return passed > 0 ? passed : 0;
}

/* What is left of the times that it was given when it was submitted. */
static enum esp_status lessen(const struct job_record *record, struct esp_call_options *options,
                              struct esp_error *error)
{
    const double passed = passed_s(record);
    if (options->deadline_s > 0 && (options->deadline_s -= passed) <= 0)
        return error_set(error, ESP_TIMEOUT, "its time is over");
    if (options->finish_s > 0 && (options->finish_s -= passed) <= 0)
        return error_set(error, ESP_TIMEOUT, "its results were wanted by now");
    return ESP_OK;
}

static enum esp_status begin(struct engine *engine, const struct job_record *record, struct job_call *call,
                             struct session **session, struct esp_error *error)
{
    static char somewhere;
    const struct target target = {.job = true, .options = &call->options};
    const struct problem *problem = record->function->problem;
    for (uint32_t i = 0; i < call->invocation.n_values; i++)
        if (argument_is_output(&problem->arguments[call->invocation.values[i].index]))
            call->invocation.values[i].out = &somewhere; /* nothing is written through it */
    enum esp_status status = lessen(record, &call->options, error);
    if (status == ESP_OK)
        status = invocation_find_data(&call->invocation, engine,
                                      session_until_ns(engine, call->options.deadline_s), error);
    if (status == ESP_OK)
        status = session_begin(engine, &call->invocation, &target, call->options.deadline_s, session, error);
    if (status != ESP_OK)
        return status;
    (*session)->origin = record->origin;
    attempt_note_again(*session, record->server, " was lost");
    /* Who looks after it comes again. */
    (*session)->absence = patience_begin(0, 0, (*session)->started_ns);
    if (record->keepers && !((*session)->keepers = calloc(1, KEEPERS_BYTES)))
        return error_no_memory(error, "a session");
    if (record->keepers)
        strncpy((*session)->keepers, record->keepers, KEEPERS_BYTES - 1);
    return ESP_OK;
}

/* The record comes first, as when a job is submitted; whoever dies in between leaves one that says so. */
static enum esp_status note(struct engine *engine, const char *id, struct job_record *record,
                            struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (int told = 0; told < 2 && status == ESP_OK; told++) {
        record->unsure = told == 0;
        char *token = job_token_write(record);
        status = token ? job_store_write(id, token, error) : error_no_memory(error, "a job");
        free(token);
        if (status == ESP_OK && told == 0)
            status = job_keep(engine, record, error);
    }
    if (status != ESP_OK)
        job_drop(engine, record, NULL);
    return status;
}

static void note_loss(struct job_record *fresh, const struct job_record *before, enum job_fate fate)
{
    fresh->losses = before->losses + 1;
    fresh->n_left = before->n_left;
    memcpy(fresh->left, before->left, sizeof fresh->left);
    if (fate != JOB_GONE)
        return;
    struct job_left *left = &fresh->left[fresh->n_left++]; /* there is room for all losses */
    left->session = before->session;
    strcpy(left->address, before->address);
}

static enum esp_status call_again(struct engine *engine, const char *id, const char *path,
                                  struct job_record *record, enum job_fate fate, struct esp_error *error)
{
    struct job_call call;
    struct session *session = NULL;
    struct job_record fresh = {0};
    enum esp_status status = job_call_read(path, record->function, &call, error);
    if (status != ESP_OK)
        return status;
    status = begin(engine, record, &call, &session, error);
    if (status == ESP_OK)
        status = job_hand_over(session, false, &fresh, error);
    session_discard(session);
    job_call_clear(&call);
    if (status == ESP_OK) {
        inherit(&fresh, record);
        note_loss(&fresh, record, fate);
        struct link *link = fate == JOB_GONE ? link_find(engine, record->address) : NULL;
        if (link)
            given_up_note(engine, link, &record->session);
        status = note(engine, id, &fresh, error);
    }
    if (status == ESP_OK)
        become(record, &fresh);
    else
        free(fresh.keepers);
    return status;
}

/* Whether another server may well take it later; ESP_CONFIG: this program knows no agents to ask for one. */
static bool is_for_now(enum esp_status status)
{
    return status == ESP_CONFIG || status == ESP_NO_SERVER || status == ESP_UNREACHABLE ||
           status == ESP_LIMIT || status == ESP_MAYBE || status == ESP_UNKNOWN_PROBLEM || status == ESP_STALE;
}

bool job_is_kept(const struct job_record *record)
{
    char path[PATH_MAX], id[SESSION_TEXT];
    struct job_end end;
    return job_store_call_path(job_id(record, id), path, sizeof path, NULL) == ESP_OK &&
           access(path, R_OK) == 0 && !job_end_known(record, &end);
}

enum esp_status job_call_again(struct engine *engine, struct job_record *record, enum job_fate fate,
                               struct esp_error *error)
{
    char path[PATH_MAX], id[SESSION_TEXT];
    struct esp_error why = {0};
    struct job_end end;
    enum esp_status status;
    job_id(record, id);
    if ((fate != JOB_GONE && fate != JOB_LOST) || job_store_call_path(id, path, sizeof path, &why) != ESP_OK)
        return error->status;
    const int lock = lock_call(path, &status, &why);
    if (lock < 0 && status == ESP_OK)
        return error->status;
    if (lock >= 0) {
        if (job_refresh(record))
            status = ESP_OK;
        else if (job_end_known(record, &end))
            status = error_set(&why, end.error.status, "%s", end.error.text);
        else if (record->losses >= JOB_MOST_LOSSES)
            status =
                error_set(&why, ESP_FAILED, "so many servers were lost with it that it may be the cause");
        else
            status = call_again(engine, id, path, record, fate, &why);
        close(lock);
    }
    if (status == ESP_OK && job_end_known(record, &end))
        job_stop(engine, record); /* it was cancelled meanwhile, by one who saw its last server only */
    if (status == ESP_OK)
        return ESP_OK;
    if (is_for_now(status))
        return error_set(error, ESP_UNREACHABLE,
                         "job %s was lost with server %s, and is called again later: %s", id, record->server,
                         why.text);
    return error_set(error, ESP_NOT_FOUND, "job %s was lost with server %s, and cannot be called again: %s",
                     id, record->server, why.text);
}

void job_drop_left(struct engine *engine, const struct job_record *record)
{
    for (uint32_t i = 0; i < record->n_left; i++) {
        struct job_record left = {.session = record->left[i].session};
        strcpy(left.address, record->left[i].address);
        job_drop(engine, &left, NULL);
    }
}
