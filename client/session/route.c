/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds master agents, by redirectors or from the configuration file, and identifies the node at an
 * address.
 */
#include "client/session/route.h"
#include "client/session/acquainted.h"
#include "client/session/engine.h"
#include "core/choice/aggregate.h"
#include "core/choice/estimate.h"
#include "core/choice/terms.h"
#include "core/hierarchy/absent.h"
#include "core/hierarchy/lost_problems.h"
#include "core/hierarchy/returning.h"
#include "core/host_name.h"
#include "util/clock.h"
#include "util/thread_pool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum esp_status route_greet_within(struct route *route, const char *who, const char *address,
                                          int64_t most_ms, bool *silent, enum node_role *role,
                                          struct esp_error *error);
static void route_data_first(struct route *route, const struct message *request, int64_t until_ns,
                             struct masters *masters);
static void route_note_data(struct route *route, const char *address, const struct message *request,
                            const struct submit_reply *reply);

/* Allocates room for so many masters, without names. */
static struct master_entry *begin_located(struct message *reply, size_t n, struct esp_error *error)
{
    memset(reply, 0, sizeof *reply);
    reply->kind = MESSAGE_LOCATE_REPLY;
    struct master_entry *masters = arena_alloc(&reply->arena, n * sizeof *masters);
    if (!masters) {
        error_no_memory(error, "the list of agents");
        return NULL;
    }
    reply->locate_reply.masters = masters;
    reply->locate_reply.n_masters = (uint32_t)n;
    return masters;
}

static enum esp_status locate_from_file(struct route *route, struct message *reply, struct esp_error *error)
{
    struct master_entry *masters = begin_located(reply, route->n_agents, error);
    for (size_t i = 0; masters && i < route->n_agents; i++)
        masters[i] = (struct master_entry){.name = "", .address = route->agents[i]};
    return masters ? ESP_OK : ESP_NO_MEMORY;
}

enum esp_status route_known(struct route *route, struct message *reply, struct esp_error *error)
{
    pthread_mutex_lock(&route->lock);
    struct master_entry *masters = begin_located(reply, route->n_masters, error);
    bool whole = masters != NULL;
    for (size_t i = 0; whole && i < route->n_masters; i++) {
        masters[i] = (struct master_entry){.name = arena_strdup(&reply->arena, route->names[i]),
                                           .address = arena_strdup(&reply->arena, route->masters[i])};
        whole = masters[i].name && masters[i].address;
    }
    pthread_mutex_unlock(&route->lock);
    if (whole)
        return ESP_OK;
    message_clear(reply);
    return error_no_memory(error, "the list of agents");
}

/* The node, or the name server that knows its address, may only be slow, so it may be asked again. */
static bool is_silence(enum esp_status status, const struct esp_error *error)
{
    return status == ESP_TIMEOUT || (status != ESP_OK && host_name_is_late(error));
}

/* The first question to that address failed; it executed nothing. */
static enum esp_status nobody_there(const char *who, const char *address, int64_t waited_ms,
                                    struct esp_error *error)
{
    switch (error->status) {
    case ESP_TIMEOUT:
        return error_set(error, ESP_UNREACHABLE,
                         "%s: no Espalier daemon answers at %s: something takes connections there, and says "
                         "nothing for %.3g s (stopped, overloaded, or no Espalier: is the port right?)",
                         who, address, (double)waited_ms / 1e3);
    case ESP_MAYBE:
        return error_set(
            error, ESP_UNREACHABLE,
            "%s: no Espalier daemon answers at %s: what listens there ends the connection without an "
            "answer (is the port right, do both use TLS or neither? does it have as many connections as it "
            "may?)",
            who, address);
    case ESP_PROTOCOL:
    case ESP_VERSION:
        error_prefix(error, "%s: no Espalier daemon of this contract answers at %s", who, address);
        return error->status = ESP_UNREACHABLE;
    default:
        return error_prefix_at(error, who, address);
    }
}

enum esp_status route_greet(struct route *route, const char *who, const char *address, bool *silent,
                            enum node_role *role, struct esp_error *error)
{
    return route_greet_within(route, who, address, INT64_MAX, silent, role, error);
}

/* route_greet() within that time at most. */
static enum esp_status route_greet_within(struct route *route, const char *who, const char *address,
                                          int64_t most_ms, bool *silent, enum node_role *role,
                                          struct esp_error *error)
{
    const int64_t most = most_ms < route->greeting_timeout_ms ? most_ms : route->greeting_timeout_ms;
    const int64_t patience_ms = deadline_left_ms(transport_clock(route->transport), most);
    struct message request = {.kind = MESSAGE_GREET, .greet = {.minor = CONTRACT_MINOR}}, reply = {0};
    struct esp_error unread;
    if (!error)
        error = &unread;
    enum esp_status status = transport_call(route->transport, address, &request, patience_ms, &reply, error);
    if (silent)
        *silent = is_silence(status, error);
    if (status == ESP_OK && role)
        *role = (enum node_role)reply.greet_reply.role;
    message_clear(&reply);
    return status == ESP_OK ? status : nobody_there(who, address, patience_ms, error);
}

/* Asks one redirector. *silent: it did not answer in time. */
static enum esp_status ask_redirector(struct route *route, const char *address, int64_t timeout_ms,
                                      bool *silent, struct message *reply, struct esp_error *error)
{
    struct session_id first;
    uint8_t bytes[ASKER_BYTES];
    struct extension asker = {EXTENSION_ASKER, bytes, sizeof bytes};
    struct message request = {.kind = MESSAGE_LOCATE};
    if (route->asker) {
        route->asker(route->arg, &first);
        asker_put(&first, bytes);
        request.locate.extensions = (struct extensions){&asker, 1};
    }
    message_clear(reply);
    enum esp_status status = deadline_call(route->transport, address, &request, timeout_ms, reply, error);
    *silent = is_silence(status, error);
    if (status != ESP_OK)
        return nobody_there("redirector", address, timeout_ms, error);
    acquainted_note(address);
    if (reply->locate_reply.n_masters == 0)
        return error_set(error, ESP_NO_SERVER, "redirector at %s: no master agent has joined it yet",
                         address);
    return ESP_OK;
}

/* Whether the redirector that sent this answer may not know all masters yet. */
static bool route_learns(const struct locate_reply *located)
{
    return extension_find(&located->extensions, EXTENSION_LEARNING) != NULL;
}

/* If several redirectors do not help, the answer of one says more than the absence of another. A silent
 * redirector is not waited for long while there are others to ask. */
