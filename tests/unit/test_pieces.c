/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices in pieces against where owner and place of each element say that it lies.
 */
#include "tests/unit/unit.h"
#include "core/data/datum.h"
#include "core/redistribution/pieces.h"

#include <stdlib.h>

#define MOST 600

static const struct block_cyclic_matrix layouts[] = {
    {{13, 3, 2, 0}, {17, 4, 3, 0}, false},  {{13, 13, 1, 0}, {17, 17, 1, 0}, false},
    {{13, 1, 4, 0}, {17, 17, 1, 0}, false}, {{13, 5, 3, 0}, {17, 2, 2, 0}, false},
    {{13, 3, 2, 1}, {17, 4, 3, 2}, true},   {{13, 20, 2, 0}, {17, 30, 2, 0}, false},
    {{13, 2, 11, 0}, {17, 1, 12, 0}, false}};
#define N_LAYOUTS (sizeof layouts / sizeof *layouts)

static int32_t number_at(int64_t i, int64_t j)
{
    return (int32_t)(1000 * i + j);
}

static void deal_out(const struct block_cyclic_matrix *layout, int32_t *pieces)
{
    for (int64_t j = 0; j < layout->cols.n; j++)
        for (int64_t i = 0; i < layout->rows.n; i++) {
            int64_t rank = block_cyclic_matrix_owner(layout, i, j);
            pieces[pieces_before(layout, rank) + (uint64_t)block_cyclic_matrix_local(layout, i, j)] =
                number_at(i, j);
        }
}

static void pieces_hold_each_element_where_its_owner_has_it(void **state)
{
    (void)state;
    int32_t whole[MOST], expected[MOST], pieces[MOST], joined[MOST];
    const struct block_cyclic_matrix one = pieces_whole(13, 17);
    deal_out(&one, whole);
    for (size_t i = 0; i < N_LAYOUTS; i++) {
        deal_out(&layouts[i], expected);
        pieces_cut(&layouts[i], whole, pieces, sizeof *pieces);
        assert_memory_equal(pieces, expected, 13 * 17 * sizeof *pieces);
        pieces_join(&layouts[i], pieces, joined, sizeof *pieces);
        assert_memory_equal(joined, whole, 13 * 17 * sizeof *pieces);
    }
}

static void a_piece_begins_behind_those_before_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_LAYOUTS; i++) {
        uint64_t before = 0;
        for (int64_t rank = 0; rank < block_cyclic_matrix_ranks(&layouts[i]); rank++) {
            assert_int_equal(pieces_before(&layouts[i], rank), before);
            before += pieces_count(&layouts[i], rank);
        }
        assert_int_equal(pieces_before(&layouts[i], block_cyclic_matrix_ranks(&layouts[i])), before);
    }
}

/* Blocks around all numbers at which a product could overflow: what is accepted is laid out, the rest
 * refused. */
static void blocks_of_any_size_are_laid_out_or_refused(void **state)
{
    (void)state;
    int32_t whole[MOST], expected[MOST], pieces[MOST], joined[MOST];
    const struct block_cyclic_matrix one = pieces_whole(13, 17);
    int accepted = 0, refused = 0;
    deal_out(&one, whole);
    for (int shift = 3; shift < 64; shift++)
        for (int64_t ranks = 1; ranks <= 5; ranks++)
            for (int64_t less = -1; less <= 1; less++) {
                int64_t block = (int64_t)(((UINT64_C(1) << shift) - (uint64_t)(shift == 63)) -
                                          (uint64_t)less * (shift < 63));
                const int64_t wide = block / ranks + (block / ranks < INT64_MAX);
                struct block_cyclic_matrix layout = pieces_grid(13, 17, ranks, 2, block, wide);
                bool holds = block <= (INT64_C(1) << 62) / ranks && wide <= INT64_C(1) << 61;
                assert_int_equal(block_cyclic_matrix_check(&layout, "A", NULL) == ESP_OK, holds);
                *(holds ? &accepted : &refused) += 1;
                if (!holds)
                    continue;
                deal_out(&layout, expected);
                pieces_cut(&layout, whole, pieces, sizeof *pieces);
                assert_memory_equal(pieces, expected, 13 * 17 * sizeof *pieces);
                pieces_join(&layout, pieces, joined, sizeof *pieces);
                assert_memory_equal(joined, whole, 13 * 17 * sizeof *pieces);
            }
    assert_true(accepted > 800 && refused > 10);
}

/* Every rank's part of every layout out of the pieces of every other one, with columns farther apart too. */
static void a_rank_takes_its_part_out_of_any_pieces(void **state)
{
    (void)state;
    int32_t from[MOST], to[MOST], part[MOST];
    for (size_t a = 0; a < N_LAYOUTS; a++)
        for (size_t b = 0; b < N_LAYOUTS; b++)
            for (int64_t rank = 0; rank < block_cyclic_matrix_ranks(&layouts[b]); rank++) {
                int64_t row, col, rows, cols, apart = (int64_t)(a + b) % 2;
                deal_out(&layouts[a], from);
                deal_out(&layouts[b], to);
                block_cyclic_matrix_place(&layouts[b], rank, &row, &col);
                block_cyclic_matrix_shape(&layouts[b], rank, &rows, &cols);
                memset(part, 0xff, sizeof part);
                pieces_take(&layouts[a], from, &layouts[b], row, col, part, rows + apart, sizeof *part);
                for (int64_t j = 0; j < cols; j++) {
                    assert_memory_equal(part + j * (rows + apart),
                                        to + pieces_before(&layouts[b], rank) + (uint64_t)(j * rows),
                                        (size_t)rows * sizeof *part);
                    if (apart)
                        assert_int_equal(part[j * (rows + apart) + rows], -1);
                }
            }
}

