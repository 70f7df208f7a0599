/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/queue_wait.h"
#include "tests/unit/unit.h"
#include "util/random.h"

#include <math.h>
#include <stdlib.h>

static const struct queue_request small = {1, 600}, large = {64, 36000};
static struct queue_wait *history;
static struct random source;

static int setup(void **state)
{
    (void)state;
    random_seed(&source, 34);
    return queue_wait_create(&history, NULL) == ESP_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    queue_wait_destroy(history);
    return 0;
}

static double normal(void)
{
    const double u = 1 - random_real(&source), v = random_real(&source);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* Waiting times of real queues are about lognormal: most are short, few are very long. */
static double lognormal(double middle, double spread)
{
    return middle * exp(spread * normal());
}

static struct queue_forecast forecast(const struct queue_request *request, double waited_s)
{
    struct queue_forecast forecast;
    assert_true(queue_wait_forecast(history, request, waited_s, &forecast));
    return forecast;
}

static void an_empty_history_forecasts_nothing(void **state)
{
    struct queue_forecast forecast;
    (void)state;
    assert_false(queue_wait_forecast(history, &small, 0, &forecast));
    assert_false(queue_wait_add(history, &small, -1));
    assert_false(queue_wait_add(history, &small, NAN));
    assert_false(queue_wait_add(history, &(struct queue_request){INFINITY, 1}, 1));
    assert_false(queue_wait_forecast(history, &small, 0, &forecast));
}

static void equal_waits_are_forecast_exactly(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++)
        assert_true(queue_wait_add(history, &small, 42));
    assert_true(forecast(&small, 0).wait_s == 42);
    assert_true(forecast(&small, 0).error_s == 0);
    assert_true(forecast(&small, 0).bound_s == 42);
    assert_true(forecast(&small, 0).alike);
}

/* The ranks of the paper's method: with 59 waiting times the longest is the bound, with fewer there is none.
 */
static void the_bound_has_the_rank_of_the_binomial_distribution(void **state)
{
    (void)state;
    assert_int_equal(queue_wait_bound_rank(58, 0.95, 0.95), 0);
    assert_int_equal(queue_wait_bound_rank(59, 0.95, 0.95), 59);
    assert_int_equal(queue_wait_bound_rank(93, 0.95, 0.95), 92);
    assert_int_equal(queue_wait_bound_rank(1, 0.5, 0.5), 1);
    for (uint32_t n = 59; n < 1024; n++) {
        const uint32_t rank = queue_wait_bound_rank(n, 0.95, 0.95);
        assert_true(rank > 0.95 * n && rank <= n);
    }
}

static void one_wait_in_twenty_is_beyond_the_bound(void **state)
{
    unsigned beyond = 0, n = 0;
    (void)state;
    for (int i = 0; i < 4000; i++) {
        const double wait_s = lognormal(300, 1.5);
        if (i >= 100) {
            beyond += wait_s > forecast(&small, 0).bound_s;
            n++;
        }
        queue_wait_add(history, &small, wait_s);
    }
    assert_true(beyond < 0.06 * n);
    assert_true(beyond > 0.01 * n); /* a bound that nothing exceeds would say nothing */
}

static void the_error_is_the_error_that_forecasts_have(void **state)
{
    double told = 0, real = 0;
    (void)state;
    for (int i = 0; i < 4000; i++) {
        const double wait_s = lognormal(300, 0.7);
        if (i >= 100) {
            const struct queue_forecast now = forecast(&small, 0);
            told += now.error_s;
            real += fabs(now.wait_s - wait_s);
        }
        queue_wait_add(history, &small, wait_s);
    }
    assert_true(fabs(told / real - 1) < 0.15);
}

static void jobs_that_ask_for_more_have_their_own_forecast(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        queue_wait_add(history, &small, lognormal(10, 0.3));
        queue_wait_add(history, &large, lognormal(3000, 0.3));
    }
    assert_true(fabs(forecast(&small, 0).wait_s / 10 - 1) < 0.2);
    assert_true(fabs(forecast(&large, 0).wait_s / 3000 - 1) < 0.2);
    const struct queue_request strange = {512, 100};
    assert_false(forecast(&strange, 0).alike);
    assert_true(forecast(&strange, 0).error_s > 500);
}

