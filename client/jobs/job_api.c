/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs as espalier.h shows them; client/jobs/job.c creates them.
 */
#include "client/arguments/describe.h"
#include "client/jobs/job.h"
#include "client/session/library.h"
#include "client/session/session.h"
#include "util/package.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PATIENCE_S 600.0

/* A job as the program gets it: the public struct first, then the private members. */
struct job {
    struct esp_job job;
    struct job_record record;
    struct esp_problem *problem;
    struct esp_job_name names[ABSTRACT_MAX_PAIRS];
};

void esp_job_free(struct esp_job *public)
{
    if (!public)
        return;
    struct job *job = (struct job *)public;
    esp_problem_free(job->problem);
    job_record_clear(&job->record);
    package_destroy(job);
}

static enum esp_status tell_arguments(struct job *job, struct esp_error *error)
{
    const struct problem *problem = job->record.function->problem;
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    const void *inputs[PROBLEM_MAX_ARGUMENTS];
    size_t n = job->problem->n_arguments;
    struct esp_argument *arguments = arena_alloc(package_arena(job), (n + 1) * sizeof *arguments);
    if (!arguments)
        return error_no_memory(error, "a job");
    memset(arguments, 0, (n + 1) * sizeof *arguments);
    invocation_known_inputs(problem, job->record.scalars, inputs);
    enum esp_status status = problem_bind(problem, inputs, scope, shapes, error);
    if (status != ESP_OK)
        return status;
    for (uint32_t i = 0, k = 0; i < problem->n_arguments; i++) {
        if (!argument_is_passed(&problem->arguments[i]))
            continue;
        struct esp_argument *argument = &arguments[k++];
        argument->type = (enum esp_type)(problem->arguments[i].type + 1);
        argument->data = (void *)job->record.scalars[i];
        argument->n_dims = shapes[i].n_dims;
        memcpy(argument->dims, shapes[i].dims, sizeof shapes[i].dims);
    }
    job->job.arguments = arguments;
    job->job.n_arguments = n;
    return ESP_OK;
}

/* Sets the job's token and server, which another program may need. */
static enum esp_status tell_place(struct job *job, const char *token, struct esp_error *error)
{
    job->job.server = job->record.server;
    job->job.address = job->record.address;
    job->job.token = package_text(job, token);
    return job->job.token ? ESP_OK : error_no_memory(error, "a job");
}

static void tell_names(struct job *job)
{
    for (uint32_t i = 0; i < job->record.n_names; i++) {
        const struct other_name *name = &job->record.names[i];
        job->names[i] = (struct esp_job_name){name->name, name->of, name->rows};
    }
    job->job.names = job->names;
    job->job.n_names = job->record.n_names;
}

enum esp_status job_make(struct job_record *record, const char *token, struct esp_job **result,
                         struct esp_error *error)
{
    char id[SESSION_TEXT];
    struct job *job = package_create(sizeof *job);
    if (!job)
        return error_no_memory(error, "a job");
    job->record = *record;
    for (uint32_t i = 0; i < PROBLEM_MAX_ARGUMENTS; i++)
        job->record.scalars[i] = record->scalars[i] ? job->record.values[i] : NULL;
    memset(record, 0, sizeof *record);
    enum esp_status status = describe_function(function_use(job->record.function), &job->problem, error);
    if (status == ESP_OK)
        status = tell_arguments(job, error);
    job->job.problem = job->problem;
    job->job.id = package_text(job, job_id(&job->record, id));
    job->job.submitted_s = job->record.submitted_s;
    job->job.again = job_is_kept(&job->record);
    if (status == ESP_OK && !left_tell(job->record.data, job, &job->job.data, &job->job.n_data))
        status = error_no_memory(error, "a job");
    tell_names(job);
    if (status == ESP_OK)
        status = job->job.id ? tell_place(job, token, error) : error_no_memory(error, "a job");
    if (status == ESP_OK)
        *result = &job->job;
    else
        esp_job_free(&job->job);
    return status;
}

static enum esp_status read_job(const char *token, struct esp_job **job, struct esp_error *error)
{
    struct job_record record;
    enum esp_status status = job_token_read(token, &record, error);
    if (status == ESP_OK)
        status = job_make(&record, token, job, error);
    return status;
}

enum esp_status esp_job_read(const char *token, struct esp_job **job)
{
    if (!token || !job)
        return error_set(library_error(), ESP_INVALID,
                         "expected a token and a place for the job, found NULL");
    *job = NULL;
    return read_job(token, job, library_error());
}

/* ---- the list ---- */

enum esp_status esp_job_list(const char *const **ids, size_t *n)
{
    if (!ids || !n)
        return error_set(library_error(), ESP_INVALID, "expected places for the list, found NULL");
    return job_store_list(ids, n, library_error());
}

void esp_job_list_free(const char *const *ids)
{
    package_destroy((void *)ids);
}

