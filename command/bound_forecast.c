/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/bound_forecast.h"
#include "command/constraints.h"

#include <string.h>

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
    const struct fast_server *server = forecast->servers, *end = server + forecast->n;
    if (!server)
        return;
    while (server < end && strcmp(server->server, info->server) != 0 &&
           strcmp(server->address, info->server) != 0)
        server++;
    if (server == end) {
        error_set(&forecast->why, ESP_NOT_FOUND, "no agent knows it");
    } else if (server->excluded) {
        error_set(&forecast->why, ESP_NO_SERVER, "it is excluded: %s", server->excluded);
    } else {
        info->forecast_s = server->total_s;
        info->forecast_compute_s = server->compute_s;
        info->forecast_error_s = server->error_s;
    }
}

void bound_forecast_clear(struct bound_forecast *forecast)
{
    fast_forecast_free(forecast->servers);
    *forecast = (struct bound_forecast){0};
}
