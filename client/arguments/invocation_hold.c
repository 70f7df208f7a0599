/* SPDX-License-Identifier: Apache-2.0 */
#include "client/arguments/invocation_hold.h"
#include "client/data/data.h"
#include "client/data/grid_data.h"
#include "client/arguments/invocation_data.h"
#include "client/data/sequence.h"

#include <stdlib.h>
#include <string.h>

/* ---- data of grpc_data.h ---- */

static void take_output(struct value *value, struct grid_data *grid)
{
    value->result = holding_use(grid->holding); /* expected from hold_enter() on */
    value->out = grid_only_memory(grid);
    value->is_kept = !value->out && (value->form == VALUE_MEMORY || value->form == VALUE_TEXTS);
    enum datum_mode mode;
    uint32_t flags;
    grid_left_mode(grid, &mode, &flags);
    value->kept_mode = (uint32_t)mode;
    value->kept_flags = flags;
}

enum esp_status hold_take_data(struct value *value, const struct argument *argument, void *given,
                               bool *is_data, struct esp_error *error)
{
    bool was_freed;
    struct grid_data *grid = grid_at(given, &was_freed);
    *is_data = grid != NULL;
    if (was_freed)
        return error_set(error, ESP_INVALID,
                         "argument \"%s\": expected an array or data, found data that were freed or unbound",
                         argument->name);
    if (!grid)
        return ESP_OK;
    value->grid = grid; /* released with the value */
    if (argument->n_dims == 0 ||
        (value->form != VALUE_MEMORY && value->form != VALUE_SECTION && argument->type != TYPE_STRING))
        return error_set(error, ESP_INVALID,
                         "argument \"%s\": only arrays of numbers, characters and strings can be data",
                         argument->name);
    if (grid->is_container)
        return error_set(error, ESP_INVALID,
                         "argument \"%s\": expected data of one array, found a container of them",
                         argument->name);
    if (!datum_types_fit(grid->shape.type, argument->type))
        return error_set(error, ESP_INVALID, "argument \"%s\": expected data of %s, found %s", argument->name,
                         base_type_name(argument->type), base_type_name(grid->shape.type));
    if (argument_is_input(argument)) { /* from now on, also when the program frees it */
        holding_read(grid->holding);
        value->reads = true;
    }
    if (argument_is_output(argument))
        take_output(value, grid);
    if (argument_is_output(argument) && value->form == VALUE_SECTION && !value->out)
        return error_set(
            error, ESP_INVALID,
            "argument \"%s\": only a section of it comes back, so it cannot stay on a server: give "
            "the data a single output \"memory:KEY\"",
            argument->name);
    return ESP_OK;
}

void hold_enter(struct invocation *invocation)
{
    struct holding *results[PROBLEM_MAX_ARGUMENTS];
    struct holding_due *dues[PROBLEM_MAX_ARGUMENTS];
    size_t n = 0;
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        if (!value->result)
            continue;
        results[n] = value->result;
        dues[n++] = &value->due;
    }
    const uint64_t turn = holding_enter(results, dues, n);
    for (uint32_t i = 0; i < invocation->n_values; i++)
        invocation->values[i].due.turn = turn;
}

static enum esp_status check_data(const struct value *value, const struct problem *problem,
                                  const struct number *scope, const struct shape *shape,
                                  struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[value->index];
    struct datum_shape expected;
    char text[DATUM_SHAPE_TEXT], wanted[DATUM_SHAPE_TEXT];
    uint64_t whole = shape->whole_bytes > 0 ? shape->whole_bytes : value->bytes;
    if (!value->grid || (value->form != VALUE_TEXTS && value->grid->shape.bytes == whole) ||
        (value->form == VALUE_TEXTS && value->grid->shape.dims[0] == shape->dims[0]))
        return ESP_OK;
    if (value->form == VALUE_TEXTS)
        return error_set(error, ESP_INVALID,
                         "argument \"%s\": expected an array of %lld strings, found data of %s",
                         argument->name, (long long)shape->dims[0],
                         datum_shape_text(&value->grid->shape, text, sizeof text));
    enum esp_status status = datum_shape_of_argument(problem, value->index, scope, shape, &expected, error);
    if (status != ESP_OK)
        return status;
    return error_set(error, ESP_INVALID, "argument \"%s\": expected an array of %s, found data of %s",
                     argument->name, datum_shape_text(&expected, wanted, sizeof wanted),
                     datum_shape_text(&value->grid->shape, text, sizeof text));
}

static bool may_be_of_sequence(const struct value *value, const struct argument *argument)
{
    return argument->n_dims > 0 && (value->form == VALUE_MEMORY || value->form == VALUE_SECTION);
}

static uint64_t span_of(const struct shape *shape)
{
    return shape->whole_bytes > shape->bytes ? shape->whole_bytes : shape->bytes;
}

static enum esp_status take_shape(struct value *value, const struct problem *problem,
                                  const struct number *scope, const struct shape *shape,
                                  struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[value->index];
    if (value->shape || !(value->grid || value->held || value->result || value->is_kept))
        return ESP_OK;
    value->shape = malloc(sizeof *value->shape);
    if (!value->shape)
        return error_no_memory(error, argument->name);
    return datum_shape_of_argument(problem, value->index, scope, shape, value->shape, error);
}

