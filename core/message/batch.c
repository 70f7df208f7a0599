/* SPDX-License-Identifier: Apache-2.0 */
#include "core/message/batch.h"

#include <string.h>

enum esp_status batch_begin(struct batch *batch, const struct envelope *envelope, size_t cap,
                            struct esp_error *error)
{
    *batch = (struct batch){.to_incarnation = envelope->to_incarnation};
    memory_wire_encoder(&batch->memory, cap);
    struct wire *wire = &batch->memory.wire;
    struct envelope copy = *envelope;
    uint32_t none = 0;
    if (wire_envelope(wire, &copy) && wire_u32(wire, &none, "count")) {
        batch->count_at = batch->memory.size - sizeof none;
        return ESP_OK;
    }
    if (error)
        *error = wire->error;
    enum esp_status status = wire->error.status;
    batch_release(batch);
    return status;
}

enum esp_status batch_add(struct batch *batch, const struct message *message, struct esp_error *error)
{
    if (message->kind == MESSAGE_NONE || message->kind > MESSAGE_LAST_ONE_WAY)
        return error_set(error, ESP_INVALID, "a %s cannot be posted", message_name(message->kind));
    if (batch->count == CAP_MESSAGES)
        return error_set(error, ESP_LIMIT, "at most %d messages in one post", CAP_MESSAGES);
    struct wire *wire = &batch->memory.wire;
    size_t before = batch->memory.size;
    if (!wire_one_way(wire, (struct message *)message)) { /* encoding leaves the message as it is */
        enum esp_status status = wire->error.status;
        if (error)
            *error = wire->error;
        wire->error.status = ESP_OK;
        batch->memory.size = before;
        return status;
    }
    batch->count++;
    memcpy(batch->memory.data + batch->count_at, &batch->count, sizeof batch->count);
    return ESP_OK;
}

void batch_release(struct batch *batch)
{
    memory_wire_release(&batch->memory);
}

static bool wire_post_items(struct wire *wire, struct post *post)
{
    struct post_item **end = &post->items;
    for (uint32_t i = 0; i < post->n; i++) {
        /* Allocate one item at a time, so that a false count takes no memory. */
        struct post_item *item = arena_alloc(&post->arena, sizeof *item);
        if (!item)
            return wire_fail(wire, ESP_NO_MEMORY, "out of memory for message %u of %u", i + 1, post->n);
        if (!wire_one_way(wire, &item->message))
            return false;
        *end = item;
        end = &item->next;
    }
    return true;
}

bool wire_post(struct wire *wire, struct post *post)
{
    *post = (struct post){0};
    wire->arena = &post->arena;
    if (!wire_envelope(wire, &post->envelope) || !wire_u32(wire, &post->n, "count"))
        return false;
    if (post->n > CAP_MESSAGES)
        return wire_fail(wire, ESP_PROTOCOL, "at most %d messages in one post, found %u", CAP_MESSAGES,
                         post->n);
    return wire_post_items(wire, post);
}

void post_clear(struct post *post)
{
    arena_clear(&post->arena);
    *post = (struct post){0};
}
