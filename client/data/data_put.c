/* SPDX-License-Identifier: Apache-2.0
 *
 * Putting data on servers.
 */
#include "client/data/data_moving.h"
#include "client/session/deadline.h"
#include "core/choice/terms.h"
#include "core/redistribution/pieces.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_WAIT_MS   50 /* for a server that starts again */
#define LONGEST_WAIT_MS 500

struct putting {
    struct engine *engine;
    const char *server; /* its name */
    char address[CAP_ADDRESS + 1];
    const char *id;
    struct datum_key key;
    struct datum_info datum;
    /* One of them: all of it, the pieces in which it lies, who makes it part by part. */
    const void *data;
    const void *const *pieces;
    const struct data_source *source;
    struct data_progress progress;
};

/* What the server has not got yet counts as missing; the rest as done. */
static enum esp_status take_gaps(const struct offer_reply *offer, uint64_t bytes, struct ranges *done,
                                 struct esp_error *error)
{
    uint64_t at = 0;
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; status == ESP_OK && i <= offer->n_gaps; i++) {
        uint64_t to = i < offer->n_gaps ? offer->gaps[i].from : bytes;
        if (to > bytes || to < at)
            return error_set(error, ESP_PROTOCOL, "the server tells of gaps that are none");
        if (to > at)
            status = ranges_add(done, at, to, error);
        at = i < offer->n_gaps ? offer->gaps[i].to : bytes;
    }
    return status;
}

static enum esp_status send_pieces(struct putting *putting, const struct transfer_options *options,
                                   const struct ranges *done, struct esp_error *error)
{
    struct block_cyclic_matrix layout;
    enum esp_status status = ESP_OK;
    uint64_t at = 0, element = base_type_size((enum base_type)putting->datum.type);
    if (!data_layout(&putting->datum, &layout))
        return error_set(error, ESP_INTERNAL, "a datum whose pieces are put has none");
    for (int64_t i = 0; status == ESP_OK && i < block_cyclic_matrix_ranks(&layout); i++) {
        uint64_t bytes = pieces_count(&layout, i) * element;
        if (bytes > 0)
            status = data_move_range(options, done, at, at + bytes, putting->pieces[i], error);
        at += bytes;
    }
    return status;
}

static void put_moved(void *arg, uint64_t bytes)
{
    struct putting *putting = arg;
    data_moved(&putting->progress, bytes);
}

static bool put_is_late(void *arg)
{
    const struct putting *putting = arg;
    return data_is_late(&putting->progress);
}

static enum esp_status make_part(void *arg, uint64_t offset, uint64_t bytes, struct store_piece *piece,
                                 struct esp_error *error)
{
    const struct putting *putting = arg;
    if (!(piece->memory = malloc(bytes ? bytes : 1)))
        return error_no_memory(error, "a piece of a datum");
    enum esp_status status = putting->source->fill(putting->source->arg, offset, bytes, piece->memory, error);
    if (status != ESP_OK)
        free(piece->memory);
    return status;
}

static enum esp_status part_sent(void *arg, struct store_piece *piece, bool whole, struct esp_error *error)
{
    (void)arg, (void)whole, (void)error;
    free(piece->memory);
    return ESP_OK;
}

/* What cannot be sent need not be waited for. */
static void give_up(struct putting *putting, uint64_t ticket)
{
    struct message request = {.kind = MESSAGE_DROP, .drop = {.datum = putting->id, .ticket = ticket}},
                   reply = {0};
    data_ask(putting->engine, putting->address, &request, &reply, NULL);
    message_clear(&reply);
}

static enum esp_status send_all(struct putting *putting, const struct offer_reply *offer,
                                struct esp_error *error)
{
    struct ranges done = {0};
    struct engine *engine = putting->engine;
    const struct transfer_options options = {.transport = engine->transport,
                                             .address = putting->address,
                                             .key = putting->key,
                                             .ticket = offer->ticket,
                                             .put = true,
                                             .bytes = putting->datum.bytes,
                                             .timeout_ms = data_chunk_ms(&putting->progress, TRANSFER_SLOW),
                                             .still_ms = data_chunk_ms(&putting->progress, 1),
                                             .memory = (uint8_t *)(uintptr_t)putting->data,
                                             .area = make_part,
                                             .area_done = part_sent,
                                             .moved = put_moved,
                                             .is_late = put_is_late,
                                             .arg = putting,
                                             .helpers = engine->runners};
    enum esp_status status = take_gaps(offer, putting->datum.bytes, &done, error);
    uint64_t before = 0;
    for (uint32_t i = 0; i < done.n; i++)
        before += done.items[i].to - done.items[i].from;
    putting->progress.moved = before;
    if (status == ESP_OK && putting->pieces)
        status = send_pieces(putting, &options, &done, error);
    else if (status == ESP_OK)
        status = transfer_run(&options, &done, error);
    ranges_clear(&done);
    if (status == ESP_OK)
        status = data_finish(engine, putting->address, putting->id, offer->ticket, error);
    else if (!transfer_may_go_on(status))
        give_up(putting, offer->ticket);
    return status;
}

/* A server that is to start again takes no data until it has, and is waited for as calls wait for it. An
 * offer that is repeated is the same one. */
