/* SPDX-License-Identifier: Apache-2.0
 *
 * fast.h: what the rules of an abstract problem would take, of sizes alone: what arrays are like is not
 * known, so that every rule is told.
 */
#include "fast.h"

#include "client/abstract/foresight.h"
#include "client/library.h"
#include "client/session/session.h"

static enum esp_status tell_rules(const struct fast_call *call, const struct esp_call_options *options,
                                  const struct problem *problem, struct fast_step **steps, size_t *n,
                                  struct esp_error *error)
{
    struct foresight *foresight = NULL;
    if (!problem->abstract)
        return error_set(error, ESP_NOT_FOUND, "%s is no abstract problem: it has no rules", call->problem);
    if (foresight_of_sizes(problem, call, options, &foresight, error) != ESP_OK)
        return error->status;
    for (uint32_t i = 0; i < problem->abstract->n_rules; i++)
        if (!foresight_rule(foresight, i, NULL)) {
            foresight_destroy(foresight);
            return error_no_memory(error, "the forecasts");
        }
    if (foresight_check_sizes(foresight, error) != ESP_OK) {
        foresight_destroy(foresight);
        return error->status;
    }
    *steps = foresight_end(foresight, n);
    return ESP_OK;
}

enum esp_status fast_forecast_rules(const struct fast_call *call, const struct esp_call_options *options,
                                    struct fast_step **steps, size_t *n)
{
    struct esp_error *error = library_error(), why = {0};
    struct function *function = NULL;
    struct library *library;
    if (!call || !call->problem || (call->n_values && !call->values) || !steps || !n)
        return error_set(error, ESP_INVALID, "expected a call and places for the steps, found NULL");
    if (!(library = library_enter(error)))
        return error->status;
    enum esp_status status = functions_get_soon(library->engine->functions, call->problem, &function, &why);
    if (status == ESP_OK)
        status = tell_rules(call, options, function->problem, steps, n, &why);
    function_release(function);
    library_leave(status == ESP_OK);
    if (status != ESP_OK)
        *error = why;
    return status;
}

void fast_rules_free(struct fast_step *steps)
{
    package_destroy(steps);
}
