/* SPDX-License-Identifier: Apache-2.0
 *
 * A call handed to four resident ranks of an MPI job and back, against the same handed to one worker: a
 * product of matrices of one element.
 */
#include "bench/bench.h"

#include "sed/processes.h"
#include "sed/ranks.h"
#include "util/clock.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define RANKS 4

struct caller {
    struct workers *workers;
    struct job job;
    struct job_argument arguments[8];
    struct number scope[8];
    int32_t n;
    double matrices[3];
    _Atomic bool ended;
};

static const char description[] =
    "problem multiply \"C := A B\"\n"
    "    in      int     n\n"
    "    in      double  A[n, n], B[n, n]\n"
    "    out     double  C[n, n]\n"
    "implementation blas\n"
    "    fortran dgemm_('N', 'N', n, n, n, double 1, A, n, B, n, double 0, C, n) in libblas.so.3\n"
    "implementation scalapack\n"
    "    parallel fortran pdgemm_('N', 'N', n, n, n, double 1, A, 1, 1, desc(A), B, 1, 1, desc(B), double 0, "
    "C, 1, "
    "1, desc(C)) in libscalapack-openmpi.so.2.2\n";

static void on_end(void *arg, uint64_t job_id, const struct job_end *end)
{
    struct caller *caller = arg;
    (void)job_id;
    if (end->error.status != ESP_OK)
        bench_fail("%s", end->error.text);
    atomic_store(&caller->ended, true);
}

static void call(void *context)
{
    struct caller *caller = context;
    const struct workers_ops *ops = caller->workers->ops;
    struct esp_error error;
    atomic_store(&caller->ended, false);
    caller->job.id++;
    if (ops->start(caller->workers, &caller->job, &error) != ESP_OK)
        bench_fail("%s", error.text);
    while (ops->help(caller->workers, caller->job.id, clock_now_ns(&clock_system) + NS_PER_S))
        ;
    while (!atomic_load(&caller->ended)) /* the pool's own thread has it: it will be there in a moment */
        sched_yield();
}

static void prepare(struct caller *caller, struct workers *workers, const struct problem *problem,
                    const struct implementation *implementation)
{
    caller->workers = workers;
    workers->ended = on_end;
    workers->arg = caller;
    caller->n = 1;
    caller->job = (struct job){.problem = problem,
                               .implementation = implementation,
                               .arguments = caller->arguments,
                               .scope = caller->scope,
                               .segment_fd = -1,
                               .attended = true,
                               .grid = {2, 2, 1}};
    caller->scope[0] = (struct number){.kind = NUMBER_INTEGER, .integer = 1};
    caller->arguments[0] = (struct job_argument){.data = &caller->n, .bytes = sizeof caller->n};
    for (int i = 0; i < 3; i++)
        caller->arguments[1 + i] =
            (struct job_argument){.data = &caller->matrices[i], .bytes = sizeof(double), .writable = i == 2};
}

static void await_ranks(struct workers *ranks)
{
    struct ranks_counts counts = {0};
    for (int i = 0; i < 3000 && counts.ranks < RANKS; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10 * NS_PER_MS}, NULL);
        ranks_count(ranks, &counts);
    }
    if (counts.ranks < RANKS)
        bench_fail("the ranks were not there within 30 s");
}

int main(void)
{
    struct problem_set *problems;
    struct esp_error error;
    static struct caller together, alone;
    if (problem_parse(description, strlen(description), "bench_ranks", &problems, &error) != ESP_OK)
        bench_fail("%s", error.text);
    struct workers *processes, *ranks;
    const struct processes_options one = {.slots = 1, .threads = 1, .problems = problems};
    if (processes_create(&one, &processes, &error) != ESP_OK ||
        ranks_create(&(struct ranks_options){.ranks = RANKS}, &ranks, &error) != ESP_OK)
        bench_fail("%s", error.text);
    await_ranks(ranks);
    const struct problem *multiply = problems->problems[0];
    prepare(&alone, processes, multiply, &multiply->implementations[0]);
    prepare(&together, ranks, multiply, &multiply->implementations[1]);
    bench_latency(
        &(struct bench_case){"ranks", "hand-off to 4 ranks, against one worker", "us", BENCH_AT_MOST, 3},
        call, &together, call, &alone, 500, 9);
    ranks->ops->destroy(ranks);
    processes->ops->destroy(processes);
    problem_set_destroy(problems);
    return 0;
}
