/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "core/data/datum.h"

#include <stdio.h>

static void an_identity_survives_its_text(void **state)
{
    (void)state;
    struct datum_id id, other, back;
    char text[DATUM_TEXT];
    assert_int_equal(datum_id_draw("lyon:7 b", &id, NULL), ESP_OK); /* colons and blanks may be in names */
    assert_int_equal(datum_id_draw("lyon:7 b", &other, NULL), ESP_OK);
    assert_false(datum_key_equal(id.key, other.key));
    assert_int_equal(datum_id_parse(datum_id_text(&id, text), &back, NULL), ESP_OK);
    assert_true(datum_key_equal(id.key, back.key));
    assert_string_equal(back.origin, "lyon:7 b");
    for (char *letter = text; *letter; letter++)
        if (*letter >= 'a' && *letter <= 'f' && letter > strrchr(text, ':'))
            *letter = (char)(*letter - 'a' + 'A');
    assert_int_equal(datum_id_parse(text, &back, NULL), ESP_OK);
    assert_true(datum_key_equal(id.key, back.key));
}

static void the_short_text_does_not_open_the_datum(void **state)
{
    (void)state;
    struct datum_id id = {{0x0123456789abcdef, 5}, "node7"}, back;
    char text[DATUM_TEXT];
    assert_string_equal(datum_id_short(&id, text), "node7:01234567...");
    assert_int_equal(datum_id_parse(text, &back, NULL), ESP_INVALID);
}

static void wrong_identities_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "no colon"},
        {"node7", "no colon in \"node7\""},
        {":0123456789abcdef0123456789abcdef", "names no server"},
        {"node7:0123", "found 4 digits"},
        {"node7:0123456789abcdef0123456789abcdeg", "found 'g' at character 38"},
        {"node7:0123456789abcdef0123456789abcdef0", "found '0' at character 39"},
        {"node7:00000000000000000000000000000000", "all digits 0"},
        {"no\nde:0123456789abcdef0123456789abcdef", "names no server"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct datum_id id = {{1, 2}, "as it was"};
        struct esp_error error = {0};
        assert_int_equal(datum_id_parse(rows[i].text, &id, &error), ESP_INVALID);
        if (!strstr(error.text, rows[i].says))
            fail_msg("expected \"%s\" in \"%s\"", rows[i].says, error.text);
        assert_string_equal(id.origin, "as it was");
    }
    char longest[600];
    struct datum_id id;
    memset(longest, 'x', sizeof longest); /* no NUL within what may be looked at */
    assert_int_equal(datum_id_parse(longest, &id, NULL), ESP_INVALID);
}

static void origins_must_be_names(void **state)
{
    (void)state;
    struct datum_id id;
    char name[CAP_NAME + 2];
    memset(name, 'n', sizeof name);
    name[CAP_NAME + 1] = '\0';
    assert_int_equal(datum_id_draw(name, &id, NULL), ESP_INVALID);
    name[CAP_NAME] = '\0';
    assert_int_equal(datum_id_draw(name, &id, NULL), ESP_OK);
    assert_int_equal(datum_id_draw("", &id, NULL), ESP_INVALID);
}

