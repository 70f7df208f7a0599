/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices that are not stored in full, numbers that have to be finite, results that are shorter than their
 * place.
 */
#include "tests/unit/unit.h"
#include "core/problem/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct bound {
    struct problem_set *set;
    const struct problem *problem;
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    struct esp_error error;
};

static struct problem_set *parse(const char *text)
{
    struct problem_set *set = NULL;
    struct esp_error error;
    if (problem_parse(text, strlen(text), "f.esp", &set, &error) != ESP_OK)
        fail_msg("%s\n%s", error.text, text);
    return set;
}

/* Binds the scalars, all int and first among the arguments, to these. */
static enum esp_status bind(struct bound *bound, const char *text, const int *scalars, unsigned n)
{
    const void *values[PROBLEM_MAX_ARGUMENTS] = {0};
    bound->set = parse(text);
    bound->problem = bound->set->problems[0];
    for (unsigned i = 0; i < n; i++)
        values[i] = &scalars[i];
    return problem_bind(bound->problem, values, bound->scope, bound->shapes, &bound->error);
}

static void assert_fails(struct bound *bound, const char *text)
{
    if (strcmp(bound->error.text, text) != 0)
        fail_msg("expected: %s\nfound:    %s", text, bound->error.text);
    problem_set_destroy(bound->set);
}

#define P "problem p \"t\"\nin int n, kl, ku\n"

static void the_canonical_form_tells_the_storage(void **state)
{
    (void)state;
    static const char canonical[] =
        "problem p \"t\"\n"
        "in char uplo = 'U'\n"
        "in int n\n"
        "in int kl\n"
        "out int m\n"
        "in double A[n, n] symmetric finite packed(uplo)\n"
        "in complex B[n, n] hermitian packed\n"
        "inout double C[n, n] banded(kl, kl + 1, kl)\n"
        "in int ptr[n + 1]\n"
        "in int idx[kl]\n"
        "in double D[n, n] csc(ptr, idx)\n"
        "in double E[n, n] csr(ptr, idx, 1)\n"
        "out double Z[n, n] count(m)\n"
        "inout double U[n, n] symmetric finite packed(uplo) unread(n > 2 and is(uplo, 'U')) = 1\n"
        "in int v[n] index(n + 1) \"pivots\"\n"
        "inout int64 w[n] signed-index(n) unread(n > 2) = 1\n"
        "in double y[n] = 0.5 \"all of it\"\n";
    struct problem_set *set = parse(canonical);
    assert_string_equal(set->problems[0]->source, canonical);
    problem_set_destroy(set);
}

static void what_is_stored_is_what_is_counted(void **state)
{
    (void)state;
    struct bound bound;
    int scalars[] = {5, 1, 2};
    assert_int_equal(bind(&bound,
                          P "in double A[n, n] packed, B[n, n] banded(kl, ku), C[n, n] banded(kl, ku, kl)\n"
                            "in double D[n, n]\n"
                            "in int ptr[n + 1], idx[7]\nin float E[n, n] csc(ptr, idx)\n",
                          scalars, 3),
                     ESP_OK);
    static const uint64_t counts[] = {15, 20, 25, 25, 6, 7, 7};
    for (unsigned i = 0; i < 7; i++)
        assert_int_equal(bound.shapes[3 + i].count, counts[i]);
    assert_int_equal(bound.shapes[9].bytes, 28);
    assert_int_equal(bound.shapes[3].dims[1], 5);
    problem_set_destroy(bound.set);
}

/* Every element that is stored has a place of its own, and all places are used (but for a band's corners). */
static void places_are_all_different(void **state)
{
    (void)state;
    for (int n = 0; n <= 7; n++)
        for (int below = 0; below <= 3; below++)
            for (int kind = 0; kind < 8; kind++) {
                struct layout layout = {.storage = kind < 4 ? STORAGE_PACKED : STORAGE_BANDED,
                                        .row_major = kind & 1,
                                        .upper = kind & 2,
                                        .rows = kind < 4 ? n : n + 2,
                                        .cols = n,
                                        .below = below,
                                        .above = 2,
                                        .front = kind & 2 ? below : 0};
                if (layout.storage == STORAGE_BANDED && layout.row_major)
                    continue;
                uint64_t count, used = 0;
                char taken[200] = {0};
                assert_true(layout_count(&layout, &count));
                for (int j = 0; j < layout.cols; j++)
                    for (int i = 0; i < layout.rows; i++) {
                        int64_t at = layout_index(&layout, i, j);
                        bool stored = layout.storage == STORAGE_PACKED
                                          ? (layout.upper ? i <= j : i >= j)
                                          : i - j <= below && j - i <= 2 + layout.front;
                        assert_int_equal(at >= 0, stored);
                        if (at < 0)
                            continue;
                        assert_true((uint64_t)at < count && !taken[at]);
                        taken[at] = 1;
                        used++;
                    }
                if (layout.storage == STORAGE_PACKED)
                    assert_int_equal(used, count);
            }
}

