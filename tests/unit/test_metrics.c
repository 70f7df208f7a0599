/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "util/metrics.h"

#include <math.h>
#include <stdlib.h>

static void a_family_has_its_help_its_type_and_its_samples(void **state)
{
    (void)state;
    struct metrics metrics = {0};
    metrics_family(&metrics, "a_total", METRIC_COUNTER, "What is counted.");
    metrics_sample(&metrics, 3, "by", "memory", "of", "all", (const char *)NULL);
    metrics_sample(&metrics, 12345678901234.0, (const char *)NULL);
    metrics_gauge(&metrics, "b", 0.5, "Half.");
    assert_false(metrics.failed);
    assert_string_equal(metrics.text, "# HELP a_total What is counted.\n"
                                      "# TYPE a_total counter\n"
                                      "a_total{by=\"memory\",of=\"all\"} 3\n"
                                      "a_total 12345678901234\n"
                                      "# HELP b Half.\n"
                                      "# TYPE b gauge\n"
                                      "b 0.5\n");
    metrics_release(&metrics);
}

static void no_label_can_forge_a_line(void **state)
{
    (void)state;
    struct metrics metrics = {0};
    metrics_family(&metrics, "a", METRIC_GAUGE, "A.");
    metrics_sample(&metrics, 1, "name", "x\"\\\ny 2", (const char *)NULL);
    assert_non_null(strstr(metrics.text, "a{name=\"x\\\"\\\\\\ny 2\"} 1\n"));
    metrics_release(&metrics);
}

static void a_histogram_sums_up_its_buckets(void **state)
{
    (void)state;
    struct histogram histogram = {0};
    struct metrics metrics = {0};
    histogram_add(&histogram, 0.0001); /* a bound belongs to its bucket */
    histogram_add(&histogram, 0.0002);
    histogram_add(&histogram, 1e6);
    histogram_add(&histogram, NAN);
    assert_int_equal(histogram_count(&histogram), 3);
    metrics_histogram(&metrics, "t_seconds", &histogram, "T.");
    assert_non_null(strstr(metrics.text, "# TYPE t_seconds histogram\nt_seconds_bucket{le=\"0.0001\"} 1\n"
                                         "t_seconds_bucket{le=\"0.00025\"} 2\n"));
    assert_non_null(strstr(metrics.text, "t_seconds_bucket{le=\"1800\"} 2\nt_seconds_bucket{le=\"+Inf\"} 3\n"
                                         "t_seconds_sum 1000000.0003\nt_seconds_count 3\n"));
    metrics_release(&metrics);
}

static void ratios_have_buckets_around_one(void **state)
{
    (void)state;
    struct histogram histogram = {.kind = HISTOGRAM_RATIO};
    struct metrics metrics = {0};
    histogram_add(&histogram, 1);
    histogram_add(&histogram, 1.2);
    metrics_histogram(&metrics, "r", &histogram, "R.");
    assert_non_null(strstr(metrics.text, "{le=\"0.9\"} 0\nr_bucket{le=\"1\"} 1\nr_bucket{le=\"1.1\"} 1\n"
                                         "r_bucket{le=\"1.25\"} 2\n"));
    metrics_release(&metrics);
}

static void reasons_that_never_occurred_are_left_out(void **state)
{
    (void)state;
    struct status_counts counts = {0};
    struct metrics metrics = {0};
    status_count(&counts, ESP_LIMIT);
    status_count(&counts, ESP_LIMIT);
    status_count(&counts, (enum esp_status)4711); /* from a newer peer */
    metrics_statuses(&metrics, "f_total", &counts, "F.");
    assert_string_equal(metrics.text, "# HELP f_total F.\n# TYPE f_total counter\n"
                                      "f_total{reason=\"limit reached\"} 2\n"
                                      "f_total{reason=\"internal error\"} 1\n");
    metrics_release(&metrics);
}

static void a_text_without_end_is_cut_and_says_so(void **state)
{
    (void)state;
    struct metrics metrics = {0};
    metrics_family(&metrics, "a", METRIC_GAUGE, "A.");
    for (int i = 0; i < 1000000 && !metrics.failed; i++)
        metrics_sample(&metrics, i, "label", "some value", (const char *)NULL);
    assert_true(metrics.failed);
    assert_true(metrics.length < METRICS_BYTES);
    metrics_release(&metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_family_has_its_help_its_type_and_its_samples),
        cmocka_unit_test(no_label_can_forge_a_line),
        cmocka_unit_test(a_histogram_sums_up_its_buckets),
        cmocka_unit_test(ratios_have_buckets_around_one),
        cmocka_unit_test(reasons_that_never_occurred_are_left_out),
        cmocka_unit_test(a_text_without_end_is_cut_and_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
