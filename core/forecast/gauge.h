/* SPDX-License-Identifier: Apache-2.0
 *
 * One figure that is measured again and again: the battery of predictors over it, and its last values for
 * whoever looks at the weather. One thread at a time.
 */
#ifndef CORE_GAUGE_H
#define CORE_GAUGE_H

#include "core/forecast/outlook.h"
#include "core/forecast/predictor.h"

struct gauge;

/* `per_value` measurements (1 and more) become one value of what is shown, their mean. ESP_NO_MEMORY. */
enum esp_status gauge_create(unsigned per_value, struct gauge **gauge, struct esp_error *error);
void gauge_destroy(struct gauge *gauge); /* NULL is nothing to do */

/* The next measurement, taken at `time_s` (since 1970). What is not finite is passed over. */
void gauge_add(struct gauge *gauge, double value, int64_t time_s);
/* As predictor_forecast(). */
bool gauge_forecast(const struct gauge *gauge, unsigned ahead, struct prediction *prediction);
/* What it says `ahead` measurements ahead, at `now_s`; resource, from, to and step_s are the caller's. False
 * before the first measurement. */
bool gauge_outlook(const struct gauge *gauge, unsigned ahead, int64_t now_s, struct outlook *outlook);

#endif
