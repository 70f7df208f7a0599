/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes that are visited again, after all others; services/fast/fit.h says which.
 */
#include "sed/calibrate/calibrate_run.h"

#include "services/fast/fit.h"

struct again {
    struct class_run *run;
    bool (*within)(const struct class_run *run);
};

static enum esp_status visit(void *arg, const struct cost_measurement *m, struct cost_measurement *found,
                             struct esp_error *error)
{
    const struct again *again = arg;
    struct class_run *run = again->run;
    struct design_point point = {.x = {0}};
    int64_t sizes[COST_MOST_VARIABLES];
    for (uint32_t i = 0; i < run->design->n_sizes; i++)
        sizes[i] = (int64_t)m->x[i];
    if (!again->within(run) || !design_at(run->design, run->class_index, sizes, &point))
        return ESP_LIMIT;
    enum esp_status status = calibration_measure(run->calibration, run->design->problem, &point,
                                                 run->model.n_variables, found, error);
    if (status != ESP_FAILED && status != ESP_CRASHED && status != ESP_TIMEOUT)
        return status;
    *found = *m; /* a routine that fails now and then: what the first visit found is what there is */
    return ESP_OK;
}

enum esp_status calibrate_again(struct class_run *run, bool (*within)(const struct class_run *run),
                                struct esp_error *error)
{
    struct again again = {run, within};
    return fit_again(&run->model, visit, &again, &run->arena, error);
}
