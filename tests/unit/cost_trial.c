/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cost_trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double noise(struct cost_trial *f, double relative)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += random_real(&f->random);
    return 1 + relative * (sum - 6);
}

void cost_trial_begin(struct cost_trial *f, const char *file, const char *name, uint64_t seed)
{
    char path[4096];
    const char *source = getenv("top_srcdir"), *paths[] = {path};
    memset(f, 0, sizeof *f);
    random_seed(&f->random, seed);
    snprintf(path, sizeof path, "%s/problems/%s", source ? source : "..", file);
    if (problem_load_all(paths, 1, &f->set, &f->error) != ESP_OK)
        fail_msg("%s", f->error.text);
    const struct problem *problem = problem_find(f->set, name);
    if (!problem || design_begin(problem, &f->design, &f->error) != ESP_OK ||
        design_model(&f->design, 0, &problem->implementations[0], "here", 1, &f->arena, &f->model,
                     &f->error) != ESP_OK)
        fail_msg("%s", f->error.text);
    f->model.measurements = f->measurements;
}

void cost_trial_end(struct cost_trial *f)
{
    arena_clear(&f->arena);
    problem_set_destroy(f->set);
}

void cost_trial_calibrate(struct cost_trial *f, cost_of *cost, uint32_t sizes)
{
    const struct design_limits limits = {
        .least_s = 5e-6, .most_s = 1, .bytes = 1e9, .speed_flops = 1e10, .call_s = 2e-5};
    for (uint32_t i = 0; i < sizes; i++) {
        struct design_point point = {.x = {0}};
        assert_true(design_next(&f->design, 0, i, &limits, &f->random, &point));
        struct cost_measurement *m = &f->measurements[f->model.n_measurements++];
        *m = (struct cost_measurement){.seconds = cost(point.x[0], point.x[1]) * noise(f, 0.01),
                                       .repetitions = 3};
        memcpy(m->x, point.x, sizeof m->x);
    }
    if (fit_model(&f->model, &f->arena, &f->error) != ESP_OK)
        fail_msg("%s", f->error.text);
}

bool cost_trial_error(struct cost_trial *f, cost_of *cost, const int64_t *sizes, double *error)
{
    struct design_point point = {.x = {0}};
    const double seconds = cost((double)sizes[0], (double)sizes[1]);
    if (seconds < 0.01 || seconds > 1 || !design_at(&f->design, 0, sizes, &point))
        return false;
    *error = fabs(cost_curve_value(&f->model, &f->model.time, point.x, NULL) / seconds - 1);
    return true;
}

void cost_trial_same_curve(const struct cost_model *a, const struct cost_model *b, struct random *random)
{
    for (int i = 0; i < 200; i++) {
        const double m = floor(exp(8 * random_real(random))), n = floor(exp(8 * random_real(random)));
        const double x[COST_MOST_VARIABLES] = {m, n, fmin(m, n), 20 * m * n * fmin(m, n), 24 * m * n};
        assert_true(cost_curve_value(a, &a->time, x, NULL) == cost_curve_value(b, &b->time, x, NULL));
    }
}
