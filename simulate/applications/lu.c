/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate/applications/lu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTROL_BYTES 64 /* of a message without blocks */

/* What a message's indices mean. */
enum { COLUMN, ROW, LEVEL, PAIR };

/* The keys of what c receives besides blocks of T12, whose keys are their columns. */
enum { PIVOTS = -1, L_BLOCK = -2 };

/* How far the panel of a level, or the collecting of its T12, is. Levels run once. */
struct level {
    unsigned f, b, c, d, e, g;                          /* operations */
    unsigned d_columns, d_store, d_rows, d_part, d_sum; /* with sub-blocks, in place of d */
    unsigned *blocks;                                   /* [column]: blocks whose products are subtracted */
    unsigned n_blocks;                                  /* of all columns */
    unsigned n_started;                                 /* columns whose b is asked for */
    unsigned n_got;                                     /* columns of T12 that c has */
    bool factorized;
    bool *asked; /* [column]: b is asked for */
};

struct lu {
    struct lu_spec spec;
    struct flow_graph *graph;
    unsigned k;                    /* column blocks */
    unsigned columns, multipliers; /* sets of threads */
    unsigned distribute, store, ready, h;
    struct level levels[LU_MOST_BLOCKS];
};

static uint64_t block_bytes(const struct lu *lu)
{
    return (uint64_t)lu->spec.r * lu->spec.r * sizeof(double);
}

static uint64_t pivot_bytes(const struct lu *lu)
{
    return CONTROL_BYTES + (uint64_t)lu->spec.r * sizeof(int32_t);
}

static struct flow_message message(unsigned column, unsigned level, uint64_t bytes)
{
    return (struct flow_message){.bytes = bytes,
                                 .index = {[COLUMN] = (int32_t)column, [LEVEL] = (int32_t)level}};
}

static unsigned of_column(void *application, const struct flow_message *message)
{
    (void)application;
    return (unsigned)message->index[COLUMN];
}

static unsigned of_level(void *application, const struct flow_message *message)
{
    (void)application;
    return (unsigned)message->index[LEVEL];
}

static unsigned of_pair(void *application, const struct flow_message *message)
{
    (void)application;
    return (unsigned)message->index[PAIR];
}

/* ---- setting up ---- */

static void distribute(struct flow_call *call, const struct flow_message *input)
{
    struct lu *lu = flow_application(call);
    (void)input;
    for (unsigned column = 0; column < lu->k; column++) {
        struct flow_message output = message(column, 0, CONTROL_BYTES);
        output.key = column;
        flow_post(call, lu->store, &output);
    }
}

static void store(struct flow_call *call, const struct flow_message *input)
{
    struct lu *lu = flow_application(call);
    flow_post(call, lu->ready, input);
}

static void all_stored(struct flow_call *call)
{
    struct lu *lu = flow_application(call);
    struct flow_message output = message(0, 0, CONTROL_BYTES);
    flow_post(call, lu->levels[0].f, &output);
}

/* ---- f: the panel ---- */

static void ask_solve(struct flow_call *call, struct lu *lu, unsigned k, unsigned column)
{
    struct level *level = &lu->levels[k];
    struct flow_message output = message(column, k, block_bytes(lu) + pivot_bytes(lu));
    output.key = column;
    flow_post(call, level->b, &output);
    level->asked[column] = true;
    level->n_started++;
}

/* c runs on the same thread, so these messages cost nothing. */
static void hand_panel(struct flow_call *call, struct lu *lu, unsigned k)
{
    struct flow_message output = message(0, k, pivot_bytes(lu));
    output.key = PIVOTS;
    flow_post(call, lu->levels[k].c, &output);
    for (unsigned row = k + 1; row < lu->k; row++) {
        output = message(0, k, CONTROL_BYTES + block_bytes(lu));
        output.index[ROW] = (int32_t)row;
        output.key = L_BLOCK;
        flow_post(call, lu->levels[k].c, &output);
    }
}

static void factorize(struct flow_call *call, struct lu *lu, unsigned k)
{
    struct level *level = &lu->levels[k];
    level->factorized = true;
    flow_compute(call, "factorize", lu->spec.factorize_s * (lu->k - k - 1.0 / 3));
    if (k + 1 < lu->k)
        hand_panel(call, lu, k);
    for (unsigned column = 0; column < k; column++) {
        struct flow_message output = message(column, k, pivot_bytes(lu));
        output.key = (int64_t)k * lu->k + column;
        flow_post(call, level->g, &output);
    }
}

