/* SPDX-License-Identifier: Apache-2.0 */
#include "core/reply.h"

void reply_encode(struct memory_wire *body, enum message_kind request, struct message *reply, size_t cap)
{
    enum message_kind kind = message_reply_kind(request);
    memory_wire_encoder(body, cap);
    if (reply && reply->kind == kind && wire_message(&body->wire, reply))
        return;
    struct esp_error error = body->wire.error;
    if (!reply)
        error_set(&error, ESP_NO_MEMORY, "out of memory for the answer");
    else if (reply->kind != kind)
        error_set(&error, ESP_INTERNAL, "a %s was answered with a %s", message_name(request),
                  message_name(reply->kind));
    struct message failure = {.kind = kind};
    failure.outcome = (struct outcome){error.status, error.text};
    memory_wire_release(body);
    memory_wire_encoder(body, MESSAGE_BYTES);
    wire_message(&body->wire, &failure);
}
