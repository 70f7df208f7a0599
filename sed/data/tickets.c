/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/data/data_internal.h"

#include "sed/porter/porter_order.h"
#include "util/random.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

/*
 * Tickets, and the chunks that are moved with them.
 */

struct ticket *ticket_find(struct server_data *data, uint64_t number)
{
    struct ticket *ticket;
    HASH_FIND(hh, data->tickets, &number, sizeof number, ticket);
    return ticket && !ticket->over ? ticket : NULL;
}

struct ticket *ticket_create(struct server_data *data, const struct datum_id *id, const struct asker *asker,
                             bool put, struct esp_error *error)
{
    if (data->n_tickets >= DATA_MOST_TICKETS) {
        error_set(error, ESP_BUSY, "server %s: %d data are being put and read; no more at a time",
                  data->options.name, DATA_MOST_TICKETS);
        return NULL;
    }
    struct ticket *ticket = calloc(1, sizeof *ticket);
    if (!ticket || random_bytes(&ticket->number, sizeof ticket->number, error) != ESP_OK) {
        free(ticket);
        error_no_memory(error, "a ticket");
        return NULL;
    }
    ticket->number |= 1; /* 0 means no ticket */
    ticket->id = *id;
    asker_copy(&ticket->asker, asker);
    ticket->put = put;
    ticket->heard_ns = data_now(data);
    HASH_ADD(hh, data->tickets, number, sizeof ticket->number, ticket);
    if (!ticket->hh.tbl) {
        free(ticket);
        error_no_memory(error, "a ticket");
        return NULL;
    }
    data->n_tickets++;
    return ticket;
}

void ticket_end(struct server_data *data, struct ticket *ticket)
{
    ticket->over = true;
    if (ticket->moving > 0)
        return;
    HASH_DEL(data->tickets, ticket);
    data->n_tickets--;
    loans_end(ticket->loans);
    store_release(data->store, ticket->pin, false);
    copies_note(data, ticket->copy); /* the transfer is over, and agents may not have heard of the copy */
    free(ticket->fetcher);
    free(ticket);
}

struct ticket *ticket_of_offer(struct server_data *data, struct datum_key key)
{
    struct ticket *ticket;
    for (ticket = data->tickets; ticket; ticket = ticket->hh.next)
        if (ticket->put && !ticket->over && datum_key_equal(ticket->id.key, key))
            return ticket;
    return NULL;
}

struct ticket *ticket_shown(struct server_data *data, uint64_t number, struct datum_key key, bool put,
                            struct esp_error *error)
{
    struct ticket *ticket = ticket_find(data, number);
    if (ticket && ticket->put == put && datum_key_equal(ticket->id.key, key))
        return ticket;
    error_set(
        error, ESP_NOT_FOUND,
        "server %s does not know this %s (it was restarted, or nothing was heard for %lld s): ask again",
        data->options.name, put ? "offer" : "reader", (long long)(DATA_TICKET_LEASE_NS / NS_PER_S));
    return NULL;
}

/* ---- chunks ---- */

