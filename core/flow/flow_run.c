/* SPDX-License-Identifier: Apache-2.0 */
#include "core/flow/flow_run.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void run_fail(struct flow_run *run, enum esp_status status, const char *format, ...)
{
    if (run->failed)
        return;
    va_list arguments;
    va_start(arguments, format);
    error_vset(&run->error, status, format, arguments);
    va_end(arguments);
    run->failed = true;
}

int64_t run_now(const struct flow_run *run)
{
    return clock_now_ns(run->spec.clock);
}

/* ---- threads ---- */

static void use_node(struct flow_run *run, unsigned node)
{
    if (run->nodes[node].n_workers++ == 0 && run->spec.executor.node_used)
        run->spec.executor.node_used(run->spec.executor.self, node, true);
}

static void leave_node(struct flow_run *run, unsigned node)
{
    if (--run->nodes[node].n_workers == 0 && run->spec.executor.node_used)
        run->spec.executor.node_used(run->spec.executor.self, node, false);
}

/* A thread in reserve is one that was removed. */
static bool add_worker(struct flow_run *run, unsigned set, bool in_reserve)
{
    struct run_set *workers = &run->sets[set];
    const struct flow_thread_set *threads = &run->graph->sets[set];
    if (workers->n == FLOW_MAX_THREADS) {
        run_fail(run, ESP_LIMIT, "threads '%s': there are at most %d", threads->name, FLOW_MAX_THREADS);
        return false;
    }
    if (workers->n == workers->capacity) {
        unsigned capacity = workers->capacity ? 2 * workers->capacity : 8;
        struct worker **moved = realloc(workers->workers, capacity * sizeof *moved);
        if (!moved) {
            run_fail(run, ESP_NO_MEMORY, "out of memory for threads '%s'", threads->name);
            return false;
        }
        workers->workers = moved;
        workers->capacity = capacity;
    }
    unsigned n_nodes = run->spec.n_nodes;
    unsigned node = workers->n % n_nodes;
    if (threads->spec.nodes && workers->n < threads->spec.n)
        node = threads->spec.nodes[workers->n];
    else if (threads->spec.place)
        node = threads->spec.place(run->graph->application, workers->n, n_nodes);
    if (node >= n_nodes) {
        run_fail(run, ESP_INVALID, "thread %s[%u] is placed on node %u: there are %u nodes", threads->name,
                 workers->n, node, n_nodes);
        return false;
    }
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker) {
        run_fail(run, ESP_NO_MEMORY, "out of memory for threads '%s'", threads->name);
        return false;
    }
    *worker = (struct worker){.set = set, .thread = workers->n, .node = node};
    worker->last = &worker->queue;
    worker->last_resumed = &worker->resumed;
    workers->workers[workers->n++] = worker;
    if (in_reserve) {
        worker->retired = worker->released = true;
        return true;
    }
    use_node(run, node);
    return run_reserve(run, worker, FLOW_NONE, threads->spec.state_bytes);
}

void run_rest(struct flow_run *run, struct worker *worker)
{
    if (!worker->retired || worker->released || worker->running || worker->queue || worker->resumed ||
        worker->n_instances || worker->arriving || worker->moving)
        return;
    worker->released = true;
    run_give_back(run, worker->node, run->graph->sets[worker->set].spec.state_bytes);
    leave_node(run, worker->node);
}

void run_kill(struct flow_run *run, unsigned set, unsigned n)
{
    struct run_set *workers = &run->sets[set];
    if (n >= workers->active) {
        run_fail(run, ESP_INVALID, "threads '%s': %u of %u cannot be removed, as one must stay",
                 run->graph->sets[set].name, n, workers->active);
        return;
    }
    for (; n > 0; n--) {
        struct worker *worker = workers->workers[--workers->active];
        worker->retired = true;
        run_rest(run, worker);
    }
}

void run_take(struct flow_run *run, unsigned set, unsigned n)
{
    struct run_set *workers = &run->sets[set];
    for (; n > 0 && !run->failed; n--) {
        if (workers->active == workers->n) {
            if (!add_worker(run, set, false))
                return;
        } else {
            struct worker *worker = workers->workers[workers->active];
            if (worker->released) {
                use_node(run, worker->node);
                if (!run_reserve(run, worker, FLOW_NONE, run->graph->sets[set].spec.state_bytes))
                    return;
            }
            worker->retired = worker->released = false;
        }
        workers->active++;
    }
}

