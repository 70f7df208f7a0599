/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of flow graphs under an executor that ends what is under way in the order that a test wants.
 */
#include "core/flow/flow.h"
#include "tests/unit/unit.h"
#include "util/random.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_TICKETS 4096

/* ---- an executor ---- */

struct world {
    struct manual_clock clock;
    struct flow_graph *graph;
    struct flow_run *run;
    struct {
        void *ticket;
        bool is_transfer;
        unsigned node, thread, operation;
    } under_way[MOST_TICKETS];
    unsigned n;
    unsigned computing[64];                    /* on each node */
    unsigned released;                         /* nodes */
    uint64_t bytes;                            /* transferred */
    unsigned sent, received, most_circulating; /* of the split "s" and its merge */
    struct flow_message result;
    unsigned order[64], n_order; /* what was received, for tests that look at the order */
    const char *fault;           /* what the graph's code does wrong */
    unsigned ops[16];            /* operations of the graph */
    unsigned threads;            /* its set */
    unsigned width, window;
};

static void compute(void *self, void *ticket, const struct flow_step *step)
{
    struct world *world = self;
    assert_true(world->n < MOST_TICKETS);
    world->under_way[world->n].ticket = ticket;
    world->under_way[world->n].is_transfer = false;
    world->under_way[world->n].node = step->node;
    world->under_way[world->n].thread = step->thread;
    world->under_way[world->n++].operation = step->operation;
    world->computing[step->node]++;
}

static void transfer(void *self, void *ticket, const struct flow_transfer *transfer)
{
    struct world *world = self;
    assert_true(world->n < MOST_TICKETS);
    assert_int_not_equal(transfer->from, transfer->to);
    world->under_way[world->n].ticket = ticket;
    world->under_way[world->n].operation = transfer->operation;
    world->under_way[world->n++].is_transfer = true;
    world->bytes += transfer->bytes;
}

static void node_used(void *self, unsigned node, bool used)
{
    struct world *world = self;
    (void)node;
    world->released += !used;
}

/* Ends what is at `place`; what began later keeps its order. */
static void end(struct world *world, unsigned place)
{
    void *ticket = world->under_way[place].ticket;
    bool is_transfer = world->under_way[place].is_transfer;
    if (!is_transfer)
        world->computing[world->under_way[place].node]--;
    memmove(&world->under_way[place], &world->under_way[place + 1],
            (world->n - place - 1) * sizeof world->under_way[0]);
    world->n--;
    world->clock.time_ns += 1000;
    if (is_transfer)
        flow_transfer_ended(world->run, ticket);
    else
        flow_step_ended(world->run, ticket);
}

static struct world *world_create(const char *name)
{
    struct world *world = calloc(1, sizeof *world);
    struct esp_error error;
    assert_non_null(world);
    manual_clock_init(&world->clock, 0);
    assert_int_equal(flow_graph_create(name, world, &world->graph, &error), ESP_OK);
    return world;
}

static void world_destroy(struct world *world)
{
    flow_run_destroy(world->run);
    flow_graph_destroy(world->graph);
    free(world);
}

static unsigned threads(struct world *world, const char *name, unsigned n, uint64_t bytes)
{
    struct esp_error error;
    unsigned set;
    assert_int_equal(flow_add_threads(world->graph,
                                      &(struct flow_threads_spec){.name = name, .n = n, .state_bytes = bytes},
                                      &set, &error),
                     ESP_OK);
    return set;
}

