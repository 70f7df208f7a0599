/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "client/command/bound_forecast.h"
#include "client/command/constraints.h"

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

bool bound_forecast_tell(struct bound_forecast *forecast, struct esp_session_info *info)
{
    for (size_t i = 0; i < forecast->n; i++) {
        const struct fast_server *server = &forecast->servers[i];
        /* Who named it by its address has it told by that. */
        if (strcmp(server->server, info->server) != 0 && strcmp(server->address, info->server) != 0)
            continue;
        if (server->excluded) {
            error_set(&forecast->why, ESP_NO_SERVER, "it is excluded: %s", server->excluded);
            return false;
        }
        info->forecast_s = server->total_s;
        info->forecast_compute_s = server->compute_s;
        info->forecast_error_s = server->error_s;
        return true;
    }
    if (forecast->n > 0)
        error_set(&forecast->why, ESP_NOT_FOUND, "no agent knows it");
    return false;
}

void bound_forecast_clear(struct bound_forecast *forecast)
{
    fast_forecast_free(forecast->servers);
    *forecast = (struct bound_forecast){0};
}
