/* SPDX-License-Identifier: Apache-2.0
 *
 * A function for a callback, as expressions of its parameters that suit most routines: x^2 - 2 has a root
 * between the numbers that scalars get first, and an integral; sums of squares have a minimum; y' = 1 - y
 * stays where it is, has its root at 1, and -1 on the diagonal of its Jacobian.
 */
#include "core/problem/problem_trial.h"

#include <inttypes.h>
#include <string.h>

#define MOST_RESULTS 64
#define MOST_SQUARES 4

static bool is_real(const struct argument *argument)
{
    return argument->type == TYPE_FLOAT || argument->type == TYPE_DOUBLE;
}

/* A size goes by the name that it has in the problem; else it is taken for the problem's first. */
static struct number parameter_value(const struct problem *problem, const struct number *scope,
                                     const char *name)
{
    int index = problem_argument_index(problem, name);
    for (uint32_t i = 0; index < 0 && i < problem->n_arguments; i++)
        if (argument_is_input(&problem->arguments[i]) && scope[i].kind == NUMBER_INTEGER &&
            problem->arguments[i].type != TYPE_CHAR)
            index = (int)i;
    return index >= 0 && scope[index].kind == NUMBER_INTEGER
               ? scope[index]
               : (struct number){.kind = NUMBER_INTEGER, .integer = 2};
}

/* Extents of the parameters: false when they cannot be told. */
static bool measure(const struct problem *problem, const struct number *scope, const struct problem *callback,
                    struct shape *shapes)
{
    struct number values[PROBLEM_MAX_ARGUMENTS] = {{0}};
    const struct scope own = {values, callback->n_arguments};
    for (uint32_t i = 0; i < callback->n_arguments; i++) {
        const struct argument *parameter = &callback->arguments[i];
        if (parameter->type > TYPE_DOUBLE && parameter->type != TYPE_STRING)
            return false;
        if (parameter->n_dims == 0 && argument_is_input(parameter) && parameter->type != TYPE_STRING)
            values[i] = parameter_value(problem, scope, parameter->name);
    }
    for (uint32_t i = 0; i < callback->n_arguments; i++) {
        shapes[i] = (struct shape){.n_dims = callback->arguments[i].n_dims, .count = 1};
        for (uint32_t d = 0; d < shapes[i].n_dims; d++) {
            if (expr_eval_size(callback->arguments[i].dims[d], &own, &shapes[i].dims[d], NULL) != ESP_OK)
                return false;
            shapes[i].count *= (uint64_t)shapes[i].dims[d];
        }
    }
    return true;
}

/* The parameter that results are made of: a vector, else the only or last scalar; NULL: there is no such. */
static const struct argument *find_variable(const struct problem *callback, const struct shape *shapes,
                                            unsigned n_dims, uint64_t least, unsigned *n)
{
    const struct argument *found = NULL;
    *n = 0;
    for (uint32_t i = 0; i < callback_n_own(callback); i++)
        if (argument_is_input(&callback->arguments[i]) && is_real(&callback->arguments[i]) &&
            callback->arguments[i].n_dims == n_dims && shapes[i].count >= least) {
            found = &callback->arguments[i];
            ++*n;
        }
    return found;
}

static void write_number(struct text *text, const struct problem *callback, const struct shape *shapes)
{
    unsigned n_vectors, n_scalars;
    const struct argument *vector = find_variable(callback, shapes, 1, 1, &n_vectors);
    const struct argument *scalar = find_variable(callback, shapes, 0, 1, &n_scalars);
    if (vector)
        for (uint64_t k = 0; k < shapes[vector - callback->arguments].count && k < MOST_SQUARES; k++)
            text_printf(text, "%s(%s[%" PRIu64 "] - 1)^2", k ? " + " : "", vector->name, k + 1);
    else if (scalar)
        text_printf(text, n_scalars == 1 ? "%s^2 - 2" : "1 - %s", scalar->name);
    else
        text_put(text, "1");
}

/* Element k of a result. */
static void write_element(struct text *text, const struct problem *callback, const struct shape *shapes,
                          uint32_t result, uint64_t k)
{
    const struct shape *shape = &shapes[result];
    unsigned n;
    if (callback->arguments[result].type == TYPE_STRING) {
        text_put(text, "\"text\"");
        return;
    }
    if (!is_real(&callback->arguments[result])) {
        text_put(text, "1"); /* what real parameters come to need not be an integer */
        return;
    }
    const struct argument *vector =
        shape->n_dims == 1 ? find_variable(callback, shapes, 1, shape->count, &n) : NULL;
    if (vector)
        text_printf(text, "1 - %s[%" PRIu64 "]", vector->name, k + 1);
    else if (shape->n_dims == 2)
        text_put(text, k % (uint64_t)shape->dims[0] == k / (uint64_t)shape->dims[0] ? "-1" : "0");
    else
        write_number(text, callback, shapes);
}

bool trial_write_function(struct text *text, const struct problem *problem, const struct number *scope,
                          const struct argument *argument)
{
    const struct problem *callback = argument->callback;
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    uint64_t n = 0, written = 0;
    if (!measure(problem, scope, callback, shapes))
        return false;
    for (uint32_t i = 0; i < callback->n_arguments; i++)
        if (argument_is_output(&callback->arguments[i]) && (n += shapes[i].count) > MOST_RESULTS)
            return false;
    text_put(text, n == 1 ? "" : "[");
    for (uint32_t i = 0; i < callback->n_arguments; i++)
        for (uint64_t k = 0; argument_is_output(&callback->arguments[i]) && k < shapes[i].count; k++) {
            text_put(text, written++ ? "; " : "");
            write_element(text, callback, shapes, i, k);
        }
    text_put(text, n == 1 ? "" : "]");
    return true;
}
