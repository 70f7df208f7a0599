/* SPDX-License-Identifier: Apache-2.0
 *
 * The speed of a slot, measured through a worker by the server's own dgemm, which is what the routines behind
 * most problems spend their time in. The daemon itself never calls BLAS: its threads would make forking
 * hang. Calls come first: while somebody waits for a slot, nothing is measured.
 *
 * A slot's speed is what a processor does for it in a second of processor time, times the share of a
 * processor that its control groups leave it, times what competitors leave of that. The first hardly varies
 * and the second is written down; only the third has to be waited for: daemons that are started together
 * disturb each other for a while, so competition counts when it was found in several windows that lie apart.
 * Where this server may not move to another processor it counts at once.
 */
#include "sed/server/server_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEASURE_WINDOWS 3

/* How the measurement of the speed stands. */
struct measurement {
    bool wanted;                  /* there is more to measure */
    bool running;                 /* a job of it is */
    unsigned windows;             /* that are over */
    double left[MEASURE_WINDOWS]; /* in the latest ones: what competitors left us of our quota */
    struct call_plan *plan;
    struct job job;
    struct job_argument arguments[PROBLEM_MAX_ARGUMENTS];
    int32_t sizes[3];
    struct shelf *shelf;
    struct segment *segment;
    unsigned jobs;         /* so far in this window */
    double seconds, cpu_s; /* they took */
    int64_t begun_ns;      /* the present one */
    int64_t due_ns;        /* the next window */
};

#define SIZE 320 /* dgemm of this order: a few milliseconds, and data beyond the first caches */
/* Long against the 100 ms in which the system hands out a quota of processor time. */
#define WINDOW_S 0.35
/* An idle server looks again after so long, then after three times as long, and so on. */
#define AGAIN_NS      (4 * NS_PER_S)
#define AGAIN_MOST_NS (300 * NS_PER_S)
#define BUSY_NS       NS_PER_S

static bool add_size(struct call_argument *arguments, uint32_t *n, const struct problem *problem,
                     const char *name, const int32_t *value)
{
    int index = problem_argument_index(problem, name);
    if (index < 0)
        return false;
    arguments[(*n)++] = (struct call_argument){.index = (uint32_t)index,
                                               .kind = KIND_INLINE,
                                               .bytes = sizeof *value,
                                               .data = (const uint8_t *)value,
                                               .length = sizeof *value};
    return true;
}

static bool add_matrix(struct call_argument *arguments, uint32_t *n, const struct problem *problem,
                       const char *name)
{
    int index = problem_argument_index(problem, name);
    if (index < 0)
        return false;
    arguments[(*n)++] = (struct call_argument){
        .index = (uint32_t)index, .kind = KIND_BULK, .bytes = (uint64_t)SIZE * SIZE * sizeof(double)};
    return true;
}

static bool make_plan(struct server *server, const struct problem *problem, struct esp_error *error)
{
    struct measurement *measurement = server->measurement;
    struct call_argument arguments[8];
    uint32_t n = 0;
    for (int i = 0; i < 3; i++)
        measurement->sizes[i] = SIZE;
    if (!add_size(arguments, &n, problem, "m", &measurement->sizes[0]) ||
        !add_size(arguments, &n, problem, "n", &measurement->sizes[1]) ||
        !add_size(arguments, &n, problem, "k", &measurement->sizes[2]) ||
        !add_matrix(arguments, &n, problem, "A") || !add_matrix(arguments, &n, problem, "B") ||
        !add_matrix(arguments, &n, problem, "C")) {
        error_set(error, ESP_INVALID, "its dgemm has other arguments than m, n, k, A, B, C");
        return false;
    }
    struct call_request call = {.arguments = arguments, .n_arguments = n};
    measurement->plan = malloc(sizeof *measurement->plan);
    return measurement->plan && call_plan_make(problem, &call, measurement->plan, error) == ESP_OK &&
           measurement->plan->segment_bytes > 0;
}

/* The implementation for workers. NULL: only ranks compute the problem. */
static const struct implementation *for_workers(const struct problem *problem)
{
    for (uint32_t i = 0; i < problem->n_implementations; i++)
        if (!implementation_is_parallel(&problem->implementations[i]))
            return &problem->implementations[i];
    return NULL;
}

static void fill_job(struct measurement *measurement)
{
    struct call_plan *plan = measurement->plan;
    for (uint32_t i = 0; i < plan->problem->n_arguments; i++) {
        struct planned_argument *planned = &plan->arguments[i];
        struct job_argument *argument = &measurement->arguments[i];
        *argument = (struct job_argument){.bytes = planned->bytes,
                                          .writable = plan->problem->arguments[i].mode != MODE_IN,
                                          .in_segment = planned->in_segment};
        if (planned->in_segment) {
            argument->offset = planned->offset;
            argument->data = measurement->segment->data + planned->offset;
            double *values = argument->data;
            for (uint64_t j = 0; j < planned->bytes / sizeof *values; j++)
                values[j] = 1;
        } else {
            argument->data = planned->has_initial ? planned->initial : (uint8_t *)planned->data;
        }
    }
    measurement->job = (struct job){.problem = plan->problem,
                                    .implementation = for_workers(plan->problem),
                                    .arguments = measurement->arguments,
                                    .scope = plan->scope,
                                    .segment_fd = measurement->segment->fd,
                                    .segment_bytes = measurement->segment->bytes,
                                    .timed = true,
                                    .time_limit_ms = 10000};
}

