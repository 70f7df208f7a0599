/* SPDX-License-Identifier: Apache-2.0
 *
 * A server daemon as a client sees it: identity, validation, data, waiting, ends. */
#include "tests/inproc/server_rig.h"

#include <stdio.h>
#include <stdlib.h>

static const double values[8] = {11, 12, 13, 14, 15, 16, 17, 18};

static struct rig rig;

static void open_with(struct rig_options options)
{
    rig_open(&rig, &options);
}

static int open_plain(void **state)
{
    (void)state;
    open_with((struct rig_options){.slots = 1});
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

/* ---- a call ---- */

static void a_small_call_brings_its_result(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = small_call(1, 1, 3);
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.01);
    assert_true(answer.done);
    assert_int_equal(answer.status, ESP_OK);
    assert_int_equal(answer.state, SESSION_DONE);
    assert_int_equal(answer.outcome, ESP_OK);
    assert_int_equal(answer.n_results, 1);
    assert_int_equal(answer.index[0], RIG_Y);
    assert_int_equal(answer.kind[0], KIND_INLINE);
    assert_int_equal(answer.bytes[0], 24);
    assert_true(answer.value[0] == 11);
    assert_true(answer.timings.compute_s > 0.0029 && answer.timings.compute_s < 0.0031);
    assert_true(answer.timings.forecast_s >= 0.003 && answer.timings.forecast_s < 0.0031);
}

static void an_unwanted_result_is_not_sent(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = small_call(1, 1, 3);
    call.unwanted = true;
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.01);
    assert_int_equal(answer.state, SESSION_DONE);
    assert_int_equal(answer.n_results, 0);
}

static void arrays_of_no_elements_are_valid(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = small_call(1, 1, 0);
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.01);
    assert_int_equal(answer.state, SESSION_DONE);
    assert_int_equal(answer.bytes[0], 0);
}

static void a_scalar_that_is_left_out_has_its_default(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = {
        .session = rig_session(1, 1), .problem = "task", .flop = 1000, .patience_ms = 1000};
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.01);
    assert_int_equal(answer.state, SESSION_DONE);
    assert_true(answer.value[0] == 3);
}

/* ---- wrong calls ---- */

static void expect_refusal(struct call_argument *arguments, uint32_t n, enum esp_status status,
                           const char *text)
{
    static uint64_t sequence = 100;
    struct answered answer;
    struct message request = {.kind = MESSAGE_CALL};
    uint64_t started = rig.pool.started;
    request.call = (struct call_request){.session = rig_session(9, ++sequence),
                                         .problem = "copy",
                                         .digest = rig_digest(&rig, "copy"),
                                         .arguments = arguments,
                                         .n_arguments = n,
                                         .patience_ms = 1000};
    rig_send(&rig, &request, 0, &answer);
    rig_run(&rig, 0.001);
    assert_true(answer.done);
    if (answer.status != status || !strstr(answer.text, text))
        fail_msg("expected \"%s\", found status %d \"%s\"", text, answer.status, answer.text);
    assert_int_equal(rig.pool.started, started);
    assert_int_equal(rig_counts(&rig).memory_used, 0);
}

