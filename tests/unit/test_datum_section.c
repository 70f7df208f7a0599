/* SPDX-License-Identifier: Apache-2.0
 *
 * Sections of data: how they are written, and which elements they take.
 */
#include "tests/unit/unit.h"
#include "core/data/datum_section.h"
#include "core/data/datum_pieces.h"
#include "core/redistribution/pieces.h"

#include <stdio.h>

#define ID "node[7]:0123456789abcdef0123456789abcdef"

static struct datum_shape matrix(int64_t rows, int64_t cols)
{
    struct datum_shape shape = {.type = TYPE_DOUBLE, .n_dims = 2, .dims = {rows, cols}};
    assert_int_equal(datum_shape_complete(&shape, NULL), ESP_OK);
    return shape;
}

static enum esp_status take(const char *ranges, const struct datum_shape *whole, struct datum_shape *part,
                            struct section *cut, struct esp_error *error)
{
    char text[DATUM_REFERENCE_TEXT + 64];
    struct datum_id id;
    struct datum_section section;
    snprintf(text, sizeof text, ID "%s", ranges);
    enum esp_status status = datum_reference_parse(text, &id, &section, error);
    if (status == ESP_OK)
        assert_string_equal(id.origin, "node[7]");
    return status == ESP_OK ? datum_section_take(&section, whole, part, cut, error) : status;
}

static void ranges_take_what_matlab_takes(void **state)
{
    (void)state;
    static const struct {
        const char *ranges;
        int64_t dims[2];
        double first, last;
    } rows[] = {
        {"", {4, 3}, 11, 43},
        {"[:,:]", {4, 3}, 11, 43},
        {"[1:4,1:3]", {4, 3}, 11, 43},
        {"[2:3,2]", {2, 1}, 22, 32},
        {"[2, 1:3]", {1, 3}, 21, 23},
        {"[1:2:4,3]", {2, 1}, 13, 33},
        {"[end,end]", {1, 1}, 43, 43},
        {"[3:$,1:$]", {2, 3}, 31, 43},
        {"[1:3:end,:]", {2, 3}, 11, 43},
        {"[ 4 , 2 : 3 ]", {1, 2}, 42, 43},
    };
    double whole[12], part[12];
    for (int i = 0; i < 12; i++)
        whole[i] = 10 * (i % 4 + 1) + (i / 4 + 1);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct datum_shape is = matrix(4, 3), taken;
        struct section cut;
        struct esp_error error;
        if (take(rows[i].ranges, &is, &taken, &cut, &error) != ESP_OK)
            fail_msg("%s: %s", rows[i].ranges, error.text);
        assert_int_equal(taken.dims[0], rows[i].dims[0]);
        assert_int_equal(taken.dims[1], rows[i].dims[1]);
        assert_int_equal(taken.bytes, taken.dims[0] * taken.dims[1] * 8);
        if (!rows[i].ranges[0])
            continue;
        assert_true(section_is_sane(&cut));
        section_gather(&cut, whole, part);
        assert_float_equal(part[0], rows[i].first, 0);
        assert_float_equal(part[section_count(&cut) - 1], rows[i].last, 0);
    }
}

static void by_rows_the_same_elements_are_taken(void **state)
{
    (void)state;
    const double whole[] = {11, 12, 13, 21, 22, 23};
    double part[2];
    struct datum_shape is = matrix(2, 3), taken;
    struct section cut;
    is.row_major = true;
    assert_int_equal(take("[2,2:3]", &is, &taken, &cut, NULL), ESP_OK);
    section_gather(&cut, whole, part);
    assert_float_equal(part[0], 22, 0);
    assert_float_equal(part[1], 23, 0);
}

static void nothing_may_be_taken_of_what_is_empty(void **state)
{
    (void)state;
    struct datum_shape is = matrix(0, 3), taken;
    struct section cut;
    assert_int_equal(take("[:,2:3]", &is, &taken, &cut, NULL), ESP_OK);
    assert_int_equal(taken.dims[0], 0);
    assert_int_equal(taken.dims[1], 2);
    assert_int_equal(section_count(&cut), 0);
}

