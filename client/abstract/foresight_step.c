/* SPDX-License-Identifier: Apache-2.0 */
#include "client/abstract/foresight_parts.h"
#include "client/arguments/invocation_fill.h"
#include "client/forecast.h"
#include "client/session/session.h"
#include "core/problem/fill.h"

#include <string.h>

static const struct known_array *find_array(const struct foresight *foresight, const char *name)
{
    for (uint32_t i = foresight->n_known; i-- > 0;)
        if (strcmp(foresight->known[i].name, name) == 0)
            return &foresight->known[i];
    return NULL;
}

/* The extents of the arguments of a step's problem, as far as they are known, for problem_infer(). */
struct extents {
    const int64_t *dims[PROBLEM_MAX_ARGUMENTS];
    uint32_t n_dims[PROBLEM_MAX_ARGUMENTS];
    int64_t own[PROBLEM_MAX_ARGUMENTS][2]; /* where `dims` points when they are no known array's */
};

static void set_extents(struct extents *extents, uint32_t index, uint32_t n_dims, int64_t rows, int64_t cols)
{
    extents->own[index][0] = rows;
    extents->own[index][1] = cols;
    extents->dims[index] = extents->own[index];
    extents->n_dims[index] = n_dims;
}

/* The arrays of pointers and of indices that a compressed matrix will have. */
static void count_elements(const struct argument *argument, const struct matrix *matrix,
                           struct extents *extents)
{
    const int64_t lines = argument->storage == STORAGE_CSC ? matrix->cols : matrix->rows;
    const int64_t n = matrix_is_sparse(matrix) ? matrix_stored(matrix) : matrix_nonzeros(matrix);
    set_extents(extents, argument->pointers, 1, lines + 1, 1);
    set_extents(extents, argument->indices, 1, n, 1);
}

/* The numbers of diagonals that a band will have. */
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

/* A matrix that is here tells more than its extents. */
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

/* Scalars of the step's problem: as the rule says, as they were given, or as the arrays have them. No array
 * is copied: those that the step will get may be far larger than what is given. */
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

/* As the prepared values have them. */
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

/* Whether the step takes data that live on servers: their way counts, which sizes do not tell. */
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

/* By what is there for the step. ESP_PENDING: it is not all there, so that scalars must tell; they are
 * known if *known. */
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

/* The fill of the step's compressed matrices, as far as these are here. */
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
        /* The step's own names outlive the function that was asked for it. */
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

void foresight_step(struct foresight *foresight, const struct step *step, const struct problem *problem,
                    struct gathered *gathered)
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
