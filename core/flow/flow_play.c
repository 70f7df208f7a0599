/* SPDX-License-Identifier: Apache-2.0 */
#include "core/flow/flow_run.h"

static void describe(const struct flow_run *run, const struct instance *instance, struct flow_step *step)
{
    const struct action *action = &instance->actions[instance->position];
    *step = (struct flow_step){.operation = instance->operation,
                               .set = instance->worker->set,
                               .thread = instance->worker->thread,
                               .node = instance->worker->node,
                               .instance = instance->number,
                               .what = action->what ? action->what
                                                    : run->graph->operations[instance->operation].name,
                               .seconds = action->seconds,
                               .job = action->job};
}

static const struct flow_operation_spec *spec_of(const struct flow_run *run, const struct instance *instance)
{
    return &run->graph->operations[instance->operation].spec;
}

/* The split or stream whose merge receives what the instance sends: the instance itself, or, of a leaf or a
 * merge, the one that its input came from. */
static struct instance *origin_of_output(const struct flow_run *run, struct instance *instance)
{
    enum flow_kind kind = spec_of(run, instance)->kind;
    return kind == FLOW_SPLIT || kind == FLOW_STREAM ? instance : instance->origin;
}

/* Whether the output is one too many, or must wait for the window. */
static bool may_post(struct flow_run *run, struct instance *instance)
{
    const struct flow_operation_spec *spec = spec_of(run, instance);
    if (spec->window && instance->circulating >= spec->window) {
        instance->suspended = true;
        instance->worker->running = NULL;
        return false;
    }
    if (instance->posts++ && (spec->kind == FLOW_LEAF || spec->kind == FLOW_MERGE)) {
        run_fail(run, ESP_INVALID, "the %s '%s' sent a second message, expected one",
                 flow_kind_name(spec->kind), flow_operation_name(run->graph, instance->operation));
        return false;
    }
    return true;
}

static bool post(struct flow_run *run, struct instance *instance, const struct action *action)
{
    const struct flow_edge *edge = &run->graph->operations[instance->operation].edges[action->target];
    if (!may_post(run, instance))
        return false;
    struct instance *origin = origin_of_output(run, instance);
    struct parcel *parcel = run_parcel(run, &action->message);
    if (!parcel || (origin == instance && !instance_count_posted(run, origin, edge)))
        return false;
    parcel->operation = edge->to;
    parcel->worker = run_route(run, edge->to, &action->message);
    if (!parcel->worker)
        return false;
    parcel->origin = origin;
    if (origin)
        instance_hold(origin);
    run_send(run, parcel, instance->worker->node);
    return true;
}

static bool fetch(struct flow_run *run, struct instance *instance, const struct action *action)
{
    struct run_set *set = &run->sets[action->target];
    struct parcel *parcel = run_parcel(run, &action->message);
    if (!parcel)
        return false;
    if (action->n >= set->n) {
        run_fail(run, ESP_INVALID, "operation '%s' fetches from thread %s[%u]: there are %u",
                 flow_operation_name(run->graph, instance->operation), run->graph->sets[action->target].name,
                 action->n, set->n);
        return false;
    }
    parcel->operation = FLOW_NONE;
    parcel->worker = parcel->fetched = set->workers[action->n];
    parcel->receiver = instance;
    instance->fetching++;
    instance_hold(instance);
    run_send(run, parcel, instance->worker->node);
    return true;
}

/* False: the instance waits, or the run has failed. */
static bool act(struct flow_run *run, struct instance *instance)
{
    const struct action *action = &instance->actions[instance->position];
    switch (action->kind) {
    case ACTION_COMPUTE: {
        struct flow_step step;
        describe(run, instance, &step);
        run->counts.steps++;
        run->under_way++;
        instance->begun_ns = run_now(run);
        run->spec.executor.compute(run->spec.executor.self, instance, &step);
        return false;
    }
    case ACTION_POST:
        return post(run, instance, action);
    case ACTION_FETCH:
        return fetch(run, instance, action);
    case ACTION_RESULT:
        if (run->has_result)
            run_fail(run, ESP_INVALID, "operation '%s' gave a second result of the run, expected one",
                     flow_operation_name(run->graph, instance->operation));
        instance->posts++;
        run->has_result = true;
        run->result = action->message;
        break;
    case ACTION_KILL:
        run_kill(run, action->target, action->n);
        break;
    case ACTION_TAKE:
        run_take(run, action->target, action->n);
        break;
    case ACTION_MOVE:
        run_move(run, action->target, action->n, action->node);
    }
    return !run->failed;
}