/* Positions of LAPACK's manual: AP(i + (j-1)*j/2), AP(i + (j-1)*(2n-j)/2), AB(ku+1+i-j, j). */
static void places_are_those_of_lapack(void **state)
{
    (void)state;
    struct layout upper = {.storage = STORAGE_PACKED, .upper = true, .rows = 4, .cols = 4};
    struct layout lower = {.storage = STORAGE_PACKED, .rows = 4, .cols = 4};
    struct layout band = {
        .storage = STORAGE_BANDED, .rows = 4, .cols = 4, .below = 1, .above = 2, .front = 1};
    for (int j = 1; j <= 4; j++)
        for (int i = 1; i <= 4; i++) {
            if (i <= j)
                assert_int_equal(layout_index(&upper, i - 1, j - 1), i + (j - 1) * j / 2 - 1);
            if (i >= j)
                assert_int_equal(layout_index(&lower, i - 1, j - 1), i + (j - 1) * (8 - j) / 2 - 1);
            if (i - j <= 1 && j - i <= 2)
                assert_int_equal(layout_index(&band, i - 1, j - 1), 1 + 2 + i - j + (j - 1) * 5);
        }
}

static void sizes_that_do_not_go_together_are_told(void **state)
{
    (void)state;
    struct bound bound;
    int scalars[] = {4, 5, -1};
    assert_int_equal(bind(&bound, P "in double A[n, n] banded(kl, ku)\n", scalars, 3), ESP_INVALID);
    assert_fails(&bound, "p: A: ku: expected a size >= 0, found -1 with ku = -1");
    assert_int_equal(bind(&bound, P "in int a[kl - 1], b[kl]\nin double A[n, n] csc(a, b)\n", scalars, 3),
                     ESP_INVALID);
    assert_fails(&bound, "p: a has 4 elements, but 4 columns need one more");
    int huge[] = {2147483647, 2147483647, 2147483647};
    assert_int_equal(bind(&bound, P "in double A[n^2, n^2] packed\n", huge, 3), ESP_INVALID);
    assert_fails(
        &bound,
        "p: A of 4611686014132420609 x 4611686014132420609 double has more bytes than 64 bits can count");
}

static enum esp_status contents(struct bound *bound, const void *const *data)
{
    return problem_check_contents(bound->problem, data, bound->scope, bound->shapes, &bound->error);
}

static void numbers_that_have_to_be_finite_are_looked_at(void **state)
{
    (void)state;
    struct bound bound;
    static double a[600 * 3];
    static float z[] = {1, 2, 3, 4, 5, 6};
    double x = 1;
    int scalars[] = {600, 0, 0};
    static const char text[] = P "in double A[n, 3] finite\nin complex z[3] finite\nin double x finite\n"
                                 "in double B[3, n] finite row-major\nin double C[24, 24] finite packed\n";
    bound.set = parse(text);
    bound.problem = bound.set->problems[0];
    const void *scalar_values[PROBLEM_MAX_ARGUMENTS] = {&scalars[0], &scalars[1], &scalars[2],
                                                        NULL,        NULL,        &x};
    assert_int_equal(problem_bind(bound.problem, scalar_values, bound.scope, bound.shapes, &bound.error),
                     ESP_OK);
    const void *data[PROBLEM_MAX_ARGUMENTS] = {&scalars[0], &scalars[1], &scalars[2], a, z, &x, a, a};
    assert_int_equal(contents(&bound, data), ESP_OK);
    z[3] = INFINITY;
    assert_int_equal(contents(&bound, data), ESP_INVALID);
    assert_string_equal(bound.error.text, "p: z(2) is infinite: expected finite numbers in z");
    a[599] = 1e308; /* sums of large numbers overflow, and are fine */
    a[598] = 1e308;
    a[1233] = NAN;
    assert_int_equal(contents(&bound, data), ESP_INVALID);
    assert_string_equal(bound.error.text, "p: A(34,3) is not a number (NaN): expected finite numbers in A");
    data[3] = data[4] = NULL;
    assert_int_equal(contents(&bound, data), ESP_INVALID);
    assert_string_equal(bound.error.text, "p: B(3,34) is not a number (NaN): expected finite numbers in B");
    data[6] = NULL;
    a[299] = -INFINITY;
    assert_int_equal(contents(&bound, data), ESP_INVALID);
    assert_string_equal(
        bound.error.text,
        "p: element 300 of C as it is stored is minus infinity: expected finite numbers in C");
    x = NAN;
    assert_int_equal(contents(&bound, data), ESP_INVALID);
    assert_string_equal(bound.error.text, "p: x is not a number (NaN): expected finite numbers in x");
    problem_set_destroy(bound.set);
}

