/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the server at the other end is awake: a stopped process accepts connections but does not answer.
 */
#include "client/session/link.h"
#include "client/session/attempt.h"
#include "client/session/given_up.h"
#include "client/session/marks.h"
#include "core/forecast/told_links.h"
#include "util/clock.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

#define OPEN_MS        55000 /* the connection is still open: the ORB closes idle connections after a minute */
#define AWAKE_MS       1000  /* a server that has answered counts as awake for so long */
#define MUTE_MS        10000 /* and one that did not answer counts as silent for so long */
#define SOON_MS        500   /* while a greeting takes longer, the caller does something else */
#define GREET_PAUSE_MS 50    /* pause between greetings if connections break */
#define MOST_GREETINGS 4     /* to learn its incarnation */

/* The acknowledgement waits for no session, so it is answered at once. */
enum esp_status link_acknowledge_within(struct link *link, int64_t timeout_ms, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_AWAIT}, reply = {0};
    request.await = (struct await){.client_high = link->engine->client_high,
                                   .client_low = link->engine->client_low,
                                   .oldest_unacknowledged = marks_oldest(link->engine, link)};
    const unsigned trips = link_trips(link);
    const int64_t start_ns = clock_now_ns(link->engine->clock);
    enum esp_status status =
        transport_call(link->engine->transport, link->address, &request, timeout_ms, &reply, error);
    const double trip_s = (double)(clock_now_ns(link->engine->clock) - start_ns) / 1e9;
    if (status == ESP_OK)
        link_answered(link, trip_s, trips);
    message_clear(&reply);
    return status;
}

void link_acknowledge(struct link *link)
{
    link_acknowledge_within(link, link->engine->call_timeout_ms, NULL);
}

void link_heard(struct link *link)
{
    atomic_store(&link->heard_ns, clock_now_ns(link->engine->clock));
    atomic_store(&link->mute_ns, 0);
}

static bool heard_within(const struct link *link, int64_t ms)
{
    const int64_t heard_ns = atomic_load(&link->heard_ns);
    return heard_ns != 0 && clock_now_ns(link->engine->clock) - heard_ns < ms * NS_PER_MS;
}

unsigned link_trips(const struct link *link)
{
    return heard_within(link, OPEN_MS) ? 0 : link->engine->connection_trips;
}

uint8_t link_opening(const struct link *link)
{
    const bool greets = link->engine->answer_patience_ms > 0 && !heard_within(link, AWAKE_MS);
    return (uint8_t)(link_trips(link) | (greets ? TOLD_GREETS : 0));
}

static enum esp_status is_mute(int64_t patience_ms, struct esp_error *error)
{
    return error_set(error, ESP_UNREACHABLE,
                     "no answer to a greeting within %g s: it is stopped, overloaded or cut off",
                     (double)patience_ms / 1e3);
}

static void note_silence(struct link *link)
{
    atomic_store(&link->mute_ns, clock_now_ns(link->engine->clock) + MUTE_MS * NS_PER_MS);
}

/* Returns ESP_UNREACHABLE also if the server surely is not there. If the server does not answer soon, the
 * greeting is repeated in the background while `meanwhile` runs. */
static enum esp_status greet(struct link *link, int64_t patience_ms, const struct meanwhile *meanwhile,
                             struct esp_error *error)
{
    struct engine *engine = link->engine;
    int64_t first_ms = meanwhile ? SOON_MS : patience_ms;
    const int64_t start_ns = clock_now_ns(engine->clock);
    int64_t left_ms = patience_ms;
    while (left_ms > 0 && !atomic_load(&engine->closing)) {
        enum esp_status status =
            link_acknowledge_within(link, first_ms < left_ms ? first_ms : left_ms, error);
        if (status == ESP_UNREACHABLE) {
            atomic_store(&link->mute_ns, 0);
            return status;
        }
        if (status != ESP_TIMEOUT && status != ESP_MAYBE) {
            link_heard(link); /* whatever its answer to the call is */
            return ESP_OK;
        }
        if (first_ms < patience_ms)
            meanwhile->act(meanwhile->arg);
        first_ms = patience_ms;
        engine_pause(&engine->closing, GREET_PAUSE_MS);
        left_ms = patience_ms - (clock_now_ns(engine->clock) - start_ns) / NS_PER_MS;
    }
    note_silence(link);
    return is_mute(patience_ms, error);
}

