/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls on a resident MPI job: what ranks get and give back, and two at a time.
 */
#include "tests/mpi/ranks_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANKS 4

static struct rig rig;

static int set_up(void **state)
{
    (void)state;
    open_ready(&rig, &(struct ranks_options){.ranks = RANKS});
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

/* A rank that is through first must not leave others waiting for its last message, and a sleeping rank
 * must not miss the next call: tiny and large ones, on grids that share some of their ranks. */
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
    assert_int_equal(error.status, ESP_OK);
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

/* The order of the triangle counts and not the work, which is declared equal here. */
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
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