void run_move(struct flow_run *run, unsigned set, unsigned thread, unsigned node)
{
    const struct flow_thread_set *threads = &run->graph->sets[set];
    if (thread >= run->sets[set].n || node >= run->spec.n_nodes) {
        run_fail(run, ESP_INVALID, "thread %s[%u] cannot move to node %u: there are %u threads and %u nodes",
                 threads->name, thread, node, run->sets[set].n, run->spec.n_nodes);
        return;
    }
    struct worker *worker = run->sets[set].workers[thread];
    if (worker->node == node || worker->released)
        return;
    if (worker->moving || worker->running || worker->n_instances) {
        run_fail(run, ESP_INVALID, "thread %s[%u] cannot move while it has operations", threads->name,
                 thread);
        return;
    }
    struct parcel *parcel = run_parcel(run, &(struct flow_message){.bytes = threads->spec.state_bytes});
    if (!parcel)
        return;
    unsigned from = worker->node;
    run_give_back(run, from, threads->spec.state_bytes);
    leave_node(run, from);
    use_node(run, node);
    worker->node = node;
    worker->moving = true;
    parcel->operation = FLOW_NONE;
    parcel->worker = worker;
    parcel->is_state = true;
    run->counts.moves++;
    if (run_reserve(run, worker, FLOW_NONE, threads->spec.state_bytes))
        run_send(run, parcel, from);
    else
        run_drop_parcel(run, parcel);
}

struct worker *run_route(struct flow_run *run, unsigned operation, const struct flow_message *message)
{
    const struct flow_operation_spec *spec = &run->graph->operations[operation].spec;
    struct run_set *set = &run->sets[spec->threads];
    unsigned thread = spec->route ? spec->route(run->graph->application, message) : 0;
    if (!spec->fixed)
        return set->workers[thread % set->active];
    if (thread < set->n)
        return set->workers[thread];
    run_fail(run, ESP_INVALID, "operation '%s' is routed to thread %s[%u]: there are %u",
             flow_operation_name(run->graph, operation), run->graph->sets[spec->threads].name, thread,
             set->n);
    return NULL;
}

void run_make_ready(struct flow_run *run, struct worker *worker)
{
    if (worker->ready || worker->running || worker->held || worker->moving)
        return;
    worker->ready = true;
    worker->next_ready = NULL;
    *run->last_ready = worker;
    run->last_ready = &worker->next_ready;
}

/* ---- memory ---- */

bool run_reserve(struct flow_run *run, struct worker *worker, unsigned operation, uint64_t bytes)
{
    struct run_node *node = &run->nodes[worker->node];
    if (bytes > node->memory_bytes || node->used_bytes > node->memory_bytes - bytes) {
        /* The state of a thread does not wait, as nothing might ever make room for it. */
        if (operation == FLOW_NONE || bytes > node->memory_bytes) {
            run_fail(run, ESP_LIMIT,
                     "%s '%s' on node %u needs %llu bytes, the node has %llu, of which %llu are used",
                     operation == FLOW_NONE ? "the state of a thread of" : "operation",
                     operation == FLOW_NONE ? run->graph->sets[worker->set].name
                                            : flow_operation_name(run->graph, operation),
                     worker->node, (unsigned long long)bytes, (unsigned long long)node->memory_bytes,
                     (unsigned long long)node->used_bytes);
            return false;
        }
        worker->held = true;
        worker->next_held = NULL;
        *node->last_held = worker;
        node->last_held = &worker->next_held;
        return false;
    }
    node->used_bytes += bytes;
    if (node->used_bytes > node->peak_bytes)
        node->peak_bytes = node->used_bytes;
    return true;
}

void run_give_back(struct flow_run *run, unsigned index, uint64_t bytes)
{
    struct run_node *node = &run->nodes[index];
    node->used_bytes -= bytes;
    if (bytes == 0)
        return;
    struct worker *held = node->held;
    node->held = NULL;
    node->last_held = &node->held;
    while (held) {
        struct worker *next = held->next_held;
        held->held = false;
        run_make_ready(run, held);
        held = next;
    }
}

/* ---- messages ---- */

struct parcel *run_parcel(struct flow_run *run, const struct flow_message *message)
{
    struct parcel *parcel = run->free_parcels;
    if (parcel)
        run->free_parcels = parcel->next;
    else
        parcel = arena_alloc(&run->memory, sizeof *parcel);
    if (!parcel) {
        run_fail(run, ESP_NO_MEMORY, "out of memory for a message");
        return NULL;
    }
    *parcel = (struct parcel){.message = *message};
    return parcel;
}

