/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/acquainted.h"
#include "client/session/route_internal.h"
#include "core/hierarchy/absent.h"
#include "core/hierarchy/lost_problems.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NULL without memory. */
static const char **copy_addresses(struct route *route, const char *const *addresses, size_t n)
{
    const char **copies = arena_alloc(&route->arena, n * sizeof *copies);
    for (size_t i = 0; copies && i < n; i++)
        if (!(copies[i] = arena_strdup(&route->arena, addresses[i])))
            return NULL;
    return copies;
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
    route->n_redirectors = options->n_redirectors;
    route->n_agents = options->n_agents;
    route->redirectors = copy_addresses(route, options->redirectors, options->n_redirectors);
    route->agents = copy_addresses(route, options->agents, options->n_agents);
    if (!route->redirectors || !route->agents) {
        route_destroy(route);
        return error_no_memory(error, "the way to the agents");
    }
    *result = route;
    return ESP_OK;
}

void route_destroy(struct route *route)
{
    if (!route)
        return;
    arena_clear(&route->arena);
    free((uint8_t *)route->lost.value);
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

bool route_is_partial(struct route *route)
{
    pthread_mutex_lock(&route->lock);
    bool partial = route->is_partial;
    pthread_mutex_unlock(&route->lock);
    return partial;
}

bool route_was_there(const struct route *route)
{
    for (size_t i = 0; i < route->n_redirectors; i++)
        if (acquainted_has(route->redirectors[i]))
            return true;
    for (size_t i = 0; i < route->n_agents; i++)
        if (acquainted_has(route->agents[i]))
            return true;
    return false;
}

const char *const *route_redirectors(const struct route *route, size_t *n)
{
    *n = route->n_redirectors;
    return route->redirectors;
}

/* With the lock held. What they solved; without memory, it may be everything. Whether that is news. */
static bool take_lost(struct route *route, const struct locate_reply *located)
{
    const struct extension *told = extension_find(&located->extensions, EXTENSION_LOST_PROBLEMS);
    struct extension *lost = &route->lost;
    if (told && lost->value && told->length == lost->length &&
        memcmp(told->value, lost->value, told->length) == 0)
        return false;
    const bool news = told || lost->value;
    uint8_t *copy = told ? malloc(told->length + 1) : NULL;
    free((uint8_t *)lost->value);
    if (copy)
        memcpy(copy, told->value, told->length);
    *lost = (struct extension){EXTENSION_LOST_PROBLEMS, copy, copy ? told->length : 0};
    return news;
}

/* With the lock held. Those that the redirector has lost and still remembers; whether they are others now. */
static bool take_missing(struct route *route, const struct locate_reply *located)
{
    const struct extension *absent = extension_find(&located->extensions, EXTENSION_ABSENT);
    struct absent_reader reader = {absent ? absent->value : NULL, absent ? absent->length : 0};
    struct node_record master;
    char text[MISSING_TEXT] = "";
    for (size_t used = 0; used < sizeof text && absent_read(&reader, &master);)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\"%s\" at %s", used > 0 ? ", " : "",
                                 master.name, master.address);
    const bool others = take_lost(route, located) || strcmp(text, route->missing) != 0;
    strcpy(route->missing, text);
    return others;
}

/* With the lock held. Whether they are others now, in whatever order. */
static bool take_masters(struct route *route, const struct locate_reply *located, const double *way_s)
{
    size_t n_old = route->n_masters, same = 0, n = 0;
    for (uint32_t i = 0; i < located->n_masters && i < MOST_MASTERS; i++)
        for (size_t k = 0; k < n_old; k++)
            same += strcmp(route->masters[k], located->masters[i].address) == 0;
    for (; n < located->n_masters && n < MOST_MASTERS; n++)
        snprintf(route->masters[n], sizeof route->masters[0], "%s", located->masters[n].address);
    const bool was_learning = route->is_learning;
    route->n_masters = n;
    route->current = 0;
    memcpy(route->way_s, way_s, sizeof route->way_s);
    memset(route->told, 0, sizeof route->told);
    atomic_store(&route->trip_ns, 0);
    route->generation++;
    route->is_learning = route_learns(located);
    return take_missing(route, located) || same != n_old || same != n || was_learning != route->is_learning;
}

enum esp_status route_learn(struct route *route, uint64_t seen, bool *changed, bool *silent,
                            struct esp_error *error)
{
    *silent = false;
    pthread_mutex_lock(&route->lock);
    *changed = route->generation != seen;
    const bool sure = route->is_learning; /* what it said was not enough */
    pthread_mutex_unlock(&route->lock);
    if (*changed)
        return ESP_OK;
    struct message reply = {0};
    double way_s[MOST_MASTERS] = {0};
    enum esp_status status = route_locate_heeding(route, sure, silent, &reply, error);
    if (status == ESP_OK && route->n_agents == 0)
        route_nearest_first(route, &reply.locate_reply, way_s);
    pthread_mutex_lock(&route->lock);
    route->deserted = status == ESP_NO_SERVER;
    if (status == ESP_OK) { /* another thread may have been quicker */
        *changed = route->generation != seen;
        *changed |= take_masters(route, &reply.locate_reply, way_s);
    }
    pthread_mutex_unlock(&route->lock);
    message_clear(&reply);
    return status;
}

double route_trip_s(const struct route *route)
{
    return (double)atomic_load_explicit(&route->trip_ns, memory_order_relaxed) / 1e9;
}

bool route_first(struct route *route, char *address)
{
    pthread_mutex_lock(&route->lock);
    const bool known = route->n_masters > 0;
    if (known)
        memcpy(address, route->masters[route->current], CAP_ADDRESS + 1);
    pthread_mutex_unlock(&route->lock);
    return known;
}

void route_copy_masters(struct route *route, struct masters *masters)
{
    pthread_mutex_lock(&route->lock);
    masters->generation = route->generation;
    masters->n = route->n_masters;
    for (size_t i = 0; i < masters->n; i++)
        memcpy(masters->addresses[i], route->masters[(route->current + i) % masters->n],
               sizeof masters->addresses[i]);
    pthread_mutex_unlock(&route->lock);
}

enum esp_status route_know(struct route *route, struct esp_error *error)
{
    bool changed, silent;
    pthread_mutex_lock(&route->lock);
    const bool known = route->generation > 0;
    pthread_mutex_unlock(&route->lock);
    return known ? ESP_OK : route_learn(route, 0, &changed, &silent, error);
}
