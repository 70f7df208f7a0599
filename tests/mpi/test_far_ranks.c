/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls on ranks of other hosts, and what becomes of these.
 */
#include "tests/mpi/far_rig.h"

#include "util/clock.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct rig rig;

static int set_up(void **state)
{
    (void)state;
    far_begin();
    far_open(&rig, "far1 slots=2\nfar2 slots=2\n", (struct ranks_options){.ranks = 4});
    await_ranks(&rig, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rig_close(&rig);
    return far_end();
}

/* ---- calls ---- */

static void a_product_over_tcp_is_the_same_on_every_grid_and_block(void **state)
{
    (void)state;
    static const struct process_grid grids[] = {{1, 1, 8}, {1, 4, 3}, {4, 1, 5}, {2, 2, 7}, {2, 1, 1}};
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        multiplies(&rig, grids[i], 37, 23, 41, true);
        multiplies(&rig, grids[i], 9, 7, 5, false);
        multiplies(&rig, grids[i], 1, 1, 1, false);
    }
    multiplies(&rig, (struct process_grid){2, 2, 32}, 300, 200, 100, true);
}

#if MEMORY_TESTS
static void what_a_rank_on_another_host_may_allocate_and_keep_is_bounded(void **state)
{
    (void)state;
    static struct rig own;
    char hosts[PATH_MAX], sockets[PATH_MAX];
    snprintf(hosts, sizeof hosts, "%s/bounded", far_folder());
    snprintf(sockets, sizeof sockets, "%s/sockets", far_folder());
    far_write("bounded", "far1 slots=1\nfar2 slots=1\n", 0600);
    open_ready(&own, &(struct ranks_options){.ranks = 2,
                                             .hostfile = hosts,
                                             .folder = sockets,
                                             .host = "127.0.0.1",
                                             .memory = 96 << 20,
                                             .keep = 32 << 20,
                                             .alone_ns = 2 * NS_PER_S});
    has_bounds_of_memory(&own);
    does_not_wait_for_who_got_no_memory(&own);
    rig_close(&own);
}
#endif

static void pivots_of_ranks_on_several_hosts_come_back(void **state)
{
    (void)state;
    factorises(&rig, (struct process_grid){2, 2, 7});
    factorises(&rig, (struct process_grid){4, 1, 3});
}

static void info_and_results_of_the_first_rank_come_back(void **state)
{
    (void)state;
    int n = 6, ipiv[6], works = 0;
    double zero[36] = {0};
    rig.grid = (struct process_grid){2, 2, 2};
    struct esp_error error = rig_call(&rig, "dgetrf", (void *[]){&n, &n, zero, ipiv}, false);
    assert_int_equal(error.status, ESP_OK);
    assert_string_equal(error.text, "U(1,1) is exactly zero");
    assert_int_equal(rig_call(&rig, "count", (void *[]){&n, &works}, false).status, ESP_OK);
    assert_int_equal(n, 4);
    assert_int_equal(works, 1);
}

static void straying_is_told_from_another_host_too(void **state)
{
    (void)state;
    int n = 7;
    double x[7] = {0};
    rig.grid = (struct process_grid){2, 1, 2};
    struct esp_error error = rig_call(&rig, "stray", (void *[]){&n, x}, false);
    assert_int_equal(error.status, ESP_CRASHED);
    assert_non_null(strstr(error.text, "'x'"));
}

static void a_rank_there_without_memory_fails_the_call_and_is_replaced(void **state)
{
    (void)state;
    int n = 400, got, works;
    struct rlimit old, little;
    struct ranks_counts counts;
    pid_t pid = rank_of(&rig, 3);
    double *a = calloc((size_t)(n * n), sizeof *a), *c = calloc((size_t)(n * n), sizeof *c);
    struct esp_error error = rig_call(&rig, "absent", (void *[]){&n}, false);
    assert_non_null(strstr(error.text, "has no symbol 'not_there'"));
    ranks_count(rig.workers, &counts);
    assert_int_equal(counts.started, 1);
    assert_int_equal(prlimit(pid, RLIMIT_AS, NULL, &old), 0);
    little = (struct rlimit){.rlim_cur = 1 << 20, .rlim_max = old.rlim_max};
    assert_int_equal(prlimit(pid, RLIMIT_AS, &little, NULL), 0);
    rig.grid = (struct process_grid){2, 2, 32};
    error = rig_call(&rig, "dgemm", (void *[]){&n, &n, &n, a, a, c}, true);
    assert_int_equal(error.status, ESP_SYSTEM);
    assert_non_null(strstr(error.text, "rank 3 of 4: cannot reserve"));
    await_ranks(&rig, 2);
    assert_int_equal(rig_call(&rig, "count", (void *[]){&got, &works}, false).status, ESP_OK);
    free(a);
    free(c);
}

