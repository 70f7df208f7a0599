/* SPDX-License-Identifier: Apache-2.0
 *
 * Parsing any bytes ends with a set of problems or an error with a text, and an accepted set survives its
 * canonical form, binding and help. */
#include "core/problem/problem.h"
#include "core/problem/problem_help.h"
#include "tests/fuzz/replay.h"

#include <stdlib.h>
#include <string.h>

static void check(int holds)
{
    if (!holds)
        abort();
}

/* Scalars of all ones or zeros, no arrays. */
static void use(const struct problem *problem, const unsigned char *raw)
{
    const void *values[PROBLEM_MAX_ARGUMENTS];
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    const int64_t *dims[PROBLEM_MAX_ARGUMENTS];
    const int64_t threes[PROBLEM_MAX_DIMS] = {3, 3, 3, 3, 3, 3, 3};
    uint32_t ranks[PROBLEM_MAX_ARGUMENTS];
    double flops;
    uint64_t bytes;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        values[i] = raw;
        scope[i] = (struct number){.kind = NUMBER_UNKNOWN};
        ranks[i] = problem->arguments[i].n_dims;
        dims[i] = ranks[i] ? threes : NULL;
    }
    problem_infer(problem, dims, ranks, scope, NULL);
    struct esp_error error;
    if (problem_bind(problem, values, scope, shapes, &error) != ESP_OK)
        check(error.text[0] != 0);
    problem_work(problem, scope, &flops, NULL);
    problem_memory(problem, scope, &bytes, NULL);
}

static void speak(const struct problem *problem)
{
    struct number scope[PROBLEM_MAX_ARGUMENTS + PROBLEM_MAX_RESULTS];
    for (uint32_t i = 0; i < PROBLEM_MAX_ARGUMENTS + PROBLEM_MAX_RESULTS; i++)
        scope[i] = (struct number){.kind = NUMBER_INTEGER, .integer = -1};
    char text[300];
    problem_usage(problem, text, sizeof text);
    for (uint32_t i = 0; i < problem->n_implementations; i++)
        for (uint32_t e = 0; e < problem->implementations[i].n_errors; e++)
            problem_failure_text(&problem->implementations[i].errors[e].message,
                                 &(struct scope){scope, PROBLEM_MAX_ARGUMENTS + PROBLEM_MAX_RESULTS}, text,
                                 sizeof text);
    for (uint32_t i = 0; i < problem->n_preconditions; i++)
        problem_failure_text(&problem->preconditions[i].message,
                             &(struct scope){scope, PROBLEM_MAX_ARGUMENTS + PROBLEM_MAX_RESULTS}, text,
                             sizeof text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned char ones[16] = {1, 0, 0, 0}, minus[16] = {255, 255, 255, 255, 255, 255, 255, 255};
    struct problem_set *set, *again;
    struct esp_error error = {0};
    if (problem_parse((const char *)data, size, "fuzz", &set, &error) != ESP_OK) {
        check(error.text[0] != 0);
        return 0;
    }
    for (size_t i = 0; i < set->n_problems; i++) {
        const struct problem *problem = set->problems[i];
        check(problem_parse(problem->source, strlen(problem->source), "canonical", &again, &error) == ESP_OK);
        check(again->problems[0]->digest == problem->digest);
        problem_set_destroy(again);
        use(problem, ones);
        use(problem, minus);
        speak(problem);
    }
    problem_set_destroy(set);
    return 0;
}
