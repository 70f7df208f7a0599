/* SPDX-License-Identifier: Apache-2.0
 *
 * One call on one rank. The ranks of its grid share the ring and the arrays: each copies its inputs, they
 * wait for each other, call the routine, and each puts back its own results. The first rank puts back
 * scalars and whole arrays. */
#include "sed/mpi/prd.h"
#include "sed/ranks/gang.h"

#include "util/clock.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

static struct {
    struct call_signature signature;
    struct invocation *invocation;
} calls[RANK_CALLS_KEPT];

static int64_t now_ns(void)
{
    return clock_now_ns(&clock_system);
}

/* ---- preparation ---- */

static struct invocation *find_call(const struct call_signature *signature, struct esp_error *error)
{
    if (!signature_is_sane(signature)) {
        error_set(error, ESP_INTERNAL, "the rank was handed a malformed call");
        return NULL;
    }
    uint64_t slot = signature->key % RANK_CALLS_KEPT;
    if (calls[slot].invocation && signature_equal(&calls[slot].signature, signature))
        return calls[slot].invocation;
    void (*routine)(void);
    struct invocation *made;
    if (library_symbol(signature->folder, signature->library, signature->symbol, &routine, error) != ESP_OK ||
        invocation_create(signature, routine, &made, error) != ESP_OK)
        return NULL;
    invocation_destroy(calls[slot].invocation);
    calls[slot].invocation = made;
    signature_copy(&calls[slot].signature, signature);
    return made;
}

/* Returns the array that all ranks share. */
static char *shared(void *arg, const struct ring_operand *operand)
{
    struct rank_state *state = arg;
    return operand->place == OPERAND_AREA ? state->areas.items[operand->value].data
                                          : (char *)state->ring->arena + operand->value;
}

/* Only the first rank may write into a shared whole array; the others use copies. */
static enum esp_status copy_whole_areas(struct rank_state *state, struct esp_error *error)
{
    const struct ring_job *job = &state->ring->job;
    for (uint32_t i = 0; i < state->shared_areas; i++) {
        const struct area from = state->areas.items[i];
        state->memory[i] = from.data;
        if (state->place == 0 || !from.writable || gang_is_distributed(job, from.argument))
            continue;
        enum esp_status status = areas_add(&state->areas, from.argument, from.bytes, error);
        if (status != ESP_OK)
            return status;
        state->memory[i] = state->areas.items[state->areas.n - 1].data;
        memcpy(state->memory[i], from.data, from.bytes);
    }
    return ESP_OK;
}

static bool resolve(struct rank_state *state, void **operands, struct esp_error *error)
{
    const struct ring_job *job = &state->ring->job;
    error_set(error, ESP_INTERNAL, "the rank was handed a malformed call");
    for (uint32_t i = 0; i < job->signature.n_parameters; i++) {
        const struct ring_operand *operand = &job->operands[i];
        uint64_t value = operand->value;
        bool part = operand->place == OPERAND_PART || operand->place == OPERAND_INTO ||
                    operand->place == OPERAND_DESCRIPTOR;
        if (part && value >= job->n_parts)
            return false;
        if (operand->place == OPERAND_NUMBER)
            operands[i] = (void *)(uintptr_t)value;
        else if (operand->place == OPERAND_AREA && value < state->shared_areas)
            operands[i] = state->memory[value];
        else if (operand->place == OPERAND_ARENA && value <= RING_ARENA_BYTES - 16)
            operands[i] = state->arena + value;
        else if (operand->place == OPERAND_QUERY && value < job->n_queries)
            operands[i] = NULL; /* until the routine was asked */
        else if (operand->place == OPERAND_PART)
            operands[i] = state->parts[value].data;
        else if (operand->place == OPERAND_INTO)
            operands[i] = state->parts[value].into;
        else if (operand->place == OPERAND_DESCRIPTOR)
            operands[i] = state->parts[value].descriptor;
        else if (operand->place == OPERAND_COMMUNICATOR)
            operands[i] = value ? (void *)(uintptr_t)&state->grid->handle : (void *)state->grid->communicator;
        else if (operand->place == OPERAND_CONTEXT)
            operands[i] = (void *)(uintptr_t)&state->grid->context;
        else
            return false;
    }
    return job->result_offset <= RING_ARENA_BYTES - INVOKE_RESULT_BYTES;
}

/* Uses the arguments in the daemon's memory. */
static enum esp_status share(struct rank_state *state, const int *descriptors, uint32_t n,
                             struct esp_error *error)
{
    const struct ring_job *job = &state->ring->job;
    if (job->front > job->end || job->end > RING_ARENA_BYTES || (job->sure && job->front < RING_RESULTS_FROM))
        return error_set(error, ESP_INTERNAL, "the rank was handed a malformed call");
    enum esp_status status = areas_map(job, descriptors, n, &state->areas, error);
    if (status != ESP_OK)
        return status;
    state->shared_areas = state->areas.n;
    memcpy(state->arena + job->front, state->ring->arena + job->front, job->end - job->front);
    status = parts_begin(job, state->grid, descriptors, n, moves_of(job), &state->areas, shared, state,
                         state->parts, error);
    return status == ESP_OK ? copy_whole_areas(state, error) : status;
}

