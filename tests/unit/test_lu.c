/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate/applications/lu.h"
#include "simulate/simulation.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>

static const unsigned sizes[] = {81, 108, 162, 216, 324};
#define N_SIZES (sizeof sizes / sizeof *sizes)

static const struct star_spec network = {.n_nodes = 8,
                                         .latency_s = 1350e-6,
                                         .bandwidth_Bps = 11.85e6,
                                         .send = {2, {0.05, 0.1}},
                                         .receive = {2, {0.1, 0.2}},
                                         .channel = 1};

static struct lu_spec spec_of(unsigned r)
{
    double r3 = (double)r * r * r;
    return (struct lu_spec){.n = 2592,
                            .r = r,
                            .n_nodes = 8,
                            .factorize_s = r3 / 40e6,
                            .solve_s = r3 / 70e6,
                            .multiply_s = 2 * r3 / 80e6,
                            .subtract_s = r3 / r / 30e6,
                            .flip_s = r3 / r / 30e6};
}

struct outcome {
    struct simulation_result result;
    uint64_t operations; /* (a) to (h) */
};

static void simulate_on(const struct star_spec *platform, const struct lu_spec *spec, bool events,
                        struct outcome *outcome)
{
    struct lu *lu;
    struct esp_error error;
    if (lu_create(spec, &lu, &error) != ESP_OK)
        fail_msg("%s", error.text);
    struct simulation_spec simulation = {
        .graph = lu_graph(lu), .entry = lu_entry(lu), .platform = platform, .events = events};
    if (simulation_run(&simulation, &outcome->result, &error) != ESP_OK)
        fail_msg("r = %u: %s", spec->r, error.text);
    outcome->operations = 0;
    for (unsigned i = 0; i < outcome->result.n_operations; i++)
        outcome->operations += lu_factorizes(lu, i) ? outcome->result.instances[i] : 0;
    lu_destroy(lu);
}

static void simulate(const struct lu_spec *spec, bool events, struct outcome *outcome)
{
    simulate_on(&network, spec, events, outcome);
}

static uint64_t sum(uint64_t k, unsigned power)
{
    uint64_t all = 0;
    for (uint64_t j = 1; j < k; j++)
        all += power == 2 ? j * j : j;
    return all;
}

static void messages_and_operations_are_those_of_the_paper(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SIZES; i++)
        for (int variant = 0; variant < 3; variant++) {
            struct lu_spec spec = spec_of(sizes[i]);
            spec.pipelined = variant > 0;
            spec.window = variant == 2 ? 16 : 0;
            struct outcome outcome;
            simulate(&spec, true, &outcome);
            uint64_t k = 2592 / sizes[i], s1 = sum(k, 1), s2 = sum(k, 2), transfers = 0;
            assert_int_equal(outcome.result.counts.messages, 3 * s2 + 6 * s1 + 3 * k + 1);
            assert_int_equal(outcome.operations, 2 * s2 + 2 * s1 + 2 * k);
            for (size_t e = 0; e < outcome.result.record.n_events; e++)
                transfers += outcome.result.record.events[e].is_transfer;
            assert_int_equal(transfers, outcome.result.counts.messages); /* in the trace, too */
            simulation_clear(&outcome.result);
        }
}

