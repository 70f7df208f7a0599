/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "flow/activity.h"
#include "util/clock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS    200   /* between two looks whether to stop */
#define CLOSING_MS 20000 /* for what is under way when the run has failed */

/* ---- what the run asks for ---- */

static struct due *add_due(struct execution *execution, void *ticket)
{
    struct due *due = calloc(1, sizeof *due);
    if (!due) {
        struct esp_error error;
        error_no_memory(&error, "the run of a flow");
        execution_fail(execution, NULL, &error);
        return NULL;
    }
    due->ticket = ticket;
    *execution->last_due = due;
    execution->last_due = &due->next;
    return due;
}

static void compute(void *self, void *ticket, const struct flow_step *step)
{
    struct due *due = add_due(self, ticket);
    if (due)
        due->task = (uint32_t)step->job;
}

static void transfer(void *self, void *ticket, const struct flow_transfer *transfer)
{
    struct execution *execution = self;
    const struct flow_plan *plan = execution->plan;
    const struct task *to = &plan->tasks[transfer->message.index[PLAN_INDEX_TASK]];
    struct flow_datum *datum = NULL;
    if (transfer->message.index[PLAN_INDEX_READER] >= 0 && task_is(to, STATEMENT_CALL) &&
        to->threads != plan->anywhere)
        datum = flow_data_input(&execution->data, to->first_input + (uint32_t)transfer->message.key);
    if (datum && activity_copy(execution, datum, execution->servers->nodes[transfer->to], ticket))
        return;
    struct due *due = add_due(execution, ticket);
    if (due)
        due->is_transfer = true;
}

/* ---- what it tells ---- */

static void step_ended(void *self, const struct flow_step *step, int64_t begin_ns, int64_t end_ns)
{
    struct execution *execution = self;
    struct flow_step ended = *step;
    const struct flow_servers *servers = execution->servers;
    if (step->set == execution->plan->anywhere && execution->ended_server != SERVERS_NONE)
        for (uint32_t i = servers->n_nodes; i-- > 0;)
            if (servers->nodes[i] == execution->ended_server)
                ended.node = i;
    execution->recorder.step(execution->recorder.self, &ended, begin_ns, end_ns);
}

static void transfer_ended(void *self, const struct flow_transfer *transfer, int64_t begin_ns, int64_t end_ns)
{
    struct execution *execution = self;
    execution->recorder.transfer(execution->recorder.self, transfer, begin_ns, end_ns);
}

/* ---- before it begins ---- */

static enum esp_status check_call(const struct flow_plan *plan, const struct task *task,
                                  struct esp_error *error)
{
    const struct statement *statement = task->call->statement;
    const struct program_operation *operation = task_operation(plan, task);
    for (unsigned i = 0; i < operation->n_inputs; i++) {
        uint32_t from = i ? task->call->input_ends[i - 1] : 0, n = task->call->input_ends[i] - from;
        if (n != 1)
            return error_set(error, ESP_INVALID,
                             "%s:%u:%u: the input '%s' of '%s' is one array, `collect` gives %u",
                             plan->program->file, statement->inputs[i].place.line,
                             statement->inputs[i].place.column, operation->inputs[i], operation->name, n);
    }
    return ESP_OK;
}

static enum esp_status check_input(const struct execution *execution, uint32_t index, struct esp_error *error)
{
    const struct task *task = &execution->plan->tasks[index];
    const char *name = task->call->targets[0];
    if (!flow_data_output(&execution->data, index, 0)->uses || inputs_have(execution->spec->inputs, name))
        return ESP_OK;
    char place[300];
    task_place(execution->plan, task, place, sizeof place);
    return error_set(error, ESP_INVALID,
                     "%s: nothing is given: expected %s=@FILE, %s=[1,2;3,4] or %s=data:ID", place, name, name,
                     name);
}

static enum esp_status check_tasks(const struct execution *execution, uint64_t *all, struct esp_error *error)
{
    const struct flow_plan *plan = execution->plan;
    enum esp_status status = ESP_OK;
    *all = 0;
    for (uint32_t t = 1; t < plan->n_tasks && status == ESP_OK; t++) {
        *all += plan->tasks[t].change.kind == STATEMENT_LET;
        if (task_is(&plan->tasks[t], STATEMENT_CALL))
            status = check_call(plan, &plan->tasks[t], error);
        else if (task_is(&plan->tasks[t], STATEMENT_INPUT))
            status = check_input(execution, t, error);
    }
    return status;
}

/* ---- the journal ---- */

