/* SPDX-License-Identifier: Apache-2.0
 *
 * Models of parallel routines: the equations by hand on small cases, and what the papers show of their
 * machines.
 */
#include "tests/unit/unit.h"
#include "core/forecast/parallel_alike.h"
#include "core/forecast/parallel_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void assert_close(double a, double b)
{
    if (fabs(a - b) > 1e-9 * fmax(fabs(a), fabs(b)))
        fail_msg("%.12g is not %.12g", a, b);
}

/* i-cluster: Pentium III at 733 MHz, Fast Ethernet behind switches (section 4.3). */
static struct parallel_machine i_cluster(void)
{
    return (struct parallel_machine){.polynomials = parallel_polynomials_from_rates(5e8, 8e7, 1e-6),
                                     .latency_s = 1e-4,
                                     .element_s = 8 / 11.2e6,
                                     .broadcast = parallel_broadcast_find("tree")};
}

/* A Paragon node, "about 50 Mflops at peak" (B.4.1.4). The paper has no coefficients: these lie where such a
 * node and its links can be, and were fitted to table B.1. */
static struct parallel_machine paragon(void)
{
    struct parallel_machine machine = {.polynomials = parallel_polynomials_from_rates(4.89e7, 2.34e7, 5.5e-7),
                                       .latency_s = 2.4e-5,
                                       .element_s = 8 / 1.6e8,
                                       .broadcast = parallel_broadcast_find("tree")};
    /* Cost of a product for each of its rows and columns, and of a rank-1 update for each column. */
    machine.polynomials.of[PARALLEL_GEMM][5] = machine.polynomials.of[PARALLEL_GEMM][6] = 3.1e-6;
    machine.polynomials.of[PARALLEL_GER][1] = 1.36e-5;
    return machine;
}

/* An SP2 node has five times the rate, and products of few columns are slow for it: c4 of DGEMM. */
static struct parallel_machine sp2(void)
{
    struct parallel_machine machine = {.polynomials = parallel_polynomials_from_rates(2.2e8, 6e7, 1e-6),
                                       .latency_s = 5e-5,
                                       .element_s = 8 / 3.5e7,
                                       .broadcast = parallel_broadcast_find("tree")};
    machine.polynomials.of[PARALLEL_GEMM][4] = 1.5e-8;
    return machine;
}

static void broadcasts_have_their_terms(void **state)
{
    (void)state;
    struct parallel_machine machine = {.latency_s = 1, .element_s = 100};
    static const struct {
        const char *name;
        double ranks, seconds;
    } cases[] = {{"tree", 1, 0},  {"tree", 2, 1001},  {"tree", 5, 3003},     {"tree", 8, 3003},
                 {"ring", 1, 0},  {"ring", 5, 4004},  {"pipeline", 2, 1001}, {"pipeline", 5, 2004},
                 {"split", 1, 0}, {"split", 4, 1505}, {"split", 2, 1001}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        machine.broadcast = parallel_broadcast_find(cases[i].name);
        assert_close(parallel_broadcast_s(&machine, cases[i].ranks, 10), cases[i].seconds);
    }
    assert_null(parallel_broadcast_find("smoke signals"));
}

/* Figure 4.2 and section 4.3: 2048 x 2048, blocks of 64, all grids of up to 32 ranks. */
static void compact_grids_beat_elongated_ones(void **state)
{
    (void)state;
    struct parallel_machine machine = i_cluster();
    static const int64_t ranks[] = {4, 6, 8, 9, 12, 15, 16, 18, 20, 24, 25, 28, 30, 32};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        int64_t side = (int64_t)sqrt((double)ranks[i]);
        while (ranks[i] % side)
            side--;
        double compact = fmin(
            parallel_gemm_s(&machine, (struct parallel_grid){side, ranks[i] / side}, 64, 2048, 2048, 2048),
            parallel_gemm_s(&machine, (struct parallel_grid){ranks[i] / side, side}, 64, 2048, 2048, 2048));
        assert_true(compact <
                    parallel_gemm_s(&machine, (struct parallel_grid){1, ranks[i]}, 64, 2048, 2048, 2048));
        assert_true(compact <
                    parallel_gemm_s(&machine, (struct parallel_grid){ranks[i], 1}, 64, 2048, 2048, 2048));
    }
    /* "different stages for row and column topologies": a step where the tree gets a level more */
    double before = parallel_gemm_s(&machine, (struct parallel_grid){1, 16}, 64, 2048, 2048, 2048);
    assert_true(parallel_gemm_s(&machine, (struct parallel_grid){1, 17}, 64, 2048, 2048, 2048) > before);
}

