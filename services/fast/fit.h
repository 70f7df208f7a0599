/* SPDX-License-Identifier: Apache-2.0
 *
 * Fits cost curves to measurements: weighted linear least squares (LAPACK's dgels), minimising the
 * relative error. The error on held-out measurements (every third one) decides which powers and how many
 * pieces are used. Coefficients are non-negative (Lawson and Hanson, Solving Least Squares Problems, 1974,
 * chapter 23) unless both signs are clearly better. */
#ifndef SERVICES_FAST_FIT_H
#define SERVICES_FAST_FIT_H

#include "core/forecast/cost_model.h"

/* Least measurements for a model. */
#define FIT_LEAST_MEASUREMENTS 6

/* Fits model->time and model->memory to model->measurements, and sets the ranges of the variables, the
 * lower bound and the factor. Pointers of the curves lead into `arena`. The variables (the last one
 * COST_BYTES) and the measurements are set. Implausible measurements (not finite, not above 0) are
 * skipped. ESP_INVALID: too few of them; ESP_NO_MEMORY. One thread at a time, because LAPACK has its own
 * threads. */
enum esp_status fit_model(struct cost_model *model, struct arena *arena, struct esp_error *error);

/* Measures the size of *m again, now. ESP_LIMIT: no time is left; other errors end everything. */
typedef enum esp_status fit_visit(void *arg, const struct cost_measurement *m, struct cost_measurement *visit,
                                  struct esp_error *error);
/* The model is fitted: measures sizes again that took clearly longer, or shorter, than it expects, up to
 * twelve of them, once, and a third time if both visits differ. Replaces the measurement by the median of
 * the visits, and fits the model again if that changes it. Its expected error includes the spread of the
 * visits. Errors as for `visit` and fit_model(). */
enum esp_status fit_again(struct cost_model *model, fit_visit *visit, void *arg, struct arena *arena,
                          struct esp_error *error);

/* Computes min ||D (A c - b)|| over c, `rows` x `columns` column-major, D the weights; c >= 0 unless
 * `any_sign`. False when LAPACK finds no solution, or without memory. */
bool fit_least_squares(const double *A, const double *b, const double *weights, int rows, int columns,
                       bool any_sign, double *c);

#endif
