/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine of the client library over nodes that a test plays by hand. A silent node takes all the time
 * that it is given, on a clock that only silent nodes move. */
#ifndef TESTS_ENGINE_RIG_H
#define TESTS_ENGINE_RIG_H

#include "client/session/engine.h"
#include "util/clock.h"

struct engine_rig {
    struct manual_clock now;
    struct transport transport;
    struct engine *engine;
};

/* `ops` are what the nodes answer; the transport of the options is the rig's. Returns what a set-up does. */
int engine_rig_begin(struct engine_rig *rig, const struct transport_ops *ops, struct engine_options options);
/* A tear-down, for engine_rig_begin(). */
void engine_rig_end(struct engine_rig *rig);
/* A silent node leaves a call with ESP_TIMEOUT, when the time is over. */
enum esp_status engine_rig_silence(struct engine_rig *rig, const char *address, const struct message *request,
                                   int64_t timeout_ms, struct message *reply, struct esp_error *error);

#endif
