/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses numbers to try: common values, and values at which a condition changes its truth. */
#include "core/problem/problem_trial.h"
#include "core/problem/expr.h"
#include "core/problem/problem_help.h"
#include "util/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool trial_is_chosen(const struct trial *trial, uint32_t index);
static bool trial_is_random(const struct trial *trial, uint32_t index);
static bool trial_choose(struct trial *trial, struct esp_error *why);

#define MOST_STEPS  8  /* secant steps towards equality of both sides of a comparison */
#define MOST_PLACES 12 /* of one scalar */
#define LONGEST_RUN 16
#define LARGEST     1e9

/* In the order of preference: most options of BLAS and LAPACK are among the letters. */
static const char letters[] = "NULVASRICEOFBT1DPMQGHWXY";
static const double integers[] = {2, 1, 3, 0, 4, 5};
static const double reals[] = {2, 0.5, 1, 0};

struct candidates {
    enum base_type type;
    struct number *values;
    unsigned n;
};

/* Adds a value unless it is in the list. */
static void add(struct candidates *list, double value)
{
    bool integer = list->type < TYPE_FLOAT;
    if (!(fabs(value) <= LARGEST) || list->n == TRIAL_MOST_CANDIDATES)
        return;
    for (unsigned i = 0; i < list->n; i++)
        if ((integer ? (double)list->values[i].integer : list->values[i].real) == value)
            return;
    list->values[list->n++] = integer ? (struct number){.kind = NUMBER_INTEGER, .integer = (int64_t)value}
                                      : (struct number){.kind = NUMBER_REAL, .real = value};
}

/* ---- places ---- */

/* A search for values of scalar `index` at which a difference becomes 0. */
struct search {
    const struct problem *problem;
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    uint32_t index;
    double places[MOST_PLACES];
    unsigned n;
};

static void add_place(struct search *search, double place)
{
    if (isfinite(place) && search->n < MOST_PLACES)
        search->places[search->n++] = place;
}

/* left - right at x; NaN: undefined there. */
static double difference(struct search *search, const struct expr *left, const struct expr *right, double x)
{
    const struct scope scope = {search->scope, search->problem->n_arguments};
    bool whole =
        search->problem->arguments[search->index].type < TYPE_FLOAT && x == floor(x) && fabs(x) <= LARGEST;
    double a, b = 0;
    search->scope[search->index] = whole ? (struct number){.kind = NUMBER_INTEGER, .integer = (int64_t)x}
                                         : (struct number){.kind = NUMBER_REAL, .real = x};
    if (expr_eval_real(left, &scope, &a, NULL) != ESP_OK ||
        (right && expr_eval_real(right, &scope, &b, NULL) != ESP_OK))
        return NAN;
    return a - b;
}

/* By secants: one step if the difference is linear. */
static void find_zero(struct search *search, const struct expr *left, const struct expr *right)
{
    double x0 = 1, x1 = 2, f0 = difference(search, left, right, x0), f1 = difference(search, left, right, x1);
    for (int step = 0; step < MOST_STEPS && f1 != f0 && isfinite(f0) && isfinite(f1); step++) {
        double x = x1 - f1 * (x1 - x0) / (f1 - f0);
        x0 = x1, f0 = f1;
        x1 = x, f1 = difference(search, left, right, x);
        if (fabs(x1 - x0) <= 1e-12 * fabs(x1) || fabs(f1) < 1e-12)
            break;
    }
    if (isfinite(f1))
        add_place(search, x1);
}

/* Visits every comparison and every constant of a condition. */
static void visit(struct search *search, const struct expr *expr)
{
    bool compares =
        expr->kind == EXPR_OPERATOR && expr->code >= OPERATOR_EQUAL && expr->code <= OPERATOR_GREATER_EQUAL;
    if (expr->kind == EXPR_INTEGER || expr->kind == EXPR_REAL)
        add_place(search, expr->value.kind == NUMBER_REAL ? expr->value.real : (double)expr->value.integer);
    if (compares)
        find_zero(search, expr->operands[0], expr->operands[1]);
    for (unsigned i = 0; i < expr->n_operands; i++)
        visit(search, expr->operands[i]);
}

/* Finds places for preconditions on the scalar (`all`: also for those on other scalars), for extents,
 * which must not be below 0, and for sections, which must lie within the array. */
static void find_places(struct search *search, bool all)
{
    const struct problem *problem = search->problem;
    for (uint32_t i = 0; i < problem->n_preconditions; i++)
        if (all || expr_uses(problem->preconditions[i].condition, search->index))
            visit(search, problem->preconditions[i].condition);
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        for (uint32_t d = 0; d < problem->arguments[i].n_dims; d++) {
            const struct argument *argument = &problem->arguments[i];
            if (!expr_is_name(argument->dims[d], NULL) && expr_uses(argument->dims[d], search->index))
                find_zero(search, argument->dims[d], NULL);
            if (argument->section[d][1] && (expr_uses(argument->section[d][1], search->index) ||
                                            expr_uses(argument->dims[d], search->index)))
                find_zero(search, argument->dims[d], argument->section[d][1]);
        }
}

/* ---- candidates ---- */

static void add_letters(struct candidates *list, const struct expr *expr)
{
    if (expr->kind == EXPR_CHARACTER)
        add(list, (double)expr->value.integer);
    for (unsigned i = 0; i < expr->n_operands; i++)
        add_letters(list, expr->operands[i]);
}

