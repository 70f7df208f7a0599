/* SPDX-License-Identifier: Apache-2.0
 *
 * Abstract problems called from C: between the caller's memory and matrices.
 */
#include "client/abstract.h"
#include "client/values_storage.h"

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
    for (size_t k = 0; k < (size_t)(rows * cols); k++) {
        double re, im;
        value_load(type, memory, k, &re, &im);
        matrix.values[is_complex ? 2 * k : k] = re;
        if (is_complex)
            matrix.values[2 * k + 1] = im;
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
    for (size_t k = 0; k < (size_t)(rows * cols) && status == ESP_OK; k++) {
        double re = matrix.values[matrix.is_complex ? 2 * k : k];
        double im = matrix.is_complex ? matrix.values[2 * k + 1] : 0;
        if (!value_store((enum esp_type)(argument->type + 1), memory, k, re, im))
            status = error_set(error, ESP_INVALID, "%s: element %zu cannot be a %s", argument->name, k + 1,
                               base_type_name(argument->type));
    }
    matrix_clear(&matrix);
    return status;
}

static enum esp_status call(struct abstract_run *run, const struct invocation *invocation,
                            struct esp_error *error)
{
    const struct problem *problem = run->problem;
    const void *inputs[PROBLEM_MAX_ARGUMENTS] = {0};
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    for (uint32_t i = 0; i < invocation->n_values; i++)
        if (problem->arguments[invocation->values[i].index].n_dims == 0)
            inputs[invocation->values[i].index] = invocation->values[i].in;
    enum esp_status status = problem_bind(problem, inputs, scope, shapes, error);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        const struct value *value = &invocation->values[i];
        if (value->in)
            status = give(run, &problem->arguments[value->index], &shapes[value->index], value->in, error);
    }
    if (status == ESP_OK)
        status = abstract_execute(run, error);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        const struct value *value = &invocation->values[i];
        if (value->out)
            status = take(run, &problem->arguments[value->index], &shapes[value->index], value->out, error);
    }
    return status;
}

enum esp_status abstract_call(const struct handle *handle, const struct invocation *invocation,
                              const struct esp_call_options *options, struct esp_session_info **info,
                              struct esp_error *error)
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
    status = call(&run, invocation, &why);
    if (status != ESP_OK)
        *error = why;
    if (info) {
        *info = run.info;
        run.info = NULL;
    }
    abstract_close(&run);
    return status;
}
