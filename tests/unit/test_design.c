/* SPDX-License-Identifier: Apache-2.0
 *
 * Which sizes are measured, and with which inputs: among them those that people call with, and such that
 * routines succeed.
 */
#include "tests/unit/unit.h"
#include "services/fast/design.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define POINTS 48

static struct problem_set *set;
static struct design design;
static struct design_point points[POINTS];

static const struct problem *begin(const char *file, const char *name)
{
    char path[4096];
    const char *source = getenv("top_srcdir"), *paths[] = {path};
    struct esp_error error;
    snprintf(path, sizeof path, "%s/problems/%s", source ? source : "..", file);
    if (problem_load_all(paths, 1, &set, &error) != ESP_OK)
        fail_msg("%s", error.text);
    const struct problem *problem = problem_find(set, name);
    assert_non_null(problem);
    if (design_begin(problem, &design, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return problem;
}

static void draw_all(void)
{
    const struct design_limits limits = {
        .least_s = 1e-5, .most_s = 1, .bytes = 1e9, .speed_flops = 1e9, .call_s = 2e-5};
    struct random random;
    random_seed(&random, 3);
    for (uint32_t i = 0; i < POINTS; i++)
        assert_true(design_next(&design, 0, i, &limits, &random, &points[i]));
}

static int tear_down(void **state)
{
    (void)state;
    problem_set_destroy(set);
    set = NULL;
    return 0;
}

/* Systems of all orders, small and large. */
static void one_right_hand_side_is_measured(void **state)
{
    (void)state;
    unsigned single = 0;
    double least = HUGE_VAL, most = 0;
    begin("lapack/linear-systems/general.esp", "dgesv");
    draw_all();
    assert_int_equal(design.n_sizes, 2);
    for (int i = 0; i < POINTS; i++)
        if (points[i].x[1] == 1 && points[i].x[0] > 1) {
            single++;
            least = fmin(least, points[i].x[0]);
            most = fmax(most, points[i].x[0]);
        }
    if (single < POINTS / 4 || least > 60 || most < 600)
        fail_msg("%u with one right-hand side, of orders from %g to %g", single, least, most);
}

/* Sizes that matter alike are not made one. */
static void products_have_no_side_that_is_one_of_many(void **state)
{
    (void)state;
    begin("blas", "dgemm");
    for (uint32_t i = 0; i < design.n_sizes; i++)
        assert_false(design.is_beside[i]);
}

/* Of each third of the times, on both sides of where routines take another way. */
static void shapes_of_all_kinds_are_measured_at_all_times(void **state)
{
    (void)state;
    unsigned square[3] = {0}, thin[3] = {0}, near[3][2] = {{0}}, far[3][2] = {{0}};
    begin("lapack/singular-values.esp", "dgesvd");
    draw_all();
    for (int i = 0; i < POINTS; i++) {
        const double m = points[i].x[0], n = points[i].x[1], aspect = fmax(m, n) / fmin(m, n);
        const int third = i % 12 / 4;
        square[third] += m == n;
        thin[third] += aspect > 8;
        near[third][m < n] += aspect > 1 && aspect < 1.6;
        far[third][m < n] += aspect > 1.6 && aspect < 8;
    }
    for (int third = 0; third < 3; third++) {
        if (square[third] < 1 || square[third] > 8 || thin[third] > 6)
            fail_msg("%u of 16 are square, %u thin", square[third], thin[third]);
        for (int wide = 0; wide < 2; wide++)
            if (near[third][wide] < 2 || far[third][wide] < 2)
                fail_msg("third %d: %u near a square, %u further off", third, near[third][wide],
                         far[third][wide]);
    }
}

/* Such shapes are factored a column at a time, and no other shape shows the times where the caches are
 * outgrown. */
static void thin_matrices_of_many_megabytes_are_measured(void **state)
{
    (void)state;
    const struct design_limits limits = {
        .least_s = 5e-6, .most_s = 1, .bytes = 1e9, .speed_flops = 1e10, .call_s = 2e-5};
    struct random random;
    unsigned found[2] = {0};
    begin("lapack/orthogonal.esp", "dgeqrf");
    random_seed(&random, 3);
    for (uint32_t i = 0; i < 160; i++) {
        struct design_point point = {.x = {0}};
        assert_true(design_next(&design, 0, i, &limits, &random, &point));
        const double m = point.x[0], n = point.x[1];
        found[m < n] += fmin(m, n) <= 128 && 8 * m * n > 4e6;
    }
    if (found[0] < 7 || found[1] < 7)
        fail_msg("%u tall ones, %u wide ones", found[0], found[1]);
}

/* The longest take as long as all others together: most rounds are without them, some have them. */
static void few_of_the_longest_are_measured(void **state)
{
    (void)state;
    unsigned longest = 0, between = 0;
    begin("lapack/singular-values.esp", "dgesvd");
    draw_all();
    for (int i = 0; i < POINTS; i++) {
        const double seconds = points[i].x[3] / 1e9; /* as draw_all() says how quick it is */
        longest += seconds > 0.3;
        between += seconds > 0.005 && seconds < 0.13;
    }
    if (longest < 1 || longest > POINTS / 12 || between < 3 * longest)
        fail_msg("%u of %d take long, %u less", longest, POINTS, between);
}

/* Where they may be rectangular, those that happen to be square are like the others. */
static void check_diagonal(const struct problem *problem, const int64_t sizes[2], bool dominant)
{
    struct random random;
    random_seed(&random, 6);
    const uint32_t a = (uint32_t)problem_argument_index(problem, "A");
    assert_true(design_at(&design, 0, sizes, &points[0]));
    double *elements = calloc(1, points[0].shapes[a].bytes);
    design_fill(&points[0], problem, a, &random, elements);
    for (int i = 0; i < 30; i++)
        assert_true(dominant ? elements[31 * i] == 30 : fabs(elements[31 * i]) < 1);
    free(elements);
}

static void square_matrices_are_dominant_by_description_only(void **state)
{
    (void)state;
    check_diagonal(begin("lapack/linear-systems/general.esp", "dgesv"), (const int64_t[]){30, 1}, true);
    tear_down(NULL);
    check_diagonal(begin("lapack/singular-values.esp", "dgesvd"), (const int64_t[]){30, 30}, false);
}

/* The diagonal of d and its neighbours in e, which are complex where they have two parts. */
static void check_dominant(const struct problem *problem, bool single, unsigned parts)
{
    struct random random;
    const int64_t sizes[] = {40, 3};
    random_seed(&random, 5);
    const uint32_t d = (uint32_t)problem_argument_index(problem, "d"),
                   e = (uint32_t)problem_argument_index(problem, "e");
    assert_true(design_at(&design, 0, sizes, &points[0]));
    void *diagonal = calloc(1, points[0].shapes[d].bytes), *beside = calloc(1, points[0].shapes[e].bytes);
    design_fill(&points[0], problem, d, &random, diagonal);
    design_fill(&points[0], problem, e, &random, beside);
    for (int64_t i = 0; i < 40; i++) {
        double sum = 0;
        for (int64_t j = i - 1; j <= i; j++)
            if (j >= 0 && j < 39)
                sum += single
                           ? hypot(((float *)beside)[parts * j], ((float *)beside)[parts * j + parts - 1])
                           : hypot(((double *)beside)[parts * j], ((double *)beside)[parts * j + parts - 1]);
        const double value = single ? ((float *)diagonal)[i] : ((double *)diagonal)[i];
        if (!(value > sum) || (i > 0 && sum == 0))
            fail_msg("element %d of the diagonal: %g beside %g", (int)i, value, sum);
    }
    free(diagonal);
    free(beside);
}

static void tridiagonal_matrices_are_positive_definite(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool single;
        unsigned parts;
    } problems[] = {{"sptsv", true, 1},  {"dptsv", false, 1},  {"cptsv", true, 2},
                    {"zptsv", false, 2}, {"dpttrf", false, 1}, {"zpttrf", false, 2}};
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        check_dominant(begin("lapack/linear-systems/tridiagonal.esp", problems[i].name), problems[i].single,
                       problems[i].parts);
        tear_down(NULL);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(one_right_hand_side_is_measured),
        TEST(products_have_no_side_that_is_one_of_many),
        TEST(shapes_of_all_kinds_are_measured_at_all_times),
        TEST(thin_matrices_of_many_megabytes_are_measured),
        TEST(few_of_the_longest_are_measured),
        TEST(square_matrices_are_dominant_by_description_only),
        TEST(tridiagonal_matrices_are_positive_definite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
