/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "util/fingerprint.h"
#include "util/random.h"

#include <stdlib.h>
#include <string.h>

static unsigned char data[1000];

static void fill(void)
{
    struct random random;
    random_seed(&random, 3);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)random_below(&random, 256);
}

static void every_changed_byte_is_noticed(void **state)
{
    (void)state;
    fill();
    for (size_t bytes = 1; bytes <= sizeof data; bytes += 37) {
        uint64_t before = fingerprint(data, bytes);
        for (size_t i = 0; i < bytes; i++) {
            data[i] ^= 0x40;
            assert_int_not_equal(fingerprint(data, bytes), before);
            data[i] ^= 0x40;
        }
        assert_int_equal(fingerprint(data, bytes), before);
    }
}

static void zeros_of_different_lengths_differ(void **state)
{
    (void)state;
    memset(data, 0, sizeof data);
    for (size_t i = 0; i < 100; i++)
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(fingerprint(data, i), fingerprint(data, j));
}

static void words_that_change_places_are_noticed(void **state)
{
    (void)state;
    fill();
    uint64_t before = fingerprint(data, sizeof data);
    for (size_t i = 0; i + 72 <= sizeof data; i += 8) {
        unsigned char word[8];
        for (size_t apart = 8; apart <= 64; apart += 8) {
            memcpy(word, data + i, 8);
            memcpy(data + i, data + i + apart, 8);
            memcpy(data + i + apart, word, 8);
            assert_int_not_equal(fingerprint(data, sizeof data), before);
            memcpy(word, data + i, 8);
            memcpy(data + i, data + i + apart, 8);
            memcpy(data + i + apart, word, 8);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_changed_byte_is_noticed),
        cmocka_unit_test(zeros_of_different_lengths_differ),
        cmocka_unit_test(words_that_change_places_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
