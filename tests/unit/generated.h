/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages with something in every field: a wire that makes up what it is asked for.
 */
#ifndef TESTS_GENERATED_H
#define TESTS_GENERATED_H

#include "core/message/message.h"
#include <stdio.h>
#include <string.h>

struct generator {
    struct wire wire;
    uint64_t state;
};

static inline uint64_t generator_next(struct generator *generator)
{
    generator->state = generator->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return generator->state >> 33;
}

/* Counts cannot be told from values of 32 bits: all are 2 or 3. A single octet is a boolean; several are a
 * string, or bytes that look like one. */
static inline bool generator_move(struct wire *wire, void *data, size_t size, size_t count)
{
    struct generator *generator = (struct generator *)wire;
    uint8_t *bytes = (uint8_t *)data;
    for (size_t i = 0; i < count; i++) {
        uint32_t small = 2 + (uint32_t)(generator_next(generator) % 2);
        double real = (double)generator_next(generator) / 1024;
        if (size == 8)
            memcpy(bytes + 8 * i, &real, 8);
        else if (size == 4)
            memcpy(bytes + 4 * i, &small, 4);
        else if (count == 1)
            bytes[i] = small & 1;
        else
            bytes[i] = i + 1 < count ? (uint8_t)('a' + generator_next(generator) % 26) : 0;
    }
    return true;
}

static inline bool generator_holds(struct wire *wire, size_t bytes)
{
    (void)wire;
    return bytes < 1000;
}

/* Fills a message of that kind; message_clear() frees it. The same seed gives the same message. */
static inline bool generate(struct message *message, enum message_kind kind, uint64_t seed)
{
    static const struct wire_ops ops = {generator_move, generator_holds};
    struct generator generator;
    memset(&generator, 0, sizeof generator);
    memset(message, 0, sizeof *message);
    message->kind = kind;
    generator.wire.ops = &ops;
    generator.wire.direction = WIRE_DECODE;
    generator.wire.arena = &message->arena;
    generator.state = seed;
    return wire_message(&generator.wire, message);
}

/* The next kind after `kind` that exists, MESSAGE_NONE behind the last. Begin with MESSAGE_NONE. */
static inline enum message_kind next_kind(enum message_kind kind)
{
    for (int next = (int)kind + 1; next <= MESSAGE_LAST_REPLY; next++)
        if (strcmp(message_name((enum message_kind)next), "unknown message") != 0)
            return (enum message_kind)next;
    return MESSAGE_NONE;
}

#endif
