/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluates one call of a problem: values of its scalars, shapes of its arrays, its cost and its failure. */
#include "core/problem/expr.h"
#include "core/problem/fill.h"
#include "core/problem/problem_solves.h"
#include "core/problem/section.h"
#include "core/problem/texts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_number(const struct argument *argument)
{
    return argument->n_dims == 0 && argument->type <= TYPE_DOUBLE;
}

enum esp_status problem_default(const struct problem *problem, uint32_t index,
                                const struct number *scope_values, void *raw, struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[index];
    const struct scope scope = {scope_values, problem->n_arguments};
    struct number value;
    enum esp_status status = expr_eval(argument->initial, &scope, &value, error);
    if (status == ESP_OK && (status = number_store(&value, argument->type, raw, error)) != ESP_OK) {
        char values[200];
        expr_describe_values(argument->initial, &scope, values, sizeof values);
        error_prefix(error, "%s%s%s", expr_text(argument->initial), *values ? " with " : "", values);
    }
    if (status != ESP_OK)
        error_prefix(error, "%s: the %s of %s", problem->name,
                     argument->mode == MODE_WORK ? "value" : "default", argument->name);
    return status;
}

static enum esp_status bind_default(const struct problem *problem, uint32_t index,
                                    struct number *scope_values, struct esp_error *error)
{
    unsigned char raw[16];
    enum esp_status status = problem_default(problem, index, scope_values, raw, error);
    /* Stored and loaded as its type, so that expressions see the value that the routine gets. */
    if (status == ESP_OK)
        scope_values[index] = number_load(problem->arguments[index].type, raw);
    return status;
}

static enum esp_status bind_inputs(const struct problem *problem, const void *const *values,
                                   struct number *scope_values, struct esp_error *error)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        scope_values[i] = (struct number){.kind = NUMBER_UNKNOWN};
        if (argument->n_dims || !argument_is_input(argument) || argument->type == TYPE_CALLBACK)
            continue;
        if (values[i]) {
            scope_values[i] = number_load(argument->type, values[i]);
            continue;
        }
        if (!argument->initial)
            return error_set(error, ESP_INVALID, "%s: the input %s (%s) is missing", problem->name,
                             argument->name, base_type_name(argument->type));
        enum esp_status status = bind_default(problem, i, scope_values, error);
        if (status != ESP_OK)
            return status;
    }
    return ESP_OK;
}

static enum esp_status check_precondition(const struct problem *problem,
                                          const struct precondition *precondition, const struct scope *scope,
                                          struct esp_error *error)
{
    bool holds;
    enum esp_status status = expr_eval_bool(precondition->condition, scope, &holds, error);
    if (status != ESP_OK) {
        error_prefix(error, "%s: precondition", problem->name);
        return status;
    }
    if (holds)
        return ESP_OK;
    char values[200], told[sizeof error->text];
    expr_describe_values(precondition->condition, scope, values, sizeof values);
    problem_failure_text(&precondition->message, scope, told, sizeof told);
    if (precondition->message.n_values > 0) /* its message already shows the values */
        return error_set(error, ESP_INVALID, "%s: %s", problem->name, told);
    if (precondition->message.text)
        return error_set(error, ESP_INVALID, "%s: %s (found %s)", problem->name, told, values);
    return error_set(error, ESP_INVALID, "%s: expected %s, found %s", problem->name,
                     expr_text(precondition->condition), values);
}

enum esp_status problem_check_known(const struct problem *problem, const struct number *scope_values,
                                    struct esp_error *error)
{
    const struct scope scope = {scope_values, problem->n_arguments};
    for (uint32_t i = 0; i < problem->n_preconditions; i++) {
        bool holds;
        if (expr_eval_bool(problem->preconditions[i].condition, &scope, &holds, NULL) == ESP_OK && !holds)
            return check_precondition(problem, &problem->preconditions[i], &scope, error);
    }
    return ESP_OK;
}

static bool multiply_dims(struct shape *shape)
{
    shape->count = 1;
    for (uint32_t d = 0; d < shape->n_dims; d++)
        if (shape->dims[d] == 0)
            shape->count = 0; /* whatever the other dimensions are, even if their product overflowed */
    for (uint32_t d = 0; d < shape->n_dims && shape->count; d++)
        if (__builtin_mul_overflow(shape->count, (uint64_t)shape->dims[d], &shape->count))
            return false;
    return true;
}

