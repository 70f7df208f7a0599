/* SPDX-License-Identifier: Apache-2.0
 *
 * How long ranks are forecast to take, against how long they take, on sizes that were never measured; and the
 * grid and block size that are chosen, before and after a calibration, against the best of all that were
 * tried.
 */
#include "bench/bench.h"

#include "sed/calibrate/calibrate_ranks.h"
#include "sed/ranks/ranks.h"
#include "util/clock.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 2, MOST = 1200 };
enum { LEAST = 237, STEP = 43, SIZES = 20 }; /* that are forecast; none of them is one of a calibration */
enum { CANDIDATES = 12, ROUNDS = 5, FINALISTS = 4, FINAL_ROUNDS = 15 };

static const char description[] =
    "problem pdgemm \"C := A B\"\n"
    "    in      int     n\n"
    "    in      double  A[n, n], B[n, n]\n"
    "    out     double  C[n, n]\n"
    "    work    2*n^3\n"
    "implementation scalapack\n"
    "    parallel fortran pdgemm_('N', 'N', n, n, n, double 1, A, 1, 1, desc(A), B, 1, 1, desc(B), double 0, "
    "C, 1, 1, desc(C)) in libscalapack-openmpi.so.2.2\n"
    "problem pdgetrf \"LU\"\n"
    "    in      int     n\n"
    "    inout   double  A[n, n]\n"
    "    out     int     pivots[n]\n"
    "    work    2/3*n^3\n"
    "implementation scalapack\n"
    "    parallel fortran pdgetrf_(n, n, A, 1, 1, desc(A), pivots, out info) in libscalapack-openmpi.so.2.2\n"
    "    spread  pivots rows of A\n"
    "problem pdtrsm \"A X = B for an upper triangle\"\n"
    "    in      int     n\n"
    "    in      double  A[n, n]\n"
    "    inout   double  B[n, n]\n"
    "    work    n^3\n"
    "implementation scalapack\n"
    "    parallel fortran pdtrsm_('L', 'U', 'N', 'N', n, n, double 1, A, 1, 1, desc(A), B, 1, 1, desc(B)) in "
    "libscalapack-openmpi.so.2.2\n";

static struct {
    struct workers *ranks;
    const struct problem *problem;
    struct job job;
    struct job_argument arguments[8];
    struct number scope[8];
    int32_t n;
    int segment;
    double *memory; /* of three matrices, and the pivots */
    _Atomic bool ended;
} caller;

static void on_end(void *arg, uint64_t job_id, const struct job_end *end)
{
    (void)arg;
    (void)job_id;
    if (end->error.status != ESP_OK)
        bench_fail("%s", end->error.text);
    atomic_store(&caller.ended, true);
}

static void open_segment(void)
{
    const size_t bytes = 4 * sizeof(double) * MOST * MOST;
    caller.segment = memfd_create("bench", MFD_CLOEXEC);
    if (caller.segment < 0 || ftruncate(caller.segment, (off_t)bytes) != 0)
        bench_fail("cannot make a segment");
    caller.memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, caller.segment, 0);
    if (caller.memory == MAP_FAILED)
        bench_fail("cannot map a segment");
}

static void open_ranks(struct process_grid grid)
{
    struct esp_error error;
    struct ranks_counts counts = {0};
    if (ranks_create(&(struct ranks_options){.ranks = RANKS, .grid = grid}, &caller.ranks, &error) != ESP_OK)
        bench_fail("%s", error.text);
    caller.ranks->ended = on_end;
    for (int i = 0; i < 3000 && counts.ranks < RANKS; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10 * NS_PER_MS}, NULL);
        ranks_count(caller.ranks, &counts);
    }
    if (counts.ranks < RANKS)
        bench_fail("the ranks were not there within 30 s");
}

static void take_matrix(unsigned index, unsigned place, bool writable)
{
    uint64_t offset = sizeof(double) * MOST * MOST * place;
    caller.arguments[index] =
        (struct job_argument){.data = (char *)caller.memory + offset,
                              .bytes = sizeof(double) * (uint64_t)caller.n * (uint64_t)caller.n,
                              .writable = writable,
                              .in_segment = true,
                              .offset = offset};
}

