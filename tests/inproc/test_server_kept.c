/* SPDX-License-Identifier: Apache-2.0
 *
 * A server daemon and those who follow a session, or leave a state for later calls.
 */
#include "tests/inproc/server_rig.h"

#include <stdio.h>
#include <stdlib.h>

static const char problems[] = "problem task \"Takes a while\"\n"
                               "    in      double  flop\n"
                               "    in      int     k = 0\n"
                               "    out     double  r\n"
                               "    work    flop\n"
                               "implementation c\n"
                               "    c task(flop, k, r) in libtask.so\n"
                               "problem open \"Leaves a state\"\n"
                               "    in      double  flop\n"
                               "    out     state   s\n"
                               "    work    flop\n"
                               "    memory  1000000\n"
                               "implementation c\n"
                               "    c open(flop, s) in libtask.so\n"
                               "problem use \"Works on it\"\n"
                               "    in      double  flop\n"
                               "    in      state   s\n"
                               "    work    flop\n"
                               "implementation c\n"
                               "    c use(flop, s) in libtask.so\n"
                               "problem misuse \"Takes it for one of its own\"\n"
                               "    in      double  flop\n"
                               "    in      state   s\n"
                               "    work    flop\n"
                               "implementation c\n"
                               "    c use(flop, s) in libother.so\n";

static struct rig rig;
static struct problem_set *set;

static int open_rig(void **state)
{
    (void)state;
    rig_open(&rig, &(struct rig_options){.slots = 2, .problems = problems});
    assert_int_equal(problem_parse(problems, sizeof problems - 1, "test.esp", &set, NULL), ESP_OK);
    rig.pool.progress = -1;
    rig.pool.keeps = true;
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    problem_set_destroy(set);
    rig_close(&rig);
    return 0;
}

/* Calls one of the problems; `s` is the state's identity, or NULL. */
static void call(const char *problem, uint64_t sequence, double flop, const char *s, uint64_t patience_ms,
                 struct answered *answered)
{
    struct call_argument arguments[] = {{0, KIND_INLINE, sizeof flop, (const uint8_t *)&flop, sizeof flop},
                                        {strcmp(problem, "task") == 0 ? 2 : 1, KIND_WANTED, 0, NULL, 0}};
    if (s)
        arguments[1] = (struct call_argument){1, KIND_INLINE, strlen(s) + 1, (const uint8_t *)s,
                                              (uint32_t)strlen(s) + 1};
    struct message request = {.kind = MESSAGE_CALL};
    request.call = (struct call_request){.session = rig_session(1, sequence),
                                         .patience_ms = patience_ms,
                                         .problem = problem,
                                         .digest = problem_find(set, problem)->digest,
                                         .arguments = arguments,
                                         .n_arguments = 2};
    rig_send(&rig, &request, 0, answered);
}

/* ---- following ---- */

static void a_line_comes_while_the_session_runs(void **state)
{
    (void)state;
    struct answered called, first, second, end;
    call("task", 1, 10e9, NULL, 0, &called);
    rig_run(&rig, 0.1);
    rig_follow(&rig, rig_session(1, 1), 0, -1, 60000, &first);
    rig_run(&rig, 1);
    assert_false(first.done);
    uint64_t job = rig.pool.jobs[0].job.id;
    server_log_output(rig.server, job, "hello\n");
    rig_run(&rig, 0.01);
    assert_true(first.done);
    assert_string_equal(first.printed, "hello\n");
    assert_int_equal(first.state, SESSION_RUNNING);
    server_log_output(rig.server, job, "there\n");
    rig_follow(&rig, rig_session(1, 1), 6, -1, 60000, &second);
    rig_run(&rig, 0.01);
    assert_string_equal(second.printed, "there\n");
    assert_int_equal(second.position, 6);
    rig_follow(&rig, rig_session(1, 1), 12, -1, 60000, &end);
    rig_run(&rig, 20);
    assert_int_equal(end.state, SESSION_DONE);
    assert_string_equal(end.printed, "");
}

