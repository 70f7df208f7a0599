/* SPDX-License-Identifier: Apache-2.0 */
#include "client/abstract/foresight_parts.h"
#include "client/forecast.h"
#include "client/library.h"
#include "client/session/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is known by name ---- */

struct number foresight_number(double value, enum base_type type)
{
    if (type >= TYPE_FLOAT)
        return (struct number){.kind = NUMBER_REAL, .real = value};
    return (struct number){.kind = NUMBER_INTEGER, .integer = (int64_t)value};
}

bool foresight_scalar(const struct foresight *foresight, const char *name, double *value)
{
    const struct fast_call *sizes = foresight->sizes;
    const struct matrix *matrix = foresight->run ? abstract_find(foresight->run, name) : NULL;
    for (size_t i = 0; sizes && i < sizes->n_values; i++)
        if (sizes->values[i].name && strcmp(sizes->values[i].name, name) == 0) {
            *value = sizes->values[i].value;
            return true;
        }
    if (!matrix || matrix->rows != 1 || matrix->cols != 1)
        return false;
    double im;
    matrix_element(matrix, 0, 0, value, &im);
    return true;
}

void foresight_take(struct foresight *foresight, const char *name)
{
    const struct fast_call *sizes = foresight->sizes;
    for (size_t i = 0; sizes && foresight->taken && i < sizes->n_values; i++)
        foresight->taken[i] |= sizes->values[i].name && strcmp(sizes->values[i].name, name) == 0;
}

void foresight_set_array(struct foresight *foresight, const char *name, const struct shape *shape)
{
    if (foresight->n_known < MOST_KNOWN)
        foresight->known[foresight->n_known++] = (struct known_array){name, *shape};
}

enum esp_status foresight_shapes(const struct problem *problem, const struct number *scalars,
                                 struct shape *shapes, struct esp_error *error)
{
    unsigned char raw[PROBLEM_MAX_ARGUMENTS][16];
    const void *inputs[PROBLEM_MAX_ARGUMENTS] = {NULL};
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (argument->type == TYPE_STATE)
            inputs[i] = memset(raw[i], 0, sizeof raw[i]); /* no size depends on which one it is */
        if (!argument_is_input(argument) || argument->n_dims > 0 || scalars[i].kind == NUMBER_UNKNOWN)
            continue;
        if (number_store(&scalars[i], argument->type, raw[i], error) != ESP_OK)
            return error_prefix(error, "%s: %s", problem->name, argument->name);
        inputs[i] = raw[i];
    }
    return problem_bind(problem, inputs, scope, shapes, error);
}

/* ---- rules ---- */

/* What is told of the step, and what is known of servers for it. */
static bool begin_step(struct foresight *foresight, struct library *library, uint32_t rule,
                       const struct step *step, struct gathered *gathered)
{
    char name[PROBLEM_MAX_NAME + 1], text[512];
    struct fast_step *told = &foresight->steps[foresight->n++];
    struct function *function = NULL;
    *gathered = (struct gathered){.n = 0};
    abstract_step_name(step, &foresight->first, name, sizeof name);
    abstract_rule_text(foresight->problem, rule, text, sizeof text);
    *told = (struct fast_step){.rule = rule, .rival = foresight->problem->abstract->rules[rule].rivals};
    told->problem = package_text(foresight->steps, name);
    told->text = package_text(foresight->steps, text);
    gathered->status = functions_get_soon(library->engine->functions, name, &function, &gathered->why);
    foresight->unknown |= gathered->status != ESP_OK;
    if (gathered->status == ESP_OK)
        foresight_step(foresight, step, function->problem, gathered);
    function_release(function);
    return told->problem && told->text;
}

/* The server that makes it, or why nothing is known. */
static bool end_step(struct foresight *foresight, const struct gathered *gathered, struct fast_step *told)
{
    struct fast_server *best = &told->best;
    if (gathered->status != ESP_OK || gathered->taken >= gathered->n)
        return (told->why = package_text(foresight->steps, gathered->why.text)) != NULL;
    *best = foresight_taken(gathered);
    best->server = package_text(foresight->steps, best->server);
    best->address = package_text(foresight->steps, best->address);
    best->agent = package_text(foresight->steps, best->agent);
    return best->server && best->address && best->agent;
}

/* The server that all steps must go to; NULL: there is no such. */
static const char *only_server(const struct foresight *foresight)
{
    const char *bound = foresight->run ? foresight->run->server : NULL;
    return bound ? bound : foresight->options ? foresight->options->server : NULL;
}

bool foresight_rule(struct foresight *foresight, uint32_t rule, double *seconds)
{
    const struct rule *told = &foresight->problem->abstract->rules[rule];
    struct esp_error error;
    struct library *library = library_enter(&error);
    struct fast_step *steps = &foresight->steps[foresight->n];
    double sum = 0;
    bool whole = library != NULL;
    uint32_t n = 0;
    foresight->n_known = foresight->n_given;
    for (; whole && n < told->n_steps && foresight->n < MOST_STEPS; n++)
        whole = begin_step(foresight, library, rule, &told->steps[n], &foresight->gathered[n]);
    if (library)
        library_leave(true);
    foresight_way(foresight, foresight->gathered, n);
    /* Sizes of later steps may follow from what the first one gives. */
    foresight->too_large = n > 0 && steps[0].problem &&
                           foresight_is_too_large(&foresight->gathered[0], steps[0].problem,
                                                  only_server(foresight), &foresight->lacking);
    for (uint32_t i = 0; i < n; i++) {
        whole = end_step(foresight, &foresight->gathered[i], &steps[i]) && whole;
        sum += steps[i].why ? HUGE_VAL : steps[i].best.total_s;
        fast_forecast_free(foresight->gathered[i].servers);
    }
    if (seconds)
        *seconds = whole ? sum : HUGE_VAL;
    return whole;
}

