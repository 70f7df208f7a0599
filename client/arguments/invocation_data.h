/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of an invocation that live on servers, and results that stay there.
 */
#ifndef CLIENT_INVOCATION_DATA_H
#define CLIENT_INVOCATION_DATA_H

#include "client/arguments/invocation.h"

/* Takes `datum` and `kept` of a vector's argument. ESP_INVALID: it cannot be one. */
enum esp_status invocation_take_data(struct value *value, const struct argument *argument,
                                     const struct esp_argument *given, struct esp_error *error);
/* Takes `stays`, after that. ESP_INVALID: no mode; an abstract problem. */
enum esp_status invocation_take_stays(struct value *value, const struct problem *problem,
                                      const struct esp_argument *given, struct esp_error *error);
/* Whether one of its arguments is a datum. */
bool invocation_takes_data(const struct invocation *invocation);
/* Whether finding one ended so because nobody who has it is there. */
bool invocation_lost_datum(enum esp_status status);
/* Says in the call which results stay. */
enum esp_status invocation_say_kept(const struct invocation *invocation, struct message *call,
                                    struct esp_error *error);
/* Of a report of a session that is done: the ends of results that stay. */
void invocation_take_edges(struct invocation *invocation, const struct extensions *extensions);
/* The identity of a result that stayed. ESP_PROTOCOL. */
enum esp_status invocation_take_identity(struct value *value, const struct argument *argument,
                                         const struct call_result *result, struct esp_error *error);

#endif