static enum esp_status ask_redirectors(struct route *route, bool *any_silent, struct message *reply,
                                       struct esp_error *error)
{
    const size_t first = atomic_load(&route->redirector), n = route->n_redirectors;
    const int64_t most_ms = route->greeting_timeout_ms,
                  short_ms = n > 1 && most_ms > ROUTE_AWAKE_MS ? ROUTE_AWAKE_MS : most_ms;
    bool silent;
    struct esp_error why;
    for (size_t i = 0; i < (*any_silent && short_ms < most_ms ? 2 * n : n); i++) {
        const size_t index = (first + i) % n;
        enum esp_status status = ask_redirector(route, route->redirectors[index], i < n ? short_ms : most_ms,
                                                &silent, reply, &why);
        if (status == ESP_OK) {
            atomic_store(&route->redirector, index);
            return ESP_OK;
        }
        *any_silent |= silent;
        if (i == 0 || (status == ESP_NO_SERVER && error->status == ESP_UNREACHABLE))
            *error = why;
    }
    return error->status;
}

/* A redirector that was just started has named masters in `reply`. The first other redirector that answers
 * and knows all masters replaces it from now on. */
static void ask_for_all(struct route *route, struct message *reply)
{
    const size_t first = atomic_load(&route->redirector), n = route->n_redirectors;
    const int64_t most_ms = route->greeting_timeout_ms;
    for (size_t i = 1; i < n; i++) {
        const size_t index = (first + i) % n;
        struct message other = {0};
        struct esp_error unread;
        bool silent;
        if (ask_redirector(route, route->redirectors[index],
                           most_ms > ROUTE_AWAKE_MS ? ROUTE_AWAKE_MS : most_ms, &silent, &other,
                           &unread) == ESP_OK &&
            !route_learns(&other.locate_reply)) {
            message_clear(reply);
            *reply = other;
            atomic_store(&route->redirector, index);
            return;
        }
        message_clear(&other);
    }
}

enum esp_status route_locate_heeding(struct route *route, bool sure, bool *silent, struct message *reply,
                                     struct esp_error *error)
{
    struct esp_error unread;
    *silent = false;
    if (route->n_agents > 0)
        return locate_from_file(route, reply, error);
    if (route->n_redirectors == 0)
        return error_set(error, ESP_CONFIG, "expected the address of a redirector or of agents, found none");
    enum esp_status status = ask_redirectors(route, silent, reply, error ? error : &unread);
    if (status == ESP_OK && sure && route_learns(&reply->locate_reply))
        ask_for_all(route, reply);
    if (status == ESP_OK)
        atomic_store(&route->heard, true); /* the masters at the redirector have been there, too */
    return status;
}

enum esp_status route_locate(struct route *route, struct message *reply, struct esp_error *error)
{
    bool silent;
    return route_locate_heeding(route, false, &silent, reply, error);
}

/* Finds the nearest of several master agents. All are greeted at once, and the time of their answers is
 * their distance. A master whose servers are all busy counts as farther. Masters that are about as near as
 * the nearest one keep the redirector's order, so that clients are spread. */

#define MEASURED_MOST 16   /* masters; further ones stay behind them */
#define GREETING_MS   300  /* a slower answer is far in any case */
#define CALL_TRIPS    2.0  /* round trips to the master that a small call waits for */
#define QUEUE_S       0.05 /* added to the distance for each waiting session per slot, roughly */
#define EMPTY_S       1.0  /* added if there are no servers */

/* Counts as near as the nearest one: the accuracy of latency measurements. */
#define ALIKE_FACTOR 1.5
#define ALIKE_S      1e-3

struct measured {
    struct thread_job job;
    struct route *route;
    const struct master_entry *master;
    double way_s, distance_s; /* infinite: it did not answer */
};

static bool greet(struct route *route, const char *address, double *took_s)
{
    const struct clock *clock = transport_clock(route->transport);
    const struct message request = {.kind = MESSAGE_GREET, .greet = {.minor = CONTRACT_MINOR}};
    struct message reply = {0};
    const int64_t asked_ns = clock_now_ns(clock);
    const enum esp_status status =
        transport_call(route->transport, address, &request, GREETING_MS, &reply, NULL);
    *took_s = (double)(clock_now_ns(clock) - asked_ns) / 1e9;
    message_clear(&reply);
    return status == ESP_OK;
}

/* The first greeting opens the connection, the second one measures. */
static void measure(void *arg)
{
    struct measured *measured = arg;
    const struct master_entry *master = measured->master;
    double first_s, second_s;
    if (!greet(measured->route, master->address, &first_s) ||
        !greet(measured->route, master->address, &second_s))
        return;
    measured->way_s = CALL_TRIPS * fmin(first_s, second_s);
    measured->distance_s =
        measured->way_s + QUEUE_S * fmax(0, master->load - 1) + (master->servers == 0 ? EMPTY_S : 0);
}

static void measure_all(struct measured *measured, size_t n)
{
    struct thread_pool *pool = NULL;
    if (thread_pool_create((unsigned)n - 1, &pool, NULL) != ESP_OK)
        return; /* without memory all are alike */
    for (size_t i = 1; i < n; i++) {
        measured[i].job = (struct thread_job){.run = measure, .arg = &measured[i]};
        if (!thread_pool_submit(pool, &measured[i].job))
            measure(&measured[i]);
    }
    measure(&measured[0]);
    thread_pool_destroy(pool);
}

/* Insertion sort, because equal masters must keep their order. */
static void sort(struct measured *measured, size_t n, double alike_s)
{
    for (size_t i = 1; i < n; i++) {
        const struct measured one = measured[i];
        size_t k = i;
        for (; k > 0 && one.distance_s < measured[k - 1].distance_s && measured[k - 1].distance_s > alike_s;
             k--)
            measured[k] = measured[k - 1];
        measured[k] = one;
    }
}

/* Sorts the masters of a redirector's answer in the order in which they are to be asked: the nearest ones
 * first, by greetings that are sent to all at once. Takes as long as the slowest of them, 0.6 s at most.
 * `way_s`: how long a small call to each takes, in that order (infinite: it did not answer; 0: not asked). */
