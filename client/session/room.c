/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/room.h"
#include "client/arguments/describe.h"
#include "client/session/forecast.h"
#include "client/session/library.h"
#include "core/choice/estimate.h"

#include <string.h>

/* Whether a server that solves the problem is excluded only because it has less memory than the call
 * takes. */
static bool is_too_small(const struct fast_server *server)
{
    return server->excluded && strncmp(server->excluded, EXCLUDED_NEEDS, strlen(EXCLUDED_NEEDS)) == 0 &&
           strstr(server->excluded, EXCLUDED_OF_MEMORY);
}

/* The first server that is too small. NULL: some server may hold the call, or may be able to later. */
static const struct fast_server *all_too_small(const struct fast_server *servers, size_t n, const char *only)
{
    const struct fast_server *found = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct fast_server *server = &servers[i];
        if (only && strcmp(only, server->server) != 0 && strcmp(only, server->address) != 0)
            continue;
        if (is_too_small(server))
            found = found ? found : server;
        else if (!server->excluded || strncmp(server->excluded, "it does not solve", 17) != 0)
            return NULL;
    }
    return found;
}

/* The memory for a compressed matrix follows from its pattern, which is read later. */
static bool has_compressed(const struct problem *problem)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (problem->arguments[i].storage == STORAGE_CSC || problem->arguments[i].storage == STORAGE_CSR)
            return true;
    return false;
}

static enum esp_status ask(const struct room *room, const struct function *function,
                           const struct number *scope, const struct shape *shapes, enum forecast_reach reach,
                           struct esp_error *error)
{
    struct message message = {.kind = MESSAGE_SUBMIT};
    struct fast_server *servers = NULL;
    struct esp_error unimportant;
    size_t n = 0;
    enum esp_status status =
        forecast_request(function, scope, shapes, &message.arena, &message.submit.request, &unimportant);
    const uint64_t bytes = message.submit.request.memory_bytes;
    if (status == ESP_OK && bytes >= ROOM_LARGE_BYTES)
        status = forecast_ask(room->engine, &message, NULL, reach, &servers, &n, &unimportant);
    message_clear(&message);
    if (status != ESP_OK || !servers)
        return ESP_OK;
    const struct fast_server *small = all_too_small(servers, n, room->server);
    if (small)
        error_set(error, ESP_NO_SERVER, "%s: no server has the memory for this call: on %s it %s",
                  function->problem->name, small->server, small->excluded);
    fast_forecast_free(servers);
    return small ? ESP_NO_SERVER : ESP_OK;
}

enum esp_status room_check(const struct room *room, const struct function *function,
                           const struct number *scope, const struct shape *shapes, struct esp_error *error)
{
    if (!room || function->problem->abstract || has_compressed(function->problem))
        return ESP_OK;
    /* Most calls are small enough for a server of the nearest master agent. */
    const enum esp_status status = ask(room, function, scope, shapes, FORECAST_NEAR, error);
    return status == ESP_OK ? ESP_OK : ask(room, function, scope, shapes, FORECAST_ALL, error);
}

static enum esp_status check_scalars(struct library *library, const struct function *function,
                                     const struct number *scope, struct esp_error *error)
{
    struct number values[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    unsigned char raw[PROBLEM_MAX_ARGUMENTS][16] = {{0}};
    const void *scalars[PROBLEM_MAX_ARGUMENTS] = {NULL}, *inputs[PROBLEM_MAX_ARGUMENTS];
    const struct problem *problem = function->problem;
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; i < problem->n_arguments && status == ESP_OK; i++) {
        if (scope[i].kind == NUMBER_UNKNOWN || !argument_is_input(&problem->arguments[i]))
            continue;
        status = number_store(&scope[i], problem->arguments[i].type, raw[i], error);
        scalars[i] = raw[i];
    }
    invocation_known_inputs(problem, scalars, inputs);
    if (status == ESP_OK)
        status = problem_bind(problem, inputs, values, shapes, error);
    return status == ESP_OK
               ? room_check(&(struct room){.engine = library->engine}, function, values, shapes, error)
               : status;
}

enum esp_status esp_arguments_fit(const struct esp_problem *problem, const struct esp_argument *arguments,
                                  size_t n_arguments)
{
    struct esp_error *error = library_error();
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    if (!problem || (!arguments && n_arguments > 0))
        return error_set(error, ESP_INVALID, "expected a problem and its arguments, found NULL");
    if (n_arguments != problem->n_arguments)
        return error_set(error, ESP_INVALID, "%s: expected %zu arguments, found %zu", problem->name,
                         problem->n_arguments, n_arguments);
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    const struct function *function = description_function(problem);
    describe_scope(function->problem, arguments, scope);
    enum esp_status status = check_scalars(library, function, scope, error);
    library_leave(status == ESP_OK);
    return status;
}
