/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs in place of routines, in real worker processes: what goes in, what comes back, and what can
 * happen.
 */
#include "tests/unit/worker_rig.h"

#include "util/clock.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SH "    command sh \"-c\" "

static const char description[] =
    "problem count \"Lines, words and bytes\"\n"
    "    in      string  text\n"
    "    out     int     lines, words, bytes\n"
    "implementation wc\n"
    "    command wc\n"
    "    stdin   text\n"
    "    stdout  lines, words, bytes\n"
    "problem sorted \"Numbers in order\"\n"
    "    in      int     n\n"
    "    inout   double  x[n]\n"
    "implementation sort\n"
    "    command sort \"-g\" \"{x}\"\n"
    "    file    x \"numbers\"\n"
    "    stdout  x\n"
    "problem in_place \"Numbers in order, in their file\"\n"
    "    in      int     n\n"
    "    inout   double  x[n]\n"
    "implementation sort\n"
    "    command sort \"-g\" \"-o\" \"{x}\" \"{x}\"\n"
    "problem transposed \"A matrix that is read row by row and written column by column\"\n"
    "    in      int     m, n\n"
    "    in      int     A[m, n]\n"
    "    out     double  B[m, n]\n"
    "    out     string  head\n"
    "implementation shell\n" SH "\"{{ echo '%%MatrixMarket matrix array real general'; echo {m} {n}; "
    "for j in `seq {n}`; do cut -d' ' -f$j {A}; done; }} > {B}; head -1 {A}\"\n"
    "    file    B matrix-market\n"
    "    stdout  head\n"
    "problem market \"A complex matrix there and back\"\n"
    "    in      int     n\n"
    "    in      double complex A[n, n]\n"
    "    out     double complex B[n, n]\n"
    "implementation cp\n"
    "    command cp \"{A}\" \"{B}\"\n"
    "    file    A matrix-market\n"
    "    file    B matrix-market \"result\"\n"
    "problem echo \"Its words\"\n"
    "    in      string  word\n"
    "    in      int     n = 7\n"
    "    in      double  x = 0.5\n"
    "    in      char    c = 'U'\n"
    "    out     string  words\n"
    "implementation printf\n"
    "    command printf \"%s|\" \"{word}\" \"{2*n}\" \"a{x}{{b}}\" \"{c}\" \"$HOME `id`; true\"\n"
    "    stdout  words\n"
    "problem cat \"A file there and back\"\n"
    "    in      file    data\n"
    "    out     file    copy\n"
    "implementation cat\n"
    "    command cat \"{data}\"\n"
    "    stdout  copy\n"
    "    limit   \"100 kB\"\n"
    "problem run \"A script\"\n"
    "    in      string  script\n"
    "    out     string  output\n"
    "implementation sh\n" SH "\"{script}\"\n"
    "    stdout  output\n"
    "    limit   \"64 KiB\"\n"
    "problem chat \"A script that talks\"\n"
    "    in      string  script\n"
    "implementation sh\n" SH "\"{script}\"\n"
    "problem judged \"A script whose exit status means something\"\n"
    "    in      string  script\n"
    "    out     int     y\n"
    "implementation sh\n" SH "\"{script}\"\n"
    "    file    y\n"
    "    error   status == 3 \"three, that is {2*status}\"\n"
    "    success status == 4\n"
    "problem hurried \"A script with little time\"\n"
    "    in      string  script\n"
    "implementation sh\n" SH "\"{script}\"\n"
    "    limit   \"300 ms\"\n"
    "problem nothing \"No such program\"\n"
    "    in      int     n\n"
    "implementation none\n"
    "    command no-such-program-anywhere \"{n}\"\n";

static struct rig rig;

