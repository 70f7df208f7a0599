/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "core/choice/estimate.h"
#include "util/random.h"

#include <math.h>
#include <stdlib.h>

static const int64_t start = 5 * NS_PER_S;

static void a_free_slot_means_no_wait(void **state)
{
    (void)state;
    struct load load;
    assert_int_equal(load_init(&load, 2, start), ESP_OK);
    load_place(&load, 10, start);
    assert_true(load_wait_s(&load, start) == 0);
    load_place(&load, 4, start);
    assert_float_equal(load_wait_s(&load, start), 4, 1e-9);
    assert_float_equal(load_wait_s(&load, start + 3 * NS_PER_S), 1, 1e-9);
    assert_true(load_wait_s(&load, start + 30 * NS_PER_S) == 0);
    load_release(&load);
}

static void placing_is_list_scheduling(void **state)
{
    (void)state;
    enum { SLOTS = 7, JOBS = 200 };
    struct load load;
    assert_int_equal(load_init(&load, SLOTS, start), ESP_OK);
    int64_t plain[SLOTS];
    for (int i = 0; i < SLOTS; i++)
        plain[i] = start;
    srand(4711);
    for (int job = 0; job < JOBS; job++) {
        double seconds = 0.25 * (double)(rand() % 40);
        int first = 0;
        for (int i = 1; i < SLOTS; i++)
            if (plain[i] < plain[first])
                first = i;
        assert_float_equal(load_wait_s(&load, start), (double)(plain[first] - start) / 1e9, 1e-9);
        plain[first] += (int64_t)(seconds * 1e9);
        load_place(&load, seconds, start);
    }
    load_release(&load);
}

static void a_past_slot_is_taken_from_now(void **state)
{
    (void)state;
    struct load load;
    assert_int_equal(load_init(&load, 1, start), ESP_OK);
    load_place(&load, 2, start + 10 * NS_PER_S);
    assert_float_equal(load_wait_s(&load, start + 11 * NS_PER_S), 1, 1e-9);
    load_release(&load);
}

static void takes_a_record_s_slots_in_any_order_and_survives_nonsense(void **state)
{
    (void)state;
    struct load load = {0};
    double told[] = {9, 3, -5, NAN, INFINITY};
    assert_int_equal(load_set(&load, told, 2, start), ESP_OK);
    assert_float_equal(load_wait_s(&load, start), 3, 1e-9);
    assert_int_equal(load_set(&load, told, 5, start), ESP_OK);
    assert_true(load_wait_s(&load, start) == 0);
    for (int i = 0; i < 100; i++)
        load_place(&load, INFINITY, start);
    assert_true(load_wait_s(&load, start) > 1e9 - 1);
    assert_int_equal(load_set(&load, NULL, 0, start), ESP_OK);
    assert_true(isinf(load_wait_s(&load, start)));
    load_place(&load, 1, start);
    load_release(&load);
}

static void computes_work_over_speed(void **state)
{
    (void)state;
    double error_s = 0;
    assert_float_equal(estimate_compute_s(2e9, 1e9, &error_s), 2 + ESTIMATE_CALL_S, 1e-12);
    assert_true(error_s > 0 && error_s < 2);
    assert_float_equal(estimate_compute_s(2e9, 0, NULL), 2e9 / ESTIMATE_DEFAULT_SPEED + ESTIMATE_CALL_S,
                       1e-12);
    assert_float_equal(estimate_compute_s(0, 1e9, NULL), ESTIMATE_CALL_S, 1e-12);
    assert_float_equal(estimate_compute_s(NAN, NAN, NULL), ESTIMATE_CALL_S, 1e-12);
}

static void what_does_not_fit_starts_when_all_has_ended(void **state)
{
    (void)state;
    struct load load = {0};
    double told[] = {0, 3, 7};
    assert_int_equal(load_set(&load, told, 3, start), ESP_OK);
    assert_true(load_start_s(&load, true, start) == 0);
    assert_float_equal(load_start_s(&load, false, start), 7, 1e-9);
    load_place(&load, 9, start);
    assert_float_equal(load_start_s(&load, false, start), 9, 1e-9);
    assert_int_equal(load_set(&load, told, 1, start), ESP_OK);
    assert_float_equal(load_start_s(&load, false, start), ESTIMATE_MEMORY_S, 1e-9);
    load_release(&load);
}

