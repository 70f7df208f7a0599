/* SPDX-License-Identifier: Apache-2.0
 *
 * Forecasts of master agents: the description of a call in the request, and the answers as a list of
 * servers.
 */
#include "client/session/forecast.h"
#include "client/session/link.h"
#include "client/session/link_sound.h"
#include "client/session/session.h"
#include "client/session/wishes.h"
#include "core/choice/estimate.h"
#include "core/forecast/told_links.h"
#include "util/package.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)FAST_MEASURED == (int)COST_MEASURED && (int)FAST_CALLED == (int)COST_CALLED,
               "grounds are numbered alike");
_Static_assert((int)FAST_BY_WORKER == (int)BY_WORKER && (int)FAST_BY_RANKS == (int)BY_RANKS,
               "so is who computes");

/* ---- the request ---- */

enum esp_status forecast_request(const struct function *function, const struct number *scope,
                                 const struct shape *shapes, struct arena *arena, struct request *request,
                                 struct esp_error *error)
{
    const struct problem *problem = function->problem;
    uint64_t extra = 0;
    enum esp_status status = problem_work(problem, scope, &request->work_flop, error);
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
            request->arguments[request->n_arguments++] =
                (struct argument_attribute){.index = i,
                                            .mode = shapes[i].unread ? MODE_OUT : argument->mode,
                                            .bytes = shapes[i].bytes,
                                            .holder = "",
                                            .datum = ""};
        if (argument_is_input(argument) && argument->n_dims == 0 && scope[i].kind != NUMBER_UNKNOWN)
            request->scalars[request->n_scalars++] =
                (struct scalar_value){.index = i,
                                      .is_real = scope[i].kind == NUMBER_REAL,
                                      .integer = scope[i].integer,
                                      .real = scope[i].real};
    }
    return ESP_OK;
}

/* ---- the answers ---- */

/* Collects servers from the answers; texts lie in the arena. */
struct gathering {
    struct arena arena;
    struct fast_server *servers;
    size_t n, capacity;
    bool failed; /* without memory */
};

static bool same_server(const struct fast_server *a, const struct fast_server *b)
{
    if (a->excluded || b->excluded) /* then addresses are unknown */
        return strcmp(a->server, b->server) == 0;
    return strcmp(a->address, b->address) == 0;
}

/* A master agent passes on requests that no server below it solves, so another agent's servers may come
 * twice. */
static struct fast_server *find(struct gathering *gathering, const struct fast_server *server)
{
    for (size_t i = 0; i < gathering->n; i++)
        if (same_server(&gathering->servers[i], server))
            return &gathering->servers[i];
    return NULL;
}

static void add(struct gathering *gathering, const struct fast_server *server)
{
    if (!server->server || !server->address || !server->agent) {
        gathering->failed = true;
        return;
    }
    struct fast_server *known = find(gathering, server);
    if (known) {
        if (known->unreachable) /* unreachable for one agent; it may be below another one by now */
            *known = *server;
        return;
    }
    if (gathering->n == gathering->capacity) {
        const size_t capacity = gathering->capacity ? 2 * gathering->capacity : 64;
        void *grown = realloc(gathering->servers, capacity * sizeof *gathering->servers);
        if (!grown) {
            gathering->failed = true;
            return;
        }
        gathering->servers = grown;
        gathering->capacity = capacity;
    }
    gathering->servers[gathering->n++] = *server;
}

static void add_candidates(struct gathering *gathering, const struct submit_reply *reply, const char *agent)
{
    const struct extension *costs = extension_find(&reply->extensions, EXTENSION_COSTS),
                           *by = extension_find(&reply->extensions, EXTENSION_COMPUTED_BYS);
    for (uint32_t i = 0; i < reply->n_candidates; i++) {
        const struct candidate *from = &reply->candidates[i];
        struct request_cost cost = {.memory_bytes = 0};
        if (costs && costs->length >= (i + 1) * COST_BYTES_TOLD)
            cost_get(costs->value + i * COST_BYTES_TOLD, &cost);
        if (by && by->length >= (i + 1) * BY_BYTES_TOLD)
            cost_get_by(by->value + i * BY_BYTES_TOLD, &cost);
        add(gathering, &(struct fast_server){.server = arena_strdup(&gathering->arena, from->server),
                                             .address = arena_strdup(&gathering->arena, from->address),
                                             .agent = agent,
                                             .compute_s = from->compute_s,
                                             .transfer_s = from->transfer_s,
                                             .queue_s = from->queue_s,
                                             .total_s = from->compute_s + from->transfer_s + from->queue_s,
                                             .error_s = from->error_s,
                                             .memory_bytes = cost.memory_bytes,
                                             .ground = (enum fast_ground)cost.ground,
                                             .by = (enum fast_by)cost.by,
                                             .grid_rows = cost.grid.rows,
                                             .grid_cols = cost.grid.cols,
                                             .grid_block = cost.grid.block});
    }
}

