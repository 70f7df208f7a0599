/* SPDX-License-Identifier: Apache-2.0
 *
 * Alone or together: whom a server daemon gives calls that both a worker and ranks can compute.
 */
#include "tests/inproc/server_rig.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char problems[] = "problem task \"Takes a while\"\n"
                               "    in      double  flop\n"
                               "    in      int     k = 0\n"
                               "    out     double  r\n"
                               "    work    flop\n"
                               "implementation alone\n"
                               "    c task(flop, k, r) in libtask.so\n"
                               "implementation together\n"
                               "    parallel c task(communicator, flop, k, r) in libtask.so\n"
                               "problem only \"Ranks alone compute it, and not for every k\"\n"
                               "    in      int     n\n"
                               "    in      double  x[n, 1]\n"
                               "    out     double  y[n, 1]\n"
                               "    work    n\n"
                               "implementation few\n"
                               "    parallel c few(n, x, y) in libtask.so\n"
                               "    suits   n > 2 and n < 10\n"
                               "implementation many\n"
                               "    parallel c many(n, x, y) in libtask.so\n"
                               "    suits   n > 20\n"
                               "problem over \"Ranks write over what they are given\"\n"
                               "    in      int     n\n"
                               "    inout   double  x[n, 1]\n"
                               "    out     double  y\n"
                               "implementation ours\n"
                               "    parallel c over(n, x, y) in libtask.so\n";

static struct rig rig;
static struct workers_ops ops;
static bool there, broken, on_ranks;
static unsigned pause_us; /* that a proposal takes */
static double slower;     /* what is proposed takes so many times as long */
static double peak_flops; /* of all ranks, by what they measured */
static double busy_s;     /* until the ranks are free */
static char by[40];       /* the symbol that was called last */

/* Four ranks that compute four times as fast as a worker, and take half a millisecond to be woken. */
static bool propose(struct workers *workers, const struct parallel_question *question,
                    struct parallel_proposal *proposal)
{
    (void)workers;
    usleep(pause_us);
    const double seconds = slower * (5e-4 + question->work_flop / 4e9);
    *proposal = (struct parallel_proposal){.grid = {2, 2, 64},
                                           .seconds = seconds,
                                           .model_s = seconds,
                                           .wait_s = question->now ? busy_s : 0,
                                           .peak_flops = peak_flops};
    return there;
}

static enum esp_status admits(struct workers *workers, struct esp_error *error)
{
    (void)workers;
    return broken ? error_set(error, ESP_REFUSED, "the ranks of this server are not there: no mpirun")
                  : ESP_OK;
}

static void on_start(void *arg, const struct job *job)
{
    (void)arg;
    on_ranks = implementation_is_parallel(job->implementation);
    snprintf(by, sizeof by, "%s", job->implementation->symbol);
}

static void open_with(const char *text, double speed_flops)
{
    there = true;
    broken = false;
    busy_s = 0;
    slower = 1;
    peak_flops = 0;
    pause_us = 0;
    rig_open(&rig,
             &(struct rig_options){.slots = 2, .problems = text, .parent = true, .speed_flops = speed_flops});
    ops = *rig.pool.workers.ops;
    ops.propose = propose;
    ops.admits = admits;
    rig.pool.workers.ops = &ops;
    rig.pool.on_start = on_start;
}

