/* SPDX-License-Identifier: Apache-2.0
 *
 * fast.h: forecasts of a call. The description says what the call needs, and the master agent what servers
 * offer.
 */
#include "fast.h"

#include "client/abstract/call_forecast.h"
#include "client/data/binding.h"
#include "client/session/library.h"
#include "core/choice/estimate.h"
#include "util/clock.h"
#include "util/names.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- requirements by the description ---- */

static bool is_size(const struct argument *argument)
{
    return argument_is_input(argument) && argument->n_dims == 0 && argument->type <= TYPE_DOUBLE_COMPLEX;
}

static size_t list_sizes(const struct problem *problem, const char *sizes[PROBLEM_MAX_ARGUMENTS])
{
    size_t n = 0;
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (is_size(&problem->arguments[i]))
            sizes[n++] = problem->arguments[i].name;
    return n;
}

const char *forecast_near_size(const struct problem *problem, const char *name)
{
    const char *sizes[PROBLEM_MAX_ARGUMENTS];
    return names_closest_word(name, sizes, list_sizes(problem, sizes));
}

/* "dgesv has no argument 'nrsh': did you mean 'nrhs'? Its scalar inputs: n, nrhs" */
static enum esp_status no_size(const struct problem *problem, const char *name, struct esp_error *error)
{
    const char *sizes[PROBLEM_MAX_ARGUMENTS];
    char list[sizeof error->text / 2] = "";
    const size_t n = list_sizes(problem, sizes);
    size_t used = 0;
    for (size_t i = 0; i < n && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", sizes[i]);
    if (problem_argument_index(problem, name) >= 0)
        return error_set(error, ESP_INVALID, "%s: %s: expected a scalar input (%s), found another argument",
                         problem->name, name, n ? list : "there is none");
    const char *closest = forecast_near_size(problem, name);
    return error_set(error, ESP_INVALID, "%s has no argument '%.64s'%s%s%s its scalar inputs: %s",
                     problem->name, name, closest ? ": did you mean '" : "", closest ? closest : "",
                     closest ? "'?" : ";", n ? list : "none");
}

enum esp_status forecast_check_size(const struct problem *problem, const struct fast_value *value, int *index,
                                    struct esp_error *error)
{
    *index = value->name ? problem_argument_index(problem, value->name) : -1;
    if (*index >= 0 && is_size(&problem->arguments[*index]))
        return ESP_OK;
    return no_size(problem, value->name ? value->name : "", error);
}

static enum esp_status store_value(const struct problem *problem, const struct fast_value *value,
                                   unsigned char (*raw)[16], const void **inputs, struct esp_error *error)
{
    int index;
    if (forecast_check_size(problem, value, &index, error) != ESP_OK)
        return error->status;
    if (inputs[index])
        return error_set(error, ESP_INVALID, "%s: %s is given twice", problem->name, value->name);
    const struct argument *argument = &problem->arguments[index];
    bool whole =
        argument->type < TYPE_FLOAT && floor(value->value) == value->value && fabs(value->value) < 9e15;
    struct number number = {.kind = NUMBER_REAL, .real = value->value};
    if (whole)
        number = (struct number){.kind = NUMBER_INTEGER, .integer = (int64_t)value->value};
    inputs[index] = raw[index];
    return number_store(&number, argument->type, raw[index], error) == ESP_OK
               ? ESP_OK
               : error_prefix(error, "%s: %s", problem->name, argument->name);
}

/* Reports all missing inputs at once: those without a default. */
static enum esp_status check_given(const struct problem *problem, const void *const *inputs,
                                   struct esp_error *error)
{
    const char *first = NULL;
    char list[sizeof error->text / 2] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (inputs[i] || argument->initial || !is_size(argument) || used >= sizeof list)
            continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", first ? ", " : "", argument->name);
        first = first ? first : argument->name;
    }
    if (!first)
        return ESP_OK;
    return error_set(error, ESP_INVALID,
                     "%s: expected values of all scalar inputs, such as %s=1000, missing: %s", problem->name,
                     first, list);
}

