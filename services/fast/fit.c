/* SPDX-License-Identifier: Apache-2.0 */
#include "services/fast/fitting.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The memory of a routine is told to within the pages and pools around it. */
#define MEMORY_GRAIN (1 << 20)
/* A call from afar costs so much besides: what is small against it need not be told well, and its noise shall
 * not decide about powers and pieces for what takes long. */
#define TIME_GRAIN 100e-6

static int count_pieces(const struct shapes *shapes)
{
    int n = 0;
    for (int k = 0; k < shapes->n; k++)
        n += shapes->bends[k].n;
    return n;
}

static bool make_range(const struct fitting *fitting, const struct shapes *shapes, double lesser,
                       struct arena *arena, struct cost_piece *pieces)
{
    for (int k = 0; k < shapes->n; k++) {
        const struct cost_piece bounds = {.lesser = lesser, .shape = shapes->bounds[k]};
        if (!fit_make_pieces(fitting, &shapes->bends[k], &bounds, arena, pieces))
            return false;
        pieces += shapes->bends[k].n;
    }
    return true;
}

static bool fit_curve(struct fitting *fitting, struct arena *arena, struct cost_curve *curve)
{
    struct ranges ranges;
    int n = 0, done = 0;
    fit_choose_ranges(fitting, &ranges);
    for (int r = 0; r < ranges.n; r++)
        n += count_pieces(&ranges.shapes[r]);
    *curve = (struct cost_curve){.error = sqrt(ranges.squares / fitting->n)};
    bool made =
        ranges.squares < HUGE_VAL && (curve->pieces = arena_alloc(arena, (size_t)n * sizeof *curve->pieces));
    for (int r = 0; r < ranges.n && made; r++) {
        made = make_range(fitting, &ranges.shapes[r], ranges.bounds[r], arena, curve->pieces + done);
        done += count_pieces(&ranges.shapes[r]);
    }
    if (made)
        curve->n_pieces = (uint32_t)n;
    return made;
}

static bool is_good(const struct cost_model *model, const struct cost_measurement *m)
{
    for (uint32_t i = 0; i < model->n_variables; i++)
        if (!(m->x[i] >= 0 && m->x[i] < 1e300))
            return false;
    return m->seconds > 0 && m->seconds < COST_MOST_S && m->bytes >= 0 && m->bytes < 1e18;
}

static void set_ranges(struct cost_model *model, const struct fitting *fitting)
{
    model->floor_s_per_flop = HUGE_VAL;
    int work = fit_variable(model, COST_WORK);
    for (int i = 0; i < fitting->n; i++) {
        const struct cost_measurement *m = fitting->samples[i].m;
        for (uint32_t v = 0; v < model->n_variables; v++) {
            struct cost_variable *variable = &model->variables[v];
            variable->least = i ? fmin(variable->least, m->x[v]) : m->x[v];
            variable->most = i ? fmax(variable->most, m->x[v]) : m->x[v];
        }
        if (work >= 0 && m->x[work] > 0)
            model->floor_s_per_flop = fmin(model->floor_s_per_flop, 0.5 * m->seconds / m->x[work]);
    }
    if (!isfinite(model->floor_s_per_flop))
        model->floor_s_per_flop = 0;
    model->factor = 1;
}

static void set_values(struct fitting *fitting, bool times)
{
    const int lesser = fit_variable(fitting->model, COST_LESSER);
    fitting->has_ranges = times && lesser >= 0; /* buffers are no matter of blocks */
    for (int i = 0; i < fitting->n; i++) {
        struct sample *sample = &fitting->samples[i];
        sample->value = times ? sample->m->seconds : sample->m->bytes;
        sample->lesser = lesser >= 0 ? sample->m->x[lesser] : 0;
        sample->weight = 1 / (sample->value + (times ? TIME_GRAIN : MEMORY_GRAIN));
    }
}

static void set_extent(const struct fitting *fitting, struct cost_curve *curve)
{
    for (int i = 0; i < fitting->n; i++) {
        double value = fitting->samples[i].value;
        curve->least = i ? fmin(curve->least, value) : value;
        curve->most = i ? fmax(curve->most, value) : value;
    }
}

static enum esp_status fit_curves(struct cost_model *model, struct fitting *fitting, struct arena *arena,
                                  struct esp_error *error)
{
    set_values(fitting, true);
    if (!fit_curve(fitting, arena, &model->time))
        return error_set(error, ESP_INVALID, "%s: no curve fits its %d measurements", model->problem,
                         fitting->n);
    set_extent(fitting, &model->time);
    set_values(fitting, false);
    double most = 0;
    for (int i = 0; i < fitting->n; i++)
        most = fmax(most, fitting->samples[i].value);
    model->memory = (struct cost_curve){0};
    if (most > MEMORY_GRAIN && fit_curve(fitting, arena, &model->memory))
        set_extent(fitting, &model->memory);
    return ESP_OK;
}

enum esp_status fit_model(struct cost_model *model, struct arena *arena, struct esp_error *error)
{
    uint32_t rows = model->n_measurements;
    struct fitting *fitting = calloc(1, sizeof *fitting);
    enum esp_status status = ESP_OK;
    if (fitting) {
        fitting->samples = calloc(rows + 1, sizeof *fitting->samples);
        fitting->A = calloc((size_t)(rows + 1) * COST_MOST_TERMS, sizeof *fitting->A);
        fitting->b = calloc(rows + 1, sizeof *fitting->b);
        fitting->weights = calloc(rows + 1, sizeof *fitting->weights);
    }
    if (!fitting || !fitting->samples || !fitting->A || !fitting->b || !fitting->weights)
        status = error_no_memory(error, "a fit");
    for (uint32_t i = 0; status == ESP_OK && i < rows; i++)
        if (is_good(model, &model->measurements[i]))
            fitting->samples[fitting->n++] =
                (struct sample){.m = &model->measurements[i],
                                .shape = cost_shape(model, model->measurements[i].x),
                                .bytes = model->measurements[i].x[model->n_variables - 1]};
    if (status == ESP_OK && fitting->n < FIT_LEAST_MEASUREMENTS)
        status = error_set(error, ESP_INVALID, "%s: expected at least %d good measurements, found %d",
                           model->problem, FIT_LEAST_MEASUREMENTS, fitting->n);
    if (status == ESP_OK) {
        fitting->model = model;
        fit_make_families(fitting);
        set_ranges(model, fitting);
        status = fit_curves(model, fitting, arena, error);
    }
    if (fitting) {
        free(fitting->samples);
        free(fitting->A);
        free(fitting->b);
        free(fitting->weights);
    }
    free(fitting);
    return status;
}