static void shapes_tell_their_bytes(void **state)
{
    (void)state;
    static const struct {
        struct datum_shape shape;
        const char *text;
    } rows[] = {
        {{.type = TYPE_DOUBLE, .bytes = 8}, "double"},
        {{.type = TYPE_DOUBLE, .n_dims = 2, .dims = {3, 4}, .bytes = 96}, "double[3, 4]"},
        {{.type = TYPE_FLOAT, .n_dims = 3, .dims = {INT64_MAX, 0, INT64_MAX}}, NULL},
        {{.type = TYPE_INT, .n_dims = 2, .dims = {3, 4}, .row_major = true, .bytes = 48},
         "int[3, 4] by rows"},
        {{.type = TYPE_DOUBLE_COMPLEX,
          .n_dims = 2,
          .dims = {4, 4},
          .storage = STORAGE_PACKED,
          .layout = {'L'},
          .bytes = 160},
         "double complex[4, 4] packed (L)"},
        {{.type = TYPE_DOUBLE,
          .n_dims = 2,
          .dims = {10, 10},
          .storage = STORAGE_BANDED,
          .layout = {1, 2, 1},
          .bytes = 400},
         "double[10, 10] banded (1, 2, 1)"},
        {{.type = TYPE_FILE, .bytes = 12345}, "file"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct datum_shape shape = rows[i].shape;
        struct esp_error error;
        char text[DATUM_SHAPE_TEXT];
        assert_int_equal(datum_shape_check(&rows[i].shape, &error), ESP_OK);
        if (!base_type_is_variable(shape.type))
            shape.bytes = 77;
        assert_int_equal(datum_shape_complete(&shape, NULL), ESP_OK);
        assert_int_equal(shape.bytes, rows[i].shape.bytes);
        if (rows[i].text)
            assert_string_equal(datum_shape_text(&shape, text, sizeof text), rows[i].text);
    }
}

static void what_is_packed_or_banded_has_its_places(void **state)
{
    (void)state;
    const struct datum_shape shapes[] = {
        {.n_dims = 2, .dims = {3, 3}, .storage = STORAGE_PACKED, .layout = {'U'}},
        {.n_dims = 2, .dims = {3, 3}, .storage = STORAGE_PACKED, .layout = {'L'}},
        {.n_dims = 2, .dims = {3, 3}, .storage = STORAGE_PACKED, .layout = {'L'}, .row_major = true},
        {.n_dims = 2, .dims = {3, 3}, .storage = STORAGE_BANDED, .layout = {1, 0, 1}},
    };
    static const int places_by_rows[][9] = {{0, 1, 3, -1, 2, 4, -1, -1, 5},
                                            {0, -1, -1, 1, 3, -1, 2, 4, 5},
                                            {0, -1, -1, 1, 2, -1, 3, 4, 5},
                                            {1, 3, -1, 2, 4, 6, -1, 5, 7}};
    struct layout places;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        assert_true(datum_shape_places(&shapes[k], &places));
        for (int i = 0; i < 9; i++)
            assert_int_equal(layout_index(&places, i / 3, i % 3), places_by_rows[k][i]);
    }
    const struct datum_shape full = {.n_dims = 2, .dims = {3, 3}};
    assert_false(datum_shape_places(&full, &places));
}

static void shapes_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct datum_shape shape;
        const char *says;
    } rows[] = {
        {{.type = TYPE_DOUBLE, .n_dims = 2, .dims = {3, 4}, .bytes = 95}, "expected 96 bytes"},
        {{.type = TYPE_DOUBLE, .n_dims = 2, .dims = {3, -4}}, "found -4"},
        {{.type = TYPE_DOUBLE, .n_dims = 8}, "at most 7"},
        {{.type = TYPE_STATE, .bytes = 3}, "base type"},
        {{.type = (enum base_type)99, .bytes = 3}, "base type"},
        {{.type = TYPE_DOUBLE, .n_dims = 2, .dims = {INT64_MAX, INT64_MAX}}, "2^62"},
        {{.type = TYPE_CHAR, .n_dims = 1, .dims = {INT64_MAX}}, "2^62"},
        {{.type = TYPE_FILE, .bytes = UINT64_MAX}, "2^62"},
        {{.type = TYPE_DOUBLE, .n_dims = 1, .dims = {5}, .storage = STORAGE_PACKED}, "2 dimensions"},
        {{.type = TYPE_DOUBLE, .n_dims = 2, .dims = {5, 4}, .storage = STORAGE_PACKED}, "square"},
        {{.type = TYPE_DOUBLE, .n_dims = 2, .dims = {5, 5}, .storage = STORAGE_PACKED}, "'U' or 'L'"},
        {{.type = TYPE_DOUBLE, .n_dims = 2, .dims = {5, 5}, .storage = STORAGE_BANDED, .layout = {0, -1}},
         "diagonals"},
        {{.type = TYPE_DOUBLE, .n_dims = 2, .dims = {5, 5}, .storage = STORAGE_CSC}, "three data"},
        {{.type = TYPE_DOUBLE,
          .n_dims = 2,
          .dims = {5, 5},
          .storage = STORAGE_BANDED,
          .layout = {INT64_MAX, INT64_MAX, INT64_MAX}},
         "2^62"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct esp_error error = {0};
        assert_int_equal(datum_shape_check(&rows[i].shape, &error), ESP_INVALID);
        if (!strstr(error.text, rows[i].says))
            fail_msg("row %zu: expected \"%s\" in \"%s\"", i, rows[i].says, error.text);
    }
}

