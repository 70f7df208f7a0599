/* SPDX-License-Identifier: Apache-2.0 */
#include "client/arguments/invocation_hold.h"
#include "client/data/data.h"
#include "client/data/grid_data.h"
#include "client/data/grid_transfer.h"
#include "client/arguments/invocation_data.h"
#include "client/data/sequence.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- data of grpc_data.h ---- */

static void take_output(struct value *value, struct grid_data *grid)
{
    value->result = holding_use(grid->holding);
    holding_expect(value->result, &value->due);
    value->out = grid_only_memory(grid);
    value->is_kept = !value->out && value->form == VALUE_MEMORY;
    value->kept_mode = (uint32_t)grid->holding->mode;
    value->kept_flags = grid->holding->flags;
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
    if (argument->n_dims == 0 || (value->form != VALUE_MEMORY && value->form != VALUE_SECTION))
        return error_set(error, ESP_INVALID,
                         "argument \"%s\": only arrays of numbers and characters can be data",
                         argument->name);
    if (grid->is_container)
        return error_set(error, ESP_INVALID,
                         "argument \"%s\": expected data of one array, found a container of them",
                         argument->name);
    if (!datum_types_fit(grid->shape.type, argument->type))
        return error_set(error, ESP_INVALID, "argument \"%s\": expected data of %s, found %s", argument->name,
                         base_type_name(argument->type), base_type_name(grid->shape.type));
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

static enum esp_status check_data(const struct value *value, const struct argument *argument,
                                  const struct shape *shape, struct esp_error *error)
{
    char text[DATUM_SHAPE_TEXT];
    uint64_t whole = shape->whole_bytes > 0 ? shape->whole_bytes : value->bytes;
    if (!value->grid || value->grid->shape.bytes == whole)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "argument \"%s\": expected an array of %llu bytes, found data of %s",
                     argument->name, (unsigned long long)whole,
                     datum_shape_text(&value->grid->shape, text, sizeof text));
}

static bool may_be_of_sequence(const struct value *value, const struct argument *argument)
{
    return sequence_is_open() && argument->n_dims > 0 &&
           (value->form == VALUE_MEMORY || value->form == VALUE_SECTION);
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
    enum esp_status status = check_data(value, argument, shape, error);
    if (status == ESP_OK && may_be_of_sequence(value, argument))
        status = sequence_take_input(value, argument, problem->abstract != NULL, span_of(shape), error);
    return status == ESP_OK ? take_shape(value, problem, scope, shape, error) : status;
}

enum esp_status hold_check_result(struct value *value, const struct problem *problem,
                                  const struct number *scope, const struct shape *shape,
                                  struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[value->index];
    enum esp_status status = ESP_OK;
    if (may_be_of_sequence(value, argument))
        status = sequence_take_result(value, argument, problem->abstract != NULL, span_of(shape), error);
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
    const void *memory = grid_memory(grid);
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
        holding_read(grid->holding);
        value->reads = true;
        value->datum = strdup(datum);
        return value->datum ? ESP_OK : error_no_memory(error, "the identity of a datum");
    }
    value->in = grid_memory(grid);
    if (grid->holding->required)
        value->held = holding_use(grid->holding);
    return ESP_OK;
}