static int open_rig(void **state)
{
    (void)state;
    rig_open(&rig, description, 1, 1, 1);
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

static void assert_ok(struct esp_error error)
{
    if (error.status != ESP_OK)
        fail_msg("%s", error.text);
}

static void assert_fails(struct esp_error error, enum esp_status status, const char *text)
{
    if (error.status != status || !strstr(error.text, text))
        fail_msg("expected %d with \"%s\", found %d \"%s\"", status, text, error.status, error.text);
}

/* Calls it with one string; its string result is copied to output, when there is one. */
static struct esp_error run(const char *problem, const char *script, char *output, size_t size)
{
    void *values[PROBLEM_MAX_ARGUMENTS] = {(void *)(uintptr_t)script};
    struct rig_job *job = rig_prepare(&rig, problem, values, false);
    rig_start(&rig, job);
    struct esp_error error = rig_wait(&rig, job, true)->error;
    if (output)
        snprintf(output, size, "%.*s", (int)job->arguments[1].bytes,
                 job->arguments[1].owned ? (char *)job->arguments[1].data : "");
    rig_finish(job);
    return error;
}

static void what_is_on_standard_input_is_counted(void **state)
{
    (void)state;
    char text[] = "one two\nthree\n";
    int lines = 0, words = 0, bytes = 0;
    assert_ok(rig_call(&rig, "count", (void *[]){text, &lines, &words, &bytes}, false));
    assert_int_equal(lines, 2);
    assert_int_equal(words, 3);
    assert_int_equal(bytes, 14);
}

static void numbers_keep_every_bit(void **state)
{
    (void)state;
    static const char *const problems[] = {"sorted", "in_place"};
    for (int p = 0; p < 4; p++) {
        double x[5] = {1.0 / 3, -1e-300, 2.5e17, 0, 5e-324};
        int n = 5;
        assert_ok(rig_call(&rig, problems[p % 2], (void *[]){&n, x}, p >= 2));
        double expected[5] = {-1e-300, 0, 5e-324, 1.0 / 3, 2.5e17};
        for (int i = 0; i < 5; i++)
            assert_true(x[i] == expected[i]);
    }
}

static void an_array_of_nothing_is_an_empty_file(void **state)
{
    (void)state;
    double x[1];
    int n = 0;
    assert_ok(rig_call(&rig, "sorted", (void *[]){&n, x}, false));
}

static void text_goes_by_rows_and_matrix_market_by_columns(void **state)
{
    (void)state;
    int m = 2, n = 3, a[6] = {11, 21, 12, 22, 13, 23};
    double b[6] = {0};
    void *values[] = {&m, &n, a, b, NULL};
    struct rig_job *job = rig_prepare(&rig, "transposed", values, false);
    rig_start(&rig, job);
    assert_ok(rig_wait(&rig, job, true)->error);
    for (int i = 0; i < 6; i++)
        assert_true(b[i] == a[i]);
    assert_int_equal(job->arguments[4].bytes, 9);
    assert_memory_equal(job->arguments[4].data, "11 12 13\n", 9);
    rig_finish(job);
}

static void a_complex_matrix_survives_matrix_market(void **state)
{
    (void)state;
    int n = 2;
    double a[8] = {1, 2, 3, -4, 1.0 / 7, 0, 0, 1e-9}, b[8] = {0};
    assert_ok(rig_call(&rig, "market", (void *[]){&n, a, b}, false));
    assert_memory_equal(a, b, sizeof a);
}

static void words_are_words_whatever_is_in_them(void **state)
{
    (void)state;
    char word[] = "a b; rm -rf / $(id) 'x' \"y\"\n*";
    void *values[] = {word, NULL, NULL, NULL, NULL};
    struct rig_job *job = rig_prepare(&rig, "echo", values, false);
    job->scope[1] = (struct number){.kind = NUMBER_INTEGER, .integer = 21};
    rig_start(&rig, job);
    assert_ok(rig_wait(&rig, job, true)->error);
    static const char expected[] = "a b; rm -rf / $(id) 'x' \"y\"\n*|42|a0.5{b}|U|$HOME `id`; true|";
    assert_int_equal(job->arguments[4].bytes, sizeof expected - 1);
    assert_memory_equal(job->arguments[4].data, expected, sizeof expected - 1);
    rig_finish(job);
}

static void a_file_comes_back_up_to_the_limit(void **state)
{
    (void)state;
    static char data[100001];
    memset(data, 'x', 100000);
    void *values[] = {data, NULL};
    struct rig_job *job = rig_prepare(&rig, "cat", values, false);
    rig_start(&rig, job);
    assert_ok(rig_wait(&rig, job, true)->error);
    assert_int_equal(job->arguments[1].bytes, 100000);
    assert_memory_equal(job->arguments[1].data, data, 100000);
    rig_finish(job);
    data[100000] = 'y';
    char longer[100002] = "";
    memcpy(longer, data, 100001);
    assert_fails(run("cat", longer, NULL, 0), ESP_FAILED,
                 "cat was stopped: it wrote more than 100000 bytes to its standard output");
}

static void an_exit_status_is_a_failure_and_told_with_standard_error(void **state)
{
    (void)state;
    assert_fails(run("chat", "echo no such luck >&2; exit 5", NULL, 0), ESP_FAILED,
                 "sh ended with exit status 5; it said \"no such luck\"");
    assert_fails(
        run("chat", "printf 'Traceback:\\n  File \"x.py\", line 3\\nValueError: bad\\n' >&2; exit 1", NULL,
            0),
        ESP_FAILED,
        "sh ended with exit status 1; it said:\nTraceback:\n  File \"x.py\", line 3\nValueError: bad");
    assert_fails(run("chat", "for i in `seq 1000`; do echo line $i; done >&2; exit 1", NULL, 0), ESP_FAILED,
                 "sh ended with exit status 1; it said:\n[...]\nline ");
    assert_fails(run("chat", "for i in `seq 1000`; do echo line $i; done >&2; exit 1", NULL, 0), ESP_FAILED,
                 "line 999\nline 1000");
    assert_fails(run("judged", "echo 1 > y.txt; exit 3", NULL, 0), ESP_FAILED, "three, that is 6");
    assert_ok(run("judged", "echo 1 > y.txt; exit 4", NULL, 0));
    assert_fails(run("judged", "echo 1 > y.txt; exit 5", NULL, 0), ESP_FAILED, "sh ended with exit status 5");
    assert_fails(run("chat", "kill -SEGV $$", NULL, 0), ESP_CRASHED, "sh was killed by signal 11");
}

static void what_is_written_wrongly_is_told(void **state)
{
    (void)state;
    assert_fails(run("judged", "true", NULL, 0), ESP_FAILED, "sh: it did not write its output file 'y.txt'");
    assert_fails(run("judged", "echo x > y.txt", NULL, 0), ESP_FAILED,
                 "output file 'y.txt': expected number 1 of 1 (int), found 'x'");
    assert_fails(run("judged", "echo 3000000000 > y.txt", NULL, 0), ESP_FAILED, "found '3000000000'");
    assert_fails(run("judged", ": > y.txt", NULL, 0), ESP_FAILED, "expected 1 numbers (int), found 0");
    assert_fails(run("judged", "echo 1 2 > y.txt", NULL, 0), ESP_FAILED, "expected its end, found '2'");
    assert_fails(run("judged", "mkdir y.txt", NULL, 0), ESP_FAILED, "'y.txt' is not a plain file");
    assert_fails(run("judged", "ln -s /etc/passwd y.txt", NULL, 0), ESP_FAILED, "is not a plain file");
    assert_fails(run("judged", "mkfifo y.txt", NULL, 0), ESP_FAILED, "is not a plain file");
}

static void a_program_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct esp_error error = {0};
    const struct problem *problem = problem_find(rig.problems, "nothing");
    assert_int_equal(processes_check(rig.workers, problem, problem->implementations, &error), ESP_NOT_FOUND);
    assert_non_null(strstr(error.text, "there is no program 'no-such-program-anywhere' that can be run"));
    problem = problem_find(rig.problems, "count");
    assert_int_equal(processes_check(rig.workers, problem, problem->implementations, &error), ESP_OK);
}

