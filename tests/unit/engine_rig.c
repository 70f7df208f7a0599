/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "tests/unit/engine_rig.h"

int engine_rig_begin(struct engine_rig *rig, const struct transport_ops *ops, struct engine_options options)
{
    manual_clock_init(&rig->now, NS_PER_S);
    rig->transport = (struct transport){ops, &rig->now.clock};
    options.transport = &rig->transport;
    return engine_create(&options, &rig->engine, NULL) == ESP_OK ? 0 : -1;
}

void engine_rig_end(struct engine_rig *rig)
{
    engine_destroy(rig->engine);
}

enum esp_status engine_rig_silence(struct engine_rig *rig, const char *address, const struct message *request,
                                   int64_t timeout_ms, struct message *reply, struct esp_error *error)
{
    rig->now.time_ns += timeout_ms * NS_PER_MS;
    memset(reply, 0, sizeof *reply);
    return error_set(error, ESP_TIMEOUT, "%s: %s: no answer in time", address, message_name(request->kind));
}
