/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of espalier.h, and information about sessions.
 */
#include "client/abstract/abstract.h"
#include "client/api/call.h"
#include "client/api/life.h"
#include "client/jobs/job.h"
#include "client/session/library.h"
#include "util/package.h"

#include <math.h>

const struct esp_error *esp_last_error(void)
{
    return library_error();
}

enum esp_status esp_initialize(const struct esp_options *options)
{
    bool again;
    const struct esp_options none = {0};
    return library_start(options ? options : &none, &again, library_error());
}

enum esp_status esp_handle_set_deadline(grpc_function_handle_t *handle, double seconds)
{
    struct esp_error *error = library_error();
    if (!(seconds >= 0) || isinf(seconds))
        return error_set(error, ESP_INVALID, "deadline: expected seconds >= 0, found %g", seconds);
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status = ESP_OK;
    struct handle *used = handles_use(library->handles, handle);
    if (used)
        atomic_store(&used->deadline_s, seconds);
    else
        status = error_set(error, ESP_INVALID, "the function handle was never made, or was destructed");
    handle_release(used);
    library_leave(status == ESP_OK);
    return status;
}

/* ---- information about sessions ---- */

void esp_session_info_free(struct esp_session_info *info)
{
    package_destroy(info);
}

struct telling {
    struct esp_session_info **info;
    enum esp_status status;
};

static void tell_looked(struct session *session, const struct past *past, void *arg)
{
    struct telling *telling = arg;
    if (session)
        telling->status = past_tell_session(session, telling->info, library_error());
    else if (!(*telling->info = past_tell(past)))
        telling->status = error_no_memory(library_error(), "information on a session");
}

enum esp_status esp_session_info_get(grpc_sessionid_t id, struct esp_session_info **info)
{
    struct esp_error *error = library_error();
    if (!info)
        return error_set(error, ESP_INVALID, "expected a place for the information, found NULL");
    *info = NULL;
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    struct telling telling = {info, ESP_OK};
    if (!table_look(library->table, id, tell_looked, &telling))
        telling.status = error_set(error, ESP_NOT_FOUND, "no session has the id %d (any more)", id);
    library_leave(telling.status == ESP_OK);
    return telling.status;
}

enum esp_status esp_last_session_info(struct esp_session_info **info)
{
    struct esp_error *error = library_error();
    if (!info)
        return error_set(error, ESP_INVALID, "expected a place for the information, found NULL");
    *info = NULL;
    const struct past *past = library_kept();
    if (!past)
        return error_set(error, ESP_NOT_FOUND, "this thread has made no call yet");
    *info = past_tell(past);
    return *info ? ESP_OK : error_no_memory(error, "information on a session");
}

struct taking {
    char *buffer;
    size_t size, length;
};

static void take_looked(struct session *session, const struct past *past, void *arg)
{
    struct taking *taking = arg;
    (void)past; /* its output was dropped with it */
    if (session)
        taking->length = session_take_output(session, taking->buffer, taking->size);
}

enum esp_status esp_session_output(grpc_sessionid_t id, char *buffer, size_t size, size_t *length)
{
    struct esp_error *error = library_error();
    if (!buffer || !length)
        return error_set(error, ESP_INVALID, "expected places for the output and its length, found NULL");
    *length = 0;
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    struct taking taking = {.buffer = buffer, .size = size};
    enum esp_status status = ESP_OK;
    if (!table_look(library->table, id, take_looked, &taking))
        status = error_set(error, ESP_NOT_FOUND, "no session has the id %d (any more)", id);
    library_leave(status == ESP_OK);
    *length = taking.length;
    return status;
}

/* ---- calls ---- */

static enum esp_status gather(struct library *library, grpc_function_handle_t *handle,
                              const struct esp_argument *arguments, size_t n_arguments, struct handle **used,
                              struct invocation *invocation, struct esp_error *error)
{
    *used = handles_use(library->handles, handle);
    if (!*used)
        return error_set(error, ESP_INVALID, "the function handle was never made, or was destructed");
    if (!arguments && n_arguments > 0)
        return error_set(error, ESP_INVALID, "expected %zu arguments, found NULL", n_arguments);
    const struct room room = {library->engine, (*used)->server};
    const enum esp_status status =
        invocation_from_vector(invocation, (*used)->function, &room, arguments, n_arguments, error);
    return status == ESP_OK ? ESP_OK : function_tell_signatures((*used)->function, error);
}

enum esp_status esp_call(grpc_function_handle_t *handle, const struct esp_argument *arguments,
                         size_t n_arguments, const struct esp_call_options *options,
                         struct esp_session_info **info)
{
    struct esp_error *error = library_error();
    if (info)
        *info = NULL;
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    struct handle *used;
    struct invocation invocation;
    enum esp_status status = gather(library, handle, arguments, n_arguments, &used, &invocation, error);
    if (status == ESP_OK)
        status = call_blocking(library, used, &invocation, options, info, error);
    handle_release(used);
    library_leave(status == ESP_OK);
    return status;
}

enum esp_status esp_call_async(grpc_function_handle_t *handle, const struct esp_argument *arguments,
                               size_t n_arguments, const struct esp_call_options *options,
                               grpc_sessionid_t *id)
{
    struct esp_error *error = library_error();
    if (!id)
        return error_set(error, ESP_INVALID, "expected a place for the session's id, found NULL");
    *id = GRPC_SESSIONID_VOID;
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    struct handle *used;
    struct invocation invocation;
    enum esp_status status = gather(library, handle, arguments, n_arguments, &used, &invocation, error);
    if (status == ESP_OK)
        status = call_asynchronous(library, used, handle, &invocation, options, id, error);
    handle_release(used);
    library_leave(status == ESP_OK);
    return status;
}

/* ---- jobs ---- */

static enum esp_status submit(struct library *library, struct handle *handle,
                              const struct esp_argument *arguments, size_t n_arguments,
                              const struct esp_call_options *options, bool listed, struct esp_job **job,
                              struct esp_error *error)
{
    struct invocation invocation;
    enum esp_status status = job_gather(library, handle, arguments, n_arguments, options, &invocation, error);
    if (status != ESP_OK || !handle->function->problem->abstract)
        return status == ESP_OK ? job_submit(library, handle, &invocation, options, listed, job, error)
                                : status;
    status = abstract_submit_invocation(library->engine, handle, &invocation, options, listed, job, error);
    invocation_release(&invocation);
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
