/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions of clients that are gone, or seem to be. */
#include "tests/inproc/server_rig.h"

#include <string.h>

static struct rig rig;

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

/* A computation of 100 s; its client goes after half a second. */
static void begin_and_go(bool detached)
{
    static struct answered answer;
    struct rig_call call = {.session = rig_session(1, 1),
                            .problem = "task",
                            .flop = 100e9,
                            .patience_ms = 1000,
                            .timeout_s = 0.5,
                            .detached = detached};
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 10);
    assert_int_equal(answer.status, ESP_TIMEOUT);
    assert_int_equal(rig_counts(&rig).running, 1);
}

static void the_computation_of_a_client_that_is_gone_ends(void **state)
{
    (void)state;
    begin_and_go(false);
    rig_run(&rig, 7);
    assert_int_equal(rig_counts(&rig).running, 0);
    assert_int_equal(rig_counts(&rig).memory_used, 0);
    uint64_t sequence = 1;
    struct answered answer;
    rig_await(&rig, 1, 1, &sequence, 1, 1000, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.state, SESSION_CANCELLED);
    assert_int_equal(answer.outcome, ESP_UNREACHABLE);
    assert_non_null(strstr(answer.why, "nothing was heard of it for 15 s"));
}

static void who_comes_back_in_time_finds_its_computation(void **state)
{
    (void)state;
    begin_and_go(false);
    uint64_t sequence = 1;
    struct answered answer;
    rig_await(&rig, 1, 1, &sequence, 1, 200000, &answer);
    rig_run(&rig, 80);
    assert_int_equal(rig_counts(&rig).running, 1);
    rig_run(&rig, 20);
    assert_int_equal(answer.state, SESSION_DONE);
}

/* The client's wait was over before the server checked whether the client is there. */
static void who_dies_in_a_short_wait_is_missed(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = {
        .session = rig_session(1, 1), .problem = "task", .flop = 100e9, .patience_ms = 50};
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 14);
    assert_true(answer.done);
    assert_int_equal(rig_counts(&rig).running, 1);
    rig_run(&rig, 3);
    assert_int_equal(rig_counts(&rig).running, 0);
}

/* A server that was stopped finds at first that the lease of a client is over, and then what the client said
 * meanwhile. */
static void what_was_said_while_the_server_paused_is_heard(void **state)
{
    (void)state;
    struct answered answer, back;
    struct rig_call call = {
        .session = rig_session(1, 1), .problem = "task", .flop = 100e9, .patience_ms = 50};
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 15.5); /* 0.45 s longer than the lease */
    uint64_t sequence = 1;
    rig_await(&rig, 1, 1, &sequence, 1, 200000, &back);
    rig_run(&rig, 80);
    assert_int_equal(rig_counts(&rig).running, 1);
    rig_run(&rig, 20);
    assert_int_equal(back.state, SESSION_DONE);
}

static void a_detached_session_outlives_its_client(void **state)
{
    (void)state;
    begin_and_go(true);
    rig_run(&rig, 95);
    assert_int_equal(rig_counts(&rig).completed, 1);
    assert_int_equal(rig_counts(&rig).kept, 0); /* no large result */
}

static void who_breaks_off_in_a_transfer_gives_its_memory_back(void **state)
{
    (void)state;
    static double x[100000];
    struct answered answer;
    struct rig_call call = {.session = rig_session(1, 1), .n = 100000, .patience_ms = 1000};
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.state, SESSION_RECEIVING);
    assert_true(rig_counts(&rig).memory_used > sizeof x);
    struct message header = {.kind = MESSAGE_PUT,
                             .chunk = {.session = call.session, .argument = RIG_X, .length = sizeof x}};
    struct chunk_area area = {0};
    endpoint_enter(rig.endpoint);
    server_ops.chunk(rig.server, &header, true, &area);
    assert_non_null(area.data);
    server_ops.chunk_done(rig.server, &header, true, &area, false);
    endpoint_leave(rig.endpoint);
    rig_run(&rig, 2); /* it may come again */
    assert_true(rig_counts(&rig).memory_used > sizeof x);
    rig_run(&rig, 2);
    assert_int_equal(rig_counts(&rig).memory_used, 0);
}

