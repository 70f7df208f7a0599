/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks master agents whether any server can hold a call, before a large call reads or makes its arrays.
 */
#ifndef CLIENT_ROOM_H
#define CLIENT_ROOM_H

#include "client/arguments/invocation.h"

/* Scalars and shapes are indexed as in the description. Returns ESP_NO_SERVER if every server that solves
 * the problem has less memory than the call takes; the text names one of them. Returns ESP_OK if some
 * server may hold the call, if the call is small, if no agent answers (the call itself will report that),
 * or if `room` is NULL. */
enum esp_status room_check(const struct room *room, const struct function *function,
                           const struct number *scope, const struct shape *shapes, struct esp_error *error);

#endif
