/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the servers for the steps of a rule. Each step goes to the server of the previous one, if that
 * takes it (abstract.c). So the server of the first step is mostly that of all steps, and is chosen by the
 * time of all.
 */
#include "client/abstract/foresight.h"
#include "client/abstract/call_forecast.h"
#include "client/session/forecast.h"
#include "client/session/library.h"
#include "client/session/session.h"
#include "core/choice/estimate.h"
#include "core/problem/fill.h"
#include "util/package.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void foresight_step(struct foresight *foresight, const struct step *step,
                           const struct problem *problem, struct gathered *gathered);

/* A server must be better by this factor than the one where the first step would end first: forecasts are
 * not more accurate, and a site's scheduler may have reasons of its own. */
#define CLEARLY_LESS 0.95

static size_t find_server(const struct gathered *step, const char *name)
{
    size_t i = 0;
    while (i < step->n && strcmp(step->servers[i].server, name) != 0)
        i++;
    return i;
}

/* Places the step on `at`, the server of the previous step ("": none), if it can be made there; nowhere
 * else if it needs that server's state; else on the soonest permitted server. */
static enum esp_status take_step(const char *bound, const char *at, struct gathered *step)
{
    const char *only = bound ? bound : *at ? at : NULL;
    size_t i = only ? find_server(step, only) : 0;
    step->taken = step->n;
    if (only && !bound && !step->wants_state && (i == step->n || step->servers[i].excluded))
        i = 0;
    if (i == step->n)
        return only && step->n > 0 ? error_set(&step->why, ESP_NO_SERVER, "%s does not solve it", only)
                                   : error_set(&step->why, ESP_NO_SERVER, "no server has it");
    if (step->servers[i].excluded)
        return error_set(&step->why, ESP_NO_SERVER, "%s: %s", step->servers[i].server,
                         step->servers[i].excluded);
    step->taken = i;
    step->stays = strcmp(step->servers[i].server, at) == 0;
    return ESP_OK;
}

bool foresight_is_too_large(const struct gathered *step, const char *problem, const char *only,
                            uint64_t *bytes, struct esp_error *error)
{
    bool found = false;
    *bytes = 0;
    for (size_t i = 0; step->status == ESP_OK && i < step->n; i++) {
        const struct fast_server *server = &step->servers[i];
        if (only && strcmp(server->server, only) != 0)
            continue;
        if (!server->excluded || strncmp(server->excluded, EXCLUDED_NEEDS, strlen(EXCLUDED_NEEDS)) != 0)
            return false;
        if (!found)
            error_set(error, ESP_NO_SERVER, "%s: no server has the memory for it (%s %s)", problem,
                      server->server, server->excluded);
        if (!found || server->memory_bytes < *bytes)
            *bytes = server->memory_bytes;
        found = true;
    }
    return found;
}

struct fast_server foresight_taken(const struct gathered *step)
{
    struct fast_server server = step->servers[step->taken];
    if (step->stays) { /* the wait there is over */
        server.total_s -= server.queue_s;
        server.queue_s = 0;
    }
    return server;
}

/* The time of all steps if the first one goes to that server ("": where it would end first). A step
 * without forecasts counts nothing. HUGE_VAL: a step cannot be made. */
static double follow(const char *bound, const char *first, struct gathered *steps, uint32_t n)
{
    double seconds = 0;
    const char *at = "";
    for (uint32_t i = 0; i < n; i++) {
        struct gathered *step = &steps[i];
        step->taken = step->n;
        if (step->status != ESP_OK)
            continue;
        if (take_step(bound, i == 0 ? first : at, step) != ESP_OK) {
            seconds = HUGE_VAL;
            continue;
        }
        step->stays = step->stays && i > 0;
        const struct fast_server server = foresight_taken(step);
        seconds += server.total_s;
        at = server.server;
    }
    return seconds;
}

void foresight_way(struct foresight *foresight, struct gathered *steps, uint32_t n)
{
    const char *bound = foresight->run ? foresight->run->server : NULL, *best = "";
    const double soonest_s = follow(bound, "", steps, n);
    double least_s = soonest_s;
    *foresight->first_at = 0;
    for (size_t i = 0; n > 1 && !bound && steps[0].status == ESP_OK && i < steps[0].n; i++) {
        const struct fast_server *server = &steps[0].servers[i];
        const double seconds = server->excluded ? HUGE_VAL : follow(NULL, server->server, steps, n);
        if (seconds < least_s && seconds < CLEARLY_LESS * soonest_s) {
            least_s = seconds;
            best = server->server;
        }
    }
    follow(bound, best, steps, n);
    if (*best && strlen(best) < sizeof foresight->first_at)
        strcpy(foresight->first_at, best);
}

/* ---- known names ---- */

