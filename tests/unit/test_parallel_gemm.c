/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of products on grids: equation 4.4, the rank with the most work, the panels of PBLAS, and
 * ranks that share processors. */
#include "tests/unit/unit.h"
#include "core/forecast/parallel_model.h"

#include <math.h>

static void assert_close(double a, double b)
{
    if (fabs(a - b) > 1e-9 * fmax(fabs(a), fabs(b)))
        fail_msg("%.12g is not %.12g", a, b);
}

/* The machine of test_parallel_model.c: Pentium III at 733 MHz, Fast Ethernet behind switches. */
static struct parallel_machine i_cluster(void)
{
    return (struct parallel_machine){.polynomials = parallel_polynomials_from_rates(5e8, 8e7, 1e-6),
                                     .latency_s = 1e-4,
                                     .element_s = 8 / 11.2e6,
                                     .broadcast = parallel_broadcast_find("tree")};
}

static void gemm_is_equation_4_4(void **state)
{
    (void)state;
    struct parallel_machine machine = i_cluster();
    double m = 1024, n = 576, k = 330, tau = machine.element_s, lambda = machine.latency_s;
    double expected = 5 * (2 * 256 * 192 * 64 / 5e8 + 1e-6) + (2 * 256 * 192 * 10 / 5e8 + 1e-6) +
                      (2 * m * k / 4 + 2 * k * n / 3) * tau + 6 * (2 + 2) * lambda;
    assert_close(parallel_gemm_s(&machine, (struct parallel_grid){4, 3}, 64, 1024, 576, 330), expected);
    assert_close(parallel_gemm_s(&machine, (struct parallel_grid){1, 1}, 64, 128, 128, 128),
                 2 * (2 * 128. * 128 * 64 / 5e8 + 1e-6));
}

/* 300 columns in blocks of 64 are 172 on the first of two ranks and 128 on the other. */
static void gemm_waits_for_the_rank_that_has_the_most(void **state)
{
    (void)state;
    struct parallel_machine machine = i_cluster();
    const struct parallel_grid row = {1, 2}, column = {2, 1};
    const double compute_s = 4 * (2 * 300. * 172 * 64 / 5e8 + 1e-6) + 2 * 300. * 172 * 44 / 5e8 + 1e-6,
                 sent_s = 300. * 300 * machine.element_s + 5 * machine.latency_s;
    assert_close(parallel_gemm_s(&machine, row, 64, 300, 300, 300), compute_s + sent_s);
    assert_close(parallel_gemm_s(&machine, column, 64, 300, 300, 300), compute_s + sent_s);
    assert_true(parallel_gemm_s(&machine, row, 16, 300, 300, 300) - sent_s < 0.95 * compute_s);
}

/* The calls of DGEMM by ScaLAPACK 2.2's PBLAS: on two ranks 9 times with 32 columns and once with 12, on
 * one at once; with blocks of 64 as with those of 16. */
static void gemm_goes_by_the_panels_of_pblas(void **state)
{
    (void)state;
    struct parallel_machine machine = i_cluster();
    machine.panel = 32;
    machine.latency_s = machine.element_s = 0;
    for (int64_t block = 16; block <= 64; block *= 2) {
        const double cols = block == 64 ? 172 : block == 32 ? 160 : 156;
        assert_close(parallel_gemm_s(&machine, (struct parallel_grid){1, 2}, block, 300, 300, 300),
                     2 * 300. * cols * 300 / 5e8 + 10e-6);
        assert_close(parallel_gemm_s(&machine, (struct parallel_grid){1, 1}, block, 300, 300, 300),
                     2 * 300. * 300 * 300 / 5e8 + 1e-6);
    }
    /* a single block of columns */
    assert_close(parallel_gemm_s(&machine, (struct parallel_grid){1, 2}, 512, 300, 300, 300),
                 2 * 300. * 300 * 300 / 5e8 + 1e-6);
}

static double turning(double processors, double sharers, struct parallel_grid grid)
{
    struct parallel_machine machine = i_cluster();
    const struct parallel_problem problem = {.routine = "pdgemm", .m = 1024, .n = 1024, .k = 1024};
    struct parallel_forecast forecast;
    machine.polynomials = parallel_polynomials_from_rates(5e8, 8e7, 0);
    machine.processors = processors;
    machine.sharers = sharers;
    machine.latency_s = machine.element_s = 0;
    assert_int_equal(parallel_forecast(&machine, &problem, grid, 64, &forecast, NULL), ESP_OK);
    return forecast.seconds;
}

/* Four ranks on two processors are no faster than two; on two hosts of two each they are. */
static void ranks_that_are_more_than_processors_take_turns(void **state)
{
    (void)state;
    const struct parallel_grid one = {1, 1}, two = {1, 2}, four = {2, 2};
    const double alone_s = turning(0, 0, one);
    assert_close(turning(2, 4, one), alone_s);
    assert_close(turning(2, 4, two), alone_s / 2);
    assert_close(turning(2, 4, four), alone_s / 2);
    assert_close(turning(2, 2, four), alone_s / 4);
    assert_close(turning(1, 4, four), alone_s);
    assert_close(turning(0, 0, four), alone_s / 4);
    struct parallel_machine machine = i_cluster(), shared = machine;
    shared.processors = 4;
    shared = parallel_machine_for(&shared, 16);
    assert_true(parallel_getrf_block(&shared, (struct parallel_grid){4, 4}, 1000) !=
                parallel_getrf_block(&machine, (struct parallel_grid){4, 4}, 1000));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_is_equation_4_4),
        cmocka_unit_test(gemm_waits_for_the_rank_that_has_the_most),
        cmocka_unit_test(gemm_goes_by_the_panels_of_pblas),
        cmocka_unit_test(ranks_that_are_more_than_processors_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
