/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/bound_forecast.h"
#include "command/constraints.h"
#include "client/session/forecast.h"

void bound_forecast_ask(struct bound_forecast *forecast, const struct command_line *command, bool wanted,
                        const char *problem, const struct esp_argument *arguments, size_t n_arguments)
{
    *forecast = (struct bound_forecast){0};
    if (wanted && constraints_bound(command) &&
        fast_forecast_arguments(problem, arguments, n_arguments, NULL, &forecast->servers, &forecast->n) !=
            ESP_OK)
        forecast->why = *esp_last_error();
}

void bound_forecast_tell(struct bound_forecast *forecast, struct esp_session_info *info)
{
    if (forecast->servers)
        forecast_tell(forecast->servers, forecast->n, info, &forecast->why);
}

void bound_forecast_clear(struct bound_forecast *forecast)
{
    fast_forecast_free(forecast->servers);
    *forecast = (struct bound_forecast){0};
}
