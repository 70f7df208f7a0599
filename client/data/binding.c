/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/binding.h"
#include "client/arguments/invocation_data.h"
#include "client/data/data.h"
#include "client/data/distant.h"
#include "client/data/grid_data.h"
#include "client/data/guard.h"
#include "client/data/holding.h"
#include "client/data/sequence.h"
#include "client/session/engine.h"
#include "core/data/datum_section.h"
#include "util/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- data of grpc_data.h ---- */

static void take_output(struct value *value, struct grid_data *grid)
{
    value->result = holding_use(grid->holding); /* expected from holding_enter_call() on */
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
    if (argument_is_input(argument)) { /* valid from now on, even if the program frees it */
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

/* The program wants the input to stay on the server. */
static enum esp_status hold_stay(struct value *value, const struct argument *argument,
                                 struct esp_error *error)
{
    if (!(value->stays & ESP_SESSION_INPUTS) || !value_goes_in(value, argument) || !value->in || value->datum)
        return ESP_OK;
    value->held = holding_create((enum datum_mode)value->kept_mode, 0, true);
    return value->held ? ESP_OK : error_no_memory(error, argument->name);
}

enum esp_status hold_check(struct value *value, const struct problem *problem, const struct number *scope,
                           const struct shape *shape, struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[value->index];
    enum esp_status status = hold_stay(value, argument, error);
    if (status == ESP_OK)
        status = check_data(value, problem, scope, shape, error);
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

/* Gathers the elements of a section that are sent. */
static enum esp_status gather(struct value *value, const void *whole, struct esp_error *error)
{
    value->loaded = malloc(value->bytes ? value->bytes : 1);
    if (!value->loaded)
        return error_no_memory(error, "an argument");
    section_gather(value->section, whole, value->loaded);
    value->in = value->loaded;
    return ESP_OK;
}

/* Elements outside the section belong to the result, too. So the whole value is first brought to the
 * memory of the result. */
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

/* The input is the value before the results of this call and of calls that began after it. */
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

/* Prepares one input. */
static enum esp_status hold_input(struct value *value, struct engine *engine, struct esp_error *error)
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
        if (value->grid) /* the job has its identity */
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

/* Before the call: finds data whose place is not known yet. May block. */
static enum esp_status hold_prepare(struct invocation *invocation, struct engine *engine,
                                    struct esp_error *error)
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

/* Servers have lost the value, but the program still has it: it is sent again. */
static bool may_send(struct value *value, enum esp_status status)
{
    if (!invocation_lost_datum(status) || !value->held || !value->in)
        return false;
    holding_unset(value->held, value->datum);
    free(value->datum);
    value->datum = NULL;
    return true;
}

/* The memory that a grpc_data_t was sent from still has the value: it is sent again, as for the first
 * time.
 */
static enum esp_status send_grid_again(struct value *value, struct engine *engine, enum esp_status status,
                                       struct esp_error *error)
{
    char datum[DATUM_TEXT];
    bool changed = false;
    if (!invocation_lost_datum(status) || !value->grid || !value->datum ||
        !holding_datum(value->grid->holding, datum))
        return status;
    if (grid_send_again(value->grid, datum, &changed)) {
        free(value->datum);
        value->datum = NULL;
        return hold_input(value, engine, error);
    }
    if (!changed)
        return status;
    char why[sizeof error->text];
    snprintf(why, sizeof why, "%s", error->text);
    return error_set(
        error, status,
        "its value is on no server any more, and the program has written over the memory that it was "
        "sent from: transfer the data with that input again (%s)",
        why);
}

static enum esp_status send_again(struct value *value, struct engine *engine, enum esp_status status,
                                  struct esp_error *error)
{
    return status == ESP_OK || may_send(value, status) ? ESP_OK
                                                       : send_grid_again(value, engine, status, error);
}

/* Does not wait for a server that is restarting if the value can be sent instead. */
static enum esp_status find_or_send(struct value *value, struct engine *engine, struct esp_error *error)
{
    const bool at_home = (value->held && value->in) || (value->grid && grid_memory(value->grid));
    enum esp_status status =
        send_again(value, engine, data_find_value(engine, value, !at_home, error), error);
    if (at_home && value->datum && invocation_lost_datum(status))
        status = send_again(value, engine, data_find_value(engine, value, true, error), error);
    return status;
}

/* Computes a lost result of a sequence again. */
static enum esp_status restore(struct value *value, struct engine *engine, struct esp_error *error)
{
    char datum[DATUM_TEXT];
    enum esp_status status = sequence_restore(value->held, error);
    if (status != ESP_OK || !holding_datum(value->held, datum))
        return status;
    free(value->datum);
    value->datum = strdup(datum);
    return value->datum ? data_find_value(engine, value, true, error)
                        : error_no_memory(error, "the identity of a datum");
}

/* Fetches strings that the routine changes, because servers map values read-only. */
static enum esp_status bring_strings(struct engine *engine, struct value *value,
                                     const struct argument *argument, struct esp_error *error)
{
    uint64_t n = 0;
    if (!value->datum || value->form != VALUE_TEXTS || !argument_is_output(argument))
        return ESP_OK;
    enum esp_status status = data_get_strings(engine, value->datum, &value->loaded, &value->bytes, &n, error);
    if (status == ESP_OK && n != value->n_texts)
        return error_set(error, ESP_INVALID, "expected string[%llu], the datum is string[%llu]",
                         (unsigned long long)value->n_texts, (unsigned long long)n);
    value->in = value->loaded;
    free(value->datum);
    value->datum = NULL;
    return status;
}

/* Names the datum without its former holders. */
static enum esp_status name_again(struct value *value, struct esp_error *error)
{
    char *name = strndup(value->datum, strcspn(value->datum, " "));
    if (!name)
        return error_no_memory(error, "the identity of a datum");
    free(value->datum);
    value->datum = name;
    return ESP_OK;
}

/* A unique datum may not be copied: a call that takes it must go to its server. */
static enum esp_status go_to_unique(struct invocation *invocation, struct esp_error *error)
{
    const struct problem *problem = invocation->function->problem;
    if (invocation->home_by_datum)
        invocation->home[0] = 0;
    invocation->home_by_datum = false;
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        const struct value *value = &invocation->values[i];
        if (!value->datum || !value->is_unique)
            continue;
        if (invocation->home[0] && strcmp(invocation->home, value->holder) != 0)
            return error_set(
                error, ESP_REFUSED,
                "%s: argument \"%s\": its datum is unique and on server %s, but the call takes "
                "what cannot leave server %s: put one of them where the other is, and not as unique",
                problem->name, problem->arguments[value->index].name, value->holder, invocation->home);
        invocation->home_by_datum |= !invocation->home[0];
        memcpy(invocation->home, value->holder, sizeof invocation->home);
    }
    return ESP_OK;
}

static enum esp_status find_all(struct invocation *invocation, struct engine *engine, struct esp_error *error)
{
    const struct problem *problem = invocation->function->problem;
    enum esp_status status = hold_prepare(invocation, engine, error);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        status = bring_strings(engine, value, &problem->arguments[value->index], error);
        status = status == ESP_OK && value->datum ? find_or_send(value, engine, error)
                                                  : send_again(value, engine, status, error);
        if (invocation_lost_datum(status) && value->held && !value->grid)
            status = restore(value, engine, error);
        if (status != ESP_OK)
            error_prefix(error, "%s: argument \"%s\"", problem->name, problem->arguments[value->index].name);
    }
    if (status == ESP_OK)
        status = go_to_unique(invocation, error);
    if (status == ESP_OK)
        sequence_note_call(invocation);
    return status;
}

enum esp_status invocation_find_data(struct invocation *invocation, struct engine *engine, int64_t until_ns,
                                     struct esp_error *error)
{
    const bool takes_data = invocation_takes_data(invocation);
    const int64_t before_ns = deadline_begin(until_ns);
    enum esp_status status = find_all(invocation, engine, error);
    deadline_end(before_ns);
    invocation->until_ns = until_ns == CLOCK_NEVER ? 0 : until_ns;
    if (status == ESP_OK && takes_data && clock_now_ns(engine->clock) >= until_ns)
        status = error_set(error, ESP_TIMEOUT,
                           "%s: its time is over: to find its data took all of it; give it more",
                           invocation->function->problem->name);
    return status;
}

enum esp_status invocation_find_again(struct invocation *invocation, struct engine *engine,
                                      struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    bool any = false;
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        if (!value->datum || !value->held || value->grid)
            continue;
        any = true;
        status = name_again(value, error);
        if (status == ESP_OK)
            status = data_find_value(engine, value, true, error);
        if (invocation_lost_datum(status))
            status = restore(value, engine, error);
    }
    if (status == ESP_OK && any)
        status = go_to_unique(invocation, error);
    return status == ESP_OK && !any ? error_set(error, ESP_NOT_FOUND, "none of its data is a sequence's")
                                    : status;
}

