/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as any message: no crash, no memory beyond what the input can hold, and what is accepted is
 * encoded again to what is accepted.
 */
#include "tests/fuzz/replay.h"
#include "core/message/batch.h"

#include <stdlib.h>

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void try_post(const uint8_t *data, size_t size)
{
    struct memory_wire in;
    struct post post;
    memory_wire_decoder(&in, data, size, NULL);
    wire_post(&in.wire, &post);
    check(post.arena.total < 4096 + 64 * size);
    post_clear(&post);
}

static void try_message(enum message_kind kind, const uint8_t *data, size_t size)
{
    struct message message = {.kind = kind}, again = {.kind = kind};
    struct memory_wire in, out, back;
    memory_wire_decoder(&in, data, size, &message.arena);
    bool taken = wire_message(&in.wire, &message);
    check(message.arena.total < 4096 + 64 * size);
    if (taken) {
        memory_wire_encoder(&out, 2 * (size_t)MESSAGE_BYTES);
        check(wire_message(&out.wire, &message));
        memory_wire_decoder(&back, out.data, out.size, &again.arena);
        check(wire_message(&back.wire, &again));
        memory_wire_release(&out);
        message_clear(&again);
    }
    message_clear(&message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    /* The bytes behind the first: aligned, as the body of a request is. */
    uint8_t *body = malloc(size);
    if (!body)
        return 0;
    for (size_t i = 1; i < size; i++)
        body[i - 1] = data[i];
    if (data[0] == 0)
        try_post(body, size - 1);
    else
        try_message((enum message_kind)data[0], body, size - 1);
    free(body);
    return 0;
}
