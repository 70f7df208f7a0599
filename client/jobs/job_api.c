/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs as espalier.h shows them.
 */
#include "client/abstract/abstract.h"
#include "client/describe.h"
#include "client/arguments/invocation_data.h"
#include "client/arguments/invocation_hold.h"
#include "client/jobs/job.h"
#include "client/library.h"
#include "client/session/package.h"
#include "client/data/sequence.h"
#include "core/problem/problem_callback.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PATIENCE_S 600.0

/* What is handed out: the public struct first, then what it is made of. */
struct job {
    struct esp_job job;
    struct job_record record;
    struct esp_problem *problem;
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

/* Takes the record over, and leaves it to the job, when that can be made. */
static enum esp_status make_job(struct job_record *record, const char *token, struct esp_job **result,
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
    job->job.id = package_text(job, session_id_text(&job->record.session, id));
    job->job.server = job->record.server;
    job->job.address = job->record.address;
    job->job.submitted_s = job->record.submitted_s;
    job->job.token = package_text(job, token);
    if (status == ESP_OK && (!job->job.id || !job->job.token))
        status = error_no_memory(error, "a job");
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
        status = make_job(&record, token, job, error);
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

/* ---- submitting ---- */

/* All outputs are wanted by whoever fetches; nothing is written through this. */
static void want_outputs(struct invocation *invocation)
{
    static char somewhere;
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        if (argument_is_output(&invocation->function->problem->arguments[value->index]) && !value->out)
            value->out = &somewhere;
    }
}

static void note_scalars(const struct invocation *invocation, struct job_record *record)
{
    record->function = function_use(invocation->function);
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        const struct value *value = &invocation->values[i];
        const struct argument *argument = &invocation->function->problem->arguments[value->index];
        size_t size = base_type_size(argument->type);
        if (argument->n_dims > 0 || !argument_is_input(argument) || value->form != VALUE_MEMORY ||
            !value->in || size > sizeof record->values[0])
            continue;
        memcpy(record->values[value->index], value->in, size);
        record->scalars[value->index] = record->values[value->index];
    }
}

/* The record is written before the server is told to keep the job: see client/jobs/job.h. */
static enum esp_status keep(struct engine *engine, struct job_record *record, bool listed,
                            struct esp_job **job, struct esp_error *error)
{
    char id[SESSION_TEXT];
    struct job_record copy = *record; /* to undo it by, when the job has taken it over */
    session_id_text(&record->session, id);
    char *token = job_token_write(record);
    enum esp_status status = token ? ESP_OK : error_no_memory(error, "a job");
    if (status == ESP_OK && listed)
        status = job_store_write(id, token, error);
    if (status == ESP_OK && (status = job_keep(engine, record, error)) == ESP_OK)
        status = make_job(record, token, job, error);
    if (status != ESP_OK) {
        job_drop(engine, &copy, NULL);
        if (listed)
            job_store_remove(id, NULL);
    }
    free(token);
    return status;
}

static enum esp_status submit(struct library *library, struct handle *handle,
                              const struct esp_argument *arguments, size_t n_arguments,
                              const struct esp_call_options *options, bool listed, struct esp_job **job,
                              struct esp_error *error)
{
    struct invocation invocation;
    struct session *session = NULL;
    struct job_record record = {0};
    const struct target target = {handle->server, handle->address, true, options};
    double deadline_s = options ? options->deadline_s : 0;
    if (deadline_s <= 0)
        deadline_s = atomic_load(&handle->deadline_s);
    bool was_paused = sequence_pause(); /* it goes on when the sequence is over */
    enum esp_status status =
        invocation_from_vector(&invocation, handle->function, arguments, n_arguments, error);
    sequence_resume(was_paused);
    if (status != ESP_OK)
        return status;
    status = hold_for_job(&invocation, error);
    if (status == ESP_OK)
        status = invocation_find_data(&invocation, library->engine, error);
    if (status != ESP_OK) {
        invocation_release(&invocation);
        return status;
    }
    if (handle->function->problem->abstract) {
        status = abstract_submit_invocation(handle, &invocation, options, listed, job, error);
        invocation_release(&invocation);
        return status;
    }
    if (problem_has_callbacks(handle->function->problem)) {
        invocation_release(&invocation);
        return error_set(
            error, ESP_INVALID,
            "%s calls functions of its client, which has to stay: call it, it cannot be submitted",
            handle->function->problem->name);
    }
    want_outputs(&invocation);
    note_scalars(&invocation, &record);
    status = session_begin(library->engine, &invocation, &target, deadline_s, &session, error);
    if (status == ESP_OK && options) {
        session->following.sent = options->sent;
        session->following.arg = options->arg;
    }
    if (status == ESP_OK)
        status = job_hand_over(session, &record, error);
    if (status == ESP_OK)
        status = keep(library->engine, &record, listed, job, error);
    session_discard(session);
    job_record_clear(&record);
    return status;
}

enum esp_status esp_job_submit(grpc_function_handle_t *handle, const struct esp_argument *arguments,
                               size_t n_arguments, const struct esp_call_options *options, int listed,
                               struct esp_job **job)
{
    struct esp_error *error = library_error();
    if (!job || (!arguments && n_arguments > 0))
        return error_set(error, ESP_INVALID, "expected arguments and a place for the job, found NULL");
    *job = NULL;
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    struct handle *used = handles_use(library->handles, handle);
    enum esp_status status =
        used ? submit(library, used, arguments, n_arguments, options, listed != 0, job, error)
             : error_set(error, ESP_INVALID, "the function handle was never made, or was destructed");
    handle_release(used);
    library_leave(status == ESP_OK);
    return status;
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

/* ---- asking after it ---- */

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

static enum esp_status ask(const struct esp_job *job, const struct follow *follow, struct message *reply,
                           struct esp_error *error)
{
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status =
        job_ask(library->engine, &((const struct job *)job)->record, follow, reply, error);
    library_leave(status == ESP_OK);
    return status;
}

enum esp_status esp_job_look(const struct esp_job *job, double patience_s, struct esp_job_state *state)
{
    struct esp_error *error = library_error();
    struct message reply = {0};
    if (!job || !state)
        return error_set(error, ESP_INVALID, "expected a job and a place for its state, found NULL");
    /* Its output is no news here. */
    const struct follow follow = {
        .seen = UINT64_MAX, .progress = state->progress, .patience_ms = patience_ms(patience_s)};
    enum esp_status status = ask(job, &follow, &reply, error);
    if (status == ESP_OK)
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
    /* Its progress is no news here. */
    const struct follow follow = {.seen = *position, .progress = 2, .patience_ms = patience_ms(patience_s)};
    enum esp_status status = ask(job, &follow, &reply, error);
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

/* ---- ending it ---- */

enum esp_status esp_job_cancel(const struct esp_job *job)
{
    struct esp_error *error = library_error();
    if (!job)
        return error_set(error, ESP_INVALID, "expected a job, found NULL");
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status = job_cancel(library->engine, &((const struct job *)job)->record, error);
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
    library_leave(status == ESP_OK);
    return status;
}
