/* SPDX-License-Identifier: Apache-2.0 */
#include "services/awaited_file.h"
#include "tests/unit/unit.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOW_S INT64_C(1800000000)
#define S(n)  ((n)*NS_PER_S)

static char folder[64], path[128];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/espalier-awaited-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/awaited", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

/* Two, at 100 s: one ended with 20 s left, one silent with 40 s left. */
static void write_two(void)
{
    struct returning two = {0};
    struct returning_entry entry = {.name = "s",
                                    .parent = "ma",
                                    .address = "host:1",
                                    .incarnation = UINT64_MAX,
                                    .gone_ns = S(90),
                                    .until_ns = S(120),
                                    .problems = "job\0jab\0"};
    returning_restore(&two, &entry);
    entry = (struct returning_entry){
        .name = "t u", .parent = "", .address = "", .silent = true, .gone_ns = S(80), .until_ns = S(140)};
    returning_restore(&two, &entry);
    assert_int_equal(awaited_file_write(folder, &two, S(100), NOW_S, NULL), ESP_OK);
    returning_release(&two);
}

static enum esp_status read_at(struct returning *returning, int64_t now_ns, int64_t now_s)
{
    return awaited_file_read(folder, returning, now_ns, now_s, NULL);
}

static void what_is_read_is_what_was_written(void **state)
{
    (void)state;
    struct returning read = {0};
    assert_int_equal(read_at(&read, S(5), NOW_S), ESP_OK); /* none yet */
    assert_int_equal(read.n, 0);
    write_two();
    assert_int_equal(read_at(&read, S(5), NOW_S + 4), ESP_OK);
    assert_int_equal(read.n, 2);
    assert_true(returning_left_ns(&read, "s", S(5)) == S(16));
    assert_true(returning_is_silent(&read, "t u", S(40)));
    assert_false(returning_has(&read, "t u", S(41)));
    assert_string_equal(returning_solver(&read, "job", S(5)), "s");
    assert_string_equal(returning_solver(&read, "jab", S(5)), "s");
    assert_null(returning_solver(&read, "ja", S(5)));
    returning_release(&read);
}

static void a_clock_that_was_set_gives_nobody_more_time(void **state)
{
    (void)state;
    struct returning read = {0};
    write_two();
    assert_int_equal(read_at(&read, S(5), NOW_S - 100000), ESP_OK);
    assert_true(returning_left_ns(&read, "s", S(5)) == S(20));
    returning_release(&read);
    assert_int_equal(read_at(&read, S(5), NOW_S + 30), ESP_OK);
    assert_int_equal(read.n, 1);
    returning_release(&read);
    assert_int_equal(read_at(&read, S(5), INT64_MAX), ESP_OK);
    assert_int_equal(read.n, 0);
    returning_release(&read);
}

static void expect_refused(const char *text, size_t kept)
{
    struct returning read = {0};
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
    assert_int_equal(read_at(&read, S(5), NOW_S), ESP_CONFIG);
    assert_int_equal(read.n, kept);
    returning_release(&read);
}

static void a_file_that_makes_no_sense_is_told(void **state)
{
    (void)state;
    expect_refused("", 0);
    expect_refused("espalier awaited 2\n1800000000\n", 0);
    expect_refused("espalier awaited 1\n", 0);
    expect_refused("espalier awaited 1\nx\n", 0);
    expect_refused("espalier awaited 1\n1800000000\nproblem job\n", 0);
    expect_refused("espalier awaited 1\n1800000000\nserver 60001 0 0 1 s\n", 0); /* longer than anybody is */
    expect_refused("espalier awaited 1\n1800000000\nserver 60000 0 2 1 s\n", 0);
    expect_refused("espalier awaited 1\n1800000000\nserver 60000 0 0 1 \n", 0);
    expect_refused("espalier awaited 1\n1800000000\nserver 9 0 0 1 s\nproblem j\nserver 9\n", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_read_is_what_was_written, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_clock_that_was_set_gives_nobody_more_time, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_file_that_makes_no_sense_is_told, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