static void an_estimate_tells_waits_and_standing(void **state)
{
    (void)state;
    struct load load = {0}, told_load;
    struct arena arena = {0};
    struct server_estimate estimate = {0};
    const struct request request = {.work_flop = 1e9};
    const struct standing standing = {.line = 1.5, .memory_free = 600};
    double told[] = {1, 4};
    assert_int_equal(load_set(&load, told, 2, start), ESP_OK);
    assert_true(estimate_standing(&estimate).memory_free == UINT64_MAX); /* an older server's */
    assert_true(estimate_fill(&estimate, &request, &(struct computer){.speed_flops = 1e9}, &load, &standing,
                              start, &arena));
    assert_true(estimate_standing(&estimate).line == 1.5);
    assert_true(estimate_standing(&estimate).memory_free == 600);
    assert_float_equal(estimate_start_s(&estimate, 600), 1, 1e-6);
    assert_float_equal(estimate_start_s(&estimate, 601), 4, 1e-6);
    assert_int_equal(estimate_load(&estimate, start, &told_load), ESP_OK);
    assert_int_equal(told_load.slots, 2);
    load_release(&told_load);
    load_release(&load);
    arena_clear(&arena);
}

static void others_on_the_processor_make_all_last_longer(void **state)
{
    (void)state;
    const struct request request = {.work_flop = 2e9};
    struct computer computer = {.speed_flops = 1e9};
    struct request_cost alone, beside;
    estimate_cost(&request, &computer, &alone);
    computer.available = 0.5;
    computer.available_error = 0.1;
    estimate_cost(&request, &computer, &beside);
    assert_float_equal(beside.compute_s, 2 * alone.compute_s, 1e-12);
    assert_float_equal(beside.error_s, 2 * alone.error_s + 0.2 * beside.compute_s, 1e-12);
    computer.available = 7; /* nonsense */
    estimate_cost(&request, &computer, &beside);
    assert_float_equal(beside.compute_s, alone.compute_s, 0);
    computer.available = NAN;
    estimate_cost(&request, &computer, &beside);
    assert_float_equal(beside.compute_s, alone.compute_s, 0);
}

static void others_do_not_slow_what_a_call_waits_by_itself(void **state)
{
    (void)state;
    const struct request request = {.digest = 7};
    struct problem_speed item = {.digest = 7, .flops = 1e9, .base_s = 2, .waits = 1};
    const struct problem_speeds speeds = {&item, 1};
    const struct computer computer = {.speed_flops = 1e9, .speeds = &speeds, .available = 0.5};
    struct request_cost cost;
    estimate_cost(&request, &computer, &cost);
    assert_float_equal(cost.compute_s, 2, 1e-3);
    item.waits = 0.5;
    estimate_cost(&request, &computer, &cost);
    assert_float_equal(cost.compute_s, 3, 1e-3);
    item.waits = 0;
    estimate_cost(&request, &computer, &cost);
    assert_float_equal(cost.compute_s, 4, 1e-3);
}

static void a_path_is_the_sum_of_latencies_and_the_least_bandwidth(void **state)
{
    (void)state;
    struct path a = {.known = true, .latency_s = 0.01, .bandwidth_bps = 1e6};
    struct path b = {.known = true, .latency_s = 0.02, .bandwidth_bps = 4e6};
    struct path both = path_join(a, b);
    assert_true(both.known);
    assert_float_equal(both.latency_s, 0.03, 1e-12);
    assert_float_equal(both.bandwidth_bps, 1e6, 1e-3);
    assert_float_equal(path_seconds(&both, 0), 0.03, 1e-12);
}

