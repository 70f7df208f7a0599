/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/forecast/accuracy.h"
#include "util/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/espalier-accuracy-XXXXXX";

static void told(const struct accuracy *accuracy, char text[1000])
{
    struct arena arena = {0};
    snprintf(text, 1000, "%s", accuracy_tell(accuracy, &arena));
    arena_clear(&arena);
}

static unsigned lines_of_file(char last[300])
{
    char line[300];
    unsigned n = 0;
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    for (; fgets(line, sizeof line, file); n++)
        strcpy(last, line);
    fclose(file);
    return n;
}

static void short_sessions_count_and_share_a_line(void **state)
{
    (void)state;
    char text[1000], last[300];
    double mean, bias;
    unsigned n;
    close(mkstemp(path));
    struct accuracy *accuracy = accuracy_open(path);
    assert_non_null(accuracy);
    accuracy_note(accuracy, "dgesv", 0.009, 0.01, NULL);
    for (int i = 0; i < ACCURACY_TOGETHER + 100; i++)
        accuracy_note(accuracy, "dgesv", 90e-6, i % 2 ? 100e-6 : 180e-6, NULL); /* 10 and 50 % longer */
    accuracy_note(accuracy, "ddot", 1e-6, 0, NULL);                             /* cannot be */
    assert_int_equal(lines_of_file(last), 2);
    assert_int_equal(sscanf(last, "%*s dgesv 9e-05 0.00014 %u %lf %*f %*f %lf", &n, &mean, &bias), 3);
    assert_int_equal(n, ACCURACY_TOGETHER);
    assert_true(mean > 0.299 && mean < 0.301 && bias > 0.299 && bias < 0.301);
    told(accuracy, text);
    assert_true(strncmp(text, "dgesv\t1\t0.1\t0.1\t0.1\t0.1\ndgesv\t1124\t0.3\t", 36) == 0);
    assert_non_null(strstr(text, "\tshort\n"));
    accuracy_close(accuracy);
    assert_int_equal(lines_of_file(last), 3); /* the rest of them */
    assert_int_equal(sscanf(last, "%*s dgesv %*f %*f %u", &n), 1);
    assert_int_equal(n, 100);
    accuracy = accuracy_open(path); /* what was noted one by one is known to the next life */
    told(accuracy, text);
    assert_string_equal(text, "dgesv\t1\t0.1\t0.1\t0.1\t0.1\n");
    accuracy_close(accuracy);
    unlink(path);
}

static void what_ranks_computed_names_them_and_counts(void **state)
{
    (void)state;
    char text[1000], last[300];
    const struct session_ranks ranks = {2, 1, 2, 64}, none = {0};
    struct accuracy *accuracy = accuracy_open(path);
    assert_non_null(accuracy);
    accuracy_note(accuracy, "dgesv", 0.009, 0.01, &ranks);
    assert_int_equal(lines_of_file(last), 1);
    assert_string_equal(strstr(last, "\tdgesv"),
                        "\tdgesv\t0.009\t0.01\tranks 2 to 3 as 1 x 2, blocks of 64\n");
    accuracy_note(accuracy, "dgesv", 0.009, 0.01, &none);
    assert_int_equal(lines_of_file(last), 2);
    assert_string_equal(strstr(last, "\tdgesv"), "\tdgesv\t0.009\t0.01\n");
    accuracy_close(accuracy);
    accuracy = accuracy_open(path); /* both are known to the next life */
    told(accuracy, text);
    assert_string_equal(text, "dgesv\t2\t0.1\t0.1\t0.1\t0.1\n");
    accuracy_close(accuracy);
    unlink(path);
}

/* Somebody, or a machine that fell, has left these among those of a former life. */
static void what_cannot_be_is_passed_over_and_told(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "1795794975\tdsyev\t-1\t0.19",
        "1795794975\tdsyev\t1e400\t0.19",
        "1795794975\tdsyev\tnan\t0.19",
        "1795794975\tdsyev\t0.19\t0",
        "1795794975\tdsyev\t0.19\t-1",
        "1795794975\tdsyev\t0.19\tinf",
        "1795794975\tdsyev\t0.19",
        "1795794975\tdsyev\t0.1\t0.1 0",
        "yesterday\tdsyev\t0.19\t0.2",
        "1795794975\tdsyev\t1e-5\t1e-5\t0\t0\t0\t0\t0",
        "1795794975\tdsyev\t1e-5\t1e-5\t3\t-1\t0\t0\t0",
        "1795794975\tdsyev\t1e300\t1e-300",
    };
    enum { WRONG = sizeof wrong / sizeof *wrong };
    char text[1000], log[] = "/tmp/espalier-accuracy-log-XXXXXX", expected[200], logged[1000] = "";
    close(mkstemp(log));
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "1795794975\tdgesv\t0.009\t0.01\n");
    for (int i = 0; i < WRONG; i++)
        fprintf(file, "%s\n", wrong[i]);
    fprintf(file, "1795794975\tdgesv\t1e-5\t1e-5\t3\t0.1\t0.1\t0.1\t-0.1\n");
    fprintf(file, "1795794975\tdsy"); /* cut */
    fclose(file);
    assert_int_equal(log_open(&(struct log_options){"test", log, LOG_WARNING_LEVEL}, NULL), ESP_OK);
    struct accuracy *accuracy = accuracy_open(path);
    assert_non_null(accuracy);
    told(accuracy, text);
    accuracy_close(accuracy);
    log_close();
    assert_string_equal(text, "dgesv\t1\t0.1\t0.1\t0.1\t0.1\n");
    file = fopen(log, "re");
    assert_non_null(file);
    assert_true(fread(logged, 1, sizeof logged - 1, file) > 0);
    fclose(file);
    snprintf(expected, sizeof expected, "%s:2: %d of its %d lines are not as a server writes them", path,
             WRONG + 1, WRONG + 3);
    assert_non_null(strstr(logged, expected));
    unlink(log);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(short_sessions_count_and_share_a_line),
                                       cmocka_unit_test(what_cannot_be_is_passed_over_and_told),
                                       cmocka_unit_test(what_ranks_computed_names_them_and_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
