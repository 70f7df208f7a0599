/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of abstract problems by programs: conversion between the program's memory and the matrices of a
 * run.
 */
#include "client/abstract/abstract_steps.h"
#include "client/arguments/invocation_data.h"
#include "core/values/values_storage.h"
#include "client/data/binding.h"
#include "client/data/data.h"
#include "client/data/guard.h"
#include "client/data/sequence.h"
#include "client/session/library.h"
#include "client/session/marks.h"
#include "core/data/datum_section.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t rows_of(const struct shape *shape)
{
    return shape->n_dims > 0 ? shape->dims[0] : 1;
}

static int64_t cols_of(const struct shape *shape)
{
    return shape->n_dims > 1 ? shape->dims[1] : 1;
}

static enum esp_status give_caller_matrix(struct abstract_run *run, const struct argument *argument,
                                          const struct shape *shape, const void *memory,
                                          struct esp_error *error)
{
    struct matrix matrix;
    enum esp_status status =
        abstract_matrix_of(argument->type, rows_of(shape), cols_of(shape), memory, &matrix, error);
    return status == ESP_OK ? abstract_give(run, argument->name, &matrix, error) : status;
}

/* If a value is here and on servers, rules examine the one here, and steps take the one there. */
static enum esp_status give(struct abstract_run *run, const struct value *value, const struct shape *shape,
                            struct esp_error *error)
{
    const struct argument *argument = &run->problem->arguments[value->index];
    char reference[DATUM_REFERENCE_TEXT];
    enum esp_status status = ESP_OK;
    snprintf(reference, sizeof reference, "%.*s", value->datum ? (int)strcspn(value->datum, " ") : 0,
             value->datum ? value->datum : "");
    if (value->in)
        status = give_caller_matrix(run, argument, shape, value->in, error);
    if (status == ESP_OK && value->datum)
        status = value->in ? abstract_also_datum(run, reference, argument->type, rows_of(shape),
                                                 cols_of(shape), error)
                           : abstract_give_datum(run, argument->name, reference, argument->type,
                                                 rows_of(shape), cols_of(shape), error);
    if (status == ESP_OK)
        abstract_is_from(run, value);
    return status;
}

/* A strict datum is deleted with the first session that uses it, which may come before the step that takes
 * it; so it is fetched. */
static enum esp_status bring_strict(struct engine *engine, struct value *value, struct esp_error *error)
{
    if (!value->datum || !value->is_strict)
        return ESP_OK;
    value->datum[strcspn(value->datum, " ")] = 0;
    value->loaded = malloc(value->bytes ? value->bytes : 1);
    if (!value->loaded)
        return error_no_memory(error, "an argument");
    enum esp_status status =
        data_get(engine, value->datum, value->loaded, value->bytes, (struct data_told){0}, error);
    value->in = value->loaded;
    free(value->datum);
    value->datum = NULL;
    return status;
}

static enum esp_status take(const struct abstract_run *run, const struct argument *argument,
                            const struct shape *shape, void *memory, struct esp_error *error)
{
    struct matrix matrix;
    const int64_t rows = rows_of(shape), cols = cols_of(shape);
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

/* Gives the caller's inputs. */
static enum esp_status give_all(struct abstract_run *run, struct engine *engine,
                                struct invocation *invocation, struct shape *shapes, struct esp_error *error)
{
    const struct problem *problem = run->problem;
    const void *inputs[PROBLEM_MAX_ARGUMENTS] = {0};
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    for (uint32_t i = 0; i < invocation->n_values; i++)
        if (problem->arguments[invocation->values[i].index].n_dims == 0)
            inputs[invocation->values[i].index] = invocation->values[i].in;
    enum esp_status status = problem_bind(problem, inputs, scope, shapes, error);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        status = bring_strict(engine, value, error);
        if (status == ESP_OK && (value->in || value->datum))
            status = give(run, value, &shapes[value->index], error);
    }
    return status;
}

/* Decides for each result whether it stays, comes, or is not wanted. */
static enum esp_status arrange(struct abstract_run *run, const struct invocation *invocation,
                               const struct shape *shapes, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        const struct value *value = &invocation->values[i];
        const struct argument *argument = &run->problem->arguments[value->index];
        const struct shape *shape = &shapes[value->index];
        if (!argument_is_output(argument))
            continue;
        if (value->is_kept && abstract_gives_whole(argument))
            status = abstract_keep_or_bring(run, value->index, (enum datum_mode)value->kept_mode,
                                            value->kept_flags, rows_of(shape), cols_of(shape), error);
        else if (!value->is_kept && !value->out)
            status = abstract_leave(run, value->index, error);
    }
    return status;
}

