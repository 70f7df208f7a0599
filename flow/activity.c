/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "flow/activity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What threads of the crew do. */
struct errand {
    struct crew_job job; /* first */
    enum errand_kind { ERRAND_PUT, ERRAND_GET, ERRAND_COPY, ERRAND_DROP, ERRAND_LOOK } kind;
    struct activity *activity;
    struct flow_datum *datum; /* PUT, GET, COPY */
    uint32_t task;            /* PUT: that the datum is the output of */
    uint8_t output;
    uint32_t server;
    void *ticket; /* COPY: of the message, or NULL */
    enum esp_status status;
    struct esp_error error;
    /* Copies of what the thread needs, as the rest changes meanwhile. */
    char *id, *server_name, *server_address;
    struct flow_array array;
    void *memory;
    enum esp_data_mode mode; /* PUT */
    /* LOOK: the activity's inputs, and whether they are lost. */
    char **ids;
    bool *lost, server_is_lost;
    uint32_t n_ids;
};

static void gather(struct execution *execution, struct activity *activity);
static void finish(struct execution *execution, struct activity *activity);

static const struct task *task_of(const struct execution *execution, const struct activity *activity)
{
    return &execution->plan->tasks[activity->task];
}

void execution_fail(struct execution *execution, const struct task *task, const struct esp_error *error)
{
    char place[300];
    if (execution->failed)
        return;
    execution->failed = true;
    execution->error = *error;
    if (task && task->call) {
        task_place(execution->plan, task, place, sizeof place);
        error_prefix(&execution->error, "%s", place);
    }
    flow_run_abort(execution->run, &execution->error);
}

static void fail_no_memory(struct execution *execution)
{
    struct esp_error error;
    error_no_memory(&error, "the run of a flow");
    execution_fail(execution, NULL, &error);
}

/* With a journal, data outlive the client. */
static enum esp_data_mode mode_of(const struct execution *execution)
{
    return execution->journal ? ESP_DATA_PERSISTENT : ESP_DATA_VOLATILE;
}

/* ---- errands ---- */

static void put(struct errand *errand)
{
    struct esp_argument argument = {.data = errand->memory,
                                    .type = (enum esp_type)(errand->array.type + 1),
                                    .n_dims = errand->array.shape.n_dims};
    memcpy(argument.dims, errand->array.shape.dims, sizeof argument.dims);
    errand->status = esp_data_put(errand->server_name, &argument, errand->mode, NULL, NULL, &errand->id);
}

static void look(struct errand *errand)
{
    for (uint32_t i = 0; i < errand->n_ids; i++) {
        struct esp_data_info *infos;
        size_t n;
        if (!errand->ids[i])
            continue;
        errand->lost[i] = esp_data_look(errand->ids[i], &infos, &n) != ESP_OK || n == 0;
        esp_data_free(infos);
    }
    errand->server_is_lost =
        errand->server_address && esp_greet(errand->server_address, NULL, NULL) != ESP_OK;
    errand->status = ESP_OK;
}

static void work(struct crew_job *job)
{
    struct errand *errand = (struct errand *)job;
    switch (errand->kind) {
    case ERRAND_PUT:
        put(errand);
        break;
    case ERRAND_GET:
        errand->status = esp_data_get(errand->id, errand->memory, errand->array.shape.bytes, NULL, NULL);
        break;
    case ERRAND_COPY:
        errand->status = esp_data_copy(errand->id, errand->server_name, 0, NULL, NULL);
        break;
    case ERRAND_DROP:
        errand->status = esp_data_drop(errand->id);
        break;
    case ERRAND_LOOK:
        look(errand);
    }
    if (errand->status != ESP_OK)
        errand->error = *esp_last_error();
}

static void errand_destroy(struct errand *errand)
{
    for (uint32_t i = 0; errand->ids && i < errand->n_ids; i++)
        free(errand->ids[i]);
    free(errand->ids);
    free(errand->lost);
    free(errand->id);
    free(errand->server_name);
    free(errand->server_address);
    free(errand->memory);
    free(errand);
}

static struct errand *new_errand(struct execution *execution, enum errand_kind kind,
                                 struct activity *activity)
{
    struct errand *errand = calloc(1, sizeof *errand);
    if (!errand) {
        fail_no_memory(execution);
        return NULL;
    }
    errand->job.work = work;
    errand->kind = kind;
    errand->activity = activity;
    errand->server = SERVERS_NONE;
    return errand;
}

