/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments whose arrays also live, or are to stay, on servers: data of grpc_data.h, and arrays of a
 * sequence.
 */
#ifndef CLIENT_INVOCATION_HOLD_H
#define CLIENT_INVOCATION_HOLD_H

#include "client/session/engine.h"
#include "client/arguments/invocation.h"

/* While arguments are gathered: whether the pointer is that of a grpc_data_t (*is_data), whose value is then
 * what goes in, and to which what comes out goes. ESP_INVALID: it does not fit the argument. */
enum esp_status hold_take_data(struct value *value, const struct argument *argument, void *given,
                               bool *is_data, struct esp_error *error);
/* When all are gathered: the call takes its place in the order of those that make and take values of data. */
void hold_enter(struct invocation *invocation);
/* When its bytes are known: whether data fit, and what goes in of it belongs to the thread's sequence. May
 * block. */
enum esp_status hold_check(struct value *value, const struct problem *problem, const struct number *scope,
                           const struct shape *shape, struct esp_error *error);
/* The same of an array of strings, when it is packed as it travels. */
enum esp_status hold_check_strings(struct value *value, const struct problem *problem,
                                   const struct number *scope, const struct shape *shape,
                                   struct esp_error *error);
/* The same of what comes out, behind that of all values: a result may take the place of what goes in. */
enum esp_status hold_check_result(struct value *value, const struct problem *problem,
                                  const struct number *scope, const struct shape *shape,
                                  struct esp_error *error);
/* An array that goes in is the holding's value, and is to stay where it goes; before the call begins. */
enum esp_status hold_array(struct value *value, struct holding *holding, const struct datum_shape *shape,
                           struct esp_error *error);
/* The call is to be a job, whose results somebody else takes. ESP_INVALID: data cannot stay so. */
enum esp_status hold_for_job(struct invocation *invocation, struct esp_error *error);

/* A server takes the call next: what is to stay there is put there, unless it is on servers already.
 * ESP_REFUSED and others: it is no server for this call. `server` may be an address. */
enum esp_status hold_leave(struct invocation *invocation, struct engine *engine, const char *server,
                           const char *address, struct esp_error *error);

/* No server has the memory for what a sequence would leave there: its results are to come to the program's
 * memory, and what is in that is sent (invocation.c). False: there is nothing of the kind. */
bool hold_bring_home(struct invocation *invocation);

/* The results of that server are there: tells those that stayed, puts strings that are to, and fetches those
 * that are wanted as well. Blocks. */
enum esp_status hold_results(struct invocation *invocation, struct engine *engine, const char *server,
                             const char *address, struct esp_error *error);
/* The same of an abstract problem's: some have stayed, others that are to were made here (`received`), and
 * are put on that server. */
enum esp_status hold_put_results(struct invocation *invocation, struct engine *engine, const char *server,
                                 struct esp_error *error);
/* All that is used, with the invocation. */
void hold_release(struct value *value);

#endif
