/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/start.h"

#include "client/abstract/abstract.h"
#include "core/problem/problem_callback.h"

#include <string.h>

static double deadline_s(struct handle *handle, const struct esp_call_options *options)
{
    return options && options->deadline_s > 0 ? options->deadline_s : atomic_load(&handle->deadline_s);
}

int64_t start_until_ns(const struct library *library, struct handle *handle,
                       const struct esp_call_options *options)
{
    return session_until_ns(library->engine, deadline_s(handle, options));
}

static enum esp_status create(struct library *library, struct handle *handle, struct invocation *invocation,
                              const struct esp_call_options *options, struct session **session,
                              struct esp_error *error)
{
    const struct target target = {handle->server, handle->address, false, options};
    bool asks = problem_has_callbacks(invocation->function->problem);
    enum esp_status status =
        session_begin(library->engine, invocation, &target, deadline_s(handle, options), session, error);
    if (status != ESP_OK)
        return status;
    if (options) {
        (*session)->following.sent = options->sent;
        (*session)->following.arg = options->arg;
    }
    if (options && options->follow) {
        (*session)->follow = true;
        (*session)->following.output = options->output;
        (*session)->following.progress = options->progress;
        (*session)->following.arg = options->arg;
    }
    if (asks)
        (*session)->follow = true; /* whatever the caller wants to see of it */
    return ESP_OK;
}

/* What cancels the whole finds its step here. */
static void set_step(struct session *whole, struct session *step)
{
    pthread_mutex_lock(&whole->engine->marks_lock);
    whole->step = step;
    pthread_mutex_unlock(&whole->engine->marks_lock);
}

static void add_times(struct session *whole, const struct session *step)
{
    whole->sent_ns += step->sent_ns;
    whole->submitted_ns = whole->submitted_ns ? whole->submitted_ns : step->submitted_ns;
    whole->timings.wait_s += step->timings.wait_s;
    whole->timings.transfer_s += step->timings.transfer_s;
    whole->timings.queue_s += step->timings.queue_s;
    whole->fetch_s += step->fetch_s;
    whole->timings.compute_s += step->timings.compute_s;
    whole->forecast_s += step->forecast_s;
    whole->forecast_compute_s += step->forecast_compute_s;
}

enum esp_status start_blocking(struct library *library, struct handle *handle, struct invocation *invocation,
                               const struct esp_call_options *options, struct session *whole,
                               struct session **session, struct esp_error *error)
{
    *session = NULL;
    enum esp_status status = create(library, handle, invocation, options, session, error);
    if (status != ESP_OK)
        return status;
    (*session)->whole = whole;
    if (whole)
        set_step(whole, *session);
    status = session_call(*session);
    if (whole) {
        set_step(whole, NULL);
        add_times(whole, *session);
    }
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
    bool is_abstract = handle->function->problem->abstract != NULL;
    enum esp_status status = create(library, handle, invocation, options, &session, error);
    if (status == ESP_OK && is_abstract &&
        (status = abstract_plan(session, handle, options, error)) != ESP_OK)
        session_discard(session);
    if (status == ESP_OK)
        status = table_start(library->table, session, given, id, error);
    return status;
}