static void a_call_that_does_not_fit_the_description_is_refused(void **state)
{
    (void)state;
    int32_t n = 3, negative = -1, huge = 2147483647;
    const uint8_t *N = (const uint8_t *)&n, *X = (const uint8_t *)values;
    struct call_argument size = {0, KIND_INLINE, 4, N, 4}, x = {1, KIND_INLINE, 24, X, 24};
    struct call_argument y = {2, KIND_WANTED, 0, NULL, 0};
#define REFUSED(status, text, ...)                                                                           \
    do {                                                                                                     \
        struct call_argument arguments[] = {__VA_ARGS__};                                                    \
        expect_refusal(arguments, sizeof arguments / sizeof *arguments, status, text);                       \
    } while (0)
    struct call_argument bad;
    REFUSED(ESP_INVALID, "n (int) is missing", x, y);
    REFUSED(ESP_INVALID, "the input x (24 bytes) is missing", size, y);
    REFUSED(ESP_INVALID, "x is given twice", size, x, x, y);
    bad = (struct call_argument){1, KIND_INLINE, 16, X, 16};
    REFUSED(ESP_INVALID, "x: expected 24 bytes (3 double), found 16", size, bad, y);
    bad = (struct call_argument){1, KIND_INLINE, 24, X, 16};
    REFUSED(ESP_INVALID, "24 bytes are announced, 16 are here", size, bad, y);
    bad = (struct call_argument){1, KIND_BULK, UINT64_MAX, NULL, 0};
    REFUSED(ESP_INVALID, "expected 24 bytes", size, bad, y);
    bad = (struct call_argument){0, KIND_INLINE, 8, X, 8};
    REFUSED(ESP_INVALID, "n: expected a scalar int of 4 bytes, found 8", bad, x, y);
    bad = (struct call_argument){0, KIND_BULK, 4, NULL, 0};
    REFUSED(ESP_INVALID, "n: expected a scalar input (inline), found kind \"bulk\"", bad, x, y);
    bad = (struct call_argument){2, KIND_INLINE, 24, X, 24};
    REFUSED(ESP_INVALID, "y: expected an output", size, x, bad);
    bad = (struct call_argument){1, KIND_WANTED, 0, NULL, 0};
    REFUSED(ESP_INVALID, "x: expected an input", size, bad, y);
    bad = (struct call_argument){1, KIND_DATUM, 0, X, 4};
    REFUSED(ESP_REFUSED, "keeps no data", size, bad, y);
    bad = (struct call_argument){1, 4711, 0, NULL, 0};
    REFUSED(ESP_INVALID, "found kind \"unknown\"", size, bad, y);
    bad = (struct call_argument){3, KIND_WANTED, 0, NULL, 0};
    REFUSED(ESP_INVALID, "no argument number 3", size, x, y, bad);
    bad = (struct call_argument){0, KIND_INLINE, 4, (const uint8_t *)&negative, 4};
    REFUSED(ESP_INVALID, "expected n >= 0, found n = -1", bad, x, y);
    bad = (struct call_argument){0, KIND_INLINE, 4, (const uint8_t *)&huge, 4};
    struct call_argument bulk = {1, KIND_BULK, UINT64_C(8) * 2147483647, NULL, 0};
    REFUSED(ESP_NO_MEMORY, "server sed has 105 MB in all (memory in the server's file)", bad, bulk, y);
#undef REFUSED
}

static void an_unknown_problem_is_refused_with_a_hint(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = small_call(1, 1, 1);
    call.digest = 5;
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.001);
    assert_int_equal(answer.status, ESP_UNKNOWN_PROBLEM);
    assert_non_null(strstr(answer.text, "another copy"));
    struct message request = {.kind = MESSAGE_CALL};
    request.call = (struct call_request){.session = rig_session(1, 2), .problem = "cpoy"};
    rig_send(&rig, &request, 0, &answer);
    rig_run(&rig, 0.001);
    assert_int_equal(answer.status, ESP_UNKNOWN_PROBLEM);
    assert_non_null(strstr(answer.text, "did you mean \"copy\"?"));
}

static void requests_for_other_nodes_are_refused(void **state)
{
    (void)state;
    struct answered answer;
    struct message submit = {.kind = MESSAGE_SUBMIT}, locate = {.kind = MESSAGE_LOCATE};
    rig_send(&rig, &submit, 0, &answer);
    rig_run(&rig, 0.001);
    assert_int_equal(answer.status, ESP_PROTOCOL);
    rig_send(&rig, &locate, 0, &answer);
    rig_run(&rig, 0.001);
    assert_int_equal(answer.status, ESP_PROTOCOL);
}

/* ---- identity ---- */

static void a_repeated_call_starts_nothing(void **state)
{
    (void)state;
    struct answered first, second, third;
    struct rig_call call = small_call(1, 1, 8);
    rig_call(&rig, &call, &first);
    rig_call(&rig, &call, &second);
    rig_run(&rig, 0.1);
    rig_call(&rig, &call, &third);
    rig_run(&rig, 0.1);
    assert_int_equal(rig.pool.started, 1);
    assert_int_equal(first.state, SESSION_DONE);
    assert_int_equal(second.state, SESSION_DONE);
    assert_int_equal(third.state, SESSION_DONE);
    assert_true(third.value[0] == 11);
}

