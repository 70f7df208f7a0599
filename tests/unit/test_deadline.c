/* SPDX-License-Identifier: Apache-2.0
 *
 * What the client asks is asked within its deadline, however many there are to ask and whoever is silent:
 * here everybody is, and takes all the time that he is given, on a clock that only they move.
 */
#include "tests/unit/unit.h"

#include "client/session/deadline.h"
#include "client/session/link.h"
#include "client/session/route_internal.h"
#include "util/clock.h"

static struct manual_clock now;
static struct engine *engine;
static unsigned asked;

static enum esp_status say_nothing(struct transport *transport, const char *address,
                                   const struct message *request, int64_t timeout_ms, struct message *reply,
                                   struct esp_error *error)
{
    (void)transport;
    (void)request;
    asked++;
    now.time_ns += timeout_ms * NS_PER_MS;
    memset(reply, 0, sizeof *reply);
    return error_set(error, ESP_TIMEOUT, "%s: no answer in time", address);
}

static const struct transport_ops ops = {.call = say_nothing};
static struct transport transport = {&ops, &now.clock};

static int setup(void **state)
{
    static const char *const redirectors[] = {"red:1", "red:2", "red:3"};
    const struct engine_options options = {.transport = &transport,
                                           .redirectors = redirectors,
                                           .n_redirectors = 3,
                                           .call_timeout_ms = 3600 * 1000,
                                           .answer_patience_ms = 5000};
    (void)state;
    asked = 0;
    manual_clock_init(&now, NS_PER_S);
    return engine_create(&options, &engine, NULL) == ESP_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    engine_destroy(engine);
    return 0;
}

static void silent_redirectors_are_asked_within_one_deadline(void **state)
{
    (void)state;
    struct message reply = {0};
    struct esp_error error;
    bool silent;
    const int64_t until_ns = now.time_ns + 2 * NS_PER_S, before_ns = deadline_begin(until_ns);
    const enum esp_status status = route_locate_heeding(engine->route, false, &silent, &reply, &error);
    deadline_end(before_ns);
    assert_true(status != ESP_OK && silent);
    assert_true(asked > 1);
    assert_int_equal(now.time_ns, until_ns);
    message_clear(&reply);
}

static void a_silent_server_is_greeted_within_the_deadline_of_the_call(void **state)
{
    (void)state;
    struct esp_error error;
    const int64_t begun_ns = now.time_ns;
    struct link *link = link_find(engine, "s:1");
    assert_non_null(link);
    assert_int_equal(link_greet(link, 2000, NULL, &error), ESP_UNREACHABLE);
    assert_int_equal(now.time_ns, begun_ns + 2 * NS_PER_S);
}

static void nobody_is_asked_when_the_time_is_over(void **state)
{
    (void)state;
    struct message reply = {0}, request = {.kind = MESSAGE_GREET};
    struct esp_error error;
    const int64_t before_ns = deadline_begin(now.time_ns + NS_PER_S);
    assert_int_equal(deadline_call(&transport, "s:1", &request, 3600 * 1000, &reply, &error), ESP_TIMEOUT);
    assert_int_equal(asked, 1);
    assert_int_equal(deadline_call(&transport, "s:2", &request, 3600 * 1000, &reply, &error), ESP_TIMEOUT);
    assert_int_equal(asked, 1);
    assert_non_null(strstr(error.text, "the time was over before s:2 was asked"));
    deadline_end(before_ns);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(silent_redirectors_are_asked_within_one_deadline),
        TEST(a_silent_server_is_greeted_within_the_deadline_of_the_call),
        TEST(nobody_is_asked_when_the_time_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