static void give(struct execution *execution, struct errand *errand)
{
    crew_give(execution->crew, &errand->job);
}

static bool set_server(struct execution *execution, struct errand *errand, uint32_t server)
{
    const struct flow_server *to = &execution->servers->servers[server];
    errand->server = server;
    errand->server_name = strdup(to->name);
    errand->server_address = strdup(to->address);
    if (errand->server_name && errand->server_address)
        return true;
    fail_no_memory(execution);
    return false;
}

/* ---- data ---- */

/* The bytes of a datum are noted at each server that has it. */
static void note_copy(struct execution *execution, struct flow_datum *datum, uint32_t server, uint64_t bytes)
{
    if (server == SERVERS_NONE || datum_has_copy(datum, server) || !datum_add_copy(datum, server))
        return;
    execution->servers->servers[server].data_bytes += bytes;
}

static void remove_copy(struct execution *execution, struct flow_datum *datum, uint32_t server)
{
    struct flow_server *at = &execution->servers->servers[server];
    if (!datum_has_copy(datum, server))
        return;
    datum_remove_copy(datum, server);
    at->data_bytes -= at->data_bytes < datum->bytes ? at->data_bytes : datum->bytes;
}

static void note_gone(struct execution *execution, struct flow_datum *datum)
{
    while (datum->n_copies)
        remove_copy(execution, datum, datum->copies[0]);
}

static void drop(struct execution *execution, char *id)
{
    struct errand *errand = id ? new_errand(execution, ERRAND_DROP, NULL) : NULL;
    if (!errand) {
        free(id);
        return;
    }
    errand->id = id;
    give(execution, errand);
}

void activity_forget(struct execution *execution, struct flow_datum *datum)
{
    if (datum->uses || datum->holds || datum->is_making)
        return;
    note_gone(execution, datum);
    if (datum->is_external)
        free(datum->id);
    else
        drop(execution, datum->id);
    datum->id = NULL;
    if (!datum->is_result)
        free(datum->memory);
    if (!datum->is_result)
        datum->memory = NULL;
}

void activity_forget_all(struct execution *execution)
{
    if (execution->failed && execution->journal)
        return; /* the next run goes on with them */
    uint64_t n = execution->data.data ? execution->data.first[execution->plan->n_tasks] : 0;
    for (uint64_t i = 0; i < n; i++) {
        struct flow_datum *datum = &execution->data.data[i];
        if (!datum->is_external)
            drop(execution, datum->id);
        else
            free(datum->id);
        datum->id = NULL;
    }
}

static void lose(struct execution *execution, struct flow_datum *datum)
{
    note_gone(execution, datum);
    free(datum->id);
    datum->id = NULL;
}

/* Whether all servers that are known to have it are lost. */
static bool is_lost(const struct execution *execution, const struct flow_datum *datum)
{
    for (uint32_t i = 0; i < datum->n_copies; i++)
        if (!execution->servers->servers[datum->copies[i]].is_lost)
            return false;
    return datum->n_copies > 0;
}

static void wait_for(struct execution *execution, struct flow_datum *datum, struct activity *activity)
{
    struct waiting *waiting = malloc(sizeof *waiting);
    activity->missing++;
    if (!waiting) {
        fail_no_memory(execution);
        return;
    }
    *waiting = (struct waiting){.activity = activity, .next = datum->waiting};
    datum->waiting = waiting;
}

static void wake(struct execution *execution, struct flow_datum *datum)
{
    datum->is_making = false;
    while (datum->waiting) {
        struct waiting *waiting = datum->waiting;
        struct activity *activity = waiting->activity;
        datum->waiting = waiting->next;
        free(waiting);
        if (--activity->missing == 0)
            gather(execution, activity);
    }
}

/* ---- inputs of the flow ---- */

static enum esp_status load(struct execution *execution, uint32_t task, struct flow_array *array,
                            void **memory, struct esp_error *error)
{
    const struct task *input = &execution->plan->tasks[task];
    enum esp_status status = flow_data_array(&execution->data, task, 0, array, error);
    if (status != ESP_OK)
        return status;
    *memory = malloc(array->shape.bytes + 1);
    if (!*memory)
        return error_no_memory(error, "an input of a flow");
    status = inputs_read(execution->spec->inputs, input->call->targets[0], array, *memory, error);
    if (status != ESP_OK) {
        free(*memory);
        *memory = NULL;
    }
    return status;
}