static void fail_late(struct flow_run *run, const struct instance *instance)
{
    run_fail(run, ESP_INVALID, "the %s '%s' received a message after its end",
             flow_kind_name(spec_of(run, instance)->kind),
             flow_operation_name(run->graph, instance->operation));
}

static void end(struct flow_run *run, struct instance *instance)
{
    enum flow_kind kind = spec_of(run, instance)->kind;
    const struct flow_operation *operation = &run->graph->operations[instance->operation];
    if (instance->posts == 0 && kind != FLOW_STREAM && operation->n_edges)
        run_fail(run, ESP_INVALID, "the %s '%s' ended without a message, expected %s", flow_kind_name(kind),
                 operation->name, kind == FLOW_SPLIT ? "at least one" : "one");
    else if (instance->pending || instance->fetching)
        fail_late(run, instance);
    else
        instance_end(run, instance);
}

/* All that was recorded is done. */
static void settle(struct flow_run *run, struct instance *instance)
{
    enum flow_kind kind = spec_of(run, instance)->kind;
    struct worker *worker = instance->worker;
    instance->position = instance->n_actions = 0;
    worker->running = NULL;
    if (kind == FLOW_LEAF || kind == FLOW_SPLIT || instance->finished) {
        end(run, instance);
    } else if (instance->pending) {
        *instance->last_pending = worker->queue;
        if (!worker->queue)
            worker->last = instance->last_pending;
        worker->queue = instance->pending;
        instance->pending = NULL;
        instance->last_pending = &instance->pending;
    } else {
        instance_check_complete(run, instance);
    }
}

void play(struct flow_run *run, struct instance *instance)
{
    while (!run->failed && instance->position < instance->n_actions) {
        if (!act(run, instance))
            return;
        instance->position++;
    }
    if (!run->failed)
        settle(run, instance);
}

void flow_step_ended(struct flow_run *run, void *ticket)
{
    struct instance *instance = ticket;
    run->under_way--;
    if (run->spec.observer.step) {
        struct flow_step step;
        describe(run, instance, &step);
        run->spec.observer.step(run->spec.observer.self, &step, instance->begun_ns, run_now(run));
    }
    struct worker *worker = instance->worker;
    instance->position++;
    play(run, instance);
    run_make_ready(run, worker);
    run_pump(run);
}

void play_receive(struct flow_run *run, struct instance *instance, struct parcel *parcel)
{
    const struct flow_operation_spec *spec = spec_of(run, instance);
    struct flow_message message = parcel->message;
    struct instance *origin = parcel->origin;
    bool reply = parcel->receiver != NULL;
    run_drop_parcel(run, parcel);
    if (instance->finished) {
        fail_late(run, instance);
        return;
    }
    if (reply) {
        instance->fetching--;
        instance_release(run, instance);
    } else {
        instance->received++;
        if (spec->kind == FLOW_MERGE && !instance_add_key(run, instance, message.key))
            return;
    }
    if (origin) {
        if (spec->kind == FLOW_MERGE || spec->kind == FLOW_STREAM)
            instance_collected(run, origin);
        instance_release(run, origin);
    }
    struct flow_call call = {.run = run, .instance = instance};
    if (spec->receive)
        spec->receive(&call, &message);
    play(run, instance);
}

/* How many messages a merge or stream receives; UINT64_MAX: not known yet. */
static uint64_t expected(const struct instance *instance, enum flow_kind kind)
{
    if (instance->expected != UINT64_MAX || kind == FLOW_STREAM || !instance->source ||
        !instance->source->ended)
        return instance->expected;
    for (struct collection *c = instance->source->collections; c; c = c->next)
        if (c->operation == instance->operation)
            return c->posted;
    return UINT64_MAX;
}

void instance_check_complete(struct flow_run *run, struct instance *instance)
{
    const struct flow_operation_spec *spec = spec_of(run, instance);
    if (instance->finished || instance->ended || run->failed)
        return;
    uint64_t all = expected(instance, spec->kind);
    if (instance->received < all || instance->fetching)
        return;
    if (instance->received > all) {
        run_fail(run, ESP_INVALID, "the %s '%s' received %llu messages, expected %llu",
                 flow_kind_name(spec->kind), flow_operation_name(run->graph, instance->operation),
                 (unsigned long long)instance->received, (unsigned long long)all);
        return;
    }
    instance->finished = true;
    instance->worker->running = instance;
    struct flow_call call = {.run = run, .instance = instance};
    if (spec->complete)
        spec->complete(&call);
    play(run, instance);
}
