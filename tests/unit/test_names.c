/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "util/names.h"

static const char *const keys[] = {"slots", "sessions", "threads", "tls_ca", "lease"};

static const char *closest(const char *name)
{
    return names_closest(name, keys, sizeof keys / sizeof *keys);
}

static void counts_single_edits(void **state)
{
    (void)state;
    assert_int_equal(names_distance("slots", "slots", 9), 0);
    assert_int_equal(names_distance("slotz", "slots", 9), 1);
    assert_int_equal(names_distance("solts", "slots", 9), 1);
    assert_int_equal(names_distance("slot", "slots", 9), 1);
    assert_int_equal(names_distance("SLOTS", "slots", 9), 0);
    assert_int_equal(names_distance("kitten", "sitting", 9), 3);
    assert_int_equal(names_distance("", "abc", 9), 3);
    assert_true(names_distance("a", "abcdef", 2) > 2);
}

static void finds_what_was_meant(void **state)
{
    (void)state;
    assert_string_equal(closest("slotz"), "slots");
    assert_string_equal(closest("thread"), "threads");
    assert_string_equal(closest("tlsca"), "tls_ca");
    assert_string_equal(closest("elase"), "lease");
}

static void does_not_guess_wildly(void **state)
{
    (void)state;
    assert_null(closest("colour"));
    assert_null(closest("x"));
    assert_null(closest(""));
    char text[300];
    memset(text, 's', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_null(closest(text));
}

static void of_short_names_only_the_case_may_be_wrong(void **state)
{
    static const char *const sizes[] = {"n", "kl", "nrhs"};
    (void)state;
    assert_null(names_closest_word("m", sizes, 3));
    assert_null(names_closest_word("ku", sizes, 3));
    assert_string_equal("n", names_closest_word("N", sizes, 3));
    assert_string_equal("kl", names_closest_word("KL", sizes, 3));
    assert_string_equal("nrhs", names_closest_word("nrsh", sizes, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_single_edits),
        cmocka_unit_test(finds_what_was_meant),
        cmocka_unit_test(does_not_guess_wildly),
        cmocka_unit_test(of_short_names_only_the_case_may_be_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