static void the_numbers_printed_in_the_paper_are_met(void **state)
{
    (void)state;
    static const struct {
        unsigned r;
        uint64_t messages, operations; /* 0: not printed */
        double gigabytes;
    } rows[] = {{324, 613, 352, 0.4}, {108, 14701, 0, 1.3}, {81, 34321, 21888, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct lu_spec spec = spec_of(rows[i].r);
        struct outcome outcome;
        simulate(&spec, false, &outcome);
        assert_int_equal(outcome.result.counts.messages, rows[i].messages);
        if (rows[i].operations)
            assert_int_equal(outcome.operations, rows[i].operations);
        if (rows[i].gigabytes > 0)
            assert_float_equal((double)outcome.result.counts.bytes / 1e9, rows[i].gigabytes, 0.05);
        simulation_clear(&outcome.result);
    }
}

static void the_work_does_not_depend_on_the_variant(void **state)
{
    (void)state;
    struct lu_spec basic = spec_of(216), pipelined = spec_of(216), parts = spec_of(216);
    pipelined.pipelined = true;
    pipelined.window = 8;
    parts.sub_block = 72;
    struct outcome a, b, c;
    simulate(&basic, false, &a);
    simulate(&pipelined, false, &b);
    simulate(&parts, false, &c);
    assert_float_equal(a.result.work_s, b.result.work_s, 1e-6);
    assert_float_equal(a.result.work_s, c.result.work_s, 1e-6);
    assert_int_equal(a.result.counts.bytes, b.result.counts.bytes);
    assert_true(b.result.seconds < a.result.seconds);
    simulation_clear(&a.result);
    simulation_clear(&b.result);
    simulation_clear(&c.result);
}

static void sub_blocks_replace_each_multiplication_by_a_graph(void **state)
{
    (void)state;
    struct lu_spec spec = spec_of(324);
    spec.sub_block = 81; /* 4 strips: 4 + 4 + 16 + 16 + 1 messages in place of one */
    struct outcome outcome;
    simulate(&spec, false, &outcome);
    assert_int_equal(outcome.result.counts.messages, 613 + 140 * (4 + 4 + 16 + 16));
    simulation_clear(&outcome.result);
}

/* Figures 12 and 13: the columns are on four nodes, and four multiplying threads are removed. */
static void nodes_are_released_when_their_threads_are_removed(void **state)
{
    (void)state;
    struct lu_spec spec = spec_of(324);
    spec.column_nodes = 4;
    struct outcome all, some;
    simulate(&spec, false, &all);
    spec.kills[0].after = 1;
    spec.kills[0].threads = 4;
    spec.n_kills = 1;
    simulate(&spec, true, &some);
    assert_int_equal(some.result.counts.messages, 613);
    assert_float_equal(all.result.node_s, 8 * all.result.seconds, 1e-6);
    unsigned released = 0;
    double at = 0;
    for (size_t i = 0; i < some.result.n_spans; i++)
        if (!some.result.spans[i].used) {
            assert_in_range(some.result.spans[i].node, 4, 7);
            at = some.result.spans[i].at_s;
            released++;
        }
    assert_int_equal(released, 4);
    assert_float_equal(some.result.node_s, 8 * at + 4 * (some.result.seconds - at), 1e-6);
    for (size_t i = 0; i < some.result.record.n_events; i++)
        if (some.result.record.events[i].begin_s > at && !some.result.record.events[i].is_transfer)
            assert_in_range(some.result.record.events[i].node, 0, 3);
    /* Most nodes' time is saved, and little of the time is lost. */
    assert_true(some.result.node_s < 0.75 * all.result.node_s);
    assert_true(some.result.seconds < 1.25 * all.result.seconds);
    simulation_clear(&all.result);
    simulation_clear(&some.result);
}

static void two_simulations_give_the_same_bits(void **state)
{
    (void)state;
    struct lu_spec spec = spec_of(162);
    spec.pipelined = true;
    spec.window = 16;
    struct outcome a, b;
    simulate(&spec, true, &a);
    simulate(&spec, true, &b);
    assert_int_equal(a.result.record.n_events, b.result.record.n_events);
    for (size_t i = 0; i < a.result.record.n_events; i++) {
        assert_memory_equal(&a.result.record.events[i].begin_s, &b.result.record.events[i].begin_s,
                            2 * sizeof(double));
        assert_int_equal(a.result.record.events[i].operation, b.result.record.events[i].operation);
    }
    simulation_clear(&a.result);
    simulation_clear(&b.result);
}

/* ---- tables 2, 3 and 4 ---- */

#define LATENCY   1350e-6
#define BANDWIDTH 11.85e6

/* Durations and use of processors that make the simulator give the rows "original parameters", "CPU
 * utilization divided by 4" and "LU computation 10% faster" of tables 2 and 3; fitted, see doc/flow.md. */
struct fitted {
    unsigned r, window;
    double factorize_s, solve_s, multiply_s, subtract_s;
    double send, receive; /* of one transfer */
};
static const struct fitted fitted[] = {
    {324, 8, 1.23236, 1.20763, 1.02314, 0.00320977, 0.073604, 0.121961},
    {108, 16, 0.0137952, 0.0941426, 0.032, 0.00152492, 0.114649, 0.161984},
};

/* The paper's network; transfers use the fitted parts of the processors, times `communication`. */
static struct star_spec platform_of(const struct fitted *of, double communication)
{
    struct star_spec platform = {
        .n_nodes = 8, .latency_s = LATENCY, .bandwidth_Bps = BANDWIDTH, .channel = 1};
    platform.send.n = platform.receive.n = 16;
    for (unsigned i = 0; i < 16; i++) {
        platform.send.of[i] = fmin(1, of->send * (i + 1)) * communication;
        platform.receive.of[i] = fmin(1, of->receive * (i + 1)) * communication;
    }
    return platform;
}

static double predict(const struct fitted *of, bool pipelined, double latency_s, double bandwidth_Bps,
                      double communication, double factorization, double processors)
{
    struct star_spec platform = platform_of(of, communication);
    platform.latency_s = latency_s;
    platform.bandwidth_Bps = bandwidth_Bps;
    struct lu_spec spec = {.n = 2592,
                           .r = of->r,
                           .n_nodes = 8,
                           .pipelined = pipelined,
                           .window = pipelined ? of->window : 0,
                           .factorize_s = of->factorize_s * factorization * processors,
                           .solve_s = of->solve_s * processors,
                           .multiply_s = of->multiply_s * processors,
                           .subtract_s = of->subtract_s * processors,
                           .flip_s = of->subtract_s * processors};
    struct lu *lu;
    struct esp_error error;
    struct simulation_result result;
    if (lu_create(&spec, &lu, &error) != ESP_OK)
        fail_msg("%s", error.text);
    struct simulation_spec simulation = {.graph = lu_graph(lu), .entry = lu_entry(lu), .platform = &platform};
    if (simulation_run(&simulation, &result, &error) != ESP_OK)
        fail_msg("%s", error.text);
    double seconds = result.seconds;
    simulation_clear(&result);
    lu_destroy(lu);
    return seconds;
}

/* Rows of the tables: what is varied, the paper's seconds, and how far ours may be from these. */
static const struct row {
    unsigned fitted; /* index */
    double latency_s, bandwidth_Bps, communication, factorization, processors;
    double paper[2]; /* basic; pipelined with flow control */
    double percent[2];
} rows[] = {
    {0, LATENCY, BANDWIDTH, 1, 1, 1, {86.5, 78.3}, {1, 1}}, /* fitted */
    {0, 2e-6, BANDWIDTH, 1, 1, 1, {86.2, 78.1}, {1, 3}},
    {0, 2e-6, 912e6, 1, 1, 1, {72.7, 69.5}, {1, 2}},
    {0, LATENCY, BANDWIDTH, 0.25, 1, 1, {82.9, 75.9}, {1, 1}}, /* fitted */
    {0, LATENCY, BANDWIDTH, 1, 0.9, 1, {82.4, 74.2}, {1, 1}},  /* fitted */
    {0, LATENCY, BANDWIDTH, 0.25, 1, 0.25, {36.6, 25.4}, {3, 4}},
    {0, 2e-6, BANDWIDTH, 0.25, 1, 0.25, {36.3, 25.3}, {3, 1}},
    {0, 2e-6, 912e6, 0.25, 1, 0.25, {18.3, 17.5}, {1, 1}},
    {1, LATENCY, BANDWIDTH, 1, 1, 1, {83.9, 43.0}, {2, 2}}, /* fitted */
    {1, 2e-6, BANDWIDTH, 1, 1, 1, {77.2, 41.2}, {3, 5}},
    {1, 2e-6, 912e6, 1, 1, 1, {30.4, 24.9}, {11, 2}},
    {1, LATENCY, BANDWIDTH, 0.25, 1, 1, {83.1, 31.2}, {3, 8}}, /* fitted */
    {1, LATENCY, BANDWIDTH, 1, 0.9, 1, {83.2, 42.6}, {2, 1}},  /* fitted */
    {1, LATENCY, BANDWIDTH, 0.25, 1, 0.25, {76.2, 24.2}, {1, 5}},
    {1, 2e-6, BANDWIDTH, 0.25, 1, 0.25, {69.3, 21.0}, {2, 6}},
    {1, 2e-6, 912e6, 0.25, 1, 0.25, {8.3, 6.6}, {18, 5}},
};

static void predictions_are_near_those_of_the_paper(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int pipelined = 0; pipelined < 2; pipelined++) {
            const struct row *row = &rows[i];
            double seconds = predict(&fitted[row->fitted], pipelined, row->latency_s, row->bandwidth_Bps,
                                     row->communication, row->factorization, row->processors);
            double percent = 100 * (seconds / row->paper[pipelined] - 1);
            if (getenv("ESP_SHOW"))
                print_message("%u %d: %.2f of %.1f, %+.1f %%\n", fitted[row->fitted].r, pipelined, seconds,
                              row->paper[pipelined], percent);
            else if (fabs(percent) > row->percent[pipelined])
                fail_msg("row %zu, pipelined %d: %.2f s, expected %.1f s within %g %%", i, pipelined, seconds,
                         row->paper[pipelined], row->percent[pipelined]);
        }
}