static void remove_threads(struct flow_call *call, struct lu *lu, unsigned levels_over)
{
    for (unsigned i = 0; i < lu->spec.n_kills; i++)
        if (lu->spec.kills[i].after == levels_over)
            flow_kill(call, lu->multipliers, lu->spec.kills[i].threads);
}

static void receive_f(struct flow_call *call, const struct flow_message *input)
{
    struct lu *lu = flow_application(call);
    unsigned k = (unsigned)input->index[LEVEL], rows = lu->k - k;
    struct level *level = &lu->levels[k];
    bool all = true;
    if (k > 0) {
        level->blocks[input->index[COLUMN]]++;
        all = ++level->n_blocks == rows * rows;
        if (all)
            remove_threads(call, lu, k);
    }
    bool panel_ready = k == 0 || level->blocks[k] == rows;
    if (!level->factorized && panel_ready && (all || lu->spec.pipelined))
        factorize(call, lu, k);
    if (!level->factorized)
        return;
    for (unsigned column = k + 1; column < lu->k; column++)
        if (!level->asked[column] && (k == 0 || level->blocks[column] == rows))
            ask_solve(call, lu, k, column);
    if (all)
        flow_finish(call);
}

/* ---- b, c, d, e, g, h ---- */

static void receive_b(struct flow_call *call, const struct flow_message *input)
{
    struct lu *lu = flow_application(call);
    flow_compute(call, "solve", lu->spec.solve_s);
    struct flow_message output = *input;
    output.bytes = CONTROL_BYTES + block_bytes(lu);
    flow_post(call, lu->levels[input->index[LEVEL]].c, &output);
}

/* The pairs of one column of T12 with all blocks of L21. */
static void send_pairs(struct flow_call *call, struct lu *lu, unsigned k, unsigned column)
{
    unsigned rows = lu->k - k - 1;
    for (unsigned row = 0; row < rows; row++) {
        struct flow_message output = message(column, k, CONTROL_BYTES + 2 * block_bytes(lu));
        output.index[ROW] = (int32_t)(k + 1 + row);
        output.index[PAIR] = (int32_t)((column - k - 1) * rows + row);
        output.key = output.index[PAIR];
        flow_compute(call, "copy", lu->spec.copy_s);
        flow_post(call, lu->levels[k].d, &output);
    }
}

/* The pivots and the blocks of L21 come first, then the blocks of T12, whose rows are exchanged by then. */
static void receive_c(struct flow_call *call, const struct flow_message *input)
{
    struct lu *lu = flow_application(call);
    unsigned k = (unsigned)input->index[LEVEL], column = (unsigned)input->index[COLUMN];
    struct level *level = &lu->levels[k];
    if (input->key < 0)
        return;
    struct flow_message exchanged = message(column, k, CONTROL_BYTES);
    exchanged.key = (int64_t)k * lu->k + column;
    flow_post(call, lu->h, &exchanged);
    bool all = ++level->n_got == lu->k - k - 1;
    if (lu->spec.pipelined)
        send_pairs(call, lu, k, column);
    for (unsigned i = k + 1; all && !lu->spec.pipelined && i < lu->k; i++)
        send_pairs(call, lu, k, i);
    if (all)
        flow_finish(call);
}

static void post_product(struct flow_call *call, const struct flow_message *input)
{
    struct lu *lu = flow_application(call);
    struct flow_message output = *input;
    output.bytes = CONTROL_BYTES + block_bytes(lu);
    flow_post(call, lu->levels[input->index[LEVEL]].e, &output);
}

static void receive_d(struct flow_call *call, const struct flow_message *input)
{
    struct lu *lu = flow_application(call);
    flow_compute(call, "multiply", lu->spec.multiply_s);
    post_product(call, input);
}

static void receive_e(struct flow_call *call, const struct flow_message *input)
{
    struct lu *lu = flow_application(call);
    unsigned k = (unsigned)input->index[LEVEL];
    flow_compute(call, "subtract", lu->spec.subtract_s);
    struct flow_message output = *input;
    output.bytes = CONTROL_BYTES;
    output.index[LEVEL] = (int32_t)k + 1;
    flow_post(call, lu->levels[k + 1].f, &output);
}

static void receive_g(struct flow_call *call, const struct flow_message *input)
{
    struct lu *lu = flow_application(call);
    flow_compute(call, "flip", lu->spec.flip_s);
    struct flow_message output = *input;
    output.bytes = CONTROL_BYTES;
    flow_post(call, lu->h, &output);
}