/* Whether the server must be greeted before it is given a call. Sets the limit, which is shorter if a
 * greeting in the background has begun. */
static bool is_strange(struct link *link, int64_t most_ms, int64_t *patience_ms)
{
    const struct engine *engine = link->engine;
    const int64_t now_ns = clock_now_ns(engine->clock), greeted_ns = atomic_load(&link->greeted_ns);
    *patience_ms = engine->answer_patience_ms;
    if (*patience_ms <= 0 || heard_within(link, AWAKE_MS))
        return false;
    if (greeted_ns)
        *patience_ms -= (now_ns - greeted_ns) / NS_PER_MS;
    if (*patience_ms <= 0 || now_ns < atomic_load(&link->mute_ns))
        *patience_ms = 0;
    if (*patience_ms > most_ms)
        *patience_ms = most_ms;
    return true;
}

enum esp_status link_greet(struct link *link, int64_t most_ms, const struct meanwhile *meanwhile,
                           struct esp_error *error)
{
    int64_t patience_ms;
    if (!is_strange(link, most_ms, &patience_ms))
        return ESP_OK;
    return patience_ms > 0 ? greet(link, patience_ms, meanwhile, error)
                           : is_mute(link->engine->answer_patience_ms, error);
}

static void greet_job(void *arg)
{
    struct link *link = arg;
    struct esp_error error;
    greet(link, link->engine->answer_patience_ms, NULL, &error);
    atomic_store(&link->greeted_ns, 0);
    atomic_fetch_sub(&link->engine->greetings, 1);
}

void link_greet_beside(struct link *link)
{
    int64_t patience_ms, never = 0;
    if (!is_strange(link, INT64_MAX, &patience_ms) || patience_ms == 0 ||
        !atomic_compare_exchange_strong(&link->greeted_ns, &never, clock_now_ns(link->engine->clock)))
        return;
    link->greeting = (struct thread_job){.run = greet_job, .arg = link};
    atomic_fetch_add(&link->engine->greetings, 1);
    if (thread_pool_submit(link->engine->runners, &link->greeting))
        return;
    atomic_store(&link->greeted_ns, 0);
    atomic_fetch_sub(&link->engine->greetings, 1);
}

bool link_is_doubted(const struct link *link)
{
    return atomic_load(&link->greeted_ns) != 0 ||
           clock_now_ns(link->engine->clock) < atomic_load(&link->mute_ns);
}

bool link_is_silent(const struct link *link)
{
    return atomic_load(&link->mute_ns) != 0;
}

enum esp_status link_probe(struct link *link, int64_t most_ms, const struct meanwhile *meanwhile,
                           struct esp_error *error)
{
    const struct engine *engine = link->engine;
    int64_t patience_ms =
        engine->answer_patience_ms > 0 ? engine->answer_patience_ms : engine->call_timeout_ms;
    return greet(link, patience_ms < most_ms ? patience_ms : most_ms, meanwhile, error);
}

enum esp_status link_incarnation(struct link *link, int64_t most_ms, uint64_t *incarnation,
                                 struct esp_error *error)
{
    struct engine *engine = link->engine;
    struct message request = {.kind = MESSAGE_GREET, .greet = {.minor = CONTRACT_MINOR}};
    const int64_t timeout_ms = engine->call_timeout_ms < most_ms ? engine->call_timeout_ms : most_ms;
    enum esp_status status = ESP_OK;
    *incarnation = atomic_load(&link->incarnation);
    for (unsigned attempt = 0; attempt < MOST_GREETINGS && *incarnation == 0; attempt++) {
        struct message reply = {0};
        status = transport_call(engine->transport, link->address, &request, timeout_ms, &reply, error);
        if (status == ESP_OK)
            *incarnation = reply.greet_reply.incarnation;
        message_clear(&reply);
        if (status != ESP_MAYBE)
            break;
        engine_pause(&engine->closing, GREET_PAUSE_MS);
    }
    atomic_store(&link->incarnation, *incarnation);
    if (status == ESP_TIMEOUT)
        note_silence(link);
    if (status == ESP_MAYBE || status == ESP_TIMEOUT)
        return error->status = ESP_UNREACHABLE; /* a greeting executes nothing */
    return status;
}

