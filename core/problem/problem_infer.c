/* SPDX-License-Identifier: Apache-2.0
 *
 * Scalars that follow from the arrays given: nobody should have to type n when A has n rows.
 */
#include "core/problem/expr_tree.h"
#include "core/problem/problem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Where the value of a scalar came from. */
enum origin { FROM_CALLER = -1, FROM_DEFAULT = -2 }; /* else the index of an array */

struct inference {
    const struct problem *problem;
    const int64_t *const *known_dims;
    const uint32_t *n_known;
    struct number *values;
    int origin[PROBLEM_MAX_ARGUMENTS];
    struct esp_error *error;
};

static struct scope scope_of(const struct inference *inference)
{
    return (struct scope){inference->values, inference->problem->n_arguments};
}

/* A dimension as the file had it; those it did not have are 1. */
static int64_t given_extent(const struct inference *inference, uint32_t index, uint32_t d)
{
    return d < inference->n_known[index] ? inference->known_dims[index][d] : 1;
}

static bool is_given(const struct inference *inference, uint32_t index, uint32_t d)
{
    return given_extent(inference, index, d) != -1;
}

/* "4 rows", "1 column", "7 elements", "5 as dimension 3". */
static void describe_extent(const struct argument *argument, uint32_t d, int64_t extent, char *text,
                            size_t size)
{
    const char *word = argument->n_dims == 1 ? "element" : d == 0 ? "row" : "column";
    if (argument->n_dims > 2)
        snprintf(text, size, "%" PRId64 " as dimension %u", extent, d + 1);
    else
        snprintf(text, size, "%" PRId64 " %s%s", extent, word, extent == 1 ? "" : "s");
}

/* " from A", " was given", " by default" behind "n = 3". */
static void write_origins(const struct inference *inference, const struct expr *expr, struct text *text)
{
    for (unsigned i = 0; i < expr->n_operands; i++)
        write_origins(inference, expr->operands[i], text);
    if (expr->kind != EXPR_NAME || inference->values[expr->index].kind == NUMBER_UNKNOWN)
        return;
    const struct scope scope = scope_of(inference);
    char value[100];
    expr_describe_values(expr, &scope, value, sizeof value);
    if (strstr(text->data, value))
        return;
    int origin = inference->origin[expr->index];
    text_printf(text, "%s%s", text->length ? ", " : "", value);
    if (origin == FROM_CALLER)
        text_put(text, " was given");
    else if (origin == FROM_DEFAULT)
        text_put(text, " by default");
    else
        text_printf(text, " from %s", inference->problem->arguments[origin].name);
}

static bool check_rank(const struct inference *inference, uint32_t index)
{
    const struct argument *argument = &inference->problem->arguments[index];
    if (argument->n_dims == 0) {
        error_set(inference->error, ESP_INVALID, "%s: %s is a scalar, found an array",
                  inference->problem->name, argument->name);
        return false;
    }
    for (uint32_t d = argument->n_dims; d < inference->n_known[index]; d++)
        if (inference->known_dims[index][d] != 1) {
            error_set(inference->error, ESP_INVALID, "%s: %s has %u dimension%s, found %u",
                      inference->problem->name, argument->name, argument->n_dims,
                      argument->n_dims == 1 ? "" : "s", inference->n_known[index]);
            return false;
        }
    return true;
}

static bool is_solvable(const struct argument *argument)
{
    bool integer = argument->type >= TYPE_SHORT && argument->type <= TYPE_INT64;
    return argument_is_input(argument) && argument->n_dims == 0 && integer;
}

static bool solve_for(struct inference *inference, uint32_t index, uint32_t d, uint32_t name,
                      int64_t solution)
{
    const struct argument *argument = &inference->problem->arguments[name];
    struct number value = {.kind = NUMBER_INTEGER, .integer = solution};
    unsigned char raw[16];
    if (number_store(&value, argument->type, raw, inference->error) != ESP_OK) {
        char extent[64];
        describe_extent(&inference->problem->arguments[index], d, given_extent(inference, index, d), extent,
                        sizeof extent);
        error_prefix(inference->error, "%s: %s has %s, but as %s", inference->problem->name,
                     inference->problem->arguments[index].name, extent, argument->name);
        return false;
    }
    inference->values[name] = value;
    inference->origin[name] = (int)index;
    return true;
}

/* One dimension of one array. *solved tells whether a scalar became known. */
static bool solve_dim(struct inference *inference, uint32_t index, uint32_t d, bool *solved)
{
    const struct argument *argument = &inference->problem->arguments[index];
    const struct scope scope = scope_of(inference);
    uint32_t name;
    int64_t slope, offset, rest, extent = given_extent(inference, index, d);
    if (!expr_is_linear(argument->dims[d], &scope, &name, &slope, &offset) ||
        !is_solvable(&inference->problem->arguments[name]) || __builtin_sub_overflow(extent, offset, &rest))
        return true;
    bool minus_one = slope == -1; /* INT64_MIN / -1 traps */
    if (minus_one ? rest == INT64_MIN : rest % slope != 0) {
        char has[64];
        describe_extent(argument, d, extent, has, sizeof has);
        error_set(inference->error, ESP_INVALID, "%s: %s has %s, but no %s makes %s = %" PRId64,
                  inference->problem->name, argument->name, has, inference->problem->arguments[name].name,
                  expr_text(argument->dims[d]), extent);
        return false;
    }
    *solved = true;
    return solve_for(inference, index, d, name, minus_one ? -rest : rest / slope);
}