enum esp_status esp_job_find(const char *id, struct esp_job **job)
{
    struct esp_error *error = library_error();
    char *token = NULL;
    if (!id || !job)
        return error_set(error, ESP_INVALID, "expected an id and a place for the job, found NULL");
    *job = NULL;
    enum esp_status status = job_store_read(id, &token, error);
    if (status == ESP_OK && (status = read_job(token, job, error)) != ESP_OK)
        error_prefix(error, "job %s", id);
    free(token);
    return status;
}

/* ---- jobs whose server is lost ---- */

/* Updates the token and the server after the record has changed. */
static enum esp_status tell_again(struct job *job, struct esp_error *error)
{
    char *token = job_token_write(&job->record);
    enum esp_status status = token ? tell_place(job, token, error) : error_no_memory(error, "a job");
    free(token);
    return status;
}

/* Calls the job again elsewhere, if that is permitted. The job belongs to the program, and is const only
 * for functions that read it. */
static enum esp_status revive(struct library *library, const struct esp_job *public, enum job_fate fate,
                              struct esp_error *error)
{
    struct job *job = (struct job *)public;
    enum esp_status status = job_call_again(library->engine, &job->record, fate, error);
    return status == ESP_OK ? tell_again(job, error) : status;
}

/* ---- names of an abstract problem ---- */

void job_name_outputs(struct esp_job *public, const struct other_name *names, uint32_t n, bool listed)
{
    struct job *job = (struct job *)public;
    struct esp_error unimportant;
    job->record.n_names = n < ABSTRACT_MAX_PAIRS ? n : ABSTRACT_MAX_PAIRS;
    memcpy(job->record.names, names, job->record.n_names * sizeof *names);
    tell_names(job);
    if (tell_again(job, &unimportant) == ESP_OK && listed)
        job_store_write(public->id, public->token, &unimportant);
}

/* ---- attaching ---- */

static enum esp_status attach(struct library *library, const struct job *job,
                              const struct esp_argument *arguments, size_t n_arguments,
                              const struct esp_call_options *options, grpc_sessionid_t *id,
                              struct esp_error *error)
{
    struct invocation invocation;
    struct session *session;
    enum esp_status status = invocation_for_results(&invocation, job->record.function, job->record.scalars,
                                                    arguments, n_arguments, error);
    if (status == ESP_OK)
        status = job_attach(library->engine, &job->record, &invocation, options ? options->deadline_s : 0,
                            &session, error);
    if (status != ESP_OK)
        return status;
    if (options && options->follow) {
        session->following.output = options->output;
        session->following.progress = options->progress;
        session->following.arg = options->arg;
    }
    return table_start(library->table, session, NULL, id, error);
}

enum esp_status esp_job_attach(const struct esp_job *job, const struct esp_argument *arguments,
                               size_t n_arguments, const struct esp_call_options *options,
                               grpc_sessionid_t *session)
{
    struct esp_error *error = library_error();
    if (!job || !session || (!arguments && n_arguments > 0))
        return error_set(error, ESP_INVALID, "expected a job, arguments and a place for the id, found NULL");
    *session = GRPC_SESSIONID_VOID;
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status =
        attach(library, (const struct job *)job, arguments, n_arguments, options, session, error);
    library_leave(status == ESP_OK);
    return status;
}

/* ---- state ---- */

static const char *state_text(uint32_t state)
{
    switch (state) {
    case SESSION_QUEUED:
        return "queued";
    case SESSION_RUNNING:
        return "running";
    case SESSION_DONE:
        return "done";
    case SESSION_FAILED:
        return "failed";
    case SESSION_CANCELLED:
        return "cancelled";
    default:
        return "waiting";
    }
}

static void tell_state(const struct follow_reply *reply, struct esp_job_state *state)
{
    const struct session_report *report = &reply->session;
    uint64_t kept_ms = 0;
    lease_get(&reply->extensions, &kept_ms);
    *state = (struct esp_job_state){.state = state_text(report->state),
                                    .ahead = report->ahead,
                                    .progress = reply->progress,
                                    .wait_s = report->timings.wait_s,
                                    .transfer_s = report->timings.transfer_s,
                                    .queue_s = report->timings.queue_s,
                                    .compute_s = report->timings.compute_s,
                                    .forecast_s = report->timings.forecast_s,
                                    .kept_s = (double)kept_ms / 1e3};
    enum esp_status status = (enum esp_status)report->outcome.status;
    const char *text = report->outcome.text && *report->outcome.text ? report->outcome.text : "";
    error_set(&state->error, status, "%s", status == ESP_OK || *text ? text : esp_status_string(status));
}

static uint64_t patience_ms(double patience_s)
{
    if (!(patience_s > 0))
        return 0;
    return (uint64_t)(fmin(patience_s, MOST_PATIENCE_S) * 1e3);
}

/* ---- asking its server ---- */

/* Writes the server's report to the list. If the server computes a job that the list has as cancelled,
 * orders it to stop. */
static bool has_to_be_told(const struct job_record *record, const struct message *reply)
{
    const struct session_report *report = &reply->follow_reply.session;
    struct job_end end;
    if (report->state >= SESSION_DONE)
        job_end_take(record, report);
    return report->state < SESSION_DONE && job_end_known(record, &end) && end.error.status == ESP_CANCELLED;
}