#define POLL_MS        2500 /* one poll; a silent server is noticed after this */
#define SHARED_POLL_MS 250  /* one poll if more servers than threads wait for one */
#define MOST_IN_FLIGHT 3    /* polls at one server; more than one only while a newer one replaces it */
#define GATHER_MS      2    /* sessions that arrive in a burst share a poll */
#define MOST_FAILURES  4    /* failed polls in a row until the server is given up */
#define MOST_REFUSED   6  /* the same for sessions that may not go to another server, if its port is closed */
#define MOST_SCOUTS    16 /* problems of which one session each looks for another server */
#define SEARCH_MS      250 /* pause between searches of parked sessions for another server */
#define END_GRACE_MS   500 /* wait for the server's own report after a session's deadline */

static struct link *link_create(struct engine *engine, const char *address);

struct link *link_find(struct engine *engine, const char *address)
{
    struct link *link;
    size_t length = strlen(address);
    pthread_mutex_lock(&engine->links_lock);
    HASH_FIND(hh, engine->links, address, length, link);
    if (!link && (link = link_create(engine, address))) {
        HASH_ADD_KEYPTR(hh, engine->links, link->address, length, link);
        if (!link->hh.tbl) {
            free(link);
            link = NULL;
        }
    }
    pthread_mutex_unlock(&engine->links_lock);
    return link;
}

/* Waits for news, at most `ms`. */
static void wait_news(struct link *link, int64_t ms)
{
    const struct timespec until = clock_ms_from_now(CLOCK_MONOTONIC, ms);
    pthread_cond_timedwait(&link->news, &link->lock, &until);
}

/* ---- parking ---- */

static void park(struct link *link, struct session *session)
{
    session->parked = true;
    session->parked_after = link->newcomer = link->polls;
    DL_APPEND2(link->parked, session, park_prev, park_next);
    link->n_parked++;
    link->n_parked_async += session->ended != NULL;
}

/* Gives the session back to its owner: its thread, or the pool. */
static void deliver(struct link *link, struct session *session)
{
    DL_DELETE2(link->parked, session, park_prev, park_next);
    session->parked = false;
    link->n_parked--;
    if (!session->ended)
        return; /* its thread wakes with the others */
    link->n_parked_async--;
    /* Cannot fail: the session came from a runner. */
    thread_pool_submit(link->engine->runners, &session->job);
}

/* Whether the newest poll under way covers all parked sessions. */
static bool all_covered(const struct link *link)
{
    return link->active > link->newcomer;
}

static bool covered(const struct link *link, const struct session *session)
{
    return link->active > session->parked_after;
}

/* ---- polls ---- */

static struct session *find_parked(struct link *link, uint64_t sequence)
{
    struct session *session;
    DL_SEARCH_SCALAR2(link->parked, session, id.sequence, sequence, park_next);
    return session;
}

static void give_up(struct link *link, uint64_t poll, bool all, const struct esp_error *why)
{
    struct session *session, *next;
    DL_FOREACH_SAFE2(link->parked, session, next, park_next)
    {
        if (session->parked_after >= poll || (!all && !session_may_move(session)))
            continue; /* it was parked after the poll began: the server may be back */
        session->lost = true;
        session->remote_error = *why;
        deliver(link, session);
    }
}

/* Lets one session that has waited long in the server's queue look for another server. If all did so at
 * once, agents would answer all of them for each session that moves. */
