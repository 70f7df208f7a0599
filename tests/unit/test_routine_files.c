/* SPDX-License-Identifier: Apache-2.0
 *
 * Routines in workers that take and give files: they get paths of private copies.
 */
#include "tests/unit/worker_rig.h"

#include <stdio.h>
#include <stdlib.h>

static const char description[] = "problem use \"Files in, out and both\"\n"
                                  "    in      file    data\n"
                                  "    out     file    copy\n"
                                  "    inout   file    both\n"
                                  "    in      char    how\n"
                                  "implementation c\n"
                                  "    c status = use_files(data, copy, both, how) in libroutines.so\n"
                                  "    error status == 100 \"the files are not as they should be\"\n"
                                  "    error status != 0 \"status {status}\"\n"
                                  "    limit \"1000 B\"\n"
                                  "problem judged \"A routine that says why it writes nothing\"\n"
                                  "    in      file    data\n"
                                  "    out     file    copy\n"
                                  "    inout   file    both\n"
                                  "    in      char    how\n"
                                  "implementation c\n"
                                  "    c status = use_files(data, copy, both, how) in libroutines.so\n"
                                  "    error status == 0 \"it did not want to\"\n"
                                  "problem gone \"Whether the files of the last call are gone\"\n"
                                  "    out     int     gone\n"
                                  "implementation c\n"
                                  "    c gone = file_is_gone() in libroutines.so\n"
                                  "problem fpath \"Paths as Fortran has them\"\n"
                                  "    in      file    data\n"
                                  "    out     file    copy\n"
                                  "    out     int     length\n"
                                  "implementation f\n"
                                  "    fortran use_paths_(data, copy, length) in libroutines.so\n"
                                  "    file    copy \"copy.dat\"\n"
                                  "problem crash \"A crash\"\n"
                                  "    in      file    data\n"
                                  "implementation c\n"
                                  "    c status = crash_with_file(data) in libroutines.so\n"
                                  "    error   status != 0 \"status\"\n"
                                  "problem stray \"A routine that makes a path longer\"\n"
                                  "    in      file    data\n"
                                  "implementation c\n"
                                  "    c write_beyond_path(data) in libroutines.so\n";

static struct rig rig;

