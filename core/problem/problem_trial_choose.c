/* SPDX-License-Identifier: Apache-2.0
 *
 * The search for scalars that all preconditions allow: first among a few that mostly do, then among those
 * that the conditions themselves suggest.
 */
#include "core/problem/problem_trial.h"

#include <string.h>

#define MOST_TRIES 20000

static const struct trial_effort efforts[] = {
    {.tries = MOST_TRIES},
    {.from_conditions = true, .tries = MOST_TRIES},
    {.from_conditions = true, .defaults = true, .widths = true, .tries = MOST_TRIES},
    {.from_conditions = true, .runs = true, .defaults = true, .widths = true, .tries = 4 * MOST_TRIES},
};

static bool is_number(const struct argument *argument)
{
    return argument->n_dims == 0 && argument->type <= TYPE_DOUBLE_COMPLEX;
}

static bool is_compressed(const struct argument *argument)
{
    return argument->storage == STORAGE_CSC || argument->storage == STORAGE_CSR;
}

static bool is_in_conditions(const struct problem *problem, uint32_t index)
{
    for (uint32_t i = 0; i < problem->n_preconditions; i++)
        if (expr_uses(problem->preconditions[i].condition, index))
            return true;
    return false;
}

bool trial_is_chosen(const struct trial *trial, uint32_t index)
{
    const struct argument *argument = &trial->problem->arguments[index];
    if (!argument_is_input(argument) || !is_number(argument))
        return false;
    return !argument->initial || (trial->effort->defaults && is_in_conditions(trial->problem, index));
}

bool trial_is_random(const struct trial *trial, uint32_t index)
{
    const struct argument *argument = &trial->problem->arguments[index];
    uint64_t n = 1;
    for (uint32_t d = 0; d < argument->n_dims; d++)
        n *= (uint64_t)trial->shapes[index].dims[d];
    return argument->n_dims > 0 && n > TRIAL_MOST_TYPED;
}

static int64_t most_diagonals(int64_t extent)
{
    return extent > 0 ? extent - 1 : 0;
}

static bool can_be_written(const struct trial *trial, uint32_t index)
{
    const struct argument *argument = &trial->problem->arguments[index];
    struct layout layout;
    if (!argument_is_input(argument) || argument->n_dims == 0)
        return true;
    if (trial_is_random(trial, index))
        return argument->type != TYPE_CHAR && argument->type < TYPE_STRING && !is_compressed(argument) &&
               trial->shapes[index].count <= TRIAL_MOST_ELEMENTS;
    /* The command works out the width of a band from the matrix, which must have room for it. */
    return argument->storage != STORAGE_BANDED ||
           (problem_layout(trial->problem, index, trial->scope, trial->shapes[index].dims, &layout, NULL) ==
                ESP_OK &&
            layout.below <= most_diagonals(layout.rows) && layout.above <= most_diagonals(layout.cols));
}

/* Preconditions, defaults and shapes of the whole call. */
static bool is_good(struct trial *trial)
{
    const struct problem *problem = trial->problem;
    unsigned char raw[PROBLEM_MAX_ARGUMENTS][16] = {{0}};
    const void *inputs[PROBLEM_MAX_ARGUMENTS] = {NULL};
    struct number bound[PROBLEM_MAX_ARGUMENTS], chosen[PROBLEM_MAX_ARGUMENTS];
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (trial_is_chosen(trial, i)) {
            if (number_store(&trial->scope[i], problem->arguments[i].type, raw[i], &trial->why) != ESP_OK)
                return false;
            inputs[i] = raw[i];
        } else if (base_type_is_variable(problem->arguments[i].type) &&
                   argument_is_input(&problem->arguments[i])) {
            inputs[i] = raw[i]; /* sizes do not depend on it */
        }
    if (problem_bind(problem, inputs, bound, trial->shapes, &trial->why) != ESP_OK)
        return false;
    memcpy(chosen, trial->scope, sizeof chosen);
    memcpy(trial->scope, bound, problem->n_arguments * sizeof *bound);
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (!can_be_written(trial, i)) {
            error_set(&trial->why, ESP_LIMIT, "%s: %s would be too large for an example", problem->name,
                      problem->arguments[i].name);
            memcpy(trial->scope, chosen, sizeof chosen);
            return false;
        }
    return true;
}

static bool is_violated(struct trial *trial)
{
    const struct problem *problem = trial->problem;
    const struct scope scope = {trial->scope, problem->n_arguments};
    for (uint32_t i = 0; i < problem->n_preconditions; i++) {
        bool holds;
        if (expr_eval_bool(problem->preconditions[i].condition, &scope, &holds, NULL) == ESP_OK && !holds) {
            trial->blame[i]++;
            return true;
        }
    }
    return false;
}

