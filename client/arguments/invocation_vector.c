/* SPDX-License-Identifier: Apache-2.0
 *
 * The arguments of a vector, and what of them follows from others.
 */
#include "client/data/sequence.h"
#include "client/arguments/invocation_bind.h"
#include "client/arguments/invocation_data.h"
#include "client/arguments/invocation_hold.h"

#include <stdio.h>
#include <string.h>

static enum esp_status check_count(const struct problem *problem, size_t n, struct esp_error *error)
{
    uint32_t expected = invocation_count_passed(problem);
    if (n == expected)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "%s: expected %u arguments, found %zu", problem->name, expected, n);
}

static bool is_integer(enum base_type type)
{
    return type <= TYPE_INT64;
}

/* A completed scalar as the description's type. */
static enum esp_status store_completed(struct value *value, const struct argument *argument,
                                       const struct esp_argument *given, struct esp_error *error)
{
    struct number number = {.kind = NUMBER_REAL, .real = given->value.real};
    if (is_integer(argument->type))
        number = (struct number){.kind = NUMBER_INTEGER, .integer = given->value.integer};
    enum esp_status status = number_store(&number, argument->type, value->scalar.bytes, error);
    if (status != ESP_OK)
        error_prefix(error, "argument \"%s\"", argument->name);
    value->in = value->scalar.bytes;
    return status;
}

static enum esp_status check_type(const struct argument *argument, const struct esp_argument *given,
                                  struct esp_error *error)
{
    enum esp_type expected = (enum esp_type)(argument->type + 1);
    bool both_long = (expected == ESP_TYPE_LONG || expected == ESP_TYPE_INT64) &&
                     (given->type == ESP_TYPE_LONG || given->type == ESP_TYPE_INT64);
    if (given->type == ESP_TYPE_ANY || given->type == expected || both_long)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "argument \"%s\": expected %s, found %s", argument->name,
                     esp_type_name(expected), esp_type_name(given->type));
}

/* "3 x 4" */
static void extents_text(const int64_t *dims, unsigned n, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (unsigned i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, i ? " x %lld" : "%lld", (long long)dims[i]);
}

static enum esp_status check_extents(const struct argument *argument, const struct shape *shape,
                                     const struct esp_argument *given, struct esp_error *error)
{
    if (given->n_dims == 0 || !given->data)
        return ESP_OK;
    if (given->n_dims > ESP_MAX_DIMS)
        return error_set(error, ESP_INVALID, "argument \"%s\": expected at most %d dimensions, found %u",
                         argument->name, ESP_MAX_DIMS, given->n_dims);
    /* A column may be given as a matrix of one column, and the other way round. */
    bool equal = true;
    for (unsigned i = 0; i < given->n_dims || i < shape->n_dims; i++) {
        int64_t expected = i < shape->n_dims ? shape->dims[i] : 1;
        equal &= expected == (i < given->n_dims ? given->dims[i] : 1);
    }
    if (equal)
        return ESP_OK;
    char wanted[160], found[160];
    extents_text(shape->dims, shape->n_dims, wanted, sizeof wanted);
    extents_text(given->dims, given->n_dims, found, sizeof found);
    return error_set(error, ESP_INVALID, "argument \"%s\": expected %s, found %s", argument->name,
                     shape->n_dims ? wanted : "a scalar", found);
}

/* What sizes were given that an extent disagrees with says more than the extents: "B has 3 rows, but n = 2
 * was given". */
static enum esp_status explain_extents(const struct problem *problem, const struct number *scope,
                                       const struct esp_argument *arguments, struct esp_error *error)
{
    const int64_t *known_dims[PROBLEM_MAX_ARGUMENTS] = {0};
    uint32_t n_known[PROBLEM_MAX_ARGUMENTS] = {0};
    struct number values[PROBLEM_MAX_ARGUMENTS];
    struct esp_error why = {0};
    memcpy(values, scope, problem->n_arguments * sizeof *values);
    for (uint32_t i = 0, k = 0; i < problem->n_arguments; i++) {
        if (!argument_is_passed(&problem->arguments[i]))
            continue;
        const struct esp_argument *given = &arguments[k++];
        if (problem->arguments[i].n_dims == 0 || !given->data || given->n_dims == 0 ||
            given->n_dims > ESP_MAX_DIMS)
            continue;
        known_dims[i] = given->dims;
        n_known[i] = given->n_dims;
    }
    if (problem_infer(problem, known_dims, n_known, values, &why) != ESP_OK)
        *error = why;
    return error->status;
}