enum esp_status hold_check(struct value *value, const struct problem *problem, const struct number *scope,
                           const struct shape *shape, struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[value->index];
    enum esp_status status = check_data(value, problem, scope, shape, error);
    if (status == ESP_OK && value->grid && value_goes_in(value, argument) && argument->n_dims > 0)
        status = grid_sync(value->grid, error);
    if (status == ESP_OK && may_be_of_sequence(value, argument))
        status = sequence_take_input(value, argument, span_of(shape), error);
    return status == ESP_OK ? take_shape(value, problem, scope, shape, error) : status;
}

enum esp_status hold_check_strings(struct value *value, const struct problem *problem,
                                   const struct number *scope, const struct shape *shape,
                                   struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[value->index];
    if (argument->type != TYPE_STRING || argument->mode != MODE_IN || !value->in || value->grid)
        return ESP_OK;
    enum esp_status status = sequence_take_strings(value, error);
    if (status == ESP_OK)
        status = take_shape(value, problem, scope, shape, error);
    if (value->held && value->shape)
        value->shape->bytes = value->bytes;
    return status;
}

enum esp_status hold_check_result(struct value *value, const struct problem *problem,
                                  const struct number *scope, const struct shape *shape,
                                  struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[value->index];
    enum esp_status status = ESP_OK;
    if (may_be_of_sequence(value, argument))
        status = sequence_take_result(value, problem, span_of(shape), error);
    return status == ESP_OK ? take_shape(value, problem, scope, shape, error) : status;
}

/* What is sent of memory, for a section. */
static enum esp_status gather(struct value *value, const void *whole, struct esp_error *error)
{
    value->loaded = malloc(value->bytes ? value->bytes : 1);
    if (!value->loaded)
        return error_no_memory(error, "an argument");
    section_gather(value->section, whole, value->loaded);
    value->in = value->loaded;
    return ESP_OK;
}

/* Its elements that do not travel are the result's too: the whole value goes where that belongs. */
static enum esp_status prepare_section(struct value *value, struct engine *engine, struct esp_error *error)
{
    char datum[DATUM_TEXT];
    struct grid_data *grid = value->grid;
    const void *memory = grid_borrow(grid, &value->loan);
    enum esp_status status = ESP_OK;
    if (!value->out)
        return gather(value, memory, error);
    if (holding_datum(grid->holding, datum))
        status = data_get(engine, datum, value->out, grid->shape.bytes, (struct data_told){0}, error);
    else if (memory != value->out)
        memmove(value->out, memory, grid->shape.bytes);
    return status == ESP_OK ? gather(value, value->out, error) : status;
}

/* What goes in is the value before the results of the call itself, and of those that began after it. */
static enum esp_status prepare_input(struct value *value, struct engine *engine, struct esp_error *error)
{
    char datum[DATUM_TEXT];
    struct grid_data *grid = value->grid;
    enum esp_status status =
        holding_wait_before(grid->holding, value->due.turn, engine->session_timeout_ms, error);
    if (status == ESP_PENDING)
        return error_set(error, ESP_TIMEOUT,
                         "another call that is to make the value of these data has not ended within the "
                         "%.3g s that a call may take",
                         (double)engine->session_timeout_ms / 1e3);
    if (status != ESP_OK && !grid_memory(grid) && !holding_datum(grid->holding, datum))
        return status;
    status = grid_take_in(grid, engine, false, error);
    if (status != ESP_OK)
        return status;
    bool on_servers = holding_datum(grid->holding, datum);
    if (value->section && (value->out || !on_servers))
        return prepare_section(value, engine, error);
    if (on_servers) {
        value->datum = strdup(datum);
        return value->datum ? ESP_OK : error_no_memory(error, "the identity of a datum");
    }
    value->in = grid_borrow(grid, &value->loan);
    if (grid->holding->required)
        value->held = holding_use(grid->holding);
    return ESP_OK;
}

enum esp_status hold_input(struct value *value, struct engine *engine, struct esp_error *error)
{
    return prepare_input(value, engine, error);
}

enum esp_status hold_for_job(struct invocation *invocation, struct esp_error *error)
{
    const struct problem *problem = invocation->function->problem;
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        if (value->is_kept && value->form == VALUE_TEXTS)
            return error_set(error, ESP_INVALID,
                             "%s: result \"%s\" cannot stay on a server: strings of jobs come to who fetches "
                             "them; call the problem, or put them then",
                             problem->name, problem->arguments[value->index].name);
        if (value->is_kept && problem->abstract)
            return error_set(error, ESP_INVALID,
                             "%s: result \"%s\" cannot stay on a server: the job is one of another problem; "
                             "call it, or submit that one",
                             problem->name, problem->arguments[value->index].name);
        if (value->grid) /* the job names it */
            holding_tell(value->grid->holding);
        if (!value->result)
            continue;
        holding_arrived(value->result, &value->due, NULL, NULL);
        holding_release(value->result);
        value->result = NULL;
    }
    return ESP_OK;
}

/* ---- before the call ---- */

enum esp_status hold_array(struct value *value, struct holding *holding, const struct datum_shape *shape,
                           struct esp_error *error)
{
    if (!value->shape && !(value->shape = malloc(sizeof *value->shape)))
        return error_no_memory(error, "an argument");
    *value->shape = *shape;
    value->held = holding_use(holding);
    return ESP_OK;
}

enum esp_status hold_prepare(struct invocation *invocation, struct engine *engine, struct esp_error *error)
{
    const struct problem *problem = invocation->function->problem;
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        const struct argument *argument = &problem->arguments[value->index];
        if (value->grid && value_goes_in(value, argument))
            status = prepare_input(value, engine, error);
        if (status != ESP_OK)
            error_prefix(error, "%s: argument \"%s\"", problem->name, argument->name);
    }
    return status;
}
