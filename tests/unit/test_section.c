/* SPDX-License-Identifier: Apache-2.0
 *
 * Sections of arrays: which elements travel, and where they come from and go.
 */
#include "tests/unit/unit.h"
#include "core/problem/section.h"

#include <stdio.h>
#include <stdlib.h>

struct bound {
    struct problem_set *set;
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    struct esp_error error;
};

/* Binds the int scalars, which are the first arguments. */
static enum esp_status bind(struct bound *bound, const char *text, const int *scalars, unsigned n)
{
    const void *values[PROBLEM_MAX_ARGUMENTS] = {0};
    if (problem_parse(text, strlen(text), "f.esp", &bound->set, &bound->error) != ESP_OK)
        fail_msg("%s\n%s", bound->error.text, text);
    for (unsigned i = 0; i < n; i++)
        values[i] = &scalars[i];
    return problem_bind(bound->set->problems[0], values, bound->scope, bound->shapes, &bound->error);
}

static void the_canonical_form_tells_sections(void **state)
{
    (void)state;
    static const char canonical[] = "problem p \"t\"\n"
                                    "in int n\n"
                                    "in double x[2*n:0,2*n - 1,2]\n"
                                    "inout char A[n, n:1,n - 1,1, 3:0,2,2] row-major\n"
                                    "in int i[n:0,n - 1,n] = 3\n";
    struct bound bound;
    int n = 4;
    assert_int_equal(bind(&bound, canonical, &n, 1), ESP_OK);
    assert_string_equal(bound.set->problems[0]->source, canonical);
    assert_int_equal(bound.shapes[1].count, 4);
    assert_int_equal(bound.shapes[1].bytes, 32);
    assert_int_equal(bound.shapes[1].whole_bytes, 64);
    assert_int_equal(bound.shapes[1].dims[0], 8);
    assert_int_equal(bound.shapes[2].bytes, 4 * 3 * 2);
    assert_int_equal(bound.shapes[2].whole_bytes, 48);
    assert_int_equal(bound.shapes[3].count, 1);
    problem_set_destroy(bound.set);
}

static void bounds_are_checked(void **state)
{
    (void)state;
    static const char text[] =
        "problem p \"t\"\nin int n, start, last, skip\nin double x[n:start,last,skip]\n";
    static const struct {
        int scalars[4];
        const char *message;
    } rows[] = {
        {{4, 0, 3, 1}, NULL},
        {{4, 3, 3, 9}, NULL},
        {{4, 0, 4, 1},
         "0 <= start <= end < 4 and skip >= 1 in dimension 1, found 0 (start), 4 (last), 1 (skip)"},
        {{4, 2, 1, 1}, "found 2 (start), 1 (last), 1 (skip)"},
        {{4, 0, 3, 0}, "found 0 (start), 3 (last), 0 (skip)"},
        {{0, 0, 0, 1}, "0 <= start <= end < 0"},
        {{4, -1, 3, 1}, "p: the section of x: "},
        {{4, 0, 3, -1}, "p: the section of x: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bound bound;
        enum esp_status status = bind(&bound, text, rows[i].scalars, 4);
        assert_int_equal(status, rows[i].message ? ESP_INVALID : ESP_OK);
        if (rows[i].message && !strstr(bound.error.text, rows[i].message))
            fail_msg("row %zu: %s", i, bound.error.text);
        problem_set_destroy(bound.set);
    }
}

/* Against the definition: element (i, j, k) is in the section when each number is start + a multiple of skip.
 */
static void check_places(const char *type, size_t size, bool row_major)
{
    char text[200];
    snprintf(text, sizeof text, "problem p \"t\"\nin int n\ninout %s A[n:1,n - 2,2, 4, 5:0,4,3]%s\n", type,
             row_major ? " row-major" : "");
    struct bound bound;
    struct section section;
    int n = 7;
    assert_int_equal(bind(&bound, text, &n, 1), ESP_OK);
    assert_int_equal(
        problem_section(bound.set->problems[0], 1, bound.scope, bound.shapes[1].dims, &section, &bound.error),
        ESP_OK);
    assert_true(section_is_sane(&section));
    assert_int_equal(section_whole(&section), 7 * 4 * 5);
    assert_int_equal(section_count(&section), 3 * 4 * 2);
    unsigned char *whole = malloc(7 * 4 * 5 * size), *back = calloc(7 * 4 * 5, size);
    unsigned char *elements = malloc(section_count(&section) * size);
    for (size_t b = 0; b < 7 * 4 * 5 * size; b++)
        whole[b] = (unsigned char)(b % 251 + 1);
    section_gather(&section, whole, elements);
    section_scatter(&section, elements, back);
    for (size_t i = 0; i < 7; i++)
        for (size_t j = 0; j < 4; j++)
            for (size_t k = 0; k < 5; k++) {
                size_t at = (row_major ? (i * 4 + j) * 5 + k : (k * 4 + j) * 7 + i) * size;
                bool in = i >= 1 && i <= 5 && (i - 1) % 2 == 0 && k % 3 == 0;
                for (size_t b = 0; b < size; b++)
                    assert_int_equal(back[at + b], in ? whole[at + b] : 0);
            }
    free(whole);
    free(back);
    free(elements);
    problem_set_destroy(bound.set);
}

static void elements_go_to_their_places(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        size_t size;
    } rows[] = {{"char", 1}, {"short", 2}, {"int", 4}, {"double", 8}, {"complex", 8}, {"double complex", 16}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_places(rows[i].type, rows[i].size, false);
        check_places(rows[i].type, rows[i].size, true);
    }
}

