/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/patience.h"
#include "client/session/engine.h"
#include "core/hierarchy/returning.h"
#include "util/clock.h"

#include <time.h>

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

/* Delay after which a wait notices that the library is being closed. */
#define LOOK_MS 10

void engine_pause(const atomic_bool *closing, int64_t ms)
{
    while (ms > 0 && !atomic_load(closing)) {
        const struct timespec piece = {.tv_nsec = (ms < LOOK_MS ? ms : LOOK_MS) * NS_PER_MS};
        nanosleep(&piece, NULL);
        ms -= LOOK_MS;
    }
}

/* ---- the deadline of a thread ---- */

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