static void route_nearest_first(struct route *route, struct locate_reply *located, double way_s[MOST_MASTERS])
{
    struct measured measured[MEASURED_MOST];
    struct master_entry sorted[MEASURED_MOST];
    const size_t n = located->n_masters < MEASURED_MOST ? located->n_masters : MEASURED_MOST;
    double nearest_s = INFINITY;
    if (n < 2)
        return;
    for (size_t i = 0; i < n; i++)
        measured[i] = (struct measured){
            .route = route, .master = &located->masters[i], .way_s = INFINITY, .distance_s = INFINITY};
    measure_all(measured, n);
    for (size_t i = 0; i < n; i++)
        nearest_s = fmin(nearest_s, measured[i].distance_s);
    sort(measured, n, ALIKE_FACTOR * nearest_s + ALIKE_S);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = *measured[i].master;
        way_s[i] = measured[i].way_s;
    }
    memcpy(located->masters, sorted, n * sizeof *sorted);
}

/* Returns NULL without memory. */
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

/* Called with the lock held. Takes the problems of lost masters; without memory, these may be any. Returns
 * whether they have changed. */
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

/* Called with the lock held. Takes the masters that the redirector has lost and still remembers. Returns
 * whether they have changed. */
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

/* Called with the lock held. Returns whether the masters have changed, in any order. */
static bool take_masters(struct route *route, const struct locate_reply *located, const double *way_s)
{
    size_t n_old = route->n_masters, same = 0, n = 0;
    for (uint32_t i = 0; i < located->n_masters && i < MOST_MASTERS; i++)
        for (size_t k = 0; k < n_old; k++)
            same += strcmp(route->masters[k], located->masters[i].address) == 0;
    for (; n < located->n_masters && n < MOST_MASTERS; n++) {
        snprintf(route->masters[n], sizeof route->masters[0], "%s", located->masters[n].address);
        snprintf(route->names[n], sizeof route->names[0], "%s", located->masters[n].name);
    }
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

/* Learns the masters anew, unless another thread has done so since `seen`. *silent: a redirector is
 * silent. Called without the lock. */
static enum esp_status route_learn(struct route *route, uint64_t seen, bool *changed, bool *silent,
                                   struct esp_error *error)
{
    *silent = false;
    pthread_mutex_lock(&route->lock);
    *changed = route->generation != seen;
    const bool sure = route->is_learning; /* its last answer was not enough */
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

const char *route_name(const char *name, char text[ROUTE_WHO])
{
    snprintf(text, ROUTE_WHO, *name ? "master agent \"%.*s\"" : "master agent", CAP_NAME, name);
    return text;
}

const char *route_who(struct route *route, const char *address, char text[ROUTE_WHO])
{
    route_name("", text);
    pthread_mutex_lock(&route->lock);
    for (size_t i = 0; i < route->n_masters; i++)
        if (strcmp(route->masters[i], address) == 0)
            route_name(route->names[i], text);
    pthread_mutex_unlock(&route->lock);
    return text;
}

static void route_copy_masters(struct route *route, struct masters *masters)
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

/* Which master agent is asked first for servers while those below the nearest one are busy. The client
 * remembers what each master said of the last request, and sends the next request of its kind where it is
 * expected to end first. So a program with many calls under way fills the servers of all masters, and asks
 * only one master for each call.
 *
 * For requests that take data which live on servers, see client/session/route.c. A request for one server
 * stays with the nearest master agent. */

#define WAIT_S 0.05 /* a shorter wait is not worth it */
#define WAYS   20   /* a wait is long if it is so many times the way to the other master */
#define OLD_S  30.0 /* after this an answer no longer counts */
#define DOWN_S 10.0 /* pause after a master that did not answer */

static bool is_free(const struct route *route, const struct message *message)
{
    const struct request *request = &message->submit.request;
    return message->kind == MESSAGE_SUBMIT && route->n_agents == 0 && !*request->server &&
           request->n_excluded == 0 && !request_has_data(request) &&
           !extension_find(&request->extensions, EXTENSION_FORECAST);
}

static int64_t now_ns(const struct route *route)
{
    return clock_now_ns(transport_clock(route->transport));
}

/* The rest of the wait that the master forecast. */
static double wait_s(const struct told *told, int64_t now)
{
    return fmax(0, told->queue_s - (double)(now - told->at_ns) / 1e9);
}

/* Returns NULL if no answer still counts. */
static const struct told *told_by(const struct route *route, size_t master, uint64_t digest, int64_t now)
{
    const struct told *told = &route->told[master];
    const bool counts = told->at_ns != 0 && (told->is_down || told->digest == digest);
    return counts && (double)(now - told->at_ns) / 1e9 < (told->is_down ? DOWN_S : OLD_S) ? told : NULL;
}

/* Called with the lock held. Returns the master that is asked first, or the one below which the call would
 * end sooner. */
static size_t find_sooner(const struct route *route, uint64_t digest)
{
    const int64_t now = now_ns(route);
    const struct told *nearest = told_by(route, route->current, digest, now);
    const double longest_s = nearest && !nearest->is_down ? wait_s(nearest, now) : 0;
    size_t found = route->current;
    double best_s = nearest ? longest_s + nearest->rest_s - WAIT_S : 0;
    for (size_t i = 0; longest_s > WAIT_S && i < route->n_masters; i++) {
        const struct told *told = told_by(route, i, digest, now);
        const double end_s = !told           ? nearest->rest_s
                             : told->is_down ? INFINITY
                                             : wait_s(told, now) + told->rest_s;
        if (i != route->current && end_s < best_s && WAYS * route->way_s[i] < longest_s) {
            found = i;
            best_s = end_s;
        }
    }
    return found;
}

/* If servers below the first master have no slot free for the request, another master may come to the
 * front. */
static void route_sooner_first(struct route *route, const struct message *request, struct masters *masters)
{
    char first[CAP_ADDRESS + 1];
    if (masters->n < 2 || !is_free(route, request))
        return;
    pthread_mutex_lock(&route->lock);
    const size_t n = route->n_masters, found = find_sooner(route, request->submit.request.digest);
    const size_t at = (found + n - route->current) % n;
    if (masters->generation == route->generation && at > 0 &&
        strcmp(masters->addresses[at], route->masters[found]) == 0) {
        memcpy(first, masters->addresses[at], sizeof first);
        memmove(masters->addresses[1], masters->addresses[0], at * sizeof masters->addresses[0]);
        memcpy(masters->addresses[0], first, sizeof first);
    }
    pthread_mutex_unlock(&route->lock);
}

/* Notes what a master agent said; NULL: it did not answer, or could not help. */
static void route_note_told(struct route *route, const char *address, const struct message *request,
                            const struct submit_reply *reply)
{
    route_note_data(route, address, request, reply);
    if (!is_free(route, request) || (reply && reply->n_candidates == 0))
        return;
    struct told told = {
        .at_ns = now_ns(route), .digest = request->submit.request.digest, .is_down = reply == NULL};
    if (reply) {
        const struct candidate *best = &reply->candidates[0];
        told.queue_s = isfinite(best->queue_s) ? best->queue_s : 0;
        told.rest_s = isfinite(best->compute_s + best->transfer_s) ? best->compute_s + best->transfer_s : 0;
    }
    pthread_mutex_lock(&route->lock);
    for (size_t i = 0; i < route->n_masters; i++)
        if (strcmp(route->masters[i], address) == 0)
            route->told[i] = told;
    pthread_mutex_unlock(&route->lock);
}

/* A question to the master agents: asks one after the other until one can answer it. A stopped process or
 * a frozen machine accepts a message and does not answer, like one that is only slow. So if there are
 * other masters to ask, each wait is short at first, and a silent master is asked again only if no other
 * can help. */

/* A master that has answered has asked its peers, and left out silent ones. A master that is awake has
 * answered a greeting by then. Masters from a configuration file do not know each other. */
#define PEER_AWAKE_MS 400

/* If a master takes longer than this, or than that share of the time, to answer, because it waits for
 * nodes below it, it is asked again when it is awake. */
#define ANSWER_MS    3000
#define ANSWER_SHARE 3

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns at least 1, because the transport reports the timeout. */
static int64_t left_ms(const struct route *route, int64_t until_ns)
{
    const int64_t ms = (until_ns - clock_now_ns(transport_clock(route->transport))) / NS_PER_MS;
    return ms > 0 ? ms : 1;
}

/* No node is asked for less than a millisecond. */
static bool is_over(const struct clock *clock, int64_t until_ns)
{
    return until_ns - clock_now_ns(clock) < NS_PER_MS;
}

/* Whether the master did not answer, or not to this client. */
static bool is_down(enum esp_status status)
{
    return status == ESP_UNREACHABLE || status == ESP_MAYBE || status == ESP_TIMEOUT ||
           status == ESP_REFUSED || status == ESP_STALE || status == ESP_VERSION || status == ESP_SECURITY;
}

/* Whether the answer is for the master's own tree only: a server may be below another master. */
static bool is_elsewhere(enum esp_status status)
{
    return status == ESP_NO_SERVER || status == ESP_UNKNOWN_PROBLEM || status == ESP_NOT_FOUND;
}

/* The quickest answer gives the distance of the master: others took longer, or came over a new connection. */
static void note_trip(struct route *route, const char *address, int64_t ns)
{
    const int64_t known_ns = atomic_load(&route->trip_ns);
    if (known_ns > 0 && ns >= known_ns)
        return;
    pthread_mutex_lock(&route->lock);
    if (route->n_masters > 0 && strcmp(route->masters[route->current], address) == 0)
        atomic_store(&route->trip_ns, ns > 0 ? ns : 1);
    pthread_mutex_unlock(&route->lock);
}

static enum esp_status ask_timed(struct route *route, const char *address, const struct message *request,
                                 int64_t timeout_ms, struct message *reply, struct esp_error *error)
{
    const struct clock *clock = transport_clock(route->transport);
    const int64_t asked_ns = clock_now_ns(clock);
    enum esp_status status = transport_call(route->transport, address, request, timeout_ms, reply, error);
    if (status == ESP_OK)
        note_trip(route, address, clock_now_ns(clock) - asked_ns);
    return status;
}

enum haste {
    LAST, /* it gets all the time */
    ONE,  /* there are others to ask */
    MORE  /* another master has answered as far as it can: this one is greeted first */
};

/* Returns ESP_UNREACHABLE with *silent set if a master other than the last one does not seem to be awake. */
static enum esp_status ask_master(struct route *route, const char *address, const struct message *request,
                                  int64_t until_ns, enum haste haste, bool *silent, struct message *reply,
                                  struct esp_error *error)
{
    char who[ROUTE_WHO];
    const bool hurry = haste != LAST;
    const int64_t all_ms = left_ms(route, until_ns), share_ms = all_ms / ANSWER_SHARE + 1;
    const int64_t awake_ms =
        !hurry ? all_ms
               : least(haste == MORE && route->n_agents == 0 ? PEER_AWAKE_MS : ROUTE_AWAKE_MS, share_ms);
    enum esp_status status = ESP_OK;
    *silent = false;
    if (haste == MORE || !atomic_load(&route->heard))
        status =
            route_greet_within(route, route_who(route, address, who), address, awake_ms, silent, NULL, error);
    if (status != ESP_OK)
        return status;
    status = ask_timed(route, address, request, hurry ? least(ANSWER_MS, share_ms) : left_ms(route, until_ns),
                       reply, error);
    if (status == ESP_TIMEOUT && hurry) {
        message_clear(reply);
        status =
            route_greet_within(route, route_who(route, address, who), address, awake_ms, silent, NULL, error);
        if (status != ESP_OK)
            return status;
        status = ask_timed(route, address, request, left_ms(route, until_ns), reply, error);
    }
    if (status != ESP_OK)
        return error_prefix_at(error, route_who(route, address, who), address);
    if (!atomic_exchange(&route->heard, true))
        acquainted_note(address);
    return status;
}

/* Asks one master. While no master has answered yet, it is greeted first. */
static enum esp_status route_ask_master(struct route *route, const char *address,
                                        const struct message *request, int64_t timeout_ms,
                                        struct message *reply, struct esp_error *error)
{
    const int64_t until_ns = clock_now_ns(transport_clock(route->transport)) + timeout_ms * NS_PER_MS;
    bool silent;
    return ask_master(route, address, request, until_ns, LAST, &silent, reply, error);
}

/* Asks one question; `arg` is a struct route_question. */
static void route_question_run(void *arg)
{
    struct route_question *question = arg;
    bool silent;
    question->status =
        is_over(transport_clock(question->route->transport), question->until_ns)
            ? error_set(&question->why, ESP_TIMEOUT, "there was no time left to ask")
            : ask_master(question->route, question->address, question->request, question->until_ns,
                         question->hurry ? ONE : LAST, &silent, &question->reply, &question->why);
}

static const char *problem_of(const struct message *request)
{
    return request->kind == MESSAGE_SUBMIT     ? request->submit.request.problem
           : request->kind == MESSAGE_DESCRIBE ? request->describe.problem
                                               : NULL;
}

static const char *node_of(const struct message *request)
{
    return request->kind == MESSAGE_TREE && *request->tree.node ? request->tree.node : NULL;
}

/* Called with the lock held. Whether a master that the redirector has lost, or does not know yet, may
 * solve the problem or have the node of the request. */
static bool may_be_lost(const struct route *route, const struct message *request)
{
    const char *problem = problem_of(request), *node = node_of(request);
    if (route->is_learning)
        return true;
    if (!*route->missing || !(problem || node) || !route->lost.value)
        return *route->missing != 0;
    struct extension lost = route->lost;
    return lost_problems_told(&(struct extensions){&lost, 1},
                              problem ? lost_problem(problem) : lost_node(node));
}

/* Whether the answer says that a server is expected back. */
static bool is_awaited(enum esp_status status, const struct message *reply)
{
    uint64_t ms;
    if (status == ESP_NO_SERVER && reply->kind == MESSAGE_TREE_REPLY)
        return reply->tree_reply.n_records > 0 &&
               terms_get_integer(&reply->tree_reply.records[0].extensions, EXTENSION_EXPECTED, &ms);
    return status == ESP_UNREACHABLE && reply->kind == MESSAGE_SUBMIT_REPLY &&
           extension_find(&reply->submit_reply.extensions, EXTENSION_AWAITED);
}

/* Whether the answer says that a silent server could help, and may continue. */
static bool is_silent(enum esp_status status, const struct message *reply)
{
    return status == ESP_UNREACHABLE && reply->kind == MESSAGE_SUBMIT_REPLY &&
           extension_find(&reply->submit_reply.extensions, EXTENSION_SILENT);
}

/* Whether another master could say more than that. */
static bool is_open(const struct message *request, enum esp_status status)
{
    return status == ESP_UNKNOWN_PROBLEM || (status == ESP_NO_SERVER && problem_of(request)) ||
           node_of(request);
}

/* Makes the error from the masters that answered. It is the first one's text. A master that is not sure
 * goes before "unknown", and one whose server comes back goes before all others. If a master was not
 * reached, it may know the unknown problem, or servers that fit. */
static enum esp_status conclude(struct route *route, const struct message *request,
                                const struct esp_error *cannot, const struct esp_error *down,
                                struct esp_error *error)
{
    char missing[MISSING_TEXT];
    pthread_mutex_lock(&route->lock);
    strcpy(missing, route->missing);
    route->is_partial =
        is_open(request, cannot->status) && (down->status != ESP_OK || may_be_lost(route, request));
    const bool partial = route->is_partial;
    pthread_mutex_unlock(&route->lock);
    *error = *cannot;
    if (!partial)
        return error->status;
    if (down->status != ESP_OK)
        return error_set(error, ESP_NO_SERVER, "%s; one that was not reached may know of a server: %s",
                         cannot->text, down->text);
    if (!*missing)
        return error_set(error, ESP_NO_SERVER,
                         "%s; the redirector was just started and does not know all master agents yet",
                         cannot->text);
    return error_set(error, ESP_NO_SERVER,
                     "%s; the redirector has lost touch with master agent %s, which may know of a server",
                     cannot->text, missing);
}

/* The master did not answer: if it is the one that is asked first, the next one takes its place, for all
 * threads. */
static void turn(struct route *route, const char *address, uint64_t generation)
{
    pthread_mutex_lock(&route->lock);
    if (route->generation == generation && strcmp(route->masters[route->current], address) == 0) {
        route->current = (route->current + 1) % route->n_masters;
        atomic_store(&route->trip_ns, 0);
    }
    pthread_mutex_unlock(&route->lock);
}

/* One round through the known masters. */
struct round {
    struct route *route;
    const struct message *request;
    int64_t until_ns;
    struct message *reply;
    struct masters masters;
    enum esp_status status;    /* of the last master that was asked */
    bool silent[MOST_MASTERS]; /* it accepts connections, and seemed not to be awake */
    bool awaited, silenced;    /* an answer said that a server comes back, or is silent and may continue */
    bool sure;                 /* no answer beyond "unknown" leaves hope */
    struct esp_error cannot, down; /* errors of masters that answered, and of others */
    size_t ignorant;               /* how many masters answered that they do not know it */
};

/* Returns false if asking others is of no use. */
static bool goes_on(struct round *round, size_t i, enum haste haste, struct esp_error *error)
{
    const char *address = round->masters.addresses[i];
    struct esp_error *cannot = &round->cannot;
    if (is_over(transport_clock(round->route->transport), round->until_ns))
        return true;
    const enum esp_status status = round->status =
        ask_master(round->route, address, round->request, round->until_ns, haste, &round->silent[i],
                   round->reply, error);
    if (status == ESP_OK && round->request->kind == MESSAGE_SUBMIT)
        route_note_told(round->route, address, round->request, &round->reply->submit_reply);
    if (is_awaited(status, round->reply) || is_silent(status, round->reply)) {
        route_note_told(round->route, address, round->request, NULL);
        round->silenced |= is_silent(status, round->reply);
        round->awaited |= is_awaited(status, round->reply);
        *cannot = *error;
    } else if (is_down(status)) {
        route_note_told(round->route, address, round->request, NULL);
        round->down = *error;
        round->silent[i] |= status == ESP_TIMEOUT;
        turn(round->route, address, round->masters.generation);
    } else if (is_elsewhere(status)) {
        const bool sure = describe_is_sure(round->reply);
        round->ignorant++;
        route_note_told(round->route, address, round->request, NULL);
        if (cannot->status == ESP_OK || (!round->awaited && !round->silenced && status == ESP_NO_SERVER &&
                                         (cannot->status != ESP_NO_SERVER || (round->sure && !sure)))) {
            *cannot = *error;
            round->sure = sure;
        }
    } else {
        return false;
    }
    message_clear(round->reply);
    return true;
}

/* The text is that of one master agent, which knows only the nodes below it. */
static void tell_others(struct round *round)
{
    struct esp_error *cannot = &round->cannot;
    const size_t others = round->ignorant > 1 ? round->ignorant - 1 : 0, length = strlen(cannot->text);
    if (node_of(round->request) && others > 0)
        snprintf(cannot->text + length, sizeof cannot->text - length,
                 "; nor is it known to %zu other master agent%s of the platform", others,
                 others == 1 ? "" : "s");
}

/* A caller that handles silence (`heeds`) asks again while a node is silent. So if another master has
 * answered, it returns at once. */
static enum esp_status ask_round(struct route *route, const struct message *request, int64_t until_ns,
                                 bool heeds, struct route_hope *hope, struct message *reply,
                                 uint64_t *generation, struct esp_error *error)
{
    struct round round = {.route = route, .request = request, .until_ns = until_ns, .reply = reply};
    round.status = error_set(error, ESP_NO_SERVER, "no master agent is known");
    route_copy_masters(route, &round.masters);
    route_sooner_first(route, request, &round.masters);
    route_data_first(route, request, until_ns, &round.masters);
    *generation = round.masters.generation;
    const size_t n = round.masters.n;
    for (size_t i = 0; i < n; i++)
        if (!goes_on(&round, i, n == 1 ? LAST : round.cannot.status == ESP_OK ? ONE : MORE, error))
            return round.status;
    for (size_t i = 0; i < n && !(heeds && round.cannot.status != ESP_OK); i++)
        if (round.silent[i] && !goes_on(&round, i, LAST, error))
            return round.status;
    for (size_t i = 0; i < n; i++)
        hope->silent |= round.silent[i];
    hope->awaited = round.awaited;
    hope->silent |= round.silenced;
    hope->told = round.awaited || round.silenced;
    if (round.cannot.status == ESP_OK)
        return round.status;
    tell_others(&round);
    const enum esp_status status = conclude(route, request, &round.cannot, &round.down, error);
    hope->sure = round.sure && !route_is_partial(route);
    return status;
}

static enum esp_status nobody_in_time(int64_t asked_ms, struct esp_error *error)
{
    return error_set(
        error, ESP_TIMEOUT,
        "no master agent answered the last question within %.3g s: none is reached, or they wait for servers "
        "that are silent ('espalier tree' shows which)",
        (double)asked_ms / 1e3);
}

static enum esp_status ask(struct route *route, const struct message *request, int64_t timeout_ms, bool heeds,
                           struct route_hope *hope, struct message *reply, struct esp_error *error)
{
    const struct clock *clock = transport_clock(route->transport);
    const int64_t left_ms = deadline_left_ms(clock, timeout_ms);
    const int64_t until = clock_now_ns(clock) + left_ms * NS_PER_MS;
    uint64_t generation = 0;
    struct esp_error unread, why;
    if (!error)
        error = &unread;
    *hope = (struct route_hope){false};
    if (left_ms == 0 && timeout_ms > 0)
        return error_set(error, ESP_TIMEOUT, "the time was over before a master agent was asked");
    enum esp_status status = ask_round(route, request, until, heeds, hope, reply, &generation, error);
    if (status == ESP_OK || hope->told || !(is_down(status) || is_elsewhere(status)))
        return status;
    const bool known =
        generation > 0; /* then the masters' errors say more than that the redirector is gone */
    if (is_over(clock, until))
        return is_elsewhere(status) ? status : nobody_in_time(left_ms, error);
    bool changed, mute;
    enum esp_status learned = route_learn(route, generation, &changed, &mute, &why);
    hope->silent |= mute;
    if (learned != ESP_OK && !known) {
        *error = why;
        return learned;
    }
    if (learned != ESP_OK || (is_elsewhere(status) && !changed))
        return status;
    if (is_over(clock, until))
        return known && is_elsewhere(status) ? status : nobody_in_time(left_ms, error);
    /* A node that was silent a moment ago may just be silent, whatever the errors at the end of the time
     * say. */
    const bool silent = hope->silent;
    *hope = (struct route_hope){false};
    status = ask_round(route, request, until, heeds, hope, reply, &generation, error);
    hope->silent |= silent;
    return status;
}

enum esp_status route_try(struct route *route, const struct message *request, int64_t timeout_ms,
                          struct route_hope *hope, struct message *reply, struct esp_error *error)
{
    return ask(route, request, timeout_ms, true, hope, reply, error);
}

enum esp_status route_ask(struct route *route, const struct message *request, int64_t timeout_ms,
                          struct message *reply, struct esp_error *error)
{
    struct route_hope hope;
    return ask(route, request, timeout_ms, false, &hope, reply, error);
}

/* A question to all master agents. */

#define MOST_AT_ONCE 16 /* threads; further masters wait for a thread */

/* Asks all of them at the same time, with a thread each. Returns when all have answered or their time is
 * over. */
static void route_ask_each(struct route *route, struct route_question *questions, size_t n)
{
    struct thread_pool *pool = NULL;
    for (size_t i = 0; i < n; i++) {
        questions[i].route = route;
        questions[i].hurry = n > 1;
    }
    if (n > 1)
        thread_pool_create(n - 1 < MOST_AT_ONCE ? (unsigned)n - 1 : MOST_AT_ONCE, &pool, NULL);
    for (size_t i = 1; i < n; i++) {
        questions[i].job = (struct thread_job){.run = route_question_run, .arg = &questions[i]};
        if (!pool || !thread_pool_submit(pool, &questions[i].job))
            route_question_run(&questions[i]);
    }
    if (n > 0)
        route_question_run(&questions[0]);
    thread_pool_destroy(pool);
}

/* Frees the questions and their replies. */
static void route_questions_clear(struct route_question *questions, size_t n)
{
    for (size_t i = 0; i < n; i++)
        message_clear(&questions[i].reply);
    free(questions);
}

/* The master agent answered, and has nothing to say. */
static bool answered(enum esp_status status)
{
    return status == ESP_NO_SERVER || status == ESP_UNKNOWN_PROBLEM || status == ESP_NOT_FOUND;
}

/* The master agents that a redirector names now. If no redirector answers soon, the known ones. */
static enum esp_status locate_now(struct route *route, struct message *located, struct esp_error *error)
{
    const bool known = route_has_masters(route);
    const int64_t now_ns = clock_now_ns(transport_clock(route->transport));
    const int64_t before_ns = deadline_begin(known ? now_ns + ROUTE_AWAKE_MS * NS_PER_MS : CLOCK_NEVER);
    enum esp_status status = route_locate(route, located, error);
    deadline_end(before_ns);
    if (status == ESP_OK || !known)
        return status;
    message_clear(located);
    return route_known(route, located, error);
}

/* Moves the master that route_ask() would ask to the front. */
static void current_first(struct route *route, struct locate_reply *located)
{
    char first[CAP_ADDRESS + 1];
    if (!route_first(route, first))
        return;
    for (uint32_t i = 1; i < located->n_masters; i++)
        if (strcmp(located->masters[i].address, first) == 0) {
            const struct master_entry entry = located->masters[i];
            memmove(&located->masters[1], &located->masters[0], i * sizeof entry);
            located->masters[0] = entry;
        }
}

/* Calls `take` for the master agents that the redirector has lost. */
static void take_absent(const struct locate_reply *located, route_take *take, void *arg)
{
    const struct extension *absent = extension_find(&located->extensions, EXTENSION_ABSENT);
    struct absent_reader reader = {absent ? absent->value : NULL, absent ? absent->length : 0};
    struct node_record master;
    struct esp_error lost;
    while (absent_read(&reader, &master)) {
        error_set(&lost, ESP_UNREACHABLE, "the redirector has lost touch with master agent \"%s\" at %s",
                  master.name, master.address);
        take(arg, master.address, NULL, &lost);
    }
}

/* Passes on the answers, then the masters that did not answer. Returns whether any master answered. */
static bool take_each(const struct route_question *questions, size_t n, route_take *take, void *arg)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        if (questions[i].status == ESP_OK) {
            take(arg, questions[i].address, &questions[i].reply, NULL);
            any = true;
        }
    for (size_t i = 0; any && i < n; i++)
        if (questions[i].status != ESP_OK && !answered(questions[i].status))
            take(arg, questions[i].address, NULL, &questions[i].why);
    return any;
}

static enum esp_status ask_located(struct route *route, const struct locate_reply *located,
                                   const struct message *request, int64_t until_ns, route_take *take,
                                   void *arg, bool *any, struct esp_error *error)
{
    const size_t n = located->n_masters;
    struct route_question *questions = calloc(n ? n : 1, sizeof *questions);
    if (!questions)
        return error_no_memory(error, "the questions to the master agents");
    for (size_t i = 0; i < n; i++) {
        questions[i].address = located->masters[i].address;
        questions[i].request = request;
        questions[i].until_ns = until_ns;
    }
    route_ask_each(route, questions, n);
    *any = take_each(questions, n, take, arg);
    route_questions_clear(questions, n);
    return ESP_OK;
}

enum esp_status route_ask_all(struct route *route, const struct message *request, int64_t timeout_ms,
                              route_take *take, void *arg, struct esp_error *error)
{
    const struct clock *clock = transport_clock(route->transport);
    const int64_t until_ns = clock_now_ns(clock) + deadline_left_ms(clock, timeout_ms) * NS_PER_MS;
    struct message located = {0}, reply = {0};
    bool any = false;
    enum esp_status status = route_know(route, error);
    if (status == ESP_OK)
        status = locate_now(route, &located, error);
    if (status == ESP_OK) {
        current_first(route, &located.locate_reply);
        status = ask_located(route, &located.locate_reply, request, until_ns, take, arg, &any, error);
    }
    if (any)
        take_absent(&located.locate_reply, take, arg);
    message_clear(&located);
    if (any || status != ESP_OK)
        return status;
    /* No master agent can tell. route_ask() says why. */
    const int64_t left_ms = (until_ns - clock_now_ns(clock)) / NS_PER_MS;
    status = route_ask(route, request, left_ms > 0 ? left_ms : 1, &reply, error);
    if (status == ESP_OK)
        take(arg, "", &reply, NULL);
    message_clear(&reply);
    return status;
}

static enum esp_status ask_one(struct route *route, const char *address, const struct message *request,
                               int64_t until_ns, struct message *reply, struct esp_error *error)
{
    const int64_t left_ms = (until_ns - clock_now_ns(transport_clock(route->transport))) / NS_PER_MS;
    return left_ms > 0 ? route_ask_master(route, address, request, left_ms, reply, error)
                       : error_set(error, ESP_TIMEOUT, "there was no time left to ask");
}

void route_ask_others(struct route *route, const struct message *request, int64_t timeout_ms,
                      route_take_more *take, void *arg)
{
    const struct clock *clock = transport_clock(route->transport);
    const int64_t until_ns = clock_now_ns(clock) + timeout_ms * NS_PER_MS;
    struct masters masters;
    bool more = true;
    route_copy_masters(route, &masters);
    for (size_t i = 1; i < masters.n && more; i++) {
        struct message reply = {0};
        struct esp_error unread;
        const int64_t now_ns = clock_now_ns(clock), share_ns = (until_ns - now_ns) / (int64_t)(masters.n - i);
        if (ask_one(route, masters.addresses[i], request, now_ns + share_ns, &reply, &unread) == ESP_OK)
            more = take(arg, &reply);
        message_clear(&reply);
    }
}

/* Which master agent is asked first for a request that takes data which live on servers. Each master agent
 * knows the data of its own tree only, so the nearest one would have them sent to its servers from another
 * tree. All masters are asked at the same time for a forecast of the call, and the one whose best server
 * is expected to end first goes to the front. The choice is remembered for the next calls that take the
 * same data. */

#define LEAST_BYTES    (64 * 1024) /* fewer bytes move faster than the question is answered */
#define ASK_MS         2000        /* a master that has not answered by then is not chosen */
#define ASK_SHARE      3           /* and the question takes no more than this share of the time */
#define GAIN_S         1e-3        /* the nearest master stays first unless another one is sooner by this */
#define GAIN_SHARE     0.1         /* and by this share of the whole */
#define CHOICE_OLD_S   30.0        /* then all are asked again, because data move */
#define CHOICE_SLACK   2.0         /* a choice is dropped if its master forecasts more than this factor */
#define CHOICE_SLACK_S 0.05        /* and this time in addition */

static uint64_t datum_bytes(const struct request *request)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < request->n_arguments; i++)
        if (argument_is_datum(&request->arguments[i]))
            bytes += request->arguments[i].bytes;
    return bytes;
}

