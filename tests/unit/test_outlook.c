/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/gauge.h"
#include "core/forecast/outlook.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static void a_gauge_shows_what_was_measured(void **state)
{
    (void)state;
    struct gauge *gauge;
    struct outlook outlook = {.resource = "freeMemory"};
    struct esp_error error;
    assert_int_equal(gauge_create(2, &gauge, &error), ESP_OK);
    assert_false(gauge_outlook(gauge, 1, 1000, &outlook));
    for (int i = 0; i < 2 * OUTLOOK_RECENT + 5; i++) /* values are 0.5, 2.5, 4.5, ... */
        gauge_add(gauge, i, 900 + i);
    gauge_add(gauge, 0.0 / 0.0, 5000);
    assert_true(gauge_outlook(gauge, 1, 1020, &outlook));
    assert_true(outlook.now == 2 * OUTLOOK_RECENT + 4);
    assert_true(outlook.age_s == 1020 - (900 + 2 * OUTLOOK_RECENT + 4));
    assert_int_equal(outlook.n, OUTLOOK_RECENT);
    assert_true(outlook.recent[0] == 4.5 && outlook.recent[OUTLOOK_RECENT - 1] == 2 * OUTLOOK_RECENT + 2.5);
    assert_true(outlook.forecast > 0 && outlook.error > 0);
    assert_true(gauge_outlook(gauge, 1, 10, &outlook)); /* the clock has jumped */
    assert_true(outlook.age_s == 0);
    gauge_destroy(gauge);
    gauge_destroy(NULL);
}

static void one_measurement_is_no_forecast(void **state)
{
    (void)state;
    struct gauge *gauge;
    struct outlook outlook = {.resource = "latencyTcp"};
    assert_int_equal(gauge_create(1, &gauge, NULL), ESP_OK);
    gauge_add(gauge, 7, 1000);
    assert_true(gauge_outlook(gauge, 1, 1000, &outlook));
    assert_true(outlook_is_single(&outlook));
    gauge_add(gauge, 7, 1001); /* it was forecast, and rightly */
    assert_true(gauge_outlook(gauge, 1, 1001, &outlook));
    assert_true(outlook.error == 0 && !outlook_is_single(&outlook));
    gauge_destroy(gauge);
    /* Of a machine's readings five make a value. */
    outlook.step_s = 5;
    assert_int_equal(gauge_create(5, &gauge, NULL), ESP_OK);
    for (int i = 0; i < 5; i++) {
        gauge_add(gauge, 3, 1000 + i);
        assert_true(gauge_outlook(gauge, 1, 1000 + i, &outlook));
        assert_true(outlook_is_single(&outlook) == (i < 4));
    }
    gauge_destroy(gauge);
}

static void what_is_told_is_read(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct outlook_page page;
    struct outlook told = {"bandwidthTcp", "a", "b", 100, 99.5, 2, 3, 0, 2, {98, 100}}, read;
    size_t next;
    char *rest = NULL;
    assert_true(outlook_page_begin(&page, 0, &arena));
    outlook_page_add(&page, &told);
    told.from = "two\tnames";
    outlook_page_add(&page, &told);
    told.resource = "availableCpu";
    told.from = "c";
    told.to = "";
    told.n = 0;
    outlook_page_add(&page, &told);
    char *text = (char *)(uintptr_t)outlook_page_end(&page);
    assert_int_equal(outlook_read(strtok_r(text, "\n", &rest), &read, &next), OUTLOOK_LINE);
    assert_string_equal(read.resource, "bandwidthTcp");
    assert_string_equal(read.from, "a");
    assert_string_equal(read.to, "b");
    assert_true(read.now == 100 && read.forecast == 99.5 && read.error == 2 && read.age_s == 3);
    assert_true(read.n == 2 && read.recent[0] == 98 && read.recent[1] == 100);
    assert_int_equal(outlook_read(strtok_r(NULL, "\n", &rest), &read, &next), OUTLOOK_LINE);
    assert_string_equal(read.from, "c");
    assert_string_equal(read.to, "");
    assert_int_equal(read.n, 0);
    assert_null(strtok_r(NULL, "\n", &rest));
    arena_clear(&arena);
}

/* All lines come, each once, however many pages they take. */
static void pages_follow_each_other(void **state)
{
    (void)state;
    enum { LINES = 1000 };
    struct outlook told = {.resource = "latencyTcp", .from = "a", .to = "b", .n = OUTLOOK_RECENT}, read;
    size_t next = 0, n = 0;
    unsigned pages = 0;
    for (unsigned i = 0; i < OUTLOOK_RECENT; i++)
        told.recent[i] = 1.234e-5 * i;
    do {
        struct arena arena = {0};
        struct outlook_page page;
        assert_true(outlook_page_begin(&page, next, &arena));
        for (int i = 0; i < LINES; i++) {
            told.now = i;
            outlook_page_add(&page, &told);
        }
        char *text = (char *)(uintptr_t)outlook_page_end(&page), *rest = NULL;
        assert_true(strlen(text) < 64 * 1024);
        next = 0;
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
            if (outlook_read(line, &read, &next) == OUTLOOK_LINE)
                assert_true(read.now == (double)n++);
        pages++;
        arena_clear(&arena);
    } while (next && pages < LINES);
    assert_int_equal(n, LINES);
    assert_true(pages > 1);
}

static void nonsense_is_no_weather(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "next\t0",
        "next\tsoon",
        "rain\ta\tb\t1\t1\t0\t0\t0\t",
        "latencyTcp\ta\tb\t1\t1\t0\t0",
        "latencyTcp\ta\tb\t-1\t1\t0\t0\t0\t",
        "latencyTcp\ta\tb\tnan\t1\t0\t0\t0\t",
        "latencyTcp\ta\tb\t1\t1\t0\t0\t0\t1,x",
        "latencyTcp\ta\tb\t1\t1\t0\t0\t0\t1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
        "1,1,"
        "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char line[400];
        struct outlook outlook;
        size_t next;
        snprintf(line, sizeof line, "%s", wrong[i]);
        assert_int_equal(outlook_read(line, &outlook, &next), OUTLOOK_NONSENSE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gauge_shows_what_was_measured),
        cmocka_unit_test(one_measurement_is_no_forecast),
        cmocka_unit_test(what_is_told_is_read),
        cmocka_unit_test(pages_follow_each_other),
        cmocka_unit_test(nonsense_is_no_weather),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
