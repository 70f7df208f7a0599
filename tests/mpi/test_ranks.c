/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls on a resident MPI job: what ranks get and give back, two at a time, and every way in which ranks die.
 */
#include "tests/mpi/ranks_rig.h"

#include "util/clock.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANKS 4

static struct rig rig;

static int set_up(void **state)
{
    (void)state;
    open_ranks(&rig, &(struct ranks_options){.ranks = RANKS});
    await_ranks(&rig, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

/* ---- mathematics ---- */

static void a_product_is_the_same_on_every_grid_and_block(void **state)
{
    (void)state;
    static const struct process_grid grids[] = {{1, 1, 8},  {1, 4, 3},  {4, 1, 5}, {2, 2, 7},
                                                {2, 2, 64}, {1, 3, 10}, {2, 1, 1}};
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        multiplies(&rig, grids[i], 37, 23, 41, true);
        multiplies(&rig, grids[i], 9, 7, 5, false);
        multiplies(&rig, grids[i], 1, 1, 1, false); /* too small for all but one rank to have any of it */
    }
}

/* Parts of so many rows have gaps between their columns, of another width where rows are a power of 2. */
static void parts_with_gaps_between_their_columns_come_back_whole(void **state)
{
    (void)state;
    static const struct process_grid grids[] = {{1, 1, 64}, {1, 2, 32}, {2, 2, 16}};
    static const int rows[] = {128, 131, 256, 300};
    for (size_t i = 0; i < 12; i++)
        multiplies(&rig, grids[i / 4], rows[i % 4], 21, 260, true);
}

/* Who is through first must not leave others waiting for its last message, and who sleeps must not miss the
 * next call: tiny and large ones, on grids that share some of their ranks. */
static void calls_follow_each_other_on_changing_grids(void **state)
{
    (void)state;
    static const struct process_grid grids[] = {{2, 2, 8}, {1, 1, 4},  {1, 2, 16},
                                                {4, 1, 3}, {2, 1, 40}, {1, 3, 7}};
    static const int sizes[] = {1, 120, 3, 40, 1, 2, 150};
    for (size_t i = 0; i < 84; i++) {
        int n = sizes[i % 7];
        multiplies(&rig, grids[i % 6], n, n, n, n > 20);
        if (i % 20 == 19)
            usleep(2000); /* long enough to fall asleep */
    }
}

static void pivots_of_all_ranks_come_back(void **state)
{
    (void)state;
    factorises(&rig, (struct process_grid){2, 2, 7});
}

/* Ranks that know a small call do not wait for each other before it; what the first one puts back must not be
 * there before the last one has looked. */
static void no_rank_sees_results_of_the_call_that_it_makes(void **state)
{
    (void)state;
    enum { N = 12 };
    static const struct process_grid grids[] = {{4, 1, 3}, {2, 1, 3}, {1, 1, 3}, {4, 1, 1}};
    int n = N, stamp = 0;
    for (int i = 0; i < 400; i++) {
        double x[N] = {0};
        rig.grid = grids[i / 25 % 4];
        assert_string_equal(rig_call(&rig, "mark", (void *[]){&n, &stamp, x}, false).text, "");
        assert_int_equal(stamp, i + 1);
        for (int k = 0; k < N; k++)
            assert_true(x[k] == i);
    }
}

static void info_is_told_as_what_it_means(void **state)
{
    (void)state;
    int n = 6, ipiv[6];
    double zero[36] = {0};
    rig.grid = (struct process_grid){2, 2, 2};
    struct esp_error error = rig_call(&rig, "dgetrf", (void *[]){&n, &n, zero, ipiv}, false);
    assert_int_equal(error.status, ESP_FAILED);
    assert_string_equal(error.text, "U(1,1) is exactly zero");
}

static void an_indefinite_matrix_is_told_on_whichever_rank_it_shows(void **state)
{
    (void)state;
    enum { N = 9 };
    static const int minors[] = {1, 4, 9};
    for (size_t i = 0; i < sizeof minors / sizeof *minors; i++) {
        int n = N;
        double a[N * N] = {0};
        char expected[80];
        for (int k = 0; k < N; k++)
            a[k * (N + 1)] = k + 1 == minors[i] ? -1 : 2;
        rig.grid = (struct process_grid){2, 2, 2};
        struct esp_error error = rig_call(&rig, "dpotrf", (void *[]){&n, a}, false);
        snprintf(expected, sizeof expected, "the leading minor of order %d is not positive", minors[i]);
        assert_int_equal(error.status, ESP_FAILED);
        assert_string_equal(error.text, expected);
    }
}

/* ---- a maintainer's own routines ---- */

static void a_routine_gets_a_communicator_of_its_grid(void **state)
{
    (void)state;
    int n = 0, works = 0;
    static const struct process_grid grids[] = {{2, 2, 1}, {1, 3, 1}, {1, 1, 1}, {2, 1, 1}};
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        rig.grid = grids[i];
        assert_int_equal(rig_call(&rig, "count", (void *[]){&n, &works}, false).status, ESP_OK);
        assert_int_equal(n, grids[i].rows * grids[i].cols);
        assert_int_equal(works, 1);
    }
}

