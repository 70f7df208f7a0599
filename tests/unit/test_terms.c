/* SPDX-License-Identifier: Apache-2.0
 *
 * Terms of servers in their reports, and the terms that requests want. */
#include "tests/unit/unit.h"
#include "core/choice/terms.h"

#include <math.h>
#include <string.h>

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    static const char *const words[] = {"gpu", "site=lyon"};
    struct extensions own = {0}, wants = {0};
    struct arena arena = {0};
    struct server_terms terms;
    struct constraints constraints;
    assert_true(terms_add_real(&own, EXTENSION_PRICE, 2.5, &arena));
    assert_true(terms_add_integer(&own, EXTENSION_INCOMING, 1234567, &arena));
    assert_true(terms_add_texts(&own, EXTENSION_PROPERTIES, words, 2, &arena));
    server_terms_get(&own, &terms);
    assert_float_equal(terms.price, 2.5, 0);
    assert_int_equal(terms.incoming_bytes, 1234567);
    assert_string_equal(property_next(&terms.properties, NULL), "gpu");
    assert_string_equal(property_next(&terms.properties, property_next(&terms.properties, NULL)),
                        "site=lyon");
    assert_true(terms_add_real(&wants, EXTENSION_FINISH, 7, &arena));
    assert_true(terms_add_integer(&wants, EXTENSION_MOST_MEMORY, 99, &arena));
    assert_true(terms_add_texts(&wants, EXTENSION_WANTED, &words[1], 1, &arena));
    constraints_get(&wants, &constraints);
    assert_float_equal(constraints.finish_s, 7, 0);
    assert_int_equal(constraints.most_memory_bytes, 99);
    assert_null(property_missing(&constraints.wanted, &terms.properties));
    assert_string_equal(property_missing(&terms.properties, &constraints.wanted), "gpu");
    arena_clear(&arena);
}

static void nothing_told_is_no_constraint(void **state)
{
    (void)state;
    const struct extensions none = {0};
    struct server_terms terms;
    struct constraints constraints;
    server_terms_get(&none, &terms);
    constraints_get(&none, &constraints);
    assert_true(terms.price == 0 && terms.incoming_bytes == 0);
    assert_null(property_next(&terms.properties, NULL));
    assert_true(isinf(constraints.finish_s));
    assert_true(constraints.most_memory_bytes == UINT64_MAX);
    assert_null(property_missing(&constraints.wanted, &terms.properties));
}

static void nonsense_counts_as_not_told(void **state)
{
    (void)state;
    struct extensions own = {0}, wants = {0};
    struct arena arena = {0};
    struct server_terms terms;
    struct constraints constraints;
    struct extension items[] = {{EXTENSION_PROPERTIES, (const uint8_t *)"a\0no-end", 8},
                                {EXTENSION_INCOMING, (const uint8_t *)"abc", 3}};
    assert_true(terms_add_real(&own, EXTENSION_PRICE, NAN, &arena));
    server_terms_get(&own, &terms);
    assert_true(terms.price == 0);
    own = (struct extensions){items, 2};
    server_terms_get(&own, &terms);
    assert_int_equal(terms.incoming_bytes, 0);
    const char *first = property_next(&terms.properties, NULL);
    assert_string_equal(first, "a");
    assert_null(property_next(&terms.properties, first));
    assert_true(terms_add_real(&wants, EXTENSION_FINISH, -1, &arena));
    constraints_get(&wants, &constraints);
    assert_true(isinf(constraints.finish_s));
    arena_clear(&arena);
}

static void the_weather_is_told(void **state)
{
    (void)state;
    struct extensions own = {0};
    struct arena arena = {0};
    struct weather told = {.available = 0.5,
                           .forecast = 0.4,
                           .error = 0.1,
                           .step_ms = 5000,
                           .n = 3,
                           .shares = {250, 125, 1},
                           .memory_free = 1e9,
                           .disk_free = 2e10};
    struct weather heard;
    assert_true(terms_add_weather(&own, &told, &arena));
    assert_true(weather_get(&own, &heard));
    assert_memory_equal(&told, &heard, sizeof told);
    told.forecast = -1;
    own = (struct extensions){0};
    assert_true(terms_add_weather(&own, &told, &arena));
    assert_false(weather_get(&own, &heard));
    assert_true(heard.available == 0);
    arena_clear(&arena);
}

static void properties_are_words(void **state)
{
    (void)state;
    char longest[CAP_PROPERTY + 1];
    memset(longest, 'x', sizeof longest - 1);
    longest[CAP_PROPERTY] = 0;
    assert_non_null(property_fault(longest));
    longest[CAP_PROPERTY - 1] = 0;
    assert_null(property_fault(longest));
    assert_null(property_fault("site=lyon"));
    assert_non_null(property_fault(""));
    assert_non_null(property_fault("two words"));
    assert_non_null(property_fault("a\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again), cmocka_unit_test(nothing_told_is_no_constraint),
        cmocka_unit_test(nonsense_counts_as_not_told),   cmocka_unit_test(the_weather_is_told),
        cmocka_unit_test(properties_are_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