static bool counts_data(const struct message *message)
{
    return message->kind == MESSAGE_SUBMIT && !*message->submit.request.server &&
           datum_bytes(&message->submit.request) >= LEAST_BYTES;
}

/* FNV-1a, with the NUL of the text. */
static uint64_t mix(uint64_t hash, const char *text)
{
    const uint64_t prime = UINT64_C(0x100000001b3);
    do
        hash = (hash ^ (unsigned char)*text) * prime;
    while (*text++);
    return hash;
}

static uint64_t key_of(const struct request *request)
{
    uint64_t key = request->digest;
    for (uint32_t i = 0; i < request->n_arguments; i++)
        if (argument_is_datum(&request->arguments[i]))
            key = mix(key, request->arguments[i].datum);
    for (uint32_t i = 0; i < request->n_excluded; i++)
        key = mix(key, request->excluded[i]);
    return key;
}

/* ---- remembered choices ---- */

/* Called with the lock held. Returns NULL if no choice still counts. */
static struct data_choice *find_choice(struct route *route, uint64_t key)
{
    const int64_t now = now_ns(route);
    for (size_t i = 0; i < MOST_DATA_CHOICES; i++) {
        struct data_choice *choice = &route->data_choices[i];
        if (choice->address[0] && choice->key == key && (double)(now - choice->at_ns) / 1e9 < CHOICE_OLD_S)
            return choice;
    }
    return NULL;
}