static void add_integers(struct candidates *list, const struct search *search, bool runs)
{
    for (unsigned k = 0; k < search->n; k++) {
        double below = floor(search->places[k]);
        add(list, ceil(search->places[k]));
        add(list, below + 1);
        add(list, below);
        add(list, below - 1);
    }
    for (unsigned k = 0; runs && k < search->n; k++)
        for (int more = 2; more <= LONGEST_RUN; more++)
            add(list, floor(search->places[k]) + more);
}

/* Adds the places, values between neighbouring places, and values outside of all. */
static void add_reals(struct candidates *list, const struct search *search)
{
    for (unsigned k = 0; k < search->n; k++) {
        double place = search->places[k];
        add(list, place + 1);
        add(list, place - 1);
        add(list, place);
        for (unsigned other = 0; other < k; other++)
            add(list, (place + search->places[other]) / 2);
    }
    for (unsigned k = 0; k < search->n; k++) {
        add(list, 2 * search->places[k]);
        add(list, search->places[k] / 2);
    }
}

static void add_suggested(struct candidates *list, const struct trial *trial, uint32_t index)
{
    struct search search = {.problem = trial->problem, .index = index};
    memcpy(search.scope, trial->scope, trial->problem->n_arguments * sizeof *search.scope);
    if (list->type != TYPE_CHAR)
        find_places(&search, trial->effort->runs);
    if (list->type >= TYPE_FLOAT)
        add_reals(list, &search);
    else if (list->type != TYPE_CHAR)
        add_integers(list, &search, trial->effort->runs);
    for (uint32_t i = 0; i < trial->problem->n_preconditions && list->type == TYPE_CHAR; i++)
        if (expr_uses(trial->problem->preconditions[i].condition, index))
            add_letters(list, trial->problem->preconditions[i].condition);
}

/* Lists values for scalar `index`, in the order of preference, given the known ones in trial->scope: at
 * most TRIAL_MOST_CANDIDATES. Returns how many. */
static unsigned trial_candidates(const struct trial *trial, uint32_t index, struct number *values)
{
    struct candidates list = {.type = trial->problem->arguments[index].type, .values = values};
    if (list.type == TYPE_CHAR)
        for (unsigned i = 0; letters[i]; i++)
            add(&list, letters[i]);
    else if (list.type < TYPE_FLOAT)
        for (unsigned i = 0; i < sizeof integers / sizeof *integers; i++)
            add(&list, integers[i]);
    else
        for (unsigned i = 0; i < sizeof reals / sizeof *reals; i++)
            add(&list, reals[i]);
    if (trial->effort->from_conditions && list.type < TYPE_COMPLEX)
        add_suggested(&list, trial, index);
    return list.n;
}

/* Chooses a function for a callback, as expressions of its parameters that suit most routines. x^2 - 2 has
 * a root between the first values of scalars, and an integral; sums of squares have a minimum; y' = 1 - y
 * is stable, has its root at 1, and -1 on the diagonal of its Jacobian. */

#define MOST_RESULTS 64
#define MOST_SQUARES 4

static bool is_real(const struct argument *argument)
{
    return argument->type == TYPE_FLOAT || argument->type == TYPE_DOUBLE;
}

/* Returns the value of a size of the same name in the problem; otherwise that of the problem's first size. */
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

/* Computes extents of the parameters: false when they are unknown. */
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

/* Returns the parameter that results are made of: a vector, else the only or last scalar; NULL: none. */
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

/* Writes element k of a result. */
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
        text_put(text, "1"); /* the result need not be an integer */
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

/* Builds a call that can be pasted: scalars that satisfy the preconditions, small well-conditioned
 * matrices, functions, texts, and files that the example creates itself. */

static const char *const words[] = {"one", "two", "three", "four", "five", "six", "seven"};

#define N_WORDS (sizeof words / sizeof *words)

/* Returns the element of a matrix in the example: diagonally dominant, positive definite if it is
 * symmetric, and zero where nothing is stored; a compressed matrix stores the three diagonals in the
 * middle. */
static int64_t trial_element(const struct trial *trial, uint32_t index, int64_t row, int64_t col)
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

/* Writes the shortest decimal that reads back as the value. */
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

/* Writes the commands that create the files, one a line. */
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

/* False: the value cannot be written. */
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

/* Whether an array is random: then its extents come from scalars, which must be given. */
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

/* Searches for scalars that satisfy all preconditions: first among common values, then among those that
 * the conditions suggest. */

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

/* Whether this round must choose the argument's value. */
static bool trial_is_chosen(const struct trial *trial, uint32_t index)
{
    const struct argument *argument = &trial->problem->arguments[index];
    if (!argument_is_input(argument) || !is_number(argument))
        return false;
    return !argument->initial || (trial->effort->defaults && is_in_conditions(trial->problem, index));
}

/* Whether the array is too large to be written in full. */
static bool trial_is_random(const struct trial *trial, uint32_t index)
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
    /* The command computes the width of a band from the matrix, which must have room for it. */
    return argument->storage != STORAGE_BANDED ||
           (problem_layout(trial->problem, index, trial->scope, trial->shapes[index].dims, &layout, NULL) ==
                ESP_OK &&
            layout.below <= most_diagonals(layout.rows) && layout.above <= most_diagonals(layout.cols));
}

/* Checks preconditions, defaults and shapes of the whole call. */
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

/* Counts the elements of compressed matrices when their extents are known. */
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

/* Chooses argument `index` and those after it; a violated precondition ends a branch early. */
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

/* Finds the arguments that the command computes from a matrix: the width of its band, the arrays of its
 * compression. */
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

/* Finds scalars and shapes that satisfy all preconditions. False: *why has the violated one, or another
 * reason. */
static bool trial_choose(struct trial *trial, struct esp_error *why)
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