/* Makes an input of the flow available. True: it is. False: a server gets it, or the run has failed. */
static bool make_input(struct execution *execution, struct flow_datum *datum, uint32_t task, uint32_t server)
{
    struct flow_array array;
    struct esp_error error;
    void *memory;
    const struct task *input = &execution->plan->tasks[task];
    datum->id = inputs_datum(execution->spec->inputs, input->call->targets[0]);
    datum->is_external = datum->id != NULL;
    if (datum->id)
        return true;
    if (load(execution, task, &array, &memory, &error) != ESP_OK) {
        execution_fail(execution, input, &error);
        return false;
    }
    bool is_placed = input->threads != execution->plan->client;
    if (array.shape.bytes <= EXECUTION_INLINE_BYTES && !is_placed) {
        datum->memory = memory;
        return true;
    }
    struct errand *errand = new_errand(execution, ERRAND_PUT, NULL);
    if (!errand) {
        free(memory);
        return false;
    }
    errand->mode = mode_of(execution);
    errand->memory = memory;
    errand->array = array;
    errand->datum = datum;
    errand->task = task;
    if (is_placed)
        server = execution->servers->nodes[execution->plan->threads[input->threads].nodes[input->thread]];
    if (!set_server(execution, errand, server == SERVERS_NONE ? execution->servers->nodes[0] : server)) {
        errand_destroy(errand);
        return false;
    }
    datum->is_making = true;
    give(execution, errand);
    return false;
}

/* ---- gathering ---- */

/* The server of the task's thread; SERVERS_NONE: the agents choose. */
static uint32_t server_of(const struct execution *execution, const struct task *task)
{
    const struct flow_plan *plan = execution->plan;
    if (task->threads == plan->anywhere || task->threads == plan->client)
        return SERVERS_NONE;
    return execution->servers->nodes[plan->threads[task->threads].nodes[task->thread]];
}

/* Whether the datum is there. Otherwise its making is under way, and the activity waits for it. */
static bool require(struct execution *execution, struct activity *activity, uint32_t task, uint8_t output)
{
    struct flow_datum *datum = flow_data_output(&execution->data, task, output);
    if (datum->id && is_lost(execution, datum))
        lose(execution, datum);
    if (datum->id || datum->memory)
        return true;
    if (!datum->is_making && task_is(&execution->plan->tasks[task], STATEMENT_INPUT)) {
        if (make_input(execution, datum, task, server_of(execution, task_of(execution, activity))))
            return true;
        wait_for(execution, datum, activity);
        return false;
    }
    wait_for(execution, datum, activity);
    if (!datum->is_making) {
        datum->is_making = true;
        activity_begin(execution, task, NULL);
    }
    return false;
}

static void call(struct execution *execution, struct activity *activity);

/* A result comes to the client. */
static void fetch(struct execution *execution, struct activity *activity)
{
    const struct task *task = task_of(execution, activity);
    for (uint32_t i = 0; i < task->n_inputs && !execution->failed; i++) {
        const struct task_input *input = &execution->plan->inputs[task->first_input + i];
        struct flow_datum *datum = flow_data_input(&execution->data, task->first_input + i);
        if (datum && datum->memory)
            datum->is_result = true;
        if (!datum || datum->memory)
            continue;
        struct errand *errand = new_errand(execution, ERRAND_GET, activity);
        if (!errand)
            return;
        errand->datum = datum;
        errand->id = strdup(datum->id);
        if (flow_data_array(&execution->data, input->producer, input->output, &errand->array,
                            &errand->error) == ESP_OK)
            errand->memory = malloc(errand->array.shape.bytes + 1);
        if (!errand->memory || !errand->id) {
            fail_no_memory(execution);
            errand_destroy(errand);
            return;
        }
        activity->missing++;
        give(execution, errand);
    }
    if (activity->missing == 0 && !execution->failed)
        finish(execution, activity);
}

