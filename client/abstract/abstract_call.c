/* SPDX-License-Identifier: Apache-2.0
 *
 * Abstract problems called from C: between the caller's memory and matrices.
 */
#include "client/abstract/abstract.h"
#include "client/arguments/invocation_hold.h"
#include "client/data/sequence.h"
#include "client/session/session.h"
#include "client/arguments/values_storage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum esp_status give(struct abstract_run *run, const struct argument *argument,
                            const struct shape *shape, const void *memory, struct esp_error *error)
{
    enum esp_type type = (enum esp_type)(argument->type + 1);
    bool is_complex = type == ESP_TYPE_COMPLEX || type == ESP_TYPE_DOUBLE_COMPLEX;
    struct matrix matrix;
    int64_t rows = shape->n_dims ? shape->dims[0] : 1, cols = shape->n_dims > 1 ? shape->dims[1] : 1;
    enum esp_status status = matrix_init(&matrix, rows, cols, is_complex, 0, error);
    if (status != ESP_OK)
        return status;
    for (size_t k = 0; k < (size_t)(rows * cols) && status == ESP_OK; k++)
        status = value_load_element(type, memory, k, &matrix, k, error);
    if (status != ESP_OK) {
        matrix_clear(&matrix);
        return status;
    }
    return abstract_give(run, argument->name, &matrix, error);
}

static enum esp_status take(const struct abstract_run *run, const struct argument *argument,
                            const struct shape *shape, void *memory, struct esp_error *error)
{
    struct matrix matrix;
    int64_t rows = shape->n_dims ? shape->dims[0] : 1, cols = shape->n_dims > 1 ? shape->dims[1] : 1;
    enum esp_status status = abstract_result(run, argument, rows, cols, &matrix, error);
    if (status != ESP_OK)
        return status;
    status = matrix_make_dense(&matrix, 0, error);
    for (size_t k = 0; k < (size_t)(rows * cols) && status == ESP_OK; k++)
        if (!value_store_element((enum esp_type)(argument->type + 1), memory, k, &matrix, k))
            status = error_set(error, ESP_INVALID, "%s: element %zu cannot be a %s", argument->name, k + 1,
                               base_type_name(argument->type));
    matrix_clear(&matrix);
    return status;
}

/* What the caller gave, and where each result goes. */
static enum esp_status give_all(struct abstract_run *run, const struct invocation *invocation,
                                struct shape *shapes, struct esp_error *error)
{
    const struct problem *problem = run->problem;
    const void *inputs[PROBLEM_MAX_ARGUMENTS] = {0};
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    for (uint32_t i = 0; i < invocation->n_values; i++)
        if (problem->arguments[invocation->values[i].index].n_dims == 0)
            inputs[invocation->values[i].index] = invocation->values[i].in;
    enum esp_status status = problem_bind(problem, inputs, scope, shapes, error);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        const struct value *value = &invocation->values[i];
        if (value->in)
            status = give(run, &problem->arguments[value->index], &shapes[value->index], value->in, error);
    }
    return status;
}

static enum esp_status call(struct abstract_run *run, const struct invocation *invocation,
                            struct esp_error *error)
{
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    enum esp_status status = give_all(run, invocation, shapes, error);
    if (status == ESP_OK)
        status = abstract_execute(run, error);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        const struct value *value = &invocation->values[i];
        if (value->out)
            status =
                take(run, &run->problem->arguments[value->index], &shapes[value->index], value->out, error);
    }
    return status;
}

/* Steps have arrays of their own, which are none of the caller's sequence. */
static enum esp_status call_and_leave(struct abstract_run *run, struct engine *engine,
                                      struct invocation *invocation, struct esp_error *error)
{
    bool was_paused = sequence_pause();
    enum esp_status status = call(run, invocation, error);
    if (status == ESP_OK && run->info)
        status = hold_put_results(invocation, engine, run->info->server, error);
    sequence_resume(was_paused);
    return status;
}