/* ---- what it begins with ---- */

static enum esp_status create(const struct foresight *begun, struct foresight **created,
                              struct esp_error *error)
{
    struct foresight *foresight = calloc(1, sizeof *foresight);
    if (foresight)
        *foresight = *begun;
    if (!foresight || !(foresight->steps = package_create(MOST_STEPS * sizeof *foresight->steps))) {
        free(foresight);
        return error_no_memory(error, "the forecasts");
    }
    *created = foresight;
    return ESP_OK;
}

/* A size that is missing may have been given under another name. */
static void blame_misspelt(const struct problem *problem, const struct fast_call *values,
                           struct esp_error *error)
{
    int index;
    for (size_t i = 0; i < values->n_values; i++)
        if (values->values[i].name && forecast_near_size(problem, values->values[i].name) &&
            forecast_check_size(problem, &values->values[i], &index, error) != ESP_OK)
            return;
}

enum esp_status foresight_check_sizes(const struct foresight *foresight, struct esp_error *error)
{
    const struct fast_call *sizes = foresight->sizes;
    enum esp_status status = ESP_OK;
    int index;
    for (size_t i = 0; status == ESP_OK && sizes && !foresight->unknown && i < sizes->n_values; i++)
        if (!foresight->taken[i])
            status = forecast_check_size(foresight->problem, &sizes->values[i], &index, error);
    return status;
}

enum esp_status foresight_of_sizes(const struct problem *problem, const struct fast_call *values,
                                   const struct esp_call_options *options, struct foresight **created,
                                   struct esp_error *error)
{
    struct number scalars[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    bool found = false;
    const struct foresight begun = {.problem = problem, .sizes = values, .options = options};
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        double value;
        scalars[i] = (struct number){.kind = NUMBER_UNKNOWN};
        if (problem->arguments[i].n_dims == 0 && foresight_scalar(&begun, problem->arguments[i].name, &value))
            scalars[i] = foresight_number(value, problem->arguments[i].type);
    }
    enum esp_status status = foresight_shapes(problem, scalars, shapes, error);
    if (status == ESP_OK)
        status = create(&begun, created, error);
    else
        blame_misspelt(problem, values, error);
    if (status == ESP_OK && values->n_values > 0 &&
        !((*created)->taken = calloc(values->n_values, sizeof *(*created)->taken))) {
        foresight_destroy(*created);
        return error_no_memory(error, "the forecasts");
    }
    for (uint32_t i = 0; status == ESP_OK && i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (argument->n_dims == 0 || !argument_is_input(argument))
            continue;
        foresight_set_array(*created, argument->name, &shapes[i]);
        if (!found)
            (*created)->first = (struct given){.type = argument->type,
                                               .rows = shapes[i].dims[0],
                                               .cols = shapes[i].n_dims > 1 ? shapes[i].dims[1] : 1};
        found = true;
    }
    if (status == ESP_OK)
        (*created)->n_given = (*created)->n_known;
    return status;
}

enum esp_status foresight_of_run(const struct abstract_run *run, const struct given *first,
                                 struct foresight **created, struct esp_error *error)
{
    const struct foresight begun = {
        .problem = run->problem, .run = run, .options = run->options, .first = *first};
    enum esp_status status = create(&begun, created, error);
    for (uint32_t i = 0; status == ESP_OK && i < run->problem->n_arguments; i++) {
        const struct argument *argument = &run->problem->arguments[i];
        const struct matrix *matrix = abstract_find(run, argument->name);
        const struct datum_variable *datum = abstract_find_datum(run, argument->name);
        struct shape shape = {.n_dims = argument->n_dims};
        if (argument->n_dims == 0 || !argument_is_input(argument) || (!matrix && !datum))
            continue;
        shape.dims[0] = datum ? datum->rows : matrix->rows;
        if (argument->n_dims == 1 && matrix)
            shape.dims[0] *= matrix->cols;
        if (argument->n_dims > 1)
            shape.dims[1] = datum ? datum->cols : matrix->cols;
        foresight_set_array(*created, argument->name, &shape);
    }
    if (status == ESP_OK)
        (*created)->n_given = (*created)->n_known;
    return status;
}

void foresight_ask_all(struct foresight *foresight)
{
    foresight->reach = FORECAST_ALL;
}

bool foresight_lacks_memory(const struct foresight *foresight, struct esp_error *error)
{
    if (foresight->too_large)
        *error = foresight->lacking;
    return foresight->too_large;
}

const char *foresight_first_at(const struct foresight *foresight)
{
    return foresight->first_at;
}

struct fast_step *foresight_end(struct foresight *foresight, size_t *n)
{
    struct fast_step *steps = foresight->steps;
    *n = foresight->n;
    foresight->steps = NULL;
    foresight_destroy(foresight);
    return steps;
}

void foresight_destroy(struct foresight *foresight)
{
    if (!foresight)
        return;
    package_destroy(foresight->steps);
    free(foresight->taken);
    free(foresight);
}
