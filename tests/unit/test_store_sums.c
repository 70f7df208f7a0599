/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "core/message/chunk.h"
#include "services/data/store_sums.h"
#include "tests/unit/store_rig.h"
#include "util/random.h"

#include <stdlib.h>

static void only_just_the_same_piece_is_known(void **state)
{
    (void)state;
    struct store_sums sums = {0};
    uint32_t crc = 7;
    store_sums_note(&sums, CHUNK_LEAST, CHUNK_LEAST, 1);
    store_sums_note(&sums, 4 * CHUNK_LEAST, CHUNK_LEAST - 1, 2); /* too short to be worth it */
    assert_int_equal(sums.n, 1);
    assert_false(store_sums_find(&sums, CHUNK_LEAST, CHUNK_LEAST + 1, &crc));
    assert_false(store_sums_find(&sums, CHUNK_LEAST - 1, CHUNK_LEAST, &crc));
    assert_false(store_sums_find(&sums, 0, CHUNK_LEAST, &crc));
    assert_int_equal(crc, 7);
    assert_true(store_sums_find(&sums, CHUNK_LEAST, CHUNK_LEAST, &crc));
    assert_int_equal(crc, 1);
    store_sums_forget(&sums, 0, CHUNK_LEAST); /* that ends where it begins */
    store_sums_forget(&sums, 2 * CHUNK_LEAST, CHUNK_LEAST);
    store_sums_forget(&sums, CHUNK_LEAST + 5, 0);
    assert_int_equal(sums.n, 1);
    store_sums_forget(&sums, 2 * CHUNK_LEAST - 1, 1);
    assert_int_equal(sums.n, 0);
    store_sums_clear(&sums);
}

/* Against a list without an order. */
static void what_is_known_is_what_was_noted_last(void **state)
{
    (void)state;
    enum { UNITS = 40, STEPS = 20000 };
    struct noted {
        uint64_t from, to;
        uint32_t crc;
    } noted[UNITS + 4];
    size_t n = 0;
    struct store_sums sums = {0};
    struct random random;
    random_seed(&random, 3);
    for (uint32_t step = 0; step < STEPS; step++) {
        const uint64_t from = random_next(&random) % UNITS * CHUNK_LEAST,
                       to = from + (1 + random_next(&random) % 4) * CHUNK_LEAST;
        const unsigned what = (unsigned)(random_next(&random) % 4);
        uint32_t found = 0, expected = 0;
        bool is_known = false;
        for (size_t i = 0; i < n; i++)
            if (noted[i].from == from && noted[i].to == to)
                is_known = true, expected = noted[i].crc;
        assert_int_equal(store_sums_find(&sums, from, to - from, &found), is_known);
        assert_int_equal(found, expected);
        if (what > 1)
            continue;
        for (size_t i = n; i-- > 0;)
            if (noted[i].from < to && from < noted[i].to)
                noted[i] = noted[--n];
        if (what == 0) {
            noted[n++] = (struct noted){from, to, step + 1};
            store_sums_note(&sums, from, to - from, step + 1);
        } else {
            store_sums_forget(&sums, from, to - from);
        }
        assert_int_equal(sums.n, n);
    }
    store_sums_clear(&sums);
    assert_int_equal(sums.n, 0);
}

static bool sum_of(struct store_pin *pin, uint64_t offset, uint64_t bytes, uint32_t *crc32c)
{
    struct store_piece piece;
    assert_int_equal(store_pin_area(pin, offset, bytes, &piece, NULL), ESP_OK);
    *crc32c = piece.crc32c;
    return piece.summed;
}

static void a_sum_that_came_with_a_piece_goes_out_with_it(void **state)
{
    (void)state;
    struct rig of, *rig = &of;
    enum { PIECE = 65536 };
    struct store_new new_datum = rig_new(3 * PIECE, DATUM_VOLATILE, 0);
    struct datum_id id;
    struct store_piece piece;
    struct store_pin *pin;
    uint32_t crc;
    rig_create(rig, 1, 100, 0);
    rig_begin(rig, &rig_alice, &new_datum, &id, NULL);
    for (uint32_t i = 0; i < 4; i++) { /* the first one twice, and the second time nobody has summed it */
        store_area(rig->store, &rig_alice, id.key, i % 3 * PIECE, PIECE, &piece, NULL);
        memset(piece.memory, 'a' + (int)i, PIECE);
        assert_false(piece.summed);
        piece.summed = i < 3;
        piece.crc32c = 100 + i;
        assert_int_equal(store_area_done(rig->store, id.key, &piece, true, NULL), ESP_OK);
    }
    assert_int_equal(rig_commit(rig, &rig_alice, &id, NULL), ESP_OK);
    assert_int_equal(rig_pin(rig, &rig_alice, &id, &pin, NULL), ESP_OK);
    assert_false(sum_of(pin, 0, PIECE, &crc));
    assert_true(sum_of(pin, PIECE, PIECE, &crc));
    assert_int_equal(crc, 101);
    assert_true(sum_of(pin, 2 * PIECE, PIECE, &crc));
    assert_int_equal(crc, 102);
    assert_false(sum_of(pin, PIECE, 2 * PIECE, &crc)); /* of other pieces nothing is known */

    store_pin_area(pin, 0, PIECE, &piece, NULL); /* a reader sums it */
    piece.summed = true;
    piece.crc32c = 103;
    store_pin_area_done(rig->store, pin, &piece, false);
    assert_false(sum_of(pin, 0, PIECE, &crc)); /* it did not arrive */
    store_pin_area_done(rig->store, pin, &piece, true);
    assert_true(sum_of(pin, 0, PIECE, &crc));
    assert_int_equal(crc, 103);
    store_release(rig->store, pin, false);
    rig_destroy(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_just_the_same_piece_is_known),
        cmocka_unit_test(what_is_known_is_what_was_noted_last),
        cmocka_unit_test(a_sum_that_came_with_a_piece_goes_out_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
