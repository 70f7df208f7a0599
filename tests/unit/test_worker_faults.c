/* SPDX-License-Identifier: Apache-2.0
 *
 * Routines that crash, exit, hang and make a mess: each fails its own call, and nothing else.
 */
#include "tests/unit/worker_rig.h"

#include "util/clock.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROBLEM(name, arguments, call)                                                                       \
    "problem " name " \"for a test\"\n" arguments "implementation test\n    c " call                         \
    " in \"libroutines.so\"\n"
#define N "    in int n\n"

static const char description[] = PROBLEM("fill", N "    in double value\n    out double x[n]\n",
                                          "fill(n, value, x)") PROBLEM("null_write", N, "null_write(n)")
    PROBLEM("overrun", N "    in int by\n    out double x[n]\n", "overrun(n, by, x)") PROBLEM(
        "write_beside", N "    in int at\n    out double y[n], z[n]\n    work double w[n]\n",
        "write_beside(n, at, y, z, w)")
        PROBLEM("underrun", N "    in int by\n    out double x[n]\n", "underrun(n, by, x)") PROBLEM(
            "read_beyond", N "    in int by, write\n    inout double x[n]\n", "read_beyond(n, by, write, x)")
            PROBLEM(
                "write_at", N "    in int at\n    in double x[n]\n    out double y[n]\n",
                "write_at(n, at, y)") PROBLEM("write_input", N "    in double x[n]\n    out double y[n]\n",
                                              "write_input(n, x, y)") PROBLEM("leave", "    in int code\n",
                                                                              "leave(code)")
                PROBLEM("leave_at_once", "    in int code\n", "leave_at_once(code)") PROBLEM(
                    "give_up", N, "give_up(n)") PROBLEM("raise_signal", N, "raise_signal(n)")
                    PROBLEM("spin", "    in int ms\n    out int done\n", "spin(ms, done)") PROBLEM(
                        "spin_for_ever", N, "spin_for_ever(n)") PROBLEM("fill_for_ever",
                                                                        N "    out double x[n]\n",
                                                                        "fill_for_ever(n, x)")
                        PROBLEM("leave_a_daemon", N "    out int pid\n", "leave_a_daemon(n, pid)") PROBLEM(
                            "leave_a_child", N "    out int pid\n",
                            "leave_a_child(n, pid)") PROBLEM("use_up_the_stack", N,
                                                             "use_up_the_stack(n)") PROBLEM("make_a_mess", N,
                                                                                            "make_a_mess(n)")
                            PROBLEM("find_a_mess", N "    out int found\n", "found = find_a_mess(n)") PROBLEM(
                                "close_all",
                                N, "close_all(n)") PROBLEM("scribble_before", N "    out double x[n]\n",
                                                           "scribble_before(100000, x)")
                                PROBLEM("print_much", "    in int lines\n", "print_much(lines)") PROBLEM(
                                    "print_bytes", "    in int n\n",
                                    "print_bytes(n)") PROBLEM("print_line", N, "print_line(n)")
                                    PROBLEM("open_descriptors", N "    out int open\n",
                                            "open = open_descriptors(n)") "problem fortran_stop \"STOP as "
                                                                          "gfortran makes "
                                                                          "it\"\n    in string text\n    in "
                                                                          "long length\n"
                                                                          "implementation test\n    c "
                                                                          "_gfortran_stop_string(text, "
                                                                          "length, int 0) in "
                                                                          "\"libgfortran.so.5\"\n" PROBLEM(
                                                                              "length_of",
                                                                              "    in string text\n    out "
                                                                              "int length\n",
                                                                              "length = length_of(text)");

static struct rig rig;

