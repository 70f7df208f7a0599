/* SPDX-License-Identifier: Apache-2.0
 *
 * A server whose machine has less memory than it may give to calls, because others have taken it.
 */
#include "tests/inproc/server_rig.h"

#include <stdio.h>

#define MIB (UINT64_C(1) << 20)
/* A forecast trusts its measurements after this many, even if earlier ones differed. */
#define READINGS 300
/* Elements of x, and as many of y, of a call that takes so many MiB. */
#define ELEMENTS(mib) ((int32_t)((mib)*MIB / 16 - 4096))

static struct rig rig;

static int open_rig(void **state)
{
    (void)state;
    rig_open(&rig, &(struct rig_options){.slots = 4, .memory_bytes = 100 * MIB, .parent = true});
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

/* The sensor says so for a while. */
static void machine_has(uint64_t available)
{
    for (int i = 0; i < READINGS; i++)
        server_sense_memory(rig.server, available, 0);
    rig_run(&rig, 0.2);
}

static void call(uint64_t sequence, uint64_t mib, struct answered *answer)
{
    rig_call(&rig, &(struct rig_call){.session = rig_session(1, sequence), .n = ELEMENTS(mib)}, answer);
    rig_run(&rig, 0.2);
}

static void cancel(uint64_t sequence)
{
    struct answered answer;
    rig_cancel(&rig, rig_session(1, sequence), &answer);
    rig_run(&rig, 0.2);
}

static uint32_t estimates_for(uint64_t mib)
{
    struct message message = {.kind = MESSAGE_ASK};
    message.ask = (struct ask){
        .id = 9,
        .breadth = 4,
        .time_left_ms = 1000,
        .request = {.problem = "copy", .digest = rig_digest(&rig, "copy"), .memory_bytes = mib * MIB}};
    rig.n_servers = 99;
    endpoint_enter(rig.parent);
    assert_int_equal(endpoint_post(rig.parent, "sed", 0, &message, NULL), ESP_OK);
    endpoint_leave(rig.parent);
    rig_run(&rig, 0.001);
    return rig.n_servers;
}

static void what_others_hold_is_told_and_given_to_nobody(void **state)
{
    (void)state;
    struct answered answer;
    assert_int_equal(rig.record.memory_total, 100 * MIB);
    machine_has(40 * MIB);
    assert_true(rig.record.memory_total > 36 * MIB && rig.record.memory_total < 40 * MIB);
    assert_int_equal(rig.record.memory_free, rig.record.memory_total);
    assert_int_equal(estimates_for(50), 0);
    assert_int_equal(estimates_for(30), 1);
    call(1, 50, &answer);
    assert_int_equal(answer.outcome == ESP_OK ? answer.status : answer.outcome, ESP_NO_MEMORY);
    assert_non_null(strstr(answer.text, "others on the machine of server sed leave "));
    call(2, 30, &answer);
    assert_int_equal(answer.state, SESSION_RECEIVING);
}

static void what_is_there_again_is_given_again(void **state)
{
    (void)state;
    struct answered answer;
    machine_has(40 * MIB);
    machine_has(10000 * MIB);
    assert_int_equal(rig.record.memory_total, 100 * MIB);
    assert_int_equal(estimates_for(90), 1);
    call(1, 90, &answer);
    assert_int_equal(answer.state, SESSION_RECEIVING);
}

/* The memory that a session has touched is missing on the machine, but belongs to the server. */
static void own_sessions_are_no_others(void **state)
{
    (void)state;
    static char piece[1 << 20];
    struct answered answer;
    struct esp_error error;
    machine_has(60 * MIB);
    const uint64_t before = rig.record.memory_total;
    call(1, 40, &answer);
    assert_int_equal(answer.state, SESSION_RECEIVING);
    for (uint64_t at = 0; at < 15; at++)
        if (rig_put(&rig, rig_session(1, 1), RIG_X, at << 20, piece, sizeof piece, &error) != ESP_OK)
            fail_msg("%s", error.text);
    machine_has(45 * MIB);
    if (rig.record.memory_total + MIB < before || rig.record.memory_total > before + MIB)
        fail_msg("%llu where it was %llu", (unsigned long long)rig.record.memory_total,
                 (unsigned long long)before);
    for (int i = 0; i < READINGS; i++) /* a worker's own memory is the server's, too */
        server_sense_memory(rig.server, 25 * MIB, 20 * MIB);
    rig_run(&rig, 0.2);
    assert_true(rig.record.memory_total + MIB > before);
}

static void what_own_sessions_hold_is_waited_for(void **state)
{
    (void)state;
    struct answered answers[2];
    machine_has(60 * MIB);
    call(1, 40, &answers[0]);
    call(2, 40, &answers[1]);
    assert_int_equal(answers[1].state, SESSION_WAITING);
    assert_int_equal(estimates_for(40), 1);
    cancel(1);
    assert_int_equal(rig_counts(&rig).waiting, 0);
    assert_int_equal(rig_counts(&rig).receiving, 1);
}

/* The one in front came while there was memory for it; those behind it do not wait for the others' end. */
static void who_is_too_large_now_holds_up_nobody(void **state)
{
    (void)state;
    struct answered answers[3];
    machine_has(90 * MIB);
    call(1, 60, &answers[0]);
    call(2, 70, &answers[1]);
    assert_int_equal(answers[1].state, SESSION_WAITING);
    machine_has(50 * MIB);
    assert_int_equal(rig.record.memory_free, 0); /* more is reserved than there is */
    call(3, 20, &answers[2]);
    assert_int_equal(answers[2].state, SESSION_WAITING);
    cancel(1);
    struct server_counts counts = rig_counts(&rig);
    assert_int_equal(counts.receiving, 1);
    assert_int_equal(counts.waiting, 1);
    machine_has(200 * MIB);
    assert_int_equal(rig_counts(&rig).waiting, 0);
    assert_int_equal(rig_counts(&rig).receiving, 2);
}

static void calls_of_little_memory_go_on_and_nonsense_changes_nothing(void **state)
{
    (void)state;
    struct answered answer;
    machine_has(0);
    call(1, 8, &answer);
    assert_int_equal(answer.state, SESSION_RECEIVING);
    const uint64_t before = rig.record.memory_total;
    machine_has(UINT64_MAX);
    assert_int_equal(rig.record.memory_total, before);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
    static const struct CMUnitTest tests[] = {
        TEST(what_others_hold_is_told_and_given_to_nobody),
        TEST(what_is_there_again_is_given_again),
        TEST(own_sessions_are_no_others),
        TEST(what_own_sessions_hold_is_waited_for),
        TEST(who_is_too_large_now_holds_up_nobody),
        TEST(calls_of_little_memory_go_on_and_nonsense_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
