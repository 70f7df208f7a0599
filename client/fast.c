/* SPDX-License-Identifier: Apache-2.0
 *
 * fast.h: what a call would take. The description tells what it needs, the master agent what servers say.
 */
#include "fast.h"

#include "client/session/link.h"
#include "client/session/wishes.h"
#include "client/library.h"
#include "client/session/package.h"
#include "core/choice/estimate.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

_Static_assert((int)FAST_MEASURED == (int)COST_MEASURED && (int)FAST_OTHER_OPTIONS == (int)COST_OTHER_OPTIONS,
               "grounds are numbered alike");

/* ---- what the description tells ---- */

static enum esp_status store_value(const struct problem *problem, const struct fast_value *value,
                                   unsigned char (*raw)[16], const void **inputs, struct esp_error *error)
{
    int index = value->name ? problem_argument_index(problem, value->name) : -1;
    if (index < 0)
        return error_set(error, ESP_INVALID, "%s has no argument %s", problem->name,
                         value->name ? value->name : "without a name");
    const struct argument *argument = &problem->arguments[index];
    if (!argument_is_input(argument) || argument->n_dims > 0 || argument->type > TYPE_DOUBLE_COMPLEX)
        return error_set(error, ESP_INVALID, "%s: %s: expected a scalar input, found another argument",
                         problem->name, argument->name);
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

/* Everything the agents are told of a call, without a call. The shapes are told too. */
static enum esp_status make_request(const struct function *function, const struct fast_call *call,
                                    struct arena *arena, struct request *request, struct esp_error *error)
{
    const struct problem *problem = function->problem;
    unsigned char raw[PROBLEM_MAX_ARGUMENTS][16] = {{0}};
    const void *inputs[PROBLEM_MAX_ARGUMENTS] = {NULL};
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    uint64_t extra = 0;
    enum esp_status status = ESP_OK;
    if (problem->abstract)
        return error_set(error, ESP_INVALID, "%s is abstract: ask for the problems that it leads to",
                         problem->name);
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (problem->arguments[i].type == TYPE_STATE)
            inputs[i] = raw[i]; /* no size depends on which one it is */
    for (size_t i = 0; status == ESP_OK && i < call->n_values; i++)
        status = store_value(problem, &call->values[i], raw, inputs, error);
    if (status == ESP_OK)
        status = problem_bind(problem, inputs, scope, shapes, error);
    if (status == ESP_OK)
        status = problem_work(problem, scope, &request->work_flop, error);
    if (status == ESP_OK)
        status = problem_memory(problem, scope, &extra, error);
    if (status != ESP_OK)
        return status;
    request->problem = problem->name;
    request->digest = function->digest;
    request->server = "";
    request->memory_bytes = extra;
    request->scalars = arena_alloc(arena, problem->n_arguments * sizeof *request->scalars);
    request->arguments = arena_alloc(arena, problem->n_arguments * sizeof *request->arguments);
    if (!request->scalars || !request->arguments)
        return error_no_memory(error, "a request");
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        request->memory_bytes += shapes[i].bytes + shapes[i].whole_bytes;
        if (argument_is_passed(argument))
            request->arguments[request->n_arguments++] = (struct argument_attribute){
                .index = i, .mode = argument->mode, .bytes = shapes[i].bytes, .holder = "", .datum = ""};
        if (argument_is_input(argument) && argument->n_dims == 0 && scope[i].kind != NUMBER_UNKNOWN)
            request->scalars[request->n_scalars++] =
                (struct scalar_value){.index = i,
                                      .is_real = scope[i].kind == NUMBER_REAL,
                                      .integer = scope[i].integer,
                                      .real = scope[i].real};
    }
    return ESP_OK;
}

static enum esp_status check_call(const struct fast_call *call, struct esp_error *error)
{
    if (!call || !call->problem || (call->n_values && !call->values))
        return error_set(error, ESP_INVALID, "expected a call with a problem and its values, found NULL");
    return ESP_OK;
}

enum esp_status fast_need(enum fast_resource resource, const struct fast_call *call, double *amount)
{
    struct esp_error *error = library_error();
    struct library *library;
    struct function *function = NULL;
    struct request request = {0};
    struct arena arena = {0};
    if (check_call(call, error) != ESP_OK || !(library = library_enter(error)))
        return error->status;
    enum esp_status status = functions_get(library->engine->functions, call->problem, NULL, &function, error);
    if (status == ESP_OK)
        status = make_request(function, call, &arena, &request, error);
    *amount = 0;
    for (uint32_t i = 0; status == ESP_OK && i < request.n_arguments; i++) {
        const struct argument_attribute *argument = &request.arguments[i];
        bool in = argument->mode == MODE_IN || argument->mode == MODE_INOUT;
        bool out = argument->mode == MODE_OUT || argument->mode == MODE_INOUT;
        if ((resource == FAST_INPUT && in) || (resource == FAST_OUTPUT && out))
            *amount += (double)argument->bytes;
    }
    if (resource == FAST_FLOP)
        *amount = request.work_flop;
    else if (resource == FAST_MEMORY)
        *amount = (double)request.memory_bytes;
    else if (resource != FAST_INPUT && resource != FAST_OUTPUT && status == ESP_OK)
        status = error_set(error, ESP_INVALID,
                           "expected operations, memory, input or output, found what no call needs");
    function_release(function);
    library_leave(status == ESP_OK);
    arena_clear(&arena);
    return status;
}

