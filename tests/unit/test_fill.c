/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "core/problem/fill.h"
#include "core/problem/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The five-point or seven-point stencil on a grid. */
struct grid {
    int n, nz, *pointers, *indices;
};

static void put(struct grid *grid, bool there, int index)
{
    if (there)
        grid->indices[grid->nz++] = index;
}

static struct grid make_grid(int a, int b, int c)
{
    struct grid grid = {.n = a * b * c};
    grid.pointers = calloc((size_t)grid.n + 1, sizeof *grid.pointers);
    grid.indices = malloc(7 * (size_t)grid.n * sizeof *grid.indices);
    for (int j = 0; j < grid.n; j++) {
        const int x = j % a, y = j / a % b, z = j / a / b;
        put(&grid, z > 0, j - a * b);
        put(&grid, y > 0, j - a);
        put(&grid, x > 0, j - 1);
        put(&grid, true, j);
        put(&grid, x < a - 1, j + 1);
        put(&grid, y < b - 1, j + a);
        put(&grid, z < c - 1, j + a * b);
        grid.pointers[j + 1] = grid.nz;
    }
    return grid;
}

static void free_grid(struct grid *grid)
{
    free(grid->pointers);
    free(grid->indices);
}

static struct fill analyse(const struct grid *grid)
{
    struct fill fill;
    assert_true(fill_by_pattern(grid->n, grid->pointers, grid->indices, false, 0, &fill));
    return fill;
}

static void is_within(double found, double expected, double factor)
{
    if (!(found <= expected * factor && found >= expected / factor))
        fail_msg("expected %g within a factor of %g, found %g", expected, factor, found);
}

static void the_law_knows_two_dimensions_from_three(void **state)
{
    static const int sides[][3] = {{100, 100, 1}, {250, 250, 1}, {50, 400, 1}, {20, 20, 20}, {30, 30, 30}};
    (void)state;
    for (unsigned i = 0; i < sizeof sides / sizeof *sides; i++) {
        struct grid grid = make_grid(sides[i][0], sides[i][1], sides[i][2]);
        const struct fill told = analyse(&grid), law = fill_by_sizes(grid.n, grid.nz);
        is_within(law.elements, told.elements, 1.7);
        is_within(law.flop, told.flop, 3);
        free_grid(&grid);
    }
    /* An equal order and nearly as many elements: forty times the operations. */
    assert_true(fill_by_sizes(27000, 27000 * 7).flop > 20 * fill_by_sizes(27000, 27000 * 5).flop);
    assert_true(fill_by_sizes(0, 0).flop >= 0);
    assert_true(fill_by_sizes(100, 10000).elements <= 5050);
}

static void a_pattern_tells_its_fill(void **state)
{
    (void)state;
    enum { N = 60 };
    struct grid line = make_grid(N, 1, 1);
    struct fill fill = analyse(&line);
    assert_float_equal(fill.elements, 2 * N - 1, 0);
    int64_t pointers[N + 1], indices[N * N];
    for (int j = 0; j <= N; j++)
        pointers[j] = 1 + j * N;
    for (int k = 0; k < N * N; k++)
        indices[k] = 1 + k % N;
    assert_true(fill_by_pattern(N, pointers, indices, true, 1, &fill));
    assert_float_equal(fill.elements, N * (N + 1) / 2, 0);
    is_within(fill.flop, N * N * N / 3.0, 1.2);
    free_grid(&line);
}

static void the_same_pattern_has_the_same_fill_however_it_is_stored(void **state)
{
    (void)state;
    struct grid grid = make_grid(12, 11, 3);
    const struct fill told = analyse(&grid);
    struct fill again;
    int64_t *pointers = calloc((size_t)grid.n + 1, sizeof *pointers),
            *indices = calloc((size_t)grid.nz, sizeof *indices);
    for (int j = 0; j <= grid.n; j++)
        pointers[j] = grid.pointers[j] + 1;
    for (int k = 0; k < grid.nz; k++)
        indices[k] = grid.indices[k] + 1;
    assert_true(fill_by_pattern(grid.n, pointers, indices, true, 1, &again));
    assert_float_equal(told.elements, again.elements, 0);
    assert_float_equal(told.flop, again.flop, 0);
    free(pointers);
    free(indices);
    free_grid(&grid);
}

static void what_is_no_pattern_has_no_fill(void **state)
{
    (void)state;
    const int good[] = {0, 1, 2}, back[] = {0, 2, 1}, late[] = {1, 1, 2}, rows[] = {0, 1}, beyond[] = {0, 2};
    struct fill fill;
    assert_true(fill_by_pattern(2, good, rows, false, 0, &fill));
    assert_false(fill_by_pattern(2, back, rows, false, 0, &fill));
    assert_false(fill_by_pattern(2, late, rows, false, 0, &fill));
    assert_false(fill_by_pattern(2, good, beyond, false, 0, &fill));
    assert_false(fill_by_pattern(0, good, rows, false, 0, &fill));
    const int too_many[] = {0, FILL_MOST_ELEMENTS + 1}; /* its analysis would take more than 1 GB */
    assert_false(fill_by_pattern(1, too_many, rows, false, 0, &fill));
}

