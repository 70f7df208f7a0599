/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs are made: from arguments to a session that a server has, its record, and the server that keeps it.
 */
#include "client/abstract/abstract.h"
#include "client/arguments/invocation_data.h"
#include "client/arguments/invocation_hold.h"
#include "client/data/sequence.h"
#include "client/jobs/job.h"
#include "client/jobs/job_call.h"
#include "client/library.h"
#include "client/room.h"
#include "client/session/start.h"
#include "core/problem/problem_callback.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

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
static enum esp_status keep(struct library *library, const struct session *session, struct job_record *record,
                            bool listed, struct esp_job **job, struct esp_error *error)
{
    char id[SESSION_TEXT], path[PATH_MAX];
    struct job_record copy = *record; /* to undo it by, when the job has taken it over */
    job_id(record, id);
    char *token = job_token_write(record);
    enum esp_status status = token ? ESP_OK : error_no_memory(error, "a job");
    if (status == ESP_OK && listed)
        status = job_store_write(id, token, error);
    if (status == ESP_OK && listed && job_call_is_wanted(session, library->settings.job_arguments) &&
        (status = job_store_call_path(id, path, sizeof path, error)) == ESP_OK)
        status = job_call_write(path, session, error);
    if (status == ESP_OK && (status = job_keep(library->engine, record, error)) == ESP_OK)
        status = job_make(record, token, job, error);
    if (status != ESP_OK) {
        job_drop(library->engine, &copy, NULL);
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
    const struct room room = {library->engine, handle->server};
    enum esp_status status =
        invocation_from_vector(&invocation, handle->function, &room, arguments, n_arguments, error);
    sequence_resume(was_paused);
    if (status != ESP_OK)
        return function_tell_signatures(handle->function, error);
    status = hold_for_job(&invocation, error);
    if (status == ESP_OK)
        status = invocation_find_data(&invocation, library->engine, start_until_ns(library, handle, options),
                                      error);
    if (status != ESP_OK) {
        invocation_release(&invocation);
        return status;
    }
    if (handle->function->problem->abstract) {
        status =
            abstract_submit_invocation(library->engine, handle, &invocation, options, listed, job, error);
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
        status = job_hand_over(session, true, &record, error);
    if (status == ESP_OK)
        record.data = left_gather(&session->invocation);
    if (status == ESP_OK)
        status = keep(library, session, &record, listed, job, error);
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
