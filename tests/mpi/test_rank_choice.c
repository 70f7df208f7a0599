/* SPDX-License-Identifier: Apache-2.0
 *
 * Which grid the ranks propose: by what is known of them, by which of them are busy, and what they tell when
 * that changes.
 */
#include "tests/mpi/ranks_rig.h"

#include "core/forecast/parallel_profile.h"
#include "util/clock.h"
#include "util/log.h"

#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANKS 4

static struct rig rig;
static char *told;

/* Ranks with fast links, that speak slowly within a column. That a call of another routine is known keeps
 * them from measuring anew. */
static char *knowledge(double processors)
{
    static struct parallel_profile profile;
    size_t length;
    profile = (struct parallel_profile){.ranks = RANKS,
                                        .speed = {.flops = 1e10,
                                                  .latency_s = 1e-6,
                                                  .byte_s = 1e-11,
                                                  .fill_byte_s = 1e-12,
                                                  .column_s = 1e-4,
                                                  .processors = processors,
                                                  .sharers = RANKS}};
    experience_learn(&profile.experience, "pdother_", (struct parallel_grid){1, 2}, 64, 1, 1);
    return parallel_profile_write(&profile, &length);
}

static void open_with(double processors, struct process_grid grid)
{
    told = knowledge(processors);
    open_ready(&rig, &(struct ranks_options){.ranks = RANKS, .told = told, .grid = grid});
}

static void close_ranks(void)
{
    rig_close(&rig);
    free(told);
    told = NULL;
}

static const struct process_grid any = {0};

static struct parallel_proposal propose(const char *name, const int64_t *sizes, bool now)
{
    const struct problem *problem = problem_find(rig.problems, name);
    struct number scope[PROBLEM_MAX_ARGUMENTS] = {{0}};
    struct parallel_proposal proposal;
    for (uint32_t i = 0; sizes[i] > 0; i++)
        scope[i] = (struct number){.kind = NUMBER_INTEGER, .integer = sizes[i]};
    const struct parallel_question question = {.problem = problem,
                                               .implementation = &problem->implementations[0],
                                               .scope = scope,
                                               .work_flop = strcmp(name, "dgesv") == 0 ? 2e9 : 0,
                                               .now = now};
    assert_true(rig.workers->ops->propose(rig.workers, &question, &proposal));
    return proposal;
}

static uint32_t ranks_of(struct parallel_proposal proposal)
{
    return proposal.grid.rows * proposal.grid.cols;
}

/* A is what is factorised, however few right-hand sides there are. */
static void one_right_hand_side_gets_as_many_columns_of_ranks_as_many_do(void **state)
{
    (void)state;
    open_with(RANKS, any);
    const struct parallel_proposal one = propose("dgesv", (int64_t[]){2000, 1, 0}, false),
                                   many = propose("dgesv", (int64_t[]){2000, 2000, 0}, false);
    assert_int_equal(ranks_of(many), RANKS);
    assert_true(many.grid.cols > 1);
    assert_int_equal(one.grid.rows, many.grid.rows);
    assert_int_equal(one.grid.cols, many.grid.cols);
    close_ranks();
}

static const int64_t product[] = {2000, 2000, 2000, 0};

static void ranks_that_have_to_take_turns_are_not_asked_for(void **state)
{
    (void)state;
    static const struct {
        double processors;
        uint32_t ranks;
    } cases[] = {{1, 1}, {2, 2}, {RANKS, RANKS}};
    for (size_t i = 0; i < 3; i++) {
        open_with(cases[i].processors, any);
        assert_int_equal(ranks_of(propose("dgemm", product, false)), cases[i].ranks);
        close_ranks();
    }
}

