/* SPDX-License-Identifier: Apache-2.0
 *
 * Abstract problems: their matrices stay as the files have them (sparse ones sparse) until a rule has picked
 * the problem that takes them.
 */
#include "config.h"

#include "command/abstract_arguments.h"
#include "command/session.h"
#include "core/values/signature.h"
#include "core/values/values_random.h"
#include "core/values/values_storage.h"

#include <stdio.h>
#include <string.h>

static enum esp_status read_matrix(const struct values *values, size_t index, const char *text,
                                   struct matrix *matrix, struct esp_error *error)
{
    struct matrix_file file;
    const char *name = values->problem->arguments[index].name;
    int64_t dims[ESP_MAX_DIMS];
    if (values_is_random(&values->problem->arguments[index], text))
        return values_random_matrix(values, index, text, dims, matrix, error);
    if (*text == '[')
        return matrix_parse_inline(text, matrix, error) == ESP_OK ? ESP_OK : error_prefix(error, "%s", name);
    if (*text != '@')
        return error_set(error, ESP_INVALID,
                         "%s: expected a matrix as [1, 2; 3, 4], @FILE or rand(ROWS, COLUMNS), found '%.80s'",
                         name, text);
    session_reading(true);
    enum esp_status status = matrix_load(text + 1, &values->reading, &file, error);
    session_reading(false);
    if (status != ESP_OK)
        return values_too_large(status, error);
    *matrix = file.matrix;
    file.matrix = (struct matrix){0};
    matrix_file_clear(&file);
    return ESP_OK;
}

struct esp_matrix abstract_matrix(const struct matrix *matrix)
{
    return (struct esp_matrix){.rows = matrix->rows,
                               .cols = matrix->cols,
                               .is_complex = matrix->is_complex,
                               .values = matrix->values,
                               .starts = matrix->starts,
                               .indices = matrix->indices};
}

/* Whether the problem is of a real type where a complex matrix is given. */
static bool is_too_real(const struct esp_problem *problem, size_t index, const struct matrix *matrix)
{
    enum esp_type type = problem->arguments[index].type;
    return matrix->is_complex && type != ESP_TYPE_COMPLEX && type != ESP_TYPE_DOUBLE_COMPLEX;
}

static bool is_complex(enum esp_type type)
{
    return type == ESP_TYPE_COMPLEX || type == ESP_TYPE_DOUBLE_COMPLEX;
}

/* It stays where it lives. */
static enum esp_status take_datum(struct abstract_arguments *arguments, size_t index, const char *text,
                                  bool *too_real, struct esp_error *error)
{
    struct values *values = &arguments->values;
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    struct esp_argument *argument = &values->arguments[index];
    enum esp_status status = values_take_datum(values, index, text, error);
    if (status != ESP_OK)
        return status;
    values->slots[index].given = true;
    if (is_complex(argument->type) && !is_complex(formal->type)) {
        *too_real = true;
        return ESP_OK;
    }
    if (argument->type != formal->type)
        return error_set(error, ESP_INVALID, "%s: expected data of type %s, found %s", formal->name,
                         esp_type_name(formal->type), esp_type_name(argument->type));
    arguments->has_data = true;
    return session_told(esp_run_give_datum(arguments->run, formal->name, values->slots[index].datum,
                                           argument->type, argument->dims[0],
                                           argument->n_dims > 1 ? argument->dims[1] : 1),
                        error);
}

static enum esp_status take_array(struct abstract_arguments *arguments, size_t index, const char *text,
                                  bool *too_real, struct esp_error *error)
{
    struct values *values = &arguments->values;
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    struct matrix *matrix = &arguments->given[index];
    if (values->slots[index].given)
        return error_set(error, ESP_INVALID, "%s is given twice", formal->name);
    if (values_is_data(text))
        return take_datum(arguments, index, text, too_real, error);
    enum esp_status status = read_matrix(values, index, text, matrix, error);
    if (status != ESP_OK)
        return status;
    *too_real = *too_real || is_too_real(values->problem, index, matrix);
    struct esp_argument *argument = &values->arguments[index];
    values->slots[index].given = true;
    argument->n_dims = formal->n_dims;
    argument->dims[0] = formal->n_dims == 1 ? matrix->rows * matrix->cols : matrix->rows;
    argument->dims[1] = matrix->cols;
    argument->data = &values->slots[index]; /* there is something; nobody reads it here */
    const struct esp_matrix given = abstract_matrix(matrix);
    return session_told(esp_run_give(arguments->run, formal->name, &given), error);
}

/* In this order: an array that is made up may ask for the scalars and for the extents of the others. */
enum kind { KIND_SCALAR, KIND_ARRAY, KIND_MADE_UP, N_KINDS };

