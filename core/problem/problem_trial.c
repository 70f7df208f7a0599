/* SPDX-License-Identifier: Apache-2.0
 *
 * A call that can be pasted: scalars that the preconditions allow, and small well-conditioned matrices.
 */
#include "core/problem/problem_callback.h"
#include "core/problem/problem_help.h"
#include "util/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MOST_TRIES    20000
#define MOST_ELEMENTS 100 /* of one array; more is no example */

/* In the order of preference: most options of BLAS and LAPACK are among the letters. */
static const char letters[] = "NULVASRICEOFBT1DPMQGHWXY";
static const int64_t integers[] = {2, 1, 3, 0, 4, 5};
static const double reals[] = {2, 0.5, 1, 0};

struct trial {
    const struct problem *problem;
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    bool follows[PROBLEM_MAX_ARGUMENTS]; /* from a matrix: not written */
    unsigned tries;
};

static bool is_number(const struct argument *argument)
{
    return argument->n_dims == 0 && argument->type <= TYPE_DOUBLE_COMPLEX;
}

/* A scalar that somebody has to choose. */
static bool is_chosen(const struct argument *argument)
{
    return argument_is_input(argument) && is_number(argument) && !argument->initial;
}

static bool candidate(enum base_type type, unsigned n, struct number *value)
{
    if (type == TYPE_CHAR && n < sizeof letters - 1)
        *value = (struct number){.kind = NUMBER_INTEGER, .integer = letters[n]};
    else if (type >= TYPE_SHORT && type <= TYPE_INT64 && n < sizeof integers / sizeof *integers)
        *value = (struct number){.kind = NUMBER_INTEGER, .integer = integers[n]};
    else if (type >= TYPE_FLOAT && n < sizeof reals / sizeof *reals)
        *value = (struct number){.kind = NUMBER_REAL, .real = reals[n]};
    else
        return false;
    return true;
}

/* Preconditions, defaults and shapes of the whole call. */
static bool is_good(struct trial *trial)
{
    const struct problem *problem = trial->problem;
    unsigned char raw[PROBLEM_MAX_ARGUMENTS][16] = {{0}};
    const void *inputs[PROBLEM_MAX_ARGUMENTS] = {NULL};
    struct number bound[PROBLEM_MAX_ARGUMENTS];
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (is_chosen(&problem->arguments[i])) {
            if (number_store(&trial->scope[i], problem->arguments[i].type, raw[i], NULL) != ESP_OK)
                return false;
            inputs[i] = raw[i];
        } else if (problem->arguments[i].type == TYPE_STATE && argument_is_input(&problem->arguments[i])) {
            inputs[i] = raw[i]; /* sizes do not depend on it */
        }
    if (problem_bind(problem, inputs, bound, trial->shapes, NULL) != ESP_OK)
        return false;
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (argument_is_input(&problem->arguments[i]) && trial->shapes[i].count > MOST_ELEMENTS)
            return false;
    memcpy(trial->scope, bound, problem->n_arguments * sizeof *bound);
    return true;
}

/* Chooses argument `index` and those behind it; a precondition that is violated already ends a branch. */
static bool choose(struct trial *trial, uint32_t index)
{
    const struct problem *problem = trial->problem;
    while (index < problem->n_arguments &&
           (!is_chosen(&problem->arguments[index]) || trial->scope[index].kind != NUMBER_UNKNOWN))
        index++;
    if (index == problem->n_arguments)
        return is_good(trial);
    struct number value;
    for (unsigned n = 0; candidate(problem->arguments[index].type, n, &value); n++) {
        if (++trial->tries > MOST_TRIES)
            return false;
        trial->scope[index] = value;
        if (problem->arguments[index].type < TYPE_COMPLEX &&
            problem_check_known(problem, trial->scope, NULL) != ESP_OK)
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
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        uint32_t name;
        bool both;
        if (!argument_is_input(argument))
            continue;
        for (unsigned k = 0; k < 2; k++)
            if (problem_band_width(argument, k, &name, &both) && is_chosen(&problem->arguments[name])) {
                trial->scope[name] = (struct number){.kind = NUMBER_INTEGER, .integer = 1};
                trial->follows[name] = true;
            }
        if (argument->storage == STORAGE_CSC || argument->storage == STORAGE_CSR)
            trial->follows[argument->pointers] = trial->follows[argument->indices] = true;
    }
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        trial->follows[i] =
            trial->follows[i] || (is_number(&problem->arguments[i]) && problem_argument_follows(problem, i));
}

