/* SPDX-License-Identifier: Apache-2.0
 *
 * The codec: one traversal per struct serves encoding and decoding, over any byte source.
 *
 * The format is CDR as GIOP 1.2 bodies carry it (idl/espalier.idl is the contract): primitives are aligned
 * to their size, counted from the start of the body; a string is its length with the NUL, then the bytes.
 * core/message/message.c walks the messages. The in-process transport walks them over memory, orb/ over
 * the ORB's streams. `direction` selects encoding or decoding, so the two always match. */
#ifndef CORE_WIRE_H
#define CORE_WIRE_H

#include "util/arena.h"
#include "util/error.h"
#include <stdbool.h>
#include <stdint.h>

enum wire_direction { WIRE_ENCODE, WIRE_DECODE };

struct wire;

struct wire_ops {
    /* Moves `count` primitives of `size` bytes (1, 2, 4 or 8), aligned to `size`; swaps bytes when the
     * sender's order differs. False at the end of the input or when the output's cap is reached. */
    bool (*move)(struct wire *wire, void *data, size_t size, size_t count);
    /* Decoding: whether at least `bytes` more are in the input; checked before memory is allocated for
     * them. */
    bool (*holds)(struct wire *wire, size_t bytes);
};

struct wire {
    const struct wire_ops *ops;
    enum wire_direction direction;
    struct arena *arena;    /* decoding: memory for strings and sequences */
    struct esp_error error; /* the first failure; ESP_OK before */
};

/* Each moves one value between the struct and the wire and returns whether no failure has happened so far;
 * after the first failure it does nothing. `what` names the field in the error's text. */
bool wire_u8(struct wire *wire, uint8_t *value, const char *what);
bool wire_bool(struct wire *wire, bool *value, const char *what);
bool wire_u32(struct wire *wire, uint32_t *value, const char *what);
bool wire_i64(struct wire *wire, int64_t *value, const char *what);
bool wire_u64(struct wire *wire, uint64_t *value, const char *what);
bool wire_f64(struct wire *wire, double *value, const char *what);

/* NULL encodes as "". Decoding yields memory of the arena, never NULL. `cap`: bytes without the NUL. */
bool wire_string(struct wire *wire, const char **text, size_t cap, const char *what);

/* A sequence of octets; decoding copies into the arena. */
bool wire_octets(struct wire *wire, const uint8_t **data, uint32_t *length, size_t cap, const char *what);

/* A sequence of doubles. */
bool wire_f64s(struct wire *wire, double **values, uint32_t *n, size_t cap, const char *what);

/* A sequence of 64-bit integers. */
bool wire_i64s(struct wire *wire, int64_t **values, uint32_t *n, size_t cap, const char *what);
bool wire_u64s(struct wire *wire, uint64_t **values, uint32_t *n, size_t cap, const char *what);

/* Moves the count of a sequence of structs of `size` bytes in memory, each at least `least` bytes on the
 * wire. Decoding allocates the zeroed array into *items. The caller then walks the items. */
bool wire_sequence(struct wire *wire, void **items, uint32_t *n, size_t size, size_t least, size_t cap,
                   const char *what);

/* Marks the wire as failed (the first failure stays); returns false. */
bool wire_fail(struct wire *wire, enum esp_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline bool wire_ok(const struct wire *wire)
{
    return wire->error.status == ESP_OK;
}

/* A wire over memory in this machine's byte order. Offset 0 is the start of the body. */
struct memory_wire {
    struct wire wire; /* first */
    uint8_t *data;
    size_t size;     /* bytes encoded so far, or bytes of the input */
    size_t position; /* decoding: next byte */
    size_t capacity; /* encoding: bytes allocated */
    size_t cap;      /* encoding: most bytes */
};

/* Encodes into memory that grows up to `cap`; memory_wire_release() frees it. */
void memory_wire_encoder(struct memory_wire *memory, size_t cap);
/* Decodes `size` bytes at `data` (borrowed); what it allocates goes into `arena`. */
void memory_wire_decoder(struct memory_wire *memory, const void *data, size_t size, struct arena *arena);
void memory_wire_release(struct memory_wire *memory);

#endif
