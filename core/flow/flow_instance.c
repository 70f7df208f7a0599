/* SPDX-License-Identifier: Apache-2.0 */
#include "core/flow/flow_run.h"

#include <stdlib.h>
#include <string.h>

/* ---- the keys of a merge ---- */

static size_t key_place(const struct key_set *set, int64_t key)
{
    size_t place = (size_t)((uint64_t)key * UINT64_C(0x9E3779B97F4A7C15) >> 17) & (set->places - 1);
    while (set->taken[place] && set->keys[place] != key)
        place = (place + 1) & (set->places - 1);
    return place;
}

static bool widen(struct key_set *set)
{
    struct key_set wider = {.places = set->places ? 2 * set->places : 8, .n = set->n};
    wider.keys = malloc(wider.places * sizeof *wider.keys);
    wider.taken = calloc(wider.places, sizeof *wider.taken);
    if (!wider.keys || !wider.taken) {
        free(wider.keys);
        free(wider.taken);
        return false;
    }
    for (size_t i = 0; i < set->places; i++)
        if (set->taken[i]) {
            size_t place = key_place(&wider, set->keys[i]);
            wider.keys[place] = set->keys[i];
            wider.taken[place] = true;
        }
    free(set->keys);
    free(set->taken);
    *set = wider;
    return true;
}

bool instance_add_key(struct flow_run *run, struct instance *instance, int64_t key)
{
    struct key_set *set = &instance->keys;
    if (2 * set->n >= set->places && !widen(set)) {
        run_fail(run, ESP_NO_MEMORY, "out of memory for the keys of a merge");
        return false;
    }
    size_t place = key_place(set, key);
    if (set->taken[place]) {
        run_fail(run, ESP_INVALID, "the merge '%s' received the key %lld twice, expected each key once",
                 flow_operation_name(run->graph, instance->operation), (long long)key);
        return false;
    }
    set->keys[place] = key;
    set->taken[place] = true;
    set->n++;
    return true;
}

/* ---- their life ---- */

void instance_clear(struct instance *instance)
{
    if (instance->actions != instance->own)
        free(instance->actions);
    free(instance->keys.keys);
    free(instance->keys.taken);
    while (instance->collections) {
        struct collection *next = instance->collections->next;
        free(instance->collections);
        instance->collections = next;
    }
}

void instance_hold(struct instance *instance)
{
    instance->references++;
}

void instance_release(struct flow_run *run, struct instance *instance)
{
    while (instance && --instance->references == 0) {
        struct instance *origin = instance->origin;
        if (instance->previous)
            instance->previous->next = instance->next;
        else
            run->instances = instance->next;
        if (instance->next)
            instance->next->previous = instance->previous;
        instance_clear(instance);
        instance->next = run->free_instances;
        run->free_instances = instance;
        instance = origin;
    }
}

static struct instance *make(struct flow_run *run, struct worker *worker, unsigned operation,
                             struct instance *origin, uint64_t memory_bytes)
{
    struct instance *instance = run->free_instances;
    if (instance)
        run->free_instances = instance->next;
    else
        instance = arena_alloc(&run->memory, sizeof *instance);
    if (!instance) {
        run_fail(run, ESP_NO_MEMORY, "out of memory for the operation '%s'",
                 flow_operation_name(run->graph, operation));
        return NULL;
    }
    memset(instance, 0, offsetof(struct instance, own));
    memset(&instance->received, 0, sizeof *instance - offsetof(struct instance, received));
    instance->operation = operation;
    instance->worker = worker;
    instance->number = run->counts.instances++;
    instance->references = 1;
    instance->origin = origin;
    instance->actions = instance->own;
    instance->capacity = INLINE_ACTIONS;
    instance->expected = UINT64_MAX;
    instance->memory_bytes = memory_bytes;
    instance->last_pending = &instance->pending;
    if (origin)
        instance_hold(origin);
    instance->next = run->instances;
    if (run->instances)
        run->instances->previous = instance;
    run->instances = instance;
    worker->n_instances++;
    run->begun[operation]++;
    return instance;
}

static struct collection *find_collection(struct flow_run *run, struct instance *origin, unsigned operation)
{
    for (struct collection *collection = origin->collections; collection; collection = collection->next)
        if (collection->operation == operation)
            return collection;
    struct collection *collection = calloc(1, sizeof *collection);
    if (!collection) {
        run_fail(run, ESP_NO_MEMORY, "out of memory for a merge");
        return NULL;
    }
    collection->operation = operation;
    collection->next = origin->collections;
    origin->collections = collection;
    return collection;
}

bool instance_count_posted(struct flow_run *run, struct instance *origin, const struct flow_edge *edge)
{
    const struct flow_operation_spec *collector = &run->graph->operations[edge->collector].spec;
    origin->circulating++;
    if (collector->single || collector->group)
        return true; /* it does not ask how many there are of one split */
    struct collection *collection = find_collection(run, origin, edge->collector);
    if (!collection)
        return false;
    collection->posted++;
    return true;
}

