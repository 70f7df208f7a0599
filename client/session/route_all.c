/* SPDX-License-Identifier: Apache-2.0
 *
 * A question to all master agents.
 */
#include "client/session/deadline.h"
#include "client/session/route_internal.h"
#include "core/hierarchy/absent.h"
#include "util/clock.h"
#include "util/thread_pool.h"

#include <stdlib.h>
#include <string.h>

#define MOST_AT_ONCE 16 /* threads; more masters than that wait for a thread */

void route_ask_each(struct route *route, struct route_question *questions, size_t n)
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

void route_questions_clear(struct route_question *questions, size_t n)
{
    for (size_t i = 0; i < n; i++)
        message_clear(&questions[i].reply);
    free(questions);
}

/* The master agent answered, and has nothing to tell. */
static bool answered(enum esp_status status)
{
    return status == ESP_NO_SERVER || status == ESP_UNKNOWN_PROBLEM || status == ESP_NOT_FOUND;
}

/* The master agents that a redirector names now. If no redirector answers soon, the ones that are known. */
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

/* The one that route_ask() would ask goes to the front. */
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

/* Tells of the master agents that the redirector has lost. */
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

/* Answers come first, then the masters that did not answer. Returns whether any master answered. */
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