/* Every other one, a corner, a row, nothing: as out of the whole matrix. */
static void sections_come_out_of_any_pieces(void **state)
{
    (void)state;
    static const struct pieces_range rows[] = {{0, 1, 13}, {1, 2, 6},  {5, 1, 7},
                                               {12, 1, 1}, {0, 12, 2}, {3, 1, 0}},
                                     cols[] = {{0, 1, 17}, {0, 3, 6}, {9, 1, 2}, {16, 5, 1}, {4, 1, 0}};
    int32_t from[MOST], got[MOST + 1];
    for (size_t a = 0; a < N_LAYOUTS; a++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            for (size_t c = 0; c < sizeof cols / sizeof *cols; c++) {
                int64_t n = 0;
                deal_out(&layouts[a], from);
                memset(got, 0xff, sizeof got);
                pieces_gather(&layouts[a], from, rows[r], cols[c], got, sizeof *got);
                for (int64_t j = 0; j < cols[c].count; j++)
                    for (int64_t i = 0; i < rows[r].count; i++)
                        assert_int_equal(got[n++], number_at(rows[r].start + i * rows[r].skip,
                                                             cols[c].start + j * cols[c].skip));
                assert_int_equal(got[n], -1);
            }
}

static void layouts_are_alike_when_all_elements_lie_alike(void **state)
{
    (void)state;
    const struct block_cyclic_matrix one = pieces_whole(13, 17), other = pieces_grid(13, 17, 1, 1, 2, 3);
    assert_true(pieces_are_alike(&one, &other)); /* on one rank, blocks mean nothing */
    for (size_t a = 0; a < N_LAYOUTS; a++)
        for (size_t b = 0; b < N_LAYOUTS; b++)
            assert_int_equal(pieces_are_alike(&layouts[a], &layouts[b]), a == b);
}

static void a_datum_in_pieces_says_how_it_lies(void **state)
{
    (void)state;
    struct esp_error error;
    struct block_cyclic_matrix layout;
    char text[DATUM_SHAPE_TEXT];
    struct datum_shape shape = {.type = TYPE_DOUBLE, .n_dims = 2, .dims = {13, 17}}, whole, expected;
    assert_int_equal(datum_shape_complete(&shape, &error), ESP_OK);
    expected = whole = shape;
    assert_false(datum_shape_layout(&whole, &layout));
    assert_int_equal(datum_shape_spread(&shape, &layouts[0], &error), ESP_OK);
    assert_int_equal(datum_shape_check(&shape, &error), ESP_OK);
    assert_int_equal(shape.bytes, whole.bytes);
    assert_true(datum_shape_layout(&shape, &layout));
    assert_true(pieces_are_alike(&layout, &layouts[0]));
    assert_string_equal(datum_shape_text(&shape, text, sizeof text),
                        "double[13, 17] over 2 x 3 ranks (3 x 4)");
    assert_int_equal(datum_shape_fits(&expected, &shape, "A", &error), ESP_OK);
    expected.dims[0] = 12;
    assert_int_equal(datum_shape_fits(&expected, &shape, "A", &error), ESP_INVALID);
    shape = datum_shape_joined(&shape);
    assert_int_equal(shape.storage, STORAGE_FULL);
    assert_memory_equal(shape.layout, whole.layout, sizeof whole.layout);
}

static void check_refused(struct datum_shape shape, const char *why)
{
    struct esp_error error;
    assert_int_equal(datum_shape_complete(&shape, &error), ESP_INVALID);
    assert_non_null(strstr(error.text, why));
}

/* Pieces as a peer may send them. */
static void layouts_that_cannot_be_are_refused(void **state)
{
    (void)state;
    const struct datum_shape good = {.type = TYPE_DOUBLE,
                                     .n_dims = 2,
                                     .dims = {13, 17},
                                     .storage = STORAGE_PIECES,
                                     .layout = {INT64_C(2) << 32 | 3, 4, 5}};
    struct datum_shape bad = good;
    struct esp_error error;
    assert_int_equal(datum_shape_complete(&bad, &error), ESP_OK);
    bad = good, bad.layout[0] = 0;
    check_refused(bad, "ranks");
    bad = good, bad.layout[0] = -1;
    check_refused(bad, "ranks");
    bad = good, bad.layout[0] = INT64_C(100) << 32 | 100;
    check_refused(bad, "at most 4096 pieces");
    bad = good, bad.layout[1] = 0;
    check_refused(bad, "block size");
    bad = good, bad.n_dims = 3, bad.dims[2] = 2;
    check_refused(bad, "a vector, or a matrix by columns");
    bad = good, bad.row_major = true;
    check_refused(bad, "a vector, or a matrix by columns");
    bad = good, bad.type = TYPE_STRING;
    check_refused(bad, "a vector, or a matrix by columns");
    bad = good, bad.storage = STORAGE_CSC;
    check_refused(bad, "in pieces");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_hold_each_element_where_its_owner_has_it),
        cmocka_unit_test(a_piece_begins_behind_those_before_it),
        cmocka_unit_test(blocks_of_any_size_are_laid_out_or_refused),
        cmocka_unit_test(a_rank_takes_its_part_out_of_any_pieces),
        cmocka_unit_test(sections_come_out_of_any_pieces),
        cmocka_unit_test(layouts_are_alike_when_all_elements_lie_alike),
        cmocka_unit_test(a_datum_in_pieces_says_how_it_lies),
        cmocka_unit_test(layouts_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