static void a_wrong_secret_opens_nothing(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = small_call(1, 1, 8);
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    call.session.secret++;
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.001);
    assert_int_equal(answer.status, ESP_REFUSED);
    assert_non_null(strstr(answer.text, "secret"));
    rig_run_session(&rig, call.session, 0, &answer);
    rig_run(&rig, 0.001);
    assert_int_equal(answer.status, ESP_REFUSED);
    rig_cancel(&rig, call.session, &answer);
    rig_run(&rig, 0.001);
    assert_int_equal(answer.status, ESP_REFUSED);
    double y[8];
    uint64_t length = sizeof y;
    assert_int_equal(rig_get(&rig, call.session, RIG_Y, 0, y, &length, NULL), ESP_REFUSED);
    struct message request = {.kind = MESSAGE_AWAIT};
    struct await_entry entry = {1, call.session.secret};
    request.await = (struct await){1, 1, 0, &entry, 1, 1000};
    rig_send(&rig, &request, 0, &answer);
    rig_run(&rig, 0.001);
    assert_int_equal(answer.state, SESSION_UNKNOWN);
}

static void what_is_acknowledged_is_forgotten_and_refused(void **state)
{
    (void)state;
    struct answered answer;
    for (uint64_t i = 1; i <= 3; i++) {
        struct rig_call call = small_call(1, i, 8);
        rig_call(&rig, &call, &answer);
        rig_run(&rig, 0.1);
    }
    assert_int_equal(rig_counts(&rig).ended, 3);
    struct rig_call call = small_call(1, 4, 8);
    call.oldest = 3;
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(rig_counts(&rig).ended, 2);
    call = small_call(1, 2, 8);
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.status, ESP_REFUSED);
    assert_non_null(strstr(answer.text, "expected at least 3"));
    assert_int_equal(rig.pool.started, 4);
    rig_await(&rig, 1, 5, NULL, 0, 0, &answer); /* only acknowledges */
    rig_run(&rig, 0.001);
    assert_int_equal(answer.status, ESP_OK);
    assert_int_equal(rig_counts(&rig).ended, 0);
    assert_int_equal(rig_counts(&rig).memory_used, 0);
}

static void a_call_for_an_earlier_incarnation_is_stale(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = small_call(1, 1, 8);
    call.incarnation = 76;
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.status, ESP_STALE);
    call.incarnation = 77;
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.state, SESSION_DONE);
}

/* ---- limits ---- */

static void sessions_of_one_client_are_capped(void **state)
{
    (void)state;
    struct answered answer;
    open_with((struct rig_options){.sessions_per_client = 2});
    for (uint64_t i = 1; i <= 3; i++) {
        struct rig_call call = small_call(1, i, 1);
        rig_call(&rig, &call, &answer);
        rig_run(&rig, 0.1);
    }
    assert_int_equal(answer.status, ESP_LIMIT);
    assert_non_null(strstr(answer.text, "2 sessions"));
    struct rig_call other = small_call(2, 1, 1);
    rig_call(&rig, &other, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.state, SESSION_DONE);
    struct rig_call call = small_call(1, 3, 1);
    call.oldest = 2;
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.state, SESSION_DONE);
}

static void the_queue_is_capped(void **state)
{
    (void)state;
    struct answered answers[4];
    open_with((struct rig_options){.queue = 2});
    for (uint64_t i = 0; i < 4; i++) {
        struct rig_call call = small_call(1, i + 1, 8);
        rig_call(&rig, &call, &answers[i]);
    }
    rig_run(&rig, 0.1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(answers[i].state, SESSION_DONE);
    assert_int_equal(answers[3].status, ESP_LIMIT);
    assert_non_null(strstr(answers[3].text, "2 sessions wait on server sed; at most 2"));
}

/* One session runs; each client has its share of the waiting ones, in whatever order they came. */
static void a_full_queue_has_places_for_others(void **state)
{
    (void)state;
    static const bool taken[] = {true, true, true, true, true, false, false, true, true, false, true, false};
    static const uint64_t clients[] = {1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3};
    struct answered answers[12];
    open_with((struct rig_options){.queue = 4});
    for (uint64_t i = 0; i < 12; i++) {
        struct rig_call call = small_call(clients[i], i + 1, 8);
        rig_call(&rig, &call, &answers[i]);
    }
    rig_run(&rig, 0.1);
    for (int i = 0; i < 12; i++)
        if (taken[i])
            assert_int_equal(answers[i].state, SESSION_DONE);
        else
            assert_int_equal(answers[i].status, ESP_LIMIT);
}

static void results_that_nobody_acknowledges_are_capped(void **state)
{
    (void)state;
    struct answered answer;
    open_with((struct rig_options){.kept_bytes_per_client = 100});
    for (uint64_t i = 1; i <= 2; i++) {
        struct rig_call call = small_call(1, i, 8);
        rig_call(&rig, &call, &answer);
        rig_run(&rig, 0.1);
    }
    assert_int_equal(answer.status, ESP_LIMIT);
    assert_non_null(strstr(answer.text, "did not acknowledge take"));
    struct rig_call call = small_call(1, 2, 8);
    call.oldest = 2;
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.state, SESSION_DONE);
}