/* Anew for each call: LU overwrites its matrix. */
static void prepare(const struct problem *problem, int32_t n)
{
    bool factors = strcmp(problem->name, "pdgetrf") == 0, product = strcmp(problem->name, "pdgemm") == 0;
    caller.problem = problem;
    caller.n = n;
    for (int64_t i = 0; i < (int64_t)n * n; i++)
        caller.memory[i] = caller.memory[(int64_t)MOST * MOST + i] =
            i % (n + 1) == 0 ? n : (double)(i * 7919 % 1000) / 1000;
    caller.scope[0] = (struct number){.kind = NUMBER_INTEGER, .integer = n};
    caller.arguments[0] = (struct job_argument){.data = &caller.n, .bytes = sizeof caller.n};
    take_matrix(1, 0, factors);
    take_matrix(2, 1, !product);
    take_matrix(3, 2, true);
    if (factors)
        caller.arguments[2].bytes = sizeof(int32_t) * (uint64_t)n;
    caller.job = (struct job){.id = caller.job.id,
                              .problem = problem,
                              .implementation = &problem->implementations[0],
                              .arguments = caller.arguments,
                              .scope = caller.scope,
                              .segment_fd = caller.segment,
                              .segment_bytes = 4 * sizeof(double) * MOST * MOST,
                              .attended = true};
}

/* As a server asks. */
static struct parallel_proposal forecast(void)
{
    struct parallel_proposal proposal;
    struct esp_error error;
    struct parallel_question question = {
        .problem = caller.problem, .implementation = caller.job.implementation, .scope = caller.scope};
    question.bytes = spread_bytes(caller.problem, caller.job.implementation, caller.scope,
                                  (struct process_grid){1, 1, 64});
    if (problem_work(caller.problem, caller.scope, &question.work_flop, &error) != ESP_OK)
        bench_fail("%s", error.text);
    if (!caller.ranks->ops->propose(caller.ranks, &question, &proposal))
        bench_fail("the ranks propose nothing");
    return proposal;
}

static double call(struct parallel_proposal proposal)
{
    struct esp_error error;
    caller.job.grid = proposal.grid;
    caller.job.proposal = proposal;
    caller.job.id++;
    atomic_store(&caller.ended, false);
    double begun = bench_now();
    if (caller.ranks->ops->start(caller.ranks, &caller.job, &error) != ESP_OK)
        bench_fail("%s", error.text);
    while (caller.ranks->ops->help(caller.ranks, caller.job.id, clock_now_ns(&clock_system) + NS_PER_S))
        ;
    while (!atomic_load(&caller.ended)) /* the pool's own thread has it: it will be there in a moment */
        sched_yield();
    return bench_now() - begun;
}

/* Forecast and called `times` times: the median of what it took. */
static double measure(const struct problem *problem, int32_t n, int times, double *forecast_s)
{
    double taken[8];
    for (int i = 0; i < times; i++) {
        prepare(problem, n);
        const struct parallel_proposal proposal = forecast();
        if (i == 0)
            *forecast_s = proposal.seconds;
        taken[i] = call(proposal);
    }
    return bench_median(taken, (size_t)times);
}

/* As espalier calibrate does it on a server with these ranks; grid of 0 x 0: on all grids and blocks. */
static void calibrate(const struct problem *problem, struct process_grid grid)
{
    const struct calibrate_options options = {.budget_s = 30, .longest_s = 0.3, .bytes = 1e9};
    struct calibration *calibration;
    struct calibrate_ranks_result result;
    struct esp_error error;
    if (calibration_create(&options, caller.ranks, &calibration, &error) != ESP_OK ||
        calibrate_ranks(calibration, RANKS, grid, problem, &result, &error) != ESP_OK)
        bench_fail("%s", error.text);
    calibration_destroy(calibration);
    caller.ranks->ended = on_end;
}

/* What a call of some size is forecast to take before it was ever made, then takes; and, when all other sizes
 * were called, takes again: what the machine does differently by then no forecast can know. */
