/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory in the choice of a server: free memory, promised memory, memory of other programs. */
#include "tests/inproc/platform.h"
#include "tests/unit/unit.h"

#include <stdio.h>

static const char *first_of(struct platform *p, const struct request *request, char *name)
{
    struct message reply;
    struct esp_error error;
    assert_int_equal(platform_submit(p, "ma", request, &reply, &error), ESP_OK);
    snprintf(name, PLATFORM_NAME, "%s", reply.submit_reply.candidates[0].server);
    message_clear(&reply);
    return name;
}

/* "fast" and "slow" with two slots and 1000 bytes each. */
static void open_pair(struct platform *p, bool asking, uint64_t taken)
{
    platform_open(p, 32);
    p->server_options.slots = 2;
    p->server_options.memory = 1000;
    if (asking)
        p->agent_options.freshness_ms = -1;
    size_t master = platform_agent(p, "ma", "");
    p->server_options.memory_taken = taken;
    platform_server(p, "fast", "ma");
    p->server_options.memory_taken = 0;
    p->server_options.speed_flops = 0.7e9;
    platform_server(p, "slow", "ma");
    assert_true(platform_settle(p, master, 2, 30000));
}

static void what_does_not_fit_now_goes_where_it_does(void **state)
{
    (void)state;
    for (int asking = 0; asking < 2; asking++) {
        struct platform pair;
        char name[PLATFORM_NAME];
        open_pair(&pair, asking, 700);
        struct request big = platform_request("job", 1e9), small = big;
        big.memory_bytes = 600;
        assert_string_equal(first_of(&pair, &big, name), "slow");
        small.memory_bytes = 300;
        small.session.sequence = 2;
        assert_string_equal(first_of(&pair, &small, name), "fast");
        platform_close(&pair);
    }
}

/* Arguments that would fit, with a routine that would not: nobody is taken for silent. */
static void what_the_routine_takes_may_be_too_much(void **state)
{
    (void)state;
    struct platform one;
    struct esp_error error;
    struct message reply = {0};
    platform_open(&one, 33);
    one.server_options.memory = 40000000;
    one.server_options.memory_held = 60000000;
    one.server_options.routine_bytes = 25e6;
    size_t master = platform_agent(&one, "ma", "");
    platform_server(&one, "full", "ma");
    assert_true(platform_settle(&one, master, 1, 30000));
    struct request request = platform_request("job", 1e9);
    request.memory_bytes = 10000000;
    assert_int_equal(platform_submit(&one, "ma", &request, &reply, &error), ESP_OK);
    message_clear(&reply);
    request.memory_bytes = 20000000;
    request.session.sequence = 2;
    assert_int_equal(platform_submit(&one, "ma", &request, &reply, &error), ESP_NO_SERVER);
    assert_non_null(strstr(error.text,
                           "is forecast to take 45 MB of memory, its routine's own counted: server "
                           "\"full\", the biggest of 1, has 40 MB (others on its machine hold 60 MB"));
    message_clear(&reply);
    request.memory_bytes = 50000000; /* not even those */
    assert_int_equal(platform_submit(&one, "ma", &request, &reply, &error), ESP_NO_SERVER);
    assert_non_null(
        strstr(error.text, "needs 50 MB of memory, the biggest of 1 servers has 40 MB (memory in its file)"));
    message_clear(&reply);
    platform_close(&one);
}

/* The fast server has a slot free, but what was placed there a moment ago takes most of its memory. */
static void memory_is_promised_once(void **state)
{
    (void)state;
    struct platform pair;
    char name[PLATFORM_NAME];
    open_pair(&pair, false, 0);
    struct request big = platform_request("job", 1e9), small = big;
    big.memory_bytes = 600;
    small.memory_bytes = 300;
    assert_string_equal(first_of(&pair, &big, name), "fast");
    big.session.sequence = 2;
    assert_string_equal(first_of(&pair, &big, name), "slow");
    small.session.sequence = 3;
    assert_string_equal(first_of(&pair, &small, name), "fast");
    platform_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_now_goes_where_it_does),
        cmocka_unit_test(what_the_routine_takes_may_be_too_much),
        cmocka_unit_test(memory_is_promised_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
