/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs at a server: what is kept without its client, for how long, and how much of it.
 */
#include "tests/inproc/server_rig.h"

#include <string.h>

static struct rig rig;

static void open_with(const struct rig_options *options)
{
    rig_open(&rig, options);
}

static int close_rig(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

/* A computation of so many seconds. */
static struct session_id begin(uint64_t client, double seconds)
{
    struct answered answer = {0};
    struct rig_call call = {
        .session = rig_session(client, 1), .problem = "task", .flop = seconds * 1e9, .job = true};
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.status, ESP_OK);
    return call.session;
}

static void keep(struct session_id session)
{
    struct answered answer = {0};
    rig_keep(&rig, session, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.status, ESP_OK);
    assert_true(answer.lease_ms > 0);
}

static void forget(uint64_t client)
{
    struct answered answer = {0};
    rig_await(&rig, client, 2, NULL, 0, 0, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.status, ESP_OK);
}

static enum session_state look(struct session_id session, struct answered *answer)
{
    *answer = (struct answered){0};
    rig_follow(&rig, session, UINT64_MAX, 1, 0, answer);
    rig_run(&rig, 0.1);
    return answer->status == ESP_OK ? answer->state : SESSION_UNKNOWN;
}

static void a_job_that_is_kept_goes_on_without_its_client(void **state)
{
    (void)state;
    open_with(&(struct rig_options){.job_lease_ns = 1000 * NS_PER_S});
    struct answered answer;
    struct session_id session = begin(1, 100);
    keep(session);
    rig_run(&rig, 50);
    assert_int_equal(look(session, &answer), SESSION_RUNNING);
    assert_int_equal(answer.lease_ms, 1000000);
    rig_run(&rig, 50);
    assert_int_equal(look(session, &answer), SESSION_DONE);
    rig_run(&rig, 500);
    assert_int_equal(look(session, &answer), SESSION_DONE);
    assert_true(answer.lease_ms > 490000 && answer.lease_ms < 510000);
}

/* Each job is a client of its own, but they take turns as their owner's. */
static void jobs_of_one_owner_take_turns_as_one_client(void **state)
{
    (void)state;
    open_with(&(struct rig_options){0});
    struct answered answers[7] = {0};
    static const double names[2] = {'a', 'b'};
    for (uint64_t i = 0; i < 7; i++) {
        const bool of_b = i >= 5;
        struct rig_call call = {.session = of_b ? rig_session(100, i) : rig_session(i + 1, 1),
                                .n = 1,
                                .x = &names[of_b],
                                .job = !of_b,
                                .owner = of_b ? NULL : "owner of these 5"};
        rig_call(&rig, &call, &answers[i]);
    }
    rig_run(&rig, 0.1);
    assert_string_equal(rig.pool.first, "aababaa");
}

static void a_job_that_is_never_kept_ends_with_its_client(void **state)
{
    (void)state;
    open_with(&(struct rig_options){0});
    struct answered answer;
    struct session_id session = begin(1, 100);
    rig_run(&rig, 14);
    assert_int_equal(rig_counts(&rig).running, 1);
    rig_run(&rig, 2);
    assert_int_equal(rig_counts(&rig).running, 0);
    assert_int_equal(look(session, &answer), SESSION_CANCELLED);
    assert_non_null(strstr(answer.why, "has not asked for it to be kept"));
}

static void who_waits_for_it_is_there(void **state)
{
    (void)state;
    open_with(&(struct rig_options){0});
    static struct answered waits;
    struct session_id session = begin(1, 100);
    rig_follow(&rig, session, UINT64_MAX, 1, 90000, &waits);
    rig_run(&rig, 60);
    assert_int_equal(rig_counts(&rig).running, 1);
    keep(session);
    rig_run(&rig, 60);
    assert_int_equal(rig_counts(&rig).completed, 1);
}