static void ranks_there_take_no_processor_time_between_calls(void **state)
{
    (void)state;
    multiplies(&rig, (struct process_grid){2, 2, 4}, 8, 8, 8, false);
    become_idle(&rig, 4);
}

/* ---- death ---- */

static void a_rank_killed_there_fails_the_call_and_is_replaced(void **state)
{
    (void)state;
    struct ranks_counts counts;
    int which = 2, n = 5000, works;
    double *x = calloc(5000, sizeof *x);
    ranks_count(rig.workers, &counts);
    rig.grid = (struct process_grid){2, 2, 1};
    struct esp_error error = rig_call(&rig, "die", (void *[]){&which, x, &n}, true);
    assert_int_equal(error.status, ESP_CRASHED);
    assert_non_null(strstr(error.text, "was lost: rank 2 of 4 (process "));
    assert_non_null(strstr(error.text, " on far2) ended, or its host cannot be reached any more"));
    await_ranks(&rig, counts.started + 1);
    assert_int_equal(rig_call(&rig, "count", (void *[]){&n, &works}, false).status, ESP_OK);
    assert_int_equal(n, 4);
    free(x);
}

/* The rank reports the cause if it can. If its report is lost, mpirun reports an end without naming a
 * rank, and the call may be made again. */
static void how_a_rank_there_ends_is_told(void **state)
{
    (void)state;
    static const char *const expected[] = {"was killed by signal 11 (Segmentation fault)",
                                           "ended with exit code 3",
                                           "ended with exit code 4",
                                           "called MPI_Abort() with code 7",
                                           "was killed by signal 11 (Segmentation fault)",
                                           "ended with exit code 5"};
    for (int how = 0; how < (int)(sizeof expected / sizeof *expected); how++) {
        struct ranks_counts counts;
        int which = 3 - how % 4;
        ranks_count(rig.workers, &counts);
        rig.grid = (struct process_grid){2, 2, 1};
        struct rig_job *job = rig_prepare(&rig, "leave", (void *[]){&which, &how}, false);
        rig_start(&rig, job);
        const struct job_end end = *rig_wait(&rig, job, true);
        rig_finish(job);
        assert_int_equal(end.error.status, ESP_CRASHED);
        if (!strstr(end.error.text, expected[how]))
            fail_msg("expected \"%s\" in \"%s\"", expected[how], end.error.text);
        if (!strstr(end.error.text, "mpirun ended"))
            assert_false(end.lost);
        await_ranks(&rig, counts.started + 1);
    }
}

static void a_rank_there_killed_by_somebody_is_no_crash_of_the_call(void **state)
{
    (void)state;
    struct ranks_counts counts;
    double fraction = 0.5, seconds = 60;
    for (int i = 0; i < 2; i++) {
        ranks_count(rig.workers, &counts);
        rig.grid = (struct process_grid){2, 2, 1};
        struct rig_job *job = rig_prepare(&rig, "tell", (void *[]){&fraction, &seconds}, false);
        rig_start(&rig, job);
        for (int k = 0; k < 3000 && !(rig.workers->ops->progress(rig.workers, job->job.id) > 0); k++)
            usleep(10000);
        assert_int_equal(kill(rank_of(&rig, 2), i == 0 ? SIGKILL : SIGTERM), 0);
        const struct job_end end = *rig_wait(&rig, job, true);
        rig_finish(job);
        assert_non_null(strstr(end.error.text, i == 0 ? "ended, or its host cannot be reached any more"
                                                      : "was killed by signal 15"));
        assert_true(end.lost);
        assert_true(end.intact);
        await_ranks(&rig, counts.started + 1);
    }
}

/* The rank and its connection live: only its missing answers show that it hangs. A rank that
 * computes answers. */
