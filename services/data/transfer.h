/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves the bytes of a datum between this process and a server, in chunks that lie in their final memory from
 * the beginning, several in flight. Clients put and get with it, servers pull with it from each other.
 *
 * A chunk that was damaged on the way, or whose connection broke, is sent again; chunks carry their offset,
 * so that one that comes twice does no harm. What has arrived is remembered in `done`: a transfer that failed
 * goes on where it was, with a new ticket.
 */
#ifndef SERVICES_DATA_TRANSFER_H
#define SERVICES_DATA_TRANSFER_H

#include "core/data/datum.h"
#include "core/transport.h"
#include "services/data/store.h"
#include "util/thread_pool.h"
#include "util/ranges.h"

#define TRANSFER_TRIES 4 /* of one chunk (core/message/chunk.h) */
/* How many times still_ms a chunk may take as long as its bytes move: links may be slow. */
#define TRANSFER_SLOW 10

struct transfer_options {
    struct transport *transport;
    const char *address;
    struct datum_key key;
    uint64_t ticket;    /* of the offer, or of the open */
    bool put;           /* else get */
    uint64_t bytes;     /* of the datum */
    int64_t timeout_ms; /* of one chunk, */
    int64_t still_ms; /* and that nothing of it may move for, before it is tried again; 0: as long as that */
    /* Of a get: that nothing may come of a chunk for. Who is silent for longer is not asked for it again, as
     * somebody else may have it: ESP_TIMEOUT at once. 0: chunks are tried again whyever they failed. */
    int64_t silence_ms;
    /* The memory of all of it; or NULL and the functions: where a piece lies, and that it has moved (`whole`)
     * or has not. Any thread of the transfer. ESP_OK, or why it must end. */
    uint8_t *memory;
    enum esp_status (*area)(void *arg, uint64_t offset, uint64_t bytes, struct store_piece *piece,
                            struct esp_error *error);
    enum esp_status (*area_done)(void *arg, struct store_piece *piece, bool whole, struct esp_error *error);
    /* Told of pieces that have moved, one call at a time. May be NULL. */
    void (*moved)(void *arg, uint64_t bytes);
    /* Looked at between chunks: true ends it with ESP_CANCELLED. May be NULL. */
    bool (*cancelled)(void *arg);
    /* Whether a chunk that failed is not tried again. May be NULL. */
    bool (*is_late)(void *arg);
    void *arg;
    struct thread_pool *helpers; /* a thread of it takes every other chunk; NULL: this one does all */
};

/* Moves what `done` does not have yet, and adds to it. ESP_NOT_FOUND: the other side does not know the ticket
 * (any more): ask for a new one. ESP_UNREACHABLE, ESP_MAYBE, ESP_TIMEOUT, ESP_PROTOCOL: a chunk failed as
 * often as it may. Others are final. Blocks. */
enum esp_status transfer_run(const struct transfer_options *options, struct ranges *done,
                             struct esp_error *error);

/* Whether such a failure may pass: a new ticket from the same server is worth a try. */
bool transfer_may_go_on(enum esp_status status);

/* The header of a chunk of that datum. */
struct message transfer_header(bool put, struct datum_key key, uint64_t ticket, uint64_t offset,
                               uint64_t length);

#endif