static void write_scalar(struct text *text, enum base_type type, const struct number *value)
{
    if (type == TYPE_CHAR)
        text_printf(text, "%c", (int)value->integer);
    else if (value->kind == NUMBER_REAL)
        text_printf(text, "%g", value->real);
    else
        text_printf(text, "%" PRId64, value->integer);
}

/* Diagonally dominant, and positive definite where it is symmetric; zero where nothing is stored. */
static int64_t element(const struct trial *trial, uint32_t index, int64_t row, int64_t col)
{
    const struct argument *argument = &trial->problem->arguments[index];
    int64_t value = row == col ? 4 + row : 1;
    struct layout layout;
    if (argument->storage == STORAGE_CSC || argument->storage == STORAGE_CSR)
        return row - col <= 1 && col - row <= 1 ? value : 0;
    if (argument->storage == STORAGE_FULL ||
        problem_layout(trial->problem, index, trial->scope, trial->shapes[index].dims, &layout, NULL) !=
            ESP_OK)
        return value;
    bool mirrored = argument->properties & (PROPERTY_SYMMETRIC | PROPERTY_HERMITIAN);
    bool stored = layout_index(&layout, row, col) >= 0 || (mirrored && layout_index(&layout, col, row) >= 0);
    return stored ? value : 0;
}

static void write_matrix(struct text *text, const struct trial *trial, uint32_t index)
{
    const struct shape *shape = &trial->shapes[index];
    for (int64_t i = 0; i < shape->dims[0]; i++)
        for (int64_t j = 0; j < shape->dims[1]; j++)
            text_printf(text, "%s%" PRId64, j ? "," : i ? ";" : "", element(trial, index, i, j));
}

static void write_array(struct text *text, const struct trial *trial, uint32_t index)
{
    const struct shape *shape = &trial->shapes[index];
    uint64_t n = 1;
    text_put(text, "'[");
    for (uint32_t d = 0; d < shape->n_dims; d++)
        n *= (uint64_t)shape->dims[d];
    if (shape->n_dims == 2)
        write_matrix(text, trial, index);
    else
        for (uint64_t k = 0; k < n; k++)
            text_printf(text, "%s%" PRIu64, k ? "," : "", k + 1);
    text_put(text, "]'");
}

static void write_input(struct text *text, const struct trial *trial, uint32_t index)
{
    const struct argument *argument = &trial->problem->arguments[index];
    text_printf(text, " %s=", argument->name);
    if (argument->type == TYPE_STRING)
        text_put(text, "words");
    else if (argument->type == TYPE_FILE)
        text_put(text, "@/etc/os-release");
    else if (argument->type == TYPE_STATE)
        text_printf(text, "\"$%s\"", argument->name);
    else if (argument->n_dims == 0)
        write_scalar(text, argument->type, &trial->scope[index]);
    else if (argument->type == TYPE_CHAR && argument->n_dims == 1)
        for (uint64_t k = 0; k < trial->shapes[index].count; k++)
            text_put_bytes(text, &"abcdefghijklmnopqrstuvwxyz"[k % 26], 1);
    else
        write_array(text, trial, index);
}

size_t problem_trial(const struct problem *problem, char *buffer, size_t size)
{
    struct trial trial = {.problem = problem};
    struct text text;
    text_open(&text, buffer, size);
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (argument_is_input(&problem->arguments[i]) && problem->arguments[i].n_dims &&
            problem->arguments[i].type >= TYPE_STRING)
            return 0;
    if (problem_has_callbacks(problem))
        return 0; /* nothing on a command line is a function */
    find_followers(&trial);
    if (!choose(&trial, 0))
        return 0;
    text_printf(&text, "espalier call %s", problem->name);
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (argument_is_input(argument) && !argument->initial && !trial.follows[i])
            write_input(&text, &trial, i);
    }
    return text.length;
}
