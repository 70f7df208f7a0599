/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/link_sound.h"

#include "client/session/access.h"
#include "client/session/link.h"
#include "client/session/route.h"
#include "client/session/sounding.h"
#include "core/choice/aggregate.h"
#include "util/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tag of an extension of a greeting that nobody reads. */
#define EXTENSION_BALLAST 80

static double now_s(const struct engine *engine)
{
    return (double)clock_now_ns(engine->clock) / NS_PER_S;
}

struct greeted {
    struct engine *engine;
    const char *address;
    double until_s;
};

/* With bytes that nobody has a use for (and no line can compress). */
static bool greet_with(void *arg, uint32_t bytes, double *seconds)
{
    const struct greeted *greeted = arg;
    struct engine *engine = greeted->engine;
    struct message request = {.kind = MESSAGE_GREET, .greet = {.minor = CONTRACT_MINOR}}, reply = {0};
    uint8_t *noise = bytes ? malloc(bytes) : NULL;
    uint64_t state = bytes;
    if (bytes && !noise)
        return false;
    for (uint32_t i = 0; i < bytes; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        noise[i] = (uint8_t)(state >> 56);
    }
    struct extension ballast = {EXTENSION_BALLAST, noise, bytes};
    request.greet.extensions = (struct extensions){&ballast, bytes > 0};
    const double begun_s = now_s(engine);
    const int64_t timeout_ms = (int64_t)(1e3 * fmax(greeted->until_s - begun_s, 0)) + 1;
    const bool answered =
        transport_call(engine->transport, greeted->address, &request, timeout_ms, &reply, NULL) == ESP_OK;
    *seconds = now_s(engine) - begun_s;
    message_clear(&reply);
    free(noise);
    return answered;
}

static void sound(struct link *link, double until_s)
{
    struct greeted greeted = {link->engine, link->address, until_s};
    double trip_s, rate_bps;
    if (!sounding_measure(greet_with, &greeted, until_s - now_s(link->engine), &trip_s, &rate_bps))
        return;
    link_heard(link);
    link_sounded(link, trip_s, rate_bps);
}

bool link_glance(struct engine *engine, const char *address, double most_s, double *trip_s, double *rate_bps)
{
    struct greeted greeted = {engine, address, now_s(engine) + LINK_SOUND_MOST_S}; /* the one under way */
    return sounding_glance(greet_with, &greeted, most_s, trip_s, rate_bps);
}

bool link_is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strncmp(address, "[::1]", 5) == 0 ||
           strncmp(address, "localhost", 9) == 0;
}

/* Whether it is time to look again; one thread at a time finds it so. */
static bool is_due(struct engine *engine)
{
    int_least64_t last = atomic_load(&engine->sounded_ns);
    const int64_t now_ns = clock_now_ns(engine->clock);
    return (last == 0 || now_ns - last > LINK_SOUND_AGAIN_S * NS_PER_S) &&
           atomic_compare_exchange_strong(&engine->sounded_ns, &last, now_ns);
}

/* Then a glance at the way to the agent would take longer than what it may tell. */
static bool is_near(struct engine *engine)
{
    char address[CAP_ADDRESS + 1];
    return route_first(engine->route, address) && link_is_loopback(address);
}

static void sound_candidates(struct engine *engine, const struct submit_reply *reply)
{
    const double until_s = now_s(engine) + LINK_SOUND_MOST_S;
    unsigned sounded = 0;
    for (uint32_t i = 0; i < reply->n_candidates && sounded < LINK_SOUND_MOST; i++) {
        const char *address = reply->candidates[i].address;
        if (link_is_loopback(address) || links_know(engine, address))
            continue;
        struct link *link = now_s(engine) < until_s ? link_find(engine, address) : NULL;
        if (!link || atomic_load(&engine->closing))
            return;
        sound(link, until_s);
        sounded++;
    }
}

void links_sound(struct engine *engine, const struct message *submit)
{
    const struct request *request = &submit->submit.request;
    const struct request_bytes bytes = request_client_bytes(request);
    struct extension forecast = {EXTENSION_FORECAST, (const uint8_t *)"", 0};
    struct message asked = *submit, reply = {0};
    struct esp_error error;
    const bool great = bytes.in + bytes.out >= LINK_GREAT_BYTES;
    if (!engine->sounds || bytes.in + bytes.out < LINK_MANY_BYTES || *request->server)
        return;
    if (great || !is_near(engine) || extension_find(&request->extensions, EXTENSION_FORECAST))
        access_sound(engine);
    if (!great || !is_due(engine))
        return;
    asked.submit.request.extensions = (struct extensions){&forecast, 1};
    if (route_ask(engine->route, &asked, engine->call_timeout_ms, &reply, &error) == ESP_OK)
        sound_candidates(engine, &reply.submit_reply);
    message_clear(&reply);
}