/* Goes on when all that the task reads is there. */
static void gather(struct execution *execution, struct activity *activity)
{
    const struct task *task = task_of(execution, activity);
    if (execution->failed)
        return;
    activity->missing++; /* until all have been looked at */
    for (uint32_t i = 0; i < task->n_inputs && !execution->failed; i++) {
        const struct task_input *input = &execution->plan->inputs[task->first_input + i];
        if (input->output != PLAN_CONTROL)
            require(execution, activity, input->producer, input->output);
    }
    if (task_is(task, STATEMENT_INPUT) && task->threads != execution->plan->client &&
        flow_data_output(&execution->data, activity->task, 0)->uses)
        require(execution, activity, activity->task, 0);
    if (--activity->missing || execution->failed)
        return;
    if (task_is(task, STATEMENT_CALL))
        call(execution, activity);
    else if (task_is(task, STATEMENT_RESULT))
        fetch(execution, activity);
    else
        finish(execution, activity);
}

void activity_begin(struct execution *execution, uint32_t task, void *ticket)
{
    struct activity *activity = calloc(1, sizeof *activity);
    if (!activity) {
        fail_no_memory(execution);
        return;
    }
    *activity = (struct activity){.task = task, .ticket = ticket, .server = SERVERS_NONE};
    activity->noted = SERVERS_NONE;
    activity->next = execution->activities;
    if (activity->next)
        activity->next->previous = activity;
    execution->activities = activity;
    const struct task *begun = &execution->plan->tasks[task];
    for (uint32_t i = 0; i < begun->n_inputs; i++) {
        struct flow_datum *datum = flow_data_input(&execution->data, begun->first_input + i);
        if (datum)
            datum->holds++;
    }
    if (ticket && execution->finished && execution->finished[task]) {
        execution->result->resumed++;
        finish(execution, activity);
    } else {
        gather(execution, activity);
    }
}

static void destroy(struct execution *execution, struct activity *activity)
{
    for (unsigned i = 0; i < PROGRAM_MAX_OUTPUTS; i++)
        free(activity->kept[i]);
    if (activity->previous)
        activity->previous->next = activity->next;
    else
        execution->activities = activity->next;
    if (activity->next)
        activity->next->previous = activity->previous;
    free(activity);
}

void activity_destroy_all(struct execution *execution)
{
    HASH_CLEAR(hh, execution->sessions);
    while (execution->activities)
        destroy(execution, execution->activities);
}

static void finish(struct execution *execution, struct activity *activity)
{
    const struct task *task = task_of(execution, activity);
    for (uint32_t i = 0; i < task->n_inputs; i++) {
        struct flow_datum *datum = flow_data_input(&execution->data, task->first_input + i);
        if (!datum)
            continue;
        datum->holds--;
        datum->uses -= activity->ticket != NULL;
        activity_forget(execution, datum);
    }
    void *ticket = activity->ticket;
    execution->ended_server = activity->server;
    destroy(execution, activity);
    if (!ticket)
        return;
    execution->done++;
    flow_step_ended(execution->run, ticket);
}

/* ---- calls ---- */

/* Memory that would not fit waits, unless nothing of the flow runs there. */
static bool holds_back(struct execution *execution, struct activity *activity, uint32_t server)
{
    const struct task *task = task_of(execution, activity);
    if (server == SERVERS_NONE)
        return false;
    struct flow_server *to = &execution->servers->servers[server];
    struct held_back *held = &execution->held[server];
    uint64_t used = to->running_bytes + to->data_bytes;
    if (to->running && to->memory_bytes &&
        (task->memory_bytes > to->memory_bytes || used > to->memory_bytes - task->memory_bytes)) {
        activity->next_held = NULL;
        *held->last = activity;
        held->last = &activity->next_held;
        return true;
    }
    to->running++;
    to->running_bytes += task->memory_bytes;
    activity->memory_bytes = task->memory_bytes;
    activity->noted = server;
    return false;
}

static void give_back(struct execution *execution, struct activity *activity)
{
    uint32_t server = activity->noted;
    if (server == SERVERS_NONE)
        return;
    activity->noted = SERVERS_NONE;
    struct flow_server *from = &execution->servers->servers[server];
    struct held_back *held = &execution->held[server];
    from->running--;
    from->running_bytes -= activity->memory_bytes;
    struct activity *first = held->first;
    held->first = NULL;
    held->last = &held->first;
    while (first) {
        struct activity *next = first->next_held;
        gather(execution, first);
        first = next;
    }
}