/* ---- what the servers tell ---- */

static uint32_t count_excluded(const struct extension *extension)
{
    uint32_t n = 0;
    for (uint32_t i = 0; extension && i < extension->length; i++)
        n += extension->value[i] == 0;
    return n / 2;
}

static struct fast_server *pack(const struct submit_reply *reply, size_t *n)
{
    const struct extension *costs = extension_find(&reply->extensions, EXTENSION_COSTS);
    const struct extension *excluded = extension_find(&reply->extensions, EXTENSION_EXCLUDED);
    if (excluded && excluded->length > 0 && excluded->value[excluded->length - 1] != 0)
        excluded = NULL; /* not as texts are */
    uint32_t n_excluded = count_excluded(excluded), all = reply->n_candidates + n_excluded;
    struct fast_server *servers = package_create((all + 1) * sizeof *servers);
    bool whole = servers != NULL;
    for (uint32_t i = 0; whole && i < reply->n_candidates; i++) {
        const struct candidate *from = &reply->candidates[i];
        struct request_cost cost = {.memory_bytes = 0};
        if (costs && costs->length >= (i + 1) * COST_BYTES_TOLD)
            cost_get(costs->value + i * COST_BYTES_TOLD, &cost);
        servers[i] = (struct fast_server){.server = package_text(servers, from->server),
                                          .address = package_text(servers, from->address),
                                          .compute_s = from->compute_s,
                                          .transfer_s = from->transfer_s,
                                          .queue_s = from->queue_s,
                                          .total_s = from->compute_s + from->transfer_s + from->queue_s,
                                          .error_s = from->error_s,
                                          .memory_bytes = cost.memory_bytes,
                                          .ground = (enum fast_ground)cost.ground};
        whole = servers[i].server && servers[i].address;
    }
    const char *text = excluded ? (const char *)excluded->value : NULL;
    for (uint32_t i = reply->n_candidates; whole && i < all; i++) {
        const char *why = text + strlen(text) + 1;
        servers[i] = (struct fast_server){
            .server = package_text(servers, text), .address = "", .excluded = package_text(servers, why)};
        whole = servers[i].server && servers[i].excluded;
        text = why + strlen(why) + 1;
    }
    if (!whole) {
        package_destroy(servers);
        return NULL;
    }
    *n = all;
    return servers;
}

static enum esp_status ask(struct library *library, const struct fast_call *call,
                           const struct esp_call_options *options, struct message *reply,
                           struct esp_error *error)
{
    struct wishes wishes = {0};
    struct message message = {.kind = MESSAGE_SUBMIT};
    struct function *function = NULL;
    struct extension extension = {EXTENSION_FORECAST, (const uint8_t *)"", 0};
    enum esp_status status = functions_get(library->engine->functions, call->problem, NULL, &function, error);
    if (status == ESP_OK)
        status = make_request(function, call, &message.arena, &message.submit.request, error);
    message.submit.time_left_ms = (uint64_t)library->engine->call_timeout_ms;
    message.submit.request.extensions = (struct extensions){&extension, 1};
    if (status == ESP_OK)
        status = wishes_take(&wishes, options, error);
    if (status == ESP_OK)
        status = wishes_tell(&wishes, 0, &message, error);
    if (status == ESP_OK && !links_tell(library->engine, &message.submit.request, &message.arena))
        status = error_no_memory(error, "a request");
    if (status == ESP_OK)
        status = route_ask(library->engine->route, &message, library->engine->call_timeout_ms, reply, error);
    function_release(function);
    arena_clear(&message.arena);
    wishes_release(&wishes);
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
    struct library *library;
    if (!servers || !n)
        return error_set(error, ESP_INVALID, "expected places for the servers, found NULL");
    if (check_call(call, error) != ESP_OK || !(library = library_enter(error)))
        return error->status;
    struct message reply = {0};
    enum esp_status status = ask(library, call, options, &reply, error);
    library_leave(status == ESP_OK);
    if (status == ESP_OK && !(*servers = pack(&reply.submit_reply, n)))
        status = error_no_memory(error, "the forecasts");
    message_clear(&reply);
    return status;
}

void fast_forecast_free(struct fast_server *servers)
{
    package_destroy(servers);
}

/* The forecast for one server; NULL: for the best. */
static enum esp_status forecast_of(const char *server, const struct fast_call *call,
                                   struct fast_server *found, struct esp_error *error)
{
    struct fast_server *servers = NULL;
    size_t n = 0;
    enum esp_status status = fast_forecast(call, &servers, &n);
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