static bool solve_all(struct inference *inference)
{
    bool solved = true;
    while (solved) { /* each round makes at least one scalar known */
        solved = false;
        for (uint32_t i = 0; i < inference->problem->n_arguments; i++)
            for (uint32_t d = 0; inference->known_dims[i] && d < inference->problem->arguments[i].n_dims; d++)
                if (is_given(inference, i, d) && !solve_dim(inference, i, d, &solved))
                    return false;
    }
    return true;
}

static bool is_expected(const struct argument *argument)
{
    return argument_is_input(argument) && argument->n_dims == 0 && argument->type <= TYPE_DOUBLE;
}

/* Gives the first default that can be computed; what follows from it is solved before the next. */
static bool give_default(struct inference *inference, bool *given)
{
    *given = false;
    for (uint32_t i = 0; i < inference->problem->n_arguments && !*given; i++) {
        const struct argument *argument = &inference->problem->arguments[i];
        unsigned char raw[16];
        if (!is_expected(argument) || !argument->initial || inference->values[i].kind != NUMBER_UNKNOWN)
            continue;
        if (problem_default(inference->problem, i, inference->values, raw, NULL) != ESP_OK)
            continue;
        inference->values[i] = number_load(argument->type, raw);
        inference->origin[i] = FROM_DEFAULT;
        *given = true;
    }
    return true;
}

static bool check_known(const struct inference *inference)
{
    for (uint32_t i = 0; i < inference->problem->n_arguments; i++) {
        const struct argument *argument = &inference->problem->arguments[i];
        unsigned char raw[16];
        if (!is_expected(argument) || inference->values[i].kind != NUMBER_UNKNOWN)
            continue;
        if (argument->initial && /* what it is made of has been found: those are before it */
            problem_default(inference->problem, i, inference->values, raw, inference->error) != ESP_OK)
            return false;
        error_set(inference->error, ESP_INVALID, "%s: the input %s (%s) is missing%s",
                  inference->problem->name, argument->name, base_type_name(argument->type),
                  is_solvable(argument) ? " and does not follow from the arrays given" : "");
        return false;
    }
    return true;
}

/* A matrix whose extents go by one name, and that has two. */
static bool is_oblong(const struct inference *inference, uint32_t index)
{
    const struct argument *argument = &inference->problem->arguments[index];
    uint32_t rows, cols;
    return argument->n_dims == 2 && expr_is_name(argument->dims[0], &rows) &&
           expr_is_name(argument->dims[1], &cols) && rows == cols && is_given(inference, index, 0) &&
           is_given(inference, index, 1) &&
           given_extent(inference, index, 0) != given_extent(inference, index, 1);
}

static bool contradict(const struct inference *inference, uint32_t index, uint32_t d, int64_t wanted)
{
    const struct argument *argument = &inference->problem->arguments[index];
    char has[64], origins[200];
    struct text text;
    describe_extent(argument, d, given_extent(inference, index, d), has, sizeof has);
    text_open(&text, origins, sizeof origins);
    write_origins(inference, argument->dims[d], &text);
    if (is_oblong(inference, index))
        error_set(inference->error, ESP_INVALID,
                  "%s: %s must be square (%s x %s), found %" PRId64 " x %" PRId64, inference->problem->name,
                  argument->name, expr_text(argument->dims[0]), expr_text(argument->dims[0]),
                  given_extent(inference, index, 0), given_extent(inference, index, 1));
    else if (expr_is_name(argument->dims[d], NULL))
        error_set(inference->error, ESP_INVALID, "%s: %s has %s, but %s", inference->problem->name,
                  argument->name, has, origins);
    else
        error_set(inference->error, ESP_INVALID, "%s: %s has %s, but %s = %" PRId64 "%s%s%s",
                  inference->problem->name, argument->name, has, expr_text(argument->dims[d]), wanted,
                  text.length ? " (" : "", origins, text.length ? ")" : "");
    return false;
}

/* Every dimension given must be what its expression says, where that can be computed. */
static bool check_dims(const struct inference *inference)
{
    const struct scope scope = scope_of(inference);
    for (uint32_t i = 0; i < inference->problem->n_arguments; i++)
        for (uint32_t d = 0; inference->known_dims[i] && d < inference->problem->arguments[i].n_dims; d++) {
            struct number wanted;
            if (is_given(inference, i, d) &&
                expr_eval(inference->problem->arguments[i].dims[d], &scope, &wanted, NULL) == ESP_OK &&
                wanted.kind == NUMBER_INTEGER && wanted.integer != given_extent(inference, i, d))
                return contradict(inference, i, d, wanted.integer);
        }
    return true;
}

enum esp_status problem_infer(const struct problem *problem, const int64_t *const *known_dims,
                              const uint32_t *n_known, struct number *scope_values, struct esp_error *error)
{
    struct esp_error own;
    struct inference inference = {.problem = problem,
                                  .known_dims = known_dims,
                                  .n_known = n_known,
                                  .values = scope_values,
                                  .error = error ? error : &own};
    bool good = true, given = true;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        inference.origin[i] = FROM_CALLER;
        good = good && (!known_dims[i] || check_rank(&inference, i));
    }
    while (good && given)
        good = solve_all(&inference) && give_default(&inference, &given);
    /* "n >= 0, found n = -1" says more than "A has 2 rows, but n = -1". */
    enum esp_status status = problem_check_known(problem, scope_values, inference.error);
    if (status != ESP_OK)
        return status;
    /* Contradictions first: "B has 4 rows" says more than a scalar that is missing because of it. */
    good = good && check_dims(&inference) && check_known(&inference);
    return good ? ESP_OK : inference.error->status;
}