/* Matrices A of which a call may read a part only. */
static const struct {
    const char *text;
    bool triangle; /* which one is as uplo says */
    bool row_major;
} partly_read[] = {
    {"in double A[n, n] triangle(uplo, diag) finite\n", true, false},
    {"in double A[n, n] triangle(uplo, diag) finite row-major\n", true, true},
    {"in double A[n, n] packed(uplo) triangle(uplo, diag) finite\n", true, false},
    {"in double A[n, n] banded(if(is(uplo, 'U'), 0, kd), if(is(uplo, 'U'), kd, 0)) triangle(uplo, diag) "
     "finite\n",
     true, false},
    {"in double A[n, n] banded(kd, kd, kd) finite\n", false, false},
    {"in double A[n, n] unit-diagonal finite\n", false, false},
    {"in int Ap[n + 1], Ai[n*n]\nin double A[n, n] csc(Ap, Ai) triangle(uplo, diag) finite\n", true, false},
    {"in int Ap[n + 1], Ai[n*n]\nin double A[n, n] csr(Ap, Ai) triangle(uplo, diag) finite\n", true, true},
};

enum { ORDER = 5, WIDTH = 2 };

/* Of A, whether element (i, j) is read by a call with that uplo and diag. */
static bool is_read(unsigned kind, char uplo, char diag, int i, int j)
{
    const bool unit = kind == 5 || (partly_read[kind].triangle && diag == 'U');
    return !(partly_read[kind].triangle && (uplo == 'U' ? i > j : i < j)) && !(unit && i == j);
}

/* Stored element (i, j), or -1. */
static int64_t place_of(unsigned kind, char uplo, int i, int j)
{
    const bool upper = uplo == 'U';
    switch (kind) {
    case 2:
        return layout_index(
            &(struct layout){.storage = STORAGE_PACKED, .upper = upper, .rows = ORDER, .cols = ORDER}, i, j);
    case 3:
        return layout_index(&(struct layout){.storage = STORAGE_BANDED,
                                             .rows = ORDER,
                                             .cols = ORDER,
                                             .below = upper ? 0 : WIDTH,
                                             .above = upper ? WIDTH : 0},
                            i, j);
    case 4: /* rows in front are filled by the routine */
        return j - i > WIDTH ? -1
                             : layout_index(&(struct layout){.storage = STORAGE_BANDED,
                                                             .rows = ORDER,
                                                             .cols = ORDER,
                                                             .below = WIDTH,
                                                             .above = WIDTH,
                                                             .front = WIDTH},
                                            i, j);
    default: /* full, or all elements of a sparse matrix */
        return partly_read[kind].row_major ? j + i * ORDER : i + j * ORDER;
    }
}

/* Each stored element in turn is no number: refused when the call reads that element, else not. */
static void look_at_each_element(unsigned kind, char uplo, char diag)
{
    struct bound bound;
    char text[400];
    int n = ORDER, kd = WIDTH, starts[ORDER + 1], numbers[ORDER * ORDER];
    bool read[4 * ORDER * ORDER] = {false};
    snprintf(text, sizeof text, "problem p \"t\"\nin char uplo, diag\nin int n, kd\n%s",
             partly_read[kind].text);
    bound.set = parse(text);
    bound.problem = bound.set->problems[0];
    for (int i = 0; i <= ORDER; i++)
        starts[i] = i * ORDER;
    for (int i = 0; i < ORDER * ORDER; i++)
        numbers[i] = i % ORDER;
    double values[4 * ORDER * ORDER] = {0};
    const void *data[PROBLEM_MAX_ARGUMENTS] = {&uplo, &diag, &n, &kd, values};
    const uint32_t at = bound.problem->n_arguments - 1;
    if (at > 4) {
        data[4] = starts;
        data[5] = numbers;
        data[6] = values;
    }
    assert_int_equal(problem_bind(bound.problem, data, bound.scope, bound.shapes, &bound.error), ESP_OK);
    for (int j = 0; j < ORDER; j++)
        for (int i = 0; i < ORDER; i++) {
            const int64_t place = place_of(kind, uplo, i, j);
            if (place >= 0)
                read[place] = is_read(kind, uplo, diag, i, j);
        }
    for (uint64_t k = 0; k < bound.shapes[at].count; k++) {
        values[k] = k % 2 ? NAN : INFINITY;
        if (contents(&bound, data) != (read[k] ? ESP_INVALID : ESP_OK))
            fail_msg("%suplo = %c, diag = %c: stored element %d", partly_read[kind].text, uplo, diag, (int)k);
        values[k] = 0;
    }
    for (uint64_t k = 0; k < bound.shapes[at].count; k++)
        values[k] = read[k] ? (double)k : NAN;
    assert_int_equal(contents(&bound, data), ESP_OK);
    problem_set_destroy(bound.set);
}