enum esp_status invocation_from_vector(struct invocation *invocation, struct function *function,
                                       const struct room *room, const struct esp_argument *arguments,
                                       size_t n_arguments, struct esp_error *error)
{
    struct binding binding;
    struct esp_argument completed[ESP_MAX_ARGUMENTS];
    enum esp_status status = check_count(function->problem, n_arguments, error);
    if (status != ESP_OK)
        return status;
    memcpy(completed, arguments, n_arguments * sizeof *completed);
    status = invocation_complete(function->problem, completed, n_arguments, error);
    if (status == ESP_OK)
        status = invocation_begin(invocation, function, error);
    if (status != ESP_OK)
        return status;
    memset(binding.inputs, 0, sizeof binding.inputs);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        const struct argument *argument = invocation_argument(invocation, value);
        if (completed[i].completed && !completed[i].data)
            status = store_completed(value, argument, &completed[i], error);
        else
            status = invocation_place(value, argument, completed[i].data, error);
        if (status == ESP_OK)
            status = invocation_take_data(value, argument, &completed[i], error);
        if (status == ESP_OK)
            status = invocation_take_stays(value, function->problem, &completed[i], error);
        if (argument->n_dims == 0 && argument_is_input(argument))
            binding.inputs[value->index] = value->in;
        if (invocation_is_plain_scalar(argument) && argument->mode == MODE_IN && value->in &&
            value->in != value->scalar.bytes) {
            /* By value: the caller may reuse its variable while the session runs. */
            memcpy(value->scalar.bytes, value->in, base_type_size(argument->type));
            binding.inputs[value->index] = value->in = value->scalar.bytes;
        }
    }
    if (status == ESP_OK) {
        hold_enter(invocation);
        status = invocation_measure(invocation, &binding, error);
    }
    const bool measured = status == ESP_OK;
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++)
        status = check_extents(invocation_argument(invocation, &invocation->values[i]),
                               &binding.shapes[invocation->values[i].index], &arguments[i], error);
    if (status == ESP_INVALID && measured)
        status = explain_extents(function->problem, binding.scope, arguments, error);
    if (status == ESP_OK)
        status = invocation_bind(invocation, &binding, room, error);
    if (status != ESP_OK)
        invocation_release(invocation);
    return status;
}

void invocation_known_inputs(const struct problem *problem, const void *const *scalars, const void **inputs)
{
    static const unsigned char something[16];
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        bool is_text =
            argument->n_dims == 0 && !invocation_is_plain_scalar(argument) && argument_is_input(argument);
        inputs[i] = is_text ? something : scalars[i];
    }
}

enum esp_status invocation_for_results(struct invocation *invocation, struct function *function,
                                       const void *const *scalars, const struct esp_argument *arguments,
                                       size_t n_arguments, struct esp_error *error)
{
    const struct problem *problem = function->problem;
    struct binding binding;
    enum esp_status status = check_count(problem, n_arguments, error);
    if (status != ESP_OK || (status = invocation_begin(invocation, function, error)) != ESP_OK)
        return status;
    invocation_known_inputs(problem, scalars, binding.inputs);
    status = problem_bind(problem, binding.inputs, binding.scope, binding.shapes, error);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        const struct argument *argument = invocation_argument(invocation, value);
        if (value->form == VALUE_MEMORY)
            value->bytes = binding.shapes[value->index].bytes;
        if (value->form == VALUE_TEXTS)
            value->n_texts = binding.shapes[value->index].count;
        if (argument_is_output(argument))
            value->stays = ESP_SESSION_OUTPUTS; /* what is on a server then is the job's */
        if (argument_is_output(argument) && arguments[i].kept) {
            value->is_kept = true;
            value->kept = arguments[i].kept;
        }
        if (!argument_is_output(argument) || !arguments[i].data)
            continue;
        bool is_data;
        status = hold_take_data(value, argument, arguments[i].data, &is_data, error);
        if (is_data || status != ESP_OK)
            continue;
        value->out = arguments[i].data;
        status = check_type(argument, &arguments[i], error);
        if (status == ESP_OK && value->form == VALUE_MEMORY && argument->n_dims > 0)
            status = sequence_sync(value->out, value->bytes, error);
        if (status == ESP_OK)
            status = check_extents(argument, &binding.shapes[value->index], &arguments[i], error);
    }
    if (status == ESP_OK)
        hold_enter(invocation);
    else
        invocation_release(invocation);
    return status;
}

