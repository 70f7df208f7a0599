/* SPDX-License-Identifier: Apache-2.0 */
#include "core/message/wire.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool wire_fail(struct wire *wire, enum esp_status status, const char *format, ...)
{
    if (wire_ok(wire)) {
        va_list arguments;
        va_start(arguments, format);
        error_vset(&wire->error, status, format, arguments);
        va_end(arguments);
    }
    return false;
}

/* ---- over memory ---- */

static bool memory_grow(struct memory_wire *memory, size_t bytes)
{
    if (bytes > memory->cap || memory->size > memory->cap - bytes)
        return false;
    size_t wanted = memory->size + bytes;
    size_t capacity = memory->capacity ? memory->capacity * 2 : 512;
    while (capacity < wanted)
        capacity *= 2;
    if (capacity > memory->cap)
        capacity = memory->cap;
    uint8_t *data = realloc(memory->data, capacity);
    if (!data)
        return false;
    memory->data = data;
    memory->capacity = capacity;
    return true;
}

static inline bool memory_move_out(struct wire *wire, void *data, size_t size, size_t count)
{
    struct memory_wire *memory = (struct memory_wire *)wire;
    size_t padding = (size - memory->size % size) % size;
    size_t bytes = size * count;
    if (memory->capacity - memory->size < padding + bytes && !memory_grow(memory, padding + bytes))
        return false;
    memset(memory->data + memory->size, 0, padding);
    memcpy(memory->data + memory->size + padding, data, bytes);
    memory->size += padding + bytes;
    return true;
}

static inline bool memory_move_in(struct wire *wire, void *data, size_t size, size_t count)
{
    struct memory_wire *memory = (struct memory_wire *)wire;
    size_t padding = (size - memory->position % size) % size;
    size_t left = memory->size - memory->position;
    if (padding > left || size * count > left - padding)
        return false;
    memcpy(data, memory->data + memory->position + padding, size * count);
    memory->position += padding + size * count;
    return true;
}

static bool memory_holds(struct wire *wire, size_t bytes)
{
    struct memory_wire *memory = (struct memory_wire *)wire;
    return bytes <= memory->size - memory->position;
}

static const struct wire_ops encoder_ops = {.move = memory_move_out, .holds = memory_holds};
static const struct wire_ops decoder_ops = {.move = memory_move_in, .holds = memory_holds};

/* ---- values ---- */

/* Most messages are encoded to or decoded from memory. Inlined there, moving a value of known size is a
 * copy and a check. */
static inline bool move(struct wire *wire, void *data, size_t size, size_t count, const char *what)
{
    if (!wire_ok(wire))
        return false;
    if (wire->ops == &encoder_ops   ? memory_move_out(wire, data, size, count)
        : wire->ops == &decoder_ops ? memory_move_in(wire, data, size, count)
                                    : wire->ops->move(wire, data, size, count))
        return true;
    if (wire->direction == WIRE_DECODE)
        return wire_fail(wire, ESP_PROTOCOL, "message ends inside \"%s\"", what);
    return wire_fail(wire, ESP_LIMIT, "message grows beyond its cap at \"%s\"", what);
}

bool wire_u8(struct wire *wire, uint8_t *value, const char *what)
{
    return move(wire, value, 1, 1, what);
}

bool wire_bool(struct wire *wire, bool *value, const char *what)
{
    uint8_t octet = wire->direction == WIRE_ENCODE && *value; /* decoding: *value may be uninitialised */
    if (!move(wire, &octet, 1, 1, what))
        return false;
    if (octet > 1)
        return wire_fail(wire, ESP_PROTOCOL, "\"%s\": expected a boolean, found octet %u", what, octet);
    *value = octet;
    return true;
}

bool wire_u32(struct wire *wire, uint32_t *value, const char *what)
{
    return move(wire, value, 4, 1, what);
}

bool wire_i64(struct wire *wire, int64_t *value, const char *what)
{
    return move(wire, value, 8, 1, what);
}

bool wire_u64(struct wire *wire, uint64_t *value, const char *what)
{
    return move(wire, value, 8, 1, what);
}

bool wire_f64(struct wire *wire, double *value, const char *what)
{
    return move(wire, value, 8, 1, what);
}

/* Moves a count. Decoding checks it against the cap and against the bytes that are really there before it
 * allocates memory: a false count must not cause a large allocation. */
static bool move_count(struct wire *wire, uint32_t *n, size_t least, size_t cap, const char *what)
{
    if (wire_ok(wire) && wire->direction == WIRE_ENCODE && *n > cap)
        return wire_fail(wire, ESP_LIMIT, "\"%s\": at most %zu, found %u", what, cap, *n);
    if (!wire_u32(wire, n, what))
        return false;
    if (wire->direction == WIRE_ENCODE)
        return true;
    if (*n > cap)
        return wire_fail(wire, ESP_PROTOCOL, "\"%s\": at most %zu, found %u", what, cap, *n);
    if (!wire->ops->holds(wire, (size_t)*n * least))
        return wire_fail(wire, ESP_PROTOCOL, "\"%s\": %u announced, but the message ends before", what, *n);
    return true;
}