static void receive_h(struct flow_call *call, const struct flow_message *input)
{
    struct lu *lu = flow_application(call);
    (void)input;
    flow_expect(call, (uint64_t)lu->k * (lu->k - 1));
}

static void all_flipped(struct flow_call *call)
{
    struct flow_message output = message(0, 0, CONTROL_BYTES);
    flow_result(call, &output);
}

/* ---- d as a graph of its own (figure 8) ---- */

static unsigned n_parts(const struct lu *lu)
{
    return lu->spec.r / lu->spec.sub_block;
}

static uint64_t strip_bytes(const struct lu *lu)
{
    return CONTROL_BYTES + (uint64_t)lu->spec.r * lu->spec.sub_block * sizeof(double);
}

/* Strip i of the second block is kept by the i-th thread from the one that has the pair. */
static unsigned of_strip(void *application, const struct flow_message *message)
{
    const struct lu *lu = application;
    return (unsigned)message->index[PAIR] + (unsigned)message->key % n_parts(lu);
}

static void send_columns(struct flow_call *call, const struct flow_message *input)
{
    struct lu *lu = flow_application(call);
    struct flow_message output = *input;
    output.bytes = strip_bytes(lu);
    for (output.key = 0; output.key < n_parts(lu); output.key++)
        flow_post(call, lu->levels[input->index[LEVEL]].d_store, &output);
}

static void store_strip(struct flow_call *call, const struct flow_message *input)
{
    struct lu *lu = flow_application(call);
    struct flow_message output = *input;
    output.bytes = CONTROL_BYTES;
    flow_post(call, lu->levels[input->index[LEVEL]].d_rows, &output);
}

/* Row strips go to the threads of the column strips as soon as these are stored. */
static void send_rows(struct flow_call *call, const struct flow_message *input)
{
    struct lu *lu = flow_application(call);
    struct flow_message output = *input;
    unsigned parts = n_parts(lu);
    output.bytes = strip_bytes(lu);
    for (unsigned row = 0; row < parts; row++) {
        output.key = (int64_t)row * parts + input->key;
        flow_post(call, lu->levels[input->index[LEVEL]].d_part, &output);
    }
    uintptr_t n = (uintptr_t)*flow_instance_data(call) + 1;
    *flow_instance_data(call) = (void *)n;
    if (n == parts)
        flow_finish(call);
}

static void multiply_part(struct flow_call *call, const struct flow_message *input)
{
    struct lu *lu = flow_application(call);
    unsigned parts = n_parts(lu);
    flow_compute(call, "multiply", lu->spec.multiply_s / ((double)parts * parts));
    struct flow_message output = *input;
    output.bytes = CONTROL_BYTES + (uint64_t)lu->spec.sub_block * lu->spec.sub_block * sizeof(double);
    flow_post(call, lu->levels[input->index[LEVEL]].d_sum, &output);
}

/* A merge learns from its first message which block the parts are of. */
struct product {
    struct flow_message of;
};

static void gather_part(struct flow_call *call, const struct flow_message *input)
{
    struct product *product = *flow_instance_data(call);
    if (product)
        return;
    product = malloc(sizeof *product);
    if (!product) {
        flow_fail(call, ESP_NO_MEMORY, "out of memory for a product");
        return;
    }
    product->of = *input;
    *flow_instance_data(call) = product;
}

static void all_gathered(struct flow_call *call)
{
    struct product *product = *flow_instance_data(call);
    product->of.key = product->of.index[PAIR];
    post_product(call, &product->of);
    free(product);
    *flow_instance_data(call) = NULL;
}

/* ---- building ---- */

struct building {
    struct lu *lu;
    struct esp_error *error;
    enum esp_status status;
};

static unsigned add(struct building *building, const char *letter, int level, struct flow_operation_spec spec)
{
    char name[FLOW_MAX_NAME + 1];
    unsigned operation = 0;
    snprintf(name, sizeof name, level < 0 ? "%s" : "%s%d", letter, level);
    spec.name = name;
    if (building->status == ESP_OK)
        building->status = flow_add_operation(building->lu->graph, &spec, &operation, building->error);
    return operation;
}

static void edge(struct building *building, unsigned from, unsigned to)
{
    if (building->status == ESP_OK)
        building->status = flow_add_edge(building->lu->graph, from, to, building->error);
}