static struct number foresight_number(double value, enum base_type type)
{
    if (type >= TYPE_FLOAT)
        return (struct number){.kind = NUMBER_REAL, .real = value};
    return (struct number){.kind = NUMBER_INTEGER, .integer = (int64_t)value};
}

/* The value of a scalar of that name. */
static bool foresight_scalar(const struct foresight *foresight, const char *name, double *value)
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

/* A problem has a scalar input of that name: it is not misspelt. */
static void foresight_take(struct foresight *foresight, const char *name)
{
    const struct fast_call *sizes = foresight->sizes;
    for (size_t i = 0; sizes && foresight->taken && i < sizes->n_values; i++)
        foresight->taken[i] |= sizes->values[i].name && strcmp(sizes->values[i].name, name) == 0;
}

/* Sets the shape of the array of that name, which outlives the foresight. */
static void foresight_set_array(struct foresight *foresight, const char *name, const struct shape *shape)
{
    if (foresight->n_known < MOST_KNOWN)
        foresight->known[foresight->n_known++] = (struct known_array){name, *shape};
}

/* The shapes of a problem whose scalars have these values. Errors are those of problem_bind(). */
static enum esp_status foresight_shapes(const struct problem *problem, const struct number *scalars,
                                        struct shape *shapes, struct esp_error *error)
{
    unsigned char raw[PROBLEM_MAX_ARGUMENTS][16];
    const void *inputs[PROBLEM_MAX_ARGUMENTS] = {NULL};
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (argument->type == TYPE_STATE)
            inputs[i] = memset(raw[i], 0, sizeof raw[i]); /* no size depends on the choice */
        if (!argument_is_input(argument) || argument->n_dims > 0 || scalars[i].kind == NUMBER_UNKNOWN)
            continue;
        if (number_store(&scalars[i], argument->type, raw[i], error) != ESP_OK)
            return error_prefix(error, "%s: %s", problem->name, argument->name);
        inputs[i] = raw[i];
    }
    return problem_bind(problem, inputs, scope, shapes, error);
}

/* ---- rules ---- */

/* Begins a step: its description, and the servers that are known for it. */
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

/* Sets the server of the step, or the reason why none is known. */
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

/* The server that all steps must go to; NULL: none. */
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
    /* Sizes of later steps may follow from results of the first one. */
    foresight->too_large =
        n > 0 && steps[0].problem &&
        foresight_is_too_large(&foresight->gathered[0], steps[0].problem, only_server(foresight),
                               &foresight->lacking_bytes, &foresight->lacking);
    for (uint32_t i = 0; i < n; i++) {
        whole = end_step(foresight, &foresight->gathered[i], &steps[i]) && whole;
        sum += steps[i].why ? HUGE_VAL : steps[i].best.total_s;
        fast_forecast_free(foresight->gathered[i].servers);
    }
    if (seconds)
        *seconds = whole ? sum : HUGE_VAL;
    return whole;
}

/* ---- creation ---- */

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

/* A missing size may have been given under another name. */
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

