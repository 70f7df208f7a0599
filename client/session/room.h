/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks master agents whether any server can hold a call, before a large call reads or makes its arrays.
 */
#ifndef CLIENT_ROOM_H
#define CLIENT_ROOM_H

#include "client/arguments/invocation.h"

/* Scalars and shapes are indexed as in the description. ESP_NO_SERVER: every server that solves the problem
 * has less memory than the call takes; the text names one of them. ESP_OK: some server may hold the call, the
 * call is small, or no agent answers, which the call itself will report. `room` NULL: ESP_OK. */
enum esp_status room_check(const struct room *room, const struct function *function,
                           const struct number *scope, const struct shape *shapes, struct esp_error *error);

#endif