static void elements_that_no_call_reads_need_not_be_finite(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < sizeof partly_read / sizeof *partly_read; kind++)
        for (unsigned way = 0; way < 4; way++)
            look_at_each_element(kind, way & 1 ? 'U' : 'L', way & 2 ? 'U' : 'N');
}

static void indices_lead_where_they_may(void **state)
{
    (void)state;
    struct bound bound;
    int scalars[] = {3, 0, 0}, pivots[] = {3, 1, 2}, blocks[] = {-3, 3, -1};
    int64_t wide[] = {1, 6, 2, 3, 4, 5};
    bound.set = parse(P "in int p[n] index(n)\nin int s[n] signed-index(n)\nin int64 w[2, n] index(2*n)\n");
    bound.problem = bound.set->problems[0];
    const void *data[PROBLEM_MAX_ARGUMENTS] = {&scalars[0], &scalars[1], &scalars[2], pivots, blocks, wide};
    assert_int_equal(problem_bind(bound.problem, data, bound.scope, bound.shapes, &bound.error), ESP_OK);
    assert_int_equal(contents(&bound, data), ESP_OK);
    pivots[1] = 4;
    assert_int_equal(contents(&bound, data), ESP_INVALID);
    assert_string_equal(bound.error.text, "p: p(2): expected a number from 1 to 3, found 4");
    pivots[1] = -1;
    assert_int_equal(contents(&bound, data), ESP_INVALID);
    assert_string_equal(bound.error.text, "p: p(2): expected a number from 1 to 3, found -1");
    pivots[1] = 0;
    assert_int_equal(contents(&bound, data), ESP_INVALID);
    pivots[1] = 1;
    static const int wrong[] = {0, 4, -4, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char expected[100];
        blocks[2] = wrong[i];
        snprintf(expected, sizeof expected,
                 "p: s(3): expected a number from 1 to 3 or from -1 to -3, found %d", wrong[i]);
        assert_int_equal(contents(&bound, data), ESP_INVALID);
        assert_string_equal(bound.error.text, expected);
    }
    blocks[2] = 2;
    wide[5] = INT64_MIN;
    assert_int_equal(contents(&bound, data), ESP_INVALID);
    assert_string_equal(bound.error.text,
                        "p: w(2,3): expected a number from 1 to 6, found -9223372036854775808");
    data[5] = NULL; /* not looked at */
    assert_int_equal(contents(&bound, data), ESP_OK);
    problem_set_destroy(bound.set);
}

static void compressed_columns_are_looked_at(void **state)
{
    (void)state;
    static const struct {
        int pointers[4], indices[3];
        const char *message;
    } rows[] = {
        {{0, 1, 1, 3}, {1, 0, 1}, NULL},
        {{1, 1, 1, 3}, {1, 0, 1}, "p: ptr(1): expected 0, found 1"},
        {{0, 2, 1, 3}, {1, 0, 1}, "p: ptr(3): expected a number from 2 to 3, found 1"},
        {{0, 1, 4, 3}, {1, 0, 1}, "p: ptr(3): expected a number from 1 to 3, found 4"},
        {{0, 1, 1, 2}, {1, 0, 1}, "p: ptr(4): expected 3, the end of idx, found 2"},
        {{0, 1, 1, 3}, {1, 2, 1}, "p: idx(2): expected a row from 0 to 1, found 2"},
        {{0, 1, 1, 3}, {1, 0, -1}, "p: idx(3): expected a row from 0 to 1, found -1"},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bound bound;
        assert_int_equal(bind(&bound,
                              "problem p \"t\"\nin int ptr[4], idx[3]\nin double A[2, 3] csc(ptr, idx)\n",
                              NULL, 0),
                         ESP_OK);
        const double a[3] = {0};
        const void *data[] = {rows[i].pointers, rows[i].indices, a};
        assert_int_equal(contents(&bound, data), rows[i].message ? ESP_INVALID : ESP_OK);
        if (rows[i].message)
            assert_string_equal(bound.error.text, rows[i].message);
        problem_set_destroy(bound.set);
    }
}