/* Writes an inferred or default scalar where problem_bind() reads it. */
static void number_scalar(struct esp_argument *given, enum base_type type, const struct number *number)
{
    given->completed = 1;
    memset(&given->value, 0, sizeof given->value);
    if (is_integer(type))
        given->value.integer = number->kind == NUMBER_INTEGER ? number->integer : (int64_t)number->real;
    else
        given->value.real = number->kind == NUMBER_REAL ? number->real : (double)number->integer;
}

struct completion {
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    const int64_t *known_dims[PROBLEM_MAX_ARGUMENTS];
    uint32_t n_known[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
};

static bool has_open_extents(const struct esp_argument *given)
{
    bool open = given->n_dims == 0;
    for (unsigned d = 0; d < given->n_dims && d < ESP_MAX_DIMS; d++)
        open |= given->dims[d] == -1;
    return open;
}

/* Evaluates the extents of the arrays that were given none. */
static enum esp_status complete_extents(const struct problem *problem, struct completion *work,
                                        struct esp_argument *arguments, struct esp_error *error)
{
    struct scope scope = {work->scope, problem->n_arguments};
    for (uint32_t i = 0, k = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (!argument_is_passed(argument))
            continue;
        struct esp_argument *given = &arguments[k++];
        if (argument->n_dims == 0 || !has_open_extents(given))
            continue;
        for (uint32_t d = 0; d < argument->n_dims; d++) {
            if (d < given->n_dims && given->dims[d] != -1)
                continue;
            enum esp_status status = expr_eval_size(argument->dims[d], &scope, &given->dims[d], error);
            if (status != ESP_OK) {
                error_prefix(error, "argument \"%s\"", argument->name);
                return status;
            }
        }
        given->n_dims = argument->n_dims;
    }
    return ESP_OK;
}

enum esp_status invocation_complete(const struct problem *problem, struct esp_argument *arguments,
                                    size_t n_arguments, struct esp_error *error)
{
    struct completion work;
    enum esp_status status = check_count(problem, n_arguments, error);
    memset(&work, 0, sizeof work);
    bool missing = false, extents = false;
    for (uint32_t i = 0, k = 0; status == ESP_OK && i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (!argument_is_passed(argument))
            continue;
        struct esp_argument *given = &arguments[k++];
        status = check_type(argument, given, error);
        if (invocation_is_plain_scalar(argument) && argument_is_input(argument)) {
            if (given->data)
                work.scope[i] = number_load(argument->type, given->data);
            missing |= !given->data;
        } else if (argument->n_dims > 0) {
            if (given->n_dims > 0 && given->n_dims <= ESP_MAX_DIMS) {
                work.known_dims[i] = given->dims;
                work.n_known[i] = given->n_dims;
            }
            extents |= has_open_extents(given);
        }
    }
    if (status != ESP_OK)
        return status;
    if (missing) {
        status = problem_infer(problem, work.known_dims, work.n_known, work.scope, error);
        for (uint32_t i = 0, k = 0; status == ESP_OK && i < problem->n_arguments; i++) {
            const struct argument *argument = &problem->arguments[i];
            if (!argument_is_passed(argument))
                continue;
            struct esp_argument *given = &arguments[k++];
            if (invocation_is_plain_scalar(argument) && argument_is_input(argument) && !given->data &&
                work.scope[i].kind != NUMBER_UNKNOWN)
                number_scalar(given, argument->type, &work.scope[i]);
        }
    }
    if (status != ESP_OK || !extents)
        return status;
    /* What the caller got wrong, before what follows from it. */
    status = problem_check_known(problem, work.scope, error);
    return status == ESP_OK ? complete_extents(problem, &work, arguments, error) : status;
}