static int open_rig(void **state)
{
    (void)state;
    open_with(problems, 0);
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

static bool goes_to_ranks(double flop)
{
    static uint64_t sequence;
    struct answered answered = {0};
    rig_call(&rig, &(struct rig_call){.session = rig_session(1, ++sequence), .problem = "task", .flop = flop},
             &answered);
    rig_run(&rig, 100);
    return on_ranks;
}

static void large_calls_go_to_ranks_and_small_ones_to_a_worker(void **state)
{
    (void)state;
    assert_true(goes_to_ranks(1e9));
    assert_false(goes_to_ranks(1e4));
}

static void without_ranks_all_go_to_a_worker(void **state)
{
    (void)state;
    there = false;
    assert_false(goes_to_ranks(1e9));
}

/* Competitors are in the forecast of the worker: a tiny call must not go to ranks for that. */
static void who_competes_for_the_processors_changes_nothing_of_that(void **state)
{
    (void)state;
    server_sense(rig.server, 0.02, 0, 0);
    assert_false(goes_to_ranks(1e4));
    assert_true(goes_to_ranks(1e9));
}

/* The rest of the calls on the ranks counts; a worker is free. */
static void a_worker_takes_what_would_wait_longer_for_ranks(void **state)
{
    (void)state;
    busy_s = 10;
    assert_false(goes_to_ranks(1e9));
    assert_true(goes_to_ranks(1e11));
    busy_s = 0.1;
    assert_true(goes_to_ranks(1e9));
}

static struct answered call_only(int32_t n)
{
    static uint64_t sequence = 1000;
    static const double x[32];
    struct answered answered = {0};
    by[0] = 0;
    rig_call(
        &rig,
        &(struct rig_call){
            .session = rig_session(1, ++sequence), .problem = "only", .patience_ms = 1000, .n = n, .x = x},
        &answered);
    rig_run(&rig, 100);
    return answered;
}

/* The array is so large that it lies in memory that ranks share with the server. */
static struct answered call_over(void)
{
    enum { N = 20000 };
    static uint64_t sequence = 2000;
    static const double x[N];
    struct answered answered = {0};
    const struct session_id session = rig_session(1, ++sequence);
    rig_call(&rig, &(struct rig_call){.session = session, .problem = "over", .n = N}, &answered);
    rig_run(&rig, 0.1);
    assert_int_equal(answered.state, SESSION_RECEIVING);
    assert_int_equal(rig_put(&rig, session, RIG_X, 0, x, sizeof x, NULL), ESP_OK);
    rig_run_session(&rig, session, 1000, &answered);
    rig_run(&rig, 100);
    return answered;
}

static void what_only_ranks_compute_is_computed_by_what_suits(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++, there = false) { /* also while ranks are being started */
        call_only(5);
        assert_string_equal(by, "few");
        call_only(25);
        assert_string_equal(by, "many");
    }
}

static void what_suits_no_implementation_is_refused_with_what_would(void **state)
{
    (void)state;
    const struct answered answered = call_only(15);
    assert_int_equal(answered.status, ESP_INVALID);
    assert_non_null(strstr(answered.text, "suits n > 2 and n < 10"));
    assert_non_null(strstr(answered.text, "found n = 15"));
    assert_string_equal(by, "");
}

/* The refusal makes the client ask the next server; a problem that workers solve as well is accepted. */
static void what_only_ranks_compute_is_refused_while_they_cannot_be_started(void **state)
{
    (void)state;
    broken = true;
    there = false;
    const struct answered answered = call_only(5);
    assert_int_equal(answered.status, ESP_REFUSED);
    assert_string_equal(answered.text, "only: the ranks of this server are not there: no mpirun");
    assert_string_equal(by, "");
    assert_false(goes_to_ranks(1e9));
    assert_string_not_equal(by, "");
    broken = false;
    assert_int_equal(call_only(5).status, ESP_OK);
    assert_string_equal(by, "few");
}

static void a_call_that_lost_its_ranks_begins_anew(void **state)
{
    (void)state;
    rig.pool.loses = 2;
    struct answered answered = call_only(5);
    assert_int_equal(answered.state, SESSION_DONE);
    assert_int_equal(rig.pool.started, 3);
    rig.pool.loses = 4;
    answered = call_only(5);
    assert_int_equal(answered.outcome, ESP_MAYBE);
    assert_int_equal(rig.pool.started, 7);
}

static void leave(void *arg, const struct job *job)
{
    on_start(arg, job);
    there = false;
}