/* ---- back to memory ---- */

/* A result that only a sequence wants to leave on servers also has memory of the program. If no server has
 * the memory for the call, the call is tried with that result in the program's memory before it fails. */

static bool bring_result(struct value *value)
{
    const bool comes = value->result && value->is_kept && !value->grid && !value->kept && value->out;
    if (comes) {
        value->is_kept = false;
        guard_forget(value->out, value->bytes); /* contents that an earlier call has left there */
    }
    return comes;
}

/* If the value is already on a server, it stays there for other calls; this call sends it. */
static bool bring_input(struct value *value)
{
    if (!value->held || value->held->required || value->grid || !value->in)
        return false;
    holding_release(value->held);
    value->held = NULL;
    free(value->datum);
    value->datum = NULL;
    value->holder[0] = 0;
    return true;
}

bool hold_bring_home(struct invocation *invocation)
{
    bool any = false;
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        any |= bring_result(&invocation->values[i]);
        any |= bring_input(&invocation->values[i]);
    }
    return any;
}

/* Arrays that stay on the server of a call. Inputs are put there before the call. Results are left there,
 * or put back. */

/* ---- inputs that stay ---- */

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
        status = deadline_call(engine->transport, address, &request, engine->call_timeout_ms, &reply, error);
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
        if (status == ESP_OK && value->grid)
            grid_note_sent(value->grid);
        holding_put_done(value->held, status == ESP_OK ? datum : NULL);
        if (status != ESP_OK)
            return status;
    }
    value->bulk = false;
    value->datum = strdup(datum);
    if (!value->datum)
        return error_no_memory(error, "the identity of a datum");
    /* Agents learn a little later of data that another call has put. */
    return put_now ? ESP_OK : data_find_value(engine, value, true, error);
}