/* A piece of a datum while its chunk is under way. */
struct ticket_piece {
    struct ticket *ticket;
    struct store_piece piece;
    bool no_disk; /* for this piece, nor for later ones */
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

static enum esp_status open_area(struct server_data *data, const struct chunk *chunk, bool write,
                                 struct chunk_area *area, struct esp_error *error)
{
    struct datum_key key = {chunk->session.client_high, chunk->session.client_low};
    if (!data->store)
        return error_set(error, ESP_REFUSED, "server %s keeps no data", data->options.name);
    struct ticket *ticket = ticket_shown(data, chunk->session.secret, key, write, error);
    if (!ticket)
        return error->status;
    ticket->heard_ns = data_now(data);
    enum esp_status status = check_bounds(ticket, chunk, write, error);
    if (status != ESP_OK)
        return status;
    struct ticket_piece *moving = calloc(1, sizeof *moving);
    if (!moving)
        return error_no_memory(error, "a piece of a datum");
    uint64_t left = ticket->bytes - chunk->offset;
    area->length = chunk->length < left ? chunk->length : left;
    status = write ? store_area(data->store, &ticket->asker.is, key, chunk->offset, area->length,
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
    data->ops->traffic(data->server, true);
    return ESP_OK;
}

void server_data_on_chunk(struct server_data *data, const struct message *header, bool write,
                          struct chunk_area *area)
{
    struct esp_error error;
    if (open_area(data, &header->chunk, write, area, &error) == ESP_OK)
        return;
    log_warning("a piece of a datum: refused: %s", error.text);
    area->reply = message_failure(MESSAGE_CHUNK_REPLY, error.status, "%s", error.text);
}

void server_data_on_chunk_done(struct server_data *data, bool write, struct chunk_area *area, bool complete)
{
    struct ticket_piece *moving = area->hold;
    struct ticket *ticket = moving->ticket;
    ticket->moving--;
    data->ops->traffic(data->server, false);
    ticket->heard_ns = data_now(data);
    moving->piece.summed = area->summed;
    moving->piece.crc32c = area->crc32c;
    if (write)
        store_area_done(data->store, ticket->id.key, &moving->piece, complete, NULL);
    else
        store_pin_area_done(data->store, ticket->pin, &moving->piece, complete);
    if (moving->no_disk) {
        store_abort(data->store, &ticket->asker.is, ticket->id.key, NULL);
        ticket->over = true;
    }
    free(moving);
    if (ticket->over)
        ticket_end(data, ticket);
}

/* ---- time ---- */

void tickets_tick(struct server_data *data, int64_t now_ns)
{
    struct ticket *ticket, *next;
    HASH_ITER(hh, data->tickets, ticket, next)
    {
        if (ticket->moving > 0 || ticket->over || now_ns - ticket->heard_ns < DATA_TICKET_LEASE_NS)
            continue;
        if (ticket->put)
            store_abort(data->store, &ticket->asker.is, ticket->id.key, NULL);
        ticket_end(data, ticket);
    }
}

void tickets_release(struct server_data *data)
{
    struct ticket *ticket, *next;
    HASH_ITER(hh, data->tickets, ticket, next)
    {
        ticket->moving = 0;
        ticket_end(data, ticket);
    }
}

/*
 * Pieces that porters of this server lend to porters of another server while the datum is open.
 */

#define LEND_MS 3000 /* of all porters: less than the other server waits for the answer */

struct porter_loans {
    struct thread_job job;
    struct server_data *data;
    struct ticket *ticket;
    struct call *call; /* NULL: it was abandoned */
    struct porter_order order;
    struct datum_key value; /* by which ranks on other hosts know the value */
    int fd;                 /* of the pieces */
    struct porter_list porters;
    int sockets[PORTERS_MOST];
    uint32_t n;
    struct porter_loans *prev, *next;
};

void loans_end(struct porter_loans *loans)
{
    if (!loans)
        return;
    for (uint32_t i = 0; i < loans->n; i++)
        close(loans->sockets[i]);
    if (loans->fd >= 0)
        close(loans->fd);
    free(loans);
}

static void make(struct porter_loans *loans, struct esp_error *error)
{
    const struct server_data_options *options = &loans->data->options;
    const int64_t until_ns = clock_now_ns(&clock_system) + LEND_MS * NS_PER_MS;
    enum esp_status status = ESP_OK;
    char name[PORTER_NAME];
    options->porters(options->porters_arg, &loans->porters);
    for (uint32_t i = 0; status == ESP_OK && i < loans->porters.n; i++) {
        const int64_t left_ms = (until_ns - clock_now_ns(&clock_system)) / NS_PER_MS;
        status =
            porter_lend(loans->porters.paths[i], &loans->order, loans->fd, left_ms > 0 ? (int)left_ms : 0,
                        &loans->sockets[i], &loans->order.ports[i], error);
        loans->n += status == ESP_OK;
        if (status != ESP_OK)
            error_prefix(error, "server %s, %s", loans->data->options.name,
                         porter_name(&loans->porters, i, name));
    }
    if (options->lenders && (!loans->order.sealed || options->porters_seal))
        options->lenders(options->porters_arg, loans->value, loans->order.ticket, &loans->order.lenders);
    if (status == ESP_OK && loans->n == 0)
        error_set(error, ESP_BUSY, "the porters of server %s are being started", loans->data->options.name);
}

static struct message *answer(struct porter_loans *loans)
{
    struct message *reply = data_open_answer(loans->data, loans->ticket);
    if (!reply || reply->open_reply.outcome.status != ESP_OK)
        return reply;
    struct extension *extensions = arena_alloc(&reply->arena, 2 * sizeof *extensions);
    uint8_t *value = arena_alloc(&reply->arena, PORTERS_VALUE_MOST);
    uint8_t *lenders = arena_alloc(&reply->arena, sizeof loans->order.lenders);
    if (!extensions || !value || !lenders) {
        message_destroy(reply);
        return NULL;
    }
    loans->order.n_ports = loans->n;
    extensions[0] = (struct extension){EXTENSION_PORTERS, value, porters_write(&loans->order, value)};
    const bool sealed = loans->order.sealed != 0;
    extensions[1] = (struct extension){sealed ? EXTENSION_LENDERS_SEALED : EXTENSION_LENDERS, lenders,
                                       lenders_write(&loans->order.lenders, sealed, lenders)};
    reply->open_reply.extensions = (struct extensions){extensions, loans->order.lenders.n > 0 ? 2 : 1};
    return reply;
}

static void lent(struct porter_loans *loans, const struct esp_error *error)
{
    struct server_data *data = loans->data;
    struct ticket *ticket = loans->ticket;
    struct call *call = loans->call;
    ticket->moving--;
    ticket->heard_ns = data_now(data);
    if (error->status == ESP_OK && call) {
        ticket->loans = loans;
        call_reply(call, answer(loans));
        if (ticket->over)
            ticket_end(data, ticket);
        return;
    }
    if (call)
        call_reply(call, message_failure(MESSAGE_OPEN_REPLY, error->status, "%s", error->text));
    loans_end(loans);
    ticket_end(data, ticket);
}

static void loans_run(void *arg)
{
    struct porter_loans *loans = arg;
    struct server_data *data = loans->data;
    struct esp_error error = {.status = ESP_OK};
    make(loans, &error);
    endpoint_enter(data->endpoint);
    DL_DELETE(data->loans, loans);
    lent(loans, &error);
    endpoint_leave(data->endpoint);
}

static enum esp_status prepare(struct porter_loans *loans, struct esp_error *error)
{
    struct ticket *ticket = loans->ticket;
    const struct store_memory *memory = store_pin_memory(ticket->pin);
    const struct datum_shape *shape = store_pin_shape(ticket->pin);
    struct porter_order *order = &loans->order;
    const struct laying *laying = layings_find(&loans->data->layings, ticket->id.key);
    loans->value = laying ? laying->value : ticket->id.key;
    *order = (struct porter_order){.kind = PORTER_LEND,
                                   .version = PORTER_VERSION,
                                   .ticket = ticket->number,
                                   .key = ticket->id.key,
                                   .element_bytes = (uint32_t)base_type_size(shape->type),
                                   .offset = memory->offset,
                                   .bytes = memory->bytes};
    if (!loans->data->options.porters)
        return error_set(
            error, ESP_REFUSED,
            "server %s carries no pieces to other servers: it keeps no data in memory (store_memory)",
            loans->data->options.name);
    if (loans->data->options.porters_seal && !ticket->lends_sealed)
        return error_set(
            error, ESP_REFUSED,
            "server %s, which has certificates, lends pieces over encrypted connections only: the "
            "other server has none, or is of an earlier version",
            loans->data->options.name);
    order->sealed = ticket->lends_sealed;
    enum esp_status status =
        order->sealed ? random_bytes(order->secret, sizeof order->secret, error) : ESP_OK;
    if (status == ESP_OK)
        status = pull_lie(shape, &order->from, error);
    return status == ESP_OK ? store_pin_reader(ticket->pin, false, &loans->fd, error) : status;
}

void loans_make(struct server_data *data, struct call *call, struct ticket *ticket)
{
    struct esp_error error = {.status = ESP_OK};
    struct porter_loans *loans = calloc(1, sizeof *loans);
    struct errands *errands = data->errands;
    ticket->moving++;
    if (!loans) {
        ticket->moving--;
        call_reply(call, message_failure(MESSAGE_OPEN_REPLY, ESP_NO_MEMORY, "no memory for lending a datum"));
        ticket_end(data, ticket);
        return;
    }
    *loans = (struct porter_loans){
        .job = {.run = loans_run, .arg = loans}, .data = data, .ticket = ticket, .call = call, .fd = -1};
    if (ticket->bytes > 0 && prepare(loans, &error) == ESP_OK) {
        DL_APPEND(data->loans, loans);
        if (errands && !data->leaving && errands->submit(errands, &loans->job))
            return;
        DL_DELETE(data->loans, loans);
        error_set(&error, ESP_REFUSED, "server %s is shutting down", data->options.name);
    }
    lent(loans, &error); /* a datum without bytes needs no loans */
}

bool loans_abandoned(struct server_data *data, struct call *call)
{
    struct porter_loans *loans;
    DL_FOREACH(data->loans, loans)
    {
        if (loans->call != call)
            continue;
        loans->call = NULL;
        return true;
    }
    return false;
}
