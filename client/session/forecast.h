/* SPDX-License-Identifier: Apache-2.0
 *
 * Forecasts: the request to master agents for a call, and their answers as a list of servers.
 */
#ifndef CLIENT_FORECAST_H
#define CLIENT_FORECAST_H

#include "core/message/message.h"
#include "core/problem/problem.h"
#include "fast.h"

struct arena;
struct engine;
struct function;
struct problem;

enum forecast_reach {
    FORECAST_NEAR, /* the master agent that a call would go to */
    FORECAST_ALL   /* all of them, that one first */
};

/* Makes the request for a call with these scalars and shapes, which are indexed as in the description. Its
 * arrays lie in `arena`. */
enum esp_status forecast_request(const struct function *function, const struct number *scope,
                                 const struct shape *shapes, struct arena *arena, struct request *request,
                                 struct esp_error *error);

/* After a session that was bound to a server: writes the forecast for that server into the session's info,
 * which names the server by its name or address. Returns false if there is none, with the reason in `why`
 * (may be NULL).
 */
bool forecast_tell(const struct fast_server *servers, size_t n, struct esp_session_info *info,
                   struct esp_error *why);

/* Asks master agents with a MESSAGE_SUBMIT. Its request is complete except for the constraints, which come
 * from `options` (NULL: none). The caller frees *servers with fast_forecast_free(). */
enum esp_status forecast_ask(struct engine *engine, struct message *submit,
                             const struct esp_call_options *options, enum forecast_reach reach,
                             struct fast_server **servers, size_t *n, struct esp_error *error);

#endif
