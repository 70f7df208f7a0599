/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/engine.h"
#include "client/session/ahead.h"
#include "client/session/backlog.h"
#include "client/session/given_up.h"
#include "client/session/link.h"
#include "client/session/session.h"
#include "core/hierarchy/returning.h"
#include "util/clock.h"
#include "util/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

struct patience patience_begin(int64_t gone_ms, int64_t silent_ms, int64_t now_ns)
{
    return (struct patience){.gone_ns = gone_ms * NS_PER_MS,
                             .silent_ns = (silent_ms > gone_ms ? silent_ms : gone_ms) * NS_PER_MS,
                             .begun_ns = now_ns,
                             .silence_ns = now_ns};
}

bool patience_lasts(struct patience *patience, bool silent, int64_t now_ns)
{
    if (silent) {
        patience->silence_ns = now_ns;
        return now_ns - patience->begun_ns < patience->silent_ns;
    }
    return now_ns - patience->silence_ns < patience->gone_ns;
}

void patience_tell(const char *whom, int64_t since_ns, int64_t now_ns, struct esp_error *error)
{
    if (now_ns - since_ns >= NS_PER_S)
        error_prefix(error, "waited %.3g s for %s", (double)(now_ns - since_ns) / NS_PER_S, whom);
}

#define RUNNERS         16
#define FOLLOWERS       64 /* followed sessions whose output comes at once; that of others waits for them */
#define CHAINS          32 /* asynchronous abstract problems that run at once; others wait */
#define POLLERS         64 /* servers with asynchronous sessions that are polled at once */
#define CALL_TIMEOUT_MS 30000
#define INLINE_BYTES    (256 << 10)

/* The session under way that is oldest, or the next one. */
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

/* Who is awake answers a greeting at once. */
static int64_t greeting_ms(const struct engine *engine)
{
    const int64_t patience_ms = engine->answer_patience_ms;
    return patience_ms > 0 && patience_ms < engine->call_timeout_ms ? patience_ms : engine->call_timeout_ms;
}

/* A program that has no time for a session has none for what comes before it. */
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

struct patience engine_patience(const struct engine *engine)
{
    return patience_begin(engine->agent_patience_ms, engine->silence_patience_ms,
                          clock_now_ns(engine->clock));
}

struct patience engine_patience_returning(const struct engine *engine)
{
    struct patience patience = engine_patience(engine);
    if (patience.gone_ns > 0 && patience.gone_ns < RETURNING_NS)
        patience.gone_ns = RETURNING_NS;
    return patience;
}

/* ---- closing ---- */

/* How late the closing of the library is noticed. */
#define LOOK_MS 10

void engine_pause(const atomic_bool *closing, int64_t ms)
{
    while (ms > 0 && !atomic_load(closing)) {
        const struct timespec piece = {.tv_nsec = (ms < LOOK_MS ? ms : LOOK_MS) * NS_PER_MS};
        nanosleep(&piece, NULL);
        ms -= LOOK_MS;
    }
}

struct stop {
    struct link *link;
    struct session_id id;
};

/* All sessions that some server may have, as their identities: the sessions may end meanwhile. */
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

/* The latest first: those that wait on a server are not to begin because those that run are cancelled. */
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
    /* A poll job may still be on its way out, and runners may have handed it its work. */
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

/* ---- marks ---- */

static enum esp_status refill(struct engine *engine, struct esp_error *error)
{
    enum esp_status status = random_bytes(engine->secrets, sizeof engine->secrets, error);
    if (status == ESP_OK)
        engine->n_secrets = sizeof engine->secrets / sizeof *engine->secrets;
    return status;
}

enum esp_status engine_draw(struct engine *engine, struct session *session, struct esp_error *error)
{
    if (session->is_job) {
        /* Alone with a client id of its own: nobody else's number says what to forget of it. */
        struct session_id id;
        enum esp_status drawn = random_bytes(&id, sizeof id, error);
        id.sequence = 1;
        pthread_mutex_lock(&engine->marks_lock);
        session->id = engine->last = id;
        pthread_mutex_unlock(&engine->marks_lock);
        return drawn;
    }
    pthread_mutex_lock(&engine->marks_lock);
    enum esp_status status = engine->n_secrets > 0 ? ESP_OK : refill(engine, error);
    if (status == ESP_OK) {
        session->id = (struct session_id){.client_high = engine->client_high,
                                          .client_low = engine->client_low,
                                          .sequence = ++engine->last_sequence,
                                          .secret = engine->secrets[--engine->n_secrets]};
        engine->last = session->id;
        DL_APPEND2(engine->unsettled, session, mark_prev, mark_next);
    }
    pthread_mutex_unlock(&engine->marks_lock);
    return status;
}

