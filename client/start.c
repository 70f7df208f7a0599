/* SPDX-License-Identifier: Apache-2.0 */
#include "client/start.h"

#include "core/problem_callback.h"

static enum esp_status create(struct library *library, struct handle *handle, struct invocation *invocation,
                              const struct esp_call_options *options, struct session **session,
                              struct esp_error *error)
{
    const struct target target = {handle->server, handle->address, false};
    double deadline_s = options ? options->deadline_s : 0;
    if (deadline_s <= 0)
        deadline_s = atomic_load(&handle->deadline_s);
    bool asks = problem_has_callbacks(invocation->function->problem);
    enum esp_status status = session_begin(library->engine, invocation, &target, deadline_s, session, error);
    if (status == ESP_OK && options) {
        (*session)->following.sent = options->sent;
        (*session)->following.arg = options->arg;
    }
    if (status == ESP_OK && options && options->follow) {
        (*session)->follow = true;
        (*session)->following.output = options->output;
        (*session)->following.progress = options->progress;
        (*session)->following.arg = options->arg;
    }
    if (status == ESP_OK && asks)
        (*session)->follow = true; /* whatever the caller wants to see of it */
    return status;
}

enum esp_status start_blocking(struct library *library, struct handle *handle, struct invocation *invocation,
                               const struct esp_call_options *options, struct session **session,
                               struct esp_error *error)
{
    *session = NULL;
    enum esp_status status = create(library, handle, invocation, options, session, error);
    if (status != ESP_OK)
        return status;
    status = session_call(*session);
    if (status != ESP_OK)
        *error = (*session)->error;
    return status;
}

enum esp_status start_asynchronous(struct library *library, struct handle *handle,
                                   grpc_function_handle_t *given, struct invocation *invocation,
                                   const struct esp_call_options *options, grpc_sessionid_t *id,
                                   struct esp_error *error)
{
    struct session *session;
    if (handle->function->problem->abstract) {
        error_set(
            error, ESP_INVALID,
            "%s is an abstract problem: call it with grpc_call() or esp_call(), or start the problem that "
            "does it",
            handle->function->problem->name);
        invocation_release(invocation);
        return ESP_INVALID;
    }
    enum esp_status status = create(library, handle, invocation, options, &session, error);
    if (status == ESP_OK)
        status = table_start(library->table, session, given, id, error);
    return status;
}