static void what_ranks_print_is_handed_on(void **state)
{
    (void)state;
    rig.grid = (struct process_grid){1, 2, 1};
    assert_int_equal(rig_call(&rig, "chatter", (void *[]){NULL}, false).status, ESP_OK);
    for (int i = 0; i < 500 && strstr(rig.last_line, "is here") == NULL; i++)
        usleep(10000);
    assert_non_null(strstr(rig.last_line, "is here"));
    assert_null(strchr(rig.last_line, '\r'));
}

static void a_routine_that_is_not_there_is_told_and_harms_nobody(void **state)
{
    (void)state;
    int n = 1, got, works;
    struct esp_error error;
    const struct problem *absent = problem_find(rig.problems, "absent"),
                         *count = problem_find(rig.problems, "count");
    rig.grid = (struct process_grid){2, 2, 1};
    assert_int_equal(ranks_check(rig.workers, absent, absent->implementations, &error), ESP_NOT_FOUND);
    assert_string_equal(error.text, "librankroutines.so has no symbol 'not_there'");
    assert_int_equal(ranks_check(rig.workers, count, count->implementations, &error), ESP_OK);
    error = rig_call(&rig, "absent", (void *[]){&n}, false);
    assert_int_equal(error.status, ESP_SYSTEM);
    assert_non_null(strstr(error.text, "has no symbol 'not_there'"));
    assert_int_equal(rig_call(&rig, "count", (void *[]){&got, &works}, false).status, ESP_OK);
}

static void a_routine_that_writes_behind_a_small_part_is_told(void **state)
{
    (void)state;
    int n = 7, got, works;
    double x[7] = {0};
    rig.grid = (struct process_grid){2, 1, 2};
    struct esp_error error = rig_call(&rig, "stray", (void *[]){&n, x}, false);
    assert_int_equal(error.status, ESP_CRASHED);
    assert_non_null(strstr(error.text, "stray"));
    assert_non_null(strstr(error.text, "'x'"));
    assert_int_equal(rig_call(&rig, "count", (void *[]){&got, &works}, false).status, ESP_OK);
}

/* ---- several at a time ---- */

static double seconds_since(int64_t from_ns)
{
    return (double)(clock_now_ns(&clock_system) - from_ns) / 1e9;
}

static void two_calls_run_at_a_time_on_disjoint_ranks(void **state)
{
    (void)state;
    struct rig_job *jobs[2];
    rig.grid = (struct process_grid){1, 2, 1};
    struct ranks_counts counts;
    for (int i = 0; i < 2; i++) {
        jobs[i] = rig_prepare(&rig, "gate", (void *[]){NULL}, false);
        rig_start(&rig, jobs[i]);
    }
    struct rig_job *third = rig_prepare(&rig, "gate", (void *[]){NULL}, false);
    struct esp_error error;
    assert_int_equal(rig.workers->ops->start(rig.workers, &third->job, &error), ESP_LIMIT);
    ranks_count(rig.workers, &counts);
    assert_int_equal(counts.busy, RANKS); /* both compute */
    open_gate();
    for (int i = 0; i < 2; i++)
        assert_int_equal(rig_wait(&rig, jobs[i], i == 0)->error.status, ESP_OK);
    shut_gate();
    rig_finish(third);
}

/* ---- what is wrong from the beginning ---- */

static void refused(struct process_grid grid, const char *why)
{
    struct esp_error error;
    rig.grid = grid;
    int n, works;
    struct rig_job *job = rig_prepare(&rig, "count", (void *[]){&n, &works}, false);
    assert_int_equal(rig.workers->ops->start(rig.workers, &job->job, &error), ESP_INVALID);
    assert_string_equal(error.text, why);
    rig_finish(job);
}