/* Counts the elements of a matrix that is not stored in full; *fits is false when they overflow. */
static enum esp_status count_stored(const struct problem *problem, uint32_t index, const struct scope *scope,
                                    struct shape *shape, bool *fits, struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[index];
    struct layout layout;
    if (argument->storage == STORAGE_CSC || argument->storage == STORAGE_CSR) {
        int64_t n, pointers, lines = shape->dims[argument->storage == STORAGE_CSC ? 1 : 0];
        enum esp_status status =
            expr_eval_size(problem->arguments[argument->indices].dims[0], scope, &n, error);
        if (status == ESP_OK)
            status = expr_eval_size(problem->arguments[argument->pointers].dims[0], scope, &pointers, error);
        if (status == ESP_OK && pointers - 1 != lines)
            status = error_set(error, ESP_INVALID,
                               "%s: %s has %" PRId64 " elements, but %" PRId64 " %s need one more",
                               problem->name, problem->arguments[argument->pointers].name, pointers, lines,
                               argument->storage == STORAGE_CSC ? "columns" : "rows");
        shape->count = (uint64_t)n;
        return status;
    }
    enum esp_status status = problem_layout(problem, index, scope->values, shape->dims, &layout, error);
    if (status == ESP_OK)
        *fits = layout_count(&layout, &shape->count);
    return status;
}

/* Computes elements and bytes of the array; *fits is false when they overflow. */
static enum esp_status measure(const struct problem *problem, uint32_t index, const struct scope *scope,
                               struct shape *shape, bool *fits, struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[index];
    uint64_t element = base_type_size(argument->type);
    enum esp_status status = ESP_OK;
    *fits = true;
    if (argument->storage == STORAGE_FULL)
        *fits = multiply_dims(shape);
    else
        status = count_stored(problem, index, scope, shape, fits, error);
    if (*fits && argument->is_section && status == ESP_OK) {
        struct section section;
        *fits = !__builtin_mul_overflow(shape->count, element, &shape->whole_bytes) &&
                shape->whole_bytes <= INT64_MAX;
        status = problem_section(problem, index, scope->values, shape->dims, &section, error);
        if (status == ESP_OK)
            shape->count = section_count(&section);
    }
    if (base_type_is_variable(argument->type))
        element = 0;
    *fits = *fits && status == ESP_OK && !__builtin_mul_overflow(shape->count, element, &shape->bytes) &&
            shape->bytes <= INT64_MAX;
    return status;
}

static enum esp_status bind_shape(const struct problem *problem, uint32_t index, const struct scope *scope,
                                  struct shape *shape, struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[index];
    *shape = (struct shape){.n_dims = argument->n_dims};
    for (uint32_t d = 0; d < argument->n_dims; d++) {
        enum esp_status status = expr_eval_size(argument->dims[d], scope, &shape->dims[d], error);
        if (status != ESP_OK) {
            error_prefix(error, "%s: dimension %u of %s", problem->name, d + 1, argument->name);
            return status;
        }
    }
    if (argument_is_texts(argument) && shape->dims[0] > TEXTS_MOST)
        return error_set(error, ESP_LIMIT, "%s: %s: an array has at most %d strings or files, found %" PRId64,
                         problem->name, argument->name, TEXTS_MOST, shape->dims[0]);
    bool fits;
    enum esp_status status = measure(problem, index, scope, shape, &fits, error);
    if (status != ESP_OK || fits)
        return status;
    char dims[PROBLEM_MAX_DIMS * 24] = "";
    struct text text;
    text_open(&text, dims, sizeof dims);
    for (uint32_t d = 0; d < argument->n_dims; d++)
        text_printf(&text, "%s%" PRId64, d ? " x " : "", shape->dims[d]);
    return error_set(error, ESP_INVALID, "%s: %s of %s %s has more bytes than 64 bits can count",
                     problem->name, argument->name, dims, base_type_name(argument->type));
}

/* Loads a complex number for conditions of `unread`: its real part, if its imaginary part is 0. */
static struct number load_complex(enum base_type type, const void *raw)
{
    const enum base_type part = type == TYPE_COMPLEX ? TYPE_FLOAT : TYPE_DOUBLE;
    const struct number imaginary = number_load(part, (const char *)raw + base_type_size(part));
    return imaginary.real == 0 ? number_load(part, raw) : (struct number){.kind = NUMBER_UNKNOWN};
}

static void find_complex(const struct problem *problem, const void *const *values,
                         const struct number *scope_values, struct number *all)
{
    memcpy(all, scope_values, problem->n_arguments * sizeof *all);
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        unsigned char raw[16];
        if (argument->n_dims > 0 || !argument_is_input(argument) ||
            (argument->type != TYPE_COMPLEX && argument->type != TYPE_DOUBLE_COMPLEX))
            continue;
        if (values[i])
            all[i] = load_complex(argument->type, values[i]);
        else if (argument->initial && problem_default(problem, i, scope_values, raw, NULL) == ESP_OK)
            all[i] = load_complex(argument->type, raw);
    }
}

/* A condition that cannot be evaluated counts as false: then the argument is read. */
static void bind_unread(const struct problem *problem, const void *const *values,
                        const struct number *scope_values, struct shape *shapes)
{
    struct number all[PROBLEM_MAX_ARGUMENTS];
    const struct scope scope = {all, problem->n_arguments};
    bool found = false;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct expr *unread = problem->arguments[i].unread;
        if (!unread)
            continue;
        if (!found)
            find_complex(problem, values, scope_values, all);
        found = true;
        shapes[i].unread =
            expr_eval_bool(unread, &scope, &shapes[i].unread, NULL) == ESP_OK && shapes[i].unread;
    }
}