static void the_lease_of_jobs_ends(void **state)
{
    (void)state;
    open_with(&(struct rig_options){.job_lease_ns = 100 * NS_PER_S});
    struct answered answer;
    struct session_id session = begin(1, 1);
    keep(session);
    /* Asking does not make it longer. */
    for (int i = 0; i < 9; i++) {
        rig_run(&rig, 10);
        assert_int_equal(look(session, &answer), SESSION_DONE);
    }
    rig_run(&rig, 12);
    assert_int_equal(look(session, &answer), SESSION_FAILED);
    assert_int_equal(answer.outcome, ESP_TIMEOUT);
    assert_non_null(strstr(answer.why, "its result waited"));
    assert_int_equal(answer.lease_ms, 0);
}

static void forgetting_one_leaves_the_others(void **state)
{
    (void)state;
    open_with(&(struct rig_options){.slots = 3});
    struct answered answer;
    struct session_id one = begin(1, 1), other = begin(2, 1), running = begin(3, 100);
    keep(one);
    keep(other);
    keep(running);
    rig_run(&rig, 2);
    forget(1);
    forget(3);
    rig_run(&rig, 1);
    assert_int_equal(look(one, &answer), SESSION_UNKNOWN);
    assert_int_equal(look(other, &answer), SESSION_DONE);
    assert_int_equal(look(running, &answer), SESSION_UNKNOWN);
    assert_int_equal(rig_counts(&rig).running, 0);
}

/* copy(n) with arguments and results of 16 n bytes. */
static void send_large(uint64_t client, int n, const double *x, struct answered *answer)
{
    struct rig_call call = {.session = rig_session(client, 1), .n = n, .patience_ms = 0, .job = true};
    struct esp_error error;
    *answer = (struct answered){0};
    rig_call(&rig, &call, answer);
    rig_run(&rig, 0.1);
    if (answer->status != ESP_OK)
        return;
    assert_int_equal(answer->state, SESSION_RECEIVING);
    assert_int_equal(rig_put(&rig, call.session, RIG_X, 0, x, (uint64_t)n * sizeof *x, &error), ESP_OK);
    *answer = (struct answered){0};
    rig_run_session(&rig, call.session, 0, answer);
    rig_run(&rig, 0.1);
    keep(call.session);
}

static void jobs_take_half_of_the_memory(void **state)
{
    (void)state;
    enum { N = 1000000 }; /* 16 MB of a job, of which 8 are its result */
    static double x[N];
    open_with(&(struct rig_options){.memory_bytes = 64u << 20, .job_lease_ns = 100000 * NS_PER_S});
    struct answered answer;
    send_large(1, N, x, &answer);
    assert_int_equal(answer.status, ESP_OK);
    send_large(2, N, x, &answer);
    assert_int_equal(answer.status, ESP_OK);
    send_large(3, N, x, &answer);
    assert_int_equal(answer.status, ESP_LIMIT);
    assert_non_null(strstr(answer.text, "results have to be fetched first"));
    rig_run(&rig, 3000);
    assert_int_equal(rig_counts(&rig).completed, 2);
    /* Others have the rest. */
    struct rig_call call = {.session = rig_session(9, 1), .n = N};
    answer = (struct answered){0};
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.state, SESSION_RECEIVING);
    forget(1);
    forget(2);
    forget(9);
    rig_run(&rig, 1);
    assert_int_equal(rig_counts(&rig).memory_used, 0);
    send_large(4, N, x, &answer);
    assert_int_equal(answer.status, ESP_OK);
}

static void a_client_that_is_killed_while_sending_leaves_nothing(void **state)
{
    (void)state;
    open_with(&(struct rig_options){.receive_lease_ns = 60 * NS_PER_S});
    struct answered answer;
    struct rig_call call = {.session = rig_session(1, 1), .n = 100000, .job = true};
    answer = (struct answered){0};
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.state, SESSION_RECEIVING);
    rig_run(&rig, 62);
    assert_int_equal(rig_counts(&rig).memory_used, 0);
}