/* The result has stayed, or comes, or is to be put on a server; then hold_put_results() does so. */
static enum esp_status take_result(struct abstract_run *run, struct value *value, const struct shape *shape,
                                   struct esp_error *error)
{
    const struct argument *argument = &run->problem->arguments[value->index];
    struct abstract_fate *fate = run->fates ? &run->fates[value->index] : NULL;
    const bool of_sequence = value->result && !value->grid && !value->kept && value->out;
    if (fate && fate->identity) {
        value->stayed = fate->identity;
        fate->identity = NULL;
        return ESP_OK;
    }
    if (value->is_kept && of_sequence) {
        value->is_kept = false; /* the caller has not asked for it to be on servers */
        guard_forget(value->out, value->bytes);
    }
    if (!value->is_kept)
        return value->out ? take(run, argument, shape, value->out, error) : ESP_OK;
    value->received = malloc(value->bytes ? value->bytes : 1);
    return value->received ? take(run, argument, shape, value->received, error)
                           : error_no_memory(error, argument->name);
}

static enum esp_status try_call(struct abstract_run *run, struct engine *engine,
                                struct invocation *invocation, struct esp_error *error)
{
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    enum esp_status status = give_all(run, engine, invocation, shapes, error);
    if (status == ESP_OK)
        status = arrange(run, invocation, shapes, error);
    if (status == ESP_OK)
        status = abstract_execute(run, error);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        if (argument_is_output(&run->problem->arguments[value->index]))
            status = take_result(run, value, &shapes[value->index], error);
    }
    return status;
}

/* If only a sequence wants to leave a value on servers, and these lack the memory or have dropped it, the
 * call goes without that. */
static enum esp_status call(struct abstract_run *run, struct engine *engine, struct invocation *invocation,
                            struct esp_error *error)
{
    enum esp_status status = try_call(run, engine, invocation, error);
    const bool may_help = status != ESP_OK && (run->lacked_memory || invocation_lost_datum(status));
    if (!may_help || !hold_bring_home(invocation))
        return status;
    abstract_begin_again(run);
    return try_call(run, engine, invocation, error);
}

/* The steps have arrays of their own, which are not part of the caller's sequence. */
static enum esp_status call_and_leave(struct abstract_run *run, struct engine *engine,
                                      struct invocation *invocation, struct esp_error *error)
{
    bool was_paused = sequence_pause();
    enum esp_status status = call(run, engine, invocation, error);
    if (status == ESP_OK)
        status = hold_put_results(invocation, engine, run->at, error);
    sequence_resume(was_paused);
    return status;
}

/* `handle` NULL: the agents choose, and only the options set a deadline. `own` lives as long as the run. */
static enum esp_status open_call(struct abstract_run *run, const struct handle *handle,
                                 const struct invocation *invocation, const struct esp_call_options *options,
                                 struct esp_call_options *own, struct esp_error *error)
{
    *own = options ? *options : (struct esp_call_options){0};
    if (handle && own->deadline_s <= 0)
        own->deadline_s = atomic_load(&handle->deadline_s);
    const enum esp_status status = abstract_open(run, invocation->function->problem, error);
    run->server = handle ? handle->server : NULL;
    run->options = own;
    run->until_ns = invocation->until_ns;
    return status;
}

enum esp_status abstract_call(struct engine *engine, const struct handle *handle,
                              struct invocation *invocation, const struct esp_call_options *options,
                              struct esp_session_info **info, struct esp_error *error)
{
    struct abstract_run run;
    struct esp_error why = {0}; /* inner calls may write to `error` */
    struct esp_call_options own;
    enum esp_status status = open_call(&run, handle, invocation, options, &own, error);
    if (status != ESP_OK)
        return status;
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

enum esp_status abstract_call_again(struct engine *engine, struct invocation *invocation,
                                    struct esp_error *error)
{
    return abstract_call(engine, NULL, invocation, NULL, NULL, error);
}

enum esp_status abstract_submit_invocation(struct engine *engine, const struct handle *handle,
                                           struct invocation *invocation,
                                           const struct esp_call_options *options, bool listed,
                                           struct esp_job **job, struct esp_error *error)
{
    struct abstract_run run;
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    struct esp_error why = {0};
    struct esp_call_options own;
    enum esp_status status = open_call(&run, handle, invocation, options, &own, error);
    if (status != ESP_OK)
        return status;
    bool was_paused = sequence_pause();
    status = give_all(&run, engine, invocation, shapes, &why);
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

/* Notes where the step was computed. */
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
    marks_retire(session->engine, session); /* its steps have numbers of their own */
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