void run_drop_parcel(struct flow_run *run, struct parcel *parcel)
{
    parcel->next = run->free_parcels;
    run->free_parcels = parcel;
}

static void describe(const struct parcel *parcel, struct flow_transfer *transfer)
{
    *transfer = (struct flow_transfer){.from = parcel->from,
                                       .to = parcel->to,
                                       .set = parcel->worker->set,
                                       .thread = parcel->worker->thread,
                                       .operation = parcel->operation,
                                       .bytes = parcel->message.bytes,
                                       .number = parcel->number,
                                       .message = parcel->message};
}

/* The thread asked for a part of its state answers at once. */
static void answer_fetch(struct flow_run *run, struct parcel *parcel)
{
    unsigned from = parcel->fetched->node;
    parcel->fetched->arriving--;
    run_rest(run, parcel->fetched);
    parcel->operation = parcel->receiver->operation;
    parcel->worker = parcel->receiver->worker;
    parcel->fetched = NULL;
    run_send(run, parcel, from);
}

static void arrive(struct flow_run *run, struct parcel *parcel)
{
    if (run->spec.observer.transfer) {
        struct flow_transfer transfer;
        describe(parcel, &transfer);
        if (parcel->fetched)
            transfer.bytes = FLOW_FETCH_BYTES;
        run->spec.observer.transfer(run->spec.observer.self, &transfer, parcel->begun_ns, run_now(run));
    }
    struct worker *worker = parcel->worker;
    if (parcel->fetched) {
        answer_fetch(run, parcel);
        return;
    }
    worker->arriving--;
    if (parcel->is_state) {
        worker->moving = false;
        run_drop_parcel(run, parcel);
    } else if (worker->node != parcel->to) {
        run_send(run, parcel, parcel->to); /* the thread has moved */
        return;
    } else {
        parcel->next = NULL;
        *worker->last = parcel;
        worker->last = &parcel->next;
    }
    run_make_ready(run, worker);
}

void run_send(struct flow_run *run, struct parcel *parcel, unsigned from)
{
    struct worker *worker = parcel->worker;
    struct flow_transfer transfer;
    parcel->from = from;
    parcel->to = worker->node;
    parcel->begun_ns = run_now(run);
    parcel->number = run->counts.messages;
    describe(parcel, &transfer);
    if (parcel->fetched)
        transfer.bytes = FLOW_FETCH_BYTES;
    if (run->counts.messages == FLOW_MAX_MESSAGES) {
        run_fail(run, ESP_LIMIT, "the run has more than %d messages", FLOW_MAX_MESSAGES);
        run_drop_parcel(run, parcel);
        return;
    }
    if (!parcel->is_state) {
        run->counts.messages++;
        run->counts.bytes += transfer.bytes;
        run->counts.remote_messages += from != parcel->to;
        run->counts.remote_bytes += from != parcel->to ? transfer.bytes : 0;
    }
    worker->arriving++;
    if (from == parcel->to) {
        arrive(run, parcel);
        return;
    }
    run->under_way++;
    run->spec.executor.transfer(run->spec.executor.self, parcel, &transfer);
}

void flow_transfer_ended(struct flow_run *run, void *ticket)
{
    run->under_way--;
    arrive(run, ticket);
    run_pump(run);
}

/* ---- threads at work ---- */

/* The thread's next message. False: it has to wait for memory, or the run has failed. */
static bool take_message(struct flow_run *run, struct worker *worker)
{
    struct parcel *parcel = worker->queue;
    struct instance *instance = parcel->receiver ? parcel->receiver : instance_for(run, worker, parcel);
    if (!instance)
        return false;
    worker->queue = parcel->next;
    if (!worker->queue)
        worker->last = &worker->queue;
    parcel->next = NULL;
    if (instance->suspended) {
        *instance->last_pending = parcel;
        instance->last_pending = &parcel->next;
        return true;
    }
    worker->running = instance;
    play_receive(run, instance, parcel);
    return true;
}

/* The thread goes on until it computes or has nothing to do. */
static void work(struct flow_run *run, struct worker *worker)
{
    while (!run->failed && !worker->running && !worker->held && !worker->moving) {
        struct instance *instance = worker->resumed;
        if (instance) {
            worker->resumed = instance->next_resumed;
            if (!worker->resumed)
                worker->last_resumed = &worker->resumed;
            instance->resumed = false;
            if (instance->suspended) {
                instance->suspended = false;
                worker->running = instance;
                play(run, instance);
            } else {
                instance_check_complete(run, instance);
            }
            instance_release(run, instance);
        } else if (!worker->queue || !take_message(run, worker)) {
            break;
        }
    }
    run_rest(run, worker);
}

