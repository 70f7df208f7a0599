/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/forecast_machine.h"
#include "command/forecast_strategies.h"

#include "core/forecast/parallel_alike.h"
#include "core/unequal/strategies.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PROCESSORS 64
#define MOST_WIDTH      1024
#define WIDTH           32 /* of the paper's blocks */

struct study {
    struct strategies_question question;
    double cycle_times[MOST_PROCESSORS]; /* as they were given, then seconds of an operation */
    struct strategies_result results[STRATEGIES];
};

/* "3,5,8" */
static enum esp_status read_cycle_times(const char *text, struct study *study, struct esp_error *error)
{
    uint32_t n = 0;
    const char *at = text;
    for (char *end; n < MOST_PROCESSORS; at = end + 1) {
        study->cycle_times[n++] = strtod(at, &end);
        if (end == at || (*end && *end != ','))
            break;
        if (!*end) {
            study->question.processors = n;
            return allocation_check(study->cycle_times, n, error);
        }
    }
    return error_set(error, ESP_INVALID,
                     "--strategies: expected the cycle times of 1 to %d processors, as 3,5,8, found %s",
                     MOST_PROCESSORS, text);
}

static enum esp_status read_routine(const char *routine, struct study *study, double *type,
                                    struct esp_error *error)
{
    struct parallel_alike alike;
    const bool known = parallel_alike(routine, &alike);
    *type = alike.type;
    study->question.factorisation = strcmp(alike.model, "pdgeqrf") == 0 ? FACTORISE_QR : FACTORISE_LU;
    if (known && (strcmp(alike.model, "pdgetrf") == 0 || strcmp(alike.model, "pdgeqrf") == 0))
        return ESP_OK;
    return error_set(error, ESP_INVALID,
                     "--strategies: expected p, then s, d, c or z, then getrf, gesv or geqrf, found '%s'",
                     routine);
}

static enum esp_status read_sizes(const struct fast_value *values, size_t count, struct study *study,
                                  struct esp_error *error)
{
    double n = 0, block = WIDTH;
    for (size_t i = 0; i < count; i++) {
        double *to = strcmp(values[i].name, "n") == 0       ? &n
                     : strcmp(values[i].name, "block") == 0 ? &block
                                                            : NULL;
        if (!to)
            return error_set(error, ESP_INVALID, "expected n or block, found %s", values[i].name);
        *to = values[i].value;
    }
    if (!(block >= 1) || block > MOST_WIDTH || block != floor(block))
        return error_set(error, ESP_INVALID, "block: expected a whole number from 1 to %d, found %g",
                         MOST_WIDTH, block);
    if (!(n >= 1) || n > block * STRATEGIES_MOST_BLOCKS)
        return error_set(error, ESP_INVALID, "n: expected 1 to %g with blocks of %g, found %g",
                         block * STRATEGIES_MOST_BLOCKS, block, n);
    study->question.blocks = (uint32_t)ceil(n / block);
    study->question.width = (uint32_t)block;
    return ESP_OK;
}

/* The fastest processor is as fast as a rank of the machine. */
static void set_machine(const struct parallel_profile *profile, double type, struct study *study)
{
    const struct parallel_machine machine = parallel_profile_machine(profile);
    double fastest = study->cycle_times[0];
    for (uint32_t i = 1; i < study->question.processors; i++)
        fastest = fmin(fastest, study->cycle_times[i]);
    const double flops = profile->speed.flops > 0 ? profile->speed.flops : 1e10;
    for (uint32_t i = 0; i < study->question.processors; i++)
        study->cycle_times[i] *= type / (flops * fastest);
    study->question.cycle_times = study->cycle_times;
    study->question.latency_s = machine.latency_s;
    study->question.element_s = machine.element_s;
}

static enum exit_code print(const struct command_line *command, const struct study *study)
{
    json_t *list = command->json ? json_array() : NULL;
    const double fixed = study->results[STRATEGY_STATIC].makespan_s;
    if (!list)
        printf("%-18s %12s %10s %12s\n", "strategy", "seconds", "of static", "blocks moved");
    for (int i = 0; i < STRATEGIES; i++) {
        const struct strategies_result *result = &study->results[i];
        if (list)
            json_array_append_new(list, json_pack("{s:s, s:f, s:I}", "strategy", strategy_names[i], "seconds",
                                                  result->makespan_s, "moves", (json_int_t)result->moves));
        else
            printf("%-18s %12.4g %10.3f %12llu\n", strategy_names[i], result->makespan_s,
                   result->makespan_s / fixed, (unsigned long long)result->moves);
    }
    return list ? command_json(list) : command_flush();
}

enum exit_code forecast_strategies(const struct command_line *command, const struct fast_value *values,
                                   size_t n)
{
    static struct study study;
    static struct parallel_profile profile;
    struct esp_error error = {0};
    double type = 1;
    if (read_cycle_times(command_option_value(command, "strategies"), &study, &error) != ESP_OK ||
        read_routine(command->operands[0], &study, &type, &error) != ESP_OK ||
        read_sizes(values, n, &study, &error) != ESP_OK)
        return command_usage(command, "%s", error.text);
    const enum exit_code code = forecast_machine(command, &profile);
    if (code != EXIT_DONE)
        return code;
    set_machine(&profile, type, &study);
    for (int i = 0; i < STRATEGIES; i++)
        if (strategies_simulate(&study.question, i, &study.results[i], NULL, &error) != ESP_OK)
            return command_fail(command, &error);
    return print(command, &study);
}
