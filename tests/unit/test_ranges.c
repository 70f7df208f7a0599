/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "util/ranges.h"

#include <stdlib.h>

static void chunks_in_any_order_become_one(void **state)
{
    (void)state;
    struct ranges ranges = {0};
    struct range gap;
    ranges_add(&ranges, 20, 30, NULL);
    ranges_add(&ranges, 0, 10, NULL);
    assert_false(ranges_cover(&ranges, 30, &gap));
    assert_int_equal(gap.from, 10);
    assert_int_equal(gap.to, 20);
    ranges_add(&ranges, 10, 20, NULL);
    assert_true(ranges_cover(&ranges, 30, &gap));
    assert_int_equal(ranges.n, 1);
    assert_false(ranges_cover(&ranges, 31, &gap));
    assert_int_equal(gap.from, 30);
    ranges_clear(&ranges);
}

static void overlapping_and_repeated_chunks_count_once(void **state)
{
    (void)state;
    struct ranges ranges = {0};
    struct range gap;
    for (int i = 0; i < 10; i++)
        ranges_add(&ranges, 0, 10, NULL); /* as many bytes as 100, and yet only ten */
    ranges_add(&ranges, 5, 15, NULL);
    assert_false(ranges_cover(&ranges, 100, &gap));
    assert_int_equal(gap.from, 15);
    ranges_add(&ranges, 90, 100, NULL);
    ranges_add(&ranges, 0, 100, NULL);
    assert_true(ranges_cover(&ranges, 100, &gap));
    ranges_clear(&ranges);
}

/* Against a plain array of flags. */
static void random_chunks_agree_with_a_map_of_bytes(void **state)
{
    (void)state;
    enum { N = 200 };
    unsigned seed = 1;
    for (int round = 0; round < 200; round++) {
        struct ranges ranges = {0};
        char there[N] = {0};
        for (int i = 0; i < 25; i++) {
            uint64_t from = (uint64_t)rand_r(&seed) % N, to = from + (uint64_t)rand_r(&seed) % 30;
            if (to > N)
                to = N;
            assert_int_equal(ranges_add(&ranges, from, to, NULL), ESP_OK);
            memset(there + from, 1, to > from ? to - from : 0);
            const char *hole = memchr(there, 0, N);
            struct range gap = {N, N};
            bool covered = ranges_cover(&ranges, N, &gap);
            assert_int_equal(covered, hole == NULL);
            if (hole)
                assert_int_equal(gap.from, hole - there);
        }
        ranges_clear(&ranges);
    }
}

static void endless_pieces_are_refused(void **state)
{
    (void)state;
    struct ranges ranges = {0};
    struct esp_error error;
    enum esp_status status = ESP_OK;
    uint64_t i = 0;
    for (; status == ESP_OK && i < 100000; i++)
        status = ranges_add(&ranges, 2 * i, 2 * i + 1, &error);
    assert_int_equal(status, ESP_LIMIT);
    assert_int_equal(i, RANGES_MOST + 1);
    assert_int_equal(ranges_add(&ranges, 0, 10, NULL), ESP_OK); /* what joins pieces still goes */
    ranges_clear(&ranges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_in_any_order_become_one),
        cmocka_unit_test(overlapping_and_repeated_chunks_count_once),
        cmocka_unit_test(random_chunks_agree_with_a_map_of_bytes),
        cmocka_unit_test(endless_pieces_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
