/* SPDX-License-Identifier: Apache-2.0
 *
 * A question to all master agents.
 */
#include "client/session/route_internal.h"
#include "util/clock.h"

#include <string.h>

/* It answered, and has nothing to tell. */
static bool answered(enum esp_status status)
{
    return status == ESP_NO_SERVER || status == ESP_UNKNOWN_PROBLEM || status == ESP_NOT_FOUND;
}

static enum esp_status ask_one(struct route *route, const char *address, const struct message *request,
                               int64_t until_ns, struct message *reply, struct esp_error *error)
{
    const int64_t left_ms = (until_ns - clock_now_ns(transport_clock(route->transport))) / NS_PER_MS;
    return left_ms > 0 ? route_ask_master(route, address, request, left_ms, reply, error)
                       : error_set(error, ESP_TIMEOUT, "there was no time left to ask");
}

/* Those that were silent are told behind the others. */
static bool ask_masters(struct route *route, const struct masters *masters, const struct message *request,
                        int64_t until_ns, route_take *take, void *arg)
{
    struct esp_error why[MOST_MASTERS];
    struct message reply = {0};
    bool any = false;
    for (size_t i = 0; i < masters->n; i++) {
        why[i].status = ask_one(route, masters->addresses[i], request, until_ns, &reply, &why[i]);
        if (why[i].status == ESP_OK)
            take(arg, masters->addresses[i], &reply, NULL);
        any = any || why[i].status == ESP_OK;
        message_clear(&reply);
    }
    for (size_t i = 0; any && i < masters->n; i++)
        if (why[i].status != ESP_OK && !answered(why[i].status))
            take(arg, masters->addresses[i], NULL, &why[i]);
    return any;
}

enum esp_status route_ask_all(struct route *route, const struct message *request, int64_t timeout_ms,
                              route_take *take, void *arg, struct esp_error *error)
{
    const int64_t until_ns = clock_now_ns(transport_clock(route->transport)) + timeout_ms * NS_PER_MS;
    struct message reply = {0};
    struct masters masters;
    if (route_know(route, error) != ESP_OK)
        return error->status;
    route_copy_masters(route, &masters);
    if (ask_masters(route, &masters, request, until_ns, take, arg))
        return ESP_OK;
    /* The masters may be others by now; and this words why nobody can tell. */
    enum esp_status status = route_ask(route, request, timeout_ms, &reply, error);
    if (status == ESP_OK)
        take(arg, "", &reply, NULL);
    message_clear(&reply);
    return status;
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