/* The transport says that a connection is closed on which the client has waited. */
static void connection_closes(uint64_t client)
{
    struct session_id id = rig_session(client, 0);
    endpoint_enter(rig.endpoint);
    server_ops.parted(rig.server, &id);
    endpoint_leave(rig.endpoint);
}

static void begin(uint64_t client, uint64_t sequence, double seconds, bool detached, struct answered *answer)
{
    struct rig_call call = {.session = rig_session(client, sequence),
                            .oldest = 1,
                            .problem = "task",
                            .flop = seconds * 1e9,
                            .detached = detached};
    rig_call(&rig, &call, answer);
    rig_run(&rig, 0.1);
}

/* Nobody waited at that moment: the last answer had reached nobody. */
static void what_a_vanished_client_has_in_the_queue_is_not_begun(void **state)
{
    (void)state;
    struct answered answers[4];
    begin(1, 1, 5, false, &answers[0]);
    begin(1, 2, 5, false, &answers[1]);
    begin(2, 1, 5, false, &answers[2]);
    begin(1, 3, 5, true, &answers[3]); /* a job */
    assert_int_equal(rig.pool.started, 1);
    connection_closes(1);
    rig_run(&rig, 6);
    assert_int_equal(rig.pool.started, 2); /* the other client's */
    rig_run(&rig, 12);
    assert_int_equal(rig.pool.started, 3); /* the job lives on */
    rig_run(&rig, 10);
    assert_int_equal(rig.pool.started, 3);
    uint64_t sequence = 2;
    struct answered answer;
    rig_await(&rig, 1, 1, &sequence, 1, 1000, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.state, SESSION_CANCELLED);
    assert_int_equal(answer.outcome, ESP_UNREACHABLE);
    assert_int_equal(rig_counts(&rig).queued, 0);
}

static void who_comes_back_has_its_place_in_the_queue(void **state)
{
    (void)state;
    struct answered answers[3], back;
    uint64_t sequences[] = {2, 3};
    begin(1, 1, 5, false, &answers[0]);
    begin(1, 2, 5, false, &answers[1]);
    begin(1, 3, 5, false, &answers[2]);
    connection_closes(1);
    rig_run(&rig, 6);
    assert_int_equal(rig.pool.started, 1);
    rig_await(&rig, 1, 1, sequences, 2, 200000, &back);
    rig_run(&rig, 0.5);
    assert_int_equal(rig.pool.started, 2);
    rig_run(&rig, 5);
    assert_true(back.done);
    assert_int_equal(back.sequence, 2); /* in the old order */
}

static void a_client_that_waits_on_another_connection_is_not_missed(void **state)
{
    (void)state;
    struct answered answer, waited;
    uint64_t sequence = 1;
    begin(1, 1, 60, false, &answer);
    rig_await(&rig, 1, 1, &sequence, 1, 200000, &waited);
    rig_run(&rig, 1);
    connection_closes(1);
    rig_run(&rig, 40);
    assert_int_equal(rig_counts(&rig).running, 1);
    rig_run(&rig, 30);
    assert_int_equal(waited.state, SESSION_DONE);
}

static void who_has_all_results_may_close_its_connections(void **state)
{
    (void)state;
    struct answered answer, waited;
    uint64_t sequence = 1;
    begin(1, 1, 1, false, &answer);
    rig_run(&rig, 2);
    connection_closes(1);
    rig_run(&rig, 40);
    rig_await(&rig, 1, 1, &sequence, 1, 1000, &waited);
    rig_run(&rig, 0.1);
    assert_int_equal(waited.state, SESSION_DONE);
}

int main(void)
{
#define PLAIN(test) cmocka_unit_test_setup_teardown(test, open_plain, close_rig)
    const struct CMUnitTest tests[] = {
        PLAIN(the_computation_of_a_client_that_is_gone_ends),
        PLAIN(who_comes_back_in_time_finds_its_computation),
        PLAIN(who_dies_in_a_short_wait_is_missed),
        PLAIN(what_a_vanished_client_has_in_the_queue_is_not_begun),
        PLAIN(who_comes_back_has_its_place_in_the_queue),
        PLAIN(a_client_that_waits_on_another_connection_is_not_missed),
        PLAIN(who_has_all_results_may_close_its_connections),
        PLAIN(what_was_said_while_the_server_paused_is_heard),
        PLAIN(a_detached_session_outlives_its_client),
        PLAIN(who_breaks_off_in_a_transfer_gives_its_memory_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
