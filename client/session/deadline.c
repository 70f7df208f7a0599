/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/deadline.h"
#include "util/clock.h"

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