/* Estimates the elements of both triangles. If the problem reads one triangle, a caller may store both or
 * only that one: a grid in three dimensions has 4 elements a column in one triangle, and a grid in two has
 * 5 in both. */
static int64_t count_both_triangles(const struct problem *problem, uint32_t index, const struct number *scope,
                                    int64_t n, int64_t stored)
{
    bool upper;
    const bool one_triangle =
        argument_reads_triangle(problem, index, scope, &upper) && (double)stored <= 4.5 * (double)n;
    return one_triangle ? 2 * stored - n : stored;
}

/* Estimates the fill of compressed matrices by their sizes. A caller that has the pattern replaces it by
 * fill_by_pattern(). */
static void bind_fills(const struct problem *problem, const struct shape *shapes, struct number *scope_values)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (!argument_is_input(argument) ||
            (argument->storage != STORAGE_CSC && argument->storage != STORAGE_CSR))
            continue;
        const int64_t n = shapes[i].dims[argument->storage == STORAGE_CSC ? 1 : 0];
        const int64_t elements = count_both_triangles(problem, i, scope_values, n, (int64_t)shapes[i].count);
        const struct fill fill = fill_by_sizes(n, elements);
        scope_values[i] = fill_number(&fill);
    }
}

enum esp_status problem_bind(const struct problem *problem, const void *const *values,
                             struct number *scope_values, struct shape *shapes, struct esp_error *error)
{
    const struct scope scope = {scope_values, problem->n_arguments};
    enum esp_status status = bind_inputs(problem, values, scope_values, error);
    for (uint32_t i = 0; status == ESP_OK && i < problem->n_preconditions; i++)
        status = check_precondition(problem, &problem->preconditions[i], &scope, error);
    /* Work values are computed after the preconditions, so that a precondition reports a bad input first. */
    for (uint32_t i = 0; status == ESP_OK && i < problem->n_arguments; i++)
        if (problem->arguments[i].mode == MODE_WORK && is_number(&problem->arguments[i]))
            status = bind_default(problem, i, scope_values, error);
    for (uint32_t i = 0; status == ESP_OK && i < problem->n_arguments; i++)
        status = bind_shape(problem, i, &scope, &shapes[i], error);
    if (status == ESP_OK) {
        bind_unread(problem, values, scope_values, shapes);
        bind_fills(problem, shapes, scope_values);
    }
    return status;
}

enum esp_status problem_work(const struct problem *problem, const struct number *scope_values, double *flops,
                             struct esp_error *error)
{
    const struct scope scope = {scope_values, problem->n_arguments};
    *flops = 0;
    if (!problem->work)
        return ESP_OK;
    enum esp_status status = expr_eval_real(problem->work, &scope, flops, error);
    if (status != ESP_OK)
        error_prefix(error, "%s: work", problem->name);
    else if (*flops < 0)
        *flops = 0; /* a polynomial may be negative for tiny sizes */
    return status;
}

enum esp_status problem_memory(const struct problem *problem, const struct number *scope_values,
                               uint64_t *bytes, struct esp_error *error)
{
    const struct scope scope = {scope_values, problem->n_arguments};
    *bytes = 0;
    if (!problem->memory)
        return ESP_OK;
    double real;
    enum esp_status status = expr_eval_real(problem->memory, &scope, &real, error);
    if (status == ESP_OK && real >= 0x1p63)
        status = error_set(error, ESP_INVALID, "%s: %g bytes are more than 64 bits can count",
                           expr_text(problem->memory), real);
    if (status != ESP_OK)
        error_prefix(error, "%s: memory", problem->name);
    else if (real > 0)
        *bytes = (uint64_t)ceil(real);
    return status;
}

static enum esp_status first_that_applies(const struct implementation *implementation, bool notes,
                                          const struct scope *scope, const struct error_clause **clause,
                                          struct esp_error *error)
{
    *clause = NULL;
    for (uint32_t i = 0; i < implementation->n_errors && !*clause; i++) {
        const struct error_clause *candidate = &implementation->errors[i];
        bool holds;
        if ((candidate->verdict == VERDICT_NOTED) != notes)
            continue;
        enum esp_status status = expr_eval_bool(candidate->condition, scope, &holds, error);
        if (status != ESP_OK)
            return status;
        if (holds)
            *clause = candidate;
    }
    return ESP_OK;
}

enum esp_status problem_call_failure(const struct implementation *implementation, const struct scope *scope,
                                     const struct error_clause **clause, struct esp_error *error)
{
    return first_that_applies(implementation, false, scope, clause, error);
}

enum esp_status problem_call_note(const struct implementation *implementation, const struct scope *scope,
                                  const struct error_clause **clause, struct esp_error *error)
{
    return first_that_applies(implementation, true, scope, clause, error);
}
