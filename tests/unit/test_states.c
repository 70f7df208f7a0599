/* SPDX-License-Identifier: Apache-2.0
 *
 * States that routines leave in their workers, without a server and without workers.
 */
#include "tests/unit/unit.h"
#include "sed/states/states.h"

#include <stdlib.h>

#define LEASE_NS (10 * NS_PER_S)

static const char text[] = "problem open \"Leaves a state\"\n"
                           "    out     state   s\n"
                           "    work    100\n"
                           "    memory  4096\n"
                           "implementation c\n"
                           "    c open(s) in libtask.so\n"
                           "problem use \"Works on it\"\n"
                           "    in      state   s\n"
                           "    work    100\n"
                           "implementation c\n"
                           "    c use(s) in libtask.so\n";

static struct problem_set *set;
static struct sessions sessions;
static struct manual_clock manual;
static struct timers timers;
static struct admission admission;
static struct queue queue;
static struct states *states;
static unsigned n_dropped, n_started;
static uint64_t dropped;

static void drop(struct workers *workers, uint64_t state)
{
    (void)workers;
    n_dropped++;
    dropped = state;
}

static const struct workers_ops workers_ops = {.drop = drop};
static struct workers workers = {.ops = &workers_ops};

static void note_start(void *arg)
{
    (void)arg;
    n_started++;
}

static int begin(void **state)
{
    (void)state;
    const struct states_options options = {.name = "node",
                                           .clock = &manual.clock,
                                           .lease_ns = LEASE_NS,
                                           .workers = &workers,
                                           .timers = &timers,
                                           .admission = &admission,
                                           .queue = &queue};
    assert_int_equal(problem_parse(text, strlen(text), "p.esp", &set, NULL), ESP_OK);
    sessions = (struct sessions){0};
    timers = (struct timers){0};
    queue = (struct queue){.start = note_start};
    n_dropped = n_started = 0;
    manual_clock_init(&manual, NS_PER_S);
    admission_init(&admission, 1 << 20);
    assert_true(states_create(&options, &states));
    return 0;
}

static int end(void **state)
{
    (void)state;
    timers_clear(&timers);
    states_destroy(states);
    sessions_clear(&sessions);
    problem_set_destroy(set);
    return 0;
}

static const struct problem *problem_named(const char *name)
{
    return problem_find(set, name);
}

/* A session that works on that state; NULL: one that opens a state. */
static struct session *make(uint64_t sequence, const char *identity)
{
    struct call_argument argument = {0, KIND_WANTED, 0, NULL, 0};
    if (identity)
        argument = (struct call_argument){0, KIND_INLINE, strlen(identity), (const uint8_t *)identity,
                                          (uint32_t)strlen(identity)};
    struct call_request call = {.session = {1, 7, sequence, 99}, .arguments = &argument, .n_arguments = 1};
    struct call_plan plan;
    struct session *session;
    struct esp_error error = {0};
    if (call_plan_make(problem_named(identity ? "use" : "open"), &call, &plan, &error) != ESP_OK)
        fail_msg("%s", error.text);
    struct client *client = client_get(&sessions, 1, 7, 1);
    assert_int_equal(session_create(&sessions, client, &call.session, &plan, &session, &error), ESP_OK);
    session->job.id = 100 + sequence;
    session->job.implementation = &session->problem->implementations[0];
    return session;
}

static void forget(struct session *session)
{
    session_detach(&sessions, session);
    session_free(&sessions, session);
}

/* Opens a state, whose identity is written to `identity`. */
static void open_state(uint64_t sequence, char identity[200])
{
    struct esp_error error = {0};
    const struct job_end done = {.keeps_state = true};
    struct session *session = make(sequence, NULL);
    assert_int_equal(states_check(states, session, &error), ESP_OK);
    assert_int_equal(states_after(states, session, &done, &error), ESP_OK);
    const struct job_argument *argument = &session->job.arguments[0];
    assert_true(argument->bytes < 200);
    memcpy(identity, argument->data, argument->bytes);
    identity[argument->bytes] = '\0';
    forget(session);
}