/* Makes the request that agents get for a call, without making the call. */
static enum esp_status make_request(const struct function *function, const struct fast_call *call,
                                    const struct number *fills, struct arena *arena, struct request *request,
                                    struct esp_error *error)
{
    const struct problem *problem = function->problem;
    unsigned char raw[PROBLEM_MAX_ARGUMENTS][16] = {{0}};
    const void *inputs[PROBLEM_MAX_ARGUMENTS] = {NULL};
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    enum esp_status status = ESP_OK;
    if (problem->abstract)
        return error_set(error, ESP_INVALID, "%s is abstract: ask for the problems that it leads to",
                         problem->name);
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (problem->arguments[i].type == TYPE_STATE)
            inputs[i] = raw[i]; /* no size depends on the choice */
    for (size_t i = 0; status == ESP_OK && i < call->n_values; i++)
        status = store_value(problem, &call->values[i], raw, inputs, error);
    if (status == ESP_OK)
        status = check_given(problem, inputs, error);
    if (status == ESP_OK)
        status = problem_bind(problem, inputs, scope, shapes, error);
    for (uint32_t i = 0; status == ESP_OK && fills && i < problem->n_arguments; i++)
        if (fills[i].kind != NUMBER_UNKNOWN)
            scope[i] = fills[i];
    return status == ESP_OK ? forecast_request(function, scope, shapes, arena, request, error) : status;
}

static enum esp_status check_call(const struct fast_call *call, struct esp_error *error)
{
    if (!call || !call->problem || (call->n_values && !call->values))
        return error_set(error, ESP_INVALID, "expected a call with a problem and its values, found NULL");
    return ESP_OK;
}

/* Bytes of its arguments of that mode, including INOUT ones. */
static double bytes_of(const struct request *request, enum argument_mode mode)
{
    double bytes = 0;
    for (uint32_t i = 0; i < request->n_arguments; i++)
        if (request->arguments[i].mode == mode || request->arguments[i].mode == MODE_INOUT)
            bytes += (double)request->arguments[i].bytes;
    return bytes;
}

static enum esp_status of_request(const struct request *request, enum fast_resource resource, double *amount,
                                  struct esp_error *error)
{
    switch (resource) {
    case FAST_FLOP:
        *amount = request->work_flop;
        return ESP_OK;
    case FAST_MEMORY:
        *amount = (double)request->memory_bytes;
        return ESP_OK;
    case FAST_INPUT:
        *amount = bytes_of(request, MODE_IN);
        return ESP_OK;
    case FAST_OUTPUT:
        *amount = bytes_of(request, MODE_OUT);
        return ESP_OK;
    default:
        return error_set(error, ESP_INVALID,
                         "expected operations, memory, input or output, found what no call needs");
    }
}

enum esp_status fast_need(enum fast_resource resource, const struct fast_call *call, double *amount)
{
    struct esp_error *error = library_error();
    struct library *library;
    struct function *function = NULL;
    struct request request = {0};
    struct arena arena = {0};
    if (!amount)
        return error_set(error, ESP_INVALID, "expected a place for the amount, found NULL");
    if (check_call(call, error) != ESP_OK || !(library = library_enter(error)))
        return error->status;
    enum esp_status status = functions_get_soon(library->engine->functions, call->problem, &function, error);
    if (status == ESP_OK)
        status = make_request(function, call, NULL, &arena, &request, error);
    if (status == ESP_OK)
        status = of_request(&request, resource, amount, error);
    function_release(function);
    library_leave(status == ESP_OK);
    arena_clear(&arena);
    return status;
}

/* ---- answers of servers ---- */

enum esp_status forecast_of_sizes(const struct fast_call *call, const struct number *fills,
                                  const struct esp_call_options *options, enum forecast_reach reach,
                                  struct fast_server **servers, size_t *n, struct esp_error *error)
{
    struct library *library;
    struct function *function = NULL;
    struct message message = {.kind = MESSAGE_SUBMIT};
    if (check_call(call, error) != ESP_OK || !(library = library_enter(error)))
        return error->status;
    enum esp_status status = functions_get_soon(library->engine->functions, call->problem, &function, error);
    if (status == ESP_OK)
        status = make_request(function, call, fills, &message.arena, &message.submit.request, error);
    if (status == ESP_OK)
        status = forecast_ask(library->engine, &message, options, reach, servers, n, error);
    function_release(function);
    message_clear(&message);
    library_leave(status == ESP_OK);
    return status;
}