static unsigned place_column(void *application, unsigned thread, unsigned n_nodes)
{
    const struct lu *lu = application;
    return thread % (lu->spec.column_nodes ? lu->spec.column_nodes : n_nodes);
}

static void add_threads(struct building *building)
{
    struct lu *lu = building->lu;
    unsigned n_multipliers = lu->spec.multiply_nodes ? lu->spec.multiply_nodes : lu->spec.n_nodes;
    struct flow_threads_spec columns = {.name = "column", .n = lu->k, .place = place_column};
    struct flow_threads_spec multipliers = {.name = "multiply", .n = n_multipliers};
    building->status = flow_add_threads(lu->graph, &columns, &lu->columns, building->error);
    if (building->status == ESP_OK)
        building->status = flow_add_threads(lu->graph, &multipliers, &lu->multipliers, building->error);
}

static void replace_multiplication(struct building *building, unsigned k)
{
    struct lu *lu = building->lu;
    struct level *level = &lu->levels[k];
    unsigned m = lu->multipliers;
    level->d_columns = add(building, "d-columns", (int)k,
                           (struct flow_operation_spec){
                               .kind = FLOW_SPLIT, .threads = m, .route = of_pair, .receive = send_columns});
    level->d_store = add(building, "d-store", (int)k,
                         (struct flow_operation_spec){
                             .kind = FLOW_LEAF, .threads = m, .route = of_strip, .receive = store_strip});
    level->d_rows = add(building, "d-rows", (int)k,
                        (struct flow_operation_spec){
                            .kind = FLOW_STREAM, .threads = m, .route = of_pair, .receive = send_rows});
    level->d_part = add(building, "d-part", (int)k,
                        (struct flow_operation_spec){
                            .kind = FLOW_LEAF, .threads = m, .route = of_strip, .receive = multiply_part});
    level->d_sum = add(building, "d-sum", (int)k,
                       (struct flow_operation_spec){.kind = FLOW_MERGE,
                                                    .threads = m,
                                                    .route = of_pair,
                                                    .receive = gather_part,
                                                    .complete = all_gathered});
    edge(building, level->d_columns, level->d_store);
    edge(building, level->d_store, level->d_rows);
    edge(building, level->d_rows, level->d_part);
    edge(building, level->d_part, level->d_sum);
    if (building->status == ESP_OK)
        building->status = flow_replace(lu->graph, level->d, level->d_columns, level->d_sum, building->error);
}

static void add_level(struct building *building, unsigned k)
{
    struct lu *lu = building->lu;
    struct level *level = &lu->levels[k];
    unsigned columns = lu->columns;
    level->f = add(building, "f", (int)k,
                   (struct flow_operation_spec){.kind = FLOW_STREAM,
                                                .threads = columns,
                                                .route = of_level,
                                                .receive = receive_f,
                                                .single = true});
    if (k > 0) {
        level->g = add(building, "g", (int)k,
                       (struct flow_operation_spec){
                           .kind = FLOW_LEAF, .threads = columns, .route = of_column, .receive = receive_g});
        edge(building, lu->levels[k - 1].e, level->f);
        edge(building, level->f, level->g);
        edge(building, level->g, lu->h);
    }
    if (k + 1 == lu->k)
        return;
    level->b = add(building, "b", (int)k,
                   (struct flow_operation_spec){
                       .kind = FLOW_LEAF, .threads = columns, .route = of_column, .receive = receive_b});
    level->c = add(building, "c", (int)k,
                   (struct flow_operation_spec){.kind = FLOW_STREAM,
                                                .threads = columns,
                                                .route = of_level,
                                                .receive = receive_c,
                                                .window = lu->spec.window,
                                                .single = true});
    level->d =
        add(building, "d", (int)k,
            (struct flow_operation_spec){
                .kind = FLOW_LEAF, .threads = lu->multipliers, .route = of_pair, .receive = receive_d});
    level->e = add(building, "e", (int)k,
                   (struct flow_operation_spec){
                       .kind = FLOW_LEAF, .threads = columns, .route = of_column, .receive = receive_e});
    edge(building, level->f, level->b);
    edge(building, level->f, level->c);
    edge(building, level->b, level->c);
    edge(building, level->c, lu->h);
    edge(building, level->c, level->d);
    edge(building, level->d, level->e);
    if (lu->spec.sub_block)
        replace_multiplication(building, k);
}

