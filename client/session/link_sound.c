/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/link_sound.h"

#include "client/session/link.h"
#include "client/session/route.h"
#include "core/choice/aggregate.h"
#include "core/forecast/path.h"
#include "util/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The second ballast, where the first one is through sooner than this: it tells little of a quick link. */
#define LIGHT_BYTES (64 << 10)
#define HEAVY_BYTES (1 << 20)
#define LONG_S      0.05
/* Tag of an extension of a greeting that nobody reads. */
#define EXTENSION_BALLAST 80

static double now_s(const struct engine *engine)
{
    return (double)clock_now_ns(engine->clock) / NS_PER_S;
}

/* A greeting with so many bytes that nobody has a use for (and no line can compress). False: no answer. */
static bool greet_with(const struct link *link, uint32_t bytes, int64_t timeout_ms, double *seconds)
{
    struct engine *engine = link->engine;
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
    const bool answered =
        transport_call(engine->transport, link->address, &request, timeout_ms, &reply, NULL) == ESP_OK;
    *seconds = now_s(engine) - begun_s;
    message_clear(&reply);
    free(noise);
    return answered;
}

/* The answer is small: what the ballast took beyond a greeting without, it took on its way there. */
static bool sound(struct link *link, double until_s)
{
    double connect_s, trip_s, took_s, inverse = 0;
    const int64_t timeout_ms = (int64_t)(1e3 * (until_s - now_s(link->engine))) + 1;
    uint32_t bytes = LIGHT_BYTES;
    if (!greet_with(link, 0, timeout_ms, &connect_s) || !greet_with(link, 0, timeout_ms, &trip_s))
        return false;
    for (;; bytes = HEAVY_BYTES) {
        if (!greet_with(link, bytes, timeout_ms, &took_s))
            return false;
        inverse = path_inverse_bandwidth(trip_s / 2, bytes, fmax(took_s - trip_s, 0));
        if (bytes == HEAVY_BYTES || took_s >= LONG_S || now_s(link->engine) >= until_s)
            break;
    }
    link_sounded(link, trip_s, inverse > 0 ? 1 / inverse : 0);
    return inverse > 0;
}

static bool is_loopback(const char *address)
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

static void sound_candidates(struct engine *engine, const struct submit_reply *reply)
{
    const double until_s = now_s(engine) + LINK_SOUND_MOST_S;
    unsigned sounded = 0;
    for (uint32_t i = 0; i < reply->n_candidates && sounded < LINK_SOUND_MOST; i++) {
        const char *address = reply->candidates[i].address;
        if (is_loopback(address) || links_know(engine, address))
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
    if (!engine->sounds || bytes.in + bytes.out < LINK_GREAT_BYTES || *request->server || !is_due(engine))
        return;
    asked.submit.request.extensions = (struct extensions){&forecast, 1};
    if (route_ask(engine->route, &asked, engine->call_timeout_ms, &reply, &error) == ESP_OK)
        sound_candidates(engine, &reply.submit_reply);
    message_clear(&reply);
}