static enum esp_status make_offer(struct engine *engine, const char *address, const struct message *request,
                                  const struct data_progress *progress, struct message *reply,
                                  struct esp_error *error)
{
    struct patience patience = engine_patience(engine);
    int64_t wait_ms = FIRST_WAIT_MS;
    for (bool returns = false;;) {
        const enum esp_status status = data_ask(engine, address, request, reply, error);
        const bool awaited = reply->kind == MESSAGE_OFFER_REPLY &&
                             extension_find(&reply->offer_reply.extensions, EXTENSION_AWAITED);
        returns |= awaited;
        if (status != ESP_UNREACHABLE || !returns)
            return status;
        if (awaited)
            patience = engine_patience_returning(engine);
        if (!patience_lasts(&patience, false, clock_now_ns(engine->clock)) || atomic_load(&engine->closing) ||
            (progress && data_is_late(progress)) || deadline_left_ms(engine->clock, wait_ms) < wait_ms)
            return status;
        message_clear(reply);
        engine_pause(&engine->closing, wait_ms);
        wait_ms = 2 * wait_ms < LONGEST_WAIT_MS ? 2 * wait_ms : LONGEST_WAIT_MS;
    }
}

static enum esp_status put_once(struct putting *putting, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_OFFER}, reply = {0};
    uint64_t client[2];
    struct extension extension;
    request.offer.datum = putting->datum;
    request.offer.extensions = data_tell_client(putting->engine, client, &extension);
    enum esp_status status =
        make_offer(putting->engine, putting->address, &request, &putting->progress, &reply, error);
    if (status == ESP_OK && reply.offer_reply.ticket != 0) /* 0: it is there already */
        status = send_all(putting, &reply.offer_reply, error);
    message_clear(&reply);
    return status;
}

/* It may be started again, at another address: what it had got of the datum is sent anew then. */
static void find_again(struct putting *putting)
{
    char address[CAP_ADDRESS + 1];
    struct esp_error unknown;
    if (engine_await_name(putting->engine, putting->server, address, &unknown) == ESP_OK)
        memcpy(putting->address, address, strlen(address) + 1);
}

static enum esp_status put(struct putting *putting, struct esp_error *error)
{
    data_progress_begin(&putting->progress, putting->engine);
    for (unsigned i = 1;; i++) {
        enum esp_status status = put_once(putting, error);
        if (!transfer_may_go_on(status) || i == DATA_MOST_RESUMED || data_is_late(&putting->progress))
            return status;
        engine_pause(&putting->engine->closing, INT64_C(50) << i);
        if (status == ESP_UNREACHABLE)
            find_again(putting);
    }
}

/* `id` "": a new datum. */
static enum esp_status put_as(struct putting *putting, const char *server, const char *address, char *id,
                              struct esp_error *error)
{
    struct datum_id is;
    enum esp_status status = *id ? datum_id_parse(id, &is, error) : datum_id_draw(server, &is, error);
    if (status != ESP_OK)
        return status;
    snprintf(putting->address, sizeof putting->address, "%s", address);
    putting->server = server;
    putting->id = putting->datum.datum = datum_id_text(&is, id);
    putting->key = is.key;
    status = put(putting, error);
    if (status == ESP_UNREACHABLE || status == ESP_TIMEOUT)
        error_prefix_at(error, server, putting->address);
    return status;
}

/* *ticket 0: it is there already. */
static enum esp_status offer(struct engine *engine, const char *address, const struct datum_info *datum,
                             const char *id, uint64_t *ticket, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_OFFER}, reply = {0};
    uint64_t client[2];
    struct extension extension;
    request.offer.datum = *datum;
    request.offer.datum.datum = id;
    request.offer.extensions = data_tell_client(engine, client, &extension);
    enum esp_status status = make_offer(engine, address, &request, NULL, &reply, error);
    *ticket = status == ESP_OK ? reply.offer_reply.ticket : 0;
    message_clear(&reply);
    return status;
}

enum esp_status data_reserve(struct engine *engine, const char *server, const char *address,
                             const struct datum_info *datum, char *id, struct esp_error *error)
{
    struct datum_id drawn;
    uint64_t ticket;
    if (!*id && datum_id_draw(server, &drawn, error) != ESP_OK)
        return error->status;
    if (!*id)
        datum_id_text(&drawn, id);
    return offer(engine, address, datum, id, &ticket, error);
}

void data_unreserve(struct engine *engine, const char *address, const struct datum_info *datum,
                    const char *id)
{
    struct putting putting = {.engine = engine, .id = id};
    struct esp_error error;
    uint64_t ticket;
    snprintf(putting.address, sizeof putting.address, "%s", address);
    if (offer(engine, address, datum, id, &ticket, &error) == ESP_OK && ticket != 0)
        give_up(&putting, ticket);
}

enum esp_status data_put(struct engine *engine, const char *server, const char *address,
                         const struct datum_info *datum, const void *memory, struct data_told told, char *id,
                         struct esp_error *error)
{
    struct putting putting = {
        .engine = engine, .datum = *datum, .data = memory, .progress = {.told = told, .bytes = datum->bytes}};
    return put_as(&putting, server, address, id, error);
}

enum esp_status data_put_made(struct engine *engine, const char *server, const char *address,
                              const struct datum_info *datum, const struct data_source *source,
                              struct data_told told, char *id, struct esp_error *error)
{
    struct putting putting = {.engine = engine,
                              .datum = *datum,
                              .source = source,
                              .progress = {.told = told, .bytes = datum->bytes}};
    return put_as(&putting, server, address, id, error);
}

enum esp_status data_put_pieces(struct engine *engine, const char *server, const char *address,
                                const struct datum_info *datum, const void *const *pieces,
                                struct data_told told, char *id, struct esp_error *error)
{
    struct putting putting = {.engine = engine,
                              .datum = *datum,
                              .pieces = pieces,
                              .progress = {.told = told, .bytes = datum->bytes}};
    return put_as(&putting, server, address, id, error);
}