static void trsm_has_the_cases_of_figure_4_3(void **state)
{
    (void)state;
    static const struct {
        char letters[4];
        int which;
    } cases[] = {{"ULN", 1}, {"URT", 1}, {"ULT", 2}, {"URN", 2},
                 {"LLN", 3}, {"LRT", 3}, {"LLT", 4}, {"LRN", 4}};
    for (size_t i = 0; i < 8; i++) {
        const char *letters = cases[i].letters;
        assert_int_equal(parallel_trsm_case(letters[0], letters[1], letters[2]), cases[i].which);
        assert_int_equal(parallel_trsm_case((char)(letters[0] + 32), letters[1], letters[2]), cases[i].which);
    }
    assert_int_equal(parallel_trsm_case('X', 'L', 'N'), 0);
    assert_int_equal(parallel_trsm_case('U', 'U', 'N'), 0);
    assert_int_equal(parallel_trsm_case('U', 'L', 'C'), 0);
}

static double trsm(int64_t p, int64_t q, int which)
{
    struct parallel_machine machine = i_cluster();
    return parallel_trsm_s(&machine, (struct parallel_grid){p, q}, 64, which, 2048, 2048);
}

/* Figures 4.4 and 4.8, on 8 ranks. */
static void rows_beat_columns_in_cases_1_and_3_of_trsm(void **state)
{
    (void)state;
    for (int which = 1; which <= 3; which += 2) {
        assert_true(trsm(1, 8, which) < trsm(2, 4, which));
        assert_true(trsm(2, 4, which) < trsm(8, 1, which));
        double ratio = trsm(8, 1, which) / trsm(1, 8, which); /* 3.7 in figure 4.4 */
        assert_true(ratio > 2 && ratio < 8);
    }
    for (int which = 2; which <= 4; which += 2) {
        assert_close(trsm(8, 1, which), trsm(1, 8, 1));
        assert_close(trsm(2, 4, which), trsm(4, 2, 1));
    }
}

/* Equation 4.6 on one rank: solve, copy and update block after block. */
/* A block that is not whole costs what it has: no routine takes a leap where one begins. */
static void times_grow_steadily_with_sizes(void **state)
{
    (void)state;
    struct parallel_machine machine = i_cluster();
    static const char *const routines[] = {"pdgemm",  "pdtrsm",  "pdgetrf", "pdpotrf",
                                           "pdgeqrf", "pdgetrs", "pdposv",  "pdgels"};
    for (size_t i = 0; i < sizeof routines / sizeof *routines; i++) {
        double before = 0;
        for (int64_t n = 508; n <= 520; n++) {
            const struct parallel_problem problem = {routines[i], n, n, n, 1};
            struct parallel_forecast forecast;
            assert_int_equal(
                parallel_forecast(&machine, &problem, (struct parallel_grid){1, 2}, 64, &forecast, NULL),
                ESP_OK);
            assert_true(before == 0 ||
                        (forecast.seconds > 0.999 * before && forecast.seconds < 1.1 * before));
            before = forecast.seconds;
        }
    }
}

static void trsm_on_one_rank_is_the_sum_of_its_calls(void **state)
{
    (void)state;
    struct parallel_machine machine = i_cluster();
    double solve = parallel_kernel_s(&machine, PARALLEL_TRSM, 64, 64, 0),
           copy = parallel_kernel_s(&machine, PARALLEL_COPY, 64 * 64, 0, 0), expected = 3 * solve + 2 * copy;
    expected += parallel_kernel_s(&machine, PARALLEL_GEMM, 64, 128, 64) +
                parallel_kernel_s(&machine, PARALLEL_GEMM, 64, 64, 64);
    assert_close(parallel_trsm_s(&machine, (struct parallel_grid){1, 1}, 64, 1, 192, 128), 2 * expected);
    assert_true(isnan(parallel_trsm_s(&machine, (struct parallel_grid){1, 1}, 64, 5, 192, 100)));
}

/* ---- LU ---- */

static void the_block_size_is_where_the_sum_is_least(void **state)
{
    (void)state;
    struct parallel_machine machine = paragon();
    static const struct parallel_grid grids[] = {{1, 1}, {2, 2}, {4, 4}, {8, 8}, {2, 8}};
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
        for (int64_t n = 1000; n <= 4000; n += 1500) {
            double root = parallel_getrf_block(&machine, grids[g], n), best = INFINITY;
            for (int64_t block = 1; block <= 128; block++)
                best = fmin(best, parallel_getrf_s(&machine, grids[g], block, n));
            assert_true(root > 1 && root < 128);
            /* "a good block size is the nearest integer"; the sum has ceilings, the root has not */
            assert_true(parallel_getrf_s(&machine, grids[g], (int64_t)lround(root), n) < 1.03 * best);
        }
}

