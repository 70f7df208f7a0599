/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of a call: from words, by name, with what is lacking filled in.
 */
#include "config.h"

#include "util/contents.h"
#include "core/values/signature.h"
#include "core/values/values_function.h"
#include "core/values/values_random.h"
#include "core/values/values_storage.h"
#include "core/values/values_texts.h"
#include "core/problem/problem_solves.h"
#include "util/names.h"
#include "util/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum esp_status values_init(struct values *values, const struct esp_problem *problem,
                            const struct values_library *library, struct esp_error *error)
{
    size_t n = problem->n_arguments + 1; /* never zero */
    *values = (struct values){.problem = problem,
                              .library = library,
                              .arguments = calloc(n, sizeof *values->arguments),
                              .slots = calloc(n, sizeof *values->slots)};
    if (values->arguments && values->slots)
        return problem_parse(problem->source, strlen(problem->source), problem->name, &values->described,
                             error);
    values_clear(values);
    return error_no_memory(error, "the arguments");
}

void values_clear(struct values *values)
{
    for (size_t i = 0; values->slots && i < values->problem->n_arguments; i++) {
        if (values->slots[i].text != values->slots[i].memory)
            free(values->slots[i].text);
        values_remove_spools(&values->slots[i]);
        values_clear_texts(&values->slots[i]);
        if (values->slots[i].spool)
            unlink(values->slots[i].spool);
        free(values->slots[i].spool);
        value_function_destroy(values->slots[i].function);
        free(values->slots[i].random);
        free(values->slots[i].datum);
        free(values->slots[i].kept);
        free(values->slots[i].memory);
        matrix_clear(&values->slots[i].sparse);
    }
    free(values->slots);
    free(values->arguments);
    problem_set_destroy(values->described);
    *values = (struct values){0};
}

/* The output that the description calls so in its equation: X of `solves A X = B giving X = B`. Least squares
 * have other numbers behind the solution. */
static int find_solution(const struct values *values, const char *name)
{
    const struct problem *problem = values->described->problems[0];
    if (!problem->solves || problem->solves->fits || strcmp(problem->solves->unknown, name) != 0)
        return -1;
    return signature_find(values->problem, problem->arguments[problem->solves->solution].name);
}

static const struct esp_job_name *find_other(const struct values *values, const char *name)
{
    for (size_t i = 0; i < values->n_others; i++)
        if (strcmp(values->others[i].name, name) == 0)
            return &values->others[i];
    return NULL;
}

/* Splits "name=value" and finds the argument. */
static enum esp_status split_word(const struct values *values, const char *word, const char *wanted,
                                  size_t *index, const char **value, struct esp_error *error)
{
    const char *equal = strchr(word, '=');
    char name[128];
    if (!equal || equal == word)
        return error_set(error, ESP_INVALID, "expected %s, found '%.80s'", wanted, word);
    snprintf(name, sizeof name, "%.*s", (int)(equal - word), word);
    int found = signature_find(values->problem, name);
    const struct esp_job_name *other =
        found < 0 && *wanted == '-' ? find_other(values, name) : NULL; /* of -o */
    if (other && (found = signature_find(values->problem, other->of)) >= 0)
        values->slots[found].other = other;
    if (found < 0 && *wanted == '-')
        found = find_solution(values, name);
    if (found < 0) {
        const char *names[ESP_MAX_ARGUMENTS];
        size_t n = values->problem->n_arguments < ESP_MAX_ARGUMENTS ? values->problem->n_arguments
                                                                    : ESP_MAX_ARGUMENTS;
        for (size_t i = 0; i < n; i++)
            names[i] = values->problem->arguments[i].name;
        const char *closest = names_closest_word(name, names, n);
        return error_set(error, ESP_INVALID, "%s has no argument '%s'%s%s%s", values->problem->name, name,
                         closest ? ": did you mean '" : "", closest ? closest : "", closest ? "'?" : "");
    }
    *index = (size_t)found;
    *value = equal + 1;
    return ESP_OK;
}

