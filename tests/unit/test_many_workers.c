/* SPDX-License-Identifier: Apache-2.0
 *
 * Pools of many workers: more commands for the spawner than its socket has room for are kept until it has
 * read them.
 */
#include "tests/unit/worker_rig.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBLEM(name, arguments, call)                                                                       \
    "problem " name " \"for a test\"\n" arguments "implementation test\n    c " call                         \
    " in \"libroutines.so\"\n"

static const char description[] =
    PROBLEM("status_of", "    in int n\n    out int status\n", "status = status_of(n)")
        PROBLEM("nap", "    in int ms\n", "nap(ms)");

static struct processes_counts counts_of(struct rig *rig)
{
    struct processes_counts counts;
    processes_count(rig->workers, &counts);
    return counts;
}

static void await_ready(struct rig *rig, uint32_t ready)
{
    for (int i = 0; i < 60000 && counts_of(rig).ready < ready; i++)
        usleep(1000);
    assert_int_equal(counts_of(rig).ready, ready);
}

/* The spawner that the pool began with has made all workers, knows the routines, and calls can be made. */
static void try_slots(uint32_t slots)
{
    static struct rig rig;
    struct esp_error error = {0};
    rig_open(&rig, description, slots, 0, 1);
    const int32_t spawner = counts_of(&rig).spawner;
    for (size_t i = 0; i < rig.problems->n_problems; i++) {
        const struct problem *problem = rig.problems->problems[i];
        if (processes_check(rig.workers, problem, &problem->implementations[0], &error) != ESP_OK)
            fail_msg("%u slots: %s", slots, error.text);
    }
    await_ready(&rig, slots);
    struct rig_job *jobs[RIG_JOBS / 2];
    int n = 0, status[RIG_JOBS / 2];
    const uint32_t together = slots < RIG_JOBS / 2 ? slots : RIG_JOBS / 2;
    for (uint32_t i = 0; i < together; i++) {
        jobs[i] = rig_prepare(&rig, "status_of", (void *[]){&n, &status[i]}, false);
        rig_start(&rig, jobs[i]);
    }
    for (uint32_t i = 0; i < together; i++)
        assert_int_equal(rig_wait(&rig, jobs[i], false)->error.status, ESP_OK);
    assert_int_equal(counts_of(&rig).spawner, spawner);
    assert_int_equal(counts_of(&rig).born, slots);
    assert_int_equal(counts_of(&rig).died, 0);
    rig_close(&rig);
}

static void pools_of_many_slots_have_all_their_workers(void **state)
{
    (void)state;
    try_slots(1);
    try_slots(64);
    if (MEMORY_TESTS) /* sanitizers make processes large */
        try_slots(256);
}

/* `make nightly` sets the variable: a thousand processes take a while. */
static void a_pool_of_1024_slots_has_all_its_workers(void **state)
{
    (void)state;
    if (getenv("ESP_NIGHTLY"))
        try_slots(1024);
}

/* More orders to kill than the socket has room for, to a spawner that is stopped for a moment. */
static void a_spawner_that_reads_late_obeys_all_the_same(void **state)
{
    (void)state;
    static struct rig rig;
    enum { JOBS = RIG_JOBS - 1 };
    int ms = 60000;
    rig_open(&rig, description, JOBS, 0, 1);
    await_ready(&rig, JOBS);
    const int32_t spawner = counts_of(&rig).spawner;
    struct rig_job *jobs[JOBS];
    for (uint32_t i = 0; i < JOBS; i++) {
        jobs[i] = rig_prepare(&rig, "nap", (void *[]){&ms}, false);
        rig_start(&rig, jobs[i]);
    }
    assert_int_equal(kill(spawner, SIGSTOP), 0);
    for (uint32_t i = 0; i < JOBS; i++)
        rig.workers->ops->cancel(rig.workers, jobs[i]->job.id);
    usleep(100000);
    assert_int_equal(kill(spawner, SIGCONT), 0);
    for (uint32_t i = 0; i < JOBS; i++)
        assert_int_equal(rig_wait(&rig, jobs[i], false)->error.status, ESP_CANCELLED);
    await_ready(&rig, JOBS);
    assert_int_equal(counts_of(&rig).spawner, spawner);
    assert_int_equal(counts_of(&rig).died, JOBS);
    rig_close(&rig);
}

/* The answer is that nothing was found out, which is not the answer that the routine is missing. */
static void a_question_ends_with_the_spawner_that_was_asked(void **state)
{
    (void)state;
    static struct rig rig;
    struct esp_error error = {0};
    rig_open(&rig, description, 1, 0, 1);
    const struct problem *problem = rig.problems->problems[0];
    await_ready(&rig, 1);
    const int32_t spawner = counts_of(&rig).spawner;
    assert_int_equal(kill(spawner, SIGSTOP), 0);
    const pid_t killer = fork();
    if (killer == 0) {
        usleep(300000);
        kill(spawner, SIGKILL);
        _exit(0);
    }
    assert_int_equal(processes_check(rig.workers, problem, &problem->implementations[0], &error), ESP_SYSTEM);
    assert_int_equal(waitpid(killer, NULL, 0), killer);
    assert_int_equal(processes_check(rig.workers, problem, &problem->implementations[0], &error), ESP_OK);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pools_of_many_slots_have_all_their_workers),
        cmocka_unit_test(a_pool_of_1024_slots_has_all_its_workers),
        cmocka_unit_test(a_spawner_that_reads_late_obeys_all_the_same),
        cmocka_unit_test(a_question_ends_with_the_spawner_that_was_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