static void what_was_lost_is_told_by_the_position(void **state)
{
    (void)state;
    struct answered called, follow;
    char line[1002];
    memset(line, 'x', 1000);
    strcpy(line + 1000, "\n");
    call("task", 1, 10e9, NULL, 0, &called);
    rig_run(&rig, 0.1);
    for (int i = 0; i < 100; i++)
        server_log_output(rig.server, rig.pool.jobs[0].job.id, line);
    rig_follow(&rig, rig_session(1, 1), 0, -1, 0, &follow);
    rig_run(&rig, 0.01);
    assert_int_equal(follow.position, 100 * 1001 - CAP_PRINTED);
}

static void progress_comes_when_there_is_some(void **state)
{
    (void)state;
    struct answered called, follow;
    call("task", 1, 10e9, NULL, 0, &called);
    rig_run(&rig, 0.1);
    rig.pool.progress = 0.25;
    rig_follow(&rig, rig_session(1, 1), 0, 0.25, 60000, &follow);
    rig_run(&rig, 1);
    assert_false(follow.done);
    rig.pool.progress = 0.5;
    rig_run(&rig, 0.3);
    assert_true(follow.done);
    assert_true(follow.progress == 0.5);
}

static void patience_ends_a_follow_and_not_its_session(void **state)
{
    (void)state;
    struct answered called, follow;
    call("task", 1, 10e9, NULL, 0, &called);
    rig_run(&rig, 0.1);
    rig_follow(&rig, rig_session(1, 1), 0, -1, 500, &follow);
    rig_run(&rig, 0.6);
    assert_true(follow.done);
    assert_int_equal(follow.state, SESSION_RUNNING);
    rig_follow(&rig, rig_session(1, 2), 0, -1, 500, &follow);
    rig_run(&rig, 0.01);
    assert_int_equal(follow.status, ESP_NOT_FOUND);
}

/* ---- states ---- */

/* The identity comes as a result of which the rig keeps eight bytes: it is fetched. */
static void open_state(uint64_t sequence, char *identity)
{
    struct answered answered;
    struct esp_error error;
    uint64_t length = 100;
    call("open", sequence, 1e6, NULL, 1000, &answered);
    rig_run(&rig, 0.1);
    if (answered.outcome != ESP_OK)
        fail_msg("%s", answered.why);
    memset(identity, 0, 128);
    assert_int_equal(rig_get(&rig, rig_session(1, sequence), 1, 0, identity, &length, &error), ESP_OK);
    assert_memory_equal(identity, "state:", 6);
}

static void a_state_keeps_its_memory_and_is_worked_on(void **state)
{
    (void)state;
    struct answered answered;
    char identity[128];
    uint64_t before = rig_counts(&rig).memory_used;
    open_state(1, identity);
    uint64_t job = rig.pool.worked_on;
    assert_int_equal(job, 0);
    struct answered acknowledged;
    rig_await(&rig, 1, 2, NULL, 0, 0, &acknowledged);
    rig_run(&rig, 0.01);
    assert_int_equal(rig_counts(&rig).memory_used - before, 1000000);
    call("use", 2, 1e6, identity, 1000, &answered);
    rig_run(&rig, 0.1);
    assert_int_equal(answered.outcome, ESP_OK);
    assert_int_not_equal(rig.pool.worked_on, 0);
    rig.pool.keeps = false;
    call("use", 3, 1e6, identity, 1000, &answered);
    rig_run(&rig, 0.1);
    rig_await(&rig, 1, 4, NULL, 0, 0, &acknowledged);
    rig_run(&rig, 0.01);
    assert_int_equal(rig_counts(&rig).memory_used, before);
    call("use", 4, 1e6, identity, 1000, &answered);
    rig_run(&rig, 0.1);
    assert_int_equal(answered.status, ESP_NOT_FOUND);
    assert_non_null(strstr(answered.text, "it was closed by use"));
}

static void one_call_at_a_time_works_on_a_state(void **state)
{
    (void)state;
    struct answered answered[3];
    char identity[128];
    open_state(1, identity);
    for (uint64_t i = 0; i < 3; i++)
        call("use", 2 + i, 1e9, identity, 60000, &answered[i]);
    rig_run(&rig, 0.5);
    assert_int_equal(rig.pool.n_jobs, 1); /* of two slots */
    struct answered cancelled;
    rig_cancel(&rig, rig_session(1, 3), &cancelled);
    rig_run(&rig, 5);
    assert_int_equal(answered[0].state, SESSION_DONE);
    assert_int_equal(answered[1].state, SESSION_CANCELLED);
    assert_int_equal(answered[2].state, SESSION_DONE);
}

