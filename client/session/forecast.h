/* SPDX-License-Identifier: Apache-2.0
 *
 * Forecasts of master agents: what they are told of a call, and their answers as a list of servers.
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

/* What agents are told of a call with these scalars and shapes, by the description's index. */
enum esp_status forecast_request(const struct function *function, const struct number *scope,
                                 const struct shape *shapes, struct arena *arena, struct request *request,
                                 struct esp_error *error);

/* A session that was bound to a server has ended: what was forecast for that one, which the session names by
 * its name or by its address, goes into its info. False, with the reason in `why` (may be NULL): nothing was.
 */
bool forecast_tell(const struct fast_server *servers, size_t n, struct esp_session_info *info,
                   struct esp_error *why);

/* Of a submit whose request is complete but for its constraints, which come from `options` (NULL: none). */
enum esp_status forecast_ask(struct engine *engine, struct message *submit,
                             const struct esp_call_options *options, enum forecast_reach reach,
                             struct fast_server **servers, size_t *n, struct esp_error *error);

#endif
