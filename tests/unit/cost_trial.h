/* SPDX-License-Identifier: Apache-2.0
 *
 * Calibrations of routines for rectangular matrices, as if there were a machine: what a call takes is given
 * as a function of its sides.
 */
#ifndef TESTS_COST_TRIAL_H
#define TESTS_COST_TRIAL_H

#include "tests/unit/unit.h"
#include "services/fast/design.h"
#include "services/fast/fit.h"

#define COST_TRIAL_MEASURED 150

struct cost_trial {
    struct problem_set *set;
    struct design design;
    struct cost_model model;
    struct cost_measurement measurements[COST_TRIAL_MEASURED];
    struct arena arena;
    struct random random;
    struct esp_error error;
};

/* Duration of a call. */
typedef double cost_of(double m, double n);

/* The first class of options of the problem, of a file below problems/. */
void cost_trial_begin(struct cost_trial *f, const char *file, const char *problem, uint64_t seed);
void cost_trial_end(struct cost_trial *f);
/* This many sizes, at most COST_TRIAL_MEASURED, that a calibration of calls up to a second tries first,
 * each off by a percent or so. */
void cost_trial_calibrate(struct cost_trial *f, cost_of *cost, uint32_t sizes);
/* The error of what is forecast for a call of these sizes. False: it is none, or not of 10 ms to a second. */
bool cost_trial_error(struct cost_trial *f, cost_of *cost, const int64_t *sizes, double *error);
/* Fails if the two forecasts of a call differ. */
void cost_trial_same_curve(const struct cost_model *a, const struct cost_model *b, struct random *random);

#endif
