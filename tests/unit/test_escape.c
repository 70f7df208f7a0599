/* SPDX-License-Identifier: Apache-2.0 */
#include "util/escape.h"

#include "tests/unit/unit.h"

static void nobody_forges_a_line_or_moves_a_terminal(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } cases[] = {{"dgesv", "dgesv"},         {"a\nb", "a\\nb"},
                 {"\x1b[2J", "\\x1b[2J"},    {"a\\b\t", "a\\\\b\\t"},
                 {"\xc2\x9b", "\\xc2\\x9b"}, {"sch\xc3\xb6n", "sch\xc3\xb6n"},
                 {"\xff\xc3", "\\xff\\xc3"}, {"", ""}};
    char shown[ESCAPED_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(escape(cases[i].text, shown), cases[i].shown);
}

static void what_is_too_long_is_cut(void **state)
{
    (void)state;
    char text[2 * ESCAPED_TEXT], shown[ESCAPED_TEXT];
    memset(text, '\n', sizeof text);
    text[sizeof text - 1] = 0;
    const size_t length = strlen(escape(text, shown));
    assert_in_range(length, ESCAPED_TEXT - 8, ESCAPED_TEXT - 1);
    assert_int_equal(length % 2, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_forges_a_line_or_moves_a_terminal),
        cmocka_unit_test(what_is_too_long_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
