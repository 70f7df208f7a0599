/* SPDX-License-Identifier: Apache-2.0 */
#include "client/route.h"
#include "util/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MASTERS 32 /* kept of a redirector's answer */

struct route {
    struct transport *transport;
    char *redirector;
    struct arena arena; /* of the configured agents' addresses */
    const char **agents;
    size_t n_agents;
    int64_t greeting_timeout_ms;
    atomic_bool heard; /* somebody has answered */
    void (*asker)(void *arg, struct session_id *first);
    void *arg;

    pthread_mutex_t lock; /* of what follows */
    char masters[MOST_MASTERS][CAP_ADDRESS + 1];
    bool deserted; /* the redirector knew of none */
    size_t n_masters, current;
    uint64_t generation; /* how often the masters were learned */
};

static enum esp_status copy_agents(struct route *route, const struct route_options *options)
{
    route->agents = arena_alloc(&route->arena, options->n_agents * sizeof *route->agents);
    if (!route->agents)
        return ESP_NO_MEMORY;
    for (size_t i = 0; i < options->n_agents; i++)
        if (!(route->agents[route->n_agents++] = arena_strdup(&route->arena, options->agents[i])))
            return ESP_NO_MEMORY;
    return ESP_OK;
}

enum esp_status route_create(const struct route_options *options, struct route **result,
                             struct esp_error *error)
{
    struct route *route = calloc(1, sizeof *route);
    if (!route)
        return error_no_memory(error, "the way to the agents");
    pthread_mutex_init(&route->lock, NULL);
    route->transport = options->transport;
    route->greeting_timeout_ms =
        options->greeting_timeout_ms > 0 ? options->greeting_timeout_ms : options->call_timeout_ms;
    route->asker = options->asker;
    route->arg = options->arg;
    if (options->redirector && !(route->redirector = arena_strdup(&route->arena, options->redirector)))
        goto error;
    if (copy_agents(route, options) != ESP_OK)
        goto error;
    *result = route;
    return ESP_OK;
error:
    route_destroy(route);
    return error_no_memory(error, "the way to the agents");
}

void route_destroy(struct route *route)
{
    if (!route)
        return;
    arena_clear(&route->arena);
    pthread_mutex_destroy(&route->lock);
    free(route);
}

bool route_has_masters(struct route *route)
{
    pthread_mutex_lock(&route->lock);
    bool any = route->n_masters > 0;
    pthread_mutex_unlock(&route->lock);
    return any || route->n_agents > 0;
}

bool route_is_deserted(struct route *route)
{
    pthread_mutex_lock(&route->lock);
    bool deserted = route->deserted;
    pthread_mutex_unlock(&route->lock);
    return deserted;
}

const char *route_redirector(const struct route *route)
{
    return route->redirector;
}

static enum esp_status locate_from_file(struct route *route, struct message *reply, struct esp_error *error)
{
    memset(reply, 0, sizeof *reply);
    reply->kind = MESSAGE_LOCATE_REPLY;
    struct master_entry *masters = arena_alloc(&reply->arena, route->n_agents * sizeof *masters);
    if (!masters)
        return error_no_memory(error, "the list of agents");
    for (size_t i = 0; i < route->n_agents; i++)
        masters[i] = (struct master_entry){.name = "", .address = route->agents[i]};
    reply->locate_reply.masters = masters;
    reply->locate_reply.n_masters = (uint32_t)route->n_agents;
    return ESP_OK;
}

/* The first question to that address came to nothing: whatever it was, it executed nothing. */
static enum esp_status nobody_there(const struct route *route, const char *who, const char *address,
                                    struct esp_error *error)
{
    switch (error->status) {
    case ESP_TIMEOUT:
        return error_set(error, ESP_UNREACHABLE,
                         "%s: no Espalier daemon answers at %s: something takes connections there, and says "
                         "nothing for %.3g s (stopped, overloaded, or no Espalier: is the port right?)",
                         who, address, (double)route->greeting_timeout_ms / 1e3);
    case ESP_MAYBE:
        return error_set(
            error, ESP_UNREACHABLE,
            "%s: no Espalier daemon answers at %s: what listens there ends the connection without an "
            "answer (is the port right, do both use TLS or neither?)",
            who, address);
    case ESP_PROTOCOL:
    case ESP_VERSION:
        error_prefix(error, "%s: no Espalier daemon of this contract answers at %s", who, address);
        return error->status = ESP_UNREACHABLE;
    default:
        return error_prefix_at(error, who, address);
    }
}