static struct instance *find_group(struct flow_run *run, unsigned operation, int64_t group)
{
    struct instance *found, probe;
    memset(&probe.key, 0, sizeof probe.key);
    probe.key.operation = operation;
    probe.key.group = group;
    HASH_FIND(hh, run->groups, &probe.key, sizeof probe.key, found);
    return found;
}

static bool add_group(struct flow_run *run, struct instance *instance, int64_t group)
{
    memset(&instance->key, 0, sizeof instance->key);
    instance->key.operation = instance->operation;
    instance->key.group = group;
    HASH_ADD(hh, run->groups, key, sizeof instance->key, instance);
    if (instance->hh.tbl)
        return true;
    run_fail(run, ESP_NO_MEMORY, "out of memory for the operation '%s'",
             flow_operation_name(run->graph, instance->operation));
    return false;
}

struct instance *instance_for(struct flow_run *run, struct worker *worker, const struct parcel *parcel)
{
    const struct flow_operation *operation = &run->graph->operations[parcel->operation];
    bool collects = flow_collects(operation), single = operation->spec.single;
    struct collection *collection = NULL;
    struct instance *found = NULL;
    int64_t group =
        operation->spec.group ? operation->spec.group(run->graph->application, &parcel->message) : 0;
    if (operation->spec.group) {
        found = find_group(run, parcel->operation, group);
    } else if (collects && single) {
        found = run->single[parcel->operation];
        if (run->single_ended[parcel->operation]) {
            run_fail(run, ESP_INVALID, "the %s '%s' received a message after its end",
                     flow_kind_name(operation->spec.kind), operation->name);
            return NULL;
        }
    } else if (collects) {
        if (!parcel->origin) {
            run_fail(run, ESP_INVALID, "the %s '%s' received a message that no split has sent",
                     flow_kind_name(operation->spec.kind), operation->name);
            return NULL;
        }
        collection = find_collection(run, parcel->origin, parcel->operation);
        if (collection && collection->over) {
            run_fail(run, ESP_INVALID, "the %s '%s' received a message after its end",
                     flow_kind_name(operation->spec.kind), operation->name);
            return NULL;
        }
        found = collection ? collection->instance : NULL;
    }
    if (found && found->worker != worker) {
        run_fail(run, ESP_INVALID,
                 "the messages for the %s '%s' are routed to two threads, %s[%u] and %s[%u]: all of one "
                 "split must "
                 "have one thread",
                 flow_kind_name(operation->spec.kind), operation->name,
                 run->graph->sets[found->worker->set].name, found->worker->thread,
                 run->graph->sets[worker->set].name, worker->thread);
        return NULL;
    }
    if (found || run->failed)
        return run->failed ? NULL : found;
    uint64_t bytes =
        operation->spec.memory ? operation->spec.memory(run->graph->application, &parcel->message) : 0;
    if (!run_reserve(run, worker, parcel->operation, bytes))
        return NULL;
    /* What a single instance sends belongs to no split before: it gathers messages of several. */
    struct instance *origin = parcel->origin;
    if (collects)
        origin = collection ? parcel->origin->origin : NULL;
    found = make(run, worker, parcel->operation, origin, bytes);
    if (found && collection) {
        collection->instance = found;
        found->source = parcel->origin;
        instance_hold(found->source);
    }
    if (found && single)
        run->single[parcel->operation] = found;
    if (found && operation->spec.group && !add_group(run, found, group))
        return NULL;
    return found;
}

void instance_resume(struct flow_run *run, struct instance *instance)
{
    struct worker *worker = instance->worker;
    if (instance->resumed)
        return;
    instance->resumed = true;
    instance_hold(instance);
    instance->next_resumed = NULL;
    *worker->last_resumed = instance;
    worker->last_resumed = &instance->next_resumed;
    run_make_ready(run, worker);
}

void instance_collected(struct flow_run *run, struct instance *origin)
{
    unsigned window = run->graph->operations[origin->operation].spec.window;
    origin->circulating--;
    if (origin->suspended && origin->circulating < window)
        instance_resume(run, origin);
}

void instance_end(struct flow_run *run, struct instance *instance)
{
    struct worker *worker = instance->worker;
    struct instance *source = instance->source;
    instance->ended = true;
    if (run->graph->operations[instance->operation].spec.single) {
        run->single[instance->operation] = NULL;
        run->single_ended[instance->operation] = true;
    }
    if (run->graph->operations[instance->operation].spec.group)
        HASH_DEL(run->groups, instance);
    if (source) {
        struct collection *collection = find_collection(run, source, instance->operation);
        collection->instance = NULL;
        collection->over = true;
        instance->source = NULL;
        instance_release(run, source);
    }
    worker->n_instances--;
    run_give_back(run, worker->node, instance->memory_bytes);
    /* The merges of its messages know now how many there are. */
    for (struct collection *c = instance->collections; c; c = c->next)
        if (c->instance)
            instance_resume(run, c->instance);
    instance_release(run, instance);
}
