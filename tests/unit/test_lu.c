/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate/applications/lu.h"
#include "simulate/simulation.h"
#include "tests/unit/unit.h"

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

static void simulate(const struct lu_spec *spec, bool events, struct outcome *outcome)
{
    struct lu *lu;
    struct esp_error error;
    if (lu_create(spec, &lu, &error) != ESP_OK)
        fail_msg("%s", error.text);
    struct simulation_spec simulation = {
        .graph = lu_graph(lu), .entry = lu_entry(lu), .platform = &network, .events = events};
    if (simulation_run(&simulation, &outcome->result, &error) != ESP_OK)
        fail_msg("r = %u: %s", spec->r, error.text);
    outcome->operations = 0;
    for (unsigned i = 0; i < outcome->result.n_operations; i++)
        outcome->operations += lu_factorizes(lu, i) ? outcome->result.instances[i] : 0;
    lu_destroy(lu);
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
            for (size_t e = 0; e < outcome.result.n_events; e++)
                transfers += outcome.result.events[e].is_transfer;
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
    for (size_t i = 0; i < some.result.n_events; i++)
        if (some.result.events[i].begin_s > at && !some.result.events[i].is_transfer)
            assert_in_range(some.result.events[i].node, 0, 3);
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
    assert_int_equal(a.result.n_events, b.result.n_events);
    for (size_t i = 0; i < a.result.n_events; i++) {
        assert_memory_equal(&a.result.events[i].begin_s, &b.result.events[i].begin_s, 2 * sizeof(double));
        assert_int_equal(a.result.events[i].operation, b.result.events[i].operation);
    }
    simulation_clear(&a.result);
    simulation_clear(&b.result);
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
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