static void a_grid_must_fit_the_pool_and_a_block_have_elements(void **state)
{
    (void)state;
    refused(
        (struct process_grid){3, 2, 8},
        "count: a grid of 3 x 2 ranks cannot be made: expected at least 1 x 1 and at most 4 ranks in all");
    refused(
        (struct process_grid){0, 2, 8},
        "count: a grid of 0 x 2 ranks cannot be made: expected at least 1 x 1 and at most 4 ranks in all");
    refused((struct process_grid){2, 2, 0}, "count: a block size of 0 cannot be: expected 1 to 1073741823");
}

static void without_mpirun_calls_are_refused_with_the_reason(void **state)
{
    (void)state;
    static struct rig own;
    struct ranks_counts counts;
    struct esp_error error;
    int n, works;
    open_ranks(&own, &(struct ranks_options){.ranks = 2, .mpirun = "no-such-mpirun"});
    own.grid = (struct process_grid){1, 1, 1};
    do {
        usleep(1000);
        ranks_count(own.workers, &counts);
    } while (!counts.failed);
    struct rig_job *job = rig_prepare(&own, "count", (void *[]){&n, &works}, false);
    assert_int_equal(own.workers->ops->start(own.workers, &job->job, &error), ESP_SYSTEM);
    assert_non_null(strstr(error.text, "there is no program 'no-such-mpirun'"));
    rig_close(&own);
}

static void an_mpirun_that_refuses_is_told_with_its_words(void **state)
{
    (void)state;
    static struct rig own;
    struct ranks_counts counts;
    struct esp_error error;
    int n, works;
    char folder[] = "/tmp/ranks-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/refuses", folder);
    FILE *script = fopen(path, "w");
    fputs("#!/bin/sh\necho 'no slots are left today' >&2\nexit 3\n", script);
    fclose(script);
    assert_int_equal(chmod(path, 0700), 0);
    open_ranks(&own, &(struct ranks_options){.ranks = 2, .mpirun = path});
    own.grid = (struct process_grid){1, 1, 1};
    do {
        usleep(1000);
        ranks_count(own.workers, &counts);
    } while (!counts.failed);
    struct rig_job *job = rig_prepare(&own, "count", (void *[]){&n, &works}, false);
    assert_int_equal(own.workers->ops->start(own.workers, &job->job, &error), ESP_SYSTEM);
    assert_non_null(strstr(error.text, "ended with exit code 3"));
    assert_non_null(strstr(error.text, "no slots are left today"));
    rig_close(&own);
    unlink(path);
    rmdir(folder);
}

/* ---- forecasts ---- */

static double forecast_of_trsm(char side, int m, int n, struct process_grid *grid)
{
    const struct problem *problem = problem_find(rig.problems, "dtrsm");
    const struct number scope[] = {{.kind = NUMBER_INTEGER, .integer = side},
                                   {.kind = NUMBER_INTEGER, .integer = m},
                                   {.kind = NUMBER_INTEGER, .integer = n},
                                   {.kind = NUMBER_UNKNOWN},
                                   {.kind = NUMBER_UNKNOWN}};
    const struct parallel_question question = {
        .problem = problem, .implementation = problem->implementations, .scope = scope, .work_flop = 1e7};
    struct parallel_proposal proposal;
    assert_true(rig.workers->ops->propose(rig.workers, &question, &proposal));
    *grid = proposal.grid;
    return proposal.seconds;
}

/* What counts is the order of the triangle and not the work, which is said to be the same here. */
static void triangular_solves_have_a_model_of_their_own(void **state)
{
    (void)state;
    struct process_grid grid;
    double tall = forecast_of_trsm('L', 4000, 10, &grid), flat = forecast_of_trsm('R', 4000, 10, &grid);
    assert_true(tall > 2 * flat);
    assert_true(forecast_of_trsm('R', 10, 4000, &grid) > 2 * flat);
}

/* Nothing declares what it takes: its order tells. */
static double forecast_of_getrf_of(int m, int n, struct process_grid *grid)
{
    const struct problem *problem = problem_find(rig.problems, "dgetrf");
    const struct number scope[] = {{.kind = NUMBER_INTEGER, .integer = m},
                                   {.kind = NUMBER_INTEGER, .integer = n},
                                   {.kind = NUMBER_UNKNOWN},
                                   {.kind = NUMBER_UNKNOWN}};
    const struct parallel_question question = {
        .problem = problem, .implementation = problem->implementations, .scope = scope};
    struct parallel_proposal proposal;
    assert_true(rig.workers->ops->propose(rig.workers, &question, &proposal));
    *grid = proposal.grid;
    return proposal.seconds;
}

