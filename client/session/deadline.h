/* SPDX-License-Identifier: Apache-2.0
 *
 * When what a thread does has to be over. To find out what is to be called, agents, redirectors and servers
 * are asked for one thing after the other, from many places: none of them is waited for beyond that time. One
 * per thread, on the engine's clock; sessions have their own.
 */
#ifndef CLIENT_DEADLINE_H
#define CLIENT_DEADLINE_H

#include "core/transport.h"

struct clock;

/* From now on, unless it is earlier already; CLOCK_NEVER changes nothing. Returns what deadline_end() takes.
 */
int64_t deadline_begin(int64_t until_ns);
void deadline_end(int64_t before_ns);
/* `ms`, or what is left when that is less; 0: it is over. */
int64_t deadline_left_ms(const struct clock *clock, int64_t ms);
/* transport_call() within that; ESP_TIMEOUT without a word to anybody when it is over. */
enum esp_status deadline_call(struct transport *transport, const char *address, const struct message *request,
                              int64_t ms, struct message *reply, struct esp_error *error);

#endif
