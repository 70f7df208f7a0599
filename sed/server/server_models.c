/* SPDX-License-Identifier: Apache-2.0
 *
 * Forecasts of calls on this server: cost models from the calibration, corrected by the times that calls
 * take, and the speeds of calls, for problems without a model. Agents get them once, and again when calls
 * have changed them.
 */
#include "core/forecast/corrections.h"
#include "sed/forecast/accuracy.h"
#include "sed/server/server_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct forecasts {
    struct cost_set models;              /* from the calibration; may be empty */
    struct cost_correction *corrections; /* of each model */
    bool corrected;                      /* something was learned since corrections were last asked for */
    bool models_told;                    /* the parent has the present models */
    int64_t models_told_ns;
    bool speeds_told;    /* the parent has the present speeds of called problems */
    bool speeds_far_off; /* a forecast that agents have is wrong by far */
    int64_t speeds_told_ns;
    struct accuracy *accuracy; /* where forecasts and actual times are noted; NULL: nowhere */
};

/* A correction that changes forecasts by less than this is not reported, */
#define WORTH_TELLING 0.03
/* and models are reported at most so often. */
#define TELL_NS (3 * NS_PER_S)
/* Speeds, which are some 100 bytes, are reported at most so often. */
#define TELL_SPEEDS_NS NS_PER_S
/* A forecast that is off by more than this factor is reported sooner: a description may be wrong by any
 * factor, and agents place calls by it until they hear of the correction. */
#define FAR_OFF         2
#define TELL_FAR_OFF_NS (50 * NS_PER_MS)

struct computer server_computer(const struct server *server)
{
    return (struct computer){.speed_flops = server->speed.measured,
                             .speeds = &server->speed.called,
                             .models = &server->forecasts->models,
                             .available = server_weather(server)->forecast,
                             .available_error = server_weather(server)->error};
}

double server_cpu_quota(const struct server *server)
{
    if (server->options.senses)
        return 1;
    double quota = server->options.cpu_quota ? server->options.cpu_quota() : 1;
    return quota > 0 && quota < 1 ? quota : 1;
}

static uint32_t known_scalars(const struct problem *problem, const struct number *scope,
                              struct scalar_value *scalars)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (argument_is_input(&problem->arguments[i]) && problem->arguments[i].n_dims == 0 &&
            scope[i].kind != NUMBER_UNKNOWN)
            scalars[n++] = (struct scalar_value){.index = i,
                                                 .is_real = scope[i].kind == NUMBER_REAL,
                                                 .integer = scope[i].integer,
                                                 .real = scope[i].real};
    return n;
}

void server_cost(const struct server *server, const struct problem *problem, const struct number *scope,
                 double work_flop, uint64_t bytes, struct request_cost *cost)
{
    struct scalar_value scalars[PROBLEM_MAX_ARGUMENTS];
    const struct request request = {.digest = problem->digest,
                                    .work_flop = work_flop,
                                    .memory_bytes = bytes,
                                    .scalars = scalars,
                                    .n_scalars = known_scalars(problem, scope, scalars)};
    struct computer computer = server_computer(server);
    computer.alone = true; /* server_choose() compares it with the ranks */
    estimate_cost(&request, &computer, cost);
}

/* ---- learning ---- */

static void correct(struct server *server, const struct session *session, double taken_s,
                    const struct cost_call *call)
{
    bool other;
    struct cost_forecast forecast;
    struct cost_model *model =
        cost_set_find(&server->forecasts->models, session->problem->digest, call, &other);
    if (!model || other || !cost_evaluate(model, call, &forecast) || forecast.ground != COST_MEASURED)
        return;
    struct cost_correction *correction =
        &server->forecasts->corrections[model - server->forecasts->models.models];
    server->forecasts->corrected = true;
    double factor = cost_correct(correction, taken_s, forecast.seconds / model->factor);
    if (fabs(factor / model->factor - 1) < WORTH_TELLING)
        return;
    log_notice("%s takes %.3g times what was measured", session->problem->name, factor);
    model->factor = factor;
    cost_set_bound(&server->forecasts->models);
    server->forecasts->models_told = false;
    server_load_changed(server, 0);
}

/* How long the computation would have taken without other programs on the processor, for models and speeds.
 * `cpu_s`: its processor time, including `waited_s` of waiting; 0: unknown. */
static double taken_alone_s(const struct server *server, const struct session *session, double cpu_s,
                            double waited_s)
{
    if (cpu_s > 0 && server->options.threads == 1)
        return (cpu_s - waited_s) / server_cpu_quota(server) + waited_s;
    const struct problem_speed *called = problem_speed_find(&server->speed.called, session->problem->digest);
    return session->compute_s /
           problem_slowdown(called ? called->waits : 0, server_weather(server)->forecast);
}