static void forecast_errors(const struct problem *problem, struct process_grid grid)
{
    double forecast_s, unused, errors = 0, repeats = 0, first[SIZES];
    char title[80];
    open_ranks(grid);
    calibrate(problem, grid);
    for (int32_t i = 0; i < SIZES; i++) {
        first[i] = measure(problem, LEAST + i * STEP, 3, &forecast_s);
        errors += fabs(forecast_s - first[i]) / first[i] / SIZES;
    }
    for (int32_t i = 0; i < SIZES; i++)
        repeats += fabs(measure(problem, LEAST + i * STEP, 3, &unused) - first[i]) / first[i] / SIZES;
    caller.ranks->ops->destroy(caller.ranks);
    snprintf(title, sizeof title, "%s on %u x %u, mean error", problem->name, grid.rows, grid.cols);
    double least = strcmp(problem->name, "pdtrsm") == 0 ? 12 : 4;
    bench_row(&(struct bench_case){"grids", title, "%", BENCH_AT_MOST, 1}, 100 * errors,
              fmax(least, 1.3 * 100 * repeats));
}

/* ---- the choice ---- */

struct runner {
    struct process_grid grid;
    bool chosen;
    double median_s;
};

static int by_time(const void *a, const void *b)
{
    const struct runner *x = a, *y = b;
    if (x->chosen != y->chosen)
        return x->chosen ? -1 : 1;
    return (x->median_s > y->median_s) - (x->median_s < y->median_s);
}

/* In turns: what else the machine does meets all of them. */
static void race(const struct problem *problem, int32_t n, struct runner *candidates, int count, int rounds)
{
    double taken[CANDIDATES][FINAL_ROUNDS];
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < count; i++) {
            prepare(problem, n);
            taken[i][round] = call((struct parallel_proposal){.grid = candidates[i].grid});
        }
    for (int i = 0; i < count; i++)
        candidates[i].median_s = bench_median(taken[i], (size_t)rounds);
}

static void list_candidates(const struct problem *problem, int32_t n, struct runner *candidates)
{
    static const struct process_grid grids[] = {{1, 1, 0}, {1, 2, 0}, {2, 1, 0}};
    static const uint32_t blocks[] = {16, 32, 64, 128};
    prepare(problem, n);
    const struct process_grid chosen = forecast().grid;
    for (int i = 0; i < CANDIDATES; i++) {
        struct process_grid grid = grids[i / 4];
        grid.block = blocks[i % 4];
        candidates[i] = (struct runner){
            grid, grid.rows == chosen.rows && grid.cols == chosen.cols && grid.block == chosen.block, 0};
    }
}

/* The least of many medians is so by chance too: those that were best race the chosen one once more, longer.
 */
static void choice(const struct problem *problem, int32_t n, bool calibrated)
{
    struct runner candidates[CANDIDATES];
    char title[80];
    list_candidates(problem, n, candidates);
    race(problem, n, candidates, CANDIDATES, ROUNDS);
    qsort(candidates, CANDIDATES, sizeof *candidates, by_time); /* the chosen one, then the best */
    race(problem, n, candidates, FINALISTS, FINAL_ROUNDS);
    double best = INFINITY;
    for (int i = 0; i < FINALISTS; i++)
        best = fmin(best, candidates[i].median_s);
    const struct process_grid *chosen = &candidates[0].grid;
    snprintf(title, sizeof title, "%s n = %d, %u x %u/%u chosen%s, best", problem->name, n, chosen->rows,
             chosen->cols, chosen->block, calibrated ? "" : " uncalibrated");
    const enum bench_bound bound = calibrated ? BENCH_AT_MOST : BENCH_SHOWN;
    bench_row(&(struct bench_case){"grids", title, "ms", bound, 1.05}, candidates[0].median_s * 1e3,
              best * 1e3);
}

/* By what ranks measure when they start, and when they have been calibrated. */
static void choices(const struct problem *problem)
{
    open_ranks((struct process_grid){0});
    choice(problem, 600, false);
    choice(problem, 1000, false);
    calibrate(problem, (struct process_grid){0});
    choice(problem, 600, true);
    choice(problem, 1000, true);
    caller.ranks->ops->destroy(caller.ranks);
}

int main(void)
{
    struct problem_set *problems;
    struct esp_error error;
    if (problem_parse(description, strlen(description), "bench_grids", &problems, &error) != ESP_OK)
        bench_fail("%s", error.text);
    open_segment();
    for (uint32_t i = 0; i < problems->n_problems; i++) {
        const struct problem *problem = problems->problems[i];
        forecast_errors(problem, (struct process_grid){1, 1, 64});
        forecast_errors(problem, (struct process_grid){1, 2, 64});
        forecast_errors(problem, (struct process_grid){2, 1, 64});
        choices(problem);
    }
    problem_set_destroy(problems);
    return 0;
}
