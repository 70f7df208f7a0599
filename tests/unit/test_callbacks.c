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

/* Strings, and sizes that the problem says. The tests that use them have functions of their own. */
static const char more[] =
    "problem told \"Strings there and back\"\n"
    "    callback string f(in int i, in string what, out string got, inout string both)\n"
    "    in      char    how\n"
    "    out     int     flag\n"
    "implementation c\n"
    "    c flag = ask_strings(f, how) in libroutines.so\n"
    "problem ftold \"Strings as Fortran has them\"\n"
    "    callback f(in char c, in string what, out string got, inout string both)\n"
    "    in      int     room\n"
    "    out     int     flag\n"
    "implementation f\n"
    "    fortran ask_strings_(f, room, flag) in libroutines.so\n"
    "problem outer \"Sizes of the problem\"\n"
    "    callback f(in double x[m*n + 1], out double y[twice], in int k, in double z[k])\n"
    "    in      int     m\n"
    "    in      short   n = 2\n"
    "    work    long    twice = 2*m\n"
    "    out     double  sum\n"
    "    require m >= 0\n"
    "implementation c\n"
    "    c sum = ask_outer(f, m, int n) in libroutines.so\n";

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

/* ---- questions that are read by their layout, as clients do ---- */

static bool by_layout;
static const char *got = "got"; /* what the function gives */
static char seen[3][200];       /* what it got */
static int64_t outer_count[3];
static bool liar; /* the answer says that its first string is longer than it is */

static const char *string_of(const struct callback_side *side, const char *data, uint32_t index)
{
    return side->text[index] == CALLBACK_ABSENT ? NULL : data + side->text[index];
}

static uint32_t answer_by_layout(struct rig *to, uint64_t job_id, const char *question, uint32_t length,
                                 char *answer)
{
    static struct callback_layout layout;
    const struct rig_job *job = &to->jobs[job_id % RIG_JOBS];
    const struct argument *argument = &job->job.problem->arguments[0];
    const struct problem *callback = argument->callback;
    uint64_t outer[CALLBACK_MAX_OUTER];
    struct esp_error error;
    if (callback_outer_values(callback, job->scope, outer, &error) != ESP_OK ||
        callback_lay_out_question(callback, outer, question, length, &layout, &error) != ESP_OK)
        fail_msg("%s", error.text);
    uint32_t n = 0;
    for (uint32_t i = 0; i < callback_n_own(callback); i++) {
        const char *string = string_of(&layout.question, question, i);
        if (string && n < 3)
            snprintf(seen[n++], sizeof seen[0], "%s", string);
        if (argument_is_string(&callback->arguments[i]))
            layout.answer.length[i] = strlen(got);
        if (i < 4 && callback->n_outer > 0 && callback->arguments[i].n_dims > 0)
            outer_count[i == 3 ? 2 : i] = (int64_t)layout.shapes[i].count;
    }
    if (callback_lay_out_answer(callback, &layout, &error) != ESP_OK)
        fail_msg("%s", error.text);
    memset(answer, 0, layout.answer.bytes);
    for (uint32_t i = 0; i < callback_n_own(callback); i++)
        if (layout.answer.text[i] != CALLBACK_ABSENT) {
            uint64_t said = strlen(got) + (liar ? 1 : 0);
            memcpy(answer + layout.answer.at[i], &said, sizeof said);
            strcpy(answer + layout.answer.text[i], got);
        }
    for (uint64_t k = 0; callback->n_outer > 0 && k < layout.shapes[1].count; k++) {
        const double one = 1;
        memcpy(answer + layout.answer.at[1] + k * sizeof one, &one, sizeof one);
    }
    return layout.answer.bytes;
}