static void *take(struct wire *wire, size_t bytes, const char *what)
{
    void *memory = arena_alloc(wire->arena, bytes);
    if (!memory)
        wire_fail(wire, ESP_NO_MEMORY, "out of memory for \"%s\" (%zu bytes)", what, bytes);
    return memory;
}

bool wire_string(struct wire *wire, const char **text, size_t cap, const char *what)
{
    if (wire->direction == WIRE_ENCODE) {
        const char *value = *text ? *text : "";
        size_t length = strlen(value) + 1;
        if (length > cap + 1)
            return wire_fail(wire, ESP_LIMIT, "\"%s\": at most %zu bytes, found %zu", what, cap, length - 1);
        uint32_t n = (uint32_t)length;
        return wire_u32(wire, &n, what) && move(wire, (void *)value, 1, length, what);
    }
    uint32_t n = 0;
    if (!move_count(wire, &n, 1, cap + 1, what))
        return false;
    if (n == 0)
        return wire_fail(wire, ESP_PROTOCOL, "\"%s\": a string without its NUL", what);
    char *value = take(wire, n, what);
    if (!value || !move(wire, value, 1, n, what))
        return false;
    if (memchr(value, 0, n) != value + n - 1)
        return wire_fail(wire, ESP_PROTOCOL, "\"%s\": a string whose NUL is not at its end", what);
    *text = value;
    return true;
}

static bool move_array(struct wire *wire, void **data, uint32_t *n, size_t size, size_t cap, const char *what)
{
    if (!move_count(wire, n, size, cap, what))
        return false;
    if (wire->direction == WIRE_DECODE) {
        *data = *n ? take(wire, (size_t)*n * size, what) : NULL;
        if (*n && !*data)
            return false;
    }
    return *n == 0 || move(wire, *data, size, *n, what);
}

bool wire_octets(struct wire *wire, const uint8_t **data, uint32_t *length, size_t cap, const char *what)
{
    void *memory = (void *)*data;
    bool moved = move_array(wire, &memory, length, 1, cap, what);
    *data = memory;
    return moved;
}

bool wire_f64s(struct wire *wire, double **values, uint32_t *n, size_t cap, const char *what)
{
    void *memory = *values;
    bool moved = move_array(wire, &memory, n, 8, cap, what);
    *values = memory;
    return moved;
}

bool wire_i64s(struct wire *wire, int64_t **values, uint32_t *n, size_t cap, const char *what)
{
    void *memory = *values;
    bool moved = move_array(wire, &memory, n, 8, cap, what);
    *values = memory;
    return moved;
}

bool wire_u64s(struct wire *wire, uint64_t **values, uint32_t *n, size_t cap, const char *what)
{
    void *memory = *values;
    bool moved = move_array(wire, &memory, n, 8, cap, what);
    *values = memory;
    return moved;
}

bool wire_sequence(struct wire *wire, void **items, uint32_t *n, size_t size, size_t least, size_t cap,
                   const char *what)
{
    if (!move_count(wire, n, least, cap, what))
        return false;
    if (wire->direction == WIRE_ENCODE)
        return true;
    *items = *n ? take(wire, (size_t)*n * size, what) : NULL;
    return wire_ok(wire);
}

/* ---- beginning and end ---- */

/* The error's text is not cleared: it is read only when its status says so. */
static void begin(struct memory_wire *memory, const struct wire_ops *ops, enum wire_direction direction,
                  struct arena *arena)
{
    memory->wire.ops = ops;
    memory->wire.direction = direction;
    memory->wire.arena = arena;
    memory->wire.error.status = ESP_OK;
    memory->wire.error.text[0] = 0;
    memory->data = NULL;
    memory->size = memory->position = memory->capacity = memory->cap = 0;
}

void memory_wire_encoder(struct memory_wire *memory, size_t cap)
{
    begin(memory, &encoder_ops, WIRE_ENCODE, NULL);
    memory->cap = cap;
}

void memory_wire_decoder(struct memory_wire *memory, const void *data, size_t size, struct arena *arena)
{
    begin(memory, &decoder_ops, WIRE_DECODE, arena);
    memory->data = (uint8_t *)data;
    memory->size = size;
}

void memory_wire_release(struct memory_wire *memory)
{
    if (memory->wire.direction == WIRE_ENCODE)
        free(memory->data);
    memory->data = NULL;
    memory->size = memory->capacity = 0;
}
