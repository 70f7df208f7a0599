/* SPDX-License-Identifier: Apache-2.0
 *
 * Forecasts inside the library: which master agents are asked, and what their answers become.
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

/* As fast_forecast_within() and fast_forecast_arguments() have it; *servers is for fast_forecast_free().
 * Between initialize and finalize; any thread. */
/* `fills` (NULL: nothing is known) has what is known of compressed matrices, by the arguments' indices, as
 * fill_number() makes it. */
enum esp_status forecast_of_sizes(const struct fast_call *call, const struct number *fills,
                                  const struct esp_call_options *options, enum forecast_reach reach,
                                  struct fast_server **servers, size_t *n, struct esp_error *error);
enum esp_status forecast_of_arguments(const char *problem, const struct esp_argument *arguments,
                                      size_t n_arguments, const struct esp_call_options *options,
                                      enum forecast_reach reach, struct fast_server **servers, size_t *n,
                                      struct esp_error *error);

/* What agents are told of a call with these scalars and shapes, by the description's index. */
enum esp_status forecast_request(const struct function *function, const struct number *scope,
                                 const struct shape *shapes, struct arena *arena, struct request *request,
                                 struct esp_error *error);

/* Which argument that value is of. ESP_INVALID: of no scalar input of the problem; which ones there are, and
 * the nearest. */
enum esp_status forecast_check_size(const struct problem *problem, const struct fast_value *value, int *index,
                                    struct esp_error *error);

/* The scalar input of that name, or the one that was probably meant by it; NULL: none is near. */
const char *forecast_near_size(const struct problem *problem, const char *name);

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