static int open_rig(void **state)
{
    (void)state;
    rig_open(&rig, description, 1, 0, 1);
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

static void assert_fails(struct esp_error error, enum esp_status status, const char *text)
{
    if (error.status != status || !strstr(error.text, text))
        fail_msg("expected %d with \"%s\", found %d: %s", status, text, error.status, error.text);
}

static void assert_ok(struct esp_error error)
{
    if (error.status != ESP_OK)
        fail_msg("%s", error.text);
}

static struct esp_error use(const char *problem, const char *data, char how, bool in_segment)
{
    char both[] = "both,";
    return rig_call(&rig, problem, (void *[]){(char *)data, NULL, both, &how}, in_segment);
}

static void expect_clean(void)
{
    int gone = 0;
    assert_ok(rig_call(&rig, "gone", (void *[]){&gone}, false));
    assert_int_equal(gone, 1);
}

static void expect_copies(const char *data, char how, bool in_segment, const char *both)
{
    char before[] = "both,";
    struct rig_job *job = rig_prepare(&rig, "use", (void *[]){(char *)data, NULL, before, &how}, in_segment);
    rig_start(&rig, job);
    assert_ok(rig_wait(&rig, job, true)->error);
    assert_int_equal(job->arguments[1].bytes, strlen(data));
    assert_memory_equal(job->arguments[1].data, data, strlen(data));
    assert_int_equal(job->arguments[2].bytes, strlen(both));
    assert_memory_equal(job->arguments[2].data, both, strlen(both));
    rig_finish(job);
    expect_clean();
}

static void files_go_in_and_come_back(void **state)
{
    (void)state;
    expect_copies("contents", 'c', false, "both,contents");
    expect_copies("contents", 'c', true, "both,contents");
    expect_copies("", 'c', false, "both,");
    expect_copies("contents", 'a', false, "both,");
}

static void paths_that_the_routine_writes_over_change_nothing(void **state)
{
    (void)state;
    expect_copies("contents", 's', false, "both,contents");
    assert_fails(rig_call(&rig, "stray", (void *[]){"contents"}, false), ESP_CRASHED, "data");
    expect_copies("contents", 'c', false, "both,contents");
}

static void a_routine_may_write_into_its_copy_of_an_input(void **state)
{
    (void)state;
    char data[] = "contents", before[] = "both,", how = 'r';
    struct rig_job *job = rig_prepare(&rig, "use", (void *[]){data, NULL, before, &how}, true);
    rig_start(&rig, job);
    assert_ok(rig_wait(&rig, job, true)->error);
    assert_int_equal(job->arguments[1].bytes, strlen("contentsboth,"));
    assert_string_equal(data, "contents");
    rig_finish(job);
}

static void what_is_no_file_that_came_back_is_told(void **state)
{
    (void)state;
    assert_fails(use("use", "contents", 'n', false), ESP_FAILED,
                 "use_files: it did not write its output file 'copy'");
    expect_clean();
    assert_fails(use("use", "contents", 'm', false), ESP_FAILED,
                 "its output file 'copy' is not a plain file that can be read");
    assert_fails(use("use", "contents", 'l', false), ESP_FAILED,
                 "its output file 'copy' is not a plain file that can be read");
    assert_fails(use("use", "contents", 'u', false), ESP_FAILED, "did not write its output file 'both'");
    expect_clean();
    expect_copies("contents", 'c', false, "both,contents");
}

static void a_clause_of_the_description_speaks_first(void **state)
{
    (void)state;
    assert_fails(use("judged", "contents", 'n', false), ESP_FAILED, "it did not want to");
}

static void a_file_may_have_as_many_bytes_as_the_limit_says(void **state)
{
    (void)state;
    char data[502];
    memset(data, 'x', sizeof data);
    data[500] = 0;
    assert_ok(use("use", data, 'd', false));
    data[500] = 'x';
    data[501] = 0;
    assert_fails(use("use", data, 'd', false), ESP_FAILED,
                 "its output file 'copy' has 1002 bytes: at most 1000 are allowed (limit)");
    expect_clean();
}

static void fortran_gets_paths_with_their_lengths(void **state)
{
    (void)state;
    int length = -1;
    struct rig_job *job = rig_prepare(&rig, "fpath", (void *[]){"contents", NULL, &length}, false);
    rig_start(&rig, job);
    assert_ok(rig_wait(&rig, job, true)->error);
    memcpy(&length, job->arguments[2].data, sizeof length);
    assert_int_equal(length, 0);
    assert_int_equal(job->arguments[1].bytes, 8);
    assert_memory_equal(job->arguments[1].data, "contents", 8);
    rig_finish(job);
}

static void a_crash_with_files_harms_its_own_call_only(void **state)
{
    (void)state;
    assert_int_equal(rig_call(&rig, "crash", (void *[]){"contents"}, false).status, ESP_CRASHED);
    expect_copies("contents", 'c', false, "both,contents");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(files_go_in_and_come_back),
    cmocka_unit_test(paths_that_the_routine_writes_over_change_nothing),
    cmocka_unit_test(a_routine_may_write_into_its_copy_of_an_input),
    cmocka_unit_test(what_is_no_file_that_came_back_is_told),
    cmocka_unit_test(a_clause_of_the_description_speaks_first),
    cmocka_unit_test(a_file_may_have_as_many_bytes_as_the_limit_says),
    cmocka_unit_test(fortran_gets_paths_with_their_lengths),
    cmocka_unit_test(a_crash_with_files_harms_its_own_call_only),
};

int main(void)
{
    return cmocka_run_group_tests(tests, open_rig, close_rig);
}