static void a_rank_there_that_is_stopped_in_a_call_counts_as_dead_after_a_while(void **state)
{
    (void)state;
    static struct rig own;
    int n = 0, works = 0;
    double fraction = 0.5, seconds = 6;
    far_open(&own, "far1 slots=1\nfar2 slots=1\n",
             (struct ranks_options){.ranks = 2, .still_ns = 4 * NS_PER_S});
    await_ranks(&own, 1);
    own.grid = (struct process_grid){1, 2, 1};
    assert_string_equal(rig_call(&own, "tell", (void *[]){&fraction, &seconds}, false).text, "");
    assert_int_equal(kill(rank_of(&own, 1), SIGSTOP), 0);
    seconds = 60; /* mpirun lets a rank that is stopped go on before it ends it */
    struct rig_job *job = rig_prepare(&own, "rest", (void *[]){&seconds}, false);
    rig_start(&own, job);
    const struct job_end end = *rig_wait(&own, job, true);
    rig_finish(job);
    assert_non_null(strstr(end.error.text, "was lost: rank 1 of 2 (process "));
    assert_non_null(strstr(end.error.text, " on far2) has not answered for "));
    assert_true(end.lost);
    await_ranks(&own, 2);
    assert_int_equal(rig_call(&own, "count", (void *[]){&n, &works}, false).status, ESP_OK);
    assert_int_equal(n, 2);
    rig_close(&own);
}

/* The handlers of MPI that would tidy up are tried, too. */
static void what_a_job_shared_there_is_gone_when_the_next_one_has_started(void **state)
{
    (void)state;
    struct ranks_counts counts;
    char shared[256], next[256];
    pid_t ranks[4], keepers[4], mpirun = 0;
    ranks_count(rig.workers, &counts);
    folder_of_segments(rank_of(&rig, 0), shared);
    assert_ptr_equal(strstr(shared, "/dev/shm/espalier-rank-"), shared);
    for (uint32_t i = 0; i < 4; i++) {
        ranks[i] = rank_of(&rig, i);
        keepers[i] = parent_of(ranks[i]);
        mpirun = parent_of(keepers[i]);
    }
    kill(mpirun, SIGSTOP);
    for (int i = 0; i < 4; i++) {
        kill(keepers[i], SIGKILL);
        kill(ranks[i], SIGKILL);
    }
    kill(mpirun, SIGKILL);
    await_ranks(&rig, counts.started + 1);
    folder_of_segments(rank_of(&rig, 0), next);
    assert_ptr_equal(strstr(next, "/dev/shm/espalier-rank-"), next);
    assert_string_not_equal(next, shared);
    assert_int_not_equal(access(shared, F_OK), 0);
}

static void a_time_limit_stops_a_call_on_several_hosts(void **state)
{
    (void)state;
    struct ranks_counts counts;
    double seconds = 60;
    ranks_count(rig.workers, &counts);
    rig.grid = (struct process_grid){2, 2, 1};
    assert_int_equal(rig_call(&rig, "limited", (void *[]){&seconds}, false).status, ESP_TIMEOUT);
    await_ranks(&rig, counts.started + 1);
}

/* ---- some here, some there ---- */

static void ranks_here_and_there_compute_together(void **state)
{
    (void)state;
    static struct rig mixed;
    struct esp_error error;
    int which = 0, n = 3;
    double x[3] = {0};
    far_open(&mixed, "localhost slots=2\nfar1 slots=2\n", (struct ranks_options){.ranks = 4});
    await_ranks(&mixed, 1);
    for (int i = 0; i < 3; i++) {
        multiplies(&mixed, (struct process_grid){2, 2, 7}, 37, 23, 41, true);
        multiplies(&mixed, (struct process_grid){1, 2, 3}, 9, 7, 5, false); /* here only */
        multiplies(&mixed, (struct process_grid){4, 1, 3}, 30, 7, 5, false);
        factorises(&mixed, (struct process_grid){2, 2, 7});
    }
    mixed.grid = (struct process_grid){2, 2, 1};
    error = rig_call(&mixed, "die", (void *[]){&which, x, &n}, false);
    assert_int_equal(error.status, ESP_CRASHED);
    await_ranks(&mixed, 2);
    factorises(&mixed, (struct process_grid){2, 2, 7});
    rig_close(&mixed);
}

/* ---- hosts that are not there ---- */

