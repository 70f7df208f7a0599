/* SPDX-License-Identifier: Apache-2.0
 *
 * Clients that wait for several sessions by one poll.
 */
#include "tests/inproc/server_rig.h"

static const double values[8] = {11, 12, 13, 14, 15, 16, 17, 18};

static struct rig rig;

static int open_plain(void **state)
{
    (void)state;
    rig_open(&rig, &(struct rig_options){.slots = 1});
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

static void await_tells_of_the_first_that_ends(void **state)
{
    (void)state;
    struct answered answers[2], poll;
    uint64_t sequences[] = {1, 2};
    for (uint64_t i = 1; i <= 2; i++) {
        struct rig_call call = small_call(1, i, 8);
        call.patience_ms = 0;
        rig_call(&rig, &call, &answers[i - 1]);
    }
    rig_run(&rig, 0.001);
    rig_await(&rig, 1, 0, sequences, 2, 60000, &poll);
    rig_run(&rig, 0.003);
    assert_false(poll.done);
    rig_run(&rig, 0.006);
    assert_true(poll.done);
    assert_int_equal(poll.n_sessions, 1);
    assert_int_equal(poll.sequence, 1);
    assert_int_equal(poll.state, SESSION_DONE);
    assert_true(poll.value[0] == 11);
    rig_await(&rig, 1, 2, sequences + 1, 1, 60000, &poll);
    rig_run(&rig, 0.1);
    assert_int_equal(poll.sequence, 2);
    assert_int_equal(rig_counts(&rig).ended, 1); /* the first one is acknowledged */
}

static void await_tells_at_once_what_is_known(void **state)
{
    (void)state;
    struct answered answer, poll = {.more = (struct answered[4]){{0}}};
    uint64_t sequences[] = {1, 2, 3};
    for (uint64_t i = 1; i <= 2; i++) {
        struct rig_call call = small_call(1, i, 1);
        rig_call(&rig, &call, &answer);
        rig_run(&rig, 0.1);
    }
    rig_await(&rig, 1, 0, sequences, 3, 60000, &poll);
    rig_run(&rig, 0.001);
    assert_true(poll.done);
    assert_int_equal(poll.n_sessions, 3);
    assert_int_equal(poll.state, SESSION_DONE);
    assert_int_equal(poll.more[0].state, SESSION_DONE);
    assert_int_equal(poll.more[1].state, SESSION_UNKNOWN);
    assert_int_equal(poll.more[1].sequence, 3);
}

static void a_newer_await_ends_the_older_one(void **state)
{
    (void)state;
    struct answered answers[2], older, newer;
    uint64_t sequences[] = {1, 2};
    for (uint64_t i = 1; i <= 2; i++) {
        struct rig_call call = small_call(1, i, 8);
        call.patience_ms = 0;
        rig_call(&rig, &call, &answers[i - 1]);
    }
    rig_run(&rig, 0.001);
    rig_await(&rig, 1, 0, sequences, 1, 60000, &older);
    rig_run(&rig, 0.001);
    rig_await(&rig, 1, 0, sequences, 2, 60000, &newer);
    rig_run(&rig, 0.001);
    assert_true(older.done);
    assert_int_equal(older.n_sessions, 0);
    assert_false(newer.done);
    rig_run(&rig, 0.1);
    assert_int_equal(newer.sequence, 1);
}

/* While a poll waits, abandoned sessions are acknowledged: the poll still gets the end of its own. */
static void an_acknowledgement_leaves_an_await_as_it_is(void **state)
{
    (void)state;
    struct answered answer, poll, nothing;
    const uint64_t sequence = 1;
    struct rig_call call = small_call(1, 1, 8);
    call.patience_ms = 0;
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.001);
    rig_await(&rig, 1, 0, &sequence, 1, 60000, &poll);
    rig_run(&rig, 0.001);
    rig_await(&rig, 1, 1, NULL, 0, 0, &nothing);
    rig_run(&rig, 0.001);
    assert_true(nothing.done);
    assert_false(poll.done);
    rig_run(&rig, 0.1);
    assert_true(poll.done);
    assert_int_equal(poll.sequence, 1);
    assert_int_equal(poll.state, SESSION_DONE);
}

static void patience_ends_an_await(void **state)
{
    (void)state;
    struct answered answer, poll;
    uint64_t sequence = 1;
    struct rig_call call = small_call(1, 1, 8);
    call.patience_ms = 0;
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.001);
    rig_await(&rig, 1, 0, &sequence, 1, 2, &poll);
    rig_run(&rig, 0.004);
    assert_true(poll.done);
    assert_int_equal(poll.status, ESP_OK);
    assert_int_equal(poll.n_sessions, 0);
}

int main(void)
{
#define PLAIN(test) cmocka_unit_test_setup_teardown(test, open_plain, close_rig)
    const struct CMUnitTest tests[] = {
        PLAIN(await_tells_of_the_first_that_ends),
        PLAIN(await_tells_at_once_what_is_known),
        PLAIN(a_newer_await_ends_the_older_one),
        PLAIN(an_acknowledgement_leaves_an_await_as_it_is),
        PLAIN(patience_ends_an_await),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
