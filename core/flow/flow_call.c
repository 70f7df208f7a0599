/* SPDX-License-Identifier: Apache-2.0 */
#include "core/flow/flow_run.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *name_of(const struct flow_call *call)
{
    return flow_operation_name(call->run->graph, call->instance->operation);
}

/* The next place in the record, or NULL when the run has failed. */
static struct action *record(struct flow_call *call, enum action_kind kind)
{
    struct instance *instance = call->instance;
    if (call->run->failed)
        return NULL;
    if (instance->n_actions == instance->capacity) {
        unsigned capacity = 2 * instance->capacity;
        bool inside = instance->actions == instance->own;
        struct action *moved = realloc(inside ? NULL : instance->actions, capacity * sizeof *moved);
        if (!moved) {
            run_fail(call->run, ESP_NO_MEMORY, "out of memory for what the operation '%s' does",
                     name_of(call));
            return NULL;
        }
        if (inside)
            memcpy(moved, instance->own, sizeof instance->own);
        instance->actions = moved;
        instance->capacity = capacity;
    }
    struct action *action = &instance->actions[instance->n_actions++];
    action->kind = kind;
    return action;
}

static bool check_set(struct flow_call *call, unsigned set)
{
    if (set >= call->run->graph->n_sets)
        run_fail(call->run, ESP_INVALID, "operation '%s': there is no set of threads number %u",
                 name_of(call), set);
    return !call->run->failed;
}

void *flow_application(const struct flow_call *call)
{
    return call->run->graph->application;
}

unsigned flow_thread(const struct flow_call *call)
{
    return call->instance->worker->thread;
}

unsigned flow_active(const struct flow_call *call, unsigned set)
{
    return set < call->run->graph->n_sets ? call->run->sets[set].active : 0;
}

void **flow_instance_data(struct flow_call *call)
{
    return &call->instance->data;
}

void **flow_thread_data(struct flow_call *call)
{
    return &call->instance->worker->data;
}

static void compute(struct flow_call *call, const char *what, double seconds, uint64_t job, bool is_step)
{
    if (!(seconds >= 0) || isinf(seconds)) {
        run_fail(call->run, ESP_INVALID, "operation '%s' computes for %g seconds, expected a number >= 0",
                 name_of(call), seconds);
        return;
    }
    struct action *action = is_step ? record(call, ACTION_COMPUTE) : NULL;
    if (!action)
        return;
    action->what = what;
    action->seconds = seconds;
    action->job = job;
}

void flow_compute(struct flow_call *call, const char *what, double seconds)
{
    compute(call, what, seconds, 0, seconds > 0);
}

void flow_work(struct flow_call *call, const char *what, double seconds, uint64_t job)
{
    compute(call, what, seconds, job, true);
}

void flow_post(struct flow_call *call, unsigned to, const struct flow_message *message)
{
    const struct flow_graph *graph = call->run->graph;
    unsigned target = flow_resolve(graph, to);
    const struct flow_edge *edge =
        target < graph->n_operations ? flow_find_edge(graph, call->instance->operation, target) : NULL;
    if (!edge) {
        run_fail(call->run, ESP_INVALID, "operation '%s' sends to '%s', but there is no such edge",
                 name_of(call), flow_operation_name(graph, target));
        return;
    }
    struct action *action = record(call, ACTION_POST);
    if (!action)
        return;
    action->target = (unsigned)(edge - graph->operations[call->instance->operation].edges);
    action->message = *message;
}

void flow_fetch(struct flow_call *call, unsigned set, unsigned thread, const struct flow_message *message)
{
    if (flow_operation_kind(call->run->graph, call->instance->operation) != FLOW_STREAM) {
        run_fail(call->run, ESP_INVALID, "operation '%s': only a stream fetches", name_of(call));
        return;
    }
    struct action *action = check_set(call, set) ? record(call, ACTION_FETCH) : NULL;
    if (!action)
        return;
    action->target = set;
    action->n = thread;
    action->message = *message;
}

void flow_finish(struct flow_call *call)
{
    if (flow_operation_kind(call->run->graph, call->instance->operation) != FLOW_STREAM)
        run_fail(call->run, ESP_INVALID, "operation '%s': only a stream finishes by itself", name_of(call));
    call->instance->finished = true;
}

void flow_expect(struct flow_call *call, uint64_t messages)
{
    if (!call->run->graph->operations[call->instance->operation].spec.single)
        run_fail(call->run, ESP_INVALID,
                 "operation '%s': only a single merge or stream is told what to expect", name_of(call));
    call->instance->expected = messages;
}

void flow_result(struct flow_call *call, const struct flow_message *message)
{
    struct action *action = record(call, ACTION_RESULT);
    if (action)
        action->message = *message;
}

static void change_threads(struct flow_call *call, enum action_kind kind, unsigned set, unsigned n)
{
    struct action *action = check_set(call, set) ? record(call, kind) : NULL;
    if (!action)
        return;
    action->target = set;
    action->n = n;
}

void flow_kill(struct flow_call *call, unsigned set, unsigned n)
{
    change_threads(call, ACTION_KILL, set, n);
}

void flow_take(struct flow_call *call, unsigned set, unsigned n)
{
    change_threads(call, ACTION_TAKE, set, n);
}

void flow_move(struct flow_call *call, unsigned set, unsigned thread, unsigned node)
{
    struct action *action = check_set(call, set) ? record(call, ACTION_MOVE) : NULL;
    if (!action)
        return;
    action->target = set;
    action->n = thread;
    action->node = node;
}

void flow_fail(struct flow_call *call, enum esp_status status, const char *format, ...)
{
    char text[sizeof call->run->error.text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    run_fail(call->run, status, "%s", text);
}