/* Where argument `index` of the problem stands in the vector of a call. */
static size_t passed_index(const struct problem *problem, uint32_t index)
{
    size_t n = 0;
    for (uint32_t i = 0; i < index; i++)
        n += argument_is_passed(&problem->arguments[i]);
    return n;
}

static void fill_outputs(struct execution *execution, struct activity *activity,
                         struct esp_argument *arguments)
{
    const struct program_operation *operation = task_operation(execution->plan, task_of(execution, activity));
    for (unsigned o = 0; o < operation->n_outputs; o++) {
        const struct argument *described = &operation->problem->arguments[operation->output_arguments[o]];
        struct flow_datum *datum = flow_data_output(&execution->data, activity->task, (uint8_t)o);
        struct esp_argument *argument =
            &arguments[passed_index(operation->problem, operation->output_arguments[o])];
        bool is_wanted = !datum->id && (datum->uses || datum->holds || datum->waiting);
        if (described->n_dims == 0) {
            if (argument->data)
                memcpy(activity->scalars[o], argument->data, base_type_size(described->type));
            argument->data = activity->scalars[o];
        } else if (is_wanted) {
            argument->kept = &activity->kept[o];
            argument->kept_mode = mode_of(execution);
        } else if (described->mode == MODE_INOUT) {
            argument->unwanted = 1;
        }
    }
}

static size_t fill_arguments(struct execution *execution, struct activity *activity,
                             struct esp_argument *arguments)
{
    const struct task *task = task_of(execution, activity);
    const struct program_operation *operation = task_operation(execution->plan, task);
    const struct problem *problem = operation->problem;
    for (unsigned i = 0; i < operation->n_scalars; i++)
        if (task->call->statement->scalars[i])
            arguments[passed_index(problem, operation->scalar_arguments[i])].data = task->call->scalars[i];
    for (unsigned i = 0; i < operation->n_inputs; i++) {
        struct esp_argument *argument = &arguments[passed_index(problem, operation->input_arguments[i])];
        uint32_t position = i ? task->call->input_ends[i - 1] : 0;
        const struct flow_datum *datum = flow_data_input(&execution->data, task->first_input + position);
        if (datum->id)
            argument->datum = datum->id;
        else
            argument->data = datum->memory;
        const struct task_input *input = &execution->plan->inputs[task->first_input + position];
        if (!datum->id)
            execution->result->sent_bytes += execution->plan->tasks[input->producer].bytes[input->output];
    }
    fill_outputs(execution, activity, arguments);
    return passed_index(problem, problem->n_arguments);
}

static void examine(struct execution *execution, struct activity *activity, const struct esp_error *why);

static void call(struct execution *execution, struct activity *activity)
{
    const struct task *task = task_of(execution, activity);
    const struct statement *statement = task->call->statement;
    struct esp_argument arguments[ESP_MAX_ARGUMENTS] = {{0}};
    uint32_t server = server_of(execution, task);
    struct esp_error error;
    bool bound;
    if (holds_back(execution, activity, server))
        return;
    activity->server = server;
    grpc_function_handle_t *handle =
        flow_servers_handle(execution->servers, server, statement->operation, &bound, &error);
    if (!handle) {
        examine(execution, activity, &error);
        return;
    }
    size_t n = fill_arguments(execution, activity, arguments);
    if (esp_call_async(handle, arguments, n, NULL, &activity->session) != ESP_OK) {
        error = *esp_last_error();
        examine(execution, activity, &error);
        return;
    }
    HASH_ADD_INT(execution->sessions, session, activity);
    if (!activity->hh.tbl)
        fail_no_memory(execution);
    crew_watch(execution->crew);
}

/* A server or data may be lost: the task may succeed elsewhere, or when they have been made again. */
static bool is_loss(enum esp_status status)
{
    return status == ESP_NO_SERVER || status == ESP_UNREACHABLE || status == ESP_MAYBE ||
           status == ESP_TIMEOUT || status == ESP_NOT_FOUND || status == ESP_STALE || status == ESP_BUSY ||
           status == ESP_REFUSED;
}

