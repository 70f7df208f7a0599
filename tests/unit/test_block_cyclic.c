/* SPDX-License-Identifier: Apache-2.0
 *
 * Block-cyclic layouts against dealing the elements out one by one.
 */
#include "tests/unit/unit.h"
#include "core/redistribution/block_cyclic.h"

#include <inttypes.h>
#include <stdlib.h>

/* Deals the elements like cards: owner and place of each, and how many everybody has in the end. */
static void deal(const struct block_cyclic *layout, int64_t *owner, int64_t *local, int64_t *count)
{
    int64_t rank = layout->source, in_block = 0;
    memset(count, 0, (size_t)layout->ranks * sizeof *count);
    for (int64_t i = 0; i < layout->n; i++) {
        owner[i] = rank;
        local[i] = count[rank]++;
        if (++in_block == layout->block) {
            in_block = 0;
            rank = rank + 1 == layout->ranks ? 0 : rank + 1;
        }
    }
}

static void check_against_dealing(const struct block_cyclic *layout)
{
    int64_t owner[64], local[64], count[8];
    deal(layout, owner, local, count);
    for (int64_t i = 0; i < layout->n; i++) {
        assert_int_equal(block_cyclic_owner(layout, i), owner[i]);
        assert_int_equal(block_cyclic_local(layout, i), local[i]);
        assert_int_equal(block_cyclic_global(layout, owner[i], local[i]), i);
    }
    int64_t before = 0;
    for (int64_t rank = 0; rank < layout->ranks; rank++) {
        assert_int_equal(block_cyclic_count(layout, rank), count[rank]);
        assert_int_equal(block_cyclic_before(layout, rank), before);
        before += count[rank];
    }
    assert_int_equal(block_cyclic_before(layout, layout->ranks), layout->n);
}

static void elements_lie_where_dealing_puts_them(void **state)
{
    (void)state;
    for (int64_t n = 0; n <= 40; n++)
        for (int64_t block = 1; block <= 9; block++)
            for (int64_t ranks = 1; ranks <= 6; ranks++)
                for (int64_t source = 0; source < ranks; source++)
                    check_against_dealing(&(struct block_cyclic){n, block, ranks, source});
}

static void matrices_have_each_element_once(void **state)
{
    (void)state;
    for (int by_columns = 0; by_columns < 2; by_columns++)
        for (int64_t m = 0; m <= 9; m += 3)
            for (int64_t n = 1; n <= 11; n += 5) {
                struct block_cyclic_matrix matrix = {{m, 2, 2, 1}, {n, 3, 3, 2}, by_columns};
                char seen[6][128] = {{0}};
                int64_t total = 0, rows, cols, row, col;
                for (int64_t i = 0; i < m; i++)
                    for (int64_t j = 0; j < n; j++) {
                        int64_t owner = block_cyclic_matrix_owner(&matrix, i, j);
                        int64_t local = block_cyclic_matrix_local(&matrix, i, j);
                        block_cyclic_matrix_shape(&matrix, owner, &rows, &cols);
                        assert_in_range(local, 0, rows * cols - 1);
                        assert_false(seen[owner][local]);
                        seen[owner][local] = 1;
                    }
                for (int64_t rank = 0; rank < block_cyclic_matrix_ranks(&matrix); rank++) {
                    block_cyclic_matrix_shape(&matrix, rank, &rows, &cols);
                    block_cyclic_matrix_place(&matrix, rank, &row, &col);
                    assert_int_equal(block_cyclic_matrix_rank(&matrix, row, col), rank);
                    total += rows * cols;
                }
                assert_int_equal(total, m * n);
            }
}

static void the_largest_numbers_do_not_overflow(void **state)
{
    (void)state;
    struct block_cyclic huge = {INT64_MAX, INT64_MAX, BLOCK_CYCLIC_MOST_RANKS, 5};
    assert_int_equal(block_cyclic_count(&huge, 5), INT64_MAX);
    assert_int_equal(block_cyclic_count(&huge, 6), 0);
    assert_int_equal(block_cyclic_owner(&huge, INT64_MAX - 1), 5);
    struct block_cyclic fine = {INT64_MAX, 1, 7, 3};
    int64_t last = INT64_MAX - 1, rank = block_cyclic_owner(&fine, last), sum = 0;
    assert_int_equal(block_cyclic_global(&fine, rank, block_cyclic_local(&fine, last)), last);
    for (int64_t i = 0; i < 7; i++)
        sum += block_cyclic_count(&fine, i);
    assert_int_equal(sum, INT64_MAX);
}

static void assert_refused(struct block_cyclic_matrix matrix, const char *expected)
{
    struct esp_error error = {0};
    assert_int_not_equal(block_cyclic_matrix_check(&matrix, "A", &error), ESP_OK);
    assert_string_equal(error.text, expected);
}

static void wrong_layouts_are_refused_by_name(void **state)
{
    (void)state;
    struct block_cyclic good = {10, 2, 3, 0};
    assert_int_equal(block_cyclic_matrix_check(&(struct block_cyclic_matrix){good, good, false}, "A", NULL),
                     ESP_OK);
    assert_refused((struct block_cyclic_matrix){{10, 0, 3, 0}, good, false},
                   "A: rows: expected a block size of 1 or more, found 0");
    assert_refused(
        (struct block_cyclic_matrix){{10, INT64_MAX, 2, 0}, good, false},
        "A: rows: expected a block size of at most 2305843009213693952 on 2 ranks (one of 10 holds "
        "all), found 9223372036854775807");
    assert_refused((struct block_cyclic_matrix){good, {-1, 2, 3, 0}, false},
                   "A: columns: expected 0 or more elements, found -1");
    assert_refused((struct block_cyclic_matrix){good, {10, 2, 0, 0}, false},
                   "A: columns: expected 1 to 1048576 ranks, found 0");
    assert_refused((struct block_cyclic_matrix){{10, 2, 3, 3}, good, false},
                   "A: rows: expected the first block with a rank from 0 to 2, found 3");
    assert_refused((struct block_cyclic_matrix){{1, 1, 2000, 0}, {1, 1, 2000, 0}, false},
                   "A: expected a grid of at most 1048576 ranks, found 2000 x 2000");
    assert_refused((struct block_cyclic_matrix){{INT64_MAX, 1, 1, 0}, {2, 1, 1, 0}, false},
                   "A: expected fewer than 2^63 elements, found 9223372036854775807 x 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_lie_where_dealing_puts_them),
        cmocka_unit_test(matrices_have_each_element_once),
        cmocka_unit_test(the_largest_numbers_do_not_overflow),
        cmocka_unit_test(wrong_layouts_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