/* An input may be given once. */
static enum esp_status claim_input(struct values *values, size_t index, struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    if (!argument_in(formal))
        return error_set(error, ESP_INVALID, "%s is an output: '-o %s=FILE' saves it", formal->name,
                         formal->name);
    if (values->slots[index].given)
        return error_set(error, ESP_INVALID, "%s is given twice", formal->name);
    values->slots[index].given = true;
    return ESP_OK;
}

enum esp_status values_assign(struct values *values, const char *word, struct esp_error *error)
{
    size_t index;
    const char *value;
    enum esp_status status = split_word(values, word, "NAME=VALUE", &index, &value, error);
    if (status == ESP_OK)
        status = claim_input(values, index, error);
    if (status == ESP_OK && values_is_data(value) && values->problem->arguments[index].n_dims > 0)
        return values_take_datum(values, index, value, error);
    if (status == ESP_OK && values->problem->arguments[index].type == ESP_TYPE_CALLBACK)
        return values_take_function(values, index, value, error);
    if (status == ESP_OK && values_is_random(&values->problem->arguments[index], value))
        return values_take_random(values, index, value, error);
    return status == ESP_OK ? value_take(values, index, value, error) : status;
}

enum esp_status values_assign_matrix(struct values *values, const char *name, const struct matrix *matrix,
                                     struct esp_error *error)
{
    int index = signature_find(values->problem, name);
    if (index < 0)
        return error_set(error, ESP_INVALID, "%s has no argument '%s'", values->problem->name, name);
    enum esp_status status = claim_input(values, (size_t)index, error);
    return status == ESP_OK
               ? value_take_matrix(values, (size_t)index, &(struct given_array){.matrix = matrix}, error)
               : status;
}

enum esp_status values_save_to(struct values *values, const char *word, struct esp_error *error)
{
    size_t index;
    const char *path;
    enum esp_status status = split_word(values, word, "-o NAME=FILE", &index, &path, error);
    if (status != ESP_OK)
        return status;
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    if (!argument_out(formal))
        return error_set(error, ESP_INVALID, "-o %s: it is an input", formal->name);
    if (!*path)
        return error_set(error, ESP_INVALID, "-o %s: expected a file name behind '='", formal->name);
    const struct value_slot *slot = &values->slots[index];
    const bool data = values_is_data(path);
    if (data ? slot->is_kept : slot->path || (slot->is_kept && !slot->comes))
        return error_set(error, ESP_INVALID,
                         "-o %s is given twice (to leave it on a server and save it as well: -o "
                         "%s=data:persistent-return -o %s=FILE)",
                         formal->name, formal->name, formal->name);
    if (data)
        return values_keep(values, index, path, error);
    if (esp_type_size(formal->type) > 0 && formal->type != ESP_TYPE_CHAR && !values->format &&
        matrix_check_ending(path, error) != ESP_OK)
        return error_prefix(error, "-o %s", formal->name);
    if (is_texts(formal) && formal->type == ESP_TYPE_FILE && strcmp(path, "-") == 0)
        return error_set(error, ESP_INVALID,
                         "-o %s: expected the name of a file, as there are several, found '-'", formal->name);
    values->slots[index].path = path;
    values->some_saved = true;
    return ESP_OK;
}

/* The library writes the result where the input was: a copy keeps the user's file as it is. */
static enum esp_status copy_input(struct values *values, size_t index, struct esp_error *error)
{
    struct value_slot *slot = &values->slots[index];
    void *contents = NULL;
    uint64_t bytes;
    if (slot->spool || !values->arguments[index].data)
        return ESP_OK;
    enum esp_status status = contents_load(values->arguments[index].data, &contents, &bytes, error);
    if (status == ESP_OK)
        status = values_make_spool(&slot->spool, error);
    if (status == ESP_OK)
        status = contents_save(slot->spool, contents, bytes, error);
    if (status == ESP_OK)
        values->arguments[index].data = slot->spool;
    else
        error_prefix(error, "%s", values->problem->arguments[index].name);
    free(contents);
    return status;
}

