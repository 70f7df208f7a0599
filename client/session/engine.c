/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/engine.h"
#include "services/state_folder.h"
#include "client/session/ahead.h"
#include "client/session/backlog.h"
#include "client/session/given_up.h"
#include "client/session/link.h"
#include "client/session/session.h"
#include "services/state_folder.h"
#include "util/clock.h"
#include "util/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define RUNNERS         16
#define FOLLOWERS       64 /* followed sessions whose output arrives at once; others wait */
#define CHAINS          32 /* asynchronous runs of abstract problems at once; others wait */
#define POLLERS         64 /* servers with asynchronous sessions that are polled at once */
#define CALL_TIMEOUT_MS 30000
#define INLINE_BYTES    (256 << 10)

/* The oldest session under way, or the next one. */
static void first_session(void *arg, struct session_id *first)
{
    struct engine *engine = arg;
    pthread_mutex_lock(&engine->marks_lock);
    *first = (struct session_id){
        .client_high = engine->client_high,
        .client_low = engine->client_low,
        .sequence = engine->unsettled ? engine->unsettled->id.sequence : engine->last_sequence + 1,
    };
    pthread_mutex_unlock(&engine->marks_lock);
}

/* A node that is awake answers a greeting at once. */
static int64_t greeting_ms(const struct engine *engine)
{
    const int64_t patience_ms = engine->answer_patience_ms;
    return patience_ms > 0 && patience_ms < engine->call_timeout_ms ? patience_ms : engine->call_timeout_ms;
}

/* A program's limit for a session also limits what comes before it. */
static int64_t lookup_silence_ms(const struct engine_options *options)
{
    const int64_t limits[] = {options->lookup_timeout_ms, options->session_timeout_ms};
    int64_t least_ms = options->silence_patience_ms;
    for (size_t i = 0; i < 2; i++)
        if (limits[i] > 0 && limits[i] < least_ms)
            least_ms = limits[i];
    return least_ms;
}

static enum esp_status create_parts(struct engine *engine, const struct engine_options *options,
                                    struct esp_error *error)
{
    const struct route_options route = {.transport = options->transport,
                                        .redirectors = options->redirectors,
                                        .n_redirectors = options->n_redirectors,
                                        .agents = options->agents,
                                        .n_agents = options->n_agents,
                                        .call_timeout_ms = engine->call_timeout_ms,
                                        .greeting_timeout_ms = greeting_ms(engine),
                                        .asker = first_session,
                                        .arg = engine};
    enum esp_status status = random_bytes(&engine->client_high, sizeof engine->client_high, error);
    if (status == ESP_OK)
        status = random_bytes(&engine->client_low, sizeof engine->client_low, error);
    if (status == ESP_OK)
        status = route_create(&route, &engine->route, error);
    if (status == ESP_OK)
        status = functions_create(options->transport, engine->route, engine->call_timeout_ms,
                                  engine->agent_patience_ms, engine->lookup_silence_ms, &engine->closing,
                                  &engine->functions, error);
    if (status == ESP_OK)
        status = thread_pool_create(RUNNERS, &engine->runners, error);
    if (status == ESP_OK)
        status = thread_pool_create(POLLERS, &engine->pollers, error);
    if (status == ESP_OK)
        status = thread_pool_create(FOLLOWERS, &engine->followers, error);
    if (status == ESP_OK)
        status = thread_pool_create(CHAINS, &engine->chains, error);
    if (status == ESP_OK && !(engine->ahead = ahead_create()))
        status = error_no_memory(error, "the client");
    if (status == ESP_OK)
        status = backlog_create(engine, &engine->backlog, error);
    return status;
}

