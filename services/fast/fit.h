/* SPDX-License-Identifier: Apache-2.0
 *
 * From measurements to cost curves: weighted linear least squares (LAPACK's dgels), relative error minimised.
 * Which powers and how many pieces is decided by the error on measurements that were not used: every third
 * one. Coefficients are kept from being negative (Lawson and Hanson, Solving Least Squares Problems, 1974,
 * chapter 23) unless both signs do clearly better.
 */
#ifndef SERVICES_FAST_FIT_H
#define SERVICES_FAST_FIT_H

#include "core/forecast/cost_model.h"

/* Fewer measurements than this make no model. */
#define FIT_LEAST_MEASUREMENTS 6

/* Fits model->time and model->memory to model->measurements, and sets the ranges of the variables, the floor
 * and the factor. What the curves point to lies in `arena`. The variables (the last one COST_BYTES) and the
 * measurements are there. Measurements that are absurd (not finite, not above 0) are passed over.
 * ESP_INVALID: too few of them; ESP_NO_MEMORY. One thread at a time: LAPACK has its own. */
enum esp_status fit_model(struct cost_model *model, struct arena *arena, struct esp_error *error);

/* Measures the size of *m once more, now. ESP_LIMIT: there is no time left for more; other errors end it all.
 */
typedef enum esp_status fit_visit(void *arg, const struct cost_measurement *m, struct cost_measurement *visit,
                                  struct esp_error *error);
/* The model is fitted: visits the sizes again that took clearly longer, or shorter, than it expects, up to
 * twelve of them, once, and once more where both visits differ; puts the median of the visits in the place of
 * what was measured, and fits the model again where that changes something. Its expected error knows how far
 * the visits were apart. Errors as those of `visit` and
 * fit_model(). */
enum esp_status fit_again(struct cost_model *model, fit_visit *visit, void *arg, struct arena *arena,
                          struct esp_error *error);

/* min ||D (A c - b)|| over c, `rows` x `columns` column-major, D the weights; c >= 0 unless `any_sign`.
 * False when LAPACK finds no solution, or without memory. */
bool fit_least_squares(const double *A, const double *b, const double *weights, int rows, int columns,
                       bool any_sign, double *c);

#endif