/* The elements of compressed matrices, when their extents are known. */
static void count_elements(struct trial *trial)
{
    const struct problem *problem = trial->problem;
    const struct scope scope = {trial->scope, problem->n_arguments};
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        int64_t dims[2], slope, offset, n = 0;
        uint32_t name;
        if (!argument_is_input(argument) || !is_compressed(argument) ||
            expr_eval_size(argument->dims[0], &scope, &dims[0], NULL) != ESP_OK ||
            expr_eval_size(argument->dims[1], &scope, &dims[1], NULL) != ESP_OK ||
            dims[0] > TRIAL_MOST_TYPED || dims[1] > TRIAL_MOST_TYPED ||
            !expr_is_linear(problem->arguments[argument->indices].dims[0], &scope, &name, &slope, &offset) ||
            !trial->counted[name])
            continue;
        for (int64_t row = 0; row < dims[0]; row++)
            for (int64_t col = 0; col < dims[1]; col++)
                n += trial_element(trial, i, row, col) != 0;
        trial->scope[name] = (struct number){.kind = NUMBER_INTEGER, .integer = (n - offset) / slope};
    }
}

static bool is_whole(struct trial *trial)
{
    const struct problem *problem = trial->problem;
    count_elements(trial);
    bool good = !is_violated(trial) && is_good(trial);
    for (uint32_t i = 0; i < problem->n_arguments && !good; i++)
        if (trial->counted[i])
            trial->scope[i] = (struct number){.kind = NUMBER_UNKNOWN};
    return good;
}

/* Chooses argument `index` and those behind it; a precondition that is violated already ends a branch. */
static bool choose(struct trial *trial, uint32_t index)
{
    const struct problem *problem = trial->problem;
    while (index < problem->n_arguments && (!trial_is_chosen(trial, index) || trial->counted[index] ||
                                            trial->scope[index].kind != NUMBER_UNKNOWN))
        index++;
    if (index == problem->n_arguments)
        return is_whole(trial);
    struct number values[TRIAL_MOST_CANDIDATES];
    unsigned n = trial_candidates(trial, index, values);
    for (unsigned i = 0; i < n && ++trial->tries <= trial->effort->tries; i++) {
        trial->scope[index] = values[i];
        if (problem->arguments[index].type < TYPE_COMPLEX && is_violated(trial))
            continue;
        if (choose(trial, index + 1))
            return true;
    }
    trial->scope[index] = (struct number){.kind = NUMBER_UNKNOWN};
    return false;
}

/* What the command works out from a matrix: the width of its band, the arrays of its compression. */
static void find_followers(struct trial *trial)
{
    const struct problem *problem = trial->problem;
    const struct scope unknown = {trial->scope, problem->n_arguments};
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        uint32_t name;
        int64_t slope, offset;
        bool both;
        if (!argument_is_input(argument))
            continue;
        for (unsigned k = 0; k < 2; k++)
            if (problem_band_width(argument, k, &name, &both) &&
                argument_is_input(&problem->arguments[name]) && !problem->arguments[name].initial)
                trial->follows[name] = trial->width[name] = true;
        if (!is_compressed(argument))
            continue;
        trial->follows[argument->pointers] = trial->follows[argument->indices] = true;
        if (expr_is_linear(problem->arguments[argument->indices].dims[0], &unknown, &name, &slope, &offset) &&
            !expr_uses(argument->dims[0], name) && !expr_uses(argument->dims[1], name))
            trial->counted[name] = true;
    }
}

static void say_why(const struct trial *trial, struct esp_error *why)
{
    const struct problem *problem = trial->problem;
    uint32_t worst = 0;
    for (uint32_t i = 1; i < problem->n_preconditions; i++)
        if (trial->blame[i] > trial->blame[worst])
            worst = i;
    if (trial->why.status != ESP_OK && why)
        *why = trial->why;
    else if (problem->n_preconditions && trial->blame[worst])
        error_set(why, ESP_INVALID, "%s", expr_text(problem->preconditions[worst].condition));
    else
        error_set(why, ESP_INVALID, "its arguments do not go together");
}

bool trial_choose(struct trial *trial, struct esp_error *why)
{
    const struct problem *problem = trial->problem;
    find_followers(trial);
    for (size_t round = 0; round < sizeof efforts / sizeof *efforts; round++) {
        trial->effort = &efforts[round];
        trial->tries = 0;
        trial->why = (struct esp_error){0};
        memset(trial->blame, 0, sizeof trial->blame);
        for (uint32_t i = 0; i < problem->n_arguments; i++)
            trial->scope[i] = trial->width[i] && !trial->effort->widths
                                  ? (struct number){.kind = NUMBER_INTEGER, .integer = 1}
                                  : (struct number){.kind = NUMBER_UNKNOWN};
        if (choose(trial, 0))
            return true;
    }
    say_why(trial, why);
    return false;
}