static int setup(void **state)
{
    (void)state;
    rig_open(&rig, description, 2, 2, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

static void assert_error(struct esp_error error, enum esp_status status, const char *text)
{
    if (error.status != status || !strstr(error.text, text))
        fail_msg("expected %s: ... %s ..., found %s: %s", esp_status_string(status), text,
                 esp_status_string(error.status), error.text);
}

static void assert_works(struct rig *with)
{
    int n = 3;
    double value = 1.5, x[3] = {0};
    struct esp_error error = rig_call(with, "fill", (void *[]){&n, &value, x}, false);
    assert_error(error, ESP_OK, "");
    assert_true(x[0] == 1.5 && x[2] == 1.5);
}

static struct esp_error call_with(const char *problem, int n)
{
    return rig_call(&rig, problem, (void *[]){&n, NULL}, false);
}

/* Waits until all workers are there and have started up. */
static void settle(struct rig *of, uint32_t alive)
{
    struct processes_counts counts;
    for (int i = 0; i < 30000; i++) {
        processes_count(of->workers, &counts);
        if (counts.alive == alive && counts.ready == alive && counts.born - counts.died == alive)
            return;
        usleep(1000);
    }
    fail_msg("%u workers, %u ready, %llu born, %llu died", counts.alive, counts.ready,
             (unsigned long long)counts.born, (unsigned long long)counts.died);
}

/* A job may die with a worker that is killed before it takes it: then another worker gets it. */
static void a_job_that_was_not_begun_goes_to_another_worker(void **state)
{
    (void)state;
    struct processes_counts counts;
    for (int i = 0; i < 20; i++) {
        int n = 3;
        double value = i, x[3] = {0};
        struct rig_job *job = rig_prepare(&rig, "fill", (void *[]){&n, &value, x}, false);
        rig_start(&rig, job);
        rig_wait(&rig, job, true);
        settle(&rig, 4);
        processes_count(rig.workers, &counts);
        char path[64];
        int child;
        snprintf(path, sizeof path, "/proc/%d/task/%d/children", counts.spawner, counts.spawner);
        FILE *children = fopen(path, "r");
        while (fscanf(children, "%d", &child) == 1)
            kill(child, SIGKILL); /* all idle ones; the pool does not know yet */
        fclose(children);
        job = rig_prepare(&rig, "fill", (void *[]){&n, &value, x}, false);
        rig_start(&rig, job);
        assert_error(rig_wait(&rig, job, true)->error, ESP_OK, "");
        assert_true(x[2] == i);
    }
}

/* ---- deaths ---- */

static void a_null_pointer_is_named(void **state)
{
    (void)state;
    assert_error(call_with("null_write", 1), ESP_CRASHED, "at address 0x0: it used a null pointer");
    assert_works(&rig);
}

static void an_overrun_meets_the_guard_behind_the_array(void **state)
{
    (void)state;
    int n = 1000, by = 1;
    double x[1000];
    assert_error(rig_call(&rig, "overrun", (void *[]){&n, &by, x}, true), ESP_CRASHED,
                 "it wrote behind the end of argument 'x'");
    n = 3; /* 24 bytes end 8 bytes before the page does; the guard is behind these */
    by = 2;
    assert_error(rig_call(&rig, "overrun", (void *[]){&n, &by, x}, true), ESP_CRASHED,
                 "it wrote behind the end of argument 'x'");
    by = 0;
    assert_error(rig_call(&rig, "overrun", (void *[]){&n, &by, x}, true), ESP_OK, "");
}

/* Reads as kernels of BLAS do, which do not use the values that they read there. */
static void reading_ahead_of_the_array_is_no_fault(void **state)
{
    (void)state;
    int n = 512, by, then_write = 0;
    double x[512] = {0};
    void *values[] = {&n, &by, &then_write, x};
    for (by = 0; by < 3 << 20; by = 3 * by + 8)
        assert_error(rig_call(&rig, "read_beyond", values, true), ESP_OK, "");
    by = -4096 - 8;
    assert_error(rig_call(&rig, "read_beyond", values, true), ESP_OK, "");
    by = 8;
    then_write = 1;
    assert_error(rig_call(&rig, "read_beyond", values, true), ESP_CRASHED,
                 "it wrote behind the end of argument 'x'");
}

static void an_underrun_meets_the_guard_in_front_of_the_array(void **state)
{
    (void)state;
    int n = 512, by = 1;
    double x[512];
    assert_error(rig_call(&rig, "underrun", (void *[]){&n, &by, x}, true), ESP_CRASHED,
                 "it wrote in front of argument 'x'");
}

/* Where the array does not fill its pages, no guard is near. */
static void a_write_beside_the_array_within_its_pages_is_seen(void **state)
{
    (void)state;
    double x[600] = {0};
    for (int n = 3; n <= 600; n += 597) {
        int by = 1;
        assert_error(rig_call(&rig, "underrun", (void *[]){&n, &by, x}, true), ESP_CRASHED,
                     "wrote in front of argument 'x'");
        by = 0;
        assert_error(rig_call(&rig, "underrun", (void *[]){&n, &by, x}, true), ESP_OK, "");
    }
    int n = 3, by = 1; /* here 8 bytes behind it are left */
    assert_error(rig_call(&rig, "overrun", (void *[]){&n, &by, x}, true), ESP_CRASHED,
                 "wrote behind argument 'x' (24 bytes)");
    assert_works(&rig);
}

static void an_overrun_of_a_small_argument_meets_the_fence_or_the_guard(void **state)
{
    (void)state;
    int n = 3, by = 1; /* 8 bytes behind it are left of its bay */
    double x[3] = {0};
    assert_error(rig_call(&rig, "overrun", (void *[]){&n, &by, x}, false), ESP_CRASHED,
                 "wrote behind argument 'x' (24 bytes)");
    for (by = 2; by < 200000; by *= 7)
        assert_error(rig_call(&rig, "overrun", (void *[]){&n, &by, x}, false), ESP_CRASHED,
                     "it wrote behind the end of argument 'x'");
    assert_works(&rig);
}

static void an_underrun_of_a_small_argument_is_seen_by_the_fences(void **state)
{
    (void)state;
    int n = 3, by = 1;
    double x[3] = {0};
    assert_error(rig_call(&rig, "underrun", (void *[]){&n, &by, x}, false), ESP_CRASHED,
                 "wrote in front of argument 'x'");
}

/* Wherever a wrong index hits, nothing else is changed unnoticed. */
static void a_write_that_jumps_is_seen(void **state)
{
    (void)state;
    int n = 3, at;
    double x[3] = {1, 2, 3}, y[3] = {0};
    void *values[] = {&n, &at, x, y};
    for (at = -2000; at<20000; at += at> - 100 && at < 100 ? 1 : 97) {
        struct esp_error error = rig_call(&rig, "write_at", values, false);
        if (at >= 0 && at < 3)
            assert_error(error, ESP_OK, "");
        else if (error.status != ESP_CRASHED || !strstr(error.text, "write_at"))
            fail_msg("at %d: %s", at, error.text);
    }
    assert_true(x[0] == 1 && x[1] == 2 && x[2] == 3);
    assert_works(&rig);
}

/* Neither into another result, nor into work arrays, nor far in front of all. */
static void a_write_that_jumps_does_not_reach_another_array(void **state)
{
    (void)state;
    int n = 3, at;
    double y[3], z[3];
    void *values[] = {&n, &at, y, z, NULL};
    for (at = -(200 << 10); at < 200 << 10; at += at >= -550 && at < 550 ? 11 : 7001) {
        struct esp_error error = rig_call(&rig, "write_beside", values, false);
        if (at >= 0 && at < n)
            assert_error(error, ESP_OK, "");
        else
            assert_error(error, ESP_CRASHED, at < 0 ? "in front of argument 'z'" : "argument 'z'");
    }
    assert_works(&rig);
}

/* Arrays of more kinds of sizes than there are bays for some still have fences. */
static void many_small_arrays_find_places(void **state)
{
    (void)state;
    static double y[1400], z[1400];
    for (int n = 1; n <= 1400; n += 173) {
        int at = n - 1;
        void *values[] = {&n, &at, y, z, NULL};
        memset(y, 0, sizeof y);
        assert_error(rig_call(&rig, "write_beside", values, false), ESP_OK, "");
        assert_true(y[0] == 1 && y[n - 1] == 1 && z[n - 1] == 7);
        at = n;
        assert_error(rig_call(&rig, "write_beside", values, false), ESP_CRASHED, "argument 'z'");
    }
}

static void a_small_input_that_was_written_is_seen(void **state)
{
    (void)state;
    int n = 10;
    double x[10] = {1}, y[10];
    assert_error(rig_call(&rig, "write_input", (void *[]){&n, x, y}, false), ESP_CRASHED,
                 "wrote into argument 'x', which is an input");
    assert_true(x[0] == 1);
}

static void an_input_cannot_be_written(void **state)
{
    (void)state;
    int n = 10;
    double x[10] = {1}, y[10];
    assert_error(rig_call(&rig, "write_input", (void *[]){&n, x, y}, true), ESP_CRASHED,
                 "wrote into argument 'x', which is an input");
    assert_true(x[0] == 1);
}

static void exit_is_named_with_what_was_printed_last(void **state)
{
    (void)state;
    assert_error(call_with("leave", 3), ESP_CRASHED, "leave called exit(3); it last printed \"leaving now\"");
    assert_error(call_with("leave", 0), ESP_CRASHED, "leave called exit(0)");
    assert_works(&rig);
}

static void a_fortran_stop_is_named_with_its_words(void **state)
{
    (void)state;
    struct esp_error error;
    const struct problem *stop = problem_find(rig.problems, "fortran_stop");
    if (processes_check(rig.workers, stop, &stop->implementations[0], &error) != ESP_OK)
        skip();
    char text[] = "matrix is bad";
    int64_t length = 13;
    assert_error(rig_call(&rig, "fortran_stop", (void *[]){text, &length}, false), ESP_CRASHED,
                 "called exit(0); it last printed \"STOP matrix is bad\"");
}

static void a_missing_reply_is_a_failure_even_with_exit_code_0(void **state)
{
    (void)state;
    assert_error(call_with("leave_at_once", 0), ESP_CRASHED, "ended its process with exit code 0");
    assert_error(call_with("leave_at_once", 7), ESP_CRASHED, "ended its process with exit code 7");
}

static void abort_is_named(void **state)
{
    (void)state;
    assert_error(call_with("give_up", 0), ESP_CRASHED, "give_up called abort()");
}

static void signals_are_named(void **state)
{
    (void)state;
    assert_error(call_with("raise_signal", SIGFPE), ESP_CRASHED, "signal 8 (Floating point exception)");
    assert_error(call_with("raise_signal", SIGTERM), ESP_CRASHED, "killed by signal 15 (Terminated)");
    assert_error(call_with("raise_signal", SIGKILL), ESP_CRASHED, "killed by signal 9 (Killed)");
    assert_works(&rig);
}

static void an_endless_recursion_is_survived(void **state)
{
    (void)state;
    assert_error(call_with("use_up_the_stack", 0), ESP_CRASHED,
#ifdef __x86_64__
                 "crashed: it used up its stack"
#else
                 "crashed with signal 11"
#endif
    );
    assert_works(&rig);
}

static void a_wild_write_over_the_words_is_survived(void **state)
{
    (void)state;
    int n = 3;
    double x[3];
    struct rig_job *job = rig_prepare(&rig, "scribble_before", (void *[]){&n, x}, false);
    job->job.time_limit_ms = 2000; /* it may have lost its way altogether */
    rig_start(&rig, job);
    assert_true(rig_wait(&rig, job, true)->error.status != ESP_OK);
    assert_works(&rig);
}

/* ---- on purpose ---- */

static void wait_for_pid(struct rig_job *job)
{
    for (int i = 0; i < 10000 && processes_pid(rig.workers, job->job.id) == 0; i++)
        usleep(1000);
    assert_int_not_equal(processes_pid(rig.workers, job->job.id), 0);
}

/* A job that writes its segment without end; returns when it has begun to. */
static struct rig_job *start_filling(double *x, int n)
{
    struct rig_job *job = rig_prepare(&rig, "fill_for_ever", (void *[]){&n, x}, true);
    memset(x, 0, (size_t)n * sizeof *x);
    rig_start(&rig, job);
    wait_for_pid(job);
    volatile double *seen = job->arguments[1].data;
    for (int i = 0; i < 20000 && seen[1] != 1; i++)
        usleep(1000);
    assert_true(seen[1] == 1);
    return job;
}

static void assert_gone(pid_t pid)
{
    for (int i = 0; i < 20000; i++) {
        if (kill(pid, 0) != 0 && errno == ESRCH)
            return;
        usleep(1000);
    }
    fail_msg("process %d is still there", (int)pid);
}

static void cancelling_kills_the_computation(void **state)
{
    (void)state;
    for (int in_segment = 0; in_segment < 2; in_segment++) {
        int n = 1;
        double x[1000];
        struct rig_job *job =
            in_segment ? start_filling(x, 1000) : rig_prepare(&rig, "spin_for_ever", (void *[]){&n}, false);
        if (!in_segment)
            rig_start(&rig, job);
        wait_for_pid(job);
        pid_t pid = processes_pid(rig.workers, job->job.id);
        rig.workers->ops->cancel(rig.workers, job->job.id);
        rig.workers->ops->cancel(rig.workers, job->job.id); /* once more does no harm */
        assert_error(rig_wait(&rig, job, in_segment)->error, ESP_CANCELLED, "cancelled");
        assert_gone(pid);
    }
    rig.workers->ops->cancel(rig.workers, 424242); /* no such job */
    assert_works(&rig);
}

static void cancelling_before_it_has_begun_works_too(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        int n = 1;
        struct rig_job *job = rig_prepare(&rig, "spin_for_ever", (void *[]){&n}, false);
        rig_start(&rig, job);
        rig.workers->ops->cancel(rig.workers, job->job.id);
        assert_error(rig_wait(&rig, job, i % 2)->error, ESP_CANCELLED, "cancelled");
    }
}

static void a_time_limit_kills_the_computation(void **state)
{
    (void)state;
    int n = 1;
    struct rig_job *job = rig_prepare(&rig, "spin_for_ever", (void *[]){&n}, false);
    job->job.time_limit_ms = 50;
    rig_start(&rig, job);
    assert_error(rig_wait(&rig, job, false)->error, ESP_TIMEOUT,
                 "spin_for_ever was stopped after its time limit of 0.05 s");
    assert_works(&rig);
}

static void kill_9_from_outside_fails_the_job_it_hits(void **state)
{
    (void)state;
    int ms = 300, done = 0;
    double x[1000];
    struct rig_job *other = rig_prepare(&rig, "spin", (void *[]){&ms, &done}, false);
    rig_start(&rig, other);
    struct rig_job *job = start_filling(x, 1000);
    kill(processes_pid(rig.workers, job->job.id), SIGKILL);
    const struct job_end *end = rig_wait(&rig, job, true);
    assert_error(end->error, ESP_CRASHED, "killed by signal 9");
    assert_true(end->lost);
    assert_false(end->unbegun);
    assert_error(rig_wait(&rig, other, true)->error, ESP_OK, "");
    assert_int_equal(done, 1);
}

static void processes_that_a_routine_started_end_with_its_worker(void **state)
{
    (void)state;
    int hang = 1, pid = 0;
    struct rig_job *job = rig_prepare(&rig, "leave_a_child", (void *[]){&hang, &pid}, false);
    rig_start(&rig, job);
    wait_for_pid(job);
    pid_t group = processes_pid(rig.workers, job->job.id);
    usleep(50000);
    rig.workers->ops->cancel(rig.workers, job->job.id);
    rig_wait(&rig, job, true);
    for (int i = 0; i < 20000 && kill(-group, 0) == 0; i++)
        usleep(1000);
    assert_int_equal(kill(-group, 0), -1);
}

static void a_process_that_a_routine_left_running_ends_after_the_call(void **state)
{
    (void)state;
    int hang = 0, pid = 0;
    assert_error(rig_call(&rig, "leave_a_child", (void *[]){&hang, &pid}, false), ESP_OK, "");
    assert_true(pid > 0);
    assert_gone(pid);
    assert_works(&rig);
}

static void a_process_that_detached_itself_ends_after_the_call(void **state)
{
    (void)state;
    int n = 0, pid = 0;
    assert_error(rig_call(&rig, "leave_a_daemon", (void *[]){&n, &pid}, false), ESP_OK, "");
    assert_true(pid > 0);
    assert_gone(pid);
    assert_works(&rig);
}

/* ---- tidiness ---- */

static void no_mess_is_left_for_the_next_call(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_error(call_with("make_a_mess", 1), ESP_OK, "");
        usleep(2000);
        int n = 0, found = 99;
        assert_error(rig_call(&rig, "find_a_mess", (void *[]){&n, &found}, false), ESP_OK, "");
        assert_int_equal(found, 0);
        assert_error(call_with("null_write", 1), ESP_CRASHED, "null pointer"); /* its handler is back */
    }
}