static enum esp_status ask_once(struct engine *engine, const struct job_record *record,
                                const struct follow *follow, struct message *reply, enum job_fate *fate,
                                struct esp_error *error)
{
    message_clear(reply);
    enum esp_status status = job_ask(engine, record, follow, reply, fate, error);
    if (status != ESP_OK || !has_to_be_told(record, reply))
        return status;
    job_stop(engine, record);
    message_clear(reply);
    return job_ask(engine, record, follow, reply, fate, error);
}

/* Asks for the job wherever it is: a lost job is called again and asked for there. If the list knows its
 * end, there is no reply, and `end` is not ESP_OK; this also holds for a cancelled job that an unreachable
 * server may still compute (ESP_UNREACHABLE). */
static enum esp_status ask_anywhere(struct library *library, const struct esp_job *job,
                                    const struct follow *follow, struct message *reply, struct job_end *end,
                                    struct esp_error *error)
{
    struct job_record *record = &((struct job *)job)->record;
    enum job_fate fate;
    *end = (struct job_end){0};
    enum esp_status status = ask_once(library->engine, record, follow, reply, &fate, error);
    if (status == ESP_OK)
        return status;
    if (job_end_instead(record, fate, end, error))
        return ESP_OK;
    if (end->wanted || (status = revive(library, job, fate, error)) != ESP_OK)
        return error->status;
    return ask_once(library->engine, record, follow, reply, &fate, error);
}

static enum esp_status ask(const struct esp_job *job, const struct follow *follow, struct message *reply,
                           struct job_end *end, struct esp_error *error)
{
    *end = (struct job_end){0};
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status = ask_anywhere(library, job, follow, reply, end, error);
    library_leave(status == ESP_OK);
    return status;
}

static void tell_end(const struct job_end *end, struct esp_job_state *state)
{
    *state = (struct esp_job_state){
        .state = state_text(end->error.status == ESP_CANCELLED ? SESSION_CANCELLED : SESSION_FAILED),
        .error = end->error,
        .progress = -1,
        .compute_s = end->compute_s};
}

enum esp_status esp_job_look(const struct esp_job *job, double patience_s, struct esp_job_state *state)
{
    struct esp_error *error = library_error();
    struct message reply = {0};
    if (!job || !state)
        return error_set(error, ESP_INVALID, "expected a job and a place for its state, found NULL");
    /* The output does not end this wait. */
    const struct follow follow = {
        .seen = UINT64_MAX, .progress = state->progress, .patience_ms = patience_ms(patience_s)};
    struct job_end end;
    enum esp_status status = ask(job, &follow, &reply, &end, error);
    if (end.error.status != ESP_OK)
        tell_end(&end, state);
    else if (status == ESP_OK)
        tell_state(&reply.follow_reply, state);
    message_clear(&reply);
    return status;
}

enum esp_status esp_job_output(const struct esp_job *job, double patience_s, uint64_t *position, char *buffer,
                               size_t size, size_t *length)
{
    struct esp_error *error = library_error();
    struct message reply = {0};
    if (!job || !position || !buffer || !length)
        return error_set(error, ESP_INVALID, "expected a job and places for its output, found NULL");
    *length = 0;
    /* The progress does not end this wait. */
    const struct follow follow = {.seen = *position, .progress = 2, .patience_ms = patience_ms(patience_s)};
    struct job_end end;
    enum esp_status status = ask(job, &follow, &reply, &end, error);
    if (status == ESP_OK && end.error.status != ESP_OK)
        status = error_set(error, ESP_NOT_FOUND, "job %s: what it has printed was lost with server %s",
                           job->id, job->server);
    if (status == ESP_OK) {
        const struct follow_reply *found = &reply.follow_reply;
        *length = found->text_length < size ? found->text_length : size;
        if (*length > 0)
            memcpy(buffer, found->text, *length);
        *position = found->position + *length;
    }
    message_clear(&reply);
    return status;
}

/* ---- ending a job ---- */

enum esp_status esp_job_cancel(const struct esp_job *job)
{
    struct esp_error *error = library_error();
    if (!job)
        return error_set(error, ESP_INVALID, "expected a job, found NULL");
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    struct job *called_off = (struct job *)job; /* belongs to the program, as in revive() */
    struct engine *engine = library->engine;
    enum esp_status status = job_call_off(engine, &called_off->record, engine->call_timeout_ms, error);
    if (status == ESP_OK)
        status = tell_again(called_off, error);
    library_leave(status == ESP_OK);
    return status;
}

enum esp_status esp_job_forget(const struct esp_job *job)
{
    struct esp_error *error = library_error();
    if (!job)
        return error_set(error, ESP_INVALID, "expected a job, found NULL");
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status = job_store_remove(job->id, error);
    if (status == ESP_OK && job_drop(library->engine, &((const struct job *)job)->record, error) != ESP_OK) {
        status = error->status = ESP_UNREACHABLE;
        error_prefix(error, "job %s has left your list, but server %s could not be told", job->id,
                     job->server);
    }
    job_drop_left(library->engine, &((const struct job *)job)->record);
    library_leave(status == ESP_OK);
    return status;
}