enum esp_status abstract_call(struct engine *engine, const struct handle *handle,
                              struct invocation *invocation, const struct esp_call_options *options,
                              struct esp_session_info **info, struct esp_error *error)
{
    struct abstract_run run;
    struct esp_error why = {0}; /* `error` may be what the calls within write to */
    struct esp_call_options own = options ? *options : (struct esp_call_options){0};
    enum esp_status status = abstract_open(&run, invocation->function->problem, error);
    if (status != ESP_OK)
        return status;
    if (own.deadline_s <= 0)
        own.deadline_s = atomic_load(&handle->deadline_s);
    run.server = handle->server;
    run.options = &own;
    run.until_ns = invocation->until_ns;
    status = call_and_leave(&run, engine, invocation, &why);
    if (status != ESP_OK)
        *error = why;
    if (info) {
        *info = run.info;
        run.info = NULL;
    }
    abstract_close(&run);
    return status;
}

enum esp_status abstract_submit_invocation(const struct handle *handle, const struct invocation *invocation,
                                           const struct esp_call_options *options, bool listed,
                                           struct esp_job **job, struct esp_error *error)
{
    struct abstract_run run;
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    struct esp_error why = {0};
    struct esp_call_options own = options ? *options : (struct esp_call_options){0};
    enum esp_status status = abstract_open(&run, invocation->function->problem, error);
    if (status != ESP_OK)
        return status;
    if (own.deadline_s <= 0)
        own.deadline_s = atomic_load(&handle->deadline_s);
    run.server = handle->server;
    run.options = &own;
    run.until_ns = invocation->until_ns;
    bool was_paused = sequence_pause();
    status = give_all(&run, invocation, shapes, &why);
    if (status == ESP_OK)
        status = abstract_submit(&run, listed, job, &why);
    sequence_resume(was_paused);
    if (status != ESP_OK)
        *error = why;
    abstract_close(&run);
    return status;
}

/* ---- in a thread of the library ---- */

struct plan {
    struct esp_call_options options;
    bool bound;
    char server[CAP_NAME + 1];
};

/* Where it was computed. */
static void note_step(struct session *whole, const struct esp_session_info *info)
{
    if (!info)
        return;
    pthread_mutex_lock(&whole->engine->marks_lock);
    snprintf(whole->server, sizeof whole->server, "%s", info->server);
    pthread_mutex_unlock(&whole->engine->marks_lock);
    whole->capable = info->capable;
}

static void work(struct session *session)
{
    const struct plan *plan = session->plan;
    struct abstract_run run;
    struct esp_error error = {0};
    atomic_store(&session->remote, SESSION_RUNNING);
    atomic_store(&session->phase, PHASE_REMOTE);
    enum esp_status status = ESP_CANCELLED;
    if (!session_is_cancelled(session))
        status = abstract_open(&run, session->invocation.function->problem, &error);
    if (status == ESP_OK) {
        run.server = plan->bound ? plan->server : NULL;
        run.options = &plan->options;
        run.until_ns = session->invocation.until_ns;
        run.whole = session;
        status = call_and_leave(&run, session->engine, &session->invocation, &error);
        note_step(session, run.info);
        abstract_close(&run);
    }
    if (status != ESP_OK && session_is_cancelled(session))
        status = error_set(&error, ESP_CANCELLED, "cancelled");
    session->error = error;
    session_end(session, status);
}

enum esp_status abstract_plan(struct session *session, const struct handle *handle,
                              const struct esp_call_options *options, struct esp_error *error)
{
    struct plan *plan = calloc(1, sizeof *plan);
    engine_retire(session->engine, session); /* its steps have numbers of their own */
    if (!plan)
        return error_no_memory(error, "a session");
    if (options)
        plan->options = *options;
    if (plan->options.deadline_s <= 0)
        plan->options.deadline_s = atomic_load(&handle->deadline_s);
    plan->bound = handle->server != NULL;
    snprintf(plan->server, sizeof plan->server, "%s", handle->server ? handle->server : "");
    session->plan = plan;
    session->work = work;
    return ESP_OK;
}