static void examine(struct execution *execution, struct activity *activity, const struct esp_error *why)
{
    const struct task *task = task_of(execution, activity);
    uint32_t server = activity->server;
    give_back(execution, activity);
    if (!is_loss(why->status) || ++activity->attempts >= EXECUTION_MOST_ATTEMPTS) {
        execution_fail(execution, task, why);
        return;
    }
    struct errand *errand = new_errand(execution, ERRAND_LOOK, activity);
    if (!errand)
        return;
    errand->n_ids = task->n_inputs;
    errand->ids = calloc((size_t)task->n_inputs + 1, sizeof *errand->ids);
    errand->lost = calloc((size_t)task->n_inputs + 1, sizeof *errand->lost);
    bool is_whole =
        errand->ids && errand->lost && (server == SERVERS_NONE || set_server(execution, errand, server));
    for (uint32_t i = 0; is_whole && i < task->n_inputs; i++) {
        const struct flow_datum *datum = flow_data_input(&execution->data, task->first_input + i);
        if (datum && datum->id && !(errand->ids[i] = strdup(datum->id)))
            is_whole = false;
    }
    if (is_whole) {
        give(execution, errand);
        return;
    }
    fail_no_memory(execution);
    errand_destroy(errand);
}

static void examined(struct execution *execution, struct errand *errand)
{
    struct activity *activity = errand->activity;
    const struct task *task = task_of(execution, activity);
    struct esp_error error;
    if (errand->server_is_lost && !execution->servers->servers[errand->server].is_lost) {
        execution->result->lost_servers++;
        if (flow_servers_lose(execution->servers, errand->server, &error) != ESP_OK) {
            execution_fail(execution, task, &error);
            return;
        }
    }
    for (uint32_t i = 0; i < errand->n_ids; i++) {
        struct flow_datum *datum = flow_data_input(&execution->data, task->first_input + i);
        /* Another activity may have had it made again meanwhile. */
        if (errand->lost[i] && datum->id && strcmp(datum->id, errand->ids[i]) == 0)
            lose(execution, datum);
    }
    gather(execution, activity);
}

/* What the call has left becomes data of the flow. */
static void take_outputs(struct execution *execution, struct activity *activity)
{
    const struct task *task = task_of(execution, activity);
    const struct program_operation *operation = task_operation(execution->plan, task);
    for (unsigned o = 0; o < operation->n_outputs; o++) {
        struct flow_datum *datum = flow_data_output(&execution->data, activity->task, (uint8_t)o);
        const struct argument *described = &operation->problem->arguments[operation->output_arguments[o]];
        if (described->n_dims == 0) {
            if (!datum->memory && (datum->memory = malloc(16)))
                memcpy(datum->memory, activity->scalars[o], 16);
            if (execution->journal)
                journal_add_scalar(execution->journal, activity->task, (uint8_t)o, activity->scalars[o]);
        } else if (activity->kept[o] && datum->id) {
            drop(execution, activity->kept[o]);
            activity->kept[o] = NULL;
        } else if (activity->kept[o]) {
            datum->id = activity->kept[o];
            datum->bytes = task->bytes[o];
            activity->kept[o] = NULL;
            if (execution->journal)
                journal_add_data(execution->journal, activity->task, (uint8_t)o, datum->id);
            note_copy(execution, datum, activity->server, datum->bytes);
        }
    }
    for (unsigned o = 0; o < operation->n_outputs; o++) {
        struct flow_datum *datum = flow_data_output(&execution->data, activity->task, (uint8_t)o);
        wake(execution, datum);
        activity_forget(execution, datum);
    }
}

void activity_session_ended(struct execution *execution, grpc_sessionid_t session,
                            const struct esp_session_info *info)
{
    struct activity *activity;
    struct esp_error error;
    HASH_FIND_INT(execution->sessions, &session, activity);
    if (!activity)
        return;
    HASH_DEL(execution->sessions, activity);
    if (execution->failed) {
        for (unsigned i = 0; i < PROGRAM_MAX_OUTPUTS; i++) {
            drop(execution, activity->kept[i]);
            activity->kept[i] = NULL;
        }
        return;
    }
    const struct execution_spec *spec = execution->spec;
    if (info)
        error = info->error;
    else if (spec->stopped && spec->stopped(spec->self))
        error_set(&error, ESP_CANCELLED, "the flow was cancelled");
    else
        error_set(&error, ESP_INTERNAL, "the session has ended, and nothing is known of it");
    if (error.status != ESP_OK) {
        for (unsigned i = 0; i < PROGRAM_MAX_OUTPUTS; i++) {
            free(activity->kept[i]);
            activity->kept[i] = NULL;
        }
        examine(execution, activity, &error);
        return;
    }
    give_back(execution, activity);
    activity->server = flow_servers_named(execution->servers, info->server);
    execution->result->calls++;
    execution->result->again += activity->ticket == NULL;
    take_outputs(execution, activity);
    if (execution->journal)
        journal_add_done(execution->journal, activity->task);
    finish(execution, activity);
}

