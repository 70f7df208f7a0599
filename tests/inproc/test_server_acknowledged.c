/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions that a server forgets because their client reports their end, though an older session is open. */
#include "tests/inproc/server_rig.h"

#include <string.h>

static struct rig rig;
static double values[8];

static int open_plain(void **state)
{
    (void)state;
    rig_open(&rig, &(struct rig_options){0});
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

static struct rig_call small_call(uint64_t client, uint64_t sequence, int32_t n)
{
    return (struct rig_call){
        .session = rig_session(client, sequence), .n = n, .x = values, .patience_ms = 1000};
}

static void short_sessions_are_forgotten_beside_a_long_one(void **state)
{
    (void)state;
    struct answered answer;
    for (uint64_t i = 1; i <= 9; i++) {
        struct rig_call call = small_call(1, i, 8);
        rig_call(&rig, &call, &answer);
        rig_run(&rig, 0.1);
    }
    assert_int_equal(rig_counts(&rig).ended, 9);
    struct open_range ranges[] = {{1, 2}, {7, 8}};
    struct open_sessions open = {.version = 5, .ceiling = 10, .ranges = ranges, .n = 2};
    struct rig_call call = small_call(1, 10, 8);
    call.oldest = 1;
    call.open = &open;
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(rig_counts(&rig).ended, 3); /* 1, 7 and 10 */
    call = small_call(1, 3, 8);
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.status, ESP_REFUSED);
    assert_non_null(strstr(answer.text, "acknowledged"));
    assert_int_equal(rig.pool.started, 10);
    /* An older message that was overtaken changes nothing. */
    open = (struct open_sessions){.version = 4, .ceiling = 11, .n = 0};
    call = small_call(1, 11, 8);
    call.oldest = 1;
    call.open = &open;
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(rig_counts(&rig).ended, 4);
}

static void many_old_ones_may_be_open_beside_those_that_have_ended(void **state)
{
    (void)state;
    enum { N = 150 };
    struct answered answer;
    struct open_sessions open = {.version = 1, .ceiling = N + 1};
    for (uint64_t i = 1; i <= N; i++) {
        struct rig_call call = small_call(1, i, 8);
        rig_call(&rig, &call, &answer);
        rig_run(&rig, 0.1);
        assert_true(i % 2 || open_add(&open, i));
    }
    struct rig_call call = small_call(1, N + 1, 8);
    call.oldest = 1;
    call.open = &open;
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(rig_counts(&rig).ended, N / 2 + 1);
    open_clear(&open);
}

int main(void)
{
#define PLAIN(test) cmocka_unit_test_setup_teardown(test, open_plain, close_rig)
    const struct CMUnitTest tests[] = {
        PLAIN(short_sessions_are_forgotten_beside_a_long_one),
        PLAIN(many_old_ones_may_be_open_beside_those_that_have_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