static void results_are_cut_to_what_was_found(void **state)
{
    (void)state;
    struct bound bound;
    int scalars[] = {6, 1, 2};
    assert_int_equal(
        bind(&bound, P "out int m\nout double Z[n, n] count(m)\nout float w[n] count(m + 1)\n", scalars, 3),
        ESP_OK);
    bound.scope[3] = (struct number){.kind = NUMBER_INTEGER, .integer = 2};
    assert_int_equal(problem_cut(bound.problem, 4, bound.scope, &bound.shapes[4], &bound.error), ESP_OK);
    assert_int_equal(bound.shapes[4].dims[0], 6);
    assert_int_equal(bound.shapes[4].dims[1], 2);
    assert_int_equal(bound.shapes[4].bytes, 96);
    bound.scope[3].integer = 6;
    assert_int_equal(problem_cut(bound.problem, 5, bound.scope, &bound.shapes[5], &bound.error), ESP_INVALID);
    assert_string_equal(bound.error.text, "p: w: m + 1: expected a count of at most 6, found 7");
    problem_set_destroy(bound.set);
}

/* Of every type that `beta` may have: what is 0, what is not, and what only a complex number can be. */
static void an_array_is_unread_where_the_condition_holds(void **state)
{
    (void)state;
    static const float narrow[][2] = {{0, 0}, {2, 0}, {0, 1}};
    static const double wide[][2] = {{0, 0}, {2, 0}, {0, 1}};
    static const struct {
        const char *text;
        const void *betas[3];
    } rows[] = {
        {"problem p \"t\"\nin float beta\ninout float C[2] unread(beta == 0)\n",
         {narrow[0], narrow[1], NULL}},
        {"problem p \"t\"\nin double beta\ninout float C[2] unread(beta == 0)\n", {wide[0], wide[1], NULL}},
        {"problem p \"t\"\nin complex beta\ninout float C[2] unread(beta == 0)\n",
         {narrow[0], narrow[1], narrow[2]}},
        {"problem p \"t\"\nin double complex beta\ninout float C[2] unread(beta == 0)\n",
         {wide[0], wide[1], wide[2]}},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct problem_set *set = parse(rows[i].text);
        for (unsigned k = 0; k < 3 && rows[i].betas[k]; k++) {
            struct number scope[2];
            struct shape shapes[2];
            const void *values[] = {rows[i].betas[k], NULL};
            assert_int_equal(problem_bind(set->problems[0], values, scope, shapes, NULL), ESP_OK);
            assert_int_equal(shapes[1].unread, k == 0);
            assert_false(shapes[0].unread);
        }
        problem_set_destroy(set);
    }
}

static void a_default_counts_for_what_is_unread(void **state)
{
    (void)state;
    struct bound bound;
    assert_int_equal(
        bind(&bound,
             "problem p \"t\"\nin complex beta = 0, gamma = 1\n"
             "inout double C[2] unread(beta == 0), D[2] unread(gamma == 0), E[2] unread(1/gamma == 1)\n",
             NULL, 0),
        ESP_OK);
    assert_true(bound.shapes[2].unread);
    assert_false(bound.shapes[3].unread);
    assert_true(bound.shapes[4].unread);
    assert_int_equal(bound.shapes[2].bytes, 16); /* it comes back */
    problem_set_destroy(bound.set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_canonical_form_tells_the_storage),
        cmocka_unit_test(what_is_stored_is_what_is_counted),
        cmocka_unit_test(places_are_all_different),
        cmocka_unit_test(places_are_those_of_lapack),
        cmocka_unit_test(sizes_that_do_not_go_together_are_told),
        cmocka_unit_test(numbers_that_have_to_be_finite_are_looked_at),
        cmocka_unit_test(elements_that_no_call_reads_need_not_be_finite),
        cmocka_unit_test(indices_lead_where_they_may),
        cmocka_unit_test(compressed_columns_are_looked_at),
        cmocka_unit_test(results_are_cut_to_what_was_found),
        cmocka_unit_test(an_array_is_unread_where_the_condition_holds),
        cmocka_unit_test(a_default_counts_for_what_is_unread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