/* Overwrites the oldest choice. */
static void remember(struct route *route, uint64_t key, const char *address, double end_s)
{
    pthread_mutex_lock(&route->lock);
    struct data_choice *place = find_choice(route, key);
    for (size_t i = 0; !place && i < MOST_DATA_CHOICES; i++)
        if (!route->data_choices[i].address[0])
            place = &route->data_choices[i];
    if (!place) {
        place = &route->data_choices[0];
        for (size_t i = 1; i < MOST_DATA_CHOICES; i++)
            if (route->data_choices[i].at_ns < place->at_ns)
                place = &route->data_choices[i];
    }
    *place = (struct data_choice){.key = key, .at_ns = now_ns(route), .end_s = end_s};
    strcpy(place->address, address);
    pthread_mutex_unlock(&route->lock);
}

static bool recall(struct route *route, uint64_t key, char *address)
{
    pthread_mutex_lock(&route->lock);
    const struct data_choice *choice = find_choice(route, key);
    if (choice)
        strcpy(address, choice->address);
    pthread_mutex_unlock(&route->lock);
    return choice != NULL;
}

/* ---- the choice ---- */

static bool is_excluded(const struct request *request, const char *server)
{
    for (uint32_t i = 0; i < request->n_excluded; i++)
        if (strcmp(request->excluded[i], server) == 0)
            return true;
    return false;
}

