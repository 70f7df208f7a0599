/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "util/bytes.h"

static void bytes_are_told_for_people(void **state)
{
    (void)state;
    char text[BYTES_TEXT];
    assert_string_equal(bytes_text(0, text), "0 bytes");
    assert_string_equal(bytes_text(1, text), "1 byte");
    assert_string_equal(bytes_text(999, text), "999 bytes");
    assert_string_equal(bytes_text(12500000, text), "12.5 MB");
    assert_string_equal(bytes_text(999999, text), "1 MB");
    assert_string_equal(bytes_text(UINT64_MAX, text), "18.4 EB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_told_for_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