static void let_one_search(struct link *link, int64_t now_ns)
{
    struct session *session;
    if (now_ns < link->quiet_ns)
        return;
    DL_FOREACH2(link->parked, session, park_next)
    {
        if (now_ns < session_search_ns(session))
            continue;
        link->quiet_ns = now_ns + SEARCH_MS * NS_PER_MS;
        session->restless = true;
        deliver(link, session);
        pthread_cond_broadcast(&link->news);
        return;
    }
}

/* Milliseconds until let_one_search() finds the session. */
static int64_t search_ms(const struct link *link, const struct session *session, int64_t now_ns)
{
    const int64_t due_ns = session_search_ns(session),
                  search_ns = due_ns > link->quiet_ns ? due_ns : link->quiet_ns;
    return search_ns <= now_ns ? 1 : (search_ns - now_ns) / NS_PER_MS + 1;
}

static void expire(struct link *link)
{
    int64_t now = clock_now_ns(link->engine->clock);
    struct session *session, *next;
    let_one_search(link, now);
    DL_FOREACH_SAFE2(link->parked, session, next, park_next)
    {
        if (session->deadline_ns != CLOCK_NEVER && now >= session->deadline_ns + END_GRACE_MS * NS_PER_MS)
            deliver(link, session);
    }
}

/* After a late answer, the server is asked for the state of all sessions, which it answers at once. */
static bool build(struct link *link, struct message *request, int64_t *timeout_ms)
{
    struct await_entry *entries = arena_alloc(&request->arena, link->n_parked * sizeof *entries);
    uint32_t n = 0;
    struct session *session;
    if (!entries)
        return false;
    const int64_t now_ns = clock_now_ns(link->engine->clock);
    int64_t patience_ms = thread_pool_waiting(link->engine->pollers) > 0 ? SHARED_POLL_MS : POLL_MS,
            most_ms = INT64_MAX;
    DL_FOREACH2(link->parked, session, park_next)
    {
        if (n == CAP_SESSIONS)
            break;
        entries[n++] = (struct await_entry){.sequence = session->id.sequence, .secret = session->id.secret};
        int64_t left_ms = session_left_ms(session) + END_GRACE_MS;
        if (left_ms < most_ms)
            most_ms = left_ms;
        left_ms = search_ms(link, session, now_ns);
        if (left_ms < patience_ms)
            patience_ms = left_ms;
    }
    patience_ms = link->unanswered > 0 ? 0 : patience_ms < most_ms ? patience_ms : most_ms;
    *timeout_ms = given_up_answer_ms(link->engine, link->unanswered, patience_ms);
    if (*timeout_ms > most_ms)
        *timeout_ms = most_ms + 1; /* expire() ends it then */
    request->await = (struct await){.client_high = link->engine->client_high,
                                    .client_low = link->engine->client_low,
                                    .oldest_unacknowledged = marks_oldest(link->engine, link),
                                    .sessions = entries,
                                    .n_sessions = n,
                                    .patience_ms = (uint64_t)patience_ms};
    return true;
}

static void take_reports(struct link *link, const struct await_reply *reply)
{
    for (uint32_t i = 0; i < reply->n_sessions; i++) {
        struct session *session = find_parked(link, reply->sessions[i].sequence);
        if (!session)
            continue; /* an older poll has delivered it already */
        session_absorb(session, &reply->sessions[i]);
        deliver(link, session);
    }
}

/* Whether a server that did not answer in time may still be stopped. */
static bool may_go_on(const struct link *link)
{
    const struct engine *engine = link->engine;
    const int64_t least_ms = POLL_MS + engine->call_timeout_ms,
                  most_ms = engine->silence_patience_ms > least_ms ? engine->silence_patience_ms : least_ms;
    return clock_now_ns(engine->clock) - atomic_load(&link->heard_ns) < most_ms * NS_PER_MS;
}

int64_t link_pause_ms(unsigned failures, bool refused)
{
    if (refused && failures < MOST_FAILURES)
        return INT64_C(20) << failures;
    return INT64_C(20) << 2 * (refused ? failures - 2 : failures);
}

/* A server that refuses connections is gone. Sessions that may go to another server do so within about 300
 * ms. A restarted server restores the others, if at all; they wait as long as for a silent server. */