static void the_environment_is_the_descriptions_own(void **state)
{
    (void)state;
    char output[4096];
    setenv("SECRET_OF_THE_SERVER", "x", 1);
    assert_ok(run("run", "env | cut -d= -f1 | sort | tr '\\n' ' '", output, sizeof output));
    assert_string_equal(output, "HOME LANG OMP_NUM_THREADS OPENBLAS_NUM_THREADS PATH PWD TMPDIR ");
    assert_ok(run("run", "test \"$HOME\" = \"`pwd`\" && ls -A | wc -l; ls /proc/self/fd | wc -l", output,
                  sizeof output));
    assert_string_equal(output, "0\n4\n"); /* the fourth is the folder that ls reads */
    assert_ok(run("run", "grep -c 'NoNewPrivs:.1' /proc/self/status; ulimit -c", output, sizeof output));
    assert_string_equal(output, "1\n0\n");
}

static void the_private_folder_is_empty_for_the_next_one(void **state)
{
    (void)state;
    char output[256];
    assert_ok(run("run", "mkdir -p a/b; echo x > a/b/c; chmod 0 a/b a .; echo done", output, sizeof output));
    for (int i = 0; i < 4; i++) {
        assert_ok(run("run", "ls -A | wc -l", output, sizeof output));
        assert_string_equal(output, "0\n");
    }
}

/* Whether a process of that number is there; a moment is given to those that are dying. */
static bool is_gone(pid_t pid)
{
    for (int i = 0; i < 1000 && kill(pid, 0) == 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10 * NS_PER_MS}, NULL);
    return kill(pid, 0) != 0;
}