/* A worker would take 100 s, ranks 25. */
static void a_call_that_lost_its_ranks_waits_for_new_ones_where_that_is_sooner(void **state)
{
    (void)state;
    rig.pool.on_start = leave;
    for (int comes = 1; comes >= 0; comes--) {
        const uint64_t before = rig.pool.started;
        there = true;
        broken = false;
        rig.pool.loses = 1;
        assert_true(goes_to_ranks(1e11));
        rig_run(&rig, 10);
        assert_int_equal(rig.pool.started, before + 1);
        there = comes;
        broken = !comes;
        rig_run(&rig, 0.1);
        assert_int_equal(rig.pool.started, before + 2);
        assert_int_equal(on_ranks, comes);
        rig_run(&rig, 200);
    }
    there = true;
    broken = false;
    rig.pool.loses = 1;
    assert_false(goes_to_ranks(1e9)); /* a second of a worker's, which begins at once */
    assert_int_equal(rig.pool.started, 6);
}

/* Results lie in the place of what goes in, unless none have come back. */
static void a_call_begins_anew_where_what_it_was_given_is_there(void **state)
{
    (void)state;
    struct answered answered = call_over();
    assert_int_equal(answered.state, SESSION_DONE);
    rig.pool.loses = 1;
    rig.pool.intact = true;
    answered = call_over();
    assert_int_equal(answered.state, SESSION_DONE);
    assert_int_equal(rig.pool.started, 3);
    rig.pool.loses = 1;
    rig.pool.intact = false;
    answered = call_over();
    assert_int_equal(answered.outcome, ESP_MAYBE);
    assert_int_equal(rig.pool.started, 4);
}

/* The error makes the client call another server. */
static void a_call_whose_ranks_do_not_come_is_told_as_one_that_was_lost(void **state)
{
    (void)state;
    rig.pool.start_fails = ESP_SYSTEM;
    const struct answered answered = call_only(5);
    assert_int_equal(answered.state, SESSION_FAILED);
    assert_int_equal(answered.outcome, ESP_MAYBE);
}

static bool ranks_change(double times)
{
    slower = times;
    return atomic_load(&rig.pool.workers.changed)(rig.pool.workers.arg, true);
}

static bool ranks_go_on(void)
{
    return atomic_load(&rig.pool.workers.changed)(rig.pool.workers.arg, false);
}

/* Not with each of them, and not only when something else is to be told. */
static void what_ranks_learn_reaches_the_parent_within_seconds(void **state)
{
    (void)state;
    rig_run(&rig, 10);
    ranks_change(1.5);
    rig_run(&rig, 0.5);
    const unsigned before = rig.models;
    assert_true(before > 0);
    ranks_change(2);
    rig_run(&rig, 2);
    ranks_change(2.5);
    assert_int_equal(rig.models, before);
    rig_run(&rig, 0.6);
    assert_int_equal(rig.models, before + 1);
    rig_run(&rig, 10);
    assert_int_equal(rig.models, before + 1);
}

/* Four ranks do 4 Gflop/s, but for half a millisecond. */
static void a_server_without_workers_has_the_speed_of_its_ranks(void **state)
{
    (void)state;
    rig_close(&rig);
    open_with(strstr(problems, "problem only"), -1);
    rig_run(&rig, 1);
    ranks_change(1);
    rig_run(&rig, 10);
    assert_true(rig.record.speed_flops > 1e6 && rig.record.speed_flops < 4e9);
    const double before = rig.record.speed_flops;
    ranks_change(2);
    rig_run(&rig, 10);
    assert_true(rig.record.speed_flops > 0.45 * before && rig.record.speed_flops < 0.55 * before);
}