static bool is_file_there_and_back(const struct esp_problem_argument *formal)
{
    return formal->mode == ESP_MODE_INOUT && formal->type == ESP_TYPE_FILE;
}

static enum esp_status copy_there_and_back(struct values *values, size_t index, struct esp_error *error)
{
    return values->problem->arguments[index].n_dims == 0 ? copy_input(values, index, error)
                                                         : values_copy_inputs(values, index, error);
}

enum esp_status values_prepare_output(struct values *values, size_t index, struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    struct esp_argument *argument = &values->arguments[index];
    struct value_slot *slot = &values->slots[index];
    uint64_t bytes = esp_type_size(formal->type);
    if (slot->is_kept && !slot->comes)
        return ESP_OK;
    if (is_texts(formal))
        return values_prepare_texts(values, index, error);
    if (formal->type == ESP_TYPE_FILE) {
        bool spooled = slot->path && strcmp(slot->path, "-") == 0;
        if (spooled && values_make_spool(&slot->spool, error) != ESP_OK)
            return error_prefix(error, "%s", formal->name);
        argument->data =
            spooled ? slot->spool : (void *)slot->path; /* the library writes it; NULL: unwanted */
        return ESP_OK;
    }
    if (is_text(formal->type)) {
        argument->data = &slot->text;
        return ESP_OK;
    }
    if (formal->n_dims && (values_is_left(values, index) || values->is_late))
        return ESP_OK;
    if (!formal->n_dims)
        return value_memory(values, index, 16, error);
    uint64_t count;
    enum esp_status status = values_count(values, index, &count, error);
    return status == ESP_OK ? value_memory(values, index, count * bytes, error) : status;
}

/* An array of three dimensions and more was given as a vector: it must have as many elements. */
static enum esp_status check_count(const struct values *values, size_t index, struct esp_error *error)
{
    const struct esp_argument *argument = &values->arguments[index];
    uint64_t count = 1;
    if (values->problem->arguments[index].n_dims < 3 || !values->slots[index].given)
        return ESP_OK;
    for (unsigned k = 0; k < argument->n_dims; k++)
        count *= (uint64_t)argument->dims[k];
    if (count == values->slots[index].count)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "%s: expected %llu elements, found %llu",
                     values->problem->arguments[index].name, (unsigned long long)count,
                     (unsigned long long)values->slots[index].count);
}

/* " x=[1,2,3]" or the like: how this argument is given. */
static const char *how_to_give(const struct esp_problem_argument *formal, char *text, size_t size)
{
    if (is_texts(formal))
        snprintf(text, size, formal->type == ESP_TYPE_FILE ? "%s=@FILE,@FILE" : "%s='[\"one\",\"two\"]'",
                 formal->name);
    else if (formal->n_dims == 1)
        snprintf(text, size, "%s=[1,2,3] or %s=@FILE", formal->name, formal->name);
    else if (formal->n_dims)
        snprintf(text, size, "%s=[1,2;3,4] or %s=@FILE", formal->name, formal->name);
    else if (is_text(formal->type))
        snprintf(text, size, "%s=TEXT or %s=@FILE", formal->name, formal->name);
    else if (formal->type == ESP_TYPE_FILE)
        snprintf(text, size, "%s=@FILE", formal->name);
    else
        snprintf(text, size, "%s=%s", formal->name, formal->type == ESP_TYPE_CHAR ? "LETTER" : "NUMBER");
    return text;
}

