/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "util/crc32c.h"

#include "util/random.h"

#include <stdlib.h>

static void known_values_come_out(void **state)
{
    (void)state;
    uint8_t zeros[32] = {0}, ones[32];
    memset(ones, 0xff, sizeof ones);
    /* RFC 3720, B.4 */
    assert_int_equal(crc32c(0, zeros, 32), 0x8a9136aa);
    assert_int_equal(crc32c(0, ones, 32), 0x62a8ab43);
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(0, "", 0), 0);
}

/* The definition, bit by bit. */
static uint32_t bit_by_bit(uint32_t crc, const uint8_t *data, size_t bytes)
{
    crc = ~crc;
    while (bytes-- > 0) {
        crc ^= *data++;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (UINT32_C(0x82f63b78) & -(crc & 1));
    }
    return ~crc;
}

static void every_length_and_place_agrees_with_the_definition(void **state)
{
    (void)state;
    enum { MOST = 3 * 131072 + 100 };
    static const size_t lengths[] = {0,     1,     7,     8,      9,      4096,   16383,   16384,
                                     16385, 32768, 50001, 131071, 131072, 163841, MOST - 8};
    struct random random;
    uint8_t *data = malloc(MOST);
    random_seed(&random, 1);
    for (size_t i = 0; i < MOST; i++)
        data[i] = (uint8_t)random_next(&random);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t at = 0; at < 8; at++) {
            uint32_t before = (uint32_t)random_next(&random);
            assert_int_equal(crc32c(before, data + at, lengths[i]),
                             bit_by_bit(before, data + at, lengths[i]));
        }
    free(data);
}

static void pieces_make_the_whole(void **state)
{
    (void)state;
    enum { BYTES = 50000 };
    uint8_t *data = malloc(BYTES);
    memset(data, 'x', BYTES);
    for (size_t cut = 0; cut <= BYTES; cut += 1234)
        assert_int_equal(crc32c(crc32c(0, data, cut), data + cut, BYTES - cut), crc32c(0, data, BYTES));
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values_come_out),
        cmocka_unit_test(every_length_and_place_agrees_with_the_definition),
        cmocka_unit_test(pieces_make_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
