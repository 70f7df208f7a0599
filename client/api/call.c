/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/call.h"
#include "client/abstract/abstract.h"
#include "client/data/binding.h"

/* On failure the invocation is released. */
static enum esp_status find_data(struct library *library, struct handle *handle,
                                 struct invocation *invocation, const struct esp_call_options *options,
                                 struct esp_error *error)
{
    const enum esp_status status =
        invocation_find_data(invocation, library->engine, start_until_ns(library, handle, options), error);
    if (status != ESP_OK)
        invocation_release(invocation);
    return status;
}

enum esp_status call_blocking(struct library *library, struct handle *handle, struct invocation *invocation,
                              const struct esp_call_options *options, struct esp_session_info **info,
                              struct esp_error *error)
{
    struct session *session = NULL;
    enum esp_status status = find_data(library, handle, invocation, options, error);
    if (status == ESP_OK && handle->function->problem->abstract) {
        status = abstract_call(library->engine, handle, invocation, options, info, error);
        invocation_release(invocation);
    } else if (status == ESP_OK) {
        status = start_blocking(library, handle, invocation, options, NULL, &session, error);
    }
    if (session) {
        struct esp_error unimportant;
        if (info)
            past_tell_session(session, info, &unimportant);
        library_keep(session);
    }
    return status;
}

enum esp_status call_asynchronous(struct library *library, struct handle *handle,
                                  grpc_function_handle_t *given, struct invocation *invocation,
                                  const struct esp_call_options *options, grpc_sessionid_t *id,
                                  struct esp_error *error)
{
    struct session *session;
    const bool is_abstract = handle->function->problem->abstract != NULL;
    enum esp_status status = find_data(library, handle, invocation, options, error);
    if (status == ESP_OK)
        status = start_session(library, handle, invocation, options, &session, error);
    if (status == ESP_OK && is_abstract &&
        (status = abstract_plan(session, handle, options, error)) != ESP_OK)
        session_discard(session);
    if (status == ESP_OK)
        status = table_start(library->table, session, given, id, error);
    return status;
}