static const char task_and_once[] =
    "problem task \"only work\"\n    in double flop\n    in int k = 3\n    out double r\n    work flop\n"
    "implementation c\n    c task(flop, k, r) in libtask.so\n"
    "problem once \"not to be repeated\"\n    in double flop\n    in int k = 3\n    out double r\n"
    "    work flop\n    idempotent no\n"
    "implementation c\n    c task(flop, k, r) in libtask.so\n";

/* Maybe no client is there that would call it elsewhere: the call is carried out if possible. A call that
 * must not be repeated is not begun any more, and ends with an error when the server is back. */
static void a_server_that_ends_begins_kept_jobs_only_that_may_be_repeated(void **state)
{
    (void)state;
    open_with(&(struct rig_options){.problems = task_and_once});
    struct answered answer;
    struct session_id running = begin(1, 4);
    keep(running);
    const struct session_id queued = begin(2, 2);
    keep(queued);
    struct rig_call call = {.session = rig_session(3, 1), .problem = "once", .flop = 1e9, .job = true};
    answer = (struct answered){0};
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    assert_string_equal(answer.text, "");
    keep(call.session);
    server_drain(rig.server, false);
    assert_int_equal(look(call.session, &answer), SESSION_FAILED);
    assert_non_null(strstr(answer.why, "stopped before it began once: nothing was computed"));
    assert_int_equal(look(queued, &answer), SESSION_QUEUED);
    rig_run(&rig, 4);
    assert_int_equal(look(running, &answer), SESSION_DONE);
    assert_int_equal(look(queued, &answer), SESSION_RUNNING);
    server_leave(rig.server);
    rig_run(&rig, 0.1);
    assert_int_equal(look(queued, &answer), SESSION_UNKNOWN);
    assert_false(answer.unbegun);
}

/* Nothing more is sent for what will not be begun, and what it held is free. */
static void a_server_that_ends_hands_back_what_is_being_sent(void **state)
{
    (void)state;
    enum { N = 100000 };
    static double x[N];
    open_with(&(struct rig_options){.memory_bytes = 3 * N * sizeof *x});
    struct answered waits, answer = {0};
    struct esp_error error;
    struct rig_call call = {.session = rig_session(1, 1), .n = N};
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.state, SESSION_RECEIVING);
    const struct session_id receiving = call.session;
    assert_int_equal(rig_put(&rig, receiving, RIG_X, 0, x, 8000, &error), ESP_OK);
    call = (struct rig_call){.session = rig_session(2, 1), .n = N, .patience_ms = 60000};
    waits = (struct answered){0};
    rig_call(&rig, &call, &waits);
    rig_run(&rig, 0.1);
    assert_int_equal(rig_counts(&rig).waiting, 1);
    server_drain(rig.server, false);
    rig_run(&rig, 0.1);
    assert_int_equal(waits.state, SESSION_UNKNOWN);
    assert_true(waits.unbegun && !waits.awaited);
    assert_int_equal(rig_put(&rig, receiving, RIG_X, 8000, x, 8000, &error), ESP_NOT_FOUND);
    assert_non_null(strstr(error.text, "shutting down"));
    assert_int_equal(rig_counts(&rig).memory_used, 0);
}

int main(void)
{
#define CLOSED(test) cmocka_unit_test_teardown(test, close_rig)
    const struct CMUnitTest tests[] = {
        CLOSED(a_job_that_is_kept_goes_on_without_its_client),
        CLOSED(jobs_of_one_owner_take_turns_as_one_client),
        CLOSED(a_job_that_is_never_kept_ends_with_its_client),
        CLOSED(who_waits_for_it_is_there),
        CLOSED(the_lease_of_jobs_ends),
        CLOSED(forgetting_one_leaves_the_others),
        CLOSED(jobs_take_half_of_the_memory),
        CLOSED(a_client_that_is_killed_while_sending_leaves_nothing),
        CLOSED(a_server_that_ends_begins_kept_jobs_only_that_may_be_repeated),
        CLOSED(a_server_that_ends_hands_back_what_is_being_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