static void speeds_changed(struct server *server)
{
    server->forecasts->speeds_told = false;
    server_load_changed(server, 1);
}

void server_speed_measured(struct server *server, double flops)
{
    if (speed_measured(&server->speed, flops))
        speeds_changed(server);
}

/* The forecast of a call like that one, without other programs on the processor. */
static double expected_s(const struct server *server, const struct session *session)
{
    const struct problem_speed *called = problem_speed_find(&server->speed.called, session->problem->digest);
    return called ? problem_speed_s(called, session->work_flop)
                  : estimate_compute_s(session->work_flop, server->speed.measured, NULL);
}

static void observe(struct server *server, const struct session *session, double taken_s, double waits)
{
    const struct problem *problem = session->problem;
    const double before_s = expected_s(server, session);
    server->forecasts->corrected = true;
    bool news = speed_observe(&server->speed, problem->digest, session->job.implementation->name,
                              session->work_flop, taken_s);
    news |= waits >= 0 && speed_waits(&server->speed, problem->digest, waits);
    if (!news)
        return;
    const struct problem_speed *called = problem_speed_find(&server->speed.called, problem->digest);
    if (!called)
        return;
    const double now_s = expected_s(server, session);
    server->forecasts->speeds_far_off |= now_s > FAR_OFF * before_s || before_s > FAR_OFF * now_s;
    log_debug("%s takes %.3g s and its work at %.3g Gflop/s, where %.3g were measured", problem->name,
              called->base_s, called->flops / 1e9, server->speed.measured / 1e9);
    speeds_changed(server);
}

void server_learn(struct server *server, const struct session *session, double cpu_s, double waited_s)
{
    struct scalar_value scalars[PROBLEM_MAX_ARGUMENTS];
    const struct cost_call call = {
        .scalars = scalars,
        .n_scalars = known_scalars(session->problem, session->job.scope, scalars),
        .work_flop = session->work_flop,
        .bytes = (double)session->call_bytes,
    };
    if (server->forecasts->accuracy)
        accuracy_note(server->forecasts->accuracy, session->problem->name, session->forecast_s,
                      session->compute_s, &session->ranks);
    if (implementation_is_parallel(session->job.implementation))
        return;
    const double taken_s = taken_alone_s(server, session, cpu_s, waited_s);
    observe(server, session, taken_s, cpu_s > 0 ? waited_s / cpu_s : -1);
    if (server->forecasts->models.n > 0)
        correct(server, session, taken_s, &call);
}

/* ---- telling ---- */

bool server_tell_models(struct server *server, bool complete, struct arena *arena, struct node_record *record)
{
    int64_t now_ns = server_now(server);
    bool wait = server->forecasts->models_told_ns && now_ns - server->forecasts->models_told_ns < TELL_NS;
    bool never = server->forecasts->models.n == 0 && server->forecasts->models.n_ranks == 0 &&
                 server->forecasts->models_told_ns == 0;
    if (never || (!complete && server->forecasts->models_told))
        return true;
    if (!complete && wait) {
        membership_touch(server->membership,
                         (server->forecasts->models_told_ns + TELL_NS - now_ns) / NS_PER_MS + 1);
        return true;
    }
    const uint32_t n = record->extensions.n;
    struct extension *items = arena_alloc(arena, (n + 2) * sizeof *items);
    uint32_t length, grids_length;
    uint8_t *data = cost_encode(&server->forecasts->models, arena, &length),
            *grids = cost_grids_encode(&server->forecasts->models, arena, &grids_length);
    if (!items || !data)
        return false;
    if (n)
        memcpy(items, record->extensions.items, n * sizeof *items);
    items[n] = (struct extension){EXTENSION_COST_MODELS, data, length};
    if (grids)
        items[n + 1] = (struct extension){EXTENSION_RANK_GRIDS, grids, grids_length};
    record->extensions = (struct extensions){items, n + 1 + (grids != NULL)};
    server->forecasts->models_told = true;
    server->forecasts->models_told_ns = now_ns;
    return true;
}

