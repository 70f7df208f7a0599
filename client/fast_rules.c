/* SPDX-License-Identifier: Apache-2.0
 *
 * fast.h: what the rules of an abstract problem would take, of sizes alone: what arrays are like is not
 * known, so that every rule is told.
 */
#include "fast.h"

#include "client/abstract/abstract_steps.h"
#include "client/library.h"
#include "client/session/package.h"

#include <stdlib.h>
#include <string.h>

#define MOST_KNOWN (PROBLEM_MAX_ARGUMENTS + ABSTRACT_MAX_STEPS * PROBLEM_MAX_ARGUMENTS)
#define MOST_STEPS (ABSTRACT_MAX_RULES * ABSTRACT_MAX_STEPS)

/* What goes by a name: an array with these extents. */
struct known_array {
    const char *name;
    struct shape shape;
};

struct rules_run {
    const struct fast_call *call;
    const struct esp_call_options *options;
    const struct problem *problem;
    struct given first;
    struct known_array known[MOST_KNOWN];
    uint32_t n_known, n_given; /* n_given: those of the abstract problem */
    struct fast_step *steps;   /* a package */
    size_t n;
};

static const struct fast_value *value_of(const struct fast_call *call, const char *name)
{
    for (size_t i = 0; i < call->n_values; i++)
        if (call->values[i].name && strcmp(call->values[i].name, name) == 0)
            return &call->values[i];
    return NULL;
}

static struct number number_of(double value, enum base_type type)
{
    if (type >= TYPE_FLOAT)
        return (struct number){.kind = NUMBER_REAL, .real = value};
    return (struct number){.kind = NUMBER_INTEGER, .integer = (int64_t)value};
}

/* The shapes of a problem whose scalars have these values. */
static enum esp_status shapes_of(const struct problem *problem, const struct number *scalars,
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

/* ---- one step ---- */

static const struct known_array *find(const struct rules_run *run, const char *name)
{
    for (uint32_t i = run->n_known; i-- > 0;)
        if (strcmp(run->known[i].name, name) == 0)
            return &run->known[i];
    return NULL;
}

static void set(struct rules_run *run, const char *name, const struct shape *shape)
{
    if (run->n_known < MOST_KNOWN)
        run->known[run->n_known++] = (struct known_array){name, *shape};
}

/* Scalars of the step's problem: as the rule says, as they were given, or as the arrays have them. */
static enum esp_status infer(const struct rules_run *run, const struct step *step,
                             const struct problem *problem, struct number *scalars, struct esp_error *error)
{
    const int64_t *dims[PROBLEM_MAX_ARGUMENTS] = {NULL};
    uint32_t n_dims[PROBLEM_MAX_ARGUMENTS] = {0};
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        const struct pair *pair = abstract_renamed(step, argument->name);
        const char *outer = pair && pair->outer ? pair->outer : argument->name;
        const struct fast_value *value = value_of(run->call, outer);
        const struct known_array *array = argument->n_dims > 0 ? find(run, outer) : NULL;
        scalars[i] = (struct number){.kind = NUMBER_UNKNOWN};
        if (!argument_is_input(argument))
            continue;
        if (array) {
            dims[i] = array->shape.dims;
            n_dims[i] = array->shape.n_dims;
        } else if (argument->n_dims == 0 && pair && !pair->outer) {
            scalars[i] = number_of(pair->value, argument->type);
        } else if (argument->n_dims == 0 && value) {
            scalars[i] = number_of(value->value, argument->type);
        }
    }
    return problem_infer(problem, dims, n_dims, scalars, error);
}

static void keep_outputs(struct rules_run *run, const struct step *step, const struct problem *problem,
                         const struct number *scalars)
{
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    if (shapes_of(problem, scalars, shapes, NULL) != ESP_OK)
        return;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const char *inner = problem->arguments[i].name;
        const struct pair *pair = abstract_renamed(step, inner);
        if (!argument_is_output(&problem->arguments[i]) || problem->arguments[i].n_dims == 0)
            continue;
        set(run, pair && pair->outer ? pair->outer : inner, &shapes[i]);
        for (uint32_t k = 0; k < step->n_results; k++)
            if (strcmp(step->results[k].inner, inner) == 0)
                set(run, step->results[k].outer, &shapes[i]);
    }
}

