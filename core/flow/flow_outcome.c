/* SPDX-License-Identifier: Apache-2.0 */
#include "core/flow/flow_run.h"

void flow_run_abort(struct flow_run *run, const struct esp_error *error)
{
    run_fail(run, error->status, "%s", error->text);
}

bool flow_run_idle(const struct flow_run *run)
{
    return run->under_way == 0;
}

static enum esp_status fail_waiting(const struct flow_run *run, const struct instance *instance,
                                    struct esp_error *error)
{
    const struct flow_operation *operation = &run->graph->operations[instance->operation];
    const char *kind = flow_kind_name(operation->spec.kind);
    const struct worker *worker = instance->worker;
    const char *set = run->graph->sets[worker->set].name;
    unsigned long long received = instance->received, posted = 0;
    if (instance->suspended)
        return error_set(
            error, ESP_INVALID,
            "the %s '%s' on thread %s[%u] waits for ever: %llu of its messages are in circulation, its "
            "window is %u",
            kind, operation->name, set, worker->thread, (unsigned long long)instance->circulating,
            operation->spec.window);
    for (const struct collection *c = instance->source ? instance->source->collections : NULL; c; c = c->next)
        if (c->operation == instance->operation)
            posted = c->posted;
    if (instance->expected != UINT64_MAX)
        posted = instance->expected;
    if (posted > received)
        return error_set(
            error, ESP_INVALID,
            "the %s '%s' on thread %s[%u] waits for ever: it received %llu messages, expected %llu", kind,
            operation->name, set, worker->thread, received, posted);
    return error_set(
        error, ESP_INVALID,
        "the %s '%s' on thread %s[%u] received %llu messages and never ended: expected it to finish", kind,
        operation->name, set, worker->thread, received);
}

static enum esp_status fail_held(const struct flow_run *run, const struct worker *worker,
                                 struct esp_error *error)
{
    const struct run_node *node = &run->nodes[worker->node];
    return error_set(
        error, ESP_LIMIT,
        "operation '%s' on thread %s[%u] waits for memory for ever: node %u has %llu bytes, of which "
        "%llu are used",
        worker->queue ? flow_operation_name(run->graph, worker->queue->operation) : "none",
        run->graph->sets[worker->set].name, worker->thread, worker->node,
        (unsigned long long)node->memory_bytes, (unsigned long long)node->used_bytes);
}

enum esp_status flow_run_outcome(const struct flow_run *run, struct esp_error *error)
{
    if (run->failed)
        return error_set(error, run->error.status, "%s", run->error.text);
    if (!flow_run_idle(run))
        return error_set(error, ESP_INVALID,
                         "the run has not ended: %llu computations and transfers are under way",
                         (unsigned long long)run->under_way);
    for (unsigned i = 0; i < run->spec.n_nodes; i++)
        if (run->nodes[i].held)
            return fail_held(run, run->nodes[i].held, error);
    /* The oldest one is most likely what the others wait for. */
    const struct instance *oldest = NULL;
    for (const struct instance *instance = run->instances; instance; instance = instance->next)
        if (!instance->ended && (!oldest || instance->number < oldest->number))
            oldest = instance;
    return oldest ? fail_waiting(run, oldest, error) : ESP_OK;
}

bool flow_run_result(const struct flow_run *run, struct flow_message *message)
{
    if (run->has_result)
        *message = run->result;
    return run->has_result;
}

void flow_run_counts(const struct flow_run *run, struct flow_counts *counts)
{
    *counts = run->counts;
}

uint64_t flow_run_instances(const struct flow_run *run, unsigned operation)
{
    return run->begun[operation];
}

uint64_t flow_run_peak_bytes(const struct flow_run *run, unsigned node)
{
    return run->nodes[node].peak_bytes;
}