static void mix(uint64_t *digest, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *digest = (*digest ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
}

/* Of all that decides what the tasks are. */
static uint64_t digest_of(const struct execution *execution)
{
    const struct flow_plan *plan = execution->plan;
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    uint32_t n_nodes = execution->servers->n_nodes;
    mix(&digest, &n_nodes, sizeof n_nodes);
    for (uint32_t t = 1; t < plan->n_tasks; t++) {
        const struct task *task = &plan->tasks[t];
        const char *name = flow_operation_name(plan->graph, task->operation);
        uint32_t numbers[] = {task->threads, task->thread, task->n_inputs, task->n_outputs};
        mix(&digest, name, strlen(name));
        mix(&digest, numbers, sizeof numbers);
        mix(&digest, task->bytes, sizeof task->bytes);
        mix(&digest, task->call->scalars, sizeof task->call->scalars);
    }
    for (uint32_t i = 0; i < plan->n_inputs; i++) {
        uint32_t numbers[] = {plan->inputs[i].producer, plan->inputs[i].output};
        mix(&digest, numbers, sizeof numbers);
    }
    return inputs_mix(execution->spec->inputs, digest, mix);
}

static void take_entry(void *arg, const struct journal_entry *entry)
{
    struct execution *execution = arg;
    const struct flow_plan *plan = execution->plan;
    if (entry->task >= plan->n_tasks)
        return;
    const struct task *task = &plan->tasks[entry->task];
    if (entry->kind == JOURNAL_DONE)
        execution->finished[entry->task] = task_is(task, STATEMENT_CALL);
    if (entry->kind == JOURNAL_DONE || entry->output >= task->n_outputs)
        return;
    struct flow_datum *datum = flow_data_output(&execution->data, entry->task, entry->output);
    if (entry->kind == JOURNAL_DATA) {
        free(datum->id);
        datum->id = strdup(entry->id);
        datum->bytes = task->bytes[entry->output];
    } else if (datum->memory || (datum->memory = malloc(sizeof entry->scalar))) {
        memcpy(datum->memory, entry->scalar, sizeof entry->scalar);
    }
}

static enum esp_status open_journal(struct execution *execution, struct esp_error *error)
{
    if (!execution->spec->journal)
        return ESP_OK;
    execution->finished = calloc(execution->plan->n_tasks, sizeof *execution->finished);
    if (!execution->finished)
        return error_no_memory(error, "the journal of a flow");
    return journal_open(execution->spec->journal, digest_of(execution), take_entry, execution,
                        &execution->journal, error);
}

/* ---- the loop ---- */

static void do_due(struct execution *execution)
{
    while (execution->due) {
        struct due *due = execution->due;
        execution->due = due->next;
        if (!execution->due)
            execution->last_due = &execution->due;
        if (execution->failed) {
            free(due);
            continue;
        }
        if (due->is_transfer)
            flow_transfer_ended(execution->run, due->ticket);
        else
            activity_begin(execution, due->task, due->ticket);
        free(due);
    }
}

static bool do_event(struct execution *execution, long patience_ms)
{
    struct crew_event event;
    if (!crew_next(execution->crew, patience_ms, &event))
        return false;
    if (event.job)
        activity_job_ended(execution, event.job);
    else
        activity_session_ended(execution, event.session, event.info);
    esp_session_info_free(event.info);
    return true;
}

static void look_around(struct execution *execution, uint64_t all)
{
    const struct execution_spec *spec = execution->spec;
    struct esp_error unwritten;
    if (spec->progress)
        spec->progress(spec->self, execution->done, all);
    if (execution->journal && journal_error(execution->journal, &unwritten) != ESP_OK)
        execution_fail(execution, NULL, &unwritten);
    if (spec->stopped && spec->stopped(spec->self)) {
        struct esp_error error;
        error_set(&error, ESP_CANCELLED,
                  "the flow was cancelled when %" PRIu64 " of %" PRIu64 " tasks were done", execution->done,
                  all);
        execution_fail(execution, NULL, &error);
    }
}

static enum esp_status play(struct execution *execution, uint64_t all, struct esp_error *error)
{
    int64_t looked_ns = clock_now_ns(&clock_system);
    struct flow_message start = {.bytes = PLAN_CONTROL_BYTES};
    enum esp_status status = flow_run_start(execution->run, flow_plan_entry(execution->plan), &start, error);
    if (status != ESP_OK)
        return status;
    for (do_due(execution); !execution->failed && !flow_run_idle(execution->run); do_due(execution)) {
        bool came = do_event(execution, LOOK_MS);
        int64_t now_ns = clock_now_ns(&clock_system);
        if (came && now_ns - looked_ns < (int64_t)LOOK_MS * 1000000)
            continue;
        looked_ns = now_ns;
        look_around(execution, all);
    }
    if (execution->failed)
        return error_set(error, execution->error.status, "%s", execution->error.text);
    return flow_run_outcome(execution->run, error);
}

/* Ends what is under way. The library may have been closed meanwhile: then all has ended. */
static void close_all(struct execution *execution)
{
    int64_t until_ns = clock_now_ns(&clock_system) + (int64_t)CLOSING_MS * 1000000;
    bool is_open = !execution->failed || grpc_cancel_all() != GRPC_NOT_INITIALIZED;
    if (!execution->failed)
        activity_forget_all(execution);
    while (crew_is_busy(execution->crew) && clock_now_ns(&clock_system) < until_ns)
        if (!do_event(execution, LOOK_MS) && !is_open)
            break;
    if (!execution->failed)
        return;
    activity_forget_all(execution);
    while (is_open && crew_is_busy(execution->crew) && clock_now_ns(&clock_system) < until_ns)
        do_event(execution, LOOK_MS);
}

/* ---- results ---- */

static enum esp_status take_result(struct execution *execution, const struct task *task,
                                   struct esp_error *error)
{
    struct execution_result *result = execution->result;
    for (uint32_t i = 0; i < task->n_inputs; i++) {
        const struct task_input *input = &execution->plan->inputs[task->first_input + i];
        const struct flow_datum *datum = flow_data_input(&execution->data, task->first_input + i);
        if (!datum || !datum->memory)
            continue;
        struct execution_output *moved =
            realloc(result->outputs, (result->n_outputs + 1) * sizeof *result->outputs);
        if (!moved)
            return error_no_memory(error, "the results of a flow");
        result->outputs = moved;
        struct execution_output *output = &result->outputs[result->n_outputs];
        *output = (struct execution_output){
            .name = execution->plan->tasks[input->producer].call->targets[input->output]};
        enum esp_status status =
            flow_data_array(&execution->data, input->producer, input->output, &output->array, error);
        if (status != ESP_OK)
            return status;
        output->memory = malloc(output->array.shape.bytes + 1);
        if (!output->memory)
            return error_no_memory(error, "the results of a flow");
        memcpy(output->memory, datum->memory, output->array.shape.bytes);
        result->n_outputs++;
    }
    return ESP_OK;
}

static enum esp_status take_results(struct execution *execution, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    flow_run_counts(execution->run, &execution->result->counts);
    for (uint32_t t = 1; t < execution->plan->n_tasks && status == ESP_OK; t++)
        if (task_is(&execution->plan->tasks[t], STATEMENT_RESULT))
            status = take_result(execution, &execution->plan->tasks[t], error);
    return status;
}

/* ---- the whole ---- */

static enum esp_status create_parts(struct execution *execution, uint64_t *all, struct esp_error *error)
{
    const struct execution_spec *spec = execution->spec;
    struct flow_run_spec run = {.graph = flow_plan_graph(spec->plan),
                                .n_nodes = spec->servers->n_nodes,
                                .clock = &clock_system,
                                .executor = {.self = execution, .compute = compute, .transfer = transfer}};
    if (spec->record) {
        execution->recorder = flow_record_observer(&execution->result->record);
        run.observer =
            (struct flow_observer){.self = execution, .step = step_ended, .transfer = transfer_ended};
    }
    execution->held = calloc((size_t)spec->servers->n + 1, sizeof *execution->held);
    if (!execution->held)
        return error_no_memory(error, "the run of a flow");
    for (uint32_t i = 0; i < spec->servers->n; i++)
        execution->held[i].last = &execution->held[i].first;
    enum esp_status status = flow_data_create(&execution->data, spec->plan, error);
    if (status == ESP_OK)
        status = check_tasks(execution, all, error);
    if (status == ESP_OK)
        status = open_journal(execution, error);
    if (status == ESP_OK)
        status = flow_run_create(&run, &execution->run, error);
    return status == ESP_OK ? crew_create(&execution->crew, error) : status;
}

enum esp_status execution_run(const struct execution_spec *spec, struct execution_result *result,
                              struct esp_error *error)
{
    struct execution execution = {.spec = spec,
                                  .plan = spec->plan,
                                  .servers = spec->servers,
                                  .result = result,
                                  .ended_server = SERVERS_NONE};
    uint64_t all = 0;
    int64_t begin_ns = clock_now_ns(&clock_system);
    *result = (struct execution_result){.record = {.begin_ns = begin_ns}};
    execution.last_due = &execution.due;
    enum esp_status status = create_parts(&execution, &all, error);
    if (status == ESP_OK) {
        status = play(&execution, all, error);
        result->seconds = (double)(clock_now_ns(&clock_system) - begin_ns) / 1e9;
        if (status == ESP_OK)
            status = take_results(&execution, error);
        execution.failed |= status != ESP_OK;
        close_all(&execution);
    }
    execution.failed |= status != ESP_OK;
    if (status == ESP_OK && result->record.out_of_memory)
        status = error_no_memory(error, "the record of a flow");
    crew_destroy(execution.crew);
    activity_destroy_all(&execution);
    do_due(&execution);
    flow_run_destroy(execution.run);
    flow_data_clear(&execution.data);
    journal_close(execution.journal, status == ESP_OK);
    free(execution.finished);
    free(execution.held);
    if (status != ESP_OK)
        execution_clear(result);
    return status;
}

void execution_clear(struct execution_result *result)
{
    for (size_t i = 0; i < result->n_outputs; i++)
        free(result->outputs[i].memory);
    free(result->outputs);
    flow_record_clear(&result->record);
    *result = (struct execution_result){0};
}