static double candidate_s(const struct candidate *candidate)
{
    return candidate->queue_s + candidate->transfer_s + candidate->compute_s;
}

/* End on the master's best server; infinite: it has none for this request. */
static double soonest_s(const struct submit_reply *reply, const struct request *request)
{
    double soonest = INFINITY;
    for (uint32_t i = 0; i < reply->n_candidates; i++) {
        const struct candidate *candidate = &reply->candidates[i];
        if (!is_excluded(request, candidate->server) && candidate_s(candidate) < soonest)
            soonest = candidate_s(candidate);
    }
    return soonest;
}

/* Asks the masters for forecasts, which place nothing. Returns the number of the best one. *end_s:
 * infinite if no master answered. */
static size_t find_best(struct route *route, const struct message *forecast, int64_t until_ns,
                        const struct masters *masters, double *end_s)
{
    struct route_question *questions = calloc(masters->n, sizeof *questions);
    size_t best = 0;
    *end_s = INFINITY;
    if (!questions)
        return 0;
    for (size_t i = 0; i < masters->n; i++) {
        questions[i].address = masters->addresses[i];
        questions[i].request = forecast;
        questions[i].until_ns = until_ns;
    }
    route_ask_each(route, questions, masters->n);
    for (size_t i = 0; i < masters->n; i++) {
        if (questions[i].status != ESP_OK)
            continue;
        const double one_s = soonest_s(&questions[i].reply.submit_reply, &forecast->submit.request);
        if (!isfinite(*end_s) ? one_s < *end_s : one_s + GAIN_S + GAIN_SHARE * *end_s < *end_s) {
            best = i;
            *end_s = one_s;
        }
    }
    route_questions_clear(questions, masters->n);
    return best;
}