static void a_section_that_others_wrote_is_looked_at(void **state)
{
    (void)state;
    struct section good = {.n_dims = 1, .element = 8, .dims = {10}, .start = {1}, .skip = {2}, .count = {5}};
    assert_true(section_is_sane(&good));
    struct section wrong = good;
    wrong.count[0] = 6;
    assert_false(section_is_sane(&wrong));
    wrong = good;
    wrong.skip[0] = INT64_MAX;
    assert_false(section_is_sane(&wrong));
    wrong = good;
    wrong.start[0] = -1;
    assert_false(section_is_sane(&wrong));
    wrong = good;
    wrong.dims[0] = INT64_MAX;
    assert_false(section_is_sane(&wrong));
    wrong = good;
    wrong.n_dims = 8;
    assert_false(section_is_sane(&wrong));
}

/* A matrix whose columns share sets of a cache gets others; one that is small, narrow or very large does not.
 */
static void columns_come_to_lie_apart(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        int64_t rows, columns, leading;
    } rows[] = {
        {"double", 512, 793, 520},
        {"double", 511, 793, 520},
        {"double", 520, 793, 520},
        {"double", 521, 793, 536},
        {"double", 64, 32, 72},
        {"double", 63, 32, 63},
        {"double", 512, 31, 512},
        {"float", 512, 100, 528},
        {"double complex", 512, 100, 516},
        {"complex", 1024, 100, 1032},
        {"double", 65536, 1024, 65544},
        {"double", 65536, 1025, 65536},
        {"double", 0, 100, 0},
        {"double", 100, 0, 100},
        {"double", INT64_MAX, INT64_MAX, INT64_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[100];
        snprintf(text, sizeof text, "problem p \"t\"\nin int m, n\nin %s A[m, n]\n", rows[i].type);
        struct bound bound;
        struct section section;
        const int scalars[] = {1, 1};
        assert_int_equal(bind(&bound, text, scalars, 2), ESP_OK);
        const int64_t dims[] = {rows[i].rows, rows[i].columns};
        section_of_columns(&bound.set->problems[0]->arguments[2], dims, &section);
        if (section.dims[0] != rows[i].leading)
            fail_msg("row %zu: %lld", i, (long long)section.dims[0]);
        assert_int_equal(section.count[0], rows[i].rows);
        assert_int_equal(section.count[1], rows[i].columns);
        problem_set_destroy(bound.set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_canonical_form_tells_sections),
        cmocka_unit_test(bounds_are_checked),
        cmocka_unit_test(elements_go_to_their_places),
        cmocka_unit_test(a_section_that_others_wrote_is_looked_at),
        cmocka_unit_test(columns_come_to_lie_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
