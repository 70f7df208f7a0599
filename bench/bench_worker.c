/* SPDX-License-Identifier: Apache-2.0
 *
 * A call handed to a worker process and back, against two bare processes that do nothing but wake each other;
 * and a routine called through its description, against the same called directly.
 */
#include "bench/bench.h"

#include "sed/crd/invoke.h"
#include "sed/pool/processes.h"
#include "util/clock.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SPIN_NS 10000

/* ---- the references: two processes ---- */

struct ping_pong {
    _Atomic uint32_t *words; /* [0]: request, [16]: reply, a cache line apart */
    int there[2], back[2];   /* pipes */
    pid_t peer;
};

static int64_t now_ns(void)
{
    return clock_now_ns(&clock_system);
}

/* As the notes on hand-off found best: yield for 10 us, then sleep. Returns what it sees. */
static uint32_t await_change(_Atomic uint32_t *word, uint32_t old)
{
    int64_t until = now_ns() + SPIN_NS;
    while (atomic_load(word) == old) {
        if (now_ns() < until)
            sched_yield();
        else
            syscall(SYS_futex, word, FUTEX_WAIT, old, NULL, NULL, 0);
    }
    return atomic_load(word);
}

static void change(_Atomic uint32_t *word)
{
    atomic_fetch_add(word, 1);
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void start_peer(struct ping_pong *peers, bool pipes)
{
    peers->words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (peers->words == MAP_FAILED || pipe(peers->there) != 0 || pipe(peers->back) != 0)
        bench_fail("cannot set two processes up");
    peers->peer = fork();
    if (peers->peer != 0)
        return;
    char byte;
    if (pipes)
        while (read(peers->there[0], &byte, 1) == 1 && write(peers->back[1], &byte, 1) == 1)
            ;
    else
        for (uint32_t seen = 0;;) {
            seen = await_change(&peers->words[0], seen);
            change(&peers->words[16]);
        }
    _exit(0);
}

static void end_peer(struct ping_pong *peers)
{
    kill(peers->peer, SIGKILL);
    waitpid(peers->peer, NULL, 0);
}

static void futex_round(void *context)
{
    struct ping_pong *peers = context;
    uint32_t before = atomic_load(&peers->words[16]);
    change(&peers->words[0]);
    await_change(&peers->words[16], before);
}

static void pipe_round(void *context)
{
    struct ping_pong *peers = context;
    char byte = 0;
    if (write(peers->there[1], &byte, 1) != 1 || read(peers->back[0], &byte, 1) != 1)
        bench_fail("a pipe broke");
}

/* ---- ours: a routine in a worker ---- */

struct pool_of_one {
    struct workers *workers;
    struct problem_set *problems;
    struct job job;
    struct job_argument arguments[8];
    struct number scope[8];
    int32_t n, result;
    double matrices[3][16];
    bool ended;
};

static void on_end(void *arg, uint64_t job_id, const struct job_end *end)
{
    struct pool_of_one *pool = arg;
    (void)job_id;
    if (end->error.status != ESP_OK)
        bench_fail("%s", end->error.text);
    pool->ended = true;
}

static void worker_round(void *context)
{
    struct pool_of_one *pool = context;
    struct esp_error error;
    pool->ended = false;
    pool->job.id++;
    if (pool->workers->ops->start(pool->workers, &pool->job, &error) != ESP_OK)
        bench_fail("%s", error.text);
    while (pool->workers->ops->help(pool->workers, pool->job.id, now_ns() + NS_PER_S))
        ;
    if (!pool->ended) /* the pool's own thread has it: it will be there in a moment */
        while (!*(volatile bool *)&pool->ended)
            sched_yield();
}

static const char description[] =
    "problem absolute \"|n|\"\n"
    "    in  int n\n"
    "    out int result\n"
    "implementation libc\n"
    "    c result = abs(n) in \"libc.so.6\"\n"
    "problem multiply \"C := A B\"\n"
    "    in      int     n\n"
    "    in      double  A[n, n], B[n, n]\n"
    "    out     double  C[n, n]\n"
    "implementation blas\n"
    "    fortran dgemm_('N', 'N', n, n, n, double 1, A, n, B, n, double 0, C, n) "
    "in libblas.so.3\n";

static void start_pool(struct pool_of_one *pool)
{
    struct esp_error error;
    if (problem_parse(description, strlen(description), "bench_worker", &pool->problems, &error) != ESP_OK)
        bench_fail("%s", error.text);
    struct processes_options options = {.slots = 1, .spares = 0, .threads = 1, .problems = pool->problems};
    if (processes_create(&options, &pool->workers, &error) != ESP_OK)
        bench_fail("%s", error.text);
    pool->workers->ended = on_end;
    pool->workers->arg = pool;
}

static void choose(struct pool_of_one *pool, const char *name)
{
    pool->n = 4;
    pool->job.problem = problem_find(pool->problems, name);
    pool->job.implementation = &pool->job.problem->implementations[0];
    pool->job.arguments = pool->arguments;
    pool->job.scope = pool->scope;
    pool->job.segment_fd = -1;
    pool->scope[0] = (struct number){.kind = NUMBER_INTEGER, .integer = pool->n};
    pool->arguments[0] = (struct job_argument){.data = &pool->n, .bytes = 4};
    pool->arguments[1] = (struct job_argument){.data = &pool->result, .bytes = 4, .writable = true};
    if (strcmp(name, "multiply") == 0)
        for (int i = 0; i < 3; i++)
            pool->arguments[1 + i] =
                (struct job_argument){.data = pool->matrices[i], .bytes = 128, .writable = i == 2};
}

/* ---- libffi against a direct call ---- */

struct direct {
    struct invocation *invocation;
    int32_t n;
    double a[4], b[4], c[4];
    void *operands[15];
};

__attribute__((noinline)) static void small_routine(const char *ta, const char *tb, const int32_t *m,
                                                    const int32_t *n, const int32_t *k, const double *alpha,
                                                    const double *a, const int32_t *lda, const double *b,
                                                    const int32_t *ldb, const double *beta, double *c,
                                                    const int32_t *ldc, size_t l1, size_t l2)
{
    c[0] = a[0] * b[0] + *alpha + *beta + *m + *n + *k + *lda + *ldb + *ldc + *ta + *tb + (double)(l1 + l2);
}

/* Of this thread alone: nothing here waits, and what else the machine does is not the question. */
static double cpu_s(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static double described(void *context, size_t n)
{
    struct direct *call = context;
    double begin = cpu_s();
    for (size_t i = 0; i < n; i++)
        invocation_call(call->invocation, call->operands, NULL);
    return (cpu_s() - begin) / (double)n * 1e6;
}

static double direct(void *context, size_t n)
{
    struct direct *call = context;
    void (*volatile routine)(const char *, const char *, const int32_t *, const int32_t *, const int32_t *,
                             const double *, const double *, const int32_t *, const double *, const int32_t *,
                             const double *, double *, const int32_t *, size_t, size_t) = small_routine;
    double begin = cpu_s();
    for (size_t i = 0; i < n; i++)
        routine("N", "N", &call->n, &call->n, &call->n, call->a, call->a, &call->n, call->b, &call->n,
                call->b, call->c, &call->n, 1, 1);
    return (cpu_s() - begin) / (double)n * 1e6;
}

static void compare_invocation(const struct problem *multiply)
{
    struct direct call = {.n = 2};
    struct call_signature signature;
    struct esp_error error;
    if (signature_build(multiply, &multiply->implementations[0], &signature, &error) != ESP_OK ||
        invocation_create(&signature, (void (*)(void))small_routine, &call.invocation, &error) != ESP_OK)
        bench_fail("%s", error.text);
    void *operands[15] = {(void *)(uintptr_t) "N",
                          (void *)(uintptr_t) "N",
                          &call.n,
                          &call.n,
                          &call.n,
                          call.a,
                          call.a,
                          &call.n,
                          call.b,
                          &call.n,
                          call.b,
                          call.c,
                          &call.n,
                          (void *)(uintptr_t)1,
                          (void *)(uintptr_t)1};
    memcpy(call.operands, operands, sizeof operands);
    bench_compare(
        &(struct bench_case){"worker", "described call, 13 parameters", "us", BENCH_GROWS_AT_MOST, 0.2},
        described, &call, direct, &call, 100000, 15);
    invocation_destroy(call.invocation);
}

int main(void)
{
    struct ping_pong futexes, pipes;
    struct pool_of_one pool = {0};
    start_peer(&futexes, false);
    start_peer(&pipes, true);
    start_pool(&pool);
    choose(&pool, "absolute");
    bench_latency(&(struct bench_case){"worker", "hand-off, against futexes", "us", BENCH_AT_MOST, 3},
                  worker_round, &pool, futex_round, &futexes, 2000, 15);
    bench_latency(&(struct bench_case){"worker", "hand-off, against pipes", "us", BENCH_AT_MOST, 1.5},
                  worker_round, &pool, pipe_round, &pipes, 2000, 15);
    choose(&pool, "multiply");
    bench_latency(&(struct bench_case){"worker", "dgemm n = 4, against pipes", "us", BENCH_AT_MOST, 2},
                  worker_round, &pool, pipe_round, &pipes, 2000, 15);
    compare_invocation(pool.job.problem);
    pool.workers->ops->destroy(pool.workers);
    problem_set_destroy(pool.problems);
    end_peer(&futexes);
    end_peer(&pipes);
    return 0;
}
