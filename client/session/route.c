/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/route_internal.h"
#include "core/hierarchy/absent.h"
#include "core/hierarchy/lost_problems.h"
#include "util/clock.h"

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

/* With the lock held. Whether a master that the redirector has lost may solve what is asked for. */
static bool may_be_lost(const struct route *route, const struct message *request)
{
    const char *problem = request->kind == MESSAGE_SUBMIT     ? request->submit.request.problem
                          : request->kind == MESSAGE_DESCRIBE ? request->describe.problem
                                                              : NULL;
    if (!*route->missing || !problem || !route->lost.value)
        return *route->missing != 0;
    struct extension lost = route->lost;
    return lost_problems_told(&(struct extensions){&lost, 1}, lost_problem(problem));
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
    return take_missing(route, located) || same != n_old || same != n;
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
    if (status == ESP_OK && route->n_agents == 0)
        route_nearest_first(route, &reply.locate_reply);
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

enum esp_status route_know(struct route *route, struct esp_error *error)
{
    bool changed;
    pthread_mutex_lock(&route->lock);
    const bool known = route->generation > 0;
    pthread_mutex_unlock(&route->lock);
    return known ? ESP_OK : learn(route, 0, &changed, error);
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

enum esp_status route_ask_master(struct route *route, const char *address, const struct message *request,
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

/* What those that answered cannot do: the first one's words, but before "unknown" those of one that is not
 * sure. A problem that nobody knows may be known to a master that was not reached. */
static enum esp_status conclude(struct route *route, const struct message *request,
                                const struct esp_error *cannot, const struct esp_error *down,
                                struct esp_error *error)
{
    char missing[MISSING_TEXT];
    pthread_mutex_lock(&route->lock);
    strcpy(missing, route->missing);
    route->is_partial =
        cannot->status == ESP_UNKNOWN_PROBLEM && (down->status != ESP_OK || may_be_lost(route, request));
    const bool partial = route->is_partial;
    pthread_mutex_unlock(&route->lock);
    *error = *cannot;
    if (!partial)
        return error->status;
    if (down->status != ESP_OK)
        return error_set(error, ESP_NO_SERVER, "%s; one that was not reached may know of a server: %s",
                         cannot->text, down->text);
    return error_set(error, ESP_NO_SERVER,
                     "%s; the redirector has lost touch with master agent %s, which may know of a server",
                     cannot->text, missing);
}

/* Goes once through the masters as they are known. */
static enum esp_status ask_round(struct route *route, const struct message *request, int64_t timeout_ms,
                                 struct message *reply, uint64_t *generation, struct esp_error *error)
{
    enum esp_status status = error_set(error, ESP_NO_SERVER, "no master agent is known");
    struct esp_error cannot = {0}, down = {0};
    struct choice choice = {.n_masters = 1};
    size_t skip = 0;
    pthread_mutex_lock(&route->lock);
    *generation = route->generation;
    pthread_mutex_unlock(&route->lock);
    for (size_t i = 0; i < choice.n_masters && choose(route, skip, &choice); i++) {
        status = route_ask_master(route, choice.address, request, timeout_ms, reply, error);
        if (status == ESP_OK)
            return status;
        if (is_elsewhere(status)) {
            skip++;
            if (cannot.status == ESP_OK || (cannot.status == ESP_UNKNOWN_PROBLEM && status == ESP_NO_SERVER))
                cannot = *error;
        } else if (is_down(status)) {
            down = *error;
            turn(route, &choice, &skip);
        } else {
            return status;
        }
        message_clear(reply);
    }
    return cannot.status == ESP_OK ? status : conclude(route, request, &cannot, &down, error);
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