static void refuses(const char *hosts, int64_t start_ns, const char *const *words)
{
    static struct rig own;
    struct ranks_counts counts;
    struct esp_error error;
    int n, works;
    far_open(&own, hosts, (struct ranks_options){.ranks = 2, .start_ns = start_ns});
    own.grid = (struct process_grid){1, 1, 1};
    const int64_t begun = clock_now_ns(&clock_system);
    do {
        usleep(1000);
        ranks_count(own.workers, &counts);
    } while (!counts.failed && clock_now_ns(&clock_system) < begun + 40 * NS_PER_S);
    struct rig_job *job = rig_prepare(&own, "count", (void *[]){&n, &works}, false);
    assert_int_equal(own.workers->ops->start(own.workers, &job->job, &error), ESP_SYSTEM);
    for (; *words; words++)
        if (!strstr(error.text, *words))
            fail_msg("expected \"%s\" in \"%s\"", *words, error.text);
    rig_close(&own);
}

static void a_host_that_cannot_be_reached_is_told_with_the_reason(void **state)
{
    (void)state;
    refuses("far1\ngone\n", 0,
            (const char *[]){"mpirun ended with exit code", "connect to host gone port 22: No route to host",
                             NULL});
}

static void hosts_are_reached_by_their_full_names(void **state)
{
    (void)state;
    refuses("gone.example.org slots=2\n", 0,
            (const char *[]){"connect to host gone.example.org port 22: No route to host", NULL});
}

static void a_first_rank_there_tells_how_far_it_is(void **state)
{
    (void)state;
    struct ranks_counts counts;
    ranks_count(rig.workers, &counts);
    tells_how_far_it_is(&rig, (struct process_grid){2, 1, 1});
    await_ranks(&rig, counts.started + 1);
}

/* The process whose number is in that file. */
static bool has_ended(const char *name)
{
    char path[PATH_MAX], state = 0;
    int pid = 0;
    snprintf(path, sizeof path, "%s/%s", far_folder(), name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &pid), 1);
    fclose(file);
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    file = fopen(path, "r");
    if (!file)
        return true;
    assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
    fclose(file);
    return state == 'Z';
}

static void a_host_that_does_not_answer_is_given_up(void **state)
{
    (void)state;
    refuses(
        "far1\nsilent\n", 2 * NS_PER_S,
        (const char *[]){"not all ranks were ready within 2 s: 0 of 2 have come from the hosts in", NULL});
    for (int i = 0; i < 500 && !has_ended("silent"); i++)
        usleep(10000);
    assert_true(has_ended("silent"));
}

static void a_hostfile_that_is_not_there_is_told(void **state)
{
    (void)state;
    refuses(NULL, 0, (const char *[]){"cannot read the hostfile /tmp/", "No such file or directory", NULL});
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_over_tcp_is_the_same_on_every_grid_and_block),
#if MEMORY_TESTS
        cmocka_unit_test(what_a_rank_on_another_host_may_allocate_and_keep_is_bounded),
#endif
        cmocka_unit_test(pivots_of_ranks_on_several_hosts_come_back),
        cmocka_unit_test(info_and_results_of_the_first_rank_come_back),
        cmocka_unit_test(straying_is_told_from_another_host_too),
        cmocka_unit_test(a_rank_there_without_memory_fails_the_call_and_is_replaced),
        cmocka_unit_test(ranks_there_take_no_processor_time_between_calls),
        cmocka_unit_test(a_rank_killed_there_fails_the_call_and_is_replaced),
        cmocka_unit_test(how_a_rank_there_ends_is_told),
        cmocka_unit_test(a_rank_there_killed_by_somebody_is_no_crash_of_the_call),
        cmocka_unit_test(a_rank_there_that_is_stopped_in_a_call_counts_as_dead_after_a_while),
        cmocka_unit_test(what_a_job_shared_there_is_gone_when_the_next_one_has_started),
        cmocka_unit_test(a_time_limit_stops_a_call_on_several_hosts),
        cmocka_unit_test(a_first_rank_there_tells_how_far_it_is),
        cmocka_unit_test(ranks_here_and_there_compute_together),
        cmocka_unit_test(a_host_that_cannot_be_reached_is_told_with_the_reason),
        cmocka_unit_test(hosts_are_reached_by_their_full_names),
        cmocka_unit_test(a_host_that_does_not_answer_is_given_up),
        cmocka_unit_test(a_hostfile_that_is_not_there_is_told),
    };
    if (!far_is_possible())
        return 0;
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
