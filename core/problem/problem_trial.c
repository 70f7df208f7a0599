/* SPDX-License-Identifier: Apache-2.0
 *
 * A call that can be pasted: scalars that the preconditions allow, small well-conditioned matrices,
 * functions, texts, and files that the example makes itself.
 */
#include "core/problem/problem_help.h"
#include "core/problem/problem_trial.h"
#include "util/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {"one", "two", "three", "four", "five", "six", "seven"};
#define N_WORDS (sizeof words / sizeof *words)

int64_t trial_element(const struct trial *trial, uint32_t index, int64_t row, int64_t col)
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

/* ---- values ---- */

/* As few digits as tell the number. */
static void write_real(struct text *text, double value)
{
    char digits[40];
    for (int n = 6; n <= 17; n++) {
        snprintf(digits, sizeof digits, "%.*g", n, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    text_put(text, digits);
}

static void write_scalar(struct text *text, enum base_type type, const struct number *value)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-_.,:/";
    if (type == TYPE_CHAR && value->integer == '\'')
        text_put(text, "\\'");
    else if (type == TYPE_CHAR && value->integer > 0 && strchr(plain, (int)value->integer))
        text_printf(text, "%c", (int)value->integer);
    else if (type == TYPE_CHAR)
        text_printf(text, "'%c'", (int)value->integer);
    else if (value->kind == NUMBER_REAL)
        write_real(text, value->real);
    else
        text_printf(text, "%" PRId64, value->integer);
}

static void write_matrix(struct text *text, const struct trial *trial, uint32_t index)
{
    const struct shape *shape = &trial->shapes[index];
    for (int64_t i = 0; i < shape->dims[0]; i++)
        for (int64_t j = 0; j < shape->dims[1]; j++)
            text_printf(text, "%s%" PRId64, j ? "," : i ? ";" : "", trial_element(trial, index, i, j));
}

static void write_array(struct text *text, const struct trial *trial, uint32_t index)
{
    const struct shape *shape = &trial->shapes[index];
    uint64_t n = 1;
    for (uint32_t d = 0; d < shape->n_dims; d++)
        n *= (uint64_t)shape->dims[d];
    if (trial_is_random(trial, index)) {
        text_put(text, "rand");
        return;
    }
    text_put(text, "'[");
    if (shape->n_dims == 2)
        write_matrix(text, trial, index);
    else
        for (uint64_t k = 0; k < n; k++)
            text_printf(text, "%s%" PRIu64, k ? "," : "", k + 1);
    text_put(text, "]'");
}

static void write_strings(struct text *text, uint64_t n)
{
    text_put(text, "'[");
    for (uint64_t k = 0; k < n; k++)
        text_printf(text, "%s\"%s\"", k ? "," : "", words[k % N_WORDS]);
    text_put(text, "]'");
}

static void write_characters(struct text *text, uint64_t n)
{
    for (uint64_t k = 0; k < n; k++)
        text_put_bytes(text, &"abcdefghijklmnopqrstuvwxyz"[k % 26], 1);
}

/* ---- files ---- */

static void write_file_name(struct text *text, const struct trial *trial, uint32_t index, uint64_t k)
{
    const struct argument *argument = &trial->problem->arguments[index];
    text_printf(text, "%s-%s", trial->problem->name, argument->name);
    if (argument->n_dims)
        text_printf(text, "-%" PRIu64, k + 1);
    text_put(text, ".txt");
}

static bool is_file_input(const struct argument *argument)
{
    return argument->type == TYPE_FILE && argument_is_input(argument);
}

/* What makes the files, a line for each. */
static void write_files(struct text *text, const struct trial *trial)
{
    for (uint32_t i = 0; i < trial->problem->n_arguments; i++)
        for (uint64_t k = 0; is_file_input(&trial->problem->arguments[i]) && k < trial->shapes[i].count;
             k++) {
            text_put(text, "printf '3\\n1\\n2\\n' >");
            write_file_name(text, trial, i, k);
            text_put(text, "\n");
        }
}

static void write_file_names(struct text *text, const struct trial *trial, uint32_t index)
{
    for (uint64_t k = 0; k < trial->shapes[index].count; k++) {
        text_put(text, k ? ",@" : "@");
        write_file_name(text, trial, index, k);
    }
}

/* ---- the call ---- */

/* False: it has no value that can be written. */
static bool write_value(struct text *text, const struct trial *trial, uint32_t index)
{
    const struct argument *argument = &trial->problem->arguments[index];
    bool written = true;
    if (argument->type == TYPE_FILE) {
        write_file_names(text, trial, index);
    } else if (argument->type == TYPE_CALLBACK) {
        text_put(text, "'");
        written = trial_write_function(text, trial->problem, trial->scope, argument);
        text_put(text, "'");
    } else if (argument->type == TYPE_STRING && argument->n_dims) {
        write_strings(text, trial->shapes[index].count);
    } else if (argument->type == TYPE_STRING) {
        text_put(text, "words");
    } else if (argument->type == TYPE_STATE) {
        text_printf(text, "\"$%s\"", argument->name);
    } else if (argument->n_dims == 0) {
        write_scalar(text, argument->type, &trial->scope[index]);
    } else if (argument->type == TYPE_CHAR && argument->n_dims == 1) {
        write_characters(text, trial->shapes[index].count);
    } else {
        write_array(text, trial, index);
    }
    return written;
}

/* Random arrays take their extents from the scalars: then those do not follow from arrays. */
static bool has_random(const struct trial *trial)
{
    for (uint32_t i = 0; i < trial->problem->n_arguments; i++)
        if (argument_is_input(&trial->problem->arguments[i]) && trial_is_random(trial, i))
            return true;
    return false;
}

static bool is_written(const struct trial *trial, uint32_t index, bool random)
{
    const struct argument *argument = &trial->problem->arguments[index];
    bool scalar = argument->n_dims == 0 && !base_type_is_variable(argument->type);
    if (!argument_is_input(argument) || (argument->initial && !trial_is_chosen(trial, index)))
        return false;
    if (random && scalar)
        return !trial->counted[index];
    return !trial->follows[index] &&
           (!scalar || argument->initial || !problem_argument_follows(trial->problem, index));
}

static bool write_call(struct text *text, const struct trial *trial, const char *options,
                       struct esp_error *why)
{
    const bool random = has_random(trial);
    text_printf(text, "espalier call%s %s", options, trial->problem->name);
    for (uint32_t i = 0; i < trial->problem->n_arguments; i++) {
        if (!is_written(trial, i, random))
            continue;
        text_printf(text, " %s=", trial->problem->arguments[i].name);
        if (!write_value(text, trial, i)) {
            error_set(why, ESP_INVALID, "no expressions do for its function %s: it is called from a program",
                      trial->problem->arguments[i].name);
            return false;
        }
    }
    return true;
}

size_t problem_trial(const struct problem *problem, const char *options, char *buffer, size_t size,
                     struct esp_error *why)
{
    struct trial trial = {.problem = problem};
    struct text text;
    text_open(&text, buffer, size);
    if (!trial_choose(&trial, why))
        return 0;
    write_files(&text, &trial);
    return write_call(&text, &trial, options, why) ? text.length : 0;
}
