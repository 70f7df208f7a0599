/* SPDX-License-Identifier: Apache-2.0
 *
 * Which ranks lend pieces, as one server tells another (EXTENSION_LENDERS, EXTENSION_LENDERS_SEALED).
 */
#include "tests/unit/unit.h"

#include "sed/porter/porter_order.h"
#include "sed/data/data_internal.h"

#include <stdio.h>
#include <string.h>

static struct porter_lenders told, heard;
static uint8_t value[sizeof told];
static uint32_t length;

static void tell(uint32_t n, bool sealed)
{
    told = (struct porter_lenders){.name = {11, 22}, .n = n};
    if (sealed)
        memset(told.secret, 0x77, sizeof told.secret);
    for (uint32_t i = 0; i < n; i++) {
        told.all[i] = (struct porter_lender){.rank = 70000 + i, .port = (uint16_t)(60000 + i)};
        memset(told.all[i].host, 'a', PORTER_LENDER_HOST - 1);
    }
    length = lenders_write(&told, sealed, value);
    assert_true(length <= sizeof value);
}

static uint32_t hear(uint32_t bytes, bool sealed)
{
    const struct extension extension = {sealed ? EXTENSION_LENDERS_SEALED : EXTENSION_LENDERS, value, bytes};
    memset(&heard, 0x5a, sizeof heard);
    lenders_read(&extension, sealed, &heard);
    return heard.n;
}

static void what_is_told_is_heard(void **state)
{
    (void)state;
    for (int sealed = 0; sealed < 2; sealed++) {
        tell(PORTER_LENDERS_MOST, sealed);
        assert_int_equal(hear(length, sealed), PORTER_LENDERS_MOST);
        assert_true(datum_key_equal(heard.name, told.name));
        assert_memory_equal(heard.all, told.all, sizeof told.all);
        if (sealed)
            assert_memory_equal(heard.secret, told.secret, sizeof told.secret);
    }
}

static void what_is_cut_off_is_as_if_nobody_lent(void **state)
{
    (void)state;
    for (int sealed = 0; sealed < 2; sealed++) {
        tell(2, sealed);
        const uint32_t name = sealed ? 48 : 16, one = name + (length - name) / 2; /* which is whole */
        for (uint32_t bytes = 0; bytes < length; bytes++)
            assert_int_equal(hear(bytes, sealed), bytes == one);
    }
    lenders_read(NULL, false, &heard);
    assert_int_equal(heard.n, 0);
}

static void an_address_without_room_for_its_end_is_none(void **state)
{
    (void)state;
    tell(2, false);
    value[16 + 6] = PORTER_LENDER_HOST;
    assert_int_equal(hear(length, false), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_told_is_heard),
        cmocka_unit_test(what_is_cut_off_is_as_if_nobody_lent),
        cmocka_unit_test(an_address_without_room_for_its_end_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