bool foresight_lacks_memory(const struct foresight *foresight, uint64_t *bytes, struct esp_error *error)
{
    if (foresight->too_large) {
        *bytes = foresight->lacking_bytes;
        *error = foresight->lacking;
    }
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

static const struct known_array *find_array(const struct foresight *foresight, const char *name)
{
    for (uint32_t i = foresight->n_known; i-- > 0;)
        if (strcmp(foresight->known[i].name, name) == 0)
            return &foresight->known[i];
    return NULL;
}

/* The extents of the arguments of a step's problem, as far as known, for problem_infer(). */
struct extents {
    const int64_t *dims[PROBLEM_MAX_ARGUMENTS];
    uint32_t n_dims[PROBLEM_MAX_ARGUMENTS];
    int64_t own[PROBLEM_MAX_ARGUMENTS][2]; /* the target of `dims` if the array is not known */
};

static void set_extents(struct extents *extents, uint32_t index, uint32_t n_dims, int64_t rows, int64_t cols)
{
    extents->own[index][0] = rows;
    extents->own[index][1] = cols;
    extents->dims[index] = extents->own[index];
    extents->n_dims[index] = n_dims;
}

/* The arrays of pointers and of indices of a future compressed matrix. */
static void count_elements(const struct argument *argument, const struct matrix *matrix,
                           struct extents *extents)
{
    const int64_t lines = argument->storage == STORAGE_CSC ? matrix->cols : matrix->rows;
    const int64_t n = matrix_is_sparse(matrix) ? matrix_stored(matrix) : matrix_nonzeros(matrix);
    set_extents(extents, argument->pointers, 1, lines + 1, 1);
    set_extents(extents, argument->indices, 1, n, 1);
}

/* The numbers of diagonals of a future band. */
static void measure_band(const struct problem *problem, const struct argument *argument,
                         const struct matrix *matrix, struct number *scalars)
{
    int64_t reach[2];
    abstract_reach(matrix, &reach[0], &reach[1]);
    for (unsigned side = 0; side < 2; side++) {
        uint32_t name;
        bool both;
        if (!problem_band_width(argument, side, &name, &both) || problem->arguments[name].initial)
            continue;
        const int64_t width = both && reach[1 - side] > reach[side] ? reach[1 - side] : reach[side];
        scalars[name] = (struct number){.kind = NUMBER_INTEGER, .integer = width};
    }
}

/* A matrix that is here gives more than its extents. */
static void look_inside(const struct foresight *foresight, const struct problem *problem, uint32_t index,
                        const struct matrix *matrix, struct extents *extents, struct number *scalars)
{
    const struct argument *argument = &problem->arguments[index];
    if (argument->storage == STORAGE_CSC || argument->storage == STORAGE_CSR)
        count_elements(argument, matrix, extents);
    else if (argument->storage == STORAGE_BANDED)
        measure_band(problem, argument, matrix, scalars);
    else if (argument->storage == STORAGE_FULL && argument->mode == MODE_INOUT &&
             abstract_wanted_rows(foresight->run, problem, argument) > matrix->rows)
        set_extents(extents, index, argument->n_dims, abstract_wanted_rows(foresight->run, problem, argument),
                    matrix->cols);
}

/* Finds the scalars of the step's problem: from the rule, from the given values, or from arrays. Copies no
 * array, because the step's arrays may be far larger than the given ones. */
static enum esp_status infer(struct foresight *foresight, const struct step *step,
                             const struct problem *problem, struct number *scalars, struct esp_error *error)
{
    struct extents extents = {.dims = {NULL}};
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        scalars[i] = (struct number){.kind = NUMBER_UNKNOWN};
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        const struct pair *pair = abstract_renamed(step, argument->name);
        const char *outer = pair && pair->outer ? pair->outer : argument->name;
        const struct known_array *array = argument->n_dims > 0 ? find_array(foresight, outer) : NULL;
        const struct matrix *matrix = array && foresight->run ? abstract_find(foresight->run, outer) : NULL;
        double value;
        if (!argument_is_input(argument))
            continue;
        if (argument->n_dims == 0)
            foresight_take(foresight, outer);
        if (array) {
            extents.dims[i] = array->shape.dims;
            extents.n_dims[i] = array->shape.n_dims;
        } else if (argument->n_dims == 0 && pair && !pair->outer) {
            scalars[i] = foresight_number(pair->value, argument->type);
        } else if (argument->n_dims == 0 && scalars[i].kind == NUMBER_UNKNOWN &&
                   foresight_scalar(foresight, outer, &value)) {
            scalars[i] = foresight_number(value, argument->type);
        }
        if (matrix)
            look_inside(foresight, problem, i, matrix, &extents, scalars);
    }
    return problem_infer(problem, extents.dims, extents.n_dims, scalars, error);
}

/* Takes the scalars from the prepared values. */
static void take_scalars(const struct values *values, struct number *scalars)
{
    for (size_t i = 0; i < values->problem->n_arguments; i++) {
        const struct esp_problem_argument *formal = &values->problem->arguments[i];
        const struct esp_argument *argument = &values->arguments[i];
        scalars[i] = (struct number){.kind = NUMBER_UNKNOWN};
        if (formal->mode == ESP_MODE_OUT || formal->n_dims > 0 || formal->type > ESP_TYPE_DOUBLE)
            continue;
        if (argument->data)
            scalars[i] = number_load((enum base_type)(formal->type - 1), argument->data);
        else if (argument->completed && formal->type >= ESP_TYPE_FLOAT)
            scalars[i] = (struct number){.kind = NUMBER_REAL, .real = argument->value.real};
        else if (argument->completed)
            scalars[i] = (struct number){.kind = NUMBER_INTEGER, .integer = argument->value.integer};
    }
}

static bool takes_state(const struct esp_problem *problem)
{
    for (size_t i = 0; i < problem->n_arguments; i++)
        if (problem->arguments[i].type == ESP_TYPE_STATE && problem->arguments[i].mode != ESP_MODE_OUT)
            return true;
    return false;
}

/* Whether the step takes data on servers: then their transfer counts, which sizes alone do not give. */
static bool takes_data(const struct foresight *foresight, const struct step *step,
                       const struct problem *problem)
{
    bool takes = false;
    for (uint32_t i = 0; foresight->run && i < problem->n_arguments && !takes; i++) {
        const struct pair *pair = abstract_renamed(step, problem->arguments[i].name);
        const char *outer = pair && pair->outer ? pair->outer : problem->arguments[i].name;
        takes = argument_is_input(&problem->arguments[i]) && abstract_find_datum(foresight->run, outer);
    }
    return takes;
}