/* Which master agent has the servers that end first. Returns false if no master can tell. */
static bool choose(struct route *route, const struct message *request, int64_t until_ns,
                   const struct masters *masters, char *address)
{
    struct message forecast = *request;
    struct extensions *extensions = &forecast.submit.request.extensions;
    const struct extensions all = *extensions;
    const int64_t now = now_ns(route), left_ns = (until_ns - now) / ASK_SHARE;
    const int64_t most_ns = ASK_MS * NS_PER_MS < left_ns ? ASK_MS * NS_PER_MS : left_ns;
    double end_s;
    struct extension *items = calloc(all.n + 1, sizeof *items);
    if (!items)
        return false;
    if (all.n > 0)
        memcpy(items, all.items, all.n * sizeof *items);
    items[all.n] = (struct extension){EXTENSION_FORECAST, (const uint8_t *)"", 0};
    *extensions = (struct extensions){items, all.n + 1};
    forecast.submit.time_left_ms = (uint64_t)(most_ns / NS_PER_MS);
    const size_t best = find_best(route, &forecast, now + most_ns, masters, &end_s);
    free(items);
    if (!isfinite(end_s))
        return false;
    strcpy(address, masters->addresses[best]);
    remember(route, key_of(&request->submit.request), address, end_s);
    return true;
}