/* ---- messages ---- */

bool activity_copy(struct execution *execution, struct flow_datum *datum, uint32_t server, void *ticket)
{
    if (server == SERVERS_NONE || !datum->id || datum_has_copy(datum, server))
        return false;
    struct errand *errand = new_errand(execution, ERRAND_COPY, NULL);
    if (!errand)
        return false;
    errand->ticket = ticket;
    errand->datum = datum;
    errand->id = strdup(datum->id);
    if (!errand->id || !set_server(execution, errand, server)) {
        errand_destroy(errand);
        return false;
    }
    datum->holds++; /* it stays until it has come */
    note_copy(execution, datum, server, datum->bytes);
    give(execution, errand);
    return true;
}

static void copied(struct execution *execution, struct errand *errand)
{
    struct flow_datum *datum = errand->datum;
    if (errand->status == ESP_OK)
        execution->result->copied_bytes += datum->bytes;
    else
        remove_copy(execution, datum,
                    errand->server); /* the operation's server fetches it, or says what is wrong */
    datum->holds--;
    activity_forget(execution, datum);
    flow_transfer_ended(execution->run, errand->ticket);
}

/* ---- what errands have done ---- */

/* No server answers there. */
static bool is_absence(enum esp_status status)
{
    return status == ESP_UNREACHABLE || status == ESP_NOT_FOUND || status == ESP_NO_SERVER;
}

static void was_put(struct execution *execution, struct errand *errand)
{
    struct flow_datum *datum = errand->datum;
    if (errand->status == ESP_OK) {
        datum->id = errand->id;
        datum->bytes = errand->array.shape.bytes;
        errand->id = NULL;
        execution->result->sent_bytes += datum->bytes;
        if (execution->journal)
            journal_add_data(execution->journal, errand->task, errand->output, datum->id);
        note_copy(execution, datum, errand->server, datum->bytes);
    } else if (!is_loss(errand->status) || ++datum->attempts >= EXECUTION_MOST_ATTEMPTS) {
        execution_fail(execution, &execution->plan->tasks[errand->task], &errand->error);
        return;
    } else if (is_absence(errand->status) && !execution->servers->servers[errand->server].is_lost) {
        struct esp_error error;
        execution->result->lost_servers++;
        if (flow_servers_lose(execution->servers, errand->server, &error) != ESP_OK) {
            execution_fail(execution, &execution->plan->tasks[errand->task], &error);
            return;
        }
    }
    wake(execution, datum);
}

static void was_fetched(struct execution *execution, struct errand *errand)
{
    struct activity *activity = errand->activity;
    activity->missing--;
    if (errand->status == ESP_OK) {
        if (!errand->datum->memory) {
            errand->datum->memory = errand->memory;
            errand->datum->is_result = true;
            errand->memory = NULL;
        }
        execution->result->received_bytes += errand->array.shape.bytes;
    } else {
        activity->error = errand->error;
    }
    if (activity->missing)
        return;
    if (activity->error.status == ESP_OK) {
        finish(execution, activity);
        return;
    }
    struct esp_error why = activity->error;
    activity->error = (struct esp_error){.status = ESP_OK};
    examine(execution, activity, &why);
}

void activity_job_ended(struct execution *execution, struct crew_job *job)
{
    struct errand *errand = (struct errand *)job;
    if (execution->failed) {
        if (errand->kind == ERRAND_PUT && errand->status == ESP_OK) {
            drop(execution, errand->id);
            errand->id = NULL;
        }
    } else if (errand->kind == ERRAND_PUT) {
        was_put(execution, errand);
    } else if (errand->kind == ERRAND_GET) {
        was_fetched(execution, errand);
    } else if (errand->kind == ERRAND_COPY) {
        copied(execution, errand);
    } else if (errand->kind == ERRAND_LOOK) {
        examined(execution, errand);
    }
    errand_destroy(errand);
}
