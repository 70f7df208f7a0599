/* SPDX-License-Identifier: Apache-2.0
 *
 * The Network Weather Service's battery of predictors (Wolski, Dynamically Forecasting Network Performance
 * Using the Network Weather Service, 1998). All of them run on one series of measurements. The one with
 * the least error so far at the requested horizon gives the forecast, with its error.
 *
 * Pure data; one thread at a time. Costs a few microseconds a measurement and about 8 KiB a series. */
#ifndef CORE_PREDICTOR_H
#define CORE_PREDICTOR_H

#include "util/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct predictor;

/* The horizons, in measurements, for which errors are recorded. */
#define PREDICTOR_HORIZONS 4
extern const unsigned predictor_horizons[PREDICTOR_HORIZONS]; /* 1, 2, 5, 10 */

struct prediction {
    double value;           /* from the member with the least mean absolute error */
    double error;           /* that error */
    double value_by_square; /* from the member with the least mean square error */
    double error_by_square; /* root of that error */
    const char *method, *method_by_square;
    uint64_t n; /* number of measurements */
};

enum esp_status predictor_create(struct predictor **predictor, struct esp_error *error);
void predictor_destroy(struct predictor *predictor); /* NULL is ignored */

/* Adds a measurement. If it is not finite, ignores it and returns false. */
bool predictor_add(struct predictor *predictor, double value);

/* Forecasts the value that many measurements ahead (0 and 1: the next one). Errors are those of the
 * nearest horizon that is not shorter, else of the longest. False before the first measurement. */
bool predictor_forecast(const struct predictor *predictor, unsigned ahead, struct prediction *prediction);

/* The members, for tables and tests: their number, their names, the present forecast of member `i`, and
 * its mean absolute error at horizon number `horizon`. */
size_t predictor_members(void);
const char *predictor_member_name(size_t i);
double predictor_member_value(const struct predictor *predictor, size_t i);
double predictor_member_error(const struct predictor *predictor, size_t i, size_t horizon);

#endif