static double forecast_of_getrf(int n)
{
    struct process_grid grid;
    return forecast_of_getrf_of(n, n, &grid);
}

static void an_lu_without_declared_work_is_weighed_by_its_order(void **state)
{
    (void)state;
    assert_true(forecast_of_getrf(4000) > 10 * forecast_of_getrf(1000));
}

/* Not as an LU of the order of its only size: its server would look busy for hours. */
static void a_routine_of_a_long_column_without_declared_work_takes_no_time(void **state)
{
    (void)state;
    const struct problem *problem = problem_find(rig.problems, "scale");
    const struct number scope[] = {
        {.kind = NUMBER_UNKNOWN}, {.kind = NUMBER_INTEGER, .integer = 100000}, {.kind = NUMBER_UNKNOWN}};
    const struct parallel_question question = {
        .problem = problem, .implementation = problem->implementations, .scope = scope};
    struct parallel_proposal proposal;
    assert_true(rig.workers->ops->propose(rig.workers, &question, &proposal));
    assert_true(proposal.seconds < 0.1);
}

/* Blocks have 16 rows and columns or more: with at most 16 there is one, and so one rank. */
static void no_row_or_column_of_the_chosen_grid_is_idle(void **state)
{
    (void)state;
    struct process_grid grid;
    for (int n = 1; n <= 16; n++) {
        forecast_of_trsm('L', n, 10, &grid);
        assert_int_equal(grid.rows, 1);
        assert_int_equal(grid.cols, 1);
    }
    for (int m = 500; m <= 8000; m *= 2) { /* of A, which is m x 16 */
        forecast_of_getrf_of(m, 16, &grid);
        assert_int_equal(grid.cols, 1);
    }
}

/* ---- death ---- */

static uint64_t jobs_started(void)
{
    struct ranks_counts counts;
    ranks_count(rig.workers, &counts);
    return counts.started;
}

static void works_again(uint64_t after)
{
    int n = 0, works;
    await_ranks(&rig, after + 1);
    rig.grid = (struct process_grid){2, 2, 1};
    assert_int_equal(rig_call(&rig, "count", (void *[]){&n, &works}, false).status, ESP_OK);
    assert_int_equal(n, 4);
}

static void a_rank_killed_during_a_call_fails_it_at_once(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    int which = 2, n = 5000;
    double *x = calloc(5000, sizeof *x);
    rig.grid = (struct process_grid){2, 2, 1};
    int64_t begun = clock_now_ns(&clock_system);
    struct esp_error error = rig_call(&rig, "die", (void *[]){&which, x, &n}, true);
    assert_int_equal(error.status, ESP_CRASHED);
    assert_non_null(strstr(error.text, "die on a grid of 2 x 2 ranks was lost: rank 2 of 4 (process "));
    assert_true(seconds_since(begun) < 60); /* the others wait in MPI for ever; some ms on an idle machine */
    works_again(before);
    free(x);
}

/* A call of which the routine has begun, on all ranks. */
static struct rig_job *start_long(void)
{
    double fraction = 0.5, seconds = 60;
    rig.grid = (struct process_grid){2, 2, 1};
    struct rig_job *job = rig_prepare(&rig, "tell", (void *[]){&fraction, &seconds}, false);
    rig_start(&rig, job);
    for (int i = 0; i < 3000 && !(rig.workers->ops->progress(rig.workers, job->job.id) > 0); i++)
        usleep(10000);
    return job;
}

/* With these words. */
static struct job_end end_of(struct rig_job *job, uint64_t before, const char *words)
{
    const struct job_end end = *rig_wait(&rig, job, true);
    rig_finish(job);
    works_again(before);
    assert_int_equal(end.error.status, ESP_CRASHED);
    if (!strstr(end.error.text, words))
        fail_msg("expected \"%s\" in \"%s\"", words, end.error.text);
    return end;
}

