/* SPDX-License-Identifier: Apache-2.0
 *
 * A call handed to four resident ranks of an MPI job and back, against the same handed to one worker: a
 * function that does nothing, which is the handing over alone, and a product of matrices of one element, with
 * the messages of ScaLAPACK; that also on the grid that a server chooses for it. Beside them what four
 * processes take that do nothing but see each call and wait for each other once: with fewer processors than
 * processes that is switching between them.
 */
#include "bench/bench.h"

#include "sed/pool/processes.h"
#include "sed/ranks/ranks.h"
#include "util/clock.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RANKS 4

struct caller {
    struct workers *workers;
    struct job job;
    struct job_argument arguments[8];
    struct number scope[8];
    int32_t n, result;
    double matrices[3];
    _Atomic bool ended;
};

static const char description[] =
    "problem absolute \"|n|\"\n"
    "    in  int n\n"
    "    out int result\n"
    "implementation libc\n"
    "    c result = abs(n) in \"libc.so.6\"\n"
    "implementation together\n"
    "    parallel c result = abs(n) in \"libc.so.6\"\n"
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
                    int implementation)
{
    caller->workers = workers;
    workers->ended = on_end;
    workers->arg = caller;
    caller->n = 1;
    caller->job = (struct job){.problem = problem,
                               .implementation = &problem->implementations[implementation],
                               .arguments = caller->arguments,
                               .scope = caller->scope,
                               .segment_fd = -1,
                               .attended = true,
                               .grid = {2, 2, 1}};
    caller->scope[0] = (struct number){.kind = NUMBER_INTEGER, .integer = 1};
    caller->arguments[0] = (struct job_argument){.data = &caller->n, .bytes = sizeof caller->n};
    caller->arguments[1] =
        (struct job_argument){.data = &caller->result, .bytes = sizeof caller->result, .writable = true};
    for (int i = 0; i < 3 && problem->n_arguments == 4; i++)
        caller->arguments[1 + i] =
            (struct job_argument){.data = &caller->matrices[i], .bytes = sizeof(double), .writable = i == 2};
}

/* ---- the floor ---- */

struct floor {
    _Atomic uint32_t request, reply, here, gone; /* reply: futex */
    pid_t processes[RANKS];
};

static _Noreturn void be_a_rank(struct floor *floor)
{
    for (uint32_t seen = 0;; seen++) {
        while (atomic_load(&floor->request) == seen)
            sched_yield();
        atomic_fetch_add(&floor->here, 1);
        while (atomic_load(&floor->here) < (seen + 1) * RANKS)
            sched_yield();
        if (atomic_fetch_add(&floor->gone, 1) + 1 == (seen + 1) * RANKS) {
            atomic_fetch_add(&floor->reply, 1);
            syscall(SYS_futex, &floor->reply, FUTEX_WAKE, 1, NULL, NULL, 0);
        }
    }
}

static struct floor *floor_start(void)
{
    struct floor *floor =
        mmap(NULL, sizeof *floor, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (floor == MAP_FAILED)
        bench_fail("cannot set processes up");
    for (int i = 0; i < RANKS; i++) {
        pid_t process = fork();
        if (process == 0)
            be_a_rank(floor);
        if (process < 0)
            bench_fail("cannot start a process");
        floor->processes[i] = process;
    }
    return floor;
}

static void floor_round(void *context)
{
    struct floor *floor = context;
    uint32_t before = atomic_load(&floor->reply);
    atomic_fetch_add(&floor->request, 1);
    while (atomic_load(&floor->reply) == before)
        syscall(SYS_futex, &floor->reply, FUTEX_WAIT, before, NULL, NULL, 0);
}

static void floor_stop(struct floor *floor)
{
    for (int i = 0; i < RANKS; i++) {
        kill(floor->processes[i], SIGKILL);
        waitpid(floor->processes[i], NULL, 0);
    }
}

/* ---- the rows ---- */

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

/* A rank that would have nothing is left out of it: one is enough for a matrix of one element. */
static struct process_grid chosen_grid(const struct caller *caller)
{
    struct parallel_proposal proposal;
    const struct parallel_question question = {.problem = caller->job.problem,
                                               .implementation = caller->job.implementation,
                                               .scope = caller->scope,
                                               .work_flop = 2,
                                               .bytes = 3 * sizeof(double)};
    if (!caller->workers->ops->propose(caller->workers, &question, &proposal))
        bench_fail("the ranks propose nothing");
    return proposal.grid;
}

int main(void)
{
    struct problem_set *problems;
    struct esp_error error;
    static struct caller together, alone;
    const struct bench_case control = {"ranks", "hand-off to 4 ranks, against one worker", "us",
                                       BENCH_AT_MOST, 3};
    const struct bench_case product = {"ranks", "product of 1 x 1 by 4 ranks, one worker", "us",
                                       BENCH_AT_MOST, 3};
    const struct bench_case chosen = {"ranks", "the same on the grid chosen, one worker", "us", BENCH_AT_MOST,
                                      3};
    const struct bench_case bare = {"ranks", "4 bare processes, against one worker", "us", BENCH_SHOWN, 0};
    if (problem_parse(description, strlen(description), "bench_ranks", &problems, &error) != ESP_OK)
        bench_fail("%s", error.text);
    struct workers *processes, *ranks;
    const struct processes_options one = {.slots = 1, .threads = 1, .problems = problems};
    if (processes_create(&one, &processes, &error) != ESP_OK ||
        ranks_create(&(struct ranks_options){.ranks = RANKS}, &ranks, &error) != ESP_OK)
        bench_fail("%s", error.text);
    await_ranks(ranks);
    const struct problem *absolute = problems->problems[0], *multiply = problems->problems[1];
    prepare(&alone, processes, absolute, 0);
    prepare(&together, ranks, absolute, 1);
    bench_latency(&control, call, &together, call, &alone, 5000, 9);
    struct floor *floor = floor_start();
    bench_latency(&bare, floor_round, floor, call, &alone, 5000, 9);
    floor_stop(floor);
    prepare(&alone, processes, multiply, 0);
    prepare(&together, ranks, multiply, 1);
    bench_latency(&product, call, &together, call, &alone, 5000, 9);
    together.job.grid = chosen_grid(&together);
    bench_latency(&chosen, call, &together, call, &alone, 5000, 9);
    ranks->ops->destroy(ranks);
    processes->ops->destroy(processes);
    problem_set_destroy(problems);
    return 0;
}