/* Several arrays are put at the same time, each with its own waits. */
struct leaving {
    struct thread_job job;
    struct value *value;
    struct engine *engine;
    const char *server, *address;
    enum esp_status status;
    struct esp_error error;
    bool submitted;
    pthread_mutex_t *lock; /* for `done` */
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

/* This thread puts the arrays that no other thread has begun. */
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
            holding_release(value->held); /* the value is sent, and does not stay */
            value->held = NULL;
        }
    }
    free(all);
    return status;
}

/* ---- results that stay ---- */

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
    if (datum && value->out && also && value->form != VALUE_TEXTS)
        status = data_get(engine, datum, value->out, value->bytes, (struct data_told){0}, error);
    if (status == ESP_OK && datum && value->kept && !(*value->kept = strdup(datum)))
        status = error_no_memory(error, "the identity of a datum");
    if (status != ESP_OK || !value->result)
        return status;
    if (value->grid)
        grid_set_memory(value->grid, datum ? NULL : value->out);
    else if (value->distant && datum && value->out)
        status = distant_settle(value->distant, datum, value->edges, error);
    else if (value->distant)
        distant_void(value->distant);
    if (status != ESP_OK)
        return status;
    struct holding *result = value->result;
    value->result = NULL;
    holding_arrived(result, &value->due, datum ? datum : "", NULL);
    holding_release(result);
    return value->grid ? grid_bring_result(value->grid, engine, error) : ESP_OK;
}

static enum esp_status put_result(struct value *value, struct engine *engine, const char *server,
                                  const char *address, struct esp_error *error)
{
    char datum[DATUM_TEXT] = "", name[CAP_NAME + 1];
    const struct datum_info info = describe(value, (enum datum_mode)value->kept_mode, value->kept_flags);
    enum esp_status status = name_of(engine, server, address, name, error);
    if (status == ESP_OK)
        status = data_put(engine, name, address, &info, value->received, (struct data_told){0}, datum, error);
    if (status == ESP_OK && !(value->stayed = strdup(datum)))
        status = error_no_memory(error, "the identity of a datum");
    return status;
}

enum esp_status hold_results(struct invocation *invocation, struct engine *engine, const char *server,
                             const char *address, struct esp_error *error)
{
    const struct problem *problem = invocation->function->problem;
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; i < invocation->n_values; i++)
        stop_reading(&invocation->values[i]);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        if (value->is_kept && value->form == VALUE_TEXTS && value->received) {
            value->shape->bytes = value->n_received;
            status = put_result(value, engine, server, address, error);
        }
        if (status == ESP_OK)
            status = settle(value, engine, error);
        if (status != ESP_OK)
            error_prefix(error, "%s: result \"%s\"", problem->name, problem->arguments[value->index].name);
        if (value->grid)
            grid_drop_old(value->grid, engine, false);
    }
    return status;
}

enum esp_status hold_put_results(struct invocation *invocation, struct engine *engine, const char *server,
                                 struct esp_error *error)
{
    char address[CAP_ADDRESS + 1] = "";
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        if (!value->is_kept || value->stayed)
            continue;
        status = engine_resolve(engine, server, address, error);
        if (status == ESP_OK)
            status = put_result(value, engine, server, address, error);
        if (status == ESP_OK && value->out && datum_mode_returns((enum datum_mode)value->kept_mode))
            memcpy(value->out, value->received, value->bytes);
        value->out = NULL; /* it need not come from the server */
    }
    return status == ESP_OK ? hold_results(invocation, engine, server, address, error) : status;
}

void hold_release(struct value *value)
{
    struct esp_error why;
    if (value->result) {
        error_set(&why, ESP_FAILED, "the call that was to make it has failed");
        holding_arrived(value->result, &value->due, NULL, &why);
    }
    stop_reading(value);
    struct engine *engine = value->grid ? atomic_load(&value->grid->freed_by) : NULL;
    if (engine)
        grid_drop_old(value->grid, engine, false);
    if (value->distant)
        distant_void(value->distant);
    distant_release(value->distant);
    holding_release(value->result);
    holding_release(value->held);
    grid_return(value->loan);
    grid_release(value->grid);
}