/* Returns the NUL-terminated text at *at within the extension, and moves *at behind it. Returns NULL at
 * the end. */
static const char *next_text(const struct extension *extension, uint32_t *at)
{
    const char *text = (const char *)extension->value + *at;
    const char *end = memchr(text, 0, extension->length - *at);
    if (!end)
        return NULL;
    *at += (uint32_t)(end - text) + 1;
    return text;
}

static bool is_unreached(const struct submit_reply *reply, const char *server)
{
    const struct extension *unreached = extension_find(&reply->extensions, EXTENSION_UNREACHED);
    const char *name;
    uint32_t at = 0;
    while (unreached && (name = next_text(unreached, &at)))
        if (strcmp(name, server) == 0)
            return true;
    return false;
}

static void add_excluded(struct gathering *gathering, const struct submit_reply *reply, const char *agent)
{
    const struct extension *excluded = extension_find(&reply->extensions, EXTENSION_EXCLUDED);
    const char *server, *why;
    uint32_t at = 0;
    while (excluded && (server = next_text(excluded, &at)) && (why = next_text(excluded, &at))) {
        const char *reason = arena_strdup(&gathering->arena, why);
        gathering->failed |= !reason;
        add(gathering, &(struct fast_server){.server = arena_strdup(&gathering->arena, server),
                                             .address = "",
                                             .agent = agent,
                                             .excluded = reason ? reason : "",
                                             .unreachable = is_unreached(reply, server)});
    }
}

static void take_reply(struct gathering *gathering, const struct submit_reply *reply)
{
    const struct extension *name = extension_find(&reply->extensions, EXTENSION_FORECASTER);
    const uint32_t length = name && name->length <= CAP_NAME ? name->length : 0;
    char *agent = arena_alloc(&gathering->arena, length + 1);
    if (agent && length)
        memcpy(agent, name->value, length);
    if (agent)
        agent[length] = 0;
    add_candidates(gathering, reply, agent);
    add_excluded(gathering, reply, agent);
}

/* Adds the master agent itself in place of the unknown servers below it. */
static void take_silence(struct gathering *gathering, const char *address, const struct esp_error *why)
{
    char server[CAP_ADDRESS + 64];
    const char *reason = arena_strdup(&gathering->arena, why->text);
    snprintf(server, sizeof server, "(all below the agent at %s)", address);
    gathering->failed |= !reason;
    add(gathering, &(struct fast_server){.server = arena_strdup(&gathering->arena, server),
                                         .address = "",
                                         .agent = "",
                                         .excluded = reason ? reason : "",
                                         .unreachable = 1});
}

static void take(void *arg, const char *address, const struct message *reply, const struct esp_error *why)
{
    if (reply)
        take_reply(arg, &reply->submit_reply);
    else
        take_silence(arg, address, why);
}

/* Sorts the servers that can take the call by their ends, across agents; the sort is stable. */
static void sort_by_end(struct fast_server *servers, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct fast_server server = servers[i];
        size_t to = i;
        for (; to > 0 && servers[to - 1].total_s > server.total_s; to--)
            servers[to] = servers[to - 1];
        servers[to] = server;
    }
}

/* Puts excluded servers behind the others, in the order in which they came. Returns NULL without memory. */
static struct fast_server *pack(struct gathering *gathering)
{
    struct fast_server *servers =
        gathering->failed ? NULL : package_create((gathering->n + 1) * sizeof *servers);
    size_t n = 0;
    if (!servers)
        return NULL;
    for (int excluded = 0; excluded < 2; excluded++) {
        for (size_t i = 0; i < gathering->n; i++)
            if ((gathering->servers[i].excluded != NULL) == excluded)
                servers[n++] = gathering->servers[i];
        if (!excluded)
            sort_by_end(servers, n);
    }
    *package_arena(servers) = gathering->arena;
    gathering->arena = (struct arena){0};
    return servers;
}