/* Forecasts the step by its arguments. Returns ESP_PENDING if some are missing, so that scalars must do;
 * *known says whether these are known. */
static enum esp_status by_arguments(const struct foresight *foresight, const struct step *step,
                                    const char *name, bool *known, struct number *scalars,
                                    struct gathered *told, struct esp_error *error)
{
    struct esp_problem *problem = NULL;
    struct values values = {0};
    struct esp_error unread;
    enum esp_status status = ESP_PENDING;
    *known = abstract_prepare_step(foresight->run, NULL, step, name, &problem, &values, &unread) == ESP_OK;
    if (*known)
        take_scalars(&values, scalars);
    if (*known && !takes_state(problem))
        status = forecast_of_arguments(name, values.arguments, problem->n_arguments, foresight->options,
                                       foresight->reach, &told->servers, &told->n, error);
    values_clear(&values);
    esp_problem_free(problem);
    return status;
}

/* The fill of the step's compressed matrices, as far as they are here. */
static void analyse(const struct foresight *foresight, const struct step *step, const struct problem *problem,
                    struct number *fills)
{
    memset(fills, 0, problem->n_arguments * sizeof *fills);
    for (uint32_t i = 0; foresight->run && i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        const struct pair *pair = abstract_renamed(step, argument->name);
        const struct matrix *matrix =
            invocation_fill_matters(problem, i)
                ? abstract_find(foresight->run, pair && pair->outer ? pair->outer : argument->name)
                : NULL;
        struct fill fill;
        if (matrix && matrix_is_sparse(matrix) && matrix->rows == matrix->cols &&
            fill_by_pattern(matrix->cols, matrix->starts, matrix->indices, true, 0, &fill))
            fills[i] = fill_number(&fill);
    }
}

static enum esp_status by_scalars(const struct foresight *foresight, const struct problem *problem,
                                  const struct number *scalars, const struct number *fills,
                                  struct gathered *told, struct esp_error *error)
{
    struct fast_value values[PROBLEM_MAX_ARGUMENTS];
    size_t n_values = 0;
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (scalars[i].kind != NUMBER_UNKNOWN)
            values[n_values++] = (struct fast_value){
                problem->arguments[i].name,
                scalars[i].kind == NUMBER_REAL ? scalars[i].real : (double)scalars[i].integer};
    const struct fast_call call = {problem->name, values, n_values};
    return forecast_of_sizes(&call, fills, foresight->options, foresight->reach, &told->servers, &told->n,
                             error);
}

static void keep_outputs(struct foresight *foresight, const struct step *step, const struct problem *problem,
                         const struct number *scalars)
{
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    struct esp_error unread;
    if (foresight_shapes(problem, scalars, shapes, &unread) != ESP_OK)
        return;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct pair *pair = abstract_renamed(step, problem->arguments[i].name);
        if (!argument_is_output(&problem->arguments[i]) || problem->arguments[i].n_dims == 0)
            continue;
        /* The names of the step outlive the function that was asked for. */
        if (pair && pair->outer)
            foresight_set_array(foresight, pair->outer, &shapes[i]);
        else if (!pair)
            foresight_set_array(foresight, package_text(foresight->steps, problem->arguments[i].name),
                                &shapes[i]);
        for (uint32_t k = 0; k < step->n_results; k++)
            if (strcmp(step->results[k].inner, problem->arguments[i].name) == 0)
                foresight_set_array(foresight, step->results[k].outer, &shapes[i]);
    }
}

static bool wants_state(const struct problem *problem)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (problem->arguments[i].type == TYPE_STATE && argument_is_input(&problem->arguments[i]))
            return true;
    return false;
}

/* Adds the forecasts of a step with this problem to *gathered, and notes the shapes of its results. */
static void foresight_step(struct foresight *foresight, const struct step *step,
                           const struct problem *problem, struct gathered *gathered)
{
    struct number scalars[PROBLEM_MAX_ARGUMENTS];
    struct esp_error *why = &gathered->why;
    bool known = false;
    enum esp_status status = ESP_PENDING;
    if (takes_data(foresight, step, problem))
        status = by_arguments(foresight, step, problem->name, &known, scalars, gathered, why);
    if (status == ESP_PENDING) {
        struct number fills[PROBLEM_MAX_ARGUMENTS];
        analyse(foresight, step, problem, fills);
        status = known ? ESP_OK : infer(foresight, step, problem, scalars, why);
        if (status == ESP_OK)
            status = by_scalars(foresight, problem, scalars, fills, gathered, why);
        known = known || status == ESP_OK;
    }
    if (known)
        keep_outputs(foresight, step, problem, scalars);
    gathered->wants_state = wants_state(problem);
    gathered->status = status;
}