/* Figure 13: the columns are on four of eight nodes, and four multiplying threads are removed after
 * iteration 1. */
static void removing_threads_costs_what_the_paper_measured(void **state)
{
    (void)state;
    struct lu_spec spec = {.n = 2592,
                           .r = 324,
                           .n_nodes = 8,
                           .column_nodes = 4,
                           .factorize_s = fitted[0].factorize_s,
                           .solve_s = fitted[0].solve_s,
                           .multiply_s = fitted[0].multiply_s,
                           .subtract_s = fitted[0].subtract_s,
                           .flip_s = fitted[0].subtract_s};
    struct star_spec platform = platform_of(&fitted[0], 1);
    struct outcome all, some;
    simulate_on(&platform, &spec, false, &all);
    spec.kills[0].after = 1;
    spec.kills[0].threads = 4;
    spec.n_kills = 1;
    simulate_on(&platform, &spec, false, &some);
    if (getenv("ESP_SHOW"))
        print_message("%.2f s; %.2f s, %.1f node s\n", all.result.seconds, some.result.seconds,
                      some.result.node_s);
    assert_true(fabs(all.result.seconds / 86.9 - 1) < 0.05);
    assert_true(fabs(some.result.seconds / (22.5 + 66) - 1) < 0.1);
    assert_true(fabs(some.result.node_s / (8 * 22.5 + 4 * 66) - 1) < 0.1);
    simulation_clear(&all.result);
    simulation_clear(&some.result);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    struct lu_spec spec = spec_of(324);
    struct lu *lu;
    struct esp_error error;
    spec.r = 100;
    assert_int_equal(lu_create(&spec, &lu, &error), ESP_INVALID);
    assert_string_equal(error.text, "lu: expected a block size r that divides n = 2592, found 100");
    spec.r = 2592;
    assert_int_equal(lu_create(&spec, &lu, &error), ESP_LIMIT);
    assert_null(lu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_and_operations_are_those_of_the_paper),
        cmocka_unit_test(the_numbers_printed_in_the_paper_are_met),
        cmocka_unit_test(the_work_does_not_depend_on_the_variant),
        cmocka_unit_test(sub_blocks_replace_each_multiplication_by_a_graph),
        cmocka_unit_test(nodes_are_released_when_their_threads_are_removed),
        cmocka_unit_test(two_simulations_give_the_same_bits),
        cmocka_unit_test(predictions_are_near_those_of_the_paper),
        cmocka_unit_test(removing_threads_costs_what_the_paper_measured),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
