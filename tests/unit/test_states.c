/* SPDX-License-Identifier: Apache-2.0
 *
 * What routines leave in their workers for later calls.
 */
#include "tests/unit/worker_rig.h"

#include "util/clock.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const char description[] = "problem open \"A counter\"\n"
                                  "    in      int     start\n"
                                  "    out     state   counter\n"
                                  "implementation c\n"
                                  "    c status = counter_open(start, counter) in libroutines.so\n"
                                  "    error status != 0 \"a counter cannot start at {start}\"\n"
                                  "problem forget \"A counter that is none\"\n"
                                  "    out     state   counter\n"
                                  "implementation c\n"
                                  "    c counter_forget(counter) in libroutines.so\n"
                                  "problem add \"Counts\"\n"
                                  "    in      state   counter\n"
                                  "    in      int     by\n"
                                  "    out     int     count\n"
                                  "implementation c\n"
                                  "    c status = counter_add(counter, by, count) in libroutines.so\n"
                                  "    error status != 0 \"nothing to add\"\n"
                                  "problem addf \"Counts, as Fortran is called\"\n"
                                  "    in      state   counter\n"
                                  "    in      int     by\n"
                                  "    out     int     count\n"
                                  "implementation f\n"
                                  "    fortran counter_add_(counter, by, count) in libroutines.so\n"
                                  "problem close \"The end of a counter\"\n"
                                  "    inout   state   counter\n"
                                  "implementation c\n"
                                  "    c counter_close(counter) in libroutines.so\n";

static struct rig rig;
static _Atomic uint64_t lost;

static void on_lost(void *arg, uint64_t state)
{
    (void)arg;
    atomic_store(&lost, state);
}

static int open_rig(void **state)
{
    (void)state;
    rig_open(&rig, description, 1, 1, 1);
    rig.workers->lost = on_lost;
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

/* Returns how it ended; *state is the state that was there and, when it is new, becomes known. */
static struct job_end call(const char *problem, uint64_t *state, void *const *values)
{
    struct rig_job *job = rig_prepare(&rig, problem, values, false);
    bool makes = *state == 0;
    job->job.state = *state;
    struct job_end end = {0};
    if (rig.workers->ops->start(rig.workers, &job->job, &end.error) == ESP_OK) {
        end = *rig_wait(&rig, job, true);
        if (makes && end.keeps_state)
            *state = job->job.id;
    } else {
        end.error.status = ESP_NOT_FOUND;
    }
    rig_finish(job);
    return end;
}

static uint64_t open_counter(int start)
{
    uint64_t state = 0;
    struct job_end end = call("open", &state, (void *[]){&start, NULL});
    if (end.error.status != ESP_OK || !end.keeps_state)
        fail_msg("%s", end.error.text);
    return state;
}

static int add(uint64_t state, int by)
{
    int count = -1;
    struct job_end end = call("add", &state, (void *[]){(void *)(uintptr_t) "", &by, &count});
    if (end.error.status != ESP_OK || !end.keeps_state)
        fail_msg("%s", end.error.text);
    return count;
}

static void a_state_is_there_for_the_next_call(void **unused)
{
    (void)unused;
    uint64_t first = open_counter(10), second = open_counter(100);
    assert_int_equal(add(first, 1), 11);
    assert_int_equal(add(second, 1), 101);
    assert_int_equal(add(first, 2), 13);
    int by = 5, count = 0;
    assert_true(call("addf", &second, (void *[]){(void *)(uintptr_t) "", &by, &count}).keeps_state);
    assert_int_equal(count, 106);
    assert_false(call("close", &first, (void *[]){(void *)(uintptr_t) ""}).keeps_state);
    assert_int_equal(call("add", &first, (void *[]){(void *)(uintptr_t) "", &by, &count}).error.status,
                     ESP_NOT_FOUND);
    assert_int_equal(add(second, 1), 107);
    rig.workers->ops->drop(rig.workers, second);
    assert_int_equal(call("add", &second, (void *[]){(void *)(uintptr_t) "", &by, &count}).error.status,
                     ESP_NOT_FOUND);
}

static void states_take_no_slots(void **unused)
{
    (void)unused;
    uint64_t states[6];
    for (int i = 0; i < 6; i++)
        states[i] = open_counter(i);
    for (int i = 0; i < 6; i++)
        assert_int_equal(add(states[i], 10), i + 10);
    for (int i = 0; i < 6; i++)
        rig.workers->ops->drop(rig.workers, states[i]);
}

static void a_failed_call_leaves_the_state_as_it_is(void **unused)
{
    (void)unused;
    uint64_t state = open_counter(1);
    int by = 0, count = 0;
    struct job_end end = call("add", &state, (void *[]){(void *)(uintptr_t) "", &by, &count});
    assert_int_equal(end.error.status, ESP_FAILED);
    assert_true(end.keeps_state);
    assert_int_equal(add(state, 1), 2);
    rig.workers->ops->drop(rig.workers, state);
}

static void a_call_that_crashes_ends_the_state(void **unused)
{
    (void)unused;
    uint64_t state = open_counter(1);
    int by = -1, count = 0;
    struct job_end end = call("add", &state, (void *[]){(void *)(uintptr_t) "", &by, &count});
    assert_int_equal(end.error.status, ESP_CRASHED);
    assert_false(end.keeps_state);
    assert_int_equal(call("add", &state, (void *[]){(void *)(uintptr_t) "", &by, &count}).error.status,
                     ESP_NOT_FOUND);
}

static void an_open_that_fails_keeps_nothing(void **unused)
{
    (void)unused;
    uint64_t state = 0;
    int start = -1;
    struct job_end end = call("open", &state, (void *[]){&start, NULL});
    assert_int_equal(end.error.status, ESP_FAILED);
    assert_false(end.keeps_state);
    end = call("forget", &state, (void *[]){NULL});
    assert_int_equal(end.error.status, ESP_OK);
    assert_false(end.keeps_state);
}

static void the_death_of_a_parked_worker_is_told(void **unused)
{
    (void)unused;
    int start = 1;
    void *values[] = {&start, NULL};
    struct rig_job *job = rig_prepare(&rig, "open", values, false);
    rig_start(&rig, job);
    int pid = 0;
    while (!job->ended && !(pid = processes_pid(rig.workers, job->job.id)))
        ;
    assert_true(rig_wait(&rig, job, true)->keeps_state);
    if (pid > 0) {
        kill(pid, SIGKILL);
        for (int i = 0; i < 1000 && atomic_load(&lost) != job->job.id; i++)
            nanosleep(&(struct timespec){.tv_nsec = 10 * NS_PER_MS}, NULL);
        assert_int_equal(atomic_load(&lost), job->job.id);
    }
    rig_finish(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_is_there_for_the_next_call),
        cmocka_unit_test(states_take_no_slots),
        cmocka_unit_test(a_failed_call_leaves_the_state_as_it_is),
        cmocka_unit_test(a_call_that_crashes_ends_the_state),
        cmocka_unit_test(an_open_that_fails_keeps_nothing),
        cmocka_unit_test(the_death_of_a_parked_worker_is_told),
    };
    return cmocka_run_group_tests(tests, open_rig, close_rig);
}