/* Of a product whose result is symmetric one half is computed. */
static void half_a_product_takes_half_as_long(void **state)
{
    (void)state;
    open_with(RANKS, (struct process_grid){2, 2, 64});
    const double whole_s = propose("dgemm", (int64_t[]){4000, 4000, 4000, 0}, false).seconds,
                 half_s = propose("dsyrk", (int64_t[]){4000, 4000, 0}, false).seconds;
    assert_true(half_s > 0.49 * whole_s && half_s < 0.52 * whole_s);
    close_ranks();
}

/* Flops are declared for a call, and right-hand sides take theirs; a single one hardly does. */
static void right_hand_sides_take_their_time(void **state)
{
    (void)state;
    open_with(RANKS, (struct process_grid){2, 2, 64});
    const struct parallel_proposal one = propose("dposv", (int64_t[]){2000, 1, 0}, false),
                                   many = propose("dposv", (int64_t[]){2000, 2000, 0}, false);
    assert_true(many.seconds > 3 * one.seconds);
    assert_true(one.peak_flops > 1e9 && one.peak_flops <= 1.01 * RANKS * 1e10);
    close_ranks();
}

/* ---- operands that lie somewhere (section 5 of the FAST paper) ---- */

/* Nodes of 733 MHz behind Fast Ethernet; to move an element costs `moving` times as much. */
static void open_cluster(double moving)
{
    static struct parallel_profile profile;
    size_t length;
    profile = (struct parallel_profile){
        .ranks = 12,
        .speed = {.flops = 5e8, .latency_s = 1e-4, .byte_s = 1 / 11.2e6, .fill_byte_s = moving / 11.2e6}};
    experience_learn(&profile.experience, "pdother_", (struct parallel_grid){1, 2}, 64, 1, 1);
    told = parallel_profile_write(&profile, &length);
    open_ready(&rig, &(struct ranks_options){.ranks = 12, .told = told});
}

static const struct process_grid of_a = {4, 2, 100}, of_b = {2, 2, 100};

/* C = A B of m x k by k x n, A on the grid of 4 x 2 ranks, B on that of 2 x 2; `only` rows 0: on any. */
static struct parallel_proposal align(int64_t m, int64_t n, int64_t k, struct process_grid only)
{
    const struct problem *problem = problem_find(rig.problems, "dgemm");
    struct number scope[PROBLEM_MAX_ARGUMENTS] = {{.kind = NUMBER_INTEGER, .integer = m},
                                                  {.kind = NUMBER_INTEGER, .integer = n},
                                                  {.kind = NUMBER_INTEGER, .integer = k}};
    struct parallel_proposal proposal;
    const uint64_t a = 8 * (uint64_t)(m * k), b = 8 * (uint64_t)(k * n);
    const struct parallel_question question = {.problem = problem,
                                               .implementation = &problem->implementations[0],
                                               .scope = scope,
                                               .bytes = a + b,
                                               .places = {{of_a, a}, {of_b, b}},
                                               .n_places = 2,
                                               .only = only};
    assert_true(rig.workers->ops->propose(rig.workers, &question, &proposal));
    return proposal;
}

static bool is_grid(struct parallel_proposal proposal, struct process_grid grid)
{
    return proposal.grid.rows == grid.rows && proposal.grid.cols == grid.cols &&
           proposal.grid.block == grid.block;
}

static void operands_move_to_where_the_product_ends_soonest(void **state)
{
    (void)state;
    const struct process_grid all = {4, 3, 64};
    open_cluster(1); /* all ranks are fastest although all is moved, then A's grid, then B's */
    const double on_all = align(2000, 2000, 2000, all).seconds, on_a = align(2000, 2000, 2000, of_a).seconds,
                 on_b = align(2000, 2000, 2000, of_b).seconds;
    assert_true(on_all < on_a && on_a < on_b);
    assert_int_equal(ranks_of(align(2000, 2000, 2000, any)), 12);
    close_ranks();
    open_cluster(100); /* moving is dear: the smaller one goes to the larger, or both where neither is */
    assert_true(is_grid(align(2000, 100, 2000, any), of_a));
    assert_true(is_grid(align(100, 2000, 2000, any), of_b));
    close_ranks();
}

