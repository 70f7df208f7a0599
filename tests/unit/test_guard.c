/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/guard.h"
#include "tests/unit/unit.h"
#include "espalier.h"

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES (UINT64_C(40) << 12)
#define N     (BYTES / sizeof(double))

/* The numbers elsewhere: N of them from `first` on. */
struct elsewhere {
    double first;
    enum esp_status status;
    atomic_int fetched, ended;
    _Atomic enum guard_end how;
};

static enum esp_status fetch(void *arg, void *contents, struct esp_error *error)
{
    struct elsewhere *from = arg;
    from->fetched++;
    if (from->status != ESP_OK)
        return error_set(error, from->status, "its server is lost");
    for (uint64_t i = 0; i < N; i++)
        ((double *)contents)[i] = from->first + (double)i;
    return ESP_OK;
}

static void ended(void *arg, enum guard_end end)
{
    struct elsewhere *from = arg;
    from->how = end;
    from->ended++;
}

static const struct guard_ops ops = {fetch, ended};

/* The state after a call: the edges are there, the rest is guarded. */
static bool guard(double *memory, struct elsewhere *from)
{
    uint64_t head, tail;
    static _Thread_local double contents[N];
    for (uint64_t i = 0; i < N; i++)
        contents[i] = from->first + (double)i;
    if (!guard_can(memory, BYTES))
        return false;
    guard_edges(memory, BYTES, &head, &tail);
    assert_true(head >= 64 && tail >= 64 && head + tail < BYTES / 2);
    memcpy(memory, contents, head);
    memcpy((char *)memory + BYTES - tail, (char *)contents + BYTES - tail, tail);
    return guard_set(memory, BYTES, &ops, from, "result \"x\" of a test");
}