static void the_block_size_is_that_of_table_b_1(void **state)
{
    (void)state;
    static const double table[3][8] = {{8.31, 9.28, 9.64, 9.83, 9.94, 10.0, 10.1, 10.1},
                                       {7.38, 8.38, 8.79, 9.03, 9.17, 9.27, 9.35, 9.41},
                                       {7.26, 8.0, 8.38, 8.61, 8.77, 8.88, 8.96, 9.03}};
    struct parallel_machine machine = paragon();
    for (int64_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < 8; j++) {
            double block =
                parallel_getrf_block(&machine, (struct parallel_grid){4 << i, 4 << i}, 1000 * (j + 1));
            assert_true(fabs(block / table[i][j] - 1) < 0.03);
        }
}

/* "On the SP2, the optimal block size is very dependent from the grid size and the matrix size." */
static void the_block_size_behaves_as_in_table_b_3(void **state)
{
    (void)state;
    struct parallel_machine machine = sp2();
    for (int64_t side = 2; side <= 4; side++) {
        double least = parallel_getrf_block(&machine, (struct parallel_grid){side, side}, 512);
        double most = parallel_getrf_block(&machine, (struct parallel_grid){side, side}, 2048);
        assert_true(most > 1.2 * least);
        assert_true(side == 2 ||
                    most < parallel_getrf_block(&machine, (struct parallel_grid){side - 1, side - 1}, 2048));
    }
}

/* "There are less communications since pivoting is achieved more often in local memory." */
static void few_rows_of_ranks_are_better_for_lu_than_few_columns(void **state)
{
    (void)state;
    struct parallel_machine machine = paragon();
    for (int64_t n = 500; n <= 4000; n *= 2) {
        double wide = parallel_getrf_s(&machine, (struct parallel_grid){2, 8}, 8, n);
        assert_true(wide < parallel_getrf_s(&machine, (struct parallel_grid){8, 2}, 8, n));
        assert_true(wide < parallel_getrf_s(&machine, (struct parallel_grid){1, 16}, 8, n));
        assert_true(wide < 1.03 * parallel_getrf_s(&machine, (struct parallel_grid){4, 4}, 8, n));
    }
}

/* On one rank and with links that cost nothing: the flops of the routine at the machine's rate. */
static void factorizations_do_their_flops(void **state)
{
    (void)state;
    double n = 4096, rate = 1e9;
    struct parallel_machine machine = {.polynomials = parallel_polynomials_from_rates(rate, rate, 0),
                                       .broadcast = parallel_broadcast_find("tree")};
    static const struct parallel_grid one = {1, 1}, four = {2, 2};
    double lu = 2 * n * n * n / 3 / rate, cholesky = n * n * n / 3 / rate, qr = 4 * n * n * n / 3 / rate;
    assert_true(fabs(parallel_getrf_s(&machine, one, 32, 4096) / lu - 1) < 0.05);
    assert_true(fabs(parallel_potrf_s(&machine, one, 32, 4096) / cholesky - 1) < 0.05);
    assert_true(fabs(parallel_geqrf_s(&machine, one, 32, 4096, 4096) / qr - 1) < 0.05);
    assert_true(fabs(parallel_getrf_s(&machine, four, 32, 4096) / lu - 0.25) < 0.03);
    assert_true(fabs(parallel_potrf_s(&machine, four, 32, 4096) / cholesky - 0.25) < 0.03);
    assert_true(fabs(parallel_geqrf_s(&machine, four, 32, 4096, 4096) / qr - 0.25) < 0.03);
    assert_close(parallel_getrf_s(&machine, four, 32, 0), 0);
    assert_close(parallel_potrf_s(&machine, four, 32, 0), 0);
    assert_close(parallel_geqrf_s(&machine, four, 32, 0, 5), 0);
}

/* ---- choices ---- */