static void end_window(struct server *server)
{
    struct measurement *measurement = server->measurement;
    segments_give(server->segments, measurement->segment);
    measurement->segment = NULL;
    free(measurement->plan);
    measurement->plan = NULL;
    shelf_release(measurement->shelf);
    measurement->shelf = NULL;
    measurement->wanted = false;
}

/* Makes the job of a window; false when there is nothing to measure with. */
static bool prepare(struct server *server)
{
    struct measurement *measurement = server->measurement;
    static const uint64_t nobody[2];
    struct esp_error error = {0};
    const struct problem *problem = problem_find(server->shelf->set, "dgemm");
    if (!problem || !for_workers(problem))
        return false;
    measurement->shelf = server->shelf;
    measurement->shelf->users++;
    if (!make_plan(server, problem, &error) ||
        segments_take(server->segments, measurement->plan->segment_bytes, nobody, &measurement->segment,
                      &error) != ESP_OK) {
        log_warning("the speed is not measured with dgemm: %s", error.text);
        end_window(server);
        return false;
    }
    fill_job(measurement);
    measurement->jobs = 0;
    measurement->seconds = measurement->cpu_s = 0;
    return true;
}

void server_measure_begin(struct server *server)
{
    server->measurement->wanted = prepare(server);
    server_measure_step(server);
}

void server_measure_step(struct server *server)
{
    struct measurement *measurement = server->measurement;
    if (!measurement->wanted && measurement->due_ns && server_now(server) >= measurement->due_ns) {
        measurement->due_ns = 0;
        if (server->slots.running > 0 || server_is_beside(server))
            measurement->due_ns = server_now(server) + BUSY_NS;
        else
            measurement->wanted = prepare(server);
    }
    if (!measurement->wanted || measurement->running || server->queue.length > 0 || server->slots.retry_ns)
        return;
    struct slot *slot = slots_take(&server->slots, &measurement->job.id);
    if (!slot)
        return;
    struct esp_error error;
    measurement->begun_ns = server_now(server);
    enum esp_status status = server->workers->ops->start(server->workers, &measurement->job, &error);
    if (status == ESP_OK) {
        measurement->running = true;
        return;
    }
    slots_free(&server->slots, slot);
    if (status == ESP_LIMIT) {
        server->slots.retry_ns = server_now(server) + 5 * NS_PER_MS;
        return;
    }
    log_warning("the speed is not measured with dgemm: %s", error.text);
    end_window(server);
}

/* The part of its quota that the server had, by this window and the latest ones. */
static double left_by_others(struct server *server, double quota)
{
    struct measurement *measurement = server->measurement;
    if (server_weather(server)->available > 0)
        return 1; /* the sensor measures it, and forecasts include it */
    double left = fmin(measurement->cpu_s / (measurement->seconds * quota), 1), most = 0;
    measurement->left[measurement->windows % MEASURE_WINDOWS] = left;
    if (server->options.confined)
        return left;
    if (measurement->windows + 1 < MEASURE_WINDOWS)
        return 1;
    for (unsigned i = 0; i < MEASURE_WINDOWS; i++)
        most = fmax(most, measurement->left[i]);
    return most;
}

static double window_flops(struct server *server)
{
    struct measurement *measurement = server->measurement;
    double flop = measurement->plan->work_flop * (measurement->jobs - 1);
    /* Several threads spin while they wait for each other: their processor time says nothing. */
    if (!(measurement->cpu_s > 0) || server->options.threads > 1)
        return flop / measurement->seconds;
    double quota = server_cpu_quota(server);
    return flop / measurement->cpu_s * quota * left_by_others(server, quota);
}

static void measure_again(struct server *server)
{
    struct measurement *measurement = server->measurement;
    int64_t after_ns = AGAIN_NS;
    for (unsigned i = 1; i < measurement->windows && after_ns < AGAIN_MOST_NS; i++)
        after_ns *= 3;
    if (after_ns > AGAIN_MOST_NS)
        after_ns = AGAIN_MOST_NS;
    measurement->due_ns = server_now(server) + after_ns;
}

static void conclude(struct server *server)
{
    struct measurement *measurement = server->measurement;
    const double before = server->speed.measured;
    server_speed_measured(server, window_flops(server));
    const double after = server->speed.measured;
    bool news = measurement->windows == 0 || fabs(after - before) > 0.1 * before;
    log_write(news ? LOG_NOTICE_LEVEL : LOG_DEBUG_LEVEL, NULL, "a slot reaches %.3g Gflop/s", after / 1e9);
    measurement->windows++;
    measure_again(server);
    end_window(server);
    if (news)
        server_load_changed(server, 1);
}

void server_measure_ended(struct server *server, const struct job_end *end)
{
    struct measurement *measurement = server->measurement;
    measurement->running = false;
    if (end->error.status != ESP_OK) {
        log_warning("the speed is not measured with dgemm: %s", end->error.text);
        end_window(server);
        return;
    }
    /* The first one loads the library and touches the memory. */
    if (measurement->jobs++ > 0) {
        measurement->seconds +=
            end->cpu_s > 0 ? end->compute_s : server_seconds(measurement->begun_ns, server_now(server));
        measurement->cpu_s += end->cpu_s;
    }
    if (measurement->seconds >= WINDOW_S)
        conclude(server);
}

bool server_measure_create(struct server *server)
{
    return (server->measurement = calloc(1, sizeof *server->measurement));
}

void server_measure_destroy(struct server *server)
{
    if (server->measurement && server->segments)
        end_window(server);
    free(server->measurement);
}

bool server_measures(const struct server *server)
{
    return server->measurement->running;
}

int64_t server_measure_due(const struct server *server)
{
    return server->measurement->due_ns ? server->measurement->due_ns : CLOCK_NEVER;
}
