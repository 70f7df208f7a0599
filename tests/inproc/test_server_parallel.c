/* SPDX-License-Identifier: Apache-2.0
 *
 * Alone or together: whom a server daemon gives calls that both a worker and ranks can compute.
 */
#include "tests/inproc/server_rig.h"

static const char problems[] = "problem task \"Takes a while\"\n"
                               "    in      double  flop\n"
                               "    in      int     k = 0\n"
                               "    out     double  r\n"
                               "    work    flop\n"
                               "implementation alone\n"
                               "    c task(flop, k, r) in libtask.so\n"
                               "implementation together\n"
                               "    parallel c task(communicator, flop, k, r) in libtask.so\n";

static struct rig rig;
static struct workers_ops ops;
static bool there, on_ranks;

/* Four ranks that compute four times as fast as a worker, and take half a millisecond to be woken. */
static bool propose(struct workers *workers, const struct parallel_question *question,
                    struct parallel_proposal *proposal)
{
    (void)workers;
    const double seconds = 5e-4 + question->work_flop / 4e9;
    *proposal = (struct parallel_proposal){{2, 2, 64}, seconds, seconds};
    return there;
}

static void on_start(void *arg, const struct job *job)
{
    (void)arg;
    on_ranks = implementation_is_parallel(job->implementation);
}

static int open_rig(void **state)
{
    (void)state;
    there = true;
    rig_open(&rig, &(struct rig_options){.slots = 2, .problems = problems});
    ops = *rig.pool.workers.ops;
    ops.propose = propose;
    rig.pool.workers.ops = &ops;
    rig.pool.on_start = on_start;
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
    static const struct CMUnitTest tests[] = {
        TEST(large_calls_go_to_ranks_and_small_ones_to_a_worker),
        TEST(without_ranks_all_go_to_a_worker),
        TEST(who_competes_for_the_processors_changes_nothing_of_that),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
