/* SPDX-License-Identifier: Apache-2.0
 *
 * The Network Weather Service's battery of predictors (Wolski, Dynamically Forecasting Network Performance
 * Using the Network Weather Service, 1998): all of them run on one series of measurements, and whichever has
 * been off least, at the horizon that is asked for, tells the forecast, with its error.
 *
 * Pure data; one thread at a time. Costs a few microseconds a measurement and about 8 KiB a series.
 */
#ifndef CORE_PREDICTOR_H
#define CORE_PREDICTOR_H

#include "util/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct predictor;

/* How many measurements ahead errors are kept for. */
#define PREDICTOR_HORIZONS 4
extern const unsigned predictor_horizons[PREDICTOR_HORIZONS]; /* 1, 2, 5, 10 */

struct prediction {
    double value;           /* of the member with the least mean absolute error */
    double error;           /* that error */
    double value_by_square; /* of the member with the least mean square error */
    double error_by_square; /* the root of that */
    const char *method, *method_by_square;
    uint64_t n; /* measurements behind it */
};

enum esp_status predictor_create(struct predictor **predictor, struct esp_error *error);
void predictor_destroy(struct predictor *predictor); /* NULL is nothing to do */

/* The next measurement. What is not finite is passed over, and false returned. */
bool predictor_add(struct predictor *predictor, double value);

/* The forecast for so many measurements ahead (0 and 1: the next one; errors are those of the nearest horizon
 * that is not shorter, else of the longest). False before the first measurement. */
bool predictor_forecast(const struct predictor *predictor, unsigned ahead, struct prediction *prediction);

/* The members, for tables and tests: how many, their names, what member `i` says now, and its mean absolute
 * error at horizon number `horizon`. */
size_t predictor_members(void);
const char *predictor_member_name(size_t i);
double predictor_member_value(const struct predictor *predictor, size_t i);
double predictor_member_error(const struct predictor *predictor, size_t i, size_t horizon);

#endif