static void a_rank_or_mpirun_killed_by_somebody_is_no_crash_of_the_call(void **state)
{
    (void)state;
    static const struct {
        int signal;
        bool mpirun;
        const char *words;
    } kills[] = {
        {SIGKILL, false, "rank 2 of 4 (process "},
        {SIGTERM, false, "was killed by signal 15"},
        {SIGKILL, true, "killed"},       /* mpirun, or all ranks with it */
        {SIGTERM, true, " was lost: "}}; /* mpirun, or who did not end in time and was killed by it */
    for (size_t i = 0; i < sizeof kills / sizeof *kills; i++) {
        const uint64_t before = jobs_started();
        const pid_t rank = ranks_pid(rig.workers, 2);
        struct rig_job *job = start_long();
        assert_int_equal(kill(kills[i].mpirun ? parent_of(rank) : rank, kills[i].signal), 0);
        const struct job_end end = end_of(job, before, kills[i].words);
        assert_true(end.lost);
        assert_true(end.intact);
        assert_false(end.unbegun);
    }
}

/* Ranks wait for each other before a call that is new to them. */
static void what_waits_for_a_rank_that_is_killed_was_not_begun(void **state)
{
    (void)state;
    const uint64_t before = jobs_started();
    const pid_t rank = ranks_pid(rig.workers, 3);
    int which = 0;
    assert_int_equal(kill(rank, SIGSTOP), 0);
    rig.grid = (struct process_grid){2, 2, 1};
    struct rig_job *job = rig_prepare(&rig, "misplace", (void *[]){&which}, false);
    rig_start(&rig, job);
    assert_int_equal(kill(rank, SIGKILL), 0);
    const struct job_end end = end_of(job, before, "rank 3 of 4 (process ");
    assert_true(end.lost);
    assert_true(end.unbegun);
}

static struct rig_job *start_on_first_ranks(const char *problem, void *const *values, bool in_segment)
{
    rig.grid = (struct process_grid){2, 1, 2};
    struct rig_job *job = rig_prepare(&rig, problem, values, in_segment);
    rig_start(&rig, job);
    return job;
}

/* What the call beside it is told when a rank that it has no part in is killed. */
static struct job_end end_beside(struct rig_job *beside)
{
    uint64_t before = jobs_started();
    assert_int_equal(kill(ranks_pid(rig.workers, 3), SIGKILL), 0);
    const struct job_end end = *rig_wait(&rig, beside, true);
    rig_finish(beside);
    works_again(before);
    assert_int_equal(end.error.status, ESP_CRASHED);
    assert_non_null(strstr(end.error.text, "was lost: rank 3 of 4 (process "));
    return end;
}

static void a_call_beside_the_one_that_ends_the_ranks_may_be_started_again(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    int which = 1, how = 0;
    double seconds = 60;
    rig.grid = (struct process_grid){1, 2, 1};
    struct rig_job *beside = rig_prepare(&rig, "rest", (void *[]){&seconds}, false);
    struct rig_job *guilty = rig_prepare(&rig, "leave", (void *[]){&which, &how}, false);
    rig_start(&rig, beside);
    rig_start(&rig, guilty);
    assert_int_equal(rig_wait(&rig, guilty, true)->error.status, ESP_CRASHED);
    assert_false(guilty->end.lost);
    assert_int_equal(guilty->end.first_rank, 2);
    assert_int_equal(rig_wait(&rig, beside, true)->error.status, ESP_CRASHED);
    assert_true(beside->end.lost);
    assert_true(beside->end.intact);
    assert_int_equal(beside->end.first_rank, 0);
    rig_finish(guilty);
    rig_finish(beside);
    works_again(before);
}

static void a_call_that_has_written_over_its_arguments_is_lost_with_them(void **state)
{
    (void)state;
    int n = 4;
    double seconds = 60, x[] = {1, 1, 1, 1};
    struct rig_job *beside = start_on_first_ranks("linger", (void *[]){&seconds, &n, x}, true);
    const volatile double *there = (const double *)beside->arguments[2].data;
    for (int i = 0; i < 3000 && there[0] < 2; i++)
        usleep(10000);
    assert_true(there[0] > 1 && there[2] < 2); /* the first rank's part is back */
    assert_false(end_beside(beside).intact);
    beside = start_on_first_ranks("hold", (void *[]){&seconds, &n, x}, true);
    assert_false(end_beside(beside).intact);
    beside = start_on_first_ranks("rest", (void *[]){&seconds}, false);
    assert_true(end_beside(beside).intact);
}