static void what_is_wrong_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *ranges, *message;
    } rows[] = {
        {"[0:3,1]", "expected an index from 1 on, `end` or `:` at character 2 of the section \"[0:3,1]\""},
        {"[1:5,1]", "expected a range within 1 to 4 in dimension 1 of the datum's section, found 1:5"},
        {"[3:2,1]", "expected a range within 1 to 4 in dimension 1 of the datum's section, found 3:2"},
        {"[1,4]", "expected a range within 1 to 3 in dimension 2"},
        {"[1:2]", "expected a full array of 1 dimension to cut, the datum is double[4, 3]"},
        {"[1,1,1]", "expected a full array of 3 dimensions"},
        {"[1,1", "expected `:`, `,` or `]` at character 5"},
        {"[1,1]x", "expected nothing behind the section at character 6"},
        {"[1:2:3:4,1]", "expected `,` or `]` at character 8"},
        {"[1:0:3,1]", "expected an index from 1 on"},
        {"[1:end:3,1]", "expected a number between the ends of a range"},
        {"[1:99999999999999999999,1]", "expected an index from 1 on"},
        {"[ending,1]", "expected an index from 1 on"},
        {"[]", "expected an index from 1 on"},
        {"[1,1,1,1,1,1,1,1]", "expected at most 7 ranges"},
        {"(1,1)", "expected a datum's identity"},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct datum_shape is = matrix(4, 3), taken;
        struct section cut;
        struct esp_error error;
        assert_int_equal(take(rows[i].ranges, &is, &taken, &cut, &error), ESP_INVALID);
        if (!strstr(error.text, rows[i].message))
            fail_msg("%s: expected \"%s\", found \"%s\"", rows[i].ranges, rows[i].message, error.text);
    }
}

static void a_packed_datum_is_not_cut(void **state)
{
    (void)state;
    struct datum_shape is = {
        .type = TYPE_DOUBLE, .n_dims = 2, .dims = {3, 3}, .storage = STORAGE_PACKED, .layout = {'U'}};
    struct datum_shape taken;
    struct section cut;
    struct esp_error error;
    assert_int_equal(take("[1,1]", &is, &taken, &cut, &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "packed"));
}

/* They are gathered: what comes is in one piece. */
static void a_datum_in_pieces_is_cut_as_one_in_one(void **state)
{
    (void)state;
    struct datum_shape whole = {.type = TYPE_DOUBLE, .n_dims = 2, .dims = {30, 20}}, spread, taken, expected;
    struct section cut, same;
    struct esp_error error;
    const struct block_cyclic_matrix layout = pieces_grid(30, 20, 2, 3, 4, 5);
    assert_int_equal(datum_shape_complete(&whole, &error), ESP_OK);
    spread = whole;
    assert_int_equal(datum_shape_spread(&spread, &layout, &error), ESP_OK);
    assert_int_equal(take("[2:3:20,5:end]", &whole, &expected, &same, &error), ESP_OK);
    assert_int_equal(take("[2:3:20,5:end]", &spread, &taken, &cut, &error), ESP_OK);
    assert_int_equal(taken.storage, STORAGE_FULL);
    assert_int_equal(taken.bytes, expected.bytes);
    assert_memory_equal(&cut, &same, sizeof cut);
    assert_int_equal(take("[2:31,:]", &spread, &taken, &cut, &error), ESP_INVALID);
}

static void a_row_is_a_vector(void **state)
{
    (void)state;
    int64_t dims[] = {1, 5, 1};
    uint32_t n = 3;
    datum_shape_squeeze(&n, dims, 1);
    assert_int_equal(n, 1);
    assert_int_equal(dims[0], 5);
    int64_t full[] = {2, 3};
    n = 2;
    datum_shape_squeeze(&n, full, 1);
    assert_int_equal(n, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_take_what_matlab_takes),
        cmocka_unit_test(by_rows_the_same_elements_are_taken),
        cmocka_unit_test(nothing_may_be_taken_of_what_is_empty),
        cmocka_unit_test(what_is_wrong_is_told),
        cmocka_unit_test(a_packed_datum_is_not_cut),
        cmocka_unit_test(a_datum_in_pieces_is_cut_as_one_in_one),
        cmocka_unit_test(a_row_is_a_vector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