/* ---- slots and turns ---- */

static void at_most_as_many_run_as_there_are_slots(void **state)
{
    (void)state;
    struct answered answers[9];
    open_with((struct rig_options){.slots = 3});
    for (uint64_t i = 0; i < 9; i++) {
        struct rig_call call = small_call(1, i + 1, 5);
        rig_call(&rig, &call, &answers[i]);
    }
    rig_run(&rig, 0.012);
    assert_int_equal(rig_counts(&rig).running, 3);
    rig_run(&rig, 0.1);
    for (int i = 0; i < 9; i++)
        assert_int_equal(answers[i].state, SESSION_DONE);
    assert_int_equal(rig.pool.most_at_once, 3);
}

static void clients_take_turns(void **state)
{
    (void)state;
    struct answered answers[9];
    static const double names[3] = {'a', 'b', 'c'};
    for (uint64_t i = 0; i < 9; i++) {
        struct rig_call call = small_call(i < 5 ? 1 : i < 7 ? 2 : 3, i + 1, 1);
        call.x = &names[call.session.client_high - 1];
        rig_call(&rig, &call, &answers[i]);
    }
    rig_run(&rig, 0.1);
    assert_string_equal(rig.pool.first, "aabcabcaa");
}

static void a_worker_that_is_not_ready_is_tried_again(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = small_call(1, 1, 1);
    rig.pool.start_fails = ESP_LIMIT;
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.state, SESSION_DONE);
}

static void a_routine_that_cannot_be_called_fails_its_session(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = small_call(1, 1, 1);
    rig.pool.start_fails = ESP_SYSTEM;
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.status, ESP_OK);
    assert_int_equal(answer.state, SESSION_FAILED);
    assert_int_equal(answer.outcome, ESP_SYSTEM);
    assert_non_null(strstr(answer.why, "could not be started"));
}

static void a_crash_fails_one_session_and_no_other(void **state)
{
    (void)state;
    struct answered first, second;
    struct rig_call call = small_call(1, 1, 1);
    rig.pool.ends_with = ESP_CRASHED;
    rig_call(&rig, &call, &first);
    rig_run(&rig, 0.1);
    rig.pool.ends_with = ESP_OK;
    call = small_call(1, 2, 1);
    rig_call(&rig, &call, &second);
    rig_run(&rig, 0.1);
    assert_int_equal(first.state, SESSION_FAILED);
    assert_int_equal(first.outcome, ESP_CRASHED);
    assert_non_null(strstr(first.why, "the routine ended so"));
    assert_int_equal(second.state, SESSION_DONE);
    assert_int_equal(rig_counts(&rig).failed, 1);
    assert_int_equal(rig_counts(&rig).completed, 1);
}

/* A call that loses so many workers. */
static void call_losing(uint64_t sequence, uint32_t losses, bool unbegun, struct answered *answer)
{
    struct rig_call call = {
        .session = rig_session(1, sequence), .problem = "task", .flop = 1000, .patience_ms = 1000};
    rig.pool.loses = losses;
    rig.pool.unbegun = unbegun;
    rig_call(&rig, &call, answer);
    rig_run(&rig, 0.1);
}

static void a_lost_worker_is_replaced_by_another(void **state)
{
    (void)state;
    struct answered answer;
    call_losing(1, 2, false, &answer);
    assert_int_equal(answer.state, SESSION_DONE);
    assert_int_equal(rig.pool.started, 3);
    assert_int_equal(rig_counts(&rig).failed, 0);
}