/* If the request takes data, moves the master agent to the front below which the call is expected to end
 * first. All masters are asked at the same time, unless the choice for these data is known. */
static void route_data_first(struct route *route, const struct message *request, int64_t until_ns,
                             struct masters *masters)
{
    char address[CAP_ADDRESS + 1];
    if (masters->n < 2 || !counts_data(request))
        return;
    if (!recall(route, key_of(&request->submit.request), address) &&
        !choose(route, request, until_ns, masters, address))
        return;
    for (size_t i = 1; i < masters->n; i++)
        if (strcmp(masters->addresses[i], address) == 0) {
            memmove(masters->addresses[1], masters->addresses[0], i * sizeof masters->addresses[0]);
            strcpy(masters->addresses[0], address);
            return;
        }
}

/* Drops a choice that turns out wrong. `reply`: the master agent's, or NULL if it did not answer or could
 * not help. */
static void route_note_data(struct route *route, const char *address, const struct message *request,
                            const struct submit_reply *reply)
{
    if (!counts_data(request))
        return;
    pthread_mutex_lock(&route->lock);
    struct data_choice *choice = find_choice(route, key_of(&request->submit.request));
    const double end_s = reply ? soonest_s(reply, &request->submit.request) : INFINITY;
    if (choice && strcmp(choice->address, address) == 0 &&
        !(end_s <= CHOICE_SLACK * choice->end_s + CHOICE_SLACK_S))
        choice->address[0] = 0;
    pthread_mutex_unlock(&route->lock);
}