static void on_asked(void *arg, uint64_t job_id)
{
    static _Alignas(16) char question[CALLBACK_MOST_BYTES], answer[CALLBACK_MOST_BYTES + 16];
    struct rig *to = arg;
    struct job_question asked;
    if (!to->workers->ops->question(to->workers, job_id, &asked, question))
        return;
    if (by_layout) {
        const uint32_t bytes = answer_by_layout(to, job_id, question, asked.bytes, answer);
        to->workers->ops->answer(to->workers, job_id, asked.number, ESP_OK, answer, bytes);
        return;
    }
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
    char text[sizeof description + sizeof more];
    snprintf(text, sizeof text, "%s%s", description, more);
    rig_open(&rig, text, 1, 1, 1);
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

static struct esp_error told(const char *problem, const void *input, int *flag)
{
    by_layout = true;
    memset(seen, 0, sizeof seen);
    struct esp_error error = rig_call(&rig, problem, (void *[]){NULL, (void *)(uintptr_t)input, flag}, false);
    by_layout = false;
    return error;
}

static void strings_go_there_and_back(void **state)
{
    (void)state;
    int flag = 0;
    struct esp_error error = told("told", "s", &flag);
    if (error.status != ESP_OK)
        fail_msg("%s", error.text);
    assert_string_equal(seen[0], "what");
    assert_string_equal(seen[1], "both");
    assert_int_equal(flag, 9); /* all that came back, three strings of "got" */
    got = "";
    error = told("told", "s", &flag);
    got = "got";
    assert_int_equal(error.status, ESP_OK);
    assert_int_equal(flag, 0);
}

static void strings_that_are_none_are_told(void **state)
{
    (void)state;
    int flag;
    struct esp_error error = told("told", "0", &flag); /* null */
    assert_int_equal(error.status, ESP_FAILED);
    assert_string_equal(error.text, "callback f: the routine passed a null pointer for what");
    error = told("told", "w", &flag); /* an address that leads nowhere */
    assert_int_equal(error.status, ESP_FAILED);
    assert_string_equal(error.text,
                        "callback f: in the at most 65536 bytes that a call may have, no 0 ends the "
                        "string what");
    error = told("told", "e", &flag); /* a page without a 0, and nothing behind it */
    assert_string_equal(error.text,
                        "callback f: in the at most 65536 bytes that a call may have, no 0 ends the "
                        "string what");
    error = told("told", "l", &flag); /* 1 MB */
    assert_string_equal(error.text,
                        "callback f: in the at most 65536 bytes that a call may have, no 0 ends the "
                        "string what");
    error = told("told", "t", &flag); /* two that are too long together */
    assert_int_equal(error.status, ESP_FAILED);
    assert_non_null(strstr(error.text, "callback f: in the at most 65536 bytes that a call may have"));
    error = told("told", "p", &flag); /* no place for the result */
    assert_string_equal(error.text, "callback f: the routine passed a null pointer for got");
    liar = true;
    error = told("told", "s", &flag);
    liar = false;
    assert_int_equal(error.status, ESP_FAILED);
    assert_non_null(strstr(error.text, "does not end where its length says"));
    strings_go_there_and_back(state);
}

static void the_longest_string_goes_and_one_more_does_not(void **state)
{
    (void)state;
    int flag;
    assert_int_equal(told("told", "m", &flag).status, ESP_OK);
    assert_int_equal(told("told", "n", &flag).status, ESP_FAILED);
}

static void strings_of_fortran_have_lengths(void **state)
{
    (void)state;
    int flag = 0, room = 5;
    struct esp_error error = told("ftold", &room, &flag);
    if (error.status != ESP_OK)
        fail_msg("%s", error.text);
    assert_string_equal(seen[0], "what");
    assert_string_equal(seen[1], "both");
    assert_int_equal(flag, 3);
    room = 2;
    error = told("ftold", &room, &flag);
    assert_int_equal(error.status, ESP_FAILED);
    assert_string_equal(error.text,
                        "callback f: the client gave 3 characters for got, the routine has room for 2");
}

static void sizes_of_the_problem_are_known_on_both_sides(void **state)
{
    (void)state;
    by_layout = true;
    double sum = 0;
    int m = 3;
    short n = 4;
    struct rig_job *job = rig_prepare(&rig, "outer", (void *[]){NULL, &m, &n, NULL, &sum}, false);
    rig_start(&rig, job);
    struct esp_error error = rig_wait(&rig, job, true)->error;
    if (error.status != ESP_OK)
        fail_msg("%s", error.text);
    memcpy(&sum, job->arguments[4].data, sizeof sum);
    rig_finish(job);
    assert_float_equal(sum, 6, 0); /* y has 2 m elements */
    assert_int_equal(outer_count[0], 13);
    assert_int_equal(outer_count[1], 6);
    assert_int_equal(outer_count[2], 2); /* its own k */
    m = 4000;                            /* the next call of the same closure has other sizes */
    error = rig_call(&rig, "outer", (void *[]){NULL, &m, &n, NULL, &sum}, false);
    assert_int_equal(error.status, ESP_FAILED);
    assert_string_equal(
        error.text, "callback f: with x its arguments take more than the 65536 bytes that a call may have");
    by_layout = false;
}

/* A function that computes the sizes reads the question as it is, or not at all. */
static void a_question_of_another_size_is_refused(void **state)
{
    (void)state;
    static struct callback_layout layout;
    const struct problem *callback = problem_find(rig.problems, "outer")->arguments[0].callback;
    const void *values[PROBLEM_MAX_ARGUMENTS] = {0};
    char question[1024] = {0};
    int k = 0, m = 3;
    int64_t twice = 6;
    short n = 4;
    uint64_t outer[CALLBACK_MAX_OUTER] = {0};
    struct esp_error error;
    assert_int_equal(callback->n_outer, 3);
    assert_string_equal(callback->arguments[4].name, "m");
    values[2] = &k;
    values[4] = &m;
    values[5] = &n;
    values[6] = &twice;
    assert_int_equal(callback_lay_out(callback, values, &layout, &error), ESP_OK);
    const uint32_t bytes = layout.question.bytes;
    memcpy(&outer[0], &m, sizeof m);
    memcpy(&outer[1], &n, sizeof n);
    memcpy(&outer[2], &twice, sizeof twice);
    assert_int_equal(callback_lay_out_question(callback, outer, question, bytes, &layout, &error), ESP_OK);
    outer[0]++;
    assert_int_equal(callback_lay_out_question(callback, outer, question, bytes, &layout, &error),
                     ESP_PROTOCOL);
    assert_non_null(strstr(error.text, "callback f: expected a question of"));
    const struct problem *strings = problem_find(rig.problems, "told")->arguments[0].callback;
    const uint64_t huge = UINT64_MAX;
    memcpy(question + 16, &huge, sizeof huge);
    assert_int_equal(callback_lay_out_question(strings, NULL, question, 96, &layout, &error), ESP_LIMIT);
    memset(question, 0, sizeof question);
    question[80] = 'x'; /* a string of length 0 */
    assert_int_equal(callback_lay_out_question(strings, NULL, question, 80, &layout, &error), ESP_OK);
    question[48] = 'x';
    assert_int_equal(callback_lay_out_question(strings, NULL, question, 80, &layout, &error), ESP_PROTOCOL);
    for (uint32_t length = 0; length < 80; length++)
        assert_int_not_equal(callback_lay_out_question(strings, NULL, question, length, &layout, &error),
                             ESP_OK);
}

static void a_declaration_with_sizes_of_the_problem_reads_back(void **state)
{
    (void)state;
    const struct problem *problem = problem_find(rig.problems, "outer");
    struct problem_set *again;
    assert_int_equal(problem_parse(problem->source, strlen(problem->source), "again", &again, NULL), ESP_OK);
    assert_int_equal(problem_find(again, "outer")->digest, problem->digest);
    assert_int_equal(problem_find(again, "outer")->arguments[0].callback->n_outer, 3);
    assert_non_null(strstr(problem->source,
                           "\ncallback f(in double x[m*n + 1], out double y[twice], in int k, "
                           "in double z[k])\n"));
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
    cmocka_unit_test(strings_go_there_and_back),
    cmocka_unit_test(strings_that_are_none_are_told),
    cmocka_unit_test(the_longest_string_goes_and_one_more_does_not),
    cmocka_unit_test(strings_of_fortran_have_lengths),
    cmocka_unit_test(sizes_of_the_problem_are_known_on_both_sides),
    cmocka_unit_test(a_question_of_another_size_is_refused),
    cmocka_unit_test(a_declaration_with_sizes_of_the_problem_reads_back),
};

int main(void)
{
    return cmocka_run_group_tests(tests, open_rig, close_rig);
}