static void failed(struct link *link, uint64_t poll, enum esp_status status, const struct esp_error *why)
{
    const bool refused = status == ESP_UNREACHABLE;
    const unsigned failures = ++link->failures, n = link->n_parked;
    link->unanswered = 0;
    if (refused && failures >= MOST_FAILURES)
        give_up(link, poll, false, why);
    if (link->n_parked == 0) {
        link->failures = 0;
    } else if (link->n_parked < n) {
        return; /* the session of this thread may be one of those that go */
    } else if (failures < (refused ? MOST_REFUSED : MOST_FAILURES)) {
        wait_news(link, link_pause_ms(failures, refused));
    } else {
        give_up(link, poll, true, why);
        link->failures = 0;
    }
}

/* ---- a silent server ---- */

/* The poll was not answered, which is no failure of the connection: the session stays parked. */
static void not_answered(struct link *link, uint64_t poll, const struct esp_error *why)
{
    link->failures = 0;
    if (++link->unanswered >= MOST_FAILURES && !may_go_on(link))
        give_up(link, poll, true, why);
}

static void doubt(struct link *link, struct session *session)
{
    session->doubted = true;
    deliver(link, session);
}

/* Whether one of these is a session of the same problem; if not, it is added. */
static bool is_scouted(char (*problems)[PROBLEM_MAX_NAME + 1], unsigned *n, const char *problem)
{
    for (unsigned i = 0; i < *n; i++)
        if (strcmp(problems[i], problem) == 0)
            return true;
    if (*n == MOST_SCOUTS)
        return true;
    strcpy(problems[(*n)++], problem);
    return false;
}

/* Agents have lost the server: one session of each problem checks whether another server takes it, and
 * goes to the end of the list if none does. */
static void send_scouts(struct link *link, uint64_t poll)
{
    char problems[MOST_SCOUTS][PROBLEM_MAX_NAME + 1];
    unsigned n = 0;
    struct session *session, *next;
    DL_FOREACH_SAFE2(link->parked, session, next, park_next)
    {
        if (session->parked_after < poll && session_may_move(session) &&
            !is_scouted(problems, &n, session->problem))
            doubt(link, session);
    }
}

void link_doubt(struct link *link, const char *problem)
{
    struct session *session, *next;
    pthread_mutex_lock(&link->lock);
    DL_FOREACH_SAFE2(link->parked, session, next, park_next)
    {
        if (session_may_move(session) && strcmp(session->problem, problem) == 0)
            doubt(link, session);
    }
    pthread_cond_broadcast(&link->news);
    pthread_mutex_unlock(&link->lock);
}

/* The server's name, if it did not answer at once and one of the parked sessions may go elsewhere; else
 * "". */
static void name_silent(const struct link *link, char server[CAP_NAME + 1])
{
    const struct session *session;
    *server = 0;
    if (link->unanswered == 0)
        return;
    DL_FOREACH2(link->parked, session, park_next)
    {
        if (!session_may_move(session))
            continue;
        strcpy(server, session->server);
        return;
    }
}

/* Polls once for all parked sessions. Called with the lock held, which is released during the request. */
static void poll_once(struct link *link)
{
    struct message request = {.kind = MESSAGE_AWAIT}, reply = {0};
    struct esp_error error = {0};
    while (link->in_flight >= MOST_IN_FLIGHT)
        wait_news(link, SHARED_POLL_MS);
    if (link->n_parked == 0)
        return;
    enum esp_status status = ESP_NO_MEMORY;
    char server[CAP_NAME + 1];
    int64_t timeout_ms;
    bool lost = false;
    uint64_t number = link->active = ++link->polls;
    link->in_flight++;
    name_silent(link, server);
    if (build(link, &request, &timeout_ms)) {
        pthread_mutex_unlock(&link->lock);
        status = transport_call(link->engine->transport, link->address, &request, timeout_ms, &reply, &error);
        lost = status == ESP_TIMEOUT && *server && given_up_is_lost(link->engine, server, link->address);
        pthread_mutex_lock(&link->lock);
    }
    link->in_flight--;
    bool newest = link->active == number;
    if (newest)
        link->active = 0;
    if (lost)
        send_scouts(link, number);
    if (status == ESP_OK) {
        link_heard(link);
        link->failures = link->unanswered = 0;
        take_reports(link, &reply.await_reply);
    } else if (newest && status == ESP_TIMEOUT) {
        not_answered(link, number, &error);
    } else if (newest) {
        failed(link, number, status, &error);
    }
    expire(link);
    pthread_cond_broadcast(&link->news);
    message_clear(&request);
    message_clear(&reply);
}

