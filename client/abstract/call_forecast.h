/* SPDX-License-Identifier: Apache-2.0
 *
 * Forecasts of a call that is given by the values of its scalars, or by its arguments (fast.h).
 */
#ifndef CLIENT_CALL_FORECAST_H
#define CLIENT_CALL_FORECAST_H

#include "client/session/forecast.h"

/* fast_forecast_within() and fast_forecast_arguments(), for the master agents within `reach`. *servers is
 * for fast_forecast_free(). Called between initialize and finalize; any thread. `fills` (NULL: unknown)
 * has the fill of compressed matrices, by the arguments' indices, as fill_number() makes it. */
enum esp_status forecast_of_sizes(const struct fast_call *call, const struct number *fills,
                                  const struct esp_call_options *options, enum forecast_reach reach,
                                  struct fast_server **servers, size_t *n, struct esp_error *error);
enum esp_status forecast_of_arguments(const char *problem, const struct esp_argument *arguments,
                                      size_t n_arguments, const struct esp_call_options *options,
                                      enum forecast_reach reach, struct fast_server **servers, size_t *n,
                                      struct esp_error *error);

/* Finds the argument of that value. Returns ESP_INVALID if it is no scalar input of the problem; the text
 * lists these, and the closest name. */
enum esp_status forecast_check_size(const struct problem *problem, const struct fast_value *value, int *index,
                                    struct esp_error *error);

/* The scalar input of that name, or the one with the closest name; NULL: none is close. */
const char *forecast_near_size(const struct problem *problem, const char *name);

#endif
