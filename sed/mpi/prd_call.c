/* SPDX-License-Identifier: Apache-2.0
 *
 * One call on one rank. The ranks of its grid share the ring and the arrays: each copies what it needs out of
 * them, they wait for each other, call, and each puts back what is its own. Scalars and whole arrays are the
 * first rank's to put back.
 */
#include "sed/mpi/prd.h"

#include "util/clock.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define REMEMBERED 64 /* prepared calls, by key */

struct rank_state {
    struct ring *ring;
    const struct rank_grid *grid;
    uint32_t place; /* among the ranks of the grid; 0: the first */
    struct areas areas;
    uint32_t shared_areas;   /* of them: arrays that all ranks see */
    char *memory[AREAS_MAX]; /* of each shared area, as this rank's call sees it */
    struct rank_part parts[PROBLEM_MAX_ARGUMENTS];
    unsigned char arena[RING_ARENA_BYTES]; /* own copies of the small values */
};

static struct {
    struct call_signature signature;
    struct invocation *invocation;
} calls[REMEMBERED];

static int64_t now_ns(void)
{
    return clock_now_ns(&clock_system);
}

/* ---- getting ready ---- */

static struct invocation *find_call(const struct call_signature *signature, struct esp_error *error)
{
    if (!signature_is_sane(signature)) {
        error_set(error, ESP_INTERNAL, "the rank was handed a malformed call");
        return NULL;
    }
    uint64_t slot = signature->key % REMEMBERED;
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

/* Where all ranks see the array. */
static char *shared(void *arg, const struct ring_operand *operand)
{
    struct rank_state *state = arg;
    return operand->place == OPERAND_AREA ? state->areas.items[operand->value].data
                                          : (char *)state->ring->arena + operand->value;
}

static bool is_distributed(const struct ring_job *job, uint32_t argument)
{
    for (uint32_t i = 0; i < job->n_parts; i++)
        if (job->parts[i].argument == argument)
            return true;
    return false;
}

/* Only the first rank may write into an array that is there whole; the others have copies. */
static enum esp_status copy_whole_areas(struct rank_state *state, struct esp_error *error)
{
    const struct ring_job *job = &state->ring->job;
    for (uint32_t i = 0; i < state->shared_areas; i++) {
        const struct area from = state->areas.items[i];
        state->memory[i] = from.data;
        if (state->place == 0 || !from.writable || is_distributed(job, from.argument))
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

static enum esp_status prepare(struct rank_state *state, const int *descriptors, uint32_t n,
                               struct invocation **invocation, void **operands, struct esp_error *error)
{
    const struct ring_job *job = &state->ring->job;
    state->areas.n = 0;
    if (job->front > job->end || job->end > RING_ARENA_BYTES)
        return error_set(error, ESP_INTERNAL, "the rank was handed a malformed call");
    enum esp_status status = areas_map(job, descriptors, n, &state->areas, error);
    if (status != ESP_OK)
        return status;
    state->shared_areas = state->areas.n;
    memcpy(state->arena + job->front, state->ring->arena + job->front, job->end - job->front);
    status = parts_begin(job, state->grid, descriptors, n, &state->areas, shared, state, state->parts, error);
    if (status == ESP_OK)
        status = copy_whole_areas(state, error);
    if (status != ESP_OK)
        return status;
    status = areas_let_read(&state->areas, error);
    if (status != ESP_OK)
        return status;
    *invocation = find_call(&job->signature, error);
    if (!*invocation)
        return error->status;
    return resolve(state, operands, error) ? ESP_OK : ESP_INTERNAL;
}

/* ---- together ---- */

/* Says whether this rank can go on, and waits for the others: nobody enters a routine that not all enter. The
 * first that cannot says why. `round` counts from 1. */
static bool all_can(struct rank_state *state, uint32_t round, enum esp_status status,
                    const struct esp_error *error)
{
    struct ring_gang *gang = &state->ring->gang;
    uint32_t n = state->grid->rows * state->grid->cols;
    if (status != ESP_OK && atomic_fetch_add(&gang->unable, 1) == 0) {
        struct ring_answer *answer = &state->ring->answer;
        snprintf(answer->text, sizeof answer->text, "rank %u of %u: %.460s", state->place, n, error->text);
        answer->kind = ANSWER_UNABLE;
    }
    atomic_fetch_add(&gang->prepared, 1);
    while (atomic_load(&gang->prepared) < round * n)
        sched_yield();
    return atomic_load(&gang->unable) == 0;
}

/* Its small values to where the daemon reads them, but for the parts, which are everybody's. */
static void put_values_back(struct rank_state *state)
{
    const struct ring_job *job = &state->ring->job;
    uint64_t at = job->front;
    while (at < job->end) {
        uint64_t next = job->end, behind = job->end;
        for (uint32_t i = 0; i < job->n_parts; i++) {
            const struct ring_part *part = &job->parts[i];
            uint64_t bytes = (uint64_t)(part->layout.rows.n * part->layout.cols.n) * part->element_bytes;
            if (part->comes_back && !part->to.there && bytes > 0 && part->whole.place == OPERAND_ARENA &&
                part->whole.value >= at && part->whole.value < next) {
                next = part->whole.value;
                behind = next + bytes;
            }
        }
        memcpy(state->ring->arena + at, state->arena + at, next - at);
        at = behind;
    }
}

static void note_time(struct ring_gang *gang, uint64_t mine_ns)
{
    uint64_t longest = atomic_load(&gang->compute_ns);
    while (longest < mine_ns && !atomic_compare_exchange_weak(&gang->compute_ns, &longest, mine_ns))
        ;
}

static void call(struct rank_state *state, struct invocation *invocation, void **operands)
{
    struct ring *ring = state->ring;
    void *result = state->arena + ring->job.result_offset;
    struct esp_error error = {.status = ESP_OK};
    int64_t begun = now_ns();
    if (ring->job.n_queries > 0) {
        query_begin(&ring->job, operands);
        invocation_call(invocation, operands, result);
        enum esp_status status = query_end(&ring->job, operands, &state->areas, &error);
        if (status == ESP_OK)
            status = areas_let_read(&state->areas, &error);
        if (!all_can(state, 2, status, &error))
            return;
    }
    invocation_call(invocation, operands, result);
    note_time(&ring->gang, (uint64_t)(now_ns() - begun));
    int64_t strayed = parts_find_damage(&ring->job, state->parts);
    if (strayed >= 0)
        atomic_store(&ring->gang.strayed, 1 + (uint32_t)strayed);
    if (state->place == 0) {
        ring->answer.cpu_ns = 0;
        ring->answer.keeps = 0;
        ring->answer.kind = ANSWER_RETURNED;
        put_values_back(state);
    }
    parts_end(&ring->job, state->grid, shared, state, state->parts);
}

static void note_straying(struct ring *ring)
{
    uint32_t strayed = atomic_load(&ring->gang.strayed);
    if (strayed == 0)
        return;
    ring->answer.kind = ANSWER_STRAYED;
    ring->answer.place = FAULT_BEHIND;
    ring->answer.argument = strayed - 1;
}

void rank_call(struct ring *ring, uint32_t rank, const int *descriptors, uint32_t n_descriptors, int bell)
{
    static struct rank_state state;
    struct esp_error error = {.status = ESP_OK};
    const struct ring_job *job = &ring->job;
    void *operands[SIGNATURE_MAX_PARAMETERS];
    struct invocation *invocation = NULL;
    state.ring = ring;
    state.place = rank - job->first_rank;
    if (rank_grid_find(job->first_rank, job->grid.rows, job->grid.cols, &state.grid, &error) != ESP_OK)
        MPI_Abort(MPI_COMM_WORLD, 1); /* the others are left in it */
    enum esp_status status = prepare(&state, descriptors, n_descriptors, &invocation, operands, &error);
    if (all_can(&state, 1, status, &error))
        call(&state, invocation, operands);
    fflush(stdout);
    areas_unmap(&state.areas);
    if (atomic_fetch_sub(&ring->gang.left, 1) > 1)
        return;
    ring->answer.compute_ns = atomic_load(&ring->gang.compute_ns);
    note_straying(ring);
    if (!ring_reply(ring, bell))
        MPI_Abort(MPI_COMM_WORLD, 1); /* a routine has closed the bell */
}