static void a_call_that_loses_many_workers_may_be_to_blame(void **state)
{
    (void)state;
    struct answered answer;
    call_losing(1, 4, false, &answer);
    assert_int_equal(answer.state, SESSION_FAILED);
    assert_int_equal(answer.outcome, ESP_MAYBE);
    assert_non_null(strstr(answer.why, "its worker was killed, and others before it"));
    assert_int_equal(rig.pool.started, 4);
}

static void what_may_have_begun_is_not_begun_again(void **state)
{
    (void)state;
    struct answered answer;
    open_with((struct rig_options){.problems = "problem task \"not twice\"\n"
                                               "    in double flop\n"
                                               "    in int k = 3\n"
                                               "    out double r\n"
                                               "    work flop\n"
                                               "    idempotent no\n"
                                               "implementation c\n"
                                               "    c task(flop, k, r) in libtask.so\n"});
    call_losing(1, 1, false, &answer);
    assert_int_equal(answer.outcome, ESP_MAYBE);
    assert_int_equal(rig.pool.started, 1);
    call_losing(2, 1, true, &answer);
    assert_int_equal(answer.state, SESSION_DONE);
    assert_int_equal(rig.pool.started, 3);
}

/* ---- waiting ---- */

static void patience_ends_a_call_but_not_its_session(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = small_call(1, 1, 8);
    call.patience_ms = 3;
    double begin = rig_now(&rig);
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.005);
    assert_int_equal(answer.state, SESSION_RUNNING);
    assert_int_equal(answer.outcome, ESP_PENDING);
    assert_true(answer.at - begin > 0.0029 && answer.at - begin < 0.0045);
    rig_run_session(&rig, call.session, 1000, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.state, SESSION_DONE);
    assert_int_equal(rig.pool.started, 1);
}

static void who_waits_hears_how_many_are_before_it(void **state)
{
    (void)state;
    struct answered answers[4];
    for (uint64_t i = 0; i < 4; i++) {
        struct rig_call call = small_call(1, i + 1, 8);
        call.patience_ms = 1;
        rig_call(&rig, &call, &answers[i]);
    }
    rig_run(&rig, 0.003);
    assert_int_equal(answers[0].state, SESSION_RUNNING);
    for (int i = 1; i < 4; i++) {
        assert_int_equal(answers[i].state, SESSION_QUEUED);
        assert_int_equal(answers[i].ahead, i - 1);
    }
}

static void an_asker_that_goes_leaves_the_session_in_peace(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = small_call(1, 1, 8);
    call.timeout_s = 0.002; /* the transport gives up first */
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.1);
    assert_int_equal(answer.status, ESP_TIMEOUT);
    assert_int_equal(rig_counts(&rig).completed, 1);
    call.timeout_s = 0;
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.01);
    assert_int_equal(answer.state, SESSION_DONE);
    assert_int_equal(rig.pool.started, 1);
}

/* ---- stopping ---- */

static void cancelling_takes_out_of_the_queue(void **state)
{
    (void)state;
    struct answered answers[2], answer;
    for (uint64_t i = 0; i < 2; i++) {
        struct rig_call call = small_call(1, i + 1, 8);
        rig_call(&rig, &call, &answers[i]);
    }
    rig_run(&rig, 0.002);
    rig_cancel(&rig, rig_session(1, 2), &answer);
    rig_run(&rig, 0.001);
    assert_int_equal(answer.status, ESP_OK);
    assert_int_equal(answers[1].state, SESSION_CANCELLED);
    assert_int_equal(answers[1].outcome, ESP_CANCELLED);
    assert_false(answers[0].done);
    rig_run(&rig, 0.1);
    assert_int_equal(answers[0].state, SESSION_DONE);
    assert_int_equal(rig.pool.started, 1);
}

