/* SPDX-License-Identifier: Apache-2.0
 *
 * Tickets: who has been let in to put or read a datum, and the chunks that they are shown with.
 */
#include "sed/server/server_data_internal.h"

#include "sed/server/server_state.h"
#include "util/random.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct ticket *ticket_find(struct server *server, uint64_t number)
{
    struct ticket *ticket;
    HASH_FIND(hh, server->data.tickets, &number, sizeof number, ticket);
    return ticket && !ticket->over ? ticket : NULL;
}

struct ticket *ticket_create(struct server *server, const struct datum_id *id, const struct asker *asker,
                             bool put, struct esp_error *error)
{
    if (server->data.n_tickets >= DATA_MOST_TICKETS) {
        error_set(error, ESP_BUSY, "server %s: %d data are being put and read; no more at a time",
                  server->name, DATA_MOST_TICKETS);
        return NULL;
    }
    struct ticket *ticket = calloc(1, sizeof *ticket);
    if (!ticket || random_bytes(&ticket->number, sizeof ticket->number, error) != ESP_OK) {
        free(ticket);
        error_no_memory(error, "a ticket");
        return NULL;
    }
    ticket->number |= 1; /* 0 is none */
    ticket->id = *id;
    asker_copy(&ticket->asker, asker);
    ticket->put = put;
    ticket->heard_ns = server_now(server);
    HASH_ADD(hh, server->data.tickets, number, sizeof ticket->number, ticket);
    if (!ticket->hh.tbl) {
        free(ticket);
        error_no_memory(error, "a ticket");
        return NULL;
    }
    server->data.n_tickets++;
    return ticket;
}

void ticket_end(struct server *server, struct ticket *ticket)
{
    ticket->over = true;
    if (ticket->moving > 0)
        return;
    HASH_DEL(server->data.tickets, ticket);
    server->data.n_tickets--;
    server_loans_end(ticket->loans);
    store_release(server->data.store, ticket->pin, false);
    copies_note(server, ticket->copy); /* on its way no more, but agents may not have heard of it */
    free(ticket->fetcher);
    free(ticket);
}

struct ticket *ticket_of_offer(struct server *server, struct datum_key key)
{
    struct ticket *ticket;
    for (ticket = server->data.tickets; ticket; ticket = ticket->hh.next)
        if (ticket->put && !ticket->over && datum_key_equal(ticket->id.key, key))
            return ticket;
    return NULL;
}

struct ticket *ticket_shown(struct server *server, uint64_t number, struct datum_key key, bool put,
                            struct esp_error *error)
{
    struct ticket *ticket = ticket_find(server, number);
    if (ticket && ticket->put == put && datum_key_equal(ticket->id.key, key))
        return ticket;
    error_set(
        error, ESP_NOT_FOUND,
        "server %s does not know this %s (it was restarted, or nothing was heard for %lld s): ask again",
        server->name, put ? "offer" : "reader", (long long)(DATA_TICKET_LEASE_NS / NS_PER_S));
    return NULL;
}

/* ---- chunks ---- */

/* A piece of a datum, from its chunk's beginning to its end. */
struct ticket_piece {
    struct ticket *ticket;
    struct store_piece piece;
    bool no_disk; /* for it: what comes behind it has none either */
};

static enum esp_status write_piece(struct chunk_area *area, struct esp_error *error)
{
    struct ticket_piece *moving = area->hold;
    enum esp_status status = store_piece_write(&moving->piece, error);
    moving->no_disk = status == ESP_NO_MEMORY;
    return status;
}

static enum esp_status read_piece(struct chunk_area *area, struct esp_error *error)
{
    struct ticket_piece *moving = area->hold;
    enum esp_status status = store_piece_read(&moving->piece, error);
    area->data = moving->piece.memory;
    return status;
}

