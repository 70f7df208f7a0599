/* SPDX-License-Identifier: Apache-2.0
 *
 * The client asks within its deadline, however many nodes there are to ask and even if they are silent:
 * here all nodes are silent, and take all the time that they are given, on a clock that only they move. */
#include "tests/unit/unit.h"
#include "tests/unit/engine_rig.h"

#include "client/session/engine.h"
#include "client/session/link.h"
#include "client/session/route.h"

static struct engine_rig rig;
static unsigned asked;

static enum esp_status say_nothing(struct transport *transport, const char *address,
                                   const struct message *request, int64_t timeout_ms, struct message *reply,
                                   struct esp_error *error)
{
    (void)transport;
    asked++;
    return engine_rig_silence(&rig, address, request, timeout_ms, reply, error);
}

static const struct transport_ops ops = {.call = say_nothing};

static int setup(void **state)
{
    static const char *const redirectors[] = {"red:1", "red:2", "red:3"};
    (void)state;
    asked = 0;
    return engine_rig_begin(&rig, &ops,
                            (struct engine_options){.redirectors = redirectors,
                                                    .n_redirectors = 3,
                                                    .call_timeout_ms = 3600 * 1000,
                                                    .answer_patience_ms = 5000});
}

static int teardown(void **state)
{
    (void)state;
    engine_rig_end(&rig);
    return 0;
}

static void silent_redirectors_are_asked_within_one_deadline(void **state)
{
    (void)state;
    struct message reply = {0};
    struct esp_error error;
    bool silent;
    const int64_t until_ns = rig.now.time_ns + 2 * NS_PER_S, before_ns = deadline_begin(until_ns);
    const enum esp_status status = route_locate_heeding(rig.engine->route, false, &silent, &reply, &error);
    deadline_end(before_ns);
    assert_true(status != ESP_OK && silent);
    assert_true(asked > 1);
    assert_int_equal(rig.now.time_ns, until_ns);
    message_clear(&reply);
}

static void a_silent_server_is_greeted_within_the_deadline_of_the_call(void **state)
{
    (void)state;
    struct esp_error error;
    const int64_t begun_ns = rig.now.time_ns;
    struct link *link = link_find(rig.engine, "s:1");
    assert_non_null(link);
    assert_int_equal(link_greet(link, 2000, NULL, &error), ESP_UNREACHABLE);
    assert_int_equal(rig.now.time_ns, begun_ns + 2 * NS_PER_S);
}

static void nobody_is_asked_when_the_time_is_over(void **state)
{
    (void)state;
    struct message reply = {0}, request = {.kind = MESSAGE_GREET};
    struct esp_error error;
    const int64_t before_ns = deadline_begin(rig.now.time_ns + NS_PER_S);
    assert_int_equal(deadline_call(&rig.transport, "s:1", &request, 3600 * 1000, &reply, &error),
                     ESP_TIMEOUT);
    assert_int_equal(asked, 1);
    assert_int_equal(deadline_call(&rig.transport, "s:2", &request, 3600 * 1000, &reply, &error),
                     ESP_TIMEOUT);
    assert_int_equal(asked, 1);
    assert_non_null(strstr(error.text, "the time was over before s:2 was asked"));
    deadline_end(before_ns);
}

/* Takes its time, and a little more than that; a node that gets next to no time is not even reached. */
static enum esp_status say_nothing_late(struct transport *transport, const char *address,
                                        const struct message *request, int64_t timeout_ms,
                                        struct message *reply, struct esp_error *error)
{
    if (timeout_ms <= 1)
        return error_set(error, ESP_UNREACHABLE, "no connection in time");
    const enum esp_status status = say_nothing(transport, address, request, timeout_ms, reply, error);
    rig.now.time_ns += 200000;
    return status;
}

/* The node counts as silent, however much time is left, so that the client waits for it. */
static void a_stopped_master_is_silent_to_the_last_millisecond(void **state)
{
    static const struct transport_ops late = {.call = say_nothing_late};
    static const char *const agents[] = {"ma:1"};
    (void)state;
    for (int64_t call_ms = 9990; call_ms <= 10010; call_ms++) {
        struct message reply = {0}, request = {.kind = MESSAGE_DESCRIBE, .describe = {.problem = "dgesv"}};
        struct esp_error error;
        struct route_hope hope;
        engine_rig_begin(
            &rig, &late,
            (struct engine_options){
                .agents = agents, .n_agents = 1, .call_timeout_ms = call_ms, .answer_patience_ms = 5000});
        assert_int_equal(route_know(rig.engine->route, &error), ESP_OK);
        for (int i = 0; i < 2; i++) {
            const enum esp_status status =
                route_try(rig.engine->route, &request, call_ms, &hope, &reply, &error);
            assert_true(status == ESP_UNREACHABLE || status == ESP_TIMEOUT);
            assert_true(hope.silent);
            message_clear(&reply);
        }
        engine_rig_end(&rig);
    }
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(silent_redirectors_are_asked_within_one_deadline),
        TEST(a_silent_server_is_greeted_within_the_deadline_of_the_call),
        TEST(nobody_is_asked_when_the_time_is_over),
        cmocka_unit_test(a_stopped_master_is_silent_to_the_last_millisecond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