static double *map(void)
{
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

static double sum(const double *memory)
{
    double all = 0;
    for (uint64_t i = 0; i < N; i++)
        all += memory[i];
    return all;
}

static double expected_sum(double first)
{
    return (double)N * first + (double)(N * (N - 1)) / 2;
}

static void a_look_brings_all_of_it_once(void **state)
{
    (void)state;
    static double global[N];
    double *const allocated = malloc(BYTES), *const shared = esp_alloc(BYTES), *const mapped = map();
    double *const places[] = {global, allocated, shared, mapped};
    assert_true(allocated && shared);
    for (int i = 0; i < 4; i++) {
        struct elsewhere from = {.first = i + 1};
        assert_true(guard(places[i], &from));
        assert_true(guard_is_set(&from));
        assert_true(places[i][0] == i + 1 && places[i][N - 1] == (double)i + (double)N && from.fetched == 0);
        assert_true(places[i][N / 2] == (double)(i + 1) + (double)(N / 2));
        assert_int_equal(from.fetched, 1);
        assert_false(guard_is_set(&from));
        assert_true(sum(places[i]) == expected_sum(i + 1));
        assert_true(from.fetched == 1 && from.ended == 1 && from.how == GUARD_CAME);
    }
    free(allocated);
    assert_int_equal(esp_free(shared), ESP_OK);
    munmap(mapped, BYTES);
}

static void what_is_written_goes_over_what_belongs_there(void **state)
{
    (void)state;
    double *const memory = map();
    struct elsewhere from = {.first = 5};
    assert_true(guard(memory, &from));
    memory[N / 2] = -1;
    assert_int_equal(from.fetched, 1);
    assert_true(memory[N / 2] == -1 && memory[N / 2 + 1] == (double)(5 + N / 2 + 1));
    munmap(memory, BYTES);
}

static void *look(void *arg)
{
    const double *memory = *(double **)arg;
    *(double *)((double **)arg + 1) = sum(memory);
    return NULL;
}

static void threads_that_look_at_once_see_all_of_it(void **state)
{
    (void)state;
    enum { THREADS = 8, ROUNDS = 20 };
    double *const memory[2] = {map(), map()};
    for (int round = 0; round < ROUNDS; round++) {
        struct elsewhere from[2] = {{.first = round}, {.first = 2 * round}};
        struct {
            double *memory;
            double sum;
        } looks[THREADS];
        pthread_t threads[THREADS];
        assert_true(guard(memory[0], &from[0]) && guard(memory[1], &from[1]));
        for (int i = 0; i < THREADS; i++) {
            looks[i].memory = memory[i % 2];
            assert_int_equal(pthread_create(&threads[i], NULL, look, &looks[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            assert_true(looks[i].sum == expected_sum((i % 2 + 1) * round));
        }
        assert_true(from[0].fetched == 1 && from[1].fetched == 1);
    }
    munmap(memory[0], BYTES);
    munmap(memory[1], BYTES);
}

static void the_library_brings_before_it_hands_memory_on(void **state)
{
    (void)state;
    struct esp_error error;
    int pipes[2];
    double *const memory = map();
    struct elsewhere from = {.first = 1, .status = ESP_UNREACHABLE};
    assert_true(guard(memory, &from));
    assert_int_equal(pipe(pipes), 0);
    assert_true(write(pipes[1], memory + N / 2, 8) < 0);
    assert_int_equal(guard_bring(memory + N / 2, 8, &error), ESP_UNREACHABLE);
    assert_non_null(strstr(error.text, "result \"x\" of a test: its server is lost"));
    assert_true(guard_is_set(&from)); /* it may come later */
    from.status = ESP_OK;
    assert_int_equal(guard_bring_around(memory, BYTES, &error), ESP_OK);
    assert_true(guard_is_set(&from));
    assert_int_equal(guard_bring_around(memory, BYTES / 2, &error), ESP_OK);
    assert_false(guard_is_set(&from));
    assert_int_equal(write(pipes[1], memory + N / 2, 8), 8);
    close(pipes[0]);
    close(pipes[1]);
    munmap(memory, BYTES);
}

static void another_result_takes_the_place_of_the_first(void **state)
{
    (void)state;
    double *const memory = map();
    struct elsewhere one = {.first = 1}, other = {.first = 2};
    assert_true(guard(memory, &one) && guard(memory, &other));
    assert_true(one.ended == 1 && one.how == GUARD_DROPPED && one.fetched == 0);
    assert_true(sum(memory) == expected_sum(2));
    assert_true(guard(memory, &one));
    guard_forget(memory, BYTES);
    memset(memory, 0, BYTES);
    assert_true(one.ended == 2 && one.fetched == 0 && sum(memory) == 0);
    munmap(memory, BYTES);
}

/* Memory that the program gives back, in all ways, and that others get. */
static void memory_that_goes_is_left_alone(void **state)
{
    (void)state;
    struct esp_error error;
    struct elsewhere from = {.first = 3};
    double *memory = malloc(BYTES);
    assert_true(memory && guard(memory, &from));
    memory = realloc(memory, 3 * BYTES); /* which copies, or moves it */
    assert_non_null(memory);
    assert_true(sum(memory) == expected_sum(3));
    free(memory);

    from = (struct elsewhere){.first = 4};
    memory = map();
    assert_true(guard(memory, &from));
    assert_true(mmap(memory, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
                memory);
    assert_true(sum(memory) == 0);
    memory[N / 2] = 1;
    assert_false(guard_is_set(&from));
    assert_int_equal(guard_bring(memory, BYTES, &error), ESP_OK);
    assert_true(sum(memory) == 1 && from.fetched == 0 && from.how == GUARD_DROPPED);

    from = (struct elsewhere){.first = 5};
    assert_true(guard(memory, &from));
    assert_int_equal(munmap((char *)memory + BYTES / 2, BYTES / 2), 0);
    assert_false(guard_is_set(&from));
    assert_true(memory[N / 2 - 1] == (double)(5 + N / 2 - 1) && from.how == GUARD_DROPPED);
    munmap(memory, BYTES / 2);

    /* An allocator has the system empty it, and uses it again. */
    from = (struct elsewhere){.first = 6};
    memory = map();
    assert_true(guard(memory, &from));
    assert_int_equal(madvise(memory, BYTES, MADV_DONTNEED), 0);
    memset(memory, 0, BYTES);
    assert_int_equal(from.fetched, 0);
    munmap(memory, BYTES);

    double *again;
    for (int i = 0; i < 50; i++) { /* blocks that come and go */
        from = (struct elsewhere){.first = 7};
        memory = malloc(BYTES);
        assert_true(memory && guard(memory, &from));
        volatile uintptr_t gone;
        gone = (uintptr_t)memory;
        free(memory);
        again = calloc(N, sizeof *again);
        assert_true(again && sum(again) == 0);
        free(again);
        assert_int_equal(guard_bring((const void *)gone, BYTES, &error), ESP_OK);
    }
}

static void stacks_and_carved_blocks_are_not_guarded(void **state)
{
    (void)state;
    static const char letters[BYTES];
    double here[N];
    here[0] = 0;
    assert_false(guard_can(here, BYTES));
    assert_false(guard_can(here, 64));
    assert_false(guard_can(letters, BYTES)); /* read-only */
    assert_false(guard_can((void *)(uintptr_t)4096, BYTES));
    void *const shared = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    assert_false(guard_can(shared, BYTES));
    munmap(shared, BYTES);
}

/* The allocators of sanitizers have nothing between blocks. */
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define CARVES 1

static void *carve(void *arg)
{
    char *blocks[64];
    *(bool *)arg = true;
    for (int i = 0; i < 64; i++) { /* below the size of blocks that come from the system */
        blocks[i] = malloc(100000);
        *(bool *)arg &= blocks[i] && !guard_can(blocks[i], 100000);
    }
    for (int i = 0; i < 64; i++)
        free(blocks[i]);
    return NULL;
}

static void blocks_that_malloc_carves_are_not_guarded(void **state)
{
    (void)state;
    bool none;
    pthread_t thread;
    carve(&none);
    assert_true(none);
    assert_int_equal(pthread_create(&thread, NULL, carve, &none), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(none);
}
#endif

/* ---- what ends the process, or goes to its own handler ---- */

static sigjmp_buf back;

static void own_handler(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static void faults_of_the_program_go_to_its_handler(void **state)
{
    (void)state;
    struct sigaction own = {.sa_handler = own_handler}, before;
    struct elsewhere from = {.first = 1};
    double *const memory = map();
    char *const nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile int n = 0;
    sigemptyset(&own.sa_mask);
    assert_int_equal(sigaction(SIGSEGV, &own, &before), 0);
    for (int i = 0; i < 3; i++) { /* also when it was set behind ours */
        assert_true(guard(memory, &from));
        if (sigsetjmp(back, 1) == 0)
            *nothing = 1;
        else
            n++;
        assert_true(sum(memory) == expected_sum(1));
        if (i == 1)
            assert_int_equal(sigaction(SIGSEGV, &own, NULL), 0);
    }
    assert_int_equal(n, 3);
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    munmap(nothing, 4096);
    munmap(memory, BYTES);
}

/* The output of a child that runs `what`, and the signal that ends it. */
static int in_child(void (*what)(double *memory), double *memory, char *said, size_t size)
{
    int pipes[2], status;
    size_t n = 0;
    ssize_t got;
    assert_int_equal(pipe(pipes), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL); /* cmocka's, and sanitizers' */
        what(memory);
        _exit(0);
    }
    close(pipes[1]);
    while (n < size - 1 && (got = read(pipes[0], said + n, size - 1 - n)) > 0)
        n += (size_t)got;
    said[n] = 0;
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void look_at_middle(double *memory)
{
    *(volatile double *)&memory[N / 2];
}

static void look_at_what_is_lost(double *memory)
{
    struct elsewhere from = {.first = 1, .status = ESP_UNREACHABLE};
    if (guard(memory, &from))
        look_at_middle(memory);
}

static void look_when_it_is_over(double *memory)
{
    struct esp_error error;
    struct elsewhere from = {.first = 1};
    if (!guard(memory, &from))
        return;
    guard_stop();
    if (from.how != GUARD_LOST || guard_bring(memory, BYTES, &error) != ESP_NOT_FOUND)
        return;
    guard_forget(memory, BYTES); /* it is written anew */
    memory[N / 2] = 1;
    if (!guard(memory, &from) || memory[N / 2] != (double)(1 + N / 2) || !guard(memory, &from))
        return;
    guard_stop();
    look_at_middle(memory);
}

static void a_look_that_cannot_be_answered_ends_the_process(void **state)
{
    (void)state;
    char said[2000];
    double *const memory = map();
    assert_int_equal(in_child(look_at_what_is_lost, memory, said, sizeof said), SIGABRT);
    assert_non_null(
        strstr(said, "looked at result \"x\" of a test, which is on a server and cannot be brought: its "
                     "server is lost"));
    assert_int_equal(in_child(look_when_it_is_over, memory, said, sizeof said), SIGABRT);
    assert_non_null(strstr(said,
                           "looked at result \"x\" of a test, which was on a server when grpc_finalize() was "
                           "called"));
}

static void a_forked_child_is_told(void **state)
{
    (void)state;
    char said[2000];
    double *const memory = map();
    struct elsewhere from = {.first = 1};
    assert_true(guard(memory, &from));
    assert_int_equal(in_child(look_at_middle, memory, said, sizeof said), SIGABRT);
    assert_non_null(
        strstr(said, "result \"x\" of a test, which is on a server, in a process that was forked"));
    assert_true(sum(memory) == expected_sum(1));
    munmap(memory, BYTES);
    guard_stop();
}

int main(void)
{
    mallopt(M_MMAP_THRESHOLD, 128 << 10); /* as a sequence sets it */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_look_that_cannot_be_answered_ends_the_process), /* first: forks without threads */
        cmocka_unit_test(a_look_brings_all_of_it_once),
        cmocka_unit_test(what_is_written_goes_over_what_belongs_there),
        cmocka_unit_test(threads_that_look_at_once_see_all_of_it),
        cmocka_unit_test(the_library_brings_before_it_hands_memory_on),
        cmocka_unit_test(another_result_takes_the_place_of_the_first),
        cmocka_unit_test(memory_that_goes_is_left_alone),
        cmocka_unit_test(stacks_and_carved_blocks_are_not_guarded),
#ifdef CARVES
        cmocka_unit_test(blocks_that_malloc_carves_are_not_guarded),
#endif
        cmocka_unit_test(faults_of_the_program_go_to_its_handler),
        cmocka_unit_test(a_forked_child_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
