/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of strings and files as one value.
 */
#include "tests/unit/unit.h"
#include "core/problem/problem.h"
#include "core/problem/texts.h"

#include <stdlib.h>

static void what_is_packed_comes_out(void **state)
{
    (void)state;
    const struct text_item items[] = {{"one", 3}, {"", 0}, {"a\0b", 3}};
    void *value;
    uint64_t bytes;
    struct esp_error error;
    assert_int_equal(texts_pack(items, 3, &value, &bytes, &error), ESP_OK);
    assert_int_equal(bytes, 8 + 3 * 8 + 4 + 1 + 4);
    assert_int_equal(texts_check(value, bytes, 3, false, &error), ESP_OK);
    assert_int_equal(texts_check(value, bytes, 3, true, &error), ESP_INVALID);
    assert_string_equal(error.text, "element 3 has a byte 0 in it");
    struct text_item item = {0};
    for (uint64_t i = 0; i < 3; i++) {
        texts_next(value, i, &item);
        assert_int_equal(item.length, items[i].length);
        assert_memory_equal(item.bytes, items[i].bytes, item.length + 1);
    }
    free(value);
    assert_int_equal(texts_pack(NULL, 0, &value, &bytes, &error), ESP_OK);
    assert_int_equal(bytes, 8);
    assert_int_equal(texts_check(value, bytes, 0, true, &error), ESP_OK);
    free(value);
}

/* In memory of exactly its size, so that looking behind it is seen. */
static enum esp_status check_copy(const void *value, uint64_t bytes, uint64_t n)
{
    void *copy = malloc(bytes ? bytes : 1);
    memcpy(copy, value, bytes);
    enum esp_status status = texts_check(copy, bytes, n, true, NULL);
    free(copy);
    return status;
}

static void nothing_else_is_taken_for_one(void **state)
{
    (void)state;
    const struct text_item items[] = {{"one", 3}, {"two", 3}};
    void *value;
    uint64_t bytes;
    assert_int_equal(texts_pack(items, 2, &value, &bytes, NULL), ESP_OK);
    assert_int_equal(check_copy(value, bytes, 2), ESP_OK);
    for (uint64_t cut = 0; cut < bytes; cut++)
        assert_int_equal(check_copy(value, cut, 2), ESP_INVALID);
    assert_int_equal(check_copy(value, bytes, 1), ESP_INVALID);
    assert_int_equal(check_copy(value, bytes, UINT64_MAX), ESP_INVALID);
    uint64_t lengths[] = {4, 2, UINT64_MAX, UINT64_MAX - 1, INT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        memcpy((char *)value + 8, &lengths[i], 8);
        assert_int_equal(check_copy(value, bytes, 2), ESP_INVALID);
    }
    free(value);
}

static void an_array_of_strings_is_bound(void **state)
{
    (void)state;
    static const char canonical[] = "problem p \"t\"\n"
                                    "in int n\n"
                                    "in string names[n]\n"
                                    "out string lines[2*n] \"what\"\n"
                                    "inout file parts[n]\n";
    struct problem_set *set;
    struct esp_error error;
    struct number scope[4];
    struct shape shapes[4];
    int n = 3, many = TEXTS_MOST + 1;
    const void *values[4] = {&n};
    assert_int_equal(problem_parse(canonical, strlen(canonical), "f.esp", &set, &error), ESP_OK);
    const struct problem *problem = set->problems[0];
    assert_string_equal(problem->source, canonical);
    assert_true(argument_is_texts(&problem->arguments[1]) && argument_is_texts(&problem->arguments[3]));
    assert_false(argument_is_texts(&problem->arguments[0]));
    assert_int_equal(problem_bind(problem, values, scope, shapes, &error), ESP_OK);
    assert_int_equal(shapes[2].count, 6);
    assert_int_equal(shapes[2].bytes, 0);
    values[0] = &many;
    assert_int_equal(problem_bind(problem, values, scope, shapes, &error), ESP_LIMIT);
    assert_string_equal(error.text, "p: names: an array has at most 1048576 strings or files, found 1048577");
    problem_set_destroy(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_comes_out),
        cmocka_unit_test(nothing_else_is_taken_for_one),
        cmocka_unit_test(an_array_of_strings_is_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