/* Fills the parts that share() has left to the ranks together, if they are on several hosts. */
static enum esp_status fill_with_others(struct rank_state *state, const int *descriptors,
                                        enum esp_status status, struct esp_error *error)
{
    const struct ring_job *job = &state->ring->job;
    const uint64_t which = moves_of(job);
    moves_make(state, which, descriptors, status == ESP_OK);
    return status == ESP_OK ? parts_fill(job, descriptors, which & ~state->moved, state->parts, error)
                            : status;
}

/* Finds the routine, and prepares its parameters. */
static enum esp_status bind(struct rank_state *state, struct invocation **invocation, void **operands,
                            struct esp_error *error)
{
    enum esp_status status = areas_let_read(&state->areas, error);
    if (status != ESP_OK)
        return status;
    *invocation = find_call(&state->ring->job.signature, error);
    if (!*invocation)
        return error->status;
    return resolve(state, operands, error) ? ESP_OK : ESP_INTERNAL;
}

/* ---- synchronisation ---- */

/* Ranks of one host synchronise by counters in the ring. */
static bool all_here_can(struct rank_state *state, uint32_t round, bool can)
{
    struct ring_gang *gang = &state->ring->gang;
    uint32_t n = state->grid->rows * state->grid->cols;
    if (!can)
        gang_cannot(state->ring, state->place, n, state->why.text, state->why.status == ESP_NO_MEMORY);
    atomic_fetch_add(&gang->prepared, 1);
    while (atomic_load(&gang->prepared) < round * n)
        sched_yield();
    return atomic_load(&gang->unable) == 0;
}

static bool all_hosts_can(const struct rank_state *state, bool can)
{
    int mine = can, all = 0;
    if (!can && !state->far)
        gang_cannot(state->ring, state->place, state->grid->rows * state->grid->cols, state->why.text,
                    state->why.status == ESP_NO_MEMORY);
    return MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, state->grid->communicator) == MPI_SUCCESS && all;
}

/* For a call that cannot fail before the routine, without waiting. */
static bool go_on(enum esp_status status)
{
    if (status != ESP_OK)
        MPI_Abort(MPI_COMM_WORLD, 1); /* the others are in the routine, and wait for this rank there */
    return true;
}

/* Says whether this rank can continue, and waits for the others: no rank enters a routine unless all do.
 * The first that cannot stores the reason. `round` counts from 1. */
static bool all_can(struct rank_state *state, uint32_t round, enum esp_status status,
                    const struct esp_error *error)
{
    if (status != ESP_OK)
        state->why = *error;
    if (state->ring->job.sure)
        return go_on(status);
    return state->ring->job.apart ? all_hosts_can(state, status == ESP_OK)
                                  : all_here_can(state, round, status == ESP_OK);
}

/* Calls the routine with limited memory, and records failed allocations. */
static void call(struct rank_state *state, struct invocation *invocation, void **operands, void *result)
{
    memory_enter(areas_own_bytes(&state->areas));
    invocation_call(invocation, operands, result);
    const uint64_t refused = memory_leave();
    if (refused > 0)
        state->refused_bytes = refused;
}

/* Returns whether the routine has returned. */
static bool compute(struct rank_state *state, struct invocation *invocation, void **operands)
{
    const struct ring_job *job = &state->ring->job;
    void *result = state->arena + job->result_offset;
    struct esp_error error = {.status = ESP_OK};
    int64_t begun = now_ns();
    memory_begin_call();
    if (job->n_queries > 0) {
        query_begin(job, operands);
        call(state, invocation, operands, result);
        enum esp_status status = query_end(job, operands, &state->areas, &error);
        if (status == ESP_OK)
            status = areas_let_read(&state->areas, &error);
        if (!all_can(state, 2, status, &error))
            return false;
    }
    const int64_t looked_ns = now_ns();
    struct rank_look look;
    rank_look_begin(state, operands, &look);
    begun += now_ns() - looked_ns;
    call(state, invocation, operands, result);
    state->compute_ns = (uint64_t)(now_ns() - begun);
    rank_look_end(state, operands, &look, &state->verdict);
    state->strayed = parts_find_damage(job, state->parts);
    return true;
}

/* Returns where to put results: other ranks may still be reading arguments at their place. */
static char *put_to(void *arg, const struct ring_operand *operand)
{
    const struct rank_state *state = arg;
    return state->ring->job.sure ? (char *)state->ring->results + (operand->value - RING_RESULTS_FROM)
                                 : shared(arg, operand);
}