static void cancelling_stops_the_computation(void **state)
{
    (void)state;
    struct answered call_answer, answer, again;
    struct rig_call call = {
        .session = rig_session(1, 1), .problem = "task", .flop = 1e12, .patience_ms = 60000};
    rig_call(&rig, &call, &call_answer);
    rig_run(&rig, 0.01);
    rig_cancel(&rig, call.session, &again);
    rig_cancel(&rig, call.session, &answer);
    rig_run(&rig, 0.01);
    assert_int_equal(call_answer.state, SESSION_CANCELLED);
    assert_int_equal(rig.pool.cancelled, 1);
    assert_int_equal(rig_counts(&rig).running, 0);
    assert_int_equal(rig_counts(&rig).memory_used, 0);
    rig_cancel(&rig, call.session, &answer); /* it has ended: nothing to do */
    rig_run(&rig, 0.01);
    assert_int_equal(answer.status, ESP_OK);
    rig_cancel(&rig, rig_session(1, 99), &answer);
    rig_run(&rig, 0.01);
    assert_int_equal(answer.status, ESP_NOT_FOUND);
}

static void acknowledging_what_runs_stops_it(void **state)
{
    (void)state;
    struct answered call_answer, answer;
    struct rig_call call = {
        .session = rig_session(1, 1), .problem = "task", .flop = 1e12, .patience_ms = 60000};
    rig_call(&rig, &call, &call_answer);
    rig_run(&rig, 0.01);
    rig_await(&rig, 1, 2, NULL, 0, 0, &answer);
    rig_run(&rig, 0.01);
    assert_true(call_answer.done);
    assert_int_equal(call_answer.status, ESP_NOT_FOUND);
    assert_int_equal(rig.pool.cancelled, 1);
    struct server_counts counts = rig_counts(&rig);
    assert_int_equal(counts.running + counts.ended, 0);
    assert_int_equal(counts.memory_used, 0);
}

static void the_deadline_stops_queued_and_running(void **state)
{
    (void)state;
    struct answered answers[2];
    for (uint64_t i = 0; i < 2; i++) {
        struct rig_call call = {.session = rig_session(1, i + 1),
                                .problem = "task",
                                .flop = 1e12,
                                .time_left_ms = 5000,
                                .patience_ms = 60000};
        rig_call(&rig, &call, &answers[i]);
    }
    rig_run(&rig, 4.9);
    assert_false(answers[0].done || answers[1].done);
    rig_run(&rig, 0.2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(answers[i].state, SESSION_FAILED);
        assert_int_equal(answers[i].outcome, ESP_TIMEOUT);
    }
    assert_non_null(strstr(answers[0].why, "its computation was stopped"));
    assert_non_null(strstr(answers[1].why, "waiting in the queue"));
    assert_int_equal(rig_counts(&rig).running, 0);
}

static void a_result_waits_for_its_lease_and_is_never_computed_again(void **state)
{
    (void)state;
    struct answered answer;
    open_with((struct rig_options){.result_lease_ns = 10 * NS_PER_S});
    struct rig_call call = small_call(1, 1, 8);
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 9);
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.01);
    assert_int_equal(answer.state, SESSION_DONE);
    rig_run(&rig, 12);
    assert_int_equal(rig_counts(&rig).memory_used, 0);
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.01);
    assert_int_equal(answer.state, SESSION_FAILED);
    assert_int_equal(answer.outcome, ESP_TIMEOUT);
    assert_non_null(strstr(answer.why, "waited 10 s for its client"));
    assert_int_equal(rig.pool.started, 1);
    rig_run(&rig, 50); /* nobody comes any more */
    assert_int_equal(rig_counts(&rig).ended, 0);
    assert_int_equal(rig_counts(&rig).clients, 0);
}

/* ---- the catalogue, for clients ---- */

static void clients_can_ask_what_it_solves(void **state)
{
    (void)state;
    struct message reply, request = {.kind = MESSAGE_LIST, .list = {.after = "", .limit = 1}};
    assert_int_equal(transport_call(rig.transport, "sed", &request, 1000, &reply, NULL), ESP_OK);
    assert_int_equal(reply.list_reply.n, 1);
    assert_true(reply.list_reply.more);
    assert_string_equal(reply.list_reply.items[0].problem, "copy");
    assert_string_equal(reply.list_reply.items[0].title, "y := x");
    message_clear(&reply);
    request.list.after = "copy";
    assert_int_equal(transport_call(rig.transport, "sed", &request, 1000, &reply, NULL), ESP_OK);
    assert_string_equal(reply.list_reply.items[0].problem, "task");
    assert_false(reply.list_reply.more);
    message_clear(&reply);
    request = (struct message){.kind = MESSAGE_DESCRIBE, .describe = {.problem = "copy"}};
    assert_int_equal(transport_call(rig.transport, "sed", &request, 1000, &reply, NULL), ESP_OK);
    assert_int_equal(reply.describe_reply.digest, rig_digest(&rig, "copy"));
    struct problem_set *set;
    const char *text = reply.describe_reply.text;
    assert_int_equal(problem_parse(text, strlen(text), "told", &set, NULL), ESP_OK);
    assert_int_equal(set->problems[0]->digest, reply.describe_reply.digest);
    problem_set_destroy(set);
    message_clear(&reply);
    request.describe.problem = "nothing";
    assert_int_equal(transport_call(rig.transport, "sed", &request, 1000, &reply, NULL), ESP_UNKNOWN_PROBLEM);
    message_clear(&reply);
}