static void costs_follow_the_fill(void **state)
{
    static const char text[] =
        "problem p \"p\"\nin int n\nin int nz\nin int Ap[n + 1], Ai[nz]\n"
        "in double A[n, n] csc(Ap, Ai)\nout double x\nwork 2*factor_flop(A)\n"
        "memory 8*factor_nz(A)\nimplementation i\nc p(n, nz, Ap, Ai, A, x) in libm.so\n";
    (void)state;
    struct problem_set *set = NULL;
    struct esp_error error;
    if (problem_parse(text, strlen(text), "p.esp", &set, &error) != ESP_OK)
        fail_msg("%s", error.text);
    const struct problem *problem = problem_find(set, "p");
    const int n = 1000, nz = 4900;
    const void *inputs[PROBLEM_MAX_ARGUMENTS] = {&n, &nz};
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    const struct fill law = fill_by_sizes(n, nz), known = {12345, 678};
    double flop;
    uint64_t bytes;
    assert_int_equal(problem_bind(problem, inputs, scope, shapes, &error), ESP_OK);
    assert_int_equal(problem_work(problem, scope, &flop, &error), ESP_OK);
    assert_float_equal(flop, 2 * law.flop, 1e-6 * law.flop);
    scope[4] = fill_number(&known);
    assert_int_equal(problem_work(problem, scope, &flop, &error), ESP_OK);
    assert_int_equal(problem_memory(problem, scope, &bytes, &error), ESP_OK);
    assert_float_equal(flop, 2 * 678, 1e-9);
    assert_int_equal(bytes, 8 * 12345);
    problem_set_destroy(set);
}

/* The work that a description declares for those sizes. */
static double work_of(const struct problem *problem, int n, int nz)
{
    const void *inputs[PROBLEM_MAX_ARGUMENTS] = {&n, &nz};
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    struct esp_error error;
    double flop;
    assert_int_equal(problem_bind(problem, inputs, scope, shapes, &error), ESP_OK);
    assert_int_equal(problem_work(problem, scope, &flop, &error), ESP_OK);
    return flop;
}

static void one_stored_triangle_counts_as_the_whole_matrix(void **state)
{
    static const char text[] =
        "problem p \"p\"\nin int n\nin int nz\nin int Ap[n + 1], Ai[nz]\n"
        "in double A[n, n] csc(Ap, Ai) triangle('U')\nout double x\nwork factor_flop(A)\n"
        "implementation i\nc p(n, nz, Ap, Ai, A, x) in libm.so\n";
    static const int sides[][3] = {{100, 100, 1}, {25, 25, 25}};
    struct problem_set *set = NULL;
    struct esp_error error;
    (void)state;
    if (problem_parse(text, strlen(text), "p.esp", &set, &error) != ESP_OK)
        fail_msg("%s", error.text);
    const struct problem *problem = problem_find(set, "p");
    for (unsigned i = 0; i < sizeof sides / sizeof *sides; i++) {
        struct grid grid = make_grid(sides[i][0], sides[i][1], sides[i][2]);
        const double both = work_of(problem, grid.n, grid.nz), told = analyse(&grid).flop;
        const double one = work_of(problem, grid.n, (grid.nz + grid.n) / 2);
        is_within(one, told, 3);
        assert_float_equal(one, both, 1e-6 * both);
        free_grid(&grid);
    }
    problem_set_destroy(set);
}

static void only_costs_may_use_a_matrix(void **state)
{
    static const char *const wrong[][2] = {
        {"problem p \"p\"\nin int n\nin double A[n, n]\nwork factor_flop(A)\n",
         "'A' is no input that is stored by compressed columns or rows"},
        {"problem p \"p\"\nin int n, nz\nin int Ap[n + 1], Ai[nz]\nin double A[n, n] csc(Ap, Ai)\n"
         "require factor_nz(A) > 1\n",
         "'A' stands in a function that only work and memory may use"},
        {"problem p \"p\"\nin int n\nwork factor_flop(2*n)\n", "factor_flop() takes the name of a matrix"},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct problem_set *set = NULL;
        struct esp_error error;
        assert_int_not_equal(problem_parse(wrong[i][0], strlen(wrong[i][0]), "p.esp", &set, &error), ESP_OK);
        if (!strstr(error.text, wrong[i][1]))
            fail_msg("expected \"%s\", found \"%s\"", wrong[i][1], error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_law_knows_two_dimensions_from_three),
        cmocka_unit_test(a_pattern_tells_its_fill),
        cmocka_unit_test(the_same_pattern_has_the_same_fill_however_it_is_stored),
        cmocka_unit_test(what_is_no_pattern_has_no_fill),
        cmocka_unit_test(costs_follow_the_fill),
        cmocka_unit_test(one_stored_triangle_counts_as_the_whole_matrix),
        cmocka_unit_test(only_costs_may_use_a_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
