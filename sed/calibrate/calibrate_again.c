/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes that are measured a second time, later: a competitor on the same core's other hyperthread, or in its
 * caches, makes a call longer by processor time too, and never shorter. What took clearly longer than all the
 * others lead to expect was probably disturbed, and the quicker of both counts.
 */
#include "sed/calibrate/calibrate_run.h"

#include <math.h>
#include <string.h>

#define MOST_AGAIN 12
/* Above the model's forecast by this, and by this many of its errors. */
#define CLEARLY 0.05
#define ERRORS  1.5

/* How much longer it took than the model expects; below 0: not clearly. */
static double excess(const struct class_run *run, const struct cost_measurement *m)
{
    const double expected_s = cost_curve_value(&run->model, &run->model.time, m->x, NULL);
    const double over = expected_s > 0 ? m->seconds / expected_s - 1 : 0;
    return over > fmax(CLEARLY, ERRORS * run->model.time.error) ? over : -1;
}

/* The one with the greatest excess that was not looked at yet; NULL: there is none. */
static struct cost_measurement *worst(struct class_run *run, const bool *seen)
{
    struct cost_measurement *found = NULL;
    double most = 0;
    for (uint32_t i = 0; i < run->model.n_measurements; i++) {
        const double over = seen[i] ? -1 : excess(run, &run->measurements[i]);
        if (over > most) {
            most = over;
            found = &run->measurements[i];
        }
    }
    return found;
}

static enum esp_status once_more(struct class_run *run, struct cost_measurement *m, bool *better,
                                 struct esp_error *error)
{
    struct design_point point = {.x = {0}};
    struct cost_measurement now;
    int64_t sizes[COST_MOST_VARIABLES];
    for (uint32_t i = 0; i < run->design->n_sizes; i++)
        sizes[i] = (int64_t)m->x[i];
    if (!design_at(run->design, run->class_index, sizes, &point))
        return ESP_OK;
    enum esp_status status = calibration_measure(run->calibration, run->design->problem, &point,
                                                 run->model.n_variables, &now, error);
    if (status != ESP_OK || now.seconds >= m->seconds)
        return status;
    *m = now;
    *better = true;
    return journal_note(run, m, error);
}

enum esp_status calibrate_again(struct class_run *run, bool (*within)(const struct class_run *run),
                                bool *better, struct esp_error *error)
{
    bool seen[CALIBRATE_MOST_POINTS] = {false};
    struct cost_measurement *m;
    enum esp_status status = ESP_OK;
    *better = false;
    for (int i = 0; i < MOST_AGAIN && status == ESP_OK && within(run) && (m = worst(run, seen)); i++) {
        seen[m - run->measurements] = true;
        status = once_more(run, m, better, error);
    }
    return status;
}