static enum esp_status bind_arguments(struct library *library, const char *problem,
                                      const struct esp_argument *arguments, size_t n_arguments,
                                      struct function **function, struct invocation *invocation,
                                      struct esp_error *error)
{
    enum esp_status status = functions_get_soon(library->engine->functions, problem, function, error);
    if (status == ESP_OK && (*function)->problem->abstract)
        status =
            error_set(error, ESP_INVALID, "%s is abstract: ask for the problems that it leads to", problem);
    if (status == ESP_OK)
        status = invocation_from_vector(invocation, *function, NULL, arguments, n_arguments, error);
    if (status != ESP_OK)
        return status;
    status = invocation_find_data(invocation, library->engine, CLOCK_NEVER, error);
    if (status != ESP_OK)
        invocation_release(invocation);
    return status;
}

enum esp_status forecast_of_arguments(const char *problem, const struct esp_argument *arguments,
                                      size_t n_arguments, const struct esp_call_options *options,
                                      enum forecast_reach reach, struct fast_server **servers, size_t *n,
                                      struct esp_error *error)
{
    struct message message = {.kind = MESSAGE_SUBMIT};
    struct function *function = NULL;
    struct invocation invocation;
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status =
        bind_arguments(library, problem, arguments, n_arguments, &function, &invocation, error);
    if (status == ESP_OK) {
        message.submit.request.server = invocation.home;
        status = invocation_request(&invocation, &message, error);
        if (status == ESP_OK)
            status = forecast_ask(library->engine, &message, options, reach, servers, n, error);
        invocation_release(&invocation);
    }
    function_release(function);
    message_clear(&message);
    library_leave(status == ESP_OK);
    return status;
}

enum esp_status fast_forecast(const struct fast_call *call, struct fast_server **servers, size_t *n)
{
    return fast_forecast_within(call, NULL, servers, n);
}

enum esp_status fast_forecast_within(const struct fast_call *call, const struct esp_call_options *options,
                                     struct fast_server **servers, size_t *n)
{
    struct esp_error *error = library_error();
    if (!servers || !n)
        return error_set(error, ESP_INVALID, "expected places for the servers, found NULL");
    return forecast_of_sizes(call, NULL, options, FORECAST_ALL, servers, n, error);
}

enum esp_status fast_forecast_arguments(const char *problem, const struct esp_argument *arguments,
                                        size_t n_arguments, const struct esp_call_options *options,
                                        struct fast_server **servers, size_t *n)
{
    struct esp_error *error = library_error();
    if (!problem || !servers || !n || (!arguments && n_arguments))
        return error_set(error, ESP_INVALID,
                         "expected a problem, its arguments and places for the servers, found NULL");
    return forecast_of_arguments(problem, arguments, n_arguments, options, FORECAST_ALL, servers, n, error);
}

/* The forecast for one server; NULL: for the best one. */
static enum esp_status forecast_of(const char *server, const struct fast_call *call,
                                   struct fast_server *found, struct esp_error *error)
{
    struct fast_server *servers = NULL;
    size_t n = 0;
    enum esp_status status = forecast_of_sizes(call, NULL, NULL, FORECAST_ALL, &servers, &n, error);
    if (status != ESP_OK)
        return status;
    size_t i = 0;
    while (i < n && server && strcmp(servers[i].server, server) != 0)
        i++;
    if (i == n)
        status = error_set(error, ESP_NOT_FOUND, "there is no server \"%s\"", server ? server : "at all");
    else if (servers[i].excluded)
        status = error_set(error, ESP_NO_SERVER, "server \"%s\": %s", servers[i].server, servers[i].excluded);
    else
        *found = servers[i];
    fast_forecast_free(servers);
    return status;
}

enum esp_status fast_comp_time(const char *server, const struct fast_call *call, double *seconds,
                               double *error_s)
{
    struct fast_server found;
    enum esp_status status = forecast_of(server, call, &found, library_error());
    if (status != ESP_OK)
        return status;
    if (seconds)
        *seconds = found.compute_s;
    if (error_s)
        *error_s = found.error_s;
    return ESP_OK;
}

enum esp_status fast_comp_size(const char *server, const struct fast_call *call, uint64_t *bytes)
{
    struct fast_server found;
    enum esp_status status = forecast_of(server, call, &found, library_error());
    if (status == ESP_OK && bytes)
        *bytes = found.memory_bytes;
    return status;
}