static void what_it_leaves_behind_is_killed(void **state)
{
    (void)state;
    char output[256];
    int in_group = 0, daemon = 0;
    assert_ok(run(
        "run", "sleep 1000 & echo $!; setsid sh -c 'sleep 1000 & echo $!; exit' ; setsid sleep 1000 & exit 0",
        output, sizeof output));
    assert_int_equal(sscanf(output, "%d %d", &in_group, &daemon), 2);
    assert_true(is_gone(in_group));
    assert_true(is_gone(daemon));
    assert_non_null(strstr(rig.last_line, "that sh left behind were killed"));
}

static void a_command_that_hangs_is_stopped_with_all_its_children(void **state)
{
    (void)state;
    assert_fails(run("hurried", "setsid sleep 1000 & echo $!; wait", NULL, 0), ESP_TIMEOUT,
                 "sh was stopped after its time limit of 0.3 s");
    int pid = atoi(rig.last_line);
    assert_true(pid > 0);
    assert_true(is_gone(pid));
    assert_ok(run("chat", "true", NULL, 0));
}

static void a_cancelled_command_is_killed(void **state)
{
    (void)state;
    void *values[] = {(void *)(uintptr_t) "echo $$; sleep 1000"};
    rig.last_line[0] = 0;
    struct rig_job *job = rig_prepare(&rig, "chat", values, false);
    rig_start(&rig, job);
    for (int i = 0; i < 1000 && !rig.last_line[0]; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10 * NS_PER_MS}, NULL);
    int pid = atoi(rig.last_line);
    assert_true(pid > 0);
    rig.workers->ops->cancel(rig.workers, job->job.id);
    assert_fails(rig_wait(&rig, job, false)->error, ESP_CANCELLED, "cancelled");
    assert_true(is_gone(pid));
    rig_finish(job);
}

static void a_flood_is_bounded_and_its_end_is_told(void **state)
{
    (void)state;
    assert_fails(run("run", "yes", NULL, 0), ESP_FAILED, "more than 65536 bytes to its standard output");
    uint64_t before = rig.lines;
    assert_ok(run("chat", "seq 1000000; echo the end", NULL, 0));
    assert_string_equal(rig.last_line, "the end");
    assert_in_range(rig.lines - before, 2, 1000001); /* as much as the daemon keeps up with, once each */
}

static void standard_error_is_told_while_the_output_is_kept(void **state)
{
    (void)state;
    char output[64];
    assert_ok(run("run", "echo result; echo hello >&2", output, sizeof output));
    assert_string_equal(output, "result\n");
    assert_string_equal(rig.last_line, "hello");
}

static void an_argument_that_no_word_can_hold_is_refused(void **state)
{
    (void)state;
    char script[] = "true \0 false";
    void *values[] = {script};
    struct rig_job *job = rig_prepare(&rig, "chat", values, false);
    struct esp_error error;
    job->arguments[0].bytes = sizeof script - 1;
    assert_int_equal(rig.workers->ops->start(rig.workers, &job->job, &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "argument 'script' has a byte 0 in it"));
    rig_finish(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_on_standard_input_is_counted),
        cmocka_unit_test(numbers_keep_every_bit),
        cmocka_unit_test(an_array_of_nothing_is_an_empty_file),
        cmocka_unit_test(text_goes_by_rows_and_matrix_market_by_columns),
        cmocka_unit_test(a_complex_matrix_survives_matrix_market),
        cmocka_unit_test(words_are_words_whatever_is_in_them),
        cmocka_unit_test(a_file_comes_back_up_to_the_limit),
        cmocka_unit_test(an_exit_status_is_a_failure_and_told_with_standard_error),
        cmocka_unit_test(what_is_written_wrongly_is_told),
        cmocka_unit_test(a_program_that_is_not_there_is_named),
        cmocka_unit_test(the_environment_is_the_descriptions_own),
        cmocka_unit_test(the_private_folder_is_empty_for_the_next_one),
        cmocka_unit_test(what_it_leaves_behind_is_killed),
        cmocka_unit_test(a_command_that_hangs_is_stopped_with_all_its_children),
        cmocka_unit_test(a_cancelled_command_is_killed),
        cmocka_unit_test(a_flood_is_bounded_and_its_end_is_told),
        cmocka_unit_test(standard_error_is_told_while_the_output_is_kept),
        cmocka_unit_test(an_argument_that_no_word_can_hold_is_refused),
    };
    return cmocka_run_group_tests(tests, open_rig, close_rig);
}