static void a_routine_that_closes_all_descriptors_harms_nobody(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        assert_error(call_with("close_all", 0), ESP_OK, "");
        int n = 1000;
        double value = 2, x[1000];
        assert_error(rig_call(&rig, "fill", (void *[]){&n, &value, x}, true), ESP_OK, "");
        assert_true(x[999] == 2);
    }
}

static void nobody_waiting_learns_of_a_worker_that_lost_its_bell(void **state)
{
    (void)state;
    int n = 0;
    struct rig_job *job = rig_prepare(&rig, "close_all", (void *[]){&n}, false);
    rig_start(&rig, job);
    assert_error(rig_wait(&rig, job, false)->error, ESP_OK, "");
}

static void workers_have_few_descriptors(void **state)
{
    (void)state;
    int from = 0, open = 0;
    assert_error(rig_call(&rig, "open_descriptors", (void *[]){&from, &open}, false), ESP_OK, "");
    assert_int_equal(open, 6);
}

static void all_that_is_printed_comes_before_the_end(void **state)
{
    (void)state;
    uint64_t lines = atomic_load(&rig.lines);
    assert_error(call_with("print_much", 20000), ESP_OK, "");
    assert_int_equal(atomic_load(&rig.lines) - lines, 20000);
    for (int i = 0; i < 500; i++) {
        assert_error(call_with("print_line", i), ESP_OK, "");
        char expected[64];
        snprintf(expected, sizeof expected, "the answer is %d", i);
        pthread_mutex_lock(&rig.lock);
        assert_string_equal(rig.last_line, expected);
        pthread_mutex_unlock(&rig.lock);
    }
}

static void what_is_printed_gets_no_line_ends(void **state)
{
    (void)state;
    for (int n = 3 << 10; n <= 1 << 20; n <<= 4) {
        uint64_t lines = atomic_load(&rig.lines), printed = atomic_load(&rig.printed);
        assert_error(call_with("print_bytes", n), ESP_OK, "");
        assert_int_equal(atomic_load(&rig.printed) - printed, n);
        assert_int_equal(atomic_load(&rig.lines), lines);
    }
}

static void a_string_ends_where_it_ends(void **state)
{
    (void)state;
    char text[] = "twelve bytes";
    int length = 0;
    assert_error(rig_call(&rig, "length_of", (void *[]){text, &length}, false), ESP_OK, "");
    assert_int_equal(length, 12);
}

static unsigned count_descriptors(void)
{
    unsigned n = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder))
        n++;
    closedir(folder);
    return n;
}

static unsigned count_children(pid_t pid)
{
    char path[64];
    unsigned n = 0;
    int child;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *file = fopen(path, "r");
    while (file && fscanf(file, "%d", &child) == 1)
        n++;
    if (file)
        fclose(file);
    return n;
}

static void a_thousand_crashes_leave_nothing_behind(void **state)
{
    (void)state;
    settle(&rig, 4);
    unsigned before = count_descriptors();
    struct processes_counts counts;
    processes_count(rig.workers, &counts);
    for (int i = 0; i < 1000; i++) {
        struct esp_error error = call_with(i % 2 ? "null_write" : "leave", 1);
        assert_int_equal(error.status, ESP_CRASHED);
    }
    assert_works(&rig);
    settle(&rig, 4);
    for (int i = 0; i < 10000 && count_descriptors() > before; i++)
        usleep(1000); /* the last dead may not have been buried yet */
    assert_true(count_descriptors() <= before);
    assert_int_equal(count_children(counts.spawner), 4);
}

/* ---- pools ---- */

static void two_pools_work_side_by_side(void **state)
{
    (void)state;
    static struct rig second;
    rig_open(&second, description, 1, 0, 1);
    assert_works(&second);
    assert_works(&rig);
    struct processes_counts counts;
    processes_count(second.workers, &counts);
    int n = 1;
    struct rig_job *job = rig_prepare(&second, "spin_for_ever", (void *[]){&n}, false);
    rig_start(&second, job);
    rig_close(&second); /* with a job that runs */
    assert_gone(counts.spawner);
    assert_works(&rig);
}

static void take_end(void *arg, uint64_t job_id, const struct job_end *end)
{
    (void)job_id;
    atomic_store((_Atomic int *)arg, (int)end->error.status);
}

static void a_program_that_is_no_worker_fails_the_job(void **state)
{
    (void)state;
    struct processes_options options = {.slots = 1, .threads = 1, .program = "/bin/true"};
    struct workers *workers;
    struct esp_error error;
    if (processes_create(&options, &workers, &error) != ESP_OK) {
        assert_int_equal(error.status, ESP_SYSTEM);
        return;
    }
    _Atomic int ended = ESP_PENDING;
    workers->ended = take_end;
    workers->arg = &ended;
    int n = 1;
    struct rig_job *job = rig_prepare(&rig, "null_write", (void *[]){&n}, false);
    if (workers->ops->start(workers, &job->job, &error) == ESP_OK)
        for (int i = 0; i < 30000 && atomic_load(&ended) == ESP_PENDING; i++)
            usleep(1000);
    else
        atomic_store(&ended, (int)error.status);
    assert_true(atomic_load(&ended) == ESP_SYSTEM || atomic_load(&ended) == ESP_LIMIT);
    workers->ops->destroy(workers);
}

/* It is found out when something is wanted of it; then it and its workers are replaced. */
static void a_spawner_that_is_stopped_is_replaced(void **state)
{
    (void)state;
    struct processes_counts counts;
    processes_count(rig.workers, &counts);
    int n = 1;
    struct rig_job *job = rig_prepare(&rig, "spin_for_ever", (void *[]){&n}, false);
    rig_start(&rig, job);
    wait_for_pid(job);
    pid_t worker = processes_pid(rig.workers, job->job.id), stopped = counts.spawner;
    kill(stopped, SIGSTOP);
    rig.workers->ops->cancel(rig.workers, job->job.id);
    assert_int_equal(rig_wait(&rig, job, true)->error.status, ESP_CANCELLED);
    assert_gone(worker);
    settle(&rig, 4);
    assert_works(&rig);
    processes_count(rig.workers, &counts);
    assert_int_not_equal(counts.spawner, stopped);
}

static void a_pool_survives_the_death_of_its_spawner(void **state)
{
    (void)state;
    struct processes_counts counts;
    double x[1000];
    processes_count(rig.workers, &counts);
    struct rig_job *job = start_filling(x, 1000); /* one that was not begun would begin anew elsewhere */
    pid_t worker = processes_pid(rig.workers, job->job.id);
    kill(counts.spawner, SIGKILL);
    const struct job_end *end = rig_wait(&rig, job, true);
    assert_error(end->error, ESP_SYSTEM,
                 "lost in the middle of it: the process that starts workers has ended");
    assert_true(end->lost);
    assert_false(end->unbegun);
    assert_gone(worker);
    settle(&rig, 4);
    assert_works(&rig);
}