enum esp_status route_greet(struct route *route, const char *who, const char *address, enum node_role *role,
                            struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_GREET, .greet = {.minor = CONTRACT_MINOR}}, reply = {0};
    struct esp_error unread;
    if (!error)
        error = &unread;
    enum esp_status status =
        transport_call(route->transport, address, &request, route->greeting_timeout_ms, &reply, error);
    if (status == ESP_OK && role)
        *role = (enum node_role)reply.greet_reply.role;
    message_clear(&reply);
    return status == ESP_OK ? status : nobody_there(route, who, address, error);
}

enum esp_status route_locate(struct route *route, struct message *reply, struct esp_error *error)
{
    if (route->n_agents > 0)
        return locate_from_file(route, reply, error);
    if (!route->redirector)
        return error_set(error, ESP_CONFIG, "expected the address of a redirector or of agents, found none");
    struct session_id first;
    uint8_t bytes[ASKER_BYTES];
    struct extension asker = {EXTENSION_ASKER, bytes, sizeof bytes};
    struct message request = {.kind = MESSAGE_LOCATE};
    if (route->asker) {
        route->asker(route->arg, &first);
        asker_put(&first, bytes);
        request.locate.extensions = (struct extensions){&asker, 1};
    }
    enum esp_status status = transport_call(route->transport, route->redirector, &request,
                                            route->greeting_timeout_ms, reply, error);
    if (status != ESP_OK) {
        status = nobody_there(route, "redirector", route->redirector, error);
    } else if (reply->locate_reply.n_masters == 0) {
        status = error_set(error, ESP_NO_SERVER, "redirector at %s: no master agent has joined it yet",
                           route->redirector);
    }
    if (status == ESP_OK)
        atomic_store(&route->heard, true); /* and so have the masters, at the redirector's */
    return status;
}

/* With the lock held. Whether they are others now, in whatever order. */
static bool take_masters(struct route *route, const struct locate_reply *located)
{
    size_t n_old = route->n_masters, same = 0, n = 0;
    for (uint32_t i = 0; i < located->n_masters && i < MOST_MASTERS; i++)
        for (size_t k = 0; k < n_old; k++)
            same += strcmp(route->masters[k], located->masters[i].address) == 0;
    for (; n < located->n_masters && n < MOST_MASTERS; n++)
        snprintf(route->masters[n], sizeof route->masters[0], "%s", located->masters[n].address);
    route->n_masters = n;
    route->current = 0;
    route->generation++;
    return same != n_old || same != n;
}

/* Learns the masters anew, unless another thread has done so since `seen`. Without the lock. */
static enum esp_status learn(struct route *route, uint64_t seen, bool *changed, struct esp_error *error)
{
    pthread_mutex_lock(&route->lock);
    *changed = route->generation != seen;
    pthread_mutex_unlock(&route->lock);
    if (*changed)
        return ESP_OK;
    struct message reply = {0};
    enum esp_status status = route_locate(route, &reply, error);
    pthread_mutex_lock(&route->lock);
    route->deserted = status == ESP_NO_SERVER;
    if (status == ESP_OK) { /* another thread may have been quicker */
        *changed = route->generation != seen;
        *changed |= take_masters(route, &reply.locate_reply);
    }
    pthread_mutex_unlock(&route->lock);
    message_clear(&reply);
    return status;
}

struct choice {
    char address[CAP_ADDRESS + 1];
    size_t index, n_masters;
    uint64_t generation;
};

/* The master after `skip` others, for one request; false when there are no more. */
static bool choose(struct route *route, size_t skip, struct choice *choice)
{
    pthread_mutex_lock(&route->lock);
    choice->generation = route->generation;
    choice->n_masters = route->n_masters;
    bool any = skip < route->n_masters;
    if (any) {
        choice->index = (route->current + skip) % route->n_masters;
        memcpy(choice->address, route->masters[choice->index], sizeof choice->address);
    }
    pthread_mutex_unlock(&route->lock);
    return any;
}

