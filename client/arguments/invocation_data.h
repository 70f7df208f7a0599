/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of an invocation that live on servers, and results that stay there.
 */
#ifndef CLIENT_INVOCATION_DATA_H
#define CLIENT_INVOCATION_DATA_H

#include "client/session/engine.h"
#include "client/arguments/invocation.h"

/* Takes `datum` and `kept` of a vector's argument. ESP_INVALID: it cannot be one. */
enum esp_status invocation_take_data(struct value *value, const struct argument *argument,
                                     const struct esp_argument *given, struct esp_error *error);
/* Takes `stays`, after that. ESP_INVALID: no mode; an abstract problem. */
enum esp_status invocation_take_stays(struct value *value, const struct problem *problem,
                                      const struct esp_argument *given, struct esp_error *error);
/* Whether one of its arguments is a datum. */
bool invocation_takes_data(const struct invocation *invocation);
/* Finds out who has the data: servers that do not are told where to fetch them. ESP_NOT_FOUND. The session's
 * time begins with that, and is over then (session_until_ns()). */
enum esp_status invocation_find_data(struct invocation *invocation, struct engine *engine, int64_t until_ns,
                                     struct esp_error *error);
/* Whether finding one ended so because nobody who has it is there. */
bool invocation_lost_datum(enum esp_status status);
/* The server that was given the call says that one of its data is nowhere: those of a sequence are looked for
 * again, and computed again if need be. ESP_NOT_FOUND: the call takes none of a sequence, or one cannot be
 * had. May block. */
enum esp_status invocation_find_again(struct invocation *invocation, struct engine *engine,
                                      struct esp_error *error);
/* Of the one: its holders' addresses go behind its identity. */
enum esp_status invocation_find_datum(struct engine *engine, struct value *value, struct esp_error *error);
/* Says in the call which results stay. */
enum esp_status invocation_say_kept(const struct invocation *invocation, struct message *call,
                                    struct esp_error *error);
/* Of a report of a session that is done: the ends of results that stay. */
void invocation_take_edges(struct invocation *invocation, const struct extensions *extensions);
/* The identity of a result that stayed. ESP_PROTOCOL. */
enum esp_status invocation_take_identity(struct value *value, const struct argument *argument,
                                         const struct call_result *result, struct esp_error *error);

#endif