bool server_tell_speeds(struct server *server, bool complete, struct arena *arena, struct node_record *record)
{
    const int64_t now_ns = server_now(server);
    const int64_t apart_ns = server->forecasts->speeds_far_off ? TELL_FAR_OFF_NS : TELL_SPEEDS_NS;
    const int64_t wait_ns =
        server->forecasts->speeds_told_ns ? server->forecasts->speeds_told_ns + apart_ns - now_ns : 0;
    if (!complete && server->forecasts->speeds_told)
        return true;
    if (!complete && wait_ns > 0) {
        membership_touch(server->membership, wait_ns / NS_PER_MS + 1);
        return true;
    }
    server->forecasts->speeds_told = true;
    server->forecasts->speeds_far_off = false;
    server->forecasts->speeds_told_ns = now_ns;
    return problem_speeds_add(&record->extensions, &server->speed.called, arena);
}

/* ---- the set ---- */

bool server_models_create(struct server *server)
{
    return (server->forecasts = calloc(1, sizeof *server->forecasts));
}

void server_models_destroy(struct server *server)
{
    speed_release(&server->speed);
    if (!server->forecasts)
        return;
    cost_set_clear(&server->forecasts->models);
    free(server->forecasts->corrections);
    accuracy_close(server->forecasts->accuracy);
    free(server->forecasts);
}

const struct cost_set *server_models(const struct server *server)
{
    return &server->forecasts->models;
}

bool server_set_rank_models(struct server *server, struct cost_ranks *ranks, uint32_t n)
{
    if (cost_set_ranks(&server->forecasts->models, ranks, n, NULL) != ESP_OK)
        return false;
    server->forecasts->models_told = false;
    return true;
}

const char *server_tell_accuracy(const struct server *server, struct arena *arena)
{
    return server->forecasts->accuracy ? accuracy_tell(server->forecasts->accuracy, arena) : "";
}

enum esp_status server_set_models(struct server *server, struct cost_set *models, struct esp_error *error)
{
    struct cost_correction *corrections = calloc(models->n + 1, sizeof *corrections);
    if (!corrections) {
        cost_set_clear(models);
        return error_no_memory(error, "the cost models");
    }
    if (server->endpoint)
        endpoint_enter(server->endpoint);
    if (cost_set_ranks(models, server->forecasts->models.ranks, server->forecasts->models.n_ranks, NULL) !=
        ESP_OK)
        log_error("out of memory for the forecasts for ranks");
    cost_set_clear(&server->forecasts->models);
    free(server->forecasts->corrections);
    server->forecasts->models = *models;
    server->forecasts->corrections = corrections;
    server->forecasts->models_told = false;
    if (server->endpoint) {
        server_load_changed(server, 1);
        endpoint_leave(server->endpoint);
    }
    *models = (struct cost_set){0};
    return ESP_OK;
}

void server_set_accuracy(struct server *server, const char *path)
{
    accuracy_close(server->forecasts->accuracy);
    server->forecasts->accuracy = accuracy_open(path);
}

/* ---- over restarts ---- */

static void enter(const struct server *server)
{
    if (server->endpoint)
        endpoint_enter(server->endpoint);
}

static void leave(const struct server *server)
{
    if (server->endpoint)
        endpoint_leave(server->endpoint);
}

static void write_speeds(void *arg, FILE *file)
{
    const struct server *server = arg;
    speed_write(&server->speed, file);
}

/* Whether the server has that problem still. Speeds of other problems would only be sent to agents. */
static bool has_problem(const struct server *server, uint64_t digest)
{
    const struct problem_set *set = server->shelf->set;
    for (size_t i = 0; i < set->n_problems; i++)
        if (set->problems[i]->digest == digest)
            return true;
    return false;
}

static void take_speed(void *arg, const char *line)
{
    struct server *server = arg;
    uint64_t digest;
    if (sscanf(line, "speed %16" SCNx64, &digest) == 1 && has_problem(server, digest) &&
        speed_take(&server->speed, line))
        server->forecasts->speeds_told = false;
}

char *server_corrections(struct server *server, size_t *length)
{
    const struct corrections_beside speeds = {.write = write_speeds, .arg = server};
    char *text = NULL;
    enter(server);
    if (server->forecasts->corrected)
        text = corrections_write(&server->forecasts->models, server->forecasts->corrections, &speeds, length);
    if (text)
        server->forecasts->corrected = false;
    leave(server);
    return text;
}

enum esp_status server_take_corrections(struct server *server, const char *text, size_t length,
                                        uint32_t *taken, struct esp_error *error)
{
    const struct corrections_beside speeds = {.take = take_speed, .arg = server};
    *taken = 0;
    enter(server);
    /* Read also without models, so that damage is reported now, and not when there are models again. */
    const enum esp_status status = corrections_read(text, length, &server->forecasts->models,
                                                    server->forecasts->corrections, &speeds, taken, error);
    server->forecasts->models_told = false;
    leave(server);
    return status;
}
