/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "util/log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[64], content[1 << 20];
static struct esp_error error;

static int open_log(void **state)
{
    (void)state;
    strcpy(path, "/tmp/test_log.XXXXXX");
    close(mkstemp(path));
    struct log_options options = {.node = "SeD1", .path = path, .level = LOG_NOTICE_LEVEL};
    return log_open(&options, &error) == ESP_OK ? 0 : -1;
}

static int close_log(void **state)
{
    (void)state;
    log_close();
    unlink(path);
    return 0;
}

static const char *read_log(void)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    content[fread(content, 1, sizeof content - 1, file)] = '\0';
    fclose(file);
    return content;
}

static void one_line_per_event(void **state)
{
    (void)state;
    log_warning("queue=%d", 7);
    log_write(LOG_NOTICE_LEVEL, "c0ffee-12", "finished");
    int year, n = 0;
    assert_int_equal(sscanf(read_log(), "%4d-%*2d-%*2dT%*2d:%*2d:%*2d.%*6dZ %n", &year, &n), 1);
    assert_int_equal(n, 28);
    assert_true(year >= 2024);
    assert_memory_equal(content + n, "warning SeD1 queue=7\n", 21);
    assert_string_equal(strchr(content, '\n') + 1 + n, "notice SeD1 session=c0ffee-12 finished\n");
}

static void levels_above_are_dropped(void **state)
{
    (void)state;
    log_debug("quiet");
    assert_string_equal(read_log(), "");
}

static void no_input_forges_a_line(void **state)
{
    (void)state;
    log_notice("name=%s", "a\nb\r\x1b[31m\\ \x7f \xc2\x9b caf\xc3\xa9 \xff\xe2\x82");
    log_write(LOG_NOTICE_LEVEL, "s\ns", "x");
    read_log();
    assert_non_null(
        strstr(content, "name=a\\nb\\r\\x1b[31m\\\\ \\x7f \\xc2\\x9b caf\xc3\xa9 \\xff\\xe2\\x82\n"));
    assert_non_null(strstr(content, "session=s\\ns x\n"));
}

static void long_lines_are_cut(void **state)
{
    (void)state;
    static char text[20000];
    memset(text, '\n', sizeof text - 1);
    log_write(LOG_ERROR_LEVEL, text, "%s", text);
    read_log();
    assert_true(strlen(content) <= 4096);
    assert_ptr_equal(strchr(content, '\n'), content + strlen(content) - 1);
}

static void reopens_under_the_same_name(void **state)
{
    (void)state;
    char moved[80];
    snprintf(moved, sizeof moved, "%s.1", path);
    log_notice("before");
    assert_int_equal(rename(path, moved), 0);
    log_notice("moved");
    assert_int_equal(log_reopen(&error), ESP_OK);
    log_notice("after");
    assert_null(strstr(read_log(), "moved"));
    assert_non_null(strstr(content, "after"));
    unlink(moved);
}

static void a_failed_open_keeps_the_log(void **state)
{
    (void)state;
    struct log_options options = {.node = "x", .path = "/nonexistent/log", .level = LOG_DEBUG_LEVEL};
    assert_int_equal(log_open(&options, &error), ESP_SYSTEM);
    assert_string_equal(error.text,
                        "cannot open the log file \"/nonexistent/log\": No such file or directory");
    log_notice("still here");
    assert_non_null(strstr(read_log(), "SeD1 still here"));
}

static void *write_many(void *unused)
{
    (void)unused;
    for (int i = 0; i < 500; i++)
        log_notice("0123456789012345678901234567890123456789");
    return NULL;
}

static void threads_do_not_mix_lines(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, NULL), 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(log_reopen(&error), ESP_OK);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    read_log();
    size_t n = 0;
    for (char *line = strtok(content, "\n"); line; line = strtok(NULL, "\n"), n++)
        assert_string_equal(line + 28, "notice SeD1 0123456789012345678901234567890123456789");
    assert_int_equal(n, 2000);
}

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (const char *at = read_log(); (at = strstr(at, text)); at++)
        n++;
    return n;
}

static void too_many_lines_are_counted(void **state)
{
    (void)state;
    struct log_quota quota = {.most = 3, .what = "tiny ones"};
    int64_t now_ns = INT64_C(5000000000);
    for (int i = 0; i < 10; i++)
        if (log_quota_take(&quota, now_ns + i))
            log_notice("tiny");
    assert_int_equal(count_lines("SeD1 tiny\n"), 3);
    assert_int_equal(count_lines("tiny ones: 7 more"), 0);
    assert_true(log_quota_take(&quota, now_ns + INT64_C(1000000000)));
    assert_int_equal(count_lines("tiny ones: 7 more"), 1);
    assert_true(log_quota_take(&quota, now_ns + INT64_C(2000000000)));
    assert_int_equal(count_lines("more in the second"), 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_log, close_log)
    const struct CMUnitTest tests[] = {
        TEST(one_line_per_event),       TEST(levels_above_are_dropped),    TEST(no_input_forges_a_line),
        TEST(long_lines_are_cut),       TEST(reopens_under_the_same_name), TEST(a_failed_open_keeps_the_log),
        TEST(threads_do_not_mix_lines), TEST(too_many_lines_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
