/* SPDX-License-Identifier: Apache-2.0
 *
 * Compressed matrices to measure with: what is made is a matrix that servers take, with as many elements as
 * the sizes say, and symmetric where it is square.
 */
#include "tests/unit/unit.h"
#include "core/problem/fill.h"
#include "services/fast/design_sparse.h"

#include <stdio.h>
#include <stdlib.h>

struct fixture {
    struct problem_set *set;
    struct random random;
    void *data[PROBLEM_MAX_ARGUMENTS];
    struct design design;
    struct design_point point;
};

static void load(struct fixture *f)
{
    char path[2][4096];
    const char *source = getenv("top_srcdir");
    const char *paths[] = {path[0], path[1]};
    struct esp_error error;
    memset(f, 0, sizeof *f);
    random_seed(&f->random, 17);
    snprintf(path[0], sizeof path[0], "%s/problems/sparse/direct.esp", source ? source : "..");
    snprintf(path[1], sizeof path[1], "%s/problems/sparse/products.esp", source ? source : "..");
    if (problem_load_all(paths, 2, &f->set, &error) != ESP_OK)
        fail_msg("%s", error.text);
}

static void let_go(struct fixture *f)
{
    for (uint32_t i = 0; i < PROBLEM_MAX_ARGUMENTS; i++) {
        free(f->data[i]);
        f->data[i] = NULL;
    }
}

static const struct problem *begin(struct fixture *f, const char *name)
{
    struct esp_error error;
    const struct problem *problem = problem_find(f->set, name);
    assert_non_null(problem);
    if (design_begin(problem, &f->design, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return problem;
}

/* Checks the matrix as a server checks one that has arrived. */
static void fill_and_check(struct fixture *f, const struct problem *problem)
{
    struct esp_error error;
    let_go(f);
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (argument_is_input(&problem->arguments[i])) {
            f->data[i] = malloc(f->point.shapes[i].bytes + 1);
            design_fill(&f->point, problem, i, &f->random, f->data[i]);
        }
    if (problem_check_contents(problem, (const void *const *)f->data, f->point.scope, f->point.shapes,
                               &error) != ESP_OK)
        fail_msg("%s", error.text);
}

static const int *integers(const struct fixture *f, const struct problem *problem, const char *name)
{
    return f->data[problem_argument_index(problem, name)];
}

/* The element, 0 where none is stored. */
static double element(const struct fixture *f, const struct problem *problem, int row, int column)
{
    const int *Ap = integers(f, problem, "Ap"), *Ai = integers(f, problem, "Ai");
    const double *A = f->data[problem_argument_index(problem, "A")];
    for (int k = Ap[column]; k < Ap[column + 1]; k++)
        if (Ai[k] == row)
            return A[k];
    return 0;
}

static void assert_symmetric(const struct fixture *f, const struct problem *problem, int n)
{
    for (int i = 0; i < n; i++) {
        double beside = 0;
        for (int j = 0; j < n; j++) {
            assert_true(element(f, problem, i, j) == element(f, problem, j, i));
            beside += i == j ? 0 : element(f, problem, i, j);
        }
        assert_true(element(f, problem, i, i) > -beside); /* so it is positive definite */
    }
}

static void square_matrices_have_all_their_elements(void **state)
{
    (void)state;
    struct fixture f;
    load(&f);
    const struct problem *problem = begin(&f, "dumfpack");
    static const int64_t sizes[][3] = {{1, 1, 1},   {2, 3, 1},    {2, 4, 1},    {7, 49, 2},   {50, 50, 1},
                                       {50, 51, 1}, {50, 173, 3}, {64, 999, 1}, {100, 500, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_true(design_at(&f.design, 0, sizes[i], &f.point));
        fill_and_check(&f, problem);
        assert_int_equal(integers(&f, problem, "Ap")[sizes[i][0]], sizes[i][1]);
        assert_symmetric(&f, problem, (int)sizes[i][0]);
    }
    let_go(&f);
    problem_set_destroy(f.set);
}

static void what_has_no_room_is_not_measured(void **state)
{
    (void)state;
    struct fixture f;
    load(&f);
    begin(&f, "dumfpack");
    assert_false(design_at(&f.design, 0, (const int64_t[]){10, 9, 1}, &f.point));   /* no diagonal */
    assert_false(design_at(&f.design, 0, (const int64_t[]){10, 101, 1}, &f.point)); /* more than places */
    assert_true(design_at(&f.design, 0, (const int64_t[]){10, 100, 1}, &f.point));
    problem_set_destroy(f.set);
}

static void sizes_that_are_tried_make_matrices(void **state)
{
    (void)state;
    static const char *const names[] = {"dumfpack", "dcholmod", "zumfpack",     "smumps",
                                        "dcscmm",   "dmmcsc",   "dcsctranspose"};
    const struct design_limits limits = {
        .least_s = 1e-5, .most_s = 0.02, .bytes = 1e8, .speed_flops = 1e9, .call_s = 2e-5};
    struct fixture f;
    load(&f);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!problem_find(f.set, names[i]))
            continue;
        const struct problem *problem = begin(&f, names[i]);
        for (uint32_t k = 0; k < 24; k++) {
            assert_true(design_next(&f.design, 0, k, &limits, &f.random, &f.point));
            fill_and_check(&f, problem);
        }
    }
    let_go(&f);
    problem_set_destroy(f.set);
}

static void elements_that_are_no_size_of_their_own_are_told(void **state)
{
    (void)state;
    struct fixture f;
    struct esp_error error;
    load(&f);
    const struct problem *problem = problem_find(f.set, "dcscproduct");
    assert_int_equal(design_begin(problem, &f.design, &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "dcscproduct is not measured"));
    problem_set_destroy(f.set);
}

static void searches_analyse_no_patterns(void **state)
{
    (void)state;
    struct fixture f;
    load(&f);
    const struct problem *problem = begin(&f, "dcholmod");
    const int matrix = problem_argument_index(problem, "A");
    int64_t sizes[COST_MOST_VARIABLES] = {0};
    for (uint32_t i = 0; i < f.design.n_sizes; i++) {
        const char *name = problem->arguments[f.design.sizes[i]].name;
        sizes[i] = strcmp(name, "n") == 0 ? 2500 : strcmp(name, "nz") == 0 ? 12300 : 1;
    }
    const struct fill law = fill_by_sizes(2500, 12300);
    assert_true(design_roughly_at(&f.design, 0, sizes, &f.point));
    assert_int_equal(f.point.scope[matrix].integer, (int64_t)law.elements);
    assert_true(design_at(&f.design, 0, sizes, &f.point));
    assert_int_not_equal(f.point.scope[matrix].integer, (int64_t)law.elements);
    /* A size whose pattern has more elements than memory has room for. */
    for (uint32_t i = 0; i < f.design.n_sizes; i++)
        sizes[i] = strcmp(problem->arguments[f.design.sizes[i]].name, "nrhs") == 0 ? 1 : 2000000000;
    assert_true(design_roughly_at(&f.design, 0, sizes, &f.point));
    problem_set_destroy(f.set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(searches_analyse_no_patterns),
        cmocka_unit_test(square_matrices_have_all_their_elements),
        cmocka_unit_test(what_has_no_room_is_not_measured),
        cmocka_unit_test(sizes_that_are_tried_make_matrices),
        cmocka_unit_test(elements_that_are_no_size_of_their_own_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
