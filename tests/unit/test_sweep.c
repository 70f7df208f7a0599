/* SPDX-License-Identifier: Apache-2.0
 *
 * What a parameter sweep varies.
 */
#include "client/command/sweep.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

static const struct esp_problem_argument formals[] = {
    {.name = "n", .type = ESP_TYPE_INT},
    {.name = "alpha", .type = ESP_TYPE_DOUBLE},
    {.name = "uplo", .type = ESP_TYPE_CHAR},
    {.name = "text", .type = ESP_TYPE_STRING},
    {.name = "A", .type = ESP_TYPE_DOUBLE, .n_dims = 2},
};
static const struct esp_problem problem = {.name = "p", .arguments = formals, .n_arguments = 5};

/* Words up to NULL. */
static enum esp_status sweep_of(struct sweep *sweep, struct esp_error *error, char *const *words)
{
    size_t n = 0;
    while (words[n])
        n++;
    return sweep_read(sweep, &problem, words, n, error);
}

#define WORDS(...) ((char *const[]){__VA_ARGS__, NULL})

static void assert_values(const char *word, const char *expected)
{
    struct sweep sweep;
    struct esp_error error = {0};
    char text[256] = "";
    if (sweep_of(&sweep, &error, WORDS((char *)word)) != ESP_OK)
        fail_msg("%s: %s", word, error.text);
    assert_int_equal(sweep.n_points, sweep.axes[0].n);
    for (size_t i = 0; i < sweep.axes[0].n; i++) {
        strcat(text, i ? " " : "");
        strcat(text, sweep.axes[0].values[i]);
    }
    assert_string_equal(text, expected);
    sweep_clear(&sweep);
}

static void ranges_and_lists_are_numbers(void **state)
{
    (void)state;
    assert_values("n=5", "5");
    assert_values("n=1..4", "1 2 3 4");
    assert_values("n=100..1000:300", "100 400 700 1000");
    assert_values("n=1..10:4", "1 5 9");
    assert_values("n=3..1:-1", "3 2 1");
    assert_values("n=-2..2:2", "-2 0 2");
    assert_values("n=7..7", "7");
    assert_values("n=1..3,8,10..12:2", "1 2 3 8 10 12");
    assert_values("alpha=0.1..0.5:0.1", "0.1 0.2 0.3 0.4 0.5");
    assert_values("alpha=-0.2..0.2:0.1", "-0.2 -0.1 0 0.1 0.2");
    assert_values("alpha=1e3,2.5", "1e3 2.5");
    assert_values("uplo=U,L", "U L");
}

static void what_is_no_number_is_one_value(void **state)
{
    (void)state;
    assert_values("text=a,b..c", "a,b..c");
    assert_values("A=[1,2;3,4]", "[1,2;3,4]");
    assert_values("A=@dir/a..b,c.mtx", "@dir/a..b,c.mtx");
}

static void assert_wrong(enum esp_status status, const char *text, char *const *words)
{
    struct sweep sweep;
    struct esp_error error = {0};
    assert_int_equal(sweep_of(&sweep, &error, words), status);
    if (!strstr(error.text, text))
        fail_msg("expected \"%s\" in \"%s\"", text, error.text);
}

static void what_is_wrong_is_told(void **state)
{
    (void)state;
    assert_wrong(ESP_INVALID, "expected NAME=VALUES, found 'n'", WORDS("n"));
    assert_wrong(ESP_INVALID, "expected NAME=VALUES, found 'n='", WORDS("n="));
    assert_wrong(ESP_INVALID, "p has no argument 'm'", WORDS("m=1"));
    assert_wrong(ESP_INVALID, "expected a value between commas", WORDS("n=1,,2"));
    assert_wrong(ESP_INVALID, "expected a value between commas", WORDS("n=1,"));
    assert_wrong(ESP_INVALID, "expected a range such as", WORDS("n=a..b"));
    assert_wrong(ESP_INVALID, "expected a range such as", WORDS("n=1..2:x"));
    assert_wrong(ESP_INVALID, "expected a range such as", WORDS("n=1..inf"));
    assert_wrong(ESP_INVALID, "expected a step that leads from 1 to 2, found 0", WORDS("n=1..2:0"));
    assert_wrong(ESP_INVALID, "expected a step that leads from 2 to 1, found 1", WORDS("n=2..1"));
    assert_wrong(ESP_LIMIT, "at most 100000", WORDS("n=1..1e9"));
    assert_wrong(ESP_LIMIT, "at most 100000", WORDS("alpha=0..1:1e-300"));
    assert_wrong(ESP_LIMIT, "more than 100000 combinations", WORDS("n=1..1000", "alpha=1..1000"));
}

static void the_first_name_changes_slowest(void **state)
{
    (void)state;
    struct sweep sweep;
    struct esp_error error;
    char *text;
    assert_int_equal(sweep_of(&sweep, &error, WORDS("n=1,2", "A=@a/x", "alpha=0.5,1", "A=@b")), ESP_OK);
    assert_int_equal(sweep.n_axes, 3);
    assert_int_equal(sweep.n_points, 8);
    static const char *const expected[] = {"1-@a_x-0.5", "1-@a_x-1", "1-@b-0.5", "1-@b-1",
                                           "2-@a_x-0.5", "2-@a_x-1", "2-@b-0.5", "2-@b-1"};
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(sweep_fill(&sweep, i, "{n}-{A}-{alpha}", &text, &error), ESP_OK);
        assert_string_equal(text, expected[i]);
        free(text);
    }
    assert_int_equal(sweep_check_pattern(&sweep, "x={n}{A}{alpha}", &error), ESP_OK);
    assert_int_equal(sweep_check_pattern(&sweep, "x={n}{alpha}", &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "expected {A} in the name, because A takes 2 values"));
    assert_int_equal(sweep_check_pattern(&sweep, "x={n}{alpha}{A}{m}", &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "{m} is no argument of this sweep"));
    sweep_clear(&sweep);
}

static void assert_value(const struct sweep *sweep, size_t point, size_t axis, const char *expected)
{
    char *text;
    assert_int_equal(sweep_value(sweep, point, axis, &text, NULL), ESP_OK);
    assert_string_equal(text, expected);
    free(text);
}

static void arrays_and_files_are_named_by_what_varies(void **state)
{
    (void)state;
    struct sweep sweep;
    struct esp_error error = {0};
    assert_int_equal(
        sweep_of(&sweep, &error, WORDS("n=2,30", "A=@in/r{n}.csv", "A=rand({n},2*{n})", "text={n} {x}")),
        ESP_OK);
    assert_int_equal(sweep.n_points, 4);
    assert_value(&sweep, 0, 1, "@in/r2.csv");
    assert_value(&sweep, 3, 1, "rand(30,2*30)");
    assert_value(&sweep, 3, 0, "30");
    assert_value(&sweep, 0, 2, "2 {x}");
    sweep_clear(&sweep);
    assert_int_equal(sweep_of(&sweep, &error, WORDS("n=2,30", "A=@r{m}.csv")), ESP_INVALID);
    assert_string_equal(error.text, "A: {m} is no argument of this sweep");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_and_lists_are_numbers),
        cmocka_unit_test(arrays_and_files_are_named_by_what_varies),
        cmocka_unit_test(what_is_no_number_is_one_value),
        cmocka_unit_test(what_is_wrong_is_told),
        cmocka_unit_test(the_first_name_changes_slowest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
