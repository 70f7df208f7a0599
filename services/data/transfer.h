/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves the bytes of a datum between this process and a server, in chunks directly from and to their final
 * memory, several at a time. Clients put and get with it, servers pull with it from each other.
 *
 * A chunk that was damaged on the way, or whose connection broke, is sent again; chunks have their offset,
 * so a repeated one is harmless. `done` records what has arrived: a failed transfer resumes with a new
 * ticket. */
#ifndef SERVICES_DATA_TRANSFER_H
#define SERVICES_DATA_TRANSFER_H

#include "core/data/datum.h"
#include "core/transport.h"
#include "services/data/store.h"
#include "util/thread_pool.h"
#include "util/ranges.h"

#define TRANSFER_TRIES 4 /* of one chunk (core/message/chunk.h) */
/* While its bytes move, a chunk may take this many times still_ms, because links may be slow. */
#define TRANSFER_SLOW 10

struct transfer_options {
    struct transport *transport;
    const char *address;
    struct datum_key key;
    uint64_t ticket;    /* of the offer, or of the open */
    bool put;           /* else get */
    uint64_t bytes;     /* of the datum */
    int64_t timeout_ms; /* of one chunk, */
    int64_t still_ms;   /* time without progress of a chunk before it is tried again; 0: timeout_ms */
    /* For a get: time without progress after which the peer is not asked again, because another server may
     * have the datum: ESP_TIMEOUT at once. 0: chunks are tried again whatever the failure. */
    int64_t silence_ms;
    /* The memory of the whole datum; or NULL and these functions: get the memory of a piece, and give it
     * back, `whole` if it has moved. Called by any thread of the transfer. They return ESP_OK, or why the
     * transfer must end. */
    uint8_t *memory;
    enum esp_status (*area)(void *arg, uint64_t offset, uint64_t bytes, struct store_piece *piece,
                            struct esp_error *error);
    enum esp_status (*area_done)(void *arg, struct store_piece *piece, bool whole, struct esp_error *error);
    /* Called for pieces that have moved, one call at a time. May be NULL. */
    void (*moved)(void *arg, uint64_t bytes);
    /* Called between chunks: true ends the transfer with ESP_CANCELLED. May be NULL. */
    bool (*cancelled)(void *arg);
    /* Whether a failed chunk must not be tried again. May be NULL. */
    bool (*is_late)(void *arg);
    void *arg;
    struct thread_pool *helpers; /* one of its threads moves every other chunk; NULL: this thread moves all */
};

/* Moves the bytes missing in `done`, and adds to it. ESP_NOT_FOUND: the peer does not know the ticket (any
 * more): ask for a new one. ESP_UNREACHABLE, ESP_MAYBE, ESP_TIMEOUT, ESP_PROTOCOL: a chunk failed too
 * often. Other errors are final. Blocks. */
enum esp_status transfer_run(const struct transfer_options *options, struct ranges *done,
                             struct esp_error *error);

/* Whether the failure may be temporary: try a new ticket from the same server. */
bool transfer_may_go_on(enum esp_status status);

/* Returns the header of a chunk of that datum. */
struct message transfer_header(bool put, struct datum_key key, uint64_t ticket, uint64_t offset,
                               uint64_t length);

#endif