static enum esp_status take_word(struct abstract_arguments *arguments, const char *word, enum kind wanted,
                                 bool *too_real, struct esp_error *error)
{
    const char *equal = strchr(word, '=');
    char name[128];
    snprintf(name, sizeof name, "%.*s", equal ? (int)(equal - word) : 0, word);
    int index = signature_find(arguments->values.problem, name);
    const struct esp_problem_argument *formal =
        index >= 0 ? &arguments->values.problem->arguments[index] : NULL;
    enum kind kind = !formal || !argument_in(formal) || !formal->n_dims ? KIND_SCALAR
                     : values_is_random(formal, equal + 1)              ? KIND_MADE_UP
                                                                        : KIND_ARRAY;
    if (kind != wanted)
        return ESP_OK;
    return kind == KIND_SCALAR ? values_assign(&arguments->values, word, error)
                               : take_array(arguments, (size_t)index, equal + 1, too_real, error);
}

/* The sizes and other scalars, which are known now. */
static enum esp_status give_scalars(struct abstract_arguments *arguments, struct esp_error *error)
{
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    const struct problem *problem = arguments->values.described->problems[0];
    enum esp_status status = ESP_OK;
    values_scope(&arguments->values, scope);
    for (uint32_t i = 0; i < problem->n_arguments && status == ESP_OK; i++) {
        if (problem->arguments[i].mode != MODE_IN || problem->arguments[i].n_dims ||
            scope[i].kind == NUMBER_UNKNOWN)
            continue;
        status = esp_run_give_number(arguments->run, problem->arguments[i].name,
                                     scope[i].kind == NUMBER_REAL ? scope[i].real : (double)scope[i].integer);
    }
    return session_told(status, error);
}

/* What stays on its server, and what nobody asks for. */
static enum esp_status arrange_results(struct abstract_arguments *arguments, struct esp_error *error)
{
    const struct values *values = &arguments->values;
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < values->problem->n_arguments && status == ESP_OK; i++) {
        const struct esp_problem_argument *formal = &values->problem->arguments[i];
        const int64_t *dims = values->arguments[i].dims;
        if (values->slots[i].comes)
            status = error_set(error, ESP_INVALID,
                               "-o %s: a result of an abstract problem either stays or comes: leave it by "
                               "another mode, and 'espalier data get' brings it; or call the problem that "
                               "does it",
                               formal->name);
        else if (values->slots[i].is_kept)
            status = session_told(esp_run_keep(arguments->run, formal->name, values->arguments[i].kept_mode,
                                               values->arguments[i].kept_in_pieces, dims[0],
                                               formal->n_dims > 1 ? dims[1] : 1),
                                  error);
        else if (values_is_left(values, i))
            status = session_told(esp_run_leave_out(arguments->run, formal->name), error);
    }
    return status;
}

enum esp_status abstract_arguments_read(const struct command_line *command,
                                        struct abstract_arguments *arguments, bool *too_real,
                                        struct esp_error *error)
{
    arguments->values.as_json = command->json;
    arguments->values.is_late = true; /* what is sparse has no memory for all of it */
    enum esp_status status = values_format(command, &arguments->values.format, error);
    for (enum kind kind = 0; kind < N_KINDS; kind++)
        for (int i = 1; i < command->n_operands && status == ESP_OK; i++)
            status = take_word(arguments, command->operands[i], kind, too_real, error);
    for (int i = 0; i < command->n_options && status == ESP_OK; i++) {
        const char *word = command->options[i].value;
        if (strcmp(command->options[i].name, "output") != 0)
            continue;
        status = values_save_to(&arguments->values, word, error);
        const char *equal = strchr(word, '=');
        if (status == ESP_OK && equal && !values_is_data(equal + 1))
            status = command_check_output(strchr(word, '=') + 1, error);
    }
    if (status == ESP_OK)
        status = values_prepare(&arguments->values, error);
    if (status == ESP_OK)
        status = arrange_results(arguments, error);
    return status == ESP_OK ? give_scalars(arguments, error) : status;
}

void abstract_arguments_clear(struct abstract_arguments *arguments)
{
    esp_run_destroy(arguments->run);
    for (size_t i = 0; i < ESP_MAX_ARGUMENTS; i++)
        matrix_clear(&arguments->given[i]);
    for (size_t i = 0; arguments->values.arguments && i < arguments->values.problem->n_arguments; i++)
        arguments->values.arguments[i].data = NULL;
    values_clear(&arguments->values);
    esp_job_free(arguments->job);
    fast_rules_free(arguments->steps);
}