/* That master did not answer: the next one's turn, for all threads. Without one that was asked before it, for
 * this request only. */
static void turn(struct route *route, const struct choice *failed, size_t *skip)
{
    pthread_mutex_lock(&route->lock);
    if (*skip == 0 && route->generation == failed->generation && route->current == failed->index)
        route->current = (route->current + 1) % route->n_masters;
    else
        ++*skip;
    pthread_mutex_unlock(&route->lock);
}

/* It did not answer, or not to us. */
static bool is_down(enum esp_status status)
{
    return status == ESP_UNREACHABLE || status == ESP_MAYBE || status == ESP_TIMEOUT ||
           status == ESP_REFUSED || status == ESP_STALE || status == ESP_VERSION || status == ESP_SECURITY;
}

/* It answered, for its own tree: there may be one below another master. */
static bool is_elsewhere(enum esp_status status)
{
    return status == ESP_NO_SERVER || status == ESP_UNKNOWN_PROBLEM || status == ESP_NOT_FOUND;
}

static enum esp_status ask_master(struct route *route, const char *address, const struct message *request,
                                  int64_t timeout_ms, struct message *reply, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    if (!atomic_load(&route->heard))
        status = route_greet(route, "master agent", address, NULL, error);
    if (status != ESP_OK)
        return status;
    status = transport_call(route->transport, address, request, timeout_ms, reply, error);
    if (status != ESP_OK)
        return error_prefix_at(error, "master agent", address);
    atomic_store(&route->heard, true);
    return status;
}

/* Goes once through the masters as they are known. Of those that answered and cannot, the first one's words
 * are told, but before "unknown" those of one that is not sure. */
static enum esp_status ask_round(struct route *route, const struct message *request, int64_t timeout_ms,
                                 struct message *reply, uint64_t *generation, struct esp_error *error)
{
    enum esp_status status = error_set(error, ESP_NO_SERVER, "no master agent is known");
    struct esp_error cannot = {0};
    struct choice choice = {.n_masters = 1};
    size_t skip = 0;
    pthread_mutex_lock(&route->lock);
    *generation = route->generation;
    pthread_mutex_unlock(&route->lock);
    for (size_t i = 0; i < choice.n_masters && choose(route, skip, &choice); i++) {
        status = ask_master(route, choice.address, request, timeout_ms, reply, error);
        if (status == ESP_OK)
            return status;
        if (is_elsewhere(status)) {
            skip++;
            if (cannot.status == ESP_OK || (cannot.status == ESP_UNKNOWN_PROBLEM && status == ESP_NO_SERVER))
                cannot = *error;
        } else if (is_down(status)) {
            turn(route, &choice, &skip);
        } else {
            return status;
        }
        message_clear(reply);
    }
    if (cannot.status == ESP_OK)
        return status;
    *error = cannot;
    return cannot.status;
}

enum esp_status route_ask(struct route *route, const struct message *request, int64_t timeout_ms,
                          struct message *reply, struct esp_error *error)
{
    const struct clock *clock = transport_clock(route->transport);
    const int64_t until = clock_now_ns(clock) + timeout_ms * NS_PER_MS;
    uint64_t generation = 0;
    struct esp_error unread, why;
    if (!error)
        error = &unread;
    enum esp_status status = ask_round(route, request, timeout_ms, reply, &generation, error);
    if (status == ESP_OK || !(is_down(status) || is_elsewhere(status)))
        return status;
    const bool known =
        generation > 0; /* then what the masters said tells more than that the redirector is gone */
    int64_t left_ms = (until - clock_now_ns(clock)) / NS_PER_MS;
    if (left_ms <= 0)
        return is_elsewhere(status) ? status
                                    : error_set(error, ESP_TIMEOUT, "no master agent answered within %lld ms",
                                                (long long)timeout_ms);
    bool changed;
    enum esp_status learned = learn(route, generation, &changed, &why);
    if (learned != ESP_OK && !known) {
        *error = why;
        return learned;
    }
    if (learned != ESP_OK || (is_elsewhere(status) && !changed))
        return status;
    return ask_round(route, request, left_ms, reply, &generation, error);
}