/* ---- which thread polls ---- */

static void poll_job(void *arg)
{
    struct link *link = arg;
    pthread_mutex_lock(&link->lock);
    link->queued = false;
    if (link->in_flight > 0)
        wait_news(link, GATHER_MS);
    while (link->n_parked_async > 0 && !all_covered(link)) {
        poll_once(link);
        /* Other servers wait for a thread: the next turn is theirs. */
        if (link->n_parked_async > 0 && !link->queued && thread_pool_waiting(link->engine->pollers) > 0)
            break;
    }
    bool again = link->n_parked_async > 0 && !all_covered(link) && !link->queued;
    if (again)
        link->queued = thread_pool_submit(link->engine->pollers, &link->job);
    pthread_mutex_unlock(&link->lock);
}

/* Asynchronous sessions have no thread that would poll for them. Called with the lock held. */
static void want_poll(struct link *link)
{
    if (link->n_parked_async > 0 && !all_covered(link) && !link->queued)
        link->queued = thread_pool_submit(link->engine->pollers, &link->job);
}

void link_wait(struct link *link, struct session *session)
{
    pthread_mutex_lock(&link->lock);
    if (!session_is_cancelled(session))
        park(link, session);
    while (session->parked) {
        if (covered(link, session))
            wait_news(link, session_left_ms(session) + END_GRACE_MS);
        else
            poll_once(link);
        expire(link);
    }
    want_poll(link); /* this thread may have polled for them */
    pthread_mutex_unlock(&link->lock);
}

void link_park(struct link *link, struct session *session)
{
    pthread_mutex_lock(&link->lock);
    park(link, session);
    if (session_is_cancelled(session))
        deliver(link, session);
    want_poll(link);
    pthread_mutex_unlock(&link->lock);
}

void link_release(struct link *link, uint64_t sequence)
{
    pthread_mutex_lock(&link->lock);
    struct session *session = find_parked(link, sequence);
    if (session) {
        deliver(link, session);
        pthread_cond_broadcast(&link->news);
    }
    pthread_mutex_unlock(&link->lock);
}

void link_search_again(struct link *link)
{
    pthread_mutex_lock(&link->lock);
    link->quiet_ns = 0;
    let_one_search(link, clock_now_ns(link->engine->clock));
    pthread_mutex_unlock(&link->lock);
}

void link_release_all(struct link *link)
{
    pthread_mutex_lock(&link->lock);
    while (link->parked)
        deliver(link, link->parked);
    pthread_cond_broadcast(&link->news);
    pthread_mutex_unlock(&link->lock);
}

/* ---- creation and destruction ---- */

static struct link *link_create(struct engine *engine, const char *address)
{
    size_t length = strlen(address) + 1;
    struct link *link = calloc(1, sizeof *link + length);
    if (!link)
        return NULL;
    link->engine = engine;
    memcpy(link->address, address, length);
    link->job = (struct thread_job){.run = poll_job, .arg = link};
    pthread_mutex_init(&link->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&link->news, &attributes);
    pthread_condattr_destroy(&attributes);
    return link;
}

void links_destroy(struct engine *engine)
{
    struct link *link, *next;
    links_remember(engine);
    HASH_ITER(hh, engine->links, link, next)
    {
        HASH_DEL(engine->links, link);
        link_acknowledge_within(link, 500, NULL);
        pthread_cond_destroy(&link->news);
        pthread_mutex_destroy(&link->lock);
        free(link);
    }
}