static void a_state_is_worked_on_by_one_session_at_a_time(void **state)
{
    (void)state;
    char identity[200];
    bool wait;
    struct esp_error error;
    const struct job_end goes_on = {.keeps_state = true};
    open_state(1, identity);
    assert_int_equal(states_count(states), 1);
    struct session *first = make(2, identity), *second = make(3, identity);
    assert_int_equal(states_take(states, first, &wait, &error), ESP_OK);
    assert_false(wait);
    assert_int_equal(first->job.state, 101); /* workers know the state by the job that made it */
    assert_int_equal(states_take(states, second, &wait, &error), ESP_OK);
    assert_true(wait);
    assert_int_equal(queue.length, 0);
    assert_int_equal(states_after(states, first, &goes_on, &error), ESP_OK);
    assert_int_equal(queue.length, 1); /* the second one is queued again */
    queue_remove(&queue, &second->queued);
    assert_int_equal(states_take(states, second, &wait, &error), ESP_OK);
    assert_false(wait);
    forget(first);
    forget(second);
}

static void a_session_that_no_longer_waits_is_not_queued(void **state)
{
    (void)state;
    char identity[200];
    bool wait;
    struct esp_error error;
    const struct job_end goes_on = {.keeps_state = true};
    open_state(1, identity);
    struct session *first = make(2, identity), *second = make(3, identity);
    assert_int_equal(states_take(states, first, &wait, &error), ESP_OK);
    assert_int_equal(states_take(states, second, &wait, &error), ESP_OK);
    states_step_aside(second);
    assert_int_equal(states_after(states, first, &goes_on, &error), ESP_OK);
    assert_int_equal(queue.length, 0);
    forget(first);
    forget(second);
}

static void an_unused_state_ends_with_its_lease_and_says_why(void **state)
{
    (void)state;
    char identity[200];
    struct esp_error error = {0};
    open_state(1, identity);
    timers_run(&timers, NS_PER_S + LEASE_NS - 1);
    assert_int_equal(states_count(states), 1);
    timers_run(&timers, NS_PER_S + LEASE_NS);
    assert_int_equal(states_count(states), 0);
    assert_int_equal(n_dropped, 1);
    assert_int_equal(dropped, 101);
    struct session *late = make(2, identity);
    assert_int_equal(states_check(states, late, &error), ESP_NOT_FOUND);
    assert_non_null(strstr(error.text, "nobody used it"));
    forget(late);
}

static void a_state_ends_with_its_worker_unless_a_session_works_on_it(void **state)
{
    (void)state;
    char one[200], other[200];
    bool wait;
    struct esp_error error = {0};
    const struct job_end crashed = {.error = {ESP_CRASHED, "it crashed"}};
    open_state(1, one);
    open_state(2, other);
    struct session *session = make(3, other);
    assert_int_equal(states_take(states, session, &wait, &error), ESP_OK);
    states_lost(states, 101);
    states_lost(states, 102); /* its session ends with it, and says so */
    assert_int_equal(states_count(states), 1);
    assert_int_equal(n_started, 2);
    states_after(states, session, &crashed, &error);
    assert_int_equal(states_count(states), 0);
    assert_int_equal(n_dropped, 0); /* dead workers need not be told */
    forget(session);
}

static void a_state_of_another_server_is_refused(void **state)
{
    (void)state;
    struct esp_error error = {0};
    struct session *session = make(1, "state:0123456789abcdef0123456789abcdef@elsewhere"),
                   *wrong = make(2, "nonsense");
    assert_int_equal(states_check(states, session, &error), ESP_NOT_FOUND);
    assert_non_null(strstr(error.text, "elsewhere"));
    assert_int_equal(states_check(states, wrong, &error), ESP_INVALID);
    forget(session);
    forget(wrong);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_state_is_worked_on_by_one_session_at_a_time, begin, end),
        cmocka_unit_test_setup_teardown(a_session_that_no_longer_waits_is_not_queued, begin, end),
        cmocka_unit_test_setup_teardown(an_unused_state_ends_with_its_lease_and_says_why, begin, end),
        cmocka_unit_test_setup_teardown(a_state_ends_with_its_worker_unless_a_session_works_on_it, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_state_of_another_server_is_refused, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
