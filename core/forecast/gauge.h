/* SPDX-License-Identifier: Apache-2.0
 *
 * A quantity that is measured repeatedly: the battery of predictors over it, and its last values for
 * listings of the weather. One thread at a time. */
#ifndef CORE_GAUGE_H
#define CORE_GAUGE_H

#include "core/forecast/outlook.h"
#include "core/forecast/predictor.h"

struct gauge;

/* The mean of `per_value` measurements (1 or more) becomes one value in listings. ESP_NO_MEMORY. */
enum esp_status gauge_create(unsigned per_value, struct gauge **gauge, struct esp_error *error);
void gauge_destroy(struct gauge *gauge); /* NULL is ignored */

/* Adds a measurement taken at `time_s` (since 1970). Ignored when it is not finite. */
void gauge_add(struct gauge *gauge, double value, int64_t time_s);
/* Forecasts like predictor_forecast(). */
bool gauge_forecast(const struct gauge *gauge, unsigned ahead, struct prediction *prediction);
/* Fills the last value and the forecast `ahead` measurements ahead, at `now_s`; the caller sets resource,
 * from, to and step_s. False before the first measurement. */
bool gauge_outlook(const struct gauge *gauge, unsigned ahead, int64_t now_s, struct outlook *outlook);

#endif