static enum esp_status check_bounds(const struct ticket *ticket, const struct chunk *chunk, bool write,
                                    struct esp_error *error)
{
    if (chunk->offset <= ticket->bytes && (!write || chunk->length <= ticket->bytes - chunk->offset))
        return ESP_OK;
    return error_set(error, ESP_INVALID,
                     "expected a chunk within the datum's %" PRIu64 " bytes, found %" PRIu64
                     " bytes at %" PRIu64,
                     ticket->bytes, chunk->length, chunk->offset);
}

static enum esp_status open_area(struct server *server, const struct chunk *chunk, bool write,
                                 struct chunk_area *area, struct esp_error *error)
{
    struct datum_key key = {chunk->session.client_high, chunk->session.client_low};
    if (!server->data.store)
        return error_set(error, ESP_REFUSED, "server %s keeps no data", server->name);
    struct ticket *ticket = ticket_shown(server, chunk->session.secret, key, write, error);
    if (!ticket)
        return error->status;
    ticket->heard_ns = server_now(server);
    enum esp_status status = check_bounds(ticket, chunk, write, error);
    if (status != ESP_OK)
        return status;
    struct ticket_piece *moving = calloc(1, sizeof *moving);
    if (!moving)
        return error_no_memory(error, "a piece of a datum");
    uint64_t left = ticket->bytes - chunk->offset;
    area->length = chunk->length < left ? chunk->length : left;
    status = write ? store_area(server->data.store, &ticket->asker.is, key, chunk->offset, area->length,
                                &moving->piece, error)
                   : store_pin_area(ticket->pin, chunk->offset, area->length, &moving->piece, error);
    if (status != ESP_OK) {
        free(moving);
        return status;
    }
    area->data = moving->piece.memory;
    area->fresh = moving->piece.fresh;
    area->summed = moving->piece.summed;
    area->crc32c = moving->piece.crc32c;
    area->work = write ? write_piece : read_piece;
    area->hold = moving;
    moving->ticket = ticket;
    ticket->moving++;
    server_traffic_begins(server);
    return ESP_OK;
}

void server_data_on_chunk(struct server *server, const struct message *header, bool write,
                          struct chunk_area *area)
{
    struct esp_error error;
    if (open_area(server, &header->chunk, write, area, &error) == ESP_OK)
        return;
    log_warning("a piece of a datum: refused: %s", error.text);
    area->reply = message_failure(MESSAGE_CHUNK_REPLY, error.status, "%s", error.text);
}

void server_data_on_chunk_done(struct server *server, bool write, struct chunk_area *area, bool complete)
{
    struct ticket_piece *moving = area->hold;
    struct ticket *ticket = moving->ticket;
    ticket->moving--;
    server_traffic_ends(server);
    ticket->heard_ns = server_now(server);
    moving->piece.summed = area->summed;
    moving->piece.crc32c = area->crc32c;
    if (write)
        store_area_done(server->data.store, ticket->id.key, &moving->piece, complete, NULL);
    else
        store_pin_area_done(server->data.store, ticket->pin, &moving->piece, complete);
    if (moving->no_disk) {
        store_abort(server->data.store, &ticket->asker.is, ticket->id.key, NULL);
        ticket->over = true;
    }
    free(moving);
    if (ticket->over)
        ticket_end(server, ticket);
}

/* ---- time ---- */

void tickets_tick(struct server *server, int64_t now_ns)
{
    struct ticket *ticket, *next;
    HASH_ITER(hh, server->data.tickets, ticket, next)
    {
        if (ticket->moving > 0 || ticket->over || now_ns - ticket->heard_ns < DATA_TICKET_LEASE_NS)
            continue;
        if (ticket->put)
            store_abort(server->data.store, &ticket->asker.is, ticket->id.key, NULL);
        ticket_end(server, ticket);
    }
}

void tickets_release(struct server *server)
{
    struct ticket *ticket, *next;
    HASH_ITER(hh, server->data.tickets, ticket, next)
    {
        ticket->moving = 0;
        ticket_end(server, ticket);
    }
}