static void a_datum_fits_where_type_and_shape_agree(void **state)
{
    (void)state;
    struct datum_shape square = {.type = TYPE_DOUBLE, .n_dims = 2, .dims = {3, 3}, .bytes = 72};
    struct datum_shape column = {.type = TYPE_DOUBLE, .n_dims = 1, .dims = {3}, .bytes = 24};
    struct datum_shape matrix = {.type = TYPE_DOUBLE, .n_dims = 2, .dims = {3, 1}, .bytes = 24};
    struct datum_shape rows = square, ints = column, by_rows = matrix,
                       text = {.type = TYPE_STRING, .bytes = 5};
    struct datum_shape longer = text;
    struct esp_error error;
    rows.row_major = by_rows.row_major = true;
    ints.type = TYPE_INT;
    ints.bytes = 12;
    longer.bytes = 50;
    assert_int_equal(datum_shape_fits(&column, &matrix, "b", NULL), ESP_OK);
    assert_int_equal(datum_shape_fits(&column, &by_rows, "b", NULL), ESP_OK); /* one column has no order */
    assert_int_equal(datum_shape_fits(&text, &longer, "name", NULL), ESP_OK);
    assert_int_equal(datum_shape_fits(&square, &rows, "A", NULL), ESP_INVALID);
    assert_int_equal(datum_shape_fits(&column, &ints, "b", &error), ESP_INVALID);
    assert_string_equal(error.text, "b: expected double[3], the datum is int[3]");
    assert_int_equal(datum_shape_fits(&square, &column, "A", NULL), ESP_INVALID);
    /* A matrix is the vector of its elements, as they lie; not another matrix of as many. */
    struct datum_shape all = {.type = TYPE_DOUBLE, .n_dims = 1, .dims = {9}, .bytes = 72};
    struct datum_shape flat = {.type = TYPE_DOUBLE, .n_dims = 2, .dims = {1, 9}, .bytes = 72};
    assert_int_equal(datum_shape_fits(&all, &square, "x", NULL), ESP_OK);
    assert_int_equal(datum_shape_fits(&all, &rows, "x", NULL), ESP_OK);
    assert_int_equal(datum_shape_fits(&square, &all, "A", NULL), ESP_OK);
    assert_int_equal(datum_shape_fits(&square, &flat, "A", NULL), ESP_INVALID);
}

static void modes_have_names_and_meanings(void **state)
{
    (void)state;
    enum datum_mode mode;
    struct esp_error error;
    for (unsigned i = 0; i < DATUM_N_MODES; i++) {
        assert_int_equal(datum_mode_parse(datum_mode_name((enum datum_mode)i), &mode, NULL), ESP_OK);
        assert_int_equal(mode, i);
    }
    assert_int_equal(datum_mode_parse("persistant", &mode, &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "did you mean persistent?"));
    assert_false(datum_is_durable(DATUM_VOLATILE, 0));
    assert_true(datum_is_durable(DATUM_STICKY_RETURN, DATUM_SHARED));
    assert_false(datum_is_durable(DATUM_PERSISTENT, DATUM_REPLICA));
    assert_int_equal(datum_may_leave(DATUM_STICKY, 0, true, NULL), ESP_REFUSED);
    assert_int_equal(datum_may_leave(DATUM_STICKY, 0, false, NULL), ESP_OK);
    assert_int_equal(datum_may_leave(DATUM_STICKY, DATUM_UNIQUE, false, NULL), ESP_REFUSED);
    assert_int_equal(datum_may_leave(DATUM_PERSISTENT, 0, true, NULL), ESP_OK);
}

static void the_modes_of_gridrpc_are_there(void **state)
{
    (void)state;
    enum datum_mode mode;
    uint32_t flags;
    for (int grid = DATUM_GRID_VOLATILE; grid <= DATUM_GRID_PERSISTENT; grid++) {
        flags = 0;
        assert_true(datum_of_grid_mode((enum datum_grid_mode)grid, &mode, &flags));
        assert_int_equal(datum_to_grid_mode(mode, flags), grid);
    }
    assert_false(datum_of_grid_mode((enum datum_grid_mode)5, &mode, &flags));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_identity_survives_its_text),
        cmocka_unit_test(the_short_text_does_not_open_the_datum),
        cmocka_unit_test(wrong_identities_are_told_apart),
        cmocka_unit_test(origins_must_be_names),
        cmocka_unit_test(shapes_tell_their_bytes),
        cmocka_unit_test(what_is_packed_or_banded_has_its_places),
        cmocka_unit_test(shapes_that_make_no_sense_are_refused),
        cmocka_unit_test(a_datum_fits_where_type_and_shape_agree),
        cmocka_unit_test(modes_have_names_and_meanings),
        cmocka_unit_test(the_modes_of_gridrpc_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