void engine_settle(struct engine *engine, struct session *session, struct link *link)
{
    pthread_mutex_lock(&engine->marks_lock);
    if (!session->settled && !session->is_job) {
        DL_DELETE2(engine->unsettled, session, mark_prev, mark_next);
        /* In the order of numbers; nearly always it is the newest. */
        struct session *before = link->held ? link->held->mark_prev : NULL;
        while (before && before->id.sequence > session->id.sequence)
            before = before == link->held ? NULL : before->mark_prev;
        if (before)
            DL_APPEND_ELEM2(link->held, before, session, mark_prev, mark_next);
        else
            DL_PREPEND2(link->held, session, mark_prev, mark_next);
        session->settled = true;
    }
    pthread_mutex_unlock(&engine->marks_lock);
}

void engine_retire(struct engine *engine, struct session *session)
{
    pthread_mutex_lock(&engine->marks_lock);
    if (session->id.sequence != 0) {
        if (session->settled)
            DL_DELETE2(session->link->held, session, mark_prev, mark_next);
        else if (!session->is_job)
            DL_DELETE2(engine->unsettled, session, mark_prev, mark_next);
        session->settled = false;
        session->id.sequence = 0;
    }
    pthread_mutex_unlock(&engine->marks_lock);
}

/* With the marks lock. */
static uint64_t oldest_of(const struct engine *engine, const struct link *link)
{
    uint64_t oldest = engine->last_sequence + 1;
    if (engine->unsettled && engine->unsettled->id.sequence < oldest)
        oldest = engine->unsettled->id.sequence;
    if (link->held && link->held->id.sequence < oldest)
        oldest = link->held->id.sequence;
    return oldest;
}

uint64_t engine_oldest(struct engine *engine, const struct link *link)
{
    pthread_mutex_lock(&engine->marks_lock);
    uint64_t oldest = oldest_of(engine, link);
    pthread_mutex_unlock(&engine->marks_lock);
    return oldest;
}

/* So many ended sessions may lie at a server until the oldest one has ended, too. */
#define YOUNG 16

bool engine_open(struct engine *engine, const struct link *link, struct open_sessions *open)
{
    pthread_mutex_lock(&engine->marks_lock);
    bool old = oldest_of(engine, link) + YOUNG < engine->last_sequence;
    if (old) {
        open->version = ++engine->open_version;
        open->ceiling = engine->last_sequence + 1;
        /* Both lists are in order: the lowest of them, and behind the last that has room nothing is said. */
        const struct session *a = engine->unsettled, *b = link->held;
        while (a || b) {
            bool first = a && (!b || a->id.sequence < b->id.sequence);
            uint64_t sequence = first ? a->id.sequence : b->id.sequence;
            if (!open_add(open, sequence)) {
                open->ceiling = sequence;
                break;
            }
            if (first)
                a = a->mark_next;
            else
                b = b->mark_next;
        }
    }
    pthread_mutex_unlock(&engine->marks_lock);
    return old;
}

static _Thread_local int64_t until_ns = CLOCK_NEVER;

int64_t deadline_begin(int64_t new_ns)
{
    const int64_t before_ns = until_ns;
    if (new_ns < until_ns)
        until_ns = new_ns;
    return before_ns;
}

void deadline_end(int64_t before_ns)
{
    until_ns = before_ns;
}

int64_t deadline_left_ms(const struct clock *clock, int64_t ms)
{
    if (until_ns == CLOCK_NEVER)
        return ms;
    const int64_t left_ns = until_ns - clock_now_ns(clock), left_ms = left_ns / NS_PER_MS;
    return left_ms < ms ? (left_ms > 0 ? left_ms : 0) : ms;
}

enum esp_status deadline_call(struct transport *transport, const char *address, const struct message *request,
                              int64_t ms, struct message *reply, struct esp_error *error)
{
    const int64_t left_ms = deadline_left_ms(transport_clock(transport), ms);
    if (left_ms == 0 && ms > 0)
        return error_set(error, ESP_TIMEOUT, "the time was over before %s was asked", address);
    return transport_call(transport, address, request, left_ms, reply, error);
}