enum esp_status hold_for_job(struct invocation *invocation, struct esp_error *error)
{
    const struct problem *problem = invocation->function->problem;
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        if (value->stays)
            return error_set(error, ESP_INVALID,
                             "%s: argument \"%s\" cannot stay for orders: nobody is told of what a job took; "
                             "put it as a datum first, or call the problem",
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

/* Matrices are made of the arguments of abstract problems here: their values have to come. */
static enum esp_status fetch(struct value *value, struct engine *engine, struct esp_error *error)
{
    value->loaded = malloc(value->bytes ? value->bytes : 1);
    if (!value->loaded)
        return error_no_memory(error, "an argument");
    enum esp_status status =
        data_get(engine, value->datum, value->loaded, value->bytes, (struct data_told){0}, error);
    value->in = value->loaded;
    free(value->datum);
    value->datum = NULL;
    return status;
}

static enum esp_status prepare_abstract(struct value *value, struct engine *engine, struct esp_error *error)
{
    if (value->datum && fetch(value, engine, error) != ESP_OK)
        return error->status;
    holding_release(value->held);
    value->held = NULL;
    if (!value->is_kept)
        return ESP_OK;
    value->received = malloc(value->bytes ? value->bytes : 1);
    value->out = value->received;
    return value->out ? ESP_OK : error_no_memory(error, "a result");
}

enum esp_status hold_prepare(struct invocation *invocation, struct engine *engine, struct esp_error *error)
{
    const struct problem *problem = invocation->function->problem;
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        const struct argument *argument = &problem->arguments[value->index];
        if (value->grid && argument_is_input(argument))
            status = prepare_input(value, engine, error);
        if (status == ESP_OK && problem->abstract)
            status = prepare_abstract(value, engine, error);
        if (status != ESP_OK)
            error_prefix(error, "%s: argument \"%s\"", problem->name, argument->name);
    }
    return status;
}

/* ---- what goes in and stays ---- */

static struct datum_info describe(const struct value *value, enum datum_mode mode, uint32_t flags)
{
    const struct datum_shape *shape = value->shape;
    return (struct datum_info){.type = shape->type,
                               .dims = (int64_t *)shape->dims,
                               .n_dims = shape->n_dims,
                               .storage = shape->storage,
                               .layout_a = shape->layout[0],
                               .layout_b = shape->layout[1],
                               .layout_c = shape->layout[2],
                               .row_major = shape->row_major,
                               .bytes = shape->bytes,
                               .mode = mode,
                               .flags = flags,
                               .created_s = (int64_t)time(NULL)};
}

/* Data carry the name of the server that makes them. */
static enum esp_status name_of(struct engine *engine, const char *server, const char *address, char *name,
                               struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_GREET, .greet = {.minor = CONTRACT_MINOR}}, reply = {0};
    enum esp_status status = ESP_OK;
    snprintf(name, CAP_NAME + 1, "%s", server);
    if (strchr(server, ':')) {
        status = transport_call(engine->transport, address, &request, engine->call_timeout_ms, &reply, error);
        if (status == ESP_OK)
            snprintf(name, CAP_NAME + 1, "%s", reply.greet_reply.name);
        message_clear(&reply);
    }
    return status;
}

static enum esp_status put(const struct value *value, struct engine *engine, const char *server,
                           const char *address, char *datum, struct esp_error *error)
{
    char name[CAP_NAME + 1];
    const struct datum_info info = describe(value, value->held->mode, value->held->flags);
    enum esp_status status = name_of(engine, server, address, name, error);
    if (status == ESP_OK)
        status = data_put(engine, name, address, &info, value->in, (struct data_told){0}, datum, error);
    return status;
}

static enum esp_status leave(struct value *value, struct engine *engine, const char *server,
                             const char *address, struct esp_error *error)
{
    char datum[DATUM_TEXT];
    bool put_now = holding_claim(value->held, datum);
    if (put_now) {
        enum esp_status status = put(value, engine, server, address, datum, error);
        holding_put_done(value->held, status == ESP_OK ? datum : NULL);
        if (status != ESP_OK)
            return status;
    }
    value->bulk = false;
    value->datum = strdup(datum);
    if (!value->datum)
        return error_no_memory(error, "the identity of a datum");
    /* Agents hear of what another call has put a little later. */
    return put_now ? ESP_OK : invocation_find_datum(engine, value, error);
}

/* Several arrays are put at the same time: one waits for nobody's answers but its own. */
struct leaving {
    struct thread_job job;
    struct value *value;
    struct engine *engine;
    const char *server, *address;
    enum esp_status status;
    struct esp_error error;
    bool submitted;
    pthread_mutex_t *lock; /* of `done` */
    pthread_cond_t *changed;
    bool done;
};

static void leave_it(void *arg)
{
    struct leaving *one = arg;
    one->status = leave(one->value, one->engine, one->server, one->address, &one->error);
    pthread_mutex_lock(one->lock);
    one->done = true;
    pthread_cond_signal(one->changed);
    pthread_mutex_unlock(one->lock);
}

/* What no other thread has begun, this one does. */
static void leave_all(struct leaving *all, uint32_t n, struct engine *engine)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    for (uint32_t i = 0; i < n; i++) {
        all[i].lock = &lock;
        all[i].changed = &changed;
        all[i].job = (struct thread_job){.run = leave_it, .arg = &all[i]};
        all[i].submitted = i > 0 && thread_pool_submit(engine->runners, &all[i].job);
    }
    for (uint32_t i = 0; i < n; i++)
        if (!all[i].submitted || thread_pool_withdraw(engine->runners, &all[i].job))
            leave_it(&all[i]);
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < n; i++)
        while (!all[i].done)
            pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&changed);
    pthread_mutex_destroy(&lock);
}