static enum esp_status ask(struct engine *engine, const struct message *submit, enum forecast_reach reach,
                           struct gathering *gathering, struct esp_error *error)
{
    struct message reply = {0};
    if (reach == FORECAST_ALL)
        return route_ask_all(engine->route, submit, engine->call_timeout_ms, take, gathering, error);
    enum esp_status status = route_ask(engine->route, submit, engine->call_timeout_ms, &reply, error);
    if (status == ESP_OK)
        take_reply(gathering, &reply.submit_reply);
    message_clear(&reply);
    return status;
}

/* Returns how far the way to a server is known if the client has not measured its own link to it. Over
 * loopback only the speed of this host's memory is measured; without it, only the distance of the agent is
 * known. */
static enum fast_way way_of(const struct fast_server *server, const struct request *request, uint64_t bytes)
{
    if (!link_is_loopback(server->address))
        return server->transfer_s > 0 ? FAST_WAY_SHORTEST : FAST_WAY_UNKNOWN;
    if (told_access(&request->extensions).bandwidth_bps > 0)
        return FAST_WAY_HOST;
    return bytes < LINK_MANY_BYTES && server->transfer_s > 0 ? FAST_WAY_SHORTEST : FAST_WAY_UNKNOWN;
}

/* Sets the uncertainty of transfers by the links that the request carried. */
static void doubt_transfers(struct engine *engine, const struct request *request, struct fast_server *servers,
                            size_t n)
{
    const struct request_bytes bytes = request_client_bytes(request);
    struct path own;
    for (size_t i = 0; i < n && !servers[i].excluded; i++) {
        struct fast_server *server = &servers[i];
        const bool known =
            told_links_find(&request->extensions, EXTENSION_CLIENT_LINKS, server->address, &own);
        const double doubt = known ? links_doubt(engine, server->address, bytes) : LINK_STRANGE_DOUBT;
        server->transfer_ground = known ? FAST_MEASURED : FAST_NOT_MEASURED;
        server->transfer_error_s = doubt * server->transfer_s;
        server->transfer_way = known ? FAST_WAY_OWN : way_of(server, request, bytes.in + bytes.out);
    }
}

enum esp_status forecast_ask(struct engine *engine, struct message *submit,
                             const struct esp_call_options *options, enum forecast_reach reach,
                             struct fast_server **servers, size_t *n, struct esp_error *error)
{
    struct wishes wishes = {0};
    struct extension extension = {EXTENSION_FORECAST, (const uint8_t *)"", reach == FORECAST_ALL};
    struct gathering gathering = {.n = 0};
    submit->submit.time_left_ms = (uint64_t)engine->call_timeout_ms;
    submit->submit.request.extensions = (struct extensions){&extension, 1};
    enum esp_status status = wishes_take(&wishes, options, error);
    if (status == ESP_OK)
        status = wishes_tell(&wishes, 0, submit, error);
    if (status == ESP_OK)
        links_sound(engine, submit);
    if (status == ESP_OK && !links_tell(engine, &submit->submit.request, &submit->arena))
        status = error_no_memory(error, "a request");
    if (status == ESP_OK)
        status = ask(engine, submit, reach, &gathering, error);
    if (status == ESP_OK && !(*servers = pack(&gathering)))
        status = error_no_memory(error, "the forecasts");
    *n = gathering.n;
    if (status == ESP_OK)
        doubt_transfers(engine, &submit->submit.request, *servers, *n);
    free(gathering.servers);
    arena_clear(&gathering.arena);
    wishes_release(&wishes);
    return status;
}

bool forecast_tell(const struct fast_server *servers, size_t n, struct esp_session_info *info,
                   struct esp_error *why)
{
    size_t i = 0;
    while (i < n && strcmp(servers[i].server, info->server) != 0 &&
           strcmp(servers[i].address, info->server) != 0)
        i++;
    if (i == n || servers[i].excluded) {
        if (i == n)
            error_set(why, ESP_NOT_FOUND, "no agent knows it");
        else
            error_set(why, ESP_NO_SERVER, "it is excluded: %s", servers[i].excluded);
        return false;
    }
    info->forecast_s = servers[i].total_s;
    info->forecast_compute_s = servers[i].compute_s;
    info->forecast_error_s = servers[i].error_s;
    return true;
}

void fast_forecast_free(struct fast_server *servers)
{
    package_destroy(servers);
}