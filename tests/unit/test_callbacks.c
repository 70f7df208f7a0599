/* SPDX-License-Identifier: Apache-2.0
 *
 * Routines in workers that call functions of their callers.
 */
#include "core/problem/problem_callback.h"
#include "tests/unit/worker_rig.h"

#include "util/clock.h"

#include <signal.h>
#include <stdio.h>

static const char description[] =
    "problem sum \"A sum\"\n"
    "    callback double f(in double x)\n"
    "    in      int     n\n"
    "    out     double  s\n"
    "implementation c\n"
    "    c s = ask_sum(f, n) in libroutines.so\n"
    "problem fsum \"A sum, as Fortran is called\"\n"
    "    callback float f(in int i, in double half)\n"
    "    in      int     n\n"
    "    out     double  s\n"
    "implementation f\n"
    "    fortran ask_sum_(f, n, s) in libroutines.so\n"
    "problem vector \"An array there and back\"\n"
    "    callback f(in int n, in double x[n], out double y[n], inout short times) \"what to do\"\n"
    "    in      int     n\n"
    "    inout   double  x[n]\n"
    "    out     int     flag\n"
    "implementation c\n"
    "    c ask_vector(f, n, x, flag) in libroutines.so\n"
    "problem null \"A null pointer\"\n"
    "    callback f(in int n, in double x[n], out double y[n], inout short times)\n"
    "    in      int     n\n"
    "implementation c\n"
    "    c ask_null(f, n) in libroutines.so\n";

enum behaviour { RIGHT, FAILING, TOO_SHORT, TOO_LONG, OTHER_NUMBER, SILENT };

static struct rig rig;
static enum behaviour behaviour;
static _Atomic int n_asked;

static uint32_t compute(uint32_t problem, const char *question, char *answer)
{
    double x, y;
    int n;
    short times;
    switch (problem) {
    case 's':
        memcpy(&x, question, sizeof x);
        y = x * x;
        memcpy(answer, &y, sizeof y);
        return 16;
    case 'f': {
        memcpy(&n, question, sizeof n);
        memcpy(&x, question + 16, sizeof x);
        float both = (float)(n + x);
        memcpy(answer, &both, sizeof both);
        return 16;
    }
    default: /* scalars first: n and times, then x */
        memcpy(&n, question, sizeof n);
        memcpy(&times, question + 16, sizeof times);
        times = (short)(3 * times);
        memcpy(answer, &times, sizeof times);
        for (int i = 0; i < n; i++) {
            memcpy(&x, question + 32 + i * 8, sizeof x);
            y = -x;
            memcpy(answer + 16 + i * 8, &y, sizeof y);
        }
        return (uint32_t)(16 + (n * 8 + 15) / 16 * 16);
    }
}

static void on_asked(void *arg, uint64_t job_id)
{
    static _Alignas(16) char question[CALLBACK_MOST_BYTES], answer[CALLBACK_MOST_BYTES + 16];
    struct rig *to = arg;
    struct job_question asked;
    if (!to->workers->ops->question(to->workers, job_id, &asked, question))
        return;
    int n = atomic_fetch_add(&n_asked, 1) + 1;
    char name = to->jobs[job_id % RIG_JOBS].job.problem->name[0];
    uint32_t length = compute((uint32_t)name, question, answer);
    if (behaviour == SILENT)
        return;
    if (behaviour == OTHER_NUMBER && n == 1) /* before the right one: it changes nothing */
        to->workers->ops->answer(to->workers, job_id, asked.number + 1, ESP_OK, "", 0);
    if (behaviour == FAILING)
        to->workers->ops->answer(to->workers, job_id, asked.number, ESP_FAILED, "no such x", 9);
    else
        to->workers->ops->answer(to->workers, job_id, asked.number, ESP_OK, answer,
                                 behaviour == TOO_SHORT  ? length - 16
                                 : behaviour == TOO_LONG ? UINT32_MAX
                                                         : length);
}

static int open_rig(void **state)
{
    (void)state;
    rig_open(&rig, description, 1, 1, 1);
    rig.workers->asked = on_asked;
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

static struct esp_error sum(enum behaviour how, const char *problem, int n, double *s)
{
    behaviour = how;
    atomic_store(&n_asked, 0);
    return rig_call(&rig, problem, (void *[]){NULL, &n, s}, false);
}

static void expect_sum(void)
{
    double s = 0;
    struct esp_error error = sum(RIGHT, "sum", 100, &s);
    if (error.status != ESP_OK)
        fail_msg("%s", error.text);
    assert_float_equal(s, 338350, 0);
    assert_int_equal(atomic_load(&n_asked), 100);
}

static void a_function_is_called(void **state)
{
    (void)state;
    expect_sum();
}

static void fortran_passes_addresses(void **state)
{
    (void)state;
    double s = 0;
    struct esp_error error = sum(RIGHT, "fsum", 4, &s);
    if (error.status != ESP_OK)
        fail_msg("%s", error.text);
    assert_float_equal(s, 15, 0);
}

static struct esp_error vector(int n, double *x, int *flag, bool in_segment)
{
    behaviour = RIGHT;
    return rig_call(&rig, "vector", (void *[]){NULL, &n, x, flag}, in_segment);
}

static void arrays_go_there_and_back(void **state)
{
    (void)state;
    static double x[CALLBACK_MOST_BYTES / 8];
    for (int large = 0; large < 2; large++) {
        int n = large ? 8000 : 3, flag = 0;
        for (int i = 0; i < n; i++)
            x[i] = i + 1;
        struct esp_error error = vector(n, x, &flag, large);
        if (error.status != ESP_OK)
            fail_msg("%s", error.text);
        assert_int_equal(flag, 21);
        assert_float_equal(x[0], -1, 0);
        assert_float_equal(x[n - 1], -n, 0);
    }
}

static void what_is_too_large_is_told(void **state)
{
    (void)state;
    static double x[CALLBACK_MOST_BYTES / 8];
    int flag;
    struct esp_error error = vector(CALLBACK_MOST_BYTES / 8, x, &flag, true);
    assert_int_equal(error.status, ESP_FAILED);
    assert_string_equal(
        error.text, "callback f: with x its arguments take more than the 65536 bytes that a call may have");
    expect_sum();
}

static void negative_sizes_and_null_pointers_are_told(void **state)
{
    (void)state;
    int n = -1;
    struct esp_error error = rig_call(&rig, "null", (void *[]){NULL, &n}, false);
    assert_int_equal(error.status, ESP_FAILED);
    assert_memory_equal(error.text, "callback f: dimension 1 of x: ", 30);
    n = 2;
    error = rig_call(&rig, "null", (void *[]){NULL, &n}, false);
    assert_string_equal(error.text, "callback f: the routine passed a null pointer for x");
    expect_sum();
}

static void a_failing_function_ends_the_call(void **state)
{
    (void)state;
    double s;
    struct esp_error error = sum(FAILING, "sum", 5, &s);
    assert_int_equal(error.status, ESP_FAILED);
    assert_string_equal(error.text, "callback f failed in the client: no such x");
    expect_sum();
}

static void nonsense_ends_the_call(void **state)
{
    (void)state;
    double s;
    struct esp_error error = sum(TOO_SHORT, "sum", 5, &s);
    assert_int_equal(error.status, ESP_FAILED);
    assert_string_equal(error.text, "callback f: expected an answer of 16 bytes from the client, found 0");
    error = sum(TOO_LONG, "sum", 5, &s);
    assert_int_equal(error.status, ESP_FAILED);
    assert_int_equal(sum(OTHER_NUMBER, "sum", 5, &s).status, ESP_OK);
    assert_float_equal(s, 55, 0);
    expect_sum();
}

static void one_that_waits_can_be_cancelled(void **state)
{
    (void)state;
    int n = 3;
    double s;
    behaviour = SILENT;
    atomic_store(&n_asked, 0);
    struct rig_job *job = rig_prepare(&rig, "sum", (void *[]){NULL, &n, &s}, false);
    rig_start(&rig, job);
    while (atomic_load(&n_asked) == 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    rig.workers->ops->cancel(rig.workers, job->job.id);
    assert_int_equal(rig_wait(&rig, job, false)->error.status, ESP_CANCELLED);
    struct job_question question;
    assert_false(rig.workers->ops->question(rig.workers, job->job.id, &question, NULL));
    rig.workers->ops->answer(rig.workers, job->job.id, 1, ESP_OK, "", 0); /* too late: nothing */
    rig_finish(job);
    expect_sum();
}

static void one_that_waits_has_a_time_limit(void **state)
{
    (void)state;
    int n = 3;
    double s;
    behaviour = SILENT;
    struct rig_job *job = rig_prepare(&rig, "sum", (void *[]){NULL, &n, &s}, false);
    job->job.time_limit_ms = 200;
    rig_start(&rig, job);
    assert_int_equal(rig_wait(&rig, job, false)->error.status, ESP_TIMEOUT);
    rig_finish(job);
    expect_sum();
}

static void a_declaration_reads_back(void **state)
{
    (void)state;
    const struct problem *problem = problem_find(rig.problems, "vector");
    struct problem_set *again;
    assert_int_equal(problem_parse(problem->source, strlen(problem->source), "again", &again, NULL), ESP_OK);
    assert_int_equal(problem_find(again, "vector")->digest, problem->digest);
    assert_non_null(strstr(problem->source, "\ncallback f(in int n, in double x[n], out double y[n], inout "
                                            "short times) \"what to do\"\n"));
    problem_set_destroy(again);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_function_is_called),
    cmocka_unit_test(fortran_passes_addresses),
    cmocka_unit_test(arrays_go_there_and_back),
    cmocka_unit_test(what_is_too_large_is_told),
    cmocka_unit_test(negative_sizes_and_null_pointers_are_told),
    cmocka_unit_test(a_failing_function_ends_the_call),
    cmocka_unit_test(nonsense_ends_the_call),
    cmocka_unit_test(one_that_waits_can_be_cancelled),
    cmocka_unit_test(one_that_waits_has_a_time_limit),
    cmocka_unit_test(a_declaration_reads_back),
};

int main(void)
{
    return cmocka_run_group_tests(tests, open_rig, close_rig);
}
