/* SPDX-License-Identifier: Apache-2.0
 *
 * The forecast of a call that is bound to a server (--server): no agent chooses for it, so nobody tells it by
 * itself.
 */
#ifndef COMMAND_BOUND_FORECAST_H
#define COMMAND_BOUND_FORECAST_H

#include "command/command.h"
#include "fast.h"

/* All-zero: nothing was asked. */
struct bound_forecast {
    struct fast_server *servers; /* all that the agents tell of: the call's may be named by its address */
    size_t n;
    struct esp_error why; /* nothing is known */
};

/* Asks the agents what the call would take, if it is bound and `wanted`. Before the call. That it is not
 * known is no failure. */
void bound_forecast_ask(struct bound_forecast *forecast, const struct command_line *command, bool wanted,
                        const char *problem, const struct esp_argument *arguments, size_t n_arguments);
/* The session has ended: what was forecast for its server goes into its info, or `why` tells that nothing is
 * known. */
void bound_forecast_tell(struct bound_forecast *forecast, struct esp_session_info *info);
void bound_forecast_clear(struct bound_forecast *forecast);

#endif