static void a_path_shorter_than_its_round_trip_is_never_filled(void **state)
{
    (void)state;
    struct path lan = {.known = true, .latency_s = 50e-6, .bandwidth_bps = 1e8};
    struct path far = {.known = true, .latency_s = 0.05, .bandwidth_bps = 1e8};
    /* The first window covers the way: the rate alone counts. */
    assert_float_equal(path_seconds(&lan, 100000000), 1.00005, 1e-9);
    /* Three windows, 10 + 20 + 40 segments, are enough for a megabit; no more than latency and two rounds. */
    assert_float_equal(path_seconds(&far, 100000), 0.05 + 2 * 0.1 + (100000 - 3 * 14480) / 1e8, 1e-9);
    /* Ten doublings fill the path: behind them it runs at its rate, 10 rounds late less what they carried. */
    double long_s = path_seconds(&far, 1000000000);
    assert_true(long_s > 10 && long_s < 10.05 + 10 * 0.1);
}

static void a_transfer_takes_no_less_when_anything_grows(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 6);
    for (int i = 0; i < 20000; i++) {
        double latency_s = 0.2 * random_real(&random), slowness = 1e-6 * random_real(&random);
        double bytes = exp(25 * random_real(&random));
        double seconds = path_time_s(latency_s, slowness, bytes);
        assert_true(path_time_s(latency_s * 1.1, slowness, bytes) >= seconds);
        assert_true(path_time_s(latency_s, slowness * 1.1, bytes) >= seconds);
        assert_true(path_time_s(latency_s, slowness, bytes + 1) >= seconds * (1 - 1e-12));
        assert_true(path_time_s(latency_s, 0, bytes) <= seconds);
    }
}

static void what_is_not_known_decides_nothing(void **state)
{
    (void)state;
    struct path unknown = {0};
    struct path fast = {.known = true, .latency_s = 0.01, .bandwidth_bps = 1e6};
    struct path latency_only = {.known = true, .latency_s = 0.01};
    assert_true(path_seconds(&unknown, 1 << 30) == 0);
    assert_false(path_join(unknown, fast).known);
    assert_false(path_join(fast, unknown).known);
    assert_float_equal(path_join(latency_only, fast).bandwidth_bps, 1e6, 1e-3);
    assert_float_equal(path_seconds(&latency_only, 1 << 30), 0.01, 1e-12);
}

static void a_datum_that_comes_by_an_unknown_way_takes_time(void **state)
{
    (void)state;
    struct path unknown = {0}, itself = {.known = true};
    struct path latency_only = {.known = true, .latency_s = 0.01};
    struct path slow = {.known = true, .latency_s = 0.01, .bandwidth_bps = 1e6};
    struct path loopback = {.known = true, .bandwidth_bps = 3e9};
    assert_true(path_datum_seconds(&loopback, 16) >= PATH_LINK_LATENCY_S);
    assert_true(path_datum_seconds(&itself, 1 << 30) == 0);
    assert_float_equal(path_datum_seconds(&unknown, 100000000),
                       path_time_s(PATH_LINK_LATENCY_S, 1 / PATH_LINK_BPS, 1e8), 1e-12);
    assert_float_equal(path_datum_seconds(&latency_only, 100000000),
                       path_time_s(0.01, 1 / PATH_LINK_BPS, 1e8), 1e-12);
    assert_float_equal(path_datum_seconds(&slow, 100000000), path_seconds(&slow, 100000000), 1e-9);
    assert_true(path_datum_seconds(&slow, 100000000) > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_free_slot_means_no_wait),
        cmocka_unit_test(placing_is_list_scheduling),
        cmocka_unit_test(a_past_slot_is_taken_from_now),
        cmocka_unit_test(takes_a_record_s_slots_in_any_order_and_survives_nonsense),
        cmocka_unit_test(computes_work_over_speed),
        cmocka_unit_test(what_does_not_fit_starts_when_all_has_ended),
        cmocka_unit_test(an_estimate_tells_waits_and_standing),
        cmocka_unit_test(others_on_the_processor_make_all_last_longer),
        cmocka_unit_test(others_do_not_slow_what_a_call_waits_by_itself),
        cmocka_unit_test(a_path_is_the_sum_of_latencies_and_the_least_bandwidth),
        cmocka_unit_test(a_path_shorter_than_its_round_trip_is_never_filled),
        cmocka_unit_test(a_transfer_takes_no_less_when_anything_grows),
        cmocka_unit_test(what_is_not_known_decides_nothing),
        cmocka_unit_test(a_datum_that_comes_by_an_unknown_way_takes_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