/* On the server where it would be over first. */
static enum esp_status forecast_step(struct rules_run *run, const struct step *step,
                                     const struct problem *problem, struct fast_step *told,
                                     struct esp_error *error)
{
    struct number scalars[PROBLEM_MAX_ARGUMENTS];
    struct fast_value values[PROBLEM_MAX_ARGUMENTS];
    struct fast_server *servers = NULL;
    size_t n = 0, n_values = 0;
    enum esp_status status = infer(run, step, problem, scalars, error);
    if (status != ESP_OK)
        return status;
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (scalars[i].kind != NUMBER_UNKNOWN)
            values[n_values++] = (struct fast_value){
                problem->arguments[i].name,
                scalars[i].kind == NUMBER_REAL ? scalars[i].real : (double)scalars[i].integer};
    const struct fast_call call = {problem->name, values, n_values};
    status = fast_forecast_within(&call, run->options, &servers, &n);
    if (status != ESP_OK) {
        *error = *esp_last_error();
        return status;
    }
    if (n == 0 || servers[0].excluded)
        status = error_set(error, ESP_NO_SERVER, "%s", n ? servers[0].excluded : "no server has it");
    else
        told->best = servers[0];
    told->best.server = package_text(run->steps, status == ESP_OK ? servers[0].server : "");
    told->best.address = package_text(run->steps, status == ESP_OK ? servers[0].address : "");
    fast_forecast_free(servers);
    keep_outputs(run, step, problem, scalars);
    return status;
}

static bool tell_step(struct rules_run *run, struct library *library, uint32_t rule, const struct step *step)
{
    char name[PROBLEM_MAX_NAME + 1], text[512];
    struct fast_step *told = &run->steps[run->n++];
    struct function *function = NULL;
    struct esp_error error = {0};
    abstract_step_name(step, &run->first, name, sizeof name);
    abstract_rule_text(run->problem, rule, text, sizeof text);
    *told = (struct fast_step){.rule = rule, .rival = run->problem->abstract->rules[rule].rivals};
    told->problem = package_text(run->steps, name);
    told->text = package_text(run->steps, text);
    enum esp_status status = functions_get(library->engine->functions, name, NULL, &function, &error);
    if (status == ESP_OK)
        status = forecast_step(run, step, function->problem, told, &error);
    function_release(function);
    if (status != ESP_OK)
        told->why = package_text(run->steps, error.text);
    return told->problem && told->text && (status == ESP_OK || told->why);
}

/* ---- the rules ---- */

static enum esp_status begin(struct rules_run *run, struct esp_error *error)
{
    const struct problem *problem = run->problem;
    struct number scalars[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    bool found = false;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct fast_value *value = value_of(run->call, problem->arguments[i].name);
        scalars[i] = (struct number){.kind = NUMBER_UNKNOWN};
        if (value && problem->arguments[i].n_dims == 0)
            scalars[i] = number_of(value->value, problem->arguments[i].type);
    }
    enum esp_status status = shapes_of(problem, scalars, shapes, error);
    for (uint32_t i = 0; status == ESP_OK && i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (argument->n_dims == 0 || !argument_is_input(argument))
            continue;
        set(run, argument->name, &shapes[i]);
        if (!found)
            run->first = (struct given){.type = argument->type,
                                        .rows = shapes[i].dims[0],
                                        .cols = shapes[i].n_dims > 1 ? shapes[i].dims[1] : 1};
        found = true;
    }
    run->n_given = run->n_known;
    return status;
}

static enum esp_status tell_rules(struct rules_run *run, struct library *library, struct esp_error *error)
{
    const struct abstract *abstract = run->problem->abstract;
    enum esp_status status = begin(run, error);
    bool whole = true;
    for (uint32_t i = 0; status == ESP_OK && i < abstract->n_rules && whole; i++) {
        run->n_known = run->n_given;
        for (uint32_t k = 0; k < abstract->rules[i].n_steps && whole; k++)
            whole = tell_step(run, library, i, &abstract->rules[i].steps[k]);
    }
    return status == ESP_OK && !whole ? error_no_memory(error, "the forecasts") : status;
}

enum esp_status fast_forecast_rules(const struct fast_call *call, const struct esp_call_options *options,
                                    struct fast_step **steps, size_t *n)
{
    struct esp_error *error = library_error(), why = {0};
    struct function *function = NULL;
    struct library *library;
    if (!call || !call->problem || (call->n_values && !call->values) || !steps || !n)
        return error_set(error, ESP_INVALID, "expected a call and places for the steps, found NULL");
    if (!(library = library_enter(error)))
        return error->status;
    struct rules_run *run = calloc(1, sizeof *run);
    if (run)
        *run = (struct rules_run){
            .call = call, .options = options, .steps = package_create(MOST_STEPS * sizeof *run->steps)};
    enum esp_status status = run && run->steps ? ESP_OK : error_no_memory(&why, "the forecasts");
    if (status == ESP_OK)
        status = functions_get(library->engine->functions, call->problem, NULL, &function, &why);
    if (status == ESP_OK && !function->problem->abstract)
        status = error_set(&why, ESP_NOT_FOUND, "%s is no abstract problem: it has no rules", call->problem);
    if (status == ESP_OK) {
        run->problem = function->problem;
        status = tell_rules(run, library, &why);
    }
    function_release(function);
    library_leave(status == ESP_OK);
    if (status == ESP_OK) {
        *steps = run->steps;
        *n = run->n;
    } else {
        package_destroy(run ? run->steps : NULL);
        *error = why;
    }
    free(run);
    return status;
}

void fast_rules_free(struct fast_step *steps)
{
    package_destroy(steps);
}