/* mpirun is stopped, so that it does not wait for the dead rank before it was looked at. */
static void how_a_rank_ended_is_told(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    int which = 1, n = 5;
    double x[5] = {0};
    rig.grid = (struct process_grid){2, 2, 1};
    assert_int_equal(kill(parent_of(ranks_pid(rig.workers, 0)), SIGSTOP), 0);
    struct esp_error error = rig_call(&rig, "die", (void *[]){&which, x, &n}, false);
    assert_int_equal(error.status, ESP_CRASHED);
    assert_non_null(strstr(error.text, " was killed by signal 9 (Killed)"));
    works_again(before);
}

static void a_rank_that_is_stopped_in_a_call_counts_as_dead_after_a_while(void **state)
{
    (void)state;
    static struct rig own;
    int n = 0, works = 0;
    open_ranks(&own, &(struct ranks_options){.ranks = 2, .still_ns = 2 * NS_PER_S});
    await_ranks(&own, 1);
    own.grid = (struct process_grid){1, 2, 1};
    /* Ranks that are stopped before they have begun are replaced, and the call is computed by the others. */
    assert_int_equal(rig_call(&own, "count", (void *[]){&n, &works}, false).status, ESP_OK);
    const int64_t begun = clock_now_ns(&clock_system);
    assert_int_equal(kill(ranks_pid(own.workers, 1), SIGSTOP), 0);
    struct esp_error error = rig_call(&own, "count", (void *[]){&n, &works}, false);
    assert_int_equal(error.status, ESP_CRASHED);
    assert_non_null(strstr(error.text, "was lost: rank 1 of 2 (process "));
    assert_non_null(strstr(error.text, "was stopped for "));
    assert_true(clock_now_ns(&clock_system) - begun >= 2 * NS_PER_S);
    await_ranks(&own, 2);
    assert_int_equal(rig_call(&own, "count", (void *[]){&n, &works}, false).status, ESP_OK);
    assert_int_equal(n, 2);
    rig_close(&own);
}

/* And not one of those that mpirun ends then. */
static void the_rank_that_ended_first_is_told_and_how(void **state)
{
    (void)state;
    static const char *const expected[] = {"was killed by signal 11 (Segmentation fault)",
                                           "ended with exit code 3",
                                           "ended with exit code 4",
                                           "called MPI_Abort() with code 7",
                                           "was killed by signal 11 (Segmentation fault)",
                                           "ended with exit code 5"};
    for (int how = 0; how < (int)(sizeof expected / sizeof *expected); how++) {
        uint64_t before = jobs_started();
        int which = 3 - how % 4;
        rig.grid = (struct process_grid){2, 2, 1};
        char who[40];
        snprintf(who, sizeof who, "was lost: rank %d of 4 (process ", which);
        struct rig_job *job = rig_prepare(&rig, "leave", (void *[]){&which, &how}, false);
        rig_start(&rig, job);
        const struct job_end end = end_of(job, before, expected[how]);
        if (!strstr(end.error.text, who))
            fail_msg("expected \"%s\" in \"%s\"", who, end.error.text);
        assert_false(end.lost);
    }
}

static unsigned files_in(const char *folder)
{
    unsigned n = 0;
    DIR *files = opendir(folder);
    assert_non_null(files);
    for (const struct dirent *entry = readdir(files); entry; entry = readdir(files))
        n += entry->d_name[0] != '.';
    closedir(files);
    return n;
}

static void what_a_killed_job_shared_goes_with_it(void **state)
{
    (void)state;
    char folder[256];
    uint64_t before = jobs_started();
    pid_t ranks[4], mpirun = parent_of(ranks_pid(rig.workers, 0));
    for (uint32_t i = 0; i < 4; i++)
        ranks[i] = ranks_pid(rig.workers, i);
    folder_of_segments(ranks[0], folder);
    assert_ptr_equal(strstr(folder, "/dev/shm/espalier-ranks-"), folder);
    const unsigned files = files_in(folder);
    assert_true(files > 0);
    kill(mpirun, SIGKILL);
    for (int i = 0; i < 4; i++)
        kill(ranks[i], SIGKILL);
    works_again(before);
    assert_int_equal(files_in(folder), files);
}

static void a_rank_killed_between_calls_is_replaced(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    assert_int_equal(kill(ranks_pid(rig.workers, 1), SIGKILL), 0);
    works_again(before);
}