static enum esp_status build(struct lu *lu, struct esp_error *error)
{
    struct building building = {.lu = lu, .error = error};
    add_threads(&building);
    unsigned columns = lu->columns;
    lu->distribute =
        add(&building, "distribute", -1,
            (struct flow_operation_spec){
                .kind = FLOW_SPLIT, .threads = columns, .route = of_level, .receive = distribute});
    lu->store = add(&building, "store", -1,
                    (struct flow_operation_spec){
                        .kind = FLOW_LEAF, .threads = columns, .route = of_column, .receive = store});
    lu->ready = add(&building, "ready", -1,
                    (struct flow_operation_spec){
                        .kind = FLOW_MERGE, .threads = columns, .route = of_level, .complete = all_stored});
    lu->h = add(&building, "h", -1,
                (struct flow_operation_spec){.kind = FLOW_MERGE,
                                             .threads = columns,
                                             .receive = receive_h,
                                             .complete = all_flipped,
                                             .single = true});
    edge(&building, lu->distribute, lu->store);
    edge(&building, lu->store, lu->ready);
    for (unsigned k = 0; k < lu->k && building.status == ESP_OK; k++)
        add_level(&building, k);
    edge(&building, lu->ready, lu->levels[0].f);
    return building.status == ESP_OK ? flow_graph_check(lu->graph, lu->distribute, error) : building.status;
}

static enum esp_status check(const struct lu_spec *spec, struct esp_error *error)
{
    if (spec->r == 0 || spec->n % spec->r)
        return error_set(error, ESP_INVALID, "lu: expected a block size r that divides n = %u, found %u",
                         spec->n, spec->r);
    if (spec->n / spec->r < 2 || spec->n / spec->r > LU_MOST_BLOCKS)
        return error_set(error, ESP_LIMIT, "lu: expected 2 to %d column blocks, found n/r = %u",
                         LU_MOST_BLOCKS, spec->n / spec->r);
    if (spec->sub_block && spec->r % spec->sub_block)
        return error_set(error, ESP_INVALID, "lu: expected a sub-block size that divides r = %u, found %u",
                         spec->r, spec->sub_block);
    if (spec->n_nodes == 0 || spec->column_nodes > spec->n_nodes || spec->multiply_nodes > spec->n_nodes)
        return error_set(error, ESP_INVALID, "lu: columns on %u and multiplications on %u of %u nodes",
                         spec->column_nodes, spec->multiply_nodes, spec->n_nodes);
    return ESP_OK;
}

enum esp_status lu_create(const struct lu_spec *spec, struct lu **lu, struct esp_error *error)
{
    *lu = NULL;
    enum esp_status status = check(spec, error);
    if (status != ESP_OK)
        return status;
    struct lu *made = calloc(1, sizeof *made);
    if (!made)
        return error_no_memory(error, "the LU factorization");
    made->spec = *spec;
    made->k = spec->n / spec->r;
    status = flow_graph_create("lu", made, &made->graph, error);
    for (unsigned k = 0; k < made->k && status == ESP_OK; k++) {
        made->levels[k].blocks = calloc(made->k, sizeof *made->levels[k].blocks);
        made->levels[k].asked = calloc(made->k, sizeof *made->levels[k].asked);
        if (!made->levels[k].blocks || !made->levels[k].asked)
            status = error_no_memory(error, "the LU factorization");
    }
    if (status == ESP_OK)
        status = build(made, error);
    if (status != ESP_OK) {
        lu_destroy(made);
        return status;
    }
    *lu = made;
    return ESP_OK;
}

void lu_destroy(struct lu *lu)
{
    if (!lu)
        return;
    for (unsigned k = 0; k < lu->k; k++) {
        free(lu->levels[k].blocks);
        free(lu->levels[k].asked);
    }
    flow_graph_destroy(lu->graph);
    free(lu);
}

struct flow_graph *lu_graph(const struct lu *lu)
{
    return lu->graph;
}

unsigned lu_entry(const struct lu *lu)
{
    return lu->distribute;
}

bool lu_factorizes(const struct lu *lu, unsigned operation)
{
    return operation != lu->distribute && operation != lu->store && operation != lu->ready;
}

int lu_level(const struct lu *lu, unsigned operation)
{
    for (unsigned k = 0; k < lu->k; k++) {
        const struct level *level = &lu->levels[k];
        if (operation == level->f || (k > 0 && operation == level->g) ||
            (k + 1 < lu->k && (operation == level->b || operation == level->c || operation == level->d ||
                               operation == level->e)))
            return (int)k;
    }
    return -1;
}
