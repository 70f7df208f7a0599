/* SPDX-License-Identifier: Apache-2.0
 *
 * Decisions that a master agent makes ahead of requests: they equal those that requests would have got,
 * and are made only where that is safe. */
#include "agent/agent_internal.h"
#include "core/choice/ahead.h"
#include "tests/inproc/platform.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

#define TINY_FLOP 1e3

static struct platform platform;
static double seen_s; /* of those before */

static int setup(void **state)
{
    (void)state;
    platform_open(&platform, 5);
    platform.agent_options.ahead = AHEAD_MOST;
    platform.server_options.slots = 2;
    seen_s = 1e-5;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    platform_close(&platform);
    return 0;
}

/* How many the answer decides ahead, and how many of all go to each server. */
static uint32_t ask(double work_flop, uint32_t wanted, uint32_t to[])
{
    struct request request = platform_request("job", work_flop);
    struct arena arena = {0};
    struct message reply = {0};
    struct esp_error error;
    uint8_t order[AHEAD_MOST];
    assert_true(ahead_ask(&request, &(struct ahead_wish){wanted, seen_s}, &arena));
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
    const uint32_t n = ahead_told(&reply.submit_reply, reply.submit_reply.n_candidates, order);
    for (uint32_t i = 0; to && i <= n; i++) {
        const char *name = reply.submit_reply.candidates[i == 0 ? 0 : order[i - 1]].server;
        for (size_t k = 0; k < platform.n_servers; k++)
            to[k] += strcmp(simulated_name(platform.servers[k]), name) == 0;
    }
    message_clear(&reply);
    arena_clear(&arena);
    return n;
}

static void equal_servers_get_equal_parts(void **state)
{
    (void)state;
    uint32_t to[4] = {0};
    platform_tree(&platform, 2, 2);
    assert_int_equal(ask(TINY_FLOP, 31, to), 31);
    for (int i = 0; i < 4; i++)
        assert_int_equal(to[i], 8);
}

static void they_are_spread_as_single_requests_are(void **state)
{
    (void)state;
    uint32_t ahead[3] = {0}, single[3] = {0};
    platform_agent(&platform, "ma", "");
    static const double speeds[] = {1e9, 3e8, 1e8};
    static const char *const names[] = {"fast", "middle", "slow"};
    for (int i = 0; i < 3; i++) {
        platform.server_options.speed_flops = speeds[i];
        platform_server(&platform, names[i], "ma");
    }
    assert_true(platform_settle(&platform, 0, 3, 5000));
    const uint32_t n = ask(TINY_FLOP, AHEAD_MOST, ahead);
    assert_int_equal(n, AHEAD_MOST);
    platform_run_ms(&platform, 30000); /* all is over, and told */
    for (uint32_t i = 0; i <= n; i++)
        ask(TINY_FLOP, 0, single);
    /* The durations of earlier calls have been learned meanwhile: one call may go elsewhere. */
    for (size_t i = 0; i < sizeof ahead / sizeof *ahead; i++)
        assert_in_range(ahead[i] + 1, single[i], single[i] + 2);
}

static void what_computes_is_not_decided_ahead(void **state)
{
    (void)state;
    platform_tree(&platform, 1, 2);
    assert_int_equal(ask(1e9, AHEAD_MOST, NULL), 0);
    assert_int_equal(ask(1e5, AHEAD_MOST, NULL), 8); /* 120 us each: of 1 ms */
    seen_s = 0.95e-4;
    assert_int_equal(ask(TINY_FLOP, AHEAD_MOST, NULL),
                     10);                           /* the forecast says 21 us, the client saw these */
    assert_int_equal(ask(0, AHEAD_MOST, NULL), 10); /* nobody else knows how long it takes */
    seen_s = 0.002;
    assert_int_equal(ask(TINY_FLOP, AHEAD_MOST, NULL), 0);
}

static void an_agent_may_decide_none(void **state)
{
    (void)state;
    platform.agent_options.ahead = 0;
    platform_tree(&platform, 1, 2);
    assert_int_equal(ask(TINY_FLOP, AHEAD_MOST, NULL), 0);
}

static void what_is_not_fresh_is_asked_for(void **state)
{
    (void)state;
    platform.agent_options.freshness_ms = -1;
    platform_tree(&platform, 1, 2);
    assert_int_equal(ask(TINY_FLOP, AHEAD_MOST, NULL), 0);
}

static void many_servers_share_them_as_far_as_they_are_told(void **state)
{
    (void)state;
    uint32_t to[20] = {0};
    platform_tree(&platform, 4, 5);
    const uint32_t n = ask(TINY_FLOP, AHEAD_MOST, to);
    assert_true(n >= AHEAD_SERVERS - 1);
    for (size_t i = 0; i < platform.n_servers; i++)
        assert_true(to[i] <= 1); /* nobody gets a second one while others are idle */
}

static void nonsense_is_cut(void **state)
{
    (void)state;
    struct candidate candidates[2] = {{0}};
    const uint8_t order[] = {0, 1, 1, 2, 0};
    struct arena arena = {0};
    struct submit_reply reply = {.candidates = candidates, .n_candidates = 2};
    uint8_t told[AHEAD_MOST];
    assert_int_equal(ahead_told(&reply, 2, told), 0);
    assert_true(ahead_tell(&reply, order, sizeof order, &arena));
    assert_int_equal(ahead_told(&reply, 1, told), 1);
    assert_int_equal(ahead_told(&reply, 2, told), 3);
    assert_memory_equal(told, order, 3);
    struct request request = {0};
    assert_true(extension_add(&request.extensions, EXTENSION_AHEAD, "ab", 2, &arena));
    assert_int_equal(ahead_asked(&request).n, 0);
    const double times[] = {1e-6, 0, -1, NAN, INFINITY};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        request = (struct request){0};
        assert_true(ahead_ask(&request, &(struct ahead_wish){1000, times[i]}, &arena));
        assert_int_equal(ahead_asked(&request).n, i == 0 ? AHEAD_MOST : 0);
    }
    arena_clear(&arena);
}

/* The queue in a decision is a difference of times; a rest from rounding counts as none. */
static void a_rest_of_rounding_is_no_queue(void **state)
{
    (void)state;
    const double compute_s = 0.1, transfer_s = 0.2;
    struct esp_server_view view = {
        .compute_s = compute_s, .transfer_s = transfer_s, .complete_s = compute_s + transfer_s};
    assert_true(view.complete_s - compute_s - transfer_s > 0);
    assert_true(submit_queue_s(&view) == 0);
    view.complete_s += 1e-6;
    assert_float_equal(submit_queue_s(&view), 1e-6, 1e-12);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(equal_servers_get_equal_parts),      TEST(they_are_spread_as_single_requests_are),
        TEST(what_computes_is_not_decided_ahead), TEST(an_agent_may_decide_none),
        TEST(what_is_not_fresh_is_asked_for),     TEST(many_servers_share_them_as_far_as_they_are_told),
        cmocka_unit_test(nonsense_is_cut),        cmocka_unit_test(a_rest_of_rounding_is_no_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