static void a_rank_that_is_stopped_and_killed_takes_no_call_with_it_later(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    kill(ranks_pid(rig.workers, 0), SIGSTOP); /* this one does not end by itself */
    kill(ranks_pid(rig.workers, 3), SIGKILL);
    works_again(before);
}

static void a_rank_killed_beside_an_answered_call_changes_nothing_of_it(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    int n = 0, works = 0;
    rig.grid = (struct process_grid){2, 2, 1};
    struct rig_job *job = rig_prepare(&rig, "count", (void *[]){&n, &works}, false);
    rig_start(&rig, job);
    assert_int_equal(rig_wait(&rig, job, true)->error.status, ESP_OK);
    kill(ranks_pid(rig.workers, 3), SIGKILL);
    assert_int_equal(n, 4);
    rig_finish(job);
    works_again(before);
}

static void a_cancelled_call_waits_for_the_one_beside_it(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    double long_s = 60, short_s = 0.3;
    rig.grid = (struct process_grid){1, 2, 1};
    struct rig_job *cancelled = rig_prepare(&rig, "rest", (void *[]){&long_s}, false);
    struct rig_job *beside = rig_prepare(&rig, "rest", (void *[]){&short_s}, false);
    rig_start(&rig, cancelled);
    rig_start(&rig, beside);
    rig.workers->ops->cancel(rig.workers, cancelled->job.id);
    assert_int_equal(rig_wait(&rig, beside, true)->error.status, ESP_OK);
    assert_int_equal(rig_wait(&rig, cancelled, false)->error.status, ESP_CANCELLED);
    rig_finish(cancelled);
    rig_finish(beside);
    works_again(before);
}

static void a_time_limit_stops_a_call(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    double seconds = 60;
    rig.grid = (struct process_grid){2, 2, 1};
    struct esp_error error = rig_call(&rig, "limited", (void *[]){&seconds}, false);
    assert_int_equal(error.status, ESP_TIMEOUT);
    works_again(before);
}

static void limit_memory(pid_t pid)
{
    struct rlimit old, little;
    assert_int_equal(prlimit(pid, RLIMIT_AS, NULL, &old), 0);
    little = (struct rlimit){.rlim_cur = 1 << 20, .rlim_max = old.rlim_max};
    assert_int_equal(prlimit(pid, RLIMIT_AS, &little, NULL), 0);
}

/* The limit stays with it: another call would fail as well. */
static void a_rank_without_memory_fails_the_call_and_is_replaced(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    int n = 400;
    double *a = calloc((size_t)(n * n), sizeof *a), *c = calloc((size_t)(n * n), sizeof *c);
    limit_memory(ranks_pid(rig.workers, 3));
    rig.grid = (struct process_grid){2, 2, 32};
    struct esp_error error = rig_call(&rig, "dgemm", (void *[]){&n, &n, &n, a, a, c}, true);
    assert_int_equal(error.status, ESP_SYSTEM);
    assert_non_null(strstr(error.text, "rank 3 of 4: cannot reserve addresses for an argument of "));
    assert_non_null(strstr(error.text, "the ranks are started again"));
    works_again(before);
    rig.grid = (struct process_grid){2, 2, 32};
    assert_int_equal(rig_call(&rig, "dgemm", (void *[]){&n, &n, &n, a, a, c}, true).status, ESP_OK);
    assert_int_equal(jobs_started(), before + 1);
    free(a);
    free(c);
}

static void a_rank_without_memory_takes_no_call_beside_with_it(void **state)
{
    (void)state;
    uint64_t before = jobs_started();
    int n = 400;
    double *a = calloc((size_t)(n * n), sizeof *a), *c = calloc((size_t)(n * n), sizeof *c);
    limit_memory(ranks_pid(rig.workers, 3));
    rig.grid = (struct process_grid){1, 2, 1};
    struct rig_job *beside = rig_prepare(&rig, "gate", (void *[]){NULL}, false);
    rig_start(&rig, beside);
    rig.grid = (struct process_grid){1, 2, 32};
    struct esp_error error = rig_call(&rig, "dgemm", (void *[]){&n, &n, &n, a, a, c}, true);
    assert_non_null(strstr(error.text, "rank 1 of 2: cannot reserve addresses for an argument of "));
    open_gate();
    assert_int_equal(rig_wait(&rig, beside, true)->error.status, ESP_OK);
    shut_gate();
    rig_finish(beside);
    works_again(before);
    free(a);
    free(c);
}