/* At once, so that nobody is sent there for what only they compute; and that they are back. */
static void that_ranks_cannot_be_started_reaches_the_parent(void **state)
{
    (void)state;
    char health[400];
    rig_run(&rig, 10);
    assert_false(rig.ranks_trouble);
    broken = true;
    there = false;
    ranks_change(1);
    rig_run(&rig, 1);
    assert_true(rig.ranks_trouble);
    server_health(rig.server, health, sizeof health);
    assert_non_null(strstr(health, "; the ranks of this server are not there: no mpirun"));
    broken = false;
    there = true;
    ranks_change(1);
    rig_run(&rig, 1);
    assert_false(rig.ranks_trouble);
}

/* The result does not depend on the work that a description declares. */
static void nor_more_than_they_can(void **state)
{
    (void)state;
    rig_close(&rig);
    open_with(strstr(problems, "problem only"), -1);
    peak_flops = 1e5;
    rig_run(&rig, 1);
    ranks_change(0.9);
    rig_run(&rig, 10);
    assert_true(rig.record.speed_flops <= peak_flops);
}

/* Work that hangs on an option, as of eigenvectors, is known for what it is by default. */
static void what_ranks_take_is_told_of_problems_with_options(void **state)
{
    (void)state;
    static const char text[] = "problem eigen \"Its work hangs on an option\"\n"
                               "    in      char    jobz = 'V'\n"
                               "    in      int     n\n"
                               "    in      double  x[n, 1]\n"
                               "    out     double  y[n, 1]\n"
                               "    work    if(is(jobz, 'V'), 9*n^3, n^3)\n"
                               "implementation ours\n"
                               "    parallel c eigen(jobz, n, x, y) in libtask.so\n";
    rig_close(&rig);
    open_with(text, -1);
    rig_run(&rig, 1);
    ranks_change(0.5);
    rig_run(&rig, 10);
    assert_true(rig.record.speed_flops > 1e9);
}

/* One after the other, when there is no time for all. */
static void what_ranks_take_becomes_known_of_every_problem(void **state)
{
    (void)state;
    pause_us = 30000; /* for each of 16 sizes */
    assert_true(ranks_change(1));
    pause_us = 0;
    assert_false(ranks_change(1));
}

/* Not for ever, where there is never time for all of them at once. */
static void every_problem_is_looked_at_once(void **state)
{
    (void)state;
    unsigned more = 0, most = 0;
    for (const char *at = problems; (at = strstr(at, "problem ")); at++)
        most++;
    pause_us = 30000;
    for (bool left = ranks_change(1); left && more <= most; left = ranks_go_on())
        more++;
    assert_true(more > 0 && more < most);
    assert_false(ranks_go_on());
    assert_true(ranks_change(2));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
    static const struct CMUnitTest tests[] = {
        TEST(large_calls_go_to_ranks_and_small_ones_to_a_worker),
        TEST(without_ranks_all_go_to_a_worker),
        TEST(who_competes_for_the_processors_changes_nothing_of_that),
        TEST(a_worker_takes_what_would_wait_longer_for_ranks),
        TEST(what_only_ranks_compute_is_computed_by_what_suits),
        TEST(what_ranks_learn_reaches_the_parent_within_seconds),
        TEST(what_suits_no_implementation_is_refused_with_what_would),
        TEST(what_only_ranks_compute_is_refused_while_they_cannot_be_started),
        TEST(what_ranks_take_becomes_known_of_every_problem),
        TEST(every_problem_is_looked_at_once),
        TEST(a_server_without_workers_has_the_speed_of_its_ranks),
        TEST(nor_more_than_they_can),
        TEST(that_ranks_cannot_be_started_reaches_the_parent),
        TEST(what_ranks_take_is_told_of_problems_with_options),
        TEST(a_call_that_lost_its_ranks_begins_anew),
        TEST(a_call_that_lost_its_ranks_waits_for_new_ones_where_that_is_sooner),
        TEST(a_call_begins_anew_where_what_it_was_given_is_there),
        TEST(a_call_whose_ranks_do_not_come_is_told_as_one_that_was_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
