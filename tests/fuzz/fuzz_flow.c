/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading any bytes as a flow ends with a program or an error with a text; an accepted program becomes a
 * plan or an error, and a plan runs to its end. */
#include "core/flow/program.h"
#include "simulate/simulation.h"
#include "tests/fuzz/replay.h"

#include <stdlib.h>

static void check(int holds)
{
    if (!holds)
        abort();
}

static void run(struct flow_plan *plan, unsigned n_nodes)
{
    struct flow_plan_counts counts;
    struct simulation_result result;
    struct esp_error error = {0};
    struct star_spec platform = {.n_nodes = n_nodes, .bandwidth_Bps = 1e6, .latency_s = 1e-3, .channel = 1};
    struct simulation_spec spec = {
        .graph = flow_plan_graph(plan), .entry = flow_plan_entry(plan), .platform = &platform};
    flow_plan_counts(plan, &counts);
    if (simulation_run(&spec, &result, &error) != ESP_OK) {
        check(error.text[0] != 0);
        return;
    }
    check(result.counts.instances == counts.tasks + 1);
    check(result.counts.messages == counts.edges + 1);
    simulation_clear(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct flow_program *program;
    struct flow_plan *plan;
    struct esp_error error = {0};
    if (flow_program_parse((const char *)data, size, "fuzz", flow_problems_of_set(NULL), &program, &error) !=
        ESP_OK) {
        check(error.text[0] != 0 && !program);
        return 0;
    }
    for (unsigned n_nodes = 1; n_nodes <= 3; n_nodes += 2) {
        struct flow_plan_spec spec = {.n_nodes = n_nodes, .flop_rate = 1e9, .most_steps = 20000};
        if (flow_plan_create(program, &spec, &plan, &error) != ESP_OK) {
            check(error.text[0] != 0 && !plan);
            continue;
        }
        run(plan, n_nodes);
        flow_plan_destroy(plan);
    }
    flow_program_destroy(program);
    return 0;
}