/* ---- ranks that are busy ---- */

/* Until finish(). */
static struct rig_job *occupy(double forecast_s, struct process_grid grid)
{
    rig.grid = grid;
    struct rig_job *job = rig_prepare(&rig, "gate", (void *[]){NULL}, false);
    job->job.proposal = (struct parallel_proposal){.grid = grid, .seconds = forecast_s};
    rig_start(&rig, job);
    return job;
}

static void finish(struct rig_job *job)
{
    open_gate();
    assert_string_equal(rig_wait(&rig, job, true)->error.text, "");
    rig_finish(job);
    shut_gate();
}

static void ranks_that_are_free_are_taken_before_faster_ones_that_are_not(void **state)
{
    (void)state;
    open_with(RANKS, any);
    struct rig_job *job = occupy(1000, (struct process_grid){1, 3, 64});
    const struct parallel_proposal then = propose("dgemm", product, false),
                                   now = propose("dgemm", product, true);
    assert_int_equal(ranks_of(then), RANKS);
    assert_true(then.wait_s == 0);
    assert_int_equal(ranks_of(now), 1);
    assert_true(now.wait_s == 0);
    finish(job);
    assert_int_equal(ranks_of(propose("dgemm", product, true)), RANKS);
    close_ranks();
}

/* Of four ranks, so that it must wait for all. */
static void what_is_waited_for_is_told(void **state)
{
    (void)state;
    open_with(RANKS, (struct process_grid){2, 2, 64});
    assert_true(propose("dgemm", product, true).wait_s == 0);
    struct rig_job *job = occupy(1000, (struct process_grid){1, 2, 64});
    const double wait_s = propose("dgemm", product, true).wait_s;
    assert_true(wait_s > 900 && wait_s <= 1000);
    assert_true(propose("dgemm", product, false).wait_s == 0);
    finish(job);
    /* A late answer gets the same time once more. */
    job = occupy(1e-6, (struct process_grid){1, 2, 64});
    usleep(200000);
    const double late_s = propose("dgemm", product, true).wait_s;
    assert_true(late_s >= 0.2);
    finish(job);
    close_ranks();
}

/* ---- what calls teach ---- */

/* Or fails after 30 s. */
static void await_line(const char *path, const char *words)
{
    char line[1000];
    for (int i = 0; i < 3000; i++, usleep(10000)) {
        FILE *file = fopen(path, "r");
        bool found = false;
        while (file && !found && fgets(line, sizeof line, file))
            found = strstr(line, words) != NULL;
        if (file)
            fclose(file);
        if (found)
            return;
    }
    fail_msg("the log does not say '%s'", words);
}

static bool knows_calls_of(const char *symbol)
{
    char line[80];
    char *text = rig.workers->ops->knows(rig.workers, PROFILE_MOST_TEXT);
    snprintf(line, sizeof line, "\ntook %s ", symbol);
    const bool knows = text && strstr(text, line);
    free(text);
    return knows;
}

/* Of a call that is far quicker than the model says, so that it counts at once. */
static void a_call_in_which_a_rank_was_stopped_teaches_nothing(void **state)
{
    (void)state;
    char path[] = "/tmp/test-rank-choice-log.XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    open_with(RANKS, any);
    assert_int_equal(log_open(&(struct log_options){"-", path, LOG_NOTICE_LEVEL}, NULL), ESP_OK);
    for (int stopped = 1; stopped >= 0; stopped--) {
        struct rig_job *job = rig_prepare(&rig, "gate", (void *[]){NULL}, false);
        job->job.grid = (struct process_grid){1, 2, 64};
        job->job.proposal = (struct parallel_proposal){.grid = job->job.grid, .model_s = 1000};
        rig_start(&rig, job);
        if (stopped) {
            assert_int_equal(kill(rank_of(&rig, 1), SIGSTOP), 0);
            await_line(path, "is stopped, and a call waits for it");
            assert_int_equal(kill(rank_of(&rig, 1), SIGCONT), 0);
        }
        usleep(20000); /* what takes next to nothing teaches nothing either */
        finish(job);
        assert_true(knows_calls_of("gate") == !stopped);
    }
    log_close();
    unlink(path);
    close_ranks();
}