static void what_a_rank_may_allocate_and_keep_is_bounded(void **state)
{
    (void)state;
    static struct rig own;
    if (!MEMORY_TESTS)
        skip();
    open_ranks(&own, &(struct ranks_options){.ranks = 2, .memory = 96 << 20, .keep = 32 << 20});
    await_ranks(&own, 1);
    has_bounds_of_memory(&own);
    int which = 0, mib = 1000, how = 2;
    const struct esp_error error = rig_call(&own, "take", (void *[]){&which, &mib, &how}, false);
    assert_int_equal(error.status, ESP_CRASHED);
    assert_non_null(strstr(error.text, "was lost: rank 0 of 2 (process "));
    assert_non_null(strstr(error.text,
                           "was killed by signal 11 (Segmentation fault); it was refused 1000.0 MiB of "
                           "memory (a rank of this server may have 96.0 MiB"));
    await_ranks(&own, 3);
    rig_close(&own);
}

/* ---- while nothing is to be done ---- */

static void idle_ranks_take_no_processor_time(void **state)
{
    (void)state;
    multiplies(&rig, (struct process_grid){2, 2, 4}, 8, 8, 8, false);
    become_idle(&rig, RANKS);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_is_the_same_on_every_grid_and_block),
        cmocka_unit_test(parts_with_gaps_between_their_columns_come_back_whole),
        cmocka_unit_test(calls_follow_each_other_on_changing_grids),
        cmocka_unit_test(pivots_of_all_ranks_come_back),
        cmocka_unit_test(no_rank_sees_results_of_the_call_that_it_makes),
        cmocka_unit_test(info_is_told_as_what_it_means),
        cmocka_unit_test(an_indefinite_matrix_is_told_on_whichever_rank_it_shows),
        cmocka_unit_test(a_routine_gets_a_communicator_of_its_grid),
        cmocka_unit_test(what_ranks_print_is_handed_on),
        cmocka_unit_test(a_routine_that_is_not_there_is_told_and_harms_nobody),
        cmocka_unit_test(a_routine_that_writes_behind_a_small_part_is_told),
        cmocka_unit_test(two_calls_run_at_a_time_on_disjoint_ranks),
        cmocka_unit_test(a_grid_must_fit_the_pool_and_a_block_have_elements),
        cmocka_unit_test(without_mpirun_calls_are_refused_with_the_reason),
        cmocka_unit_test(an_mpirun_that_refuses_is_told_with_its_words),
        cmocka_unit_test(triangular_solves_have_a_model_of_their_own),
        cmocka_unit_test(an_lu_without_declared_work_is_weighed_by_its_order),
        cmocka_unit_test(a_routine_of_a_long_column_without_declared_work_takes_no_time),
        cmocka_unit_test(no_row_or_column_of_the_chosen_grid_is_idle),
        cmocka_unit_test(idle_ranks_take_no_processor_time),
        cmocka_unit_test(a_rank_without_memory_fails_the_call_and_is_replaced),
        cmocka_unit_test(a_rank_without_memory_takes_no_call_beside_with_it),
        cmocka_unit_test(what_a_rank_may_allocate_and_keep_is_bounded),
        cmocka_unit_test(a_rank_killed_during_a_call_fails_it_at_once),
        cmocka_unit_test(a_rank_or_mpirun_killed_by_somebody_is_no_crash_of_the_call),
        cmocka_unit_test(what_waits_for_a_rank_that_is_killed_was_not_begun),
        cmocka_unit_test(a_call_beside_the_one_that_ends_the_ranks_may_be_started_again),
        cmocka_unit_test(a_call_that_has_written_over_its_arguments_is_lost_with_them),
        cmocka_unit_test(how_a_rank_ended_is_told),
        cmocka_unit_test(the_rank_that_ended_first_is_told_and_how),
        cmocka_unit_test(a_rank_that_is_stopped_in_a_call_counts_as_dead_after_a_while),
        cmocka_unit_test(a_rank_killed_between_calls_is_replaced),
        cmocka_unit_test(what_a_killed_job_shared_goes_with_it),
        cmocka_unit_test(a_rank_that_is_stopped_and_killed_takes_no_call_with_it_later),
        cmocka_unit_test(a_rank_killed_beside_an_answered_call_changes_nothing_of_it),
        cmocka_unit_test(a_cancelled_call_waits_for_the_one_beside_it),
        cmocka_unit_test(a_time_limit_stops_a_call),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