void run_pump(struct flow_run *run)
{
    if (run->pumping)
        return;
    run->pumping = true;
    while (run->ready && !run->failed) {
        struct worker *worker = run->ready;
        run->ready = worker->next_ready;
        if (!run->ready)
            run->last_ready = &run->ready;
        worker->ready = false;
        work(run, worker);
    }
    run->pumping = false;
}

/* ---- a run as a whole ---- */

static bool create_parts(struct flow_run *run)
{
    const struct flow_graph *graph = run->graph;
    unsigned n = graph->n_operations;
    run->sets = calloc(graph->n_sets, sizeof *run->sets);
    run->nodes = calloc(run->spec.n_nodes, sizeof *run->nodes);
    run->begun = calloc(n, sizeof *run->begun);
    run->single = calloc(n, sizeof *run->single);
    run->single_ended = calloc(n, sizeof *run->single_ended);
    if (!run->sets || !run->nodes || !run->begun || !run->single || !run->single_ended) {
        run_fail(run, ESP_NO_MEMORY, "out of memory for a run of %u operations on %u nodes", n,
                 run->spec.n_nodes);
        return false;
    }
    for (unsigned i = 0; i < run->spec.n_nodes; i++) {
        run->nodes[i].memory_bytes = run->spec.memory_bytes ? run->spec.memory_bytes[i] : UINT64_MAX;
        run->nodes[i].last_held = &run->nodes[i].held;
    }
    return true;
}

static void add_workers(struct flow_run *run, unsigned set)
{
    const struct flow_threads_spec *spec = &run->graph->sets[set].spec;
    unsigned active = spec->n - spec->reserve;
    for (unsigned i = 0; i < spec->n && add_worker(run, set, i >= active); i++)
        run->sets[set].active += i < active;
}

enum esp_status flow_run_create(const struct flow_run_spec *spec, struct flow_run **run,
                                struct esp_error *error)
{
    *run = NULL;
    if (spec->graph->entry == FLOW_NONE)
        return error_set(error, ESP_INVALID, "the flow graph '%s' has changed since it was checked",
                         spec->graph->name);
    if (spec->n_nodes == 0 || spec->n_nodes > FLOW_MAX_NODES)
        return error_set(error, ESP_LIMIT, "expected 1 to %d nodes, found %u", FLOW_MAX_NODES, spec->n_nodes);
    struct flow_run *made = calloc(1, sizeof *made);
    if (!made)
        return error_no_memory(error, "a run of a flow graph");
    made->graph = spec->graph;
    made->spec = *spec;
    made->last_ready = &made->ready;
    if (create_parts(made))
        for (unsigned s = 0; s < spec->graph->n_sets && !made->failed; s++)
            add_workers(made, s);
    if (made->failed) {
        enum esp_status status = error_set(error, made->error.status, "%s", made->error.text);
        flow_run_destroy(made);
        return status;
    }
    *run = made;
    return ESP_OK;
}

static void destroy_workers(struct run_set *set)
{
    for (unsigned i = 0; i < set->n; i++)
        free(set->workers[i]);
    free(set->workers);
}

void flow_run_destroy(struct flow_run *run)
{
    if (!run)
        return;
    HASH_CLEAR(hh, run->groups);
    while (run->instances) {
        struct instance *instance = run->instances;
        run->instances = instance->next;
        instance_clear(instance);
    }
    for (unsigned s = 0; run->sets && s < run->graph->n_sets; s++)
        destroy_workers(&run->sets[s]);
    free(run->sets);
    free(run->nodes);
    free(run->begun);
    free(run->single);
    free(run->single_ended);
    arena_clear(&run->memory);
    free(run);
}

enum esp_status flow_run_start(struct flow_run *run, unsigned entry, const struct flow_message *message,
                               struct esp_error *error)
{
    const struct flow_graph *graph = run->graph;
    entry = flow_resolve(graph, entry);
    if (entry != graph->entry)
        return error_set(error, ESP_INVALID, "the flow graph '%s' was checked for another first operation",
                         graph->name);
    struct parcel *parcel = run_parcel(run, message);
    if (!parcel)
        return error_no_memory(error, "a message");
    parcel->operation = entry;
    parcel->worker = run_route(run, entry, message);
    if (!parcel->worker)
        return flow_run_outcome(run, error);
    run_send(run, parcel, parcel->worker->node);
    run_pump(run);
    return ESP_OK;
}