static unsigned add(struct world *world, struct flow_operation_spec spec)
{
    struct esp_error error;
    unsigned operation;
    if (flow_add_operation(world->graph, &spec, &operation, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return operation;
}

static void edge(struct world *world, unsigned from, unsigned to)
{
    struct esp_error error;
    if (flow_add_edge(world->graph, from, to, &error) != ESP_OK)
        fail_msg("%s", error.text);
}

static void start(struct world *world, unsigned n_nodes, const uint64_t *memory, unsigned entry)
{
    struct esp_error error;
    if (flow_graph_check(world->graph, entry, &error) != ESP_OK)
        fail_msg("%s", error.text);
    struct flow_run_spec spec = {
        .graph = world->graph,
        .n_nodes = n_nodes,
        .memory_bytes = memory,
        .clock = &world->clock.clock,
        .executor = {.self = world, .compute = compute, .transfer = transfer, .node_used = node_used}};
    if (flow_run_create(&spec, &world->run, &error) != ESP_OK)
        fail_msg("%s", error.text);
    assert_int_equal(flow_run_start(world->run, entry, &(struct flow_message){.bytes = 10}, &error), ESP_OK);
}

/* Ends all, the oldest first, or at random. */
static enum esp_status finish(struct world *world, struct random *random, struct esp_error *error)
{
    while (world->n)
        end(world, random ? (unsigned)random_below(random, world->n) : 0);
    assert_true(flow_run_idle(world->run));
    return flow_run_outcome(world->run, error);
}

static void finish_well(struct world *world)
{
    struct esp_error error;
    if (finish(world, NULL, &error) != ESP_OK)
        fail_msg("%s", error.text);
}

static void finish_badly(struct world *world, const char *text)
{
    struct esp_error error;
    assert_int_not_equal(finish(world, NULL, &error), ESP_OK);
    assert_string_equal(error.text, text);
}

/* ---- a split, leaves and a merge ---- */

enum { SPLIT, LEAF, MERGE };

static unsigned by_key(void *application, const struct flow_message *message)
{
    (void)application;
    return (unsigned)message->key;
}

static void split(struct flow_call *call, const struct flow_message *input)
{
    struct world *world = flow_application(call);
    struct flow_message output = *input;
    for (unsigned i = 0; i < world->width; i++) {
        output.key = world->fault && strcmp(world->fault, "double key") == 0 && i ? 1 : i;
        flow_compute(call, "part", 1);
        flow_post(call, world->ops[LEAF], &output);
    }
}

static void leaf(struct flow_call *call, const struct flow_message *input)
{
    struct world *world = flow_application(call);
    world->sent++;
    if (world->sent - world->received > world->most_circulating)
        world->most_circulating = world->sent - world->received;
    flow_compute(call, NULL, 1);
    if (world->fault && strcmp(world->fault, "silent leaf") == 0)
        return;
    flow_post(call, world->ops[MERGE], input);
    if (world->fault && strcmp(world->fault, "two outputs") == 0)
        flow_post(call, world->ops[MERGE], input);
}

static void gather(struct flow_call *call, const struct flow_message *input)
{
    struct world *world = flow_application(call);
    if (world->n_order < 64)
        world->order[world->n_order++] = (unsigned)input->key;
    world->received++;
}

static void gathered(struct flow_call *call)
{
    struct world *world = flow_application(call);
    flow_result(call, &(struct flow_message){.key = (int64_t)world->received});
}

static struct world *fan(unsigned n_threads, unsigned width, unsigned window)
{
    struct world *world = world_create("fan");
    world->width = width;
    world->threads = threads(world, "t", n_threads, 0);
    world->ops[SPLIT] = add(world, (struct flow_operation_spec){.name = "split",
                                                                .kind = FLOW_SPLIT,
                                                                .threads = world->threads,
                                                                .receive = split,
                                                                .window = window});
    world->ops[LEAF] = add(
        world,
        (struct flow_operation_spec){
            .name = "leaf", .kind = FLOW_LEAF, .threads = world->threads, .route = by_key, .receive = leaf});
    world->ops[MERGE] = add(world, (struct flow_operation_spec){.name = "merge",
                                                                .kind = FLOW_MERGE,
                                                                .threads = world->threads,
                                                                .receive = gather,
                                                                .complete = gathered});
    edge(world, world->ops[SPLIT], world->ops[LEAF]);
    edge(world, world->ops[LEAF], world->ops[MERGE]);
    return world;
}

static void a_merge_completes_when_all_messages_of_its_split_have_come(void **state)
{
    (void)state;
    struct world *world = fan(3, 10, 0);
    start(world, 3, NULL, world->ops[SPLIT]);
    finish_well(world);
    struct flow_message result;
    assert_true(flow_run_result(world->run, &result));
    assert_int_equal(result.key, 10);
    struct flow_counts counts;
    flow_run_counts(world->run, &counts);
    assert_int_equal(counts.messages, 1 + 10 + 10);
    assert_int_equal(counts.instances, 1 + 10 + 1);
    assert_int_equal(counts.steps, 10 + 10);
    /* Keys 0, 3, 6, 9 stay on node 0, so twelve messages cross. */
    assert_int_equal(counts.remote_messages, 12);
    assert_int_equal(counts.remote_bytes, world->bytes);
    assert_int_equal(flow_run_instances(world->run, world->ops[LEAF]), 10);
    world_destroy(world);
}

static void a_thread_runs_one_operation_at_a_time(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 5);
    struct world *world = fan(4, 40, 0);
    start(world, 4, NULL, world->ops[SPLIT]);
    while (world->n) {
        for (unsigned i = 0; i < 4; i++)
            assert_true(world->computing[i] <= 1);
        end(world, (unsigned)random_below(&random, world->n));
    }
    struct esp_error error;
    assert_int_equal(flow_run_outcome(world->run, &error), ESP_OK);
    world_destroy(world);
}

static void a_window_bounds_the_messages_in_circulation(void **state)
{
    (void)state;
    for (unsigned window = 1; window <= 8; window++) {
        struct random random;
        random_seed(&random, window);
        struct world *world = fan(3, 40, window);
        struct esp_error error;
        start(world, 3, NULL, world->ops[SPLIT]);
        if (finish(world, &random, &error) != ESP_OK)
            fail_msg("%s", error.text);
        assert_int_equal(world->received, 40);
        assert_true(world->most_circulating <= window);
        assert_true(world->most_circulating >= (window < 2 ? window : 2));
        world_destroy(world);
    }
}

static void a_suspended_split_lets_its_thread_run_others(void **state)
{
    (void)state;
    struct world *world = fan(1, 20, 1); /* one thread for all: only the suspension lets leaves run */
    start(world, 1, NULL, world->ops[SPLIT]);
    finish_well(world);
    assert_int_equal(world->received, 20);
    assert_int_equal(world->most_circulating, 1);
    world_destroy(world);
}

static void wrong_outputs_are_errors(void **state)
{
    (void)state;
    static const struct {
        const char *fault, *text;
        unsigned width;
    } rows[] = {
        {"double key", "the merge 'merge' received the key 1 twice, expected each key once", 3},
        {"silent leaf", "the leaf 'leaf' ended without a message, expected one", 3},
        {"two outputs", "the leaf 'leaf' sent a second message, expected one", 3},
        {NULL, "the split 'split' ended without a message, expected at least one", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world *world = fan(2, rows[i].width, 0);
        world->fault = rows[i].fault;
        start(world, 2, NULL, world->ops[SPLIT]);
        finish_badly(world, rows[i].text);
        world_destroy(world);
    }
}

/* ---- memory ---- */

static uint64_t forty(void *application, const struct flow_message *message)
{
    (void)application;
    (void)message;
    return 40;
}

/* Leaves on threads of one node, each of which takes 40 bytes. */
static struct world *hungry(uint64_t memory)
{
    struct world *world = fan(8, 8, 0);
    struct flow_graph *graph = world->graph;
    (void)graph;
    unsigned leaf_too = add(world, (struct flow_operation_spec){.name = "hungry",
                                                                .kind = FLOW_LEAF,
                                                                .threads = world->threads,
                                                                .route = by_key,
                                                                .receive = leaf,
                                                                .memory = forty});
    struct esp_error error;
    assert_int_equal(flow_replace(world->graph, world->ops[LEAF], leaf_too, leaf_too, &error), ESP_OK);
    start(world, 1, &memory, world->ops[SPLIT]);
    return world;
}

static void operations_wait_until_their_memory_is_free(void **state)
{
    (void)state;
    struct world *world = hungry(100);
    unsigned most = 0;
    while (world->n) {
        unsigned leaves = 0;
        for (unsigned i = 0; i < world->n; i++)
            leaves += world->under_way[i].operation != world->ops[SPLIT];
        most = leaves > most ? leaves : most;
        /* The split ends first, so that all leaves are there. */
        end(world, world->under_way[0].operation == world->ops[SPLIT] ? 0 : world->n - 1);
    }
    struct esp_error error;
    assert_int_equal(flow_run_outcome(world->run, &error), ESP_OK);
    assert_int_equal(most, 2);
    assert_int_equal(flow_run_peak_bytes(world->run, 0), 80);
    assert_int_equal(world->received, 8);
    world_destroy(world);
}

static void an_operation_that_never_fits_is_an_error(void **state)
{
    (void)state;
    struct world *world = hungry(39);
    finish_badly(world, "operation 'hungry' on node 0 needs 40 bytes, the node has 39, of which 0 are used");
    world_destroy(world);
}

/* ---- checks of graphs ---- */

static void pass(struct flow_call *call, const struct flow_message *input)
{
    (void)call;
    (void)input;
}

static void refuses(struct world *world, unsigned entry, const char *text)
{
    struct esp_error error;
    assert_int_equal(flow_graph_check(world->graph, entry, &error), ESP_INVALID);
    assert_string_equal(error.text, text);
    world_destroy(world);
}

static struct world *chain(enum flow_kind a, enum flow_kind b, enum flow_kind c)
{
    struct world *world = world_create("chain");
    unsigned set = threads(world, "t", 1, 0);
    const enum flow_kind kinds[] = {a, b, c};
    const char *const names[] = {"a", "b", "c"};
    for (unsigned i = 0; i < 3; i++)
        world->ops[i] =
            add(world, (struct flow_operation_spec){.name = names[i],
                                                    .kind = kinds[i],
                                                    .threads = set,
                                                    .receive = pass,
                                                    .complete = kinds[i] == FLOW_MERGE ? gathered : NULL});
    edge(world, world->ops[0], world->ops[1]);
    edge(world, world->ops[1], world->ops[2]);
    return world;
}

static void a_cycle_is_named(void **state)
{
    (void)state;
    struct world *world = chain(FLOW_LEAF, FLOW_LEAF, FLOW_LEAF);
    edge(world, world->ops[2], world->ops[1]);
    refuses(world, world->ops[0], "the graph has a cycle of 2 operations: 'c' after 'b' after 'c'");
    world = chain(FLOW_LEAF, FLOW_LEAF, FLOW_LEAF);
    edge(world, world->ops[1], world->ops[1]);
    refuses(world, world->ops[0], "the graph has a cycle of 1 operation: 'b' after 'b'");
}

static void what_cannot_work_is_refused(void **state)
{
    (void)state;
    struct world *world = chain(FLOW_LEAF, FLOW_LEAF, FLOW_LEAF);
    refuses(world, world->ops[1], "operation 'a' cannot be reached from 'b'");
    world = chain(FLOW_SPLIT, FLOW_LEAF, FLOW_LEAF);
    refuses(world, world->ops[0], "the messages of the split 'a' to 'b' never meet one merge or stream");
    world = chain(FLOW_LEAF, FLOW_MERGE, FLOW_SPLIT);
    refuses(world, world->ops[0], "the split 'c' leads nowhere");
}

/* ---- nested splits: a random tree of splits, merged again ---- */

#define MOST_DEPTH 4

struct tree {
    struct world *world;
    unsigned depth, n_threads;
    unsigned splits[MOST_DEPTH], merges[MOST_DEPTH], leaf;
    uint64_t seed;
    uint64_t leaves, expected_leaves, expected_messages;
    int64_t sum;
};

static unsigned scatter(void *application, const struct flow_message *message)
{
    const struct tree *tree = application;
    return (unsigned)((uint64_t)message->index[0] * 7919 + (uint64_t)message->key + tree->seed);
}

/* Merges of one split must meet on one thread: that of the split's input. */
static unsigned stay(void *application, const struct flow_message *message)
{
    (void)application;
    return (unsigned)message->index[1];
}

static unsigned width_of(const struct tree *tree, int32_t node)
{
    return 1 + (unsigned)(((uint64_t)node * 2654435761U + tree->seed) >> 3) % 4;
}

/* index[0] names a node of the tree, index[1] the thread of the nearest merge, index[2] the level. */
static void split_node(struct flow_call *call, const struct flow_message *input)
{
    struct tree *tree = flow_application(call);
    unsigned level = (unsigned)input->index[2];
    for (unsigned i = 0; i < width_of(tree, input->index[0]); i++) {
        struct flow_message output = *input;
        output.index[0] = input->index[0] * 5 + (int32_t)i + 1;
        output.index[1] = (int32_t)((unsigned)input->index[0] % tree->n_threads);
        output.index[2] = (int32_t)level + 1;
        output.key = i;
        flow_compute(call, NULL, i % 2);
        flow_post(call, level + 1 == tree->depth ? tree->leaf : tree->splits[level + 1], &output);
    }
}

static void count_leaf(struct flow_call *call, const struct flow_message *input)
{
    struct tree *tree = flow_application(call);
    tree->leaves++;
    struct flow_message output = *input;
    output.bytes = 1;
    flow_compute(call, NULL, input->key % 2);
    flow_post(call, tree->merges[tree->depth - 1], &output);
}

static void sum_up(struct flow_call *call, const struct flow_message *input)
{
    uintptr_t sum = (uintptr_t)*flow_instance_data(call) + input->bytes;
    *flow_instance_data(call) = (void *)sum;
    if (input->index[3] == 0)
        flow_compute(call, "sum", 1);
}

static void pass_sum(struct flow_call *call)
{
    struct tree *tree = flow_application(call);
    uintptr_t sum = (uintptr_t)*flow_instance_data(call);
    tree->sum = (int64_t)sum;
    flow_result(call, &(struct flow_message){.bytes = sum});
}

struct up {
    uint64_t sum;
    struct flow_message first;
};

/* A merge that is not the outermost hands its sum on; it keeps the place of its split in the tree. */
static void sum_inside(struct flow_call *call, const struct flow_message *input)
{
    struct up *up = *flow_instance_data(call);
    if (!up) {
        up = calloc(1, sizeof *up);
        up->first = *input;
        *flow_instance_data(call) = up;
    }
    up->sum += input->bytes;
}

static void pass_inside(struct flow_call *call)
{
    struct tree *tree = flow_application(call);
    struct up *up = *flow_instance_data(call);
    unsigned level = (unsigned)up->first.index[2] - 1; /* of the split */
    int32_t node = (up->first.index[0] - 1) / 5;
    int32_t above = (node - 1) / 5;
    struct flow_message output = up->first;
    output.bytes = up->sum;
    output.index[0] = node;
    output.index[1] = (int32_t)((unsigned)above % tree->n_threads);
    output.index[2] = (int32_t)level;
    output.key = (node - 1) % 5;
    flow_post(call, tree->merges[level - 1], &output);
    free(up);
}

static void count_expected(struct tree *tree, int32_t node, unsigned level)
{
    if (level == tree->depth) {
        tree->expected_leaves++;
        tree->expected_messages += 2; /* in and out */
        return;
    }
    tree->expected_messages += level > 0 ? 2 : 1; /* into the split; out of its merge */
    for (unsigned i = 0; i < width_of(tree, node); i++)
        count_expected(tree, node * 5 + (int32_t)i + 1, level + 1);
}

static void random_trees_are_merged_in_any_order(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 1);
    for (int trial = 0; trial < TRIALS(300); trial++) {
        struct tree tree = {.depth = 1 + (unsigned)random_below(&random, MOST_DEPTH),
                            .n_threads = 1 + (unsigned)random_below(&random, 5),
                            .seed = random_next(&random) >> 8};
        struct world *world = tree.world = calloc(1, sizeof *world);
        struct esp_error error;
        manual_clock_init(&world->clock, 0);
        assert_int_equal(flow_graph_create("tree", &tree, &world->graph, &error), ESP_OK);
        unsigned set = threads(world, "t", tree.n_threads, 0);
        unsigned window = (unsigned)random_below(&random, 4);
        for (unsigned level = 0; level < tree.depth; level++) {
            char name[16];
            snprintf(name, sizeof name, "s%u", level);
            tree.splits[level] = add(world, (struct flow_operation_spec){.name = name,
                                                                         .kind = FLOW_SPLIT,
                                                                         .threads = set,
                                                                         .route = scatter,
                                                                         .receive = split_node,
                                                                         .window = window});
            snprintf(name, sizeof name, "m%u", level);
            tree.merges[level] =
                add(world, (struct flow_operation_spec){.name = name,
                                                        .kind = FLOW_MERGE,
                                                        .threads = set,
                                                        .route = stay,
                                                        .receive = level ? sum_inside : sum_up,
                                                        .complete = level ? pass_inside : pass_sum});
        }
        tree.leaf = add(
            world,
            (struct flow_operation_spec){
                .name = "leaf", .kind = FLOW_LEAF, .threads = set, .route = scatter, .receive = count_leaf});
        for (unsigned level = 0; level + 1 < tree.depth; level++) {
            edge(world, tree.splits[level], tree.splits[level + 1]);
            edge(world, tree.merges[level + 1], tree.merges[level]);
        }
        edge(world, tree.splits[tree.depth - 1], tree.leaf);
        edge(world, tree.leaf, tree.merges[tree.depth - 1]);
        start(world, 1 + (unsigned)random_below(&random, 4), NULL, tree.splits[0]);
        if (finish(world, &random, &error) != ESP_OK)
            fail_msg("trial %d: %s", trial, error.text);
        count_expected(&tree, 0, 0);
        struct flow_counts counts;
        flow_run_counts(world->run, &counts);
        assert_int_equal(tree.leaves, tree.expected_leaves);
        assert_int_equal(tree.sum, tree.expected_leaves);
        assert_int_equal(counts.messages, tree.expected_messages);
        world_destroy(world);
    }
}

/* ---- streams, threads ---- */

/* Fetches from thread 1, then from thread 2, removes a thread, moves another one and finishes. */
static void stream(struct flow_call *call, const struct flow_message *input)
{
    struct world *world = flow_application(call);
    world->order[world->n_order++] = (unsigned)input->key;
    switch (input->key) {
    case 0:
        flow_fetch(call, world->threads, 1, &(struct flow_message){.key = 1, .bytes = 500});
        break;
    case 1:
        flow_fetch(call, world->threads, 2, &(struct flow_message){.key = 2, .bytes = 700});
        break;
    default:
        assert_int_equal(flow_active(call, world->threads), 4);
        flow_kill(call, world->threads, 2);
        flow_move(call, world->threads, 1, 0);
        flow_compute(call, NULL, 1);
        flow_take(call, world->threads, 1);
        flow_finish(call);
    }
}

static void streams_fetch_and_change_threads(void **state)
{
    (void)state;
    struct world *world = world_create("stream");
    world->threads = threads(world, "t", 4, 1000);
    unsigned only = add(
        world,
        (struct flow_operation_spec){
            .name = "s", .kind = FLOW_STREAM, .threads = world->threads, .receive = stream, .single = true});
    start(world, 4, (uint64_t[]){2000, 1000, 1000, 1000}, only);
    finish_well(world);
    assert_int_equal(world->n_order, 3);
    /* Two requests, two replies, and the state of the thread that moved. */
    assert_int_equal(world->bytes, 2 * FLOW_FETCH_BYTES + 500 + 700 + 1000);
    assert_int_equal(world->released, 3); /* nodes 3 and 2, and node 1, from which the thread moved */
    struct flow_counts counts;
    flow_run_counts(world->run, &counts);
    assert_int_equal(counts.messages, 1 + 4);
    assert_int_equal(counts.moves, 1);
    world_destroy(world);
}

static void endless(struct flow_call *call, const struct flow_message *input)
{
    struct world *world = flow_application(call);
    if (world->fault)
        flow_kill(call, world->threads, 4);
    (void)input;
}

static void what_never_ends_is_an_error(void **state)
{
    (void)state;
    struct world *world = world_create("endless");
    world->threads = threads(world, "t", 4, 0);
    unsigned only = add(
        world,
        (struct flow_operation_spec){
            .name = "s", .kind = FLOW_STREAM, .threads = world->threads, .receive = endless, .single = true});
    start(world, 4, NULL, only);
    finish_badly(world,
                 "the stream 's' on thread t[0] received 1 messages and never ended: expected it to finish");
    flow_run_destroy(world->run);
    world->fault = "kill all";
    start(world, 4, NULL, only);
    finish_badly(world, "threads 't': 4 of 4 cannot be removed, as one must stay");
    world_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_merge_completes_when_all_messages_of_its_split_have_come),
        cmocka_unit_test(a_thread_runs_one_operation_at_a_time),
        cmocka_unit_test(a_window_bounds_the_messages_in_circulation),
        cmocka_unit_test(a_suspended_split_lets_its_thread_run_others),
        cmocka_unit_test(wrong_outputs_are_errors),
        cmocka_unit_test(operations_wait_until_their_memory_is_free),
        cmocka_unit_test(an_operation_that_never_fits_is_an_error),
        cmocka_unit_test(a_cycle_is_named),
        cmocka_unit_test(what_cannot_work_is_refused),
        cmocka_unit_test(random_trees_are_merged_in_any_order),
        cmocka_unit_test(streams_fetch_and_change_threads),
        cmocka_unit_test(what_never_ends_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