/* Nothing else tells what is in an array, a text or a file; a scalar may follow from the arrays. */
static enum esp_status check_given(const struct values *values, struct esp_error *error)
{
    for (size_t i = 0; i < values->problem->n_arguments; i++) {
        const struct esp_problem_argument *formal = &values->problem->arguments[i];
        bool is_scalar = !formal->n_dims && !is_text(formal->type) && formal->type != ESP_TYPE_FILE;
        char shape[256], how[300];
        if (formal->type == ESP_TYPE_CALLBACK && !values->slots[i].given)
            return error_set(error, ESP_INVALID,
                             "%s: the function %s%s is missing: give it as an expression of its parameters, "
                             "%s='...' (with several results: '[...; ...]')",
                             values->problem->name, formal->name, formal->callback ? formal->callback : "",
                             formal->name);
        if (is_scalar || !argument_in(formal) || formal->initial || values->slots[i].given)
            continue;
        return error_set(error, ESP_INVALID, "%s: the %s %s (%s) is missing: give it as %s",
                         values->problem->name, formal->mode == ESP_MODE_IN ? "input" : "input and output",
                         signature_shape(formal, shape, sizeof shape), esp_type_name(formal->type),
                         how_to_give(formal, how, sizeof how));
    }
    return ESP_OK;
}

/* The library tells of a scalar that is missing; here is how it is given. */
static void hint_scalar(const struct values *values, struct esp_error *error)
{
    for (size_t i = 0; i < values->problem->n_arguments; i++) {
        const struct esp_problem_argument *formal = &values->problem->arguments[i];
        char missing[200], how[300];
        snprintf(missing, sizeof missing, ": the input %s (%s) is missing", formal->name,
                 esp_type_name(formal->type));
        size_t length = strlen(error->text);
        if (strstr(error->text, missing) && length < sizeof error->text)
            snprintf(error->text + length, sizeof error->text - length, ": give it as %s",
                     how_to_give(formal, how, sizeof how));
    }
}

/* An array that is changed needs memory to come back to; what only goes in is left to the library. */
static enum esp_status give_default(struct values *values, size_t index, struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    unsigned char raw[16];
    uint64_t count;
    if (formal->mode != ESP_MODE_INOUT || !formal->n_dims || !formal->initial)
        return ESP_OK;
    values_scope(values, scope);
    const struct problem *problem = values->described->problems[0];
    enum esp_status status =
        problem_default(problem, (uint32_t)problem_argument_index(problem, formal->name), scope, raw, error);
    if (status == ESP_OK)
        status = values_count(values, index, &count, error);
    size_t size = esp_type_size(formal->type);
    if (status == ESP_OK)
        status = value_memory(values, index, count * size, error);
    for (uint64_t i = 0; status == ESP_OK && i < count; i++)
        memcpy((char *)values->slots[index].memory + i * size, raw, size);
    return status;
}

enum esp_status values_prepare(struct values *values, struct esp_error *error)
{
    const struct esp_problem *problem = values->problem;
    enum esp_status given = check_given(values, error);
    if (given != ESP_OK)
        return given;
    given = values_make_random(values, false, error);
    if (given == ESP_OK)
        given = values_measure_bands(values, error);
    if (given != ESP_OK)
        return given;
    if (values_complete(values, error) != ESP_OK) {
        hint_scalar(values, error);
        return error->status;
    }
    given = values_make_random(values, true, error);
    if (given == ESP_OK)
        given = values_size_functions(values, error);
    if (given != ESP_OK)
        return given;
    for (size_t i = 0; i < problem->n_arguments; i++) {
        enum esp_status status =
            problem->arguments[i].mode == ESP_MODE_OUT       ? values_prepare_output(values, i, error)
            : values->slots[i].datum                         ? values_prepare_datum(values, i, error)
            : is_file_there_and_back(&problem->arguments[i]) ? copy_there_and_back(values, i, error)
            : values->slots[i].given                         ? check_count(values, i, error)
                                                             : give_default(values, i, error);
        if (status == ESP_OK)
            status = values_check_halves(values, i, error);
        if (status != ESP_OK)
            return status;
        values->arguments[i].unwanted = values_is_left(values, i);
    }
    return values_pack(values, error);
}