static void a_state_that_nobody_uses_is_dropped(void **state)
{
    (void)state;
    struct answered answered;
    char identity[128];
    open_state(1, identity);
    rig_run(&rig, 500);
    call("use", 2, 1e6, identity, 1000, &answered); /* the lease begins anew */
    rig_run(&rig, 500);
    assert_int_equal(rig.pool.dropped, 0);
    rig_run(&rig, 200);
    assert_int_not_equal(rig.pool.dropped, 0);
    call("use", 3, 1e6, identity, 1000, &answered);
    rig_run(&rig, 0.1);
    assert_int_equal(answered.status, ESP_NOT_FOUND);
    assert_non_null(strstr(answered.text, "nobody used it for 600 s"));
}

static void a_state_whose_call_is_given_up_is_closed(void **state)
{
    (void)state;
    struct answered answered, cancelled;
    char identity[128];
    open_state(1, identity);
    assert_int_equal(rig.pool.dropped, 0);
    rig_cancel(&rig, rig_session(1, 1), &cancelled);
    rig_run(&rig, 0.1);
    assert_int_not_equal(rig.pool.dropped, 0);
    call("use", 2, 1e6, identity, 1000, &answered);
    rig_run(&rig, 0.1);
    assert_int_equal(answered.status, ESP_NOT_FOUND);
    assert_non_null(strstr(answered.text, "the call that opened it was given up"));
}

static void who_waits_for_a_state_that_ends_is_told(void **state)
{
    (void)state;
    struct answered first, second;
    char identity[128];
    open_state(1, identity);
    call("use", 2, 1e9, identity, 60000, &first);
    call("use", 3, 1e9, identity, 60000, &second);
    rig_run(&rig, 0.1);
    rig.pool.keeps = false;
    rig_run(&rig, 5);
    assert_int_equal(first.state, SESSION_DONE);
    assert_int_equal(second.state, SESSION_FAILED);
    assert_non_null(strstr(second.why, "has no such state"));
}

static void an_identity_that_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "state:", "state:0123@sed",
                                        "state:00000000000000000000000000000000",
                                        "STATE:00000000000000000000000000000000@sed"};
    struct answered answered;
    for (uint64_t i = 0; i < 5; i++) {
        call("use", 10 + i, 1e6, wrong[i], 1000, &answered);
        rig_run(&rig, 0.01);
        assert_int_equal(answered.status, ESP_INVALID);
        assert_non_null(strstr(answered.text, "use: s: expected a state"));
    }
    call("use", 20, 1e6, "state:00000000000000000000000000000000@elsewhere", 1000, &answered);
    rig_run(&rig, 0.01);
    assert_non_null(strstr(answered.text, "the state is kept by server elsewhere"));
}

static void a_state_of_another_library_is_refused(void **state)
{
    (void)state;
    struct answered answered;
    char identity[128];
    open_state(1, identity);
    call("misuse", 2, 1e6, identity, 1000, &answered);
    rig_run(&rig, 0.1);
    assert_int_equal(answered.status, ESP_INVALID);
    assert_non_null(strstr(answered.text, "misuse: s: expected a state that a routine of libother.so made"));
    call("use", 3, 1e6, identity, 1000, &answered);
    rig_run(&rig, 0.1);
    assert_int_equal(answered.outcome, ESP_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_line_comes_while_the_session_runs),       TEST(what_was_lost_is_told_by_the_position),
        TEST(progress_comes_when_there_is_some),         TEST(patience_ends_a_follow_and_not_its_session),
        TEST(a_state_keeps_its_memory_and_is_worked_on), TEST(one_call_at_a_time_works_on_a_state),
        TEST(a_state_that_nobody_uses_is_dropped),       TEST(a_state_whose_call_is_given_up_is_closed),
        TEST(who_waits_for_a_state_that_ends_is_told),   TEST(an_identity_that_is_none_is_refused),
        TEST(a_state_of_another_library_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
