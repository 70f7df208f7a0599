/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments that are data by identity, and results that stay on servers, in messages.
 */
#ifndef CLIENT_INVOCATION_DATA_H
#define CLIENT_INVOCATION_DATA_H

#include "client/arguments/invocation.h"

/* Takes `datum` and `kept` of a vector's argument. Returns ESP_INVALID if the argument cannot be a datum,
 * or cannot stay as one. */
enum esp_status invocation_take_data(struct value *value, const struct argument *argument,
                                     const struct esp_argument *given, struct esp_error *error);
/* Takes `stays` of a vector's argument, after invocation_take_data(). Returns ESP_INVALID if the mode is
 * unknown, or the problem is abstract. */
enum esp_status invocation_take_stays(struct value *value, const struct problem *problem,
                                      const struct esp_argument *given, struct esp_error *error);
/* Whether one of the call's arguments is a datum. */
bool invocation_takes_data(const struct invocation *invocation);
/* Whether that status of a search for a datum means that no server with it is reachable. */
bool invocation_lost_datum(enum esp_status status);
/* Writes into the call which results stay. */
enum esp_status invocation_say_kept(const struct invocation *invocation, struct message *call,
                                    struct esp_error *error);
/* Takes the ends of results that stay from the report of a finished session. */
void invocation_take_edges(struct invocation *invocation, const struct extensions *extensions);
/* Takes the identity of a result that stayed. Returns ESP_PROTOCOL on failure. */
enum esp_status invocation_take_identity(struct value *value, const struct argument *argument,
                                         const struct call_result *result, struct esp_error *error);

#endif