static void a_job_that_has_waited_long_is_compared_with_those_that_did(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        queue_wait_add(history, &small, 10);
        queue_wait_add(history, &small, 1000);
    }
    assert_true(forecast(&small, 20).wait_s == 980);
    const struct queue_forecast beyond = forecast(&small, 2000);
    assert_int_equal(beyond.n, 0);
    assert_true(beyond.wait_s == 2000 && beyond.error_s == 2000 && beyond.bound_s >= beyond.wait_s);
}

static void a_queue_that_has_changed_is_noticed(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++)
        queue_wait_add(history, &small, lognormal(10, 0.5));
    for (int i = 0; i < 20; i++)
        queue_wait_add(history, &small, lognormal(2000, 0.3));
    assert_true(forecast(&small, 0).wait_s > 1000);
    assert_true(forecast(&small, 0).n <= 40);
}

static void forecasts_keep_their_order(void **state)
{
    (void)state;
    for (int i = 0; i < TRIALS(3000); i++) {
        const struct queue_request request = {1 + (double)random_below(&source, 100),
                                              (double)random_below(&source, 100000)};
        queue_wait_add(history, &request, random_below(&source, 4) ? lognormal(100, 2) : 0);
        const double waited_s = random_below(&source, 2) ? 0 : lognormal(100, 2);
        const struct queue_forecast now = forecast(&request, waited_s);
        assert_true(now.wait_s >= 0 && now.error_s >= 0 && now.bound_s >= now.wait_s);
        assert_true(isfinite(now.bound_s) && isfinite(now.error_s) && now.n <= 1024);
    }
}

static void what_the_batch_system_expects_counts_by_its_error(void **state)
{
    struct queue_forecast now = {.wait_s = 100, .error_s = 10, .bound_s = 200};
    (void)state;
    queue_wait_combine(&now, 300, 10);
    assert_true(fabs(now.wait_s - 200) < 1e-9);
    now = (struct queue_forecast){.wait_s = 100, .error_s = 100, .bound_s = 200};
    queue_wait_combine(&now, 300, 1);
    assert_true(fabs(now.wait_s - 300) < 1 && now.error_s == 1 && now.bound_s >= now.wait_s);
    now = (struct queue_forecast){.wait_s = 100, .error_s = 10, .bound_s = 200};
    queue_wait_combine(&now, NAN, 10);
    assert_true(now.wait_s == 100);
}

static void a_history_is_read_as_it_was_written(void **state)
{
    struct queue_wait *again;
    (void)state;
    for (int i = 0; i < 1500; i++)
        queue_wait_add(history, i % 2 ? &small : &large, lognormal(100, 1));
    char *text = queue_wait_write(history);
    assert_non_null(text);
    assert_int_equal(queue_wait_create(&again, NULL), ESP_OK);
    const size_t taken = queue_wait_read(again, text, strlen(text));
    assert_true(taken > 8 && taken <= 1024);
    struct queue_forecast a = forecast(&small, 0), b;
    assert_true(queue_wait_forecast(again, &small, 0, &b));
    assert_true(fabs(a.wait_s - b.wait_s) < 1e-6 * a.wait_s &&
                fabs(a.bound_s - b.bound_s) < 1e-6 * a.bound_s);
    static const char bad[] = "hello\n1 2\n1 2 -3\n1 2 nan\n1 2 3 4\n\n1 600 7\n1 600 8";
    assert_int_equal(queue_wait_read(again, bad, strlen(bad)), 2);
    queue_wait_destroy(again);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_history_forecasts_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(equal_waits_are_forecast_exactly, setup, teardown),
        cmocka_unit_test(the_bound_has_the_rank_of_the_binomial_distribution),
        cmocka_unit_test_setup_teardown(one_wait_in_twenty_is_beyond_the_bound, setup, teardown),
        cmocka_unit_test_setup_teardown(the_error_is_the_error_that_forecasts_have, setup, teardown),
        cmocka_unit_test_setup_teardown(jobs_that_ask_for_more_have_their_own_forecast, setup, teardown),
        cmocka_unit_test_setup_teardown(a_job_that_has_waited_long_is_compared_with_those_that_did, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_queue_that_has_changed_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(forecasts_keep_their_order, setup, teardown),
        cmocka_unit_test_setup_teardown(what_the_batch_system_expects_counts_by_its_error, setup, teardown),
        cmocka_unit_test_setup_teardown(a_history_is_read_as_it_was_written, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