enum esp_status hold_leave(struct invocation *invocation, struct engine *engine, const char *server,
                           const char *address, struct esp_error *error)
{
    const struct problem *problem = invocation->function->problem;
    uint32_t n = 0;
    for (uint32_t i = 0; i < invocation->n_values; i++)
        n += invocation->values[i].held && !invocation->values[i].datum;
    struct leaving *all = n > 0 ? calloc(n, sizeof *all) : NULL;
    if (n == 0)
        return ESP_OK;
    if (!all)
        return error_no_memory(error, "the arguments of a call");
    for (uint32_t i = 0, next = 0; i < invocation->n_values; i++)
        if (invocation->values[i].held && !invocation->values[i].datum)
            all[next++] = (struct leaving){
                .value = &invocation->values[i], .engine = engine, .server = server, .address = address};
    leave_all(all, n, engine);
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; i < n; i++) {
        struct value *value = all[i].value;
        if (all[i].status == ESP_OK)
            continue;
        if (value->held->required && status == ESP_OK) {
            *error = all[i].error;
            status = error_prefix(error, "%s: argument \"%s\"", problem->name,
                                  problem->arguments[value->index].name);
        } else if (!value->held->required) {
            holding_release(value->held); /* it is sent, and nothing stays */
            value->held = NULL;
        }
    }
    free(all);
    return status;
}

/* ---- what comes out and stays ---- */

static void stop_reading(struct value *value)
{
    if (value->reads)
        holding_read_done(value->grid->holding);
    value->reads = false;
}

static enum esp_status settle(struct value *value, struct engine *engine, struct esp_error *error)
{
    const char *datum = value->stayed;
    bool also = datum_mode_returns((enum datum_mode)value->kept_mode) || (!value->kept && !value->result);
    enum esp_status status = ESP_OK;
    if (datum && value->out && also)
        status = data_get(engine, datum, value->out, value->bytes, (struct data_told){0}, error);
    if (status == ESP_OK && datum && value->kept && !(*value->kept = strdup(datum)))
        status = error_no_memory(error, "the identity of a datum");
    if (status != ESP_OK || !value->result)
        return status;
    if (value->grid)
        grid_set_memory(value->grid, datum ? NULL : value->out, false);
    struct holding *result = value->result;
    value->result = NULL;
    holding_arrived(result, &value->due, datum ? datum : "", NULL);
    holding_release(result);
    return value->grid ? grid_bring_out(value->grid, engine, error) : ESP_OK;
}

enum esp_status hold_results(struct invocation *invocation, struct engine *engine, struct esp_error *error)
{
    const struct problem *problem = invocation->function->problem;
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; i < invocation->n_values; i++)
        stop_reading(&invocation->values[i]);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        status = settle(value, engine, error);
        if (status != ESP_OK)
            error_prefix(error, "%s: result \"%s\"", problem->name, problem->arguments[value->index].name);
        if (value->grid)
            grid_drop_old(value->grid, engine, false);
    }
    return status;
}

static enum esp_status put_result(struct value *value, struct engine *engine, const char *server,
                                  const char *address, struct esp_error *error)
{
    char datum[DATUM_TEXT] = "", name[CAP_NAME + 1];
    const struct datum_info info = describe(value, (enum datum_mode)value->kept_mode, value->kept_flags);
    enum esp_status status = name_of(engine, server, address, name, error);
    if (status == ESP_OK)
        status = data_put(engine, name, address, &info, value->received, (struct data_told){0}, datum, error);
    value->out = NULL;
    if (status == ESP_OK && !(value->stayed = strdup(datum)))
        status = error_no_memory(error, "the identity of a datum");
    return status;
}

enum esp_status hold_put_results(struct invocation *invocation, struct engine *engine, const char *server,
                                 struct esp_error *error)
{
    char address[CAP_ADDRESS + 1];
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        if (!value->is_kept)
            continue;
        status = engine_resolve(engine, server, address, error);
        if (status == ESP_OK)
            status = put_result(value, engine, server, address, error);
    }
    return status == ESP_OK ? hold_results(invocation, engine, error) : status;
}

void hold_release(struct value *value)
{
    struct esp_error why;
    if (value->result) {
        error_set(&why, ESP_FAILED, "the call that was to make it has failed");
        holding_arrived(value->result, &value->due, NULL, &why);
    }
    stop_reading(value);
    holding_release(value->result);
    holding_release(value->held);
    grid_release(value->grid);
    free(value->stayed);
    free(value->shape);
}