/* A server that is killed takes its workers along. */
static void kill_9_of_the_daemon_leaves_nothing(void **state)
{
    (void)state;
    int ends[2];
    char folder[] = "/tmp/test_worker_faults.XXXXXX"; /* for the workers' files */
    assert_non_null(mkdtemp(folder));
    assert_int_equal(pipe(ends), 0);
    pid_t daemon = fork();
    if (daemon == 0) {
        static struct rig own;
        setenv("TMPDIR", folder, 1);
        struct processes_counts counts;
        rig_open(&own, description, 2, 1, 1);
        int n = 1;
        struct rig_job *job = rig_prepare(&own, "spin_for_ever", (void *[]){&n}, false);
        rig_start(&own, job);
        while (processes_pid(own.workers, job->job.id) == 0)
            usleep(1000);
        processes_count(own.workers, &counts);
        int pids[2] = {counts.spawner, processes_pid(own.workers, job->job.id)};
        if (write(ends[1], pids, sizeof pids) != sizeof pids)
            _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    int pids[2];
    assert_int_equal(read(ends[0], pids, sizeof pids), sizeof pids);
    close(ends[0]);
    kill(daemon, SIGKILL);
    waitpid(daemon, NULL, 0);
    assert_gone(pids[0]);
    assert_gone(pids[1]);
    assert_int_equal(rmdir(folder), 0); /* nothing was left in it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kill_9_of_the_daemon_leaves_nothing), /* forks: before there are threads */
        cmocka_unit_test_setup_teardown(a_null_pointer_is_named, setup, NULL),
        cmocka_unit_test(a_job_that_was_not_begun_goes_to_another_worker),
        cmocka_unit_test(a_write_beside_the_array_within_its_pages_is_seen),
        cmocka_unit_test(an_overrun_meets_the_guard_behind_the_array),
        cmocka_unit_test(reading_ahead_of_the_array_is_no_fault),
        cmocka_unit_test(an_underrun_meets_the_guard_in_front_of_the_array),
        cmocka_unit_test(an_overrun_of_a_small_argument_meets_the_fence_or_the_guard),
        cmocka_unit_test(an_underrun_of_a_small_argument_is_seen_by_the_fences),
        cmocka_unit_test(a_write_that_jumps_does_not_reach_another_array),
        cmocka_unit_test(many_small_arrays_find_places),
        cmocka_unit_test(a_write_that_jumps_is_seen),
        cmocka_unit_test(a_small_input_that_was_written_is_seen),
        cmocka_unit_test(an_input_cannot_be_written),
        cmocka_unit_test(exit_is_named_with_what_was_printed_last),
        cmocka_unit_test(a_fortran_stop_is_named_with_its_words),
        cmocka_unit_test(a_missing_reply_is_a_failure_even_with_exit_code_0),
        cmocka_unit_test(abort_is_named),
        cmocka_unit_test(signals_are_named),
        cmocka_unit_test(an_endless_recursion_is_survived),
        cmocka_unit_test(a_wild_write_over_the_words_is_survived),
        cmocka_unit_test(cancelling_kills_the_computation),
        cmocka_unit_test(cancelling_before_it_has_begun_works_too),
        cmocka_unit_test(a_time_limit_kills_the_computation),
        cmocka_unit_test(kill_9_from_outside_fails_the_job_it_hits),
        cmocka_unit_test(processes_that_a_routine_started_end_with_its_worker),
        cmocka_unit_test(a_process_that_a_routine_left_running_ends_after_the_call),
        cmocka_unit_test(a_process_that_detached_itself_ends_after_the_call),
        cmocka_unit_test(no_mess_is_left_for_the_next_call),
        cmocka_unit_test(a_routine_that_closes_all_descriptors_harms_nobody),
        cmocka_unit_test(nobody_waiting_learns_of_a_worker_that_lost_its_bell),
        cmocka_unit_test(workers_have_few_descriptors),
        cmocka_unit_test(all_that_is_printed_comes_before_the_end),
        cmocka_unit_test(what_is_printed_gets_no_line_ends),
        cmocka_unit_test(a_string_ends_where_it_ends),
        cmocka_unit_test(a_thousand_crashes_leave_nothing_behind),
        cmocka_unit_test(two_pools_work_side_by_side),
        cmocka_unit_test(a_program_that_is_no_worker_fails_the_job),
        cmocka_unit_test(a_spawner_that_is_stopped_is_replaced),
        cmocka_unit_test_setup_teardown(a_pool_survives_the_death_of_its_spawner, NULL, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
