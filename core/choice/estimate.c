/* SPDX-License-Identifier: Apache-2.0 */
#include "core/choice/estimate.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Longer times (about 30 years) count as "never" in a queue; this keeps sums of nanoseconds from
 * overflowing whatever a message claims. */
#define FARTHEST_S 1e9

/* Relative error of a forecast by work over measured speed: its standard error over the routines and sizes
 * of problems/. Used until there is a measured model. */
#define FORECAST_ERROR 0.25

static int64_t seconds_to_ns(double seconds)
{
    if (!(seconds > 0))
        return 0;
    return (int64_t)(fmin(seconds, FARTHEST_S) * 1e9);
}

enum esp_status load_init(struct load *load, uint32_t slots, int64_t now_ns)
{
    if (slots > CAP_SLOTS)
        slots = CAP_SLOTS;
    int64_t *free_at_ns = slots ? malloc(slots * sizeof *free_at_ns) : NULL;
    if (slots && !free_at_ns)
        return ESP_NO_MEMORY;
    for (uint32_t i = 0; i < slots; i++)
        free_at_ns[i] = now_ns;
    *load = (struct load){.slots = slots, .free_at_ns = free_at_ns, .drained_ns = now_ns};
    return ESP_OK;
}

void load_release(struct load *load)
{
    free(load->free_at_ns);
    *load = (struct load){0};
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

enum esp_status load_set(struct load *load, const double *free_in_s, uint32_t n, int64_t now_ns)
{
    if (n > CAP_SLOTS)
        n = CAP_SLOTS;
    if (n != load->slots) {
        int64_t *free_at_ns = n ? realloc(load->free_at_ns, n * sizeof *free_at_ns) : NULL;
        if (n && !free_at_ns)
            return ESP_NO_MEMORY;
        if (!n)
            free(load->free_at_ns);
        load->free_at_ns = free_at_ns;
        load->slots = n;
    }
    bool ascending = true;
    load->drained_ns = now_ns;
    for (uint32_t i = 0; i < n; i++) {
        load->free_at_ns[i] = now_ns + seconds_to_ns(free_in_s[i]);
        if (load->free_at_ns[i] > load->drained_ns)
            load->drained_ns = load->free_at_ns[i];
        ascending = ascending && (i == 0 || load->free_at_ns[i - 1] <= load->free_at_ns[i]);
    }
    /* Times from the network may not be ascending; an ascending array is a heap. */
    if (!ascending)
        qsort(load->free_at_ns, n, sizeof *load->free_at_ns, by_time);
    return ESP_OK;
}

double load_wait_s(const struct load *load, int64_t now_ns)
{
    if (load->slots == 0)
        return HUGE_VAL;
    int64_t first = load->free_at_ns[0];
    return first > now_ns ? (double)(first - now_ns) / 1e9 : 0;
}

double load_start_s(const struct load *load, bool fits, int64_t now_ns)
{
    double wait_s = load_wait_s(load, now_ns);
    if (fits)
        return wait_s;
    int64_t drained_ns = load->drained_ns - now_ns;
    return fmax(fmax(wait_s, drained_ns > 0 ? (double)drained_ns / 1e9 : 0), ESTIMATE_MEMORY_S);
}

/* Restores the heap after the root has increased. */
static void sift_down(int64_t *heap, uint32_t n)
{
    uint32_t at = 0;
    int64_t moving = heap[0];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= n)
            break;
        if (child + 1 < n && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= moving)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

void load_place(struct load *load, double seconds, int64_t now_ns)
{
    if (load->slots == 0)
        return;
    int64_t start = load->free_at_ns[0] > now_ns ? load->free_at_ns[0] : now_ns;
    const int64_t takes_ns = seconds_to_ns(seconds);
    load->free_at_ns[0] = start > INT64_MAX - takes_ns ? INT64_MAX : start + takes_ns;
    if (load->free_at_ns[0] > load->drained_ns)
        load->drained_ns = load->free_at_ns[0];
    sift_down(load->free_at_ns, load->slots);
}

double estimate_compute_s(double work_flop, double speed_flops, double *error_s)
{
    if (!(speed_flops > 0))
        speed_flops = ESTIMATE_DEFAULT_SPEED;
    double work_s = work_flop > 0 ? work_flop / speed_flops : 0;
    if (error_s)
        *error_s = FORECAST_ERROR * (work_s + ESTIMATE_CALL_S);
    return ESTIMATE_CALL_S + work_s;
}

/* Scales the cost by the load of other processes: everything takes longer, with a larger error. */
static void beside_others(const struct computer *computer, struct request_cost *cost)
{
    const double available = computer->available;
    if (!(available > 0) || available >= 1)
        return;
    const double slowdown = problem_slowdown(cost->waits, available);
    cost->compute_s *= slowdown;
    cost->error_s *= slowdown;
    if (computer->available_error > 0)
        cost->error_s += (1 - cost->waits) * cost->compute_s * fmin(computer->available_error / available, 1);
}

/* Uses the times of earlier calls of the problem; without any, changes nothing. */
static void by_calls(const struct request *request, const struct computer *computer,
                     struct request_cost *cost)
{
    const struct problem_speed *called = problem_speed_find(computer->speeds, request->digest);
    struct problem_speed here;
    if (!called && (called = problem_speed_find(computer->elsewhere, request->digest))) {
        here = *called;
        here.flops *= computer->speed_flops > 0 ? computer->speed_flops : ESTIMATE_DEFAULT_SPEED;
        called = &here;
    }
    if (!called)
        return;
    cost->compute_s = ESTIMATE_CALL_S + problem_speed_s(called, request->work_flop);
    cost->error_s = FORECAST_ERROR * cost->compute_s;
    cost->ground = COST_CALLED;
    cost->waits = called->waits;
}

static void cost_alone(const struct request *request, const struct computer *computer,
                       struct request_cost *cost)
{
    const struct cost_call call = {.scalars = request->scalars,
                                   .n_scalars = request->n_scalars,
                                   .work_flop = request->work_flop,
                                   .bytes = (double)request->memory_bytes};
    struct cost_forecast forecast;
    *cost = (struct request_cost){.memory_bytes = request->memory_bytes, .by = BY_WORKER};
    if (!computer->models || !cost_set_evaluate(computer->models, request->digest, &call, &forecast)) {
        cost->compute_s = estimate_compute_s(request->work_flop, computer->speed_flops, &cost->error_s);
        by_calls(request, computer, cost);
        return;
    }
    cost->compute_s = ESTIMATE_CALL_S + forecast.seconds;
    cost->error_s = forecast.error_s + FORECAST_ERROR * ESTIMATE_CALL_S;
    cost->ground = forecast.ground;
    if (__builtin_add_overflow(cost->memory_bytes, (uint64_t)forecast.memory_bytes, &cost->memory_bytes))
        cost->memory_bytes = UINT64_MAX;
}

/* Uses the ranks if they are faster, because the server will choose the faster way. */
static void cost_together(const struct request *request, const struct computer *computer,
                          struct request_cost *cost)
{
    const struct cost_ranks *ranks =
        computer->models && !computer->alone ? cost_ranks_find(computer->models, request->digest) : NULL;
    if (!ranks)
        return;
    const double seconds =
        ESTIMATE_CALL_S + cost_ranks_s(computer->models, request->digest, request->work_flop);
    const bool known = seconds < HUGE_VAL;
    if (!ranks->only && !(seconds < cost->compute_s))
        return;
    cost->by = BY_RANKS;
    if (!known)
        return;
    cost->grid = cost_ranks_grid(ranks, request->work_flop);
    cost->compute_s = seconds;
    cost->error_s = FORECAST_ERROR * seconds;
    cost->waits = 0;
    cost->memory_bytes = request->memory_bytes;
}

void estimate_cost(const struct request *request, const struct computer *computer, struct request_cost *cost)
{
    cost_alone(request, computer, cost);
    cost_together(request, computer, cost);
    beside_others(computer, cost);
}

double estimate_count_s(double forecast_s, enum cost_ground ground)
{
    return ground == COST_NOT_MEASURED ? fmax(forecast_s, ESTIMATE_UNKNOWN_S) : forecast_s;
}

double estimate_line_s(double line)
{
    return line >= 1 ? line * ESTIMATE_LINE_S : 0;
}

void cost_put(const struct request_cost *cost, uint8_t bytes[COST_BYTES_TOLD])
{
    uint64_t memory = htole64(cost->memory_bytes);
    uint32_t ground = htole32((uint32_t)cost->ground);
    memcpy(bytes, &memory, sizeof memory);
    memcpy(bytes + sizeof memory, &ground, sizeof ground);
}

void cost_get(const uint8_t bytes[COST_BYTES_TOLD], struct request_cost *cost)
{
    uint64_t memory;
    uint32_t ground;
    memcpy(&memory, bytes, sizeof memory);
    memcpy(&ground, bytes + sizeof memory, sizeof ground);
    cost->memory_bytes = le64toh(memory);
    ground = le32toh(ground);
    cost->ground = ground <= COST_CALLED ? (enum cost_ground)ground : COST_NOT_MEASURED;
}

void cost_put_by(const struct request_cost *cost, uint8_t bytes[BY_BYTES_TOLD])
{
    const uint32_t numbers[] = {htole32((uint32_t)cost->by), htole32(cost->grid.rows),
                                htole32(cost->grid.cols), htole32(cost->grid.block)};
    memcpy(bytes, numbers, sizeof numbers);
}

void cost_get_by(const uint8_t bytes[BY_BYTES_TOLD], struct request_cost *cost)
{
    uint32_t numbers[4];
    memcpy(numbers, bytes, sizeof numbers);
    const uint32_t by = le32toh(numbers[0]);
    const struct process_grid grid = {le32toh(numbers[1]), le32toh(numbers[2]), le32toh(numbers[3])};
    const bool is_grid = grid.rows > 0 && grid.cols > 0 && grid.block > 0;
    cost->by = by <= BY_RANKS ? (enum computed_by)by : BY_NOT_TOLD;
    cost->grid = cost->by == BY_RANKS && is_grid ? grid : (struct process_grid){0};
}

void estimate_told_cost(const struct server_estimate *estimate, const struct request *request,
                        struct request_cost *cost)
{
    const struct extension *extension = extension_find(&estimate->extensions, EXTENSION_COST),
                           *by = extension_find(&estimate->extensions, EXTENSION_COMPUTED_BY);
    *cost = (struct request_cost){.memory_bytes = request ? request->memory_bytes : 0};
    if (extension && extension->length >= COST_BYTES_TOLD)
        cost_get(extension->value, cost);
    if (by && by->length >= BY_BYTES_TOLD)
        cost_get_by(by->value, cost);
    cost->compute_s = estimate->compute_s;
    cost->error_s = estimate->error_s;
}

static bool add_cost(const struct request_cost *cost, struct arena *arena, struct extension *extension)
{
    uint8_t bytes[COST_BYTES_TOLD];
    cost_put(cost, bytes);
    *extension = (struct extension){EXTENSION_COST, arena_memdup(arena, bytes, sizeof bytes), sizeof bytes};
    return extension->value;
}

static bool add_by(const struct request_cost *cost, struct arena *arena, struct extension *extension)
{
    uint8_t bytes[BY_BYTES_TOLD];
    cost_put_by(cost, bytes);
    *extension =
        (struct extension){EXTENSION_COMPUTED_BY, arena_memdup(arena, bytes, sizeof bytes), sizeof bytes};
    return extension->value;
}

#define STANDING_BYTES (sizeof(double) + sizeof(uint64_t))

static bool add_standing(const struct standing *standing, struct arena *arena, struct extension *extension)
{
    uint8_t bytes[STANDING_BYTES];
    memcpy(bytes, &standing->line, sizeof standing->line);
    memcpy(bytes + sizeof standing->line, &standing->memory_free, sizeof standing->memory_free);
    *extension =
        (struct extension){EXTENSION_STANDING, arena_memdup(arena, bytes, sizeof bytes), STANDING_BYTES};
    return extension->value;
}

static bool add_waits(const struct load *load, int64_t now_ns, struct arena *arena,
                      struct extension *extension)
{
    uint32_t n = load->slots < ESTIMATE_WAITS_MOST ? load->slots : ESTIMATE_WAITS_MOST;
    int64_t *sorted = arena_memdup(arena, load->free_at_ns, load->slots * sizeof *sorted);
    double *waits = arena_alloc(arena, n * sizeof *waits);
    if (!sorted || !waits)
        return false;
    qsort(sorted, load->slots, sizeof *sorted, by_time);
    for (uint32_t i = 0; i < n; i++)
        waits[i] = sorted[i] > now_ns ? (double)(sorted[i] - now_ns) / 1e9 : 0;
    *extension = (struct extension){EXTENSION_WAITS, (const uint8_t *)waits, n * (uint32_t)sizeof *waits};
    return true;
}

bool estimate_fill(struct server_estimate *estimate, const struct request *request,
                   const struct computer *computer, const struct load *load, const struct standing *standing,
                   int64_t now_ns, struct arena *arena)
{
    struct extension *extensions = arena_alloc(arena, 4 * sizeof *extensions);
    struct request_cost cost;
    uint32_t n = 0;
    estimate_cost(request, computer, &cost);
    estimate->compute_s = cost.compute_s;
    estimate->error_s = cost.error_s;
    estimate->queue_s = load_wait_s(load, now_ns);
    estimate->extensions = (struct extensions){0};
    if (!extensions)
        return false;
    if (load->slots > 1 && !add_waits(load, now_ns, arena, &extensions[n++]))
        return false;
    if (!add_standing(standing, arena, &extensions[n++]))
        return false;
    if (cost.ground != COST_NOT_MEASURED && !add_cost(&cost, arena, &extensions[n++]))
        return false;
    if (extension_find(&request->extensions, EXTENSION_FORECAST) && !add_by(&cost, arena, &extensions[n++]))
        return false;
    estimate->extensions = (struct extensions){extensions, n};
    return true;
}

struct standing estimate_standing(const struct server_estimate *estimate)
{
    const struct extension *extension = extension_find(&estimate->extensions, EXTENSION_STANDING);
    struct standing standing = {.memory_free = UINT64_MAX};
    if (!extension || extension->length < STANDING_BYTES)
        return standing;
    memcpy(&standing.line, extension->value, sizeof standing.line);
    memcpy(&standing.memory_free, extension->value + sizeof standing.line, sizeof standing.memory_free);
    if (!(standing.line >= 0))
        standing.line = 0;
    return standing;
}

double estimate_start_s(const struct server_estimate *estimate, uint64_t memory_bytes)
{
    struct request_cost told;
    estimate_told_cost(estimate, NULL, &told);
    if (told.memory_bytes > memory_bytes)
        memory_bytes = told.memory_bytes;
    const struct standing standing = estimate_standing(estimate);
    const double line_s = estimate_line_s(standing.line);
    if (standing.memory_free >= memory_bytes)
        return fmax(estimate->queue_s, line_s);
    const struct extension *extension = extension_find(&estimate->extensions, EXTENSION_WAITS);
    double last_s = estimate->queue_s;
    if (extension && extension->length >= sizeof last_s)
        memcpy(&last_s, extension->value + (extension->length / sizeof last_s - 1) * sizeof last_s,
               sizeof last_s);
    return fmax(fmax(last_s, fmax(estimate->queue_s, line_s)), ESTIMATE_MEMORY_S);
}

enum esp_status estimate_load(const struct server_estimate *estimate, int64_t now_ns, struct load *load)
{
    const struct extension *extension = extension_find(&estimate->extensions, EXTENSION_WAITS);
    double waits[ESTIMATE_WAITS_MOST];
    uint32_t n = extension ? extension->length / (uint32_t)sizeof *waits : 0;
    if (n > ESTIMATE_WAITS_MOST)
        n = ESTIMATE_WAITS_MOST;
    if (n == 0)
        waits[n++] = estimate->queue_s;
    else
        memcpy(waits, extension->value, n * sizeof *waits);
    *load = (struct load){0};
    return load_set(load, waits, n, now_ns);
}