static void the_fastest_grid_comes_first(void **state)
{
    (void)state;
    struct parallel_machine machine = i_cluster();
    struct parallel_problem problem = {.routine = "pdgemm", .m = 4096, .n = 4096, .k = 4096};
    struct parallel_forecast *forecasts;
    static const int64_t blocks[] = {16, 32, 64, 128};
    size_t n;
    assert_int_equal(parallel_grids(&machine, &problem, 32, blocks, 4, &forecasts, &n, NULL), ESP_OK);
    assert_int_equal(n, 119); /* pairs p q <= 32 */
    for (size_t i = 1; i < n; i++)
        assert_true(forecasts[i - 1].seconds <= forecasts[i].seconds);
    assert_true(forecasts[0].grid.p * 4 >= forecasts[0].grid.q &&
                forecasts[0].grid.q * 4 >= forecasts[0].grid.p);
    assert_true(forecasts[0].block > 16);
    free(forecasts);
    /* Small matrices stay on one rank. */
    problem.m = problem.n = problem.k = 50;
    assert_int_equal(parallel_grids(&machine, &problem, 32, blocks, 4, &forecasts, &n, NULL), ESP_OK);
    assert_int_equal(forecasts[0].grid.p * forecasts[0].grid.q, 1);
    free(forecasts);
}

static void grids_whose_ranks_have_too_little_memory_are_last(void **state)
{
    (void)state;
    struct parallel_machine machine = i_cluster();
    struct parallel_problem problem = {.routine = "pdgetrf", .n = 1000};
    struct parallel_forecast forecast;
    machine.memory_elements = 300000;
    assert_int_equal(parallel_forecast(&machine, &problem, (struct parallel_grid){2, 1}, 50, &forecast, NULL),
                     ESP_OK);
    assert_close(forecast.elements, 500000);
    assert_true(isinf(forecast.seconds));
    assert_int_equal(parallel_forecast(&machine, &problem, (struct parallel_grid){2, 2}, 50, &forecast, NULL),
                     ESP_OK);
    assert_true(isfinite(forecast.seconds));
}

static void assert_refused(struct parallel_problem problem, struct parallel_grid grid, int64_t block,
                           const char *text)
{
    struct parallel_machine machine = i_cluster();
    struct parallel_forecast forecast;
    struct esp_error error = {0};
    assert_int_equal(parallel_forecast(&machine, &problem, grid, block, &forecast, &error), ESP_INVALID);
    if (!strstr(error.text, text))
        fail_msg("expected '%s' in '%s'", text, error.text);
}

/* Time of ScaLAPACK's own routine there: `name` is its symbol. */
static double solver(const char *name, int64_t m, int64_t n, int64_t nrhs, struct parallel_grid grid)
{
    struct parallel_machine machine = i_cluster();
    struct parallel_alike alike;
    struct parallel_forecast forecast;
    assert_true(parallel_alike(name, &alike));
    const struct parallel_problem problem = {
        .routine = alike.model, .m = m, .n = n, .k = parallel_alike_has_rhs(&alike) ? nrhs : 0};
    assert_int_equal(parallel_forecast(&machine, &problem, grid, 64, &forecast, NULL), ESP_OK);
    return forecast.seconds;
}

static void routines_for_unequal_ranks_have_the_models_of_equal_ones(void **state)
{
    (void)state;
    struct parallel_alike alike;
    assert_true(parallel_alike("esp_pzgels_unequal_", &alike) && alike.unequal);
    assert_string_equal(alike.model, "pdgels");
    assert_true(alike.type > 3.9 && alike.type < 4.1);
    assert_true(parallel_alike("pdgels_", &alike) && !alike.unequal);
    assert_false(parallel_alike("esp_pdother_unequal_", &alike));
    assert_false(parallel_alike("esp_pdgels_unequally_", &alike));
    assert_false(parallel_alike("esp_p_unequal_of_a_long_name_unequal_", &alike));
}

/* Two triangles against as many right-hand sides as A has columns are six times the work of its Cholesky,
 * against one hardly anything; Q is applied and one triangle solved. */
static void right_hand_sides_take_their_time(void **state)
{
    (void)state;
    static const struct parallel_grid grids[] = {{1, 1}, {1, 2}, {2, 2}};
    const int64_t n = 2000;
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        const struct parallel_grid grid = grids[g];
        const double cholesky = solver("pdpotrf_", n, n, 0, grid), qr = solver("pdgeqrf_", n, n, 0, grid);
        const double posv = solver("pdposv_", n, n, n, grid), gels = solver("pdgels_", n, n, n, grid);
        assert_true(posv > 3 * cholesky && posv < 15 * cholesky);
        assert_close(posv - cholesky, solver("pdpotrs_", n, n, n, grid));
        assert_close(posv - cholesky, solver("pdgetrs_", n, n, n, grid));
        assert_true(gels > 1.7 * qr && gels < 6 * qr);
        assert_true(solver("pdposv_", n, n, 1, grid) < 2 * cholesky);
        assert_true(solver("pdgels_", n, n, 1, grid) < 2 * qr);
        assert_close(solver("pdgels_", n / 2, n, 9, grid), solver("pdgels_", n, n / 2, 9, grid));
        assert_true(solver("pdgels_", 2 * n, n, n, grid) > gels);
    }
}