/* Puts back shared results: the small values except parts, which each rank puts back. */
static void put_back(struct rank_state *state)
{
    struct ring *ring = state->ring;
    const struct ring_job *job = &ring->job;
    atomic_store(&ring->gang.touched, 1);
    gang_note(&ring->gang, state->compute_ns, state->strayed);
    if (state->place == 0) {
        unsigned char *to =
            job->sure ? ring->results + (job->front - RING_RESULTS_FROM) : ring->arena + job->front;
        gang_copy_values(job, to, state->arena + job->front);
        gang_returned(ring, &state->verdict);
    }
    parts_end(job, state->grid, put_to, state, state->parts);
}

/* Prepares the state for the call in that ring. */
static struct rank_state *prepare(struct ring *ring, uint32_t rank, bool far)
{
    static struct rank_state state;
    state.ring = ring;
    state.far = far;
    state.place = rank - ring->job.first_rank;
    state.areas.n = 0;
    state.why.status = ESP_OK;
    state.compute_ns = 0;
    state.refused_bytes = 0;
    state.strayed = -1;
    state.verdict = (struct ring_verdict){0};
    return &state;
}

static struct rank_state *begin(struct ring *ring, uint32_t rank, bool far)
{
    struct rank_state *state = prepare(ring, rank, far);
    struct esp_error error;
    const struct ring_job *job = &ring->job;
    if (rank_grid_find(job->first_rank, job->grid.rows, job->grid.cols, &state->grid, &error) != ESP_OK)
        MPI_Abort(MPI_COMM_WORLD, 1); /* the others are left in the routine */
    return state;
}

/* Outside the grid: only serves other ranks' requests for its pieces. */
static struct rank_state *help(struct ring *ring, uint32_t rank, bool far, const int *descriptors)
{
    struct rank_state *state = prepare(ring, rank, far);
    memset(state->parts, 0, sizeof state->parts);
    moves_hold(state);
    moves_make(state, moves_of(&ring->job), descriptors, true);
    return state;
}

static void call_here(struct ring *ring, uint32_t rank, const int *descriptors, uint32_t n_descriptors)
{
    struct esp_error error = {.status = ESP_OK};
    void *operands[SIGNATURE_MAX_PARAMETERS];
    struct invocation *invocation = NULL;
    struct rank_state *state = begin(ring, rank, false);
    enum esp_status status = share(state, descriptors, n_descriptors, &error);
    if (status == ESP_OK)
        status = bind(state, &invocation, operands, &error);
    if (ring->job.apart)
        status = fill_with_others(state, descriptors, status, &error);
    if (state->place == 0)
        service_begin(ring, -1);
    bool returned = all_can(state, 1, status, &error) && compute(state, invocation, operands);
    service_end();
    gang_refused(&ring->gang, state->place, state->refused_bytes);
    if (returned)
        put_back(state);
    fflush(stdout);
    areas_unmap(&state->areas);
}

void rank_call(struct ring *ring, uint32_t rank, const int *descriptors, uint32_t n_descriptors, int bell)
{
    if (gang_is_beside(&ring->job, rank))
        areas_unmap(&help(ring, rank, false, descriptors)->areas);
    else
        call_here(ring, rank, descriptors, n_descriptors);
    if (!gang_leave(ring, bell))
        MPI_Abort(MPI_COMM_WORLD, 1); /* a routine has closed the bell */
}

static bool help_far(struct ring *ring, uint32_t rank, int socket)
{
    const struct far_message wants = {.kind = FAR_WANTS};
    const struct rank_state *state = help(ring, rank, true, NULL);
    return far_say(socket, &wants, sizeof wants) && far_give_back(state, socket, false);
}

static bool call_far(struct ring *ring, uint32_t rank, int socket)
{
    struct esp_error error = {.status = ESP_OK};
    void *operands[SIGNATURE_MAX_PARAMETERS];
    struct invocation *invocation = NULL;
    bool lost = false;
    struct rank_state *state = begin(ring, rank, true);
    enum esp_status status = far_take(state, socket, &lost, &error);
    if (lost)
        return false;
    if (status == ESP_OK)
        status = bind(state, &invocation, operands, &error);
    if (state->place == 0)
        service_begin(ring, socket);
    bool returned = all_can(state, 1, status, &error) && compute(state, invocation, operands);
    service_end();
    fflush(stdout);
    bool told = far_give_back(state, socket, returned);
    areas_unmap(&state->areas);
    far_let_go(state, returned);
    return told;
}

bool rank_call_far(struct ring *ring, uint32_t rank, int socket)
{
    return gang_is_beside(&ring->job, rank) ? help_far(ring, rank, socket) : call_far(ring, rank, socket);
}