enum esp_status engine_create(const struct engine_options *options, struct engine **result,
                              struct esp_error *error)
{
    struct engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return error_no_memory(error, "the client");
    pthread_mutex_init(&engine->links_lock, NULL);
    pthread_mutex_init(&engine->marks_lock, NULL);
    engine->transport = options->transport;
    engine->clock = transport_clock(options->transport);
    engine->call_timeout_ms = options->call_timeout_ms > 0 ? options->call_timeout_ms : CALL_TIMEOUT_MS;
    engine->agent_patience_ms = options->agent_patience_ms;
    engine->answer_patience_ms = options->answer_patience_ms;
    engine->silence_patience_ms = options->silence_patience_ms;
    engine->session_timeout_ms = options->session_timeout_ms;
    engine->lookup_silence_ms = lookup_silence_ms(options);
    engine->remembers = options->remember_links;
    engine->sounds = options->sound_links;
    engine->connection_trips = options->connection_trips;
    engine->habit = options->habit;
    engine->inline_bytes = options->inline_bytes > 0 ? options->inline_bytes : INLINE_BYTES;
    if (engine->inline_bytes > CAP_INLINE)
        engine->inline_bytes = CAP_INLINE;
    enum esp_status status = create_parts(engine, options, error);
    if (status == ESP_OK)
        *result = engine;
    else
        engine_destroy(engine);
    return status;
}

/* ---- closing ---- */

struct stop {
    struct link *link;
    struct session_id id;
};

/* Lists all sessions that some server may have, by their identities, because the sessions may end
 * meanwhile. */
static struct stop *list_stops(struct engine *engine, size_t *n)
{
    struct link *link, *next;
    struct session *session;
    size_t count = 0, used = 0;
    pthread_mutex_lock(&engine->links_lock);
    pthread_mutex_lock(&engine->marks_lock);
    DL_COUNT2(engine->unsettled, session, count, mark_next);
    HASH_ITER(hh, engine->links, link, next)
    {
        size_t held = 0;
        DL_COUNT2(link->held, session, held, mark_next);
        count += held;
    }
    struct stop *stops = calloc(count + 1, sizeof *stops);
    if (stops) {
        DL_FOREACH2(engine->unsettled, session, mark_next)
        {
            if (session->link)
                stops[used++] = (struct stop){session->link, session->id};
        }
        HASH_ITER(hh, engine->links, link, next)
        {
            DL_FOREACH2(link->held, session, mark_next)
            {
                stops[used++] = (struct stop){link, session->id};
            }
        }
    }
    pthread_mutex_unlock(&engine->marks_lock);
    pthread_mutex_unlock(&engine->links_lock);
    *n = used;
    return stops;
}

/* The latest first, so that cancelling a running session does not start one that waits on the server. */
static int by_age(const void *a, const void *b)
{
    const struct stop *x = a, *y = b;
    return (x->id.sequence < y->id.sequence) - (x->id.sequence > y->id.sequence);
}

void engine_close(struct engine *engine)
{
    atomic_store(&engine->closing, true);
    backlog_release_all(engine->backlog);
    size_t n;
    struct stop *stops = list_stops(engine, &n);
    const struct link *dead = NULL;
    if (stops)
        qsort(stops, n, sizeof *stops, by_age);
    for (size_t i = 0; stops && i < n; i++) {
        if (stops[i].link == dead)
            continue;
        struct message request = {.kind = MESSAGE_CANCEL, .cancel = {.session = stops[i].id}}, reply = {0};
        enum esp_status status =
            transport_call(engine->transport, stops[i].link->address, &request, 2000, &reply, NULL);
        if (status == ESP_UNREACHABLE || status == ESP_TIMEOUT)
            dead = stops[i].link;
        message_clear(&reply);
    }
    free(stops);
    struct link *link, *next;
    pthread_mutex_lock(&engine->links_lock);
    HASH_ITER(hh, engine->links, link, next)
    link_release_all(link);
    pthread_mutex_unlock(&engine->links_lock);
}

void engine_destroy(struct engine *engine)
{
    if (!engine)
        return;
    backlog_destroy(engine->backlog); /* while there are runners */
    /* A poll job may still be running, and may have handed work to the runners. */
    thread_pool_destroy(engine->chains);
    thread_pool_destroy(engine->followers);
    thread_pool_destroy(engine->pollers);
    thread_pool_destroy(engine->runners);
    ahead_destroy(engine->ahead);
    free(engine->keepers.text);
    given_up_clear(engine);
    links_destroy(engine);
    if (engine->remembers && engine->last.sequence != 0)
        last_session_keep(&engine->last);
    functions_destroy(engine->functions);
    route_destroy(engine->route);
    pthread_mutex_destroy(&engine->marks_lock);
    pthread_mutex_destroy(&engine->links_lock);
    free(engine);
}