static void wrong_questions_are_refused(void **state)
{
    (void)state;
    struct parallel_grid grid = {2, 2};
    assert_refused((struct parallel_problem){.routine = "pdfoo"}, grid, 8, "found 'pdfoo'");
    assert_refused((struct parallel_problem){.routine = "pdgemm", .m = -1}, grid, 8, "found -1 x 0 x 0");
    assert_refused((struct parallel_problem){.routine = "pdtrsm", .n = 1, .m = 1}, grid, 8, "found 0");
    assert_refused((struct parallel_problem){.routine = "pdgetrf", .n = 1}, grid, 0, "2 x 2 and 0");
    assert_refused((struct parallel_problem){.routine = "pdgetrf", .n = 1}, (struct parallel_grid){0, 2}, 8,
                   "0 x 2 and 8");
}

/* ---- section 5 ---- */

static struct parallel_place place(int64_t p, int64_t q, const int64_t *ids)
{
    return (struct parallel_place){{{2000, 50, p, 0}, {2000, 50, q, 0}, false}, ids};
}

/* A on 4 x 2 and B on 2 x 2 disjoint ranks: multiply on A's grid, on B's, or on 4 x 3 of all. */
static void all_ranks_together_are_the_best_place(void **state)
{
    (void)state;
    static const int64_t ids[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    struct parallel_machine machine = i_cluster();
    struct parallel_place a = place(4, 2, ids), b = place(2, 2, ids + 8), all = place(4, 3, ids);
    struct parallel_alignment on_a, on_b, on_all;
    assert_int_equal(parallel_align(&machine, &a, &b, &a, &on_a, NULL), ESP_OK);
    assert_int_equal(parallel_align(&machine, &a, &b, &b, &on_b, NULL), ESP_OK);
    assert_int_equal(parallel_align(&machine, &a, &b, &all, &on_all, NULL), ESP_OK);
    /* "the best solution, namely a 4 x 3 processor grid" ... */
    assert_true(on_all.seconds < on_a.seconds && on_a.seconds < on_b.seconds);
    /* ... "is also the less efficient from the redistribution point of view"; computing on G_a is "a little
     * more expensive" and moves less. */
    assert_close(on_a.move_a_s, 0);
    assert_close(on_b.move_b_s, 0);
    assert_true(on_all.move_a_s + on_all.move_b_s > on_a.move_b_s);
    assert_true(on_a.seconds < 1.35 * on_all.seconds);
}

static void places_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const int64_t ids[4] = {0, 1, 2, 3};
    struct parallel_machine machine = i_cluster();
    struct parallel_place a = place(2, 2, ids), b = place(2, 2, ids);
    struct parallel_alignment alignment;
    struct esp_error error = {0};
    b.layout.rows.n = 1999;
    assert_int_equal(parallel_align(&machine, &a, &b, &a, &alignment, &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "found 2000 and 1999"));
    b = place(2, 2, ids);
    b.layout.cols.block = 3;
    assert_int_equal(parallel_align(&machine, &a, &b, &b, &alignment, &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "found 50 x 3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broadcasts_have_their_terms),
        cmocka_unit_test(compact_grids_beat_elongated_ones),
        cmocka_unit_test(trsm_has_the_cases_of_figure_4_3),
        cmocka_unit_test(rows_beat_columns_in_cases_1_and_3_of_trsm),
        cmocka_unit_test(times_grow_steadily_with_sizes),
        cmocka_unit_test(trsm_on_one_rank_is_the_sum_of_its_calls),
        cmocka_unit_test(the_block_size_is_where_the_sum_is_least),
        cmocka_unit_test(the_block_size_is_that_of_table_b_1),
        cmocka_unit_test(the_block_size_behaves_as_in_table_b_3),
        cmocka_unit_test(few_rows_of_ranks_are_better_for_lu_than_few_columns),
        cmocka_unit_test(factorizations_do_their_flops),
        cmocka_unit_test(the_fastest_grid_comes_first),
        cmocka_unit_test(grids_whose_ranks_have_too_little_memory_are_last),
        cmocka_unit_test(routines_for_unequal_ranks_have_the_models_of_equal_ones),
        cmocka_unit_test(right_hand_sides_take_their_time),
        cmocka_unit_test(wrong_questions_are_refused),
        cmocka_unit_test(all_ranks_together_are_the_best_place),
        cmocka_unit_test(places_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