static void clients_can_ask_who_it_is(void **state)
{
    (void)state;
    struct message reply, request = {.kind = MESSAGE_GREET, .greet = {.minor = 9}};
    assert_int_equal(transport_call(rig.transport, "sed", &request, 1000, &reply, NULL), ESP_OK);
    assert_string_equal(reply.greet_reply.name, "sed");
    assert_int_equal(reply.greet_reply.role, ROLE_SERVER);
    assert_int_equal(reply.greet_reply.incarnation, 77);
    assert_int_equal(reply.greet_reply.minor, CONTRACT_MINOR);
    message_clear(&reply);
    request = (struct message){.kind = MESSAGE_TREE, .tree = {.node = ""}};
    assert_int_equal(transport_call(rig.transport, "sed", &request, 1000, &reply, NULL), ESP_OK);
    assert_int_equal(reply.tree_reply.n_records, 1);
    assert_int_equal(reply.tree_reply.records[0].memory_total, 100 << 20);
    assert_int_equal(reply.tree_reply.records[0].slots, 1);
    message_clear(&reply);
    request.tree.node = "elsewhere";
    assert_int_equal(transport_call(rig.transport, "sed", &request, 1000, &reply, NULL), ESP_NOT_FOUND);
    message_clear(&reply);
}

#define PLAIN(test)   cmocka_unit_test_setup_teardown(test, open_plain, close_rig)
#define SPECIAL(test) cmocka_unit_test_teardown(test, close_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAIN(a_small_call_brings_its_result),
        PLAIN(an_unwanted_result_is_not_sent),
        PLAIN(arrays_of_no_elements_are_valid),
        PLAIN(a_scalar_that_is_left_out_has_its_default),
        PLAIN(a_call_that_does_not_fit_the_description_is_refused),
        PLAIN(an_unknown_problem_is_refused_with_a_hint),
        PLAIN(requests_for_other_nodes_are_refused),
        PLAIN(a_repeated_call_starts_nothing),
        PLAIN(a_wrong_secret_opens_nothing),
        PLAIN(what_is_acknowledged_is_forgotten_and_refused),
        PLAIN(a_call_for_an_earlier_incarnation_is_stale),
        SPECIAL(sessions_of_one_client_are_capped),
        SPECIAL(the_queue_is_capped),
        SPECIAL(a_full_queue_has_places_for_others),
        SPECIAL(results_that_nobody_acknowledges_are_capped),
        SPECIAL(at_most_as_many_run_as_there_are_slots),
        PLAIN(clients_take_turns),
        PLAIN(a_worker_that_is_not_ready_is_tried_again),
        PLAIN(a_routine_that_cannot_be_called_fails_its_session),
        PLAIN(a_crash_fails_one_session_and_no_other),
        PLAIN(a_lost_worker_is_replaced_by_another),
        PLAIN(a_call_that_loses_many_workers_may_be_to_blame),
        SPECIAL(what_may_have_begun_is_not_begun_again),
        PLAIN(patience_ends_a_call_but_not_its_session),
        PLAIN(who_waits_hears_how_many_are_before_it),
        PLAIN(an_asker_that_goes_leaves_the_session_in_peace),
        PLAIN(cancelling_takes_out_of_the_queue),
        PLAIN(cancelling_stops_the_computation),
        PLAIN(acknowledging_what_runs_stops_it),
        PLAIN(the_deadline_stops_queued_and_running),
        SPECIAL(a_result_waits_for_its_lease_and_is_never_computed_again),
        PLAIN(clients_can_ask_what_it_solves),
        PLAIN(clients_can_ask_who_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