/* ---- what they tell ---- */

static _Atomic int changes;
static _Atomic int64_t last_ns, pause_ns; /* of the last change, and from the one before to it */

static bool count_change(void *arg, bool news)
{
    const int64_t now = clock_now_ns(&clock_system);
    (void)arg;
    (void)news;
    atomic_store(&pause_ns, now - atomic_exchange(&last_ns, now));
    atomic_fetch_add(&changes, 1);
    return false;
}

static double measured_processors(void)
{
    char path[] = "/tmp/test-rank-choice.XXXXXX";
    static struct parallel_profile profile;
    struct esp_error error;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    unlink(path);
    open_ready(&rig, &(struct ranks_options){.ranks = RANKS, .profile = path});
    close_ranks();
    if (parallel_profile_load(path, &profile, &error) != ESP_OK)
        fail_msg("%s", error.text);
    unlink(path);
    assert_true(profile.speed.sharers == RANKS);
    assert_true(profile.speed.panel >= 1);
    return profile.speed.processors;
}

static void ranks_tell_how_many_processors_they_share(void **state)
{
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_true(measured_processors() == CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    const double confined = measured_processors();
    sched_setaffinity(0, sizeof all, &all);
    assert_true(confined == 1);
}

/* A product that takes many times what the model says. */
static void multiply(int n)
{
    double *a = random_matrix(n * n), *c = calloc((size_t)(n * n), sizeof *c);
    rig.grid = (struct process_grid){1, 1, 64};
    struct rig_job *job = rig_prepare(&rig, "dgemm", (void *[]){&n, &n, &n, a, a, c}, true);
    job->job.proposal = (struct parallel_proposal){.grid = rig.grid, .seconds = 1e-5, .model_s = 1e-5};
    rig_start(&rig, job);
    assert_string_equal(rig_wait(&rig, job, true)->error.text, "");
    rig_finish(job);
    free(a);
    free(c);
}

static bool changes_within(int before, int seconds)
{
    for (int i = 0; i < seconds * 100 && atomic_load(&changes) == before; i++)
        usleep(10000);
    return atomic_load(&changes) > before;
}

static void what_a_call_teaches_is_told_within_seconds_and_not_more_often(void **state)
{
    (void)state;
    open_with(RANKS, any);
    atomic_store(&rig.workers->changed, count_change);
    multiply(200);
    assert_true(changes_within(0, 30));
    const int before = atomic_load(&changes);
    /* Each teaches, as it is far from the model. */
    for (int i = 0; i < 100000 && atomic_load(&changes) == before; i++)
        multiply(200);
    assert_true(atomic_load(&changes) > before);
    assert_true(atomic_load(&pause_ns) >= 2 * NS_PER_S); /* 3 s, less what the first one came late */
    close_ranks();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_right_hand_side_gets_as_many_columns_of_ranks_as_many_do),
        cmocka_unit_test(ranks_that_have_to_take_turns_are_not_asked_for),
        cmocka_unit_test(half_a_product_takes_half_as_long),
        cmocka_unit_test(right_hand_sides_take_their_time),
        cmocka_unit_test(operands_move_to_where_the_product_ends_soonest),
        cmocka_unit_test(ranks_that_are_free_are_taken_before_faster_ones_that_are_not),
        cmocka_unit_test(what_is_waited_for_is_told),
        cmocka_unit_test(a_call_in_which_a_rank_was_stopped_teaches_nothing),
        cmocka_unit_test(ranks_tell_how_many_processors_they_share),
        cmocka_unit_test(what_a_call_teaches_is_told_within_seconds_and_not_more_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
