/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the server at the other end is awake: a process that is stopped takes connections and says nothing.
 */
#include "client/session/link.h"
#include "core/forecast/told_links.h"
#include "util/clock.h"

#include <string.h>

#define OPEN_MS        55000 /* a connection to it is open still: the ORB closes what is idle for a minute */
#define AWAKE_MS       1000  /* who has spoken is taken for awake for so long */
#define MUTE_MS        10000 /* and who did not answer for silent */
#define SOON_MS        500   /* a greeting that takes longer is waited for beside something else */
#define GREET_PAUSE_MS 50    /* between greetings, when connections break */
#define MOST_GREETINGS 4     /* for its incarnation */

/* It asks for no session, so it is answered at once. */
enum esp_status link_acknowledge_within(struct link *link, int64_t timeout_ms, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_AWAIT}, reply = {0};
    request.await = (struct await){.client_high = link->engine->client_high,
                                   .client_low = link->engine->client_low,
                                   .oldest_unacknowledged = engine_oldest(link->engine, link)};
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

/* ESP_UNREACHABLE also when it surely is not there. One that does not answer soon has its greeting repeated
 * behind what `meanwhile` does. */
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
            link_heard(link); /* whatever it says to the call itself */
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

/* Whether it has to be greeted before something is given to it, and for how long at most: less where that has
 * begun beside another one. */
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
