/* SPDX-License-Identifier: Apache-2.0
 *
 * Data between this process and servers: putting and reading them.
 */
#include "client/data/data.h"
#include "core/redistribution/pieces.h"
#include "services/data/transfer.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define MOST_LOOKED  4 /* times that somebody is looked for who has a datum */
#define MOST_RESUMED 5 /* times that a transfer goes on with a new ticket */

struct progress {
    struct data_told told;
    uint64_t bytes, moved;
};

static void moved(void *arg, uint64_t bytes)
{
    struct progress *progress = arg;
    progress->moved += bytes;
    if (progress->told.tell && progress->bytes > 0)
        progress->told.tell(progress->told.arg, (double)progress->moved / (double)progress->bytes);
}

/* ---- put ---- */

struct putting {
    struct engine *engine;
    char address[CAP_ADDRESS + 1];
    const char *id;
    struct datum_key key;
    struct datum_info datum;
    const void *data;          /* all of it; or NULL, and */
    const void *const *pieces; /* the pieces in which it lies */
    struct progress progress;
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

static enum esp_status finish(struct engine *engine, const char *address, const char *id, uint64_t ticket,
                              struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_FINISH, .finish = {.datum = id, .ticket = ticket}}, reply = {0};
    enum esp_status status = data_ask(engine, address, &request, &reply, error);
    message_clear(&reply);
    return status;
}

/* Only [from, to) of a datum, whose memory this is. */
static enum esp_status move_range(const struct transfer_options *options, const struct ranges *done,
                                  uint64_t from, uint64_t to, const void *memory, struct esp_error *error)
{
    struct transfer_options only = *options;
    struct ranges others = {0};
    enum esp_status status = ESP_OK;
    only.memory = (uint8_t *)((uintptr_t)memory - (uintptr_t)from);
    for (uint32_t i = 0; status == ESP_OK && i < done->n; i++)
        status = ranges_add(&others, done->items[i].from, done->items[i].to, error);
    if (status == ESP_OK && from > 0)
        status = ranges_add(&others, 0, from, error);
    if (status == ESP_OK && to < options->bytes)
        status = ranges_add(&others, to, options->bytes, error);
    if (status == ESP_OK)
        status = transfer_run(&only, &others, error);
    ranges_clear(&others);
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
            status = move_range(options, done, at, at + bytes, putting->pieces[i], error);
        at += bytes;
    }
    return status;
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
                                             .timeout_ms = engine->call_timeout_ms,
                                             .memory = (uint8_t *)(uintptr_t)putting->data,
                                             .moved = moved,
                                             .arg = &putting->progress,
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
        status = finish(engine, putting->address, putting->id, offer->ticket, error);
    return status;
}

static enum esp_status put_once(struct putting *putting, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_OFFER}, reply = {0};
    uint64_t client[2];
    struct extension extension;
    request.offer.datum = putting->datum;
    request.offer.extensions = data_tell_client(putting->engine, client, &extension);
    enum esp_status status = data_ask(putting->engine, putting->address, &request, &reply, error);
    if (status == ESP_OK && reply.offer_reply.ticket != 0) /* 0: it is there already */
        status = send_all(putting, &reply.offer_reply, error);
    message_clear(&reply);
    return status;
}

static enum esp_status put(struct putting *putting, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (unsigned i = 0; i < MOST_RESUMED; i++) {
        status = put_once(putting, error);
        if (!transfer_may_go_on(status))
            break;
        engine_pause(&putting->engine->closing, INT64_C(100) << i);
    }
    return status;
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
    putting->id = putting->datum.datum = datum_id_text(&is, id);
    putting->key = is.key;
    return put(putting, error);
}

enum esp_status data_reserve(struct engine *engine, const char *server, const char *address,
                             const struct datum_info *datum, char *id, struct esp_error *error)
{
    struct datum_id drawn;
    struct message request = {.kind = MESSAGE_OFFER}, reply = {0};
    uint64_t client[2];
    struct extension extension;
    if (!*id && datum_id_draw(server, &drawn, error) != ESP_OK)
        return error->status;
    if (!*id)
        datum_id_text(&drawn, id);
    request.offer.datum = *datum;
    request.offer.datum.datum = id;
    request.offer.extensions = data_tell_client(engine, client, &extension);
    enum esp_status status = data_ask(engine, address, &request, &reply, error);
    message_clear(&reply);
    return status;
}

enum esp_status data_put(struct engine *engine, const char *server, const char *address,
                         const struct datum_info *datum, const void *memory, struct data_told told, char *id,
                         struct esp_error *error)
{
    struct putting putting = {
        .engine = engine, .datum = *datum, .data = memory, .progress = {.told = told, .bytes = datum->bytes}};
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

/* ---- get ---- */

#define ALL_PIECES UINT32_MAX

/* What of the datum is wanted: all of it, or that piece. */
static enum esp_status find_range(const struct datum_info *datum, uint32_t piece, uint64_t bytes,
                                  uint64_t *from, uint64_t *to, struct esp_error *error)
{
    struct block_cyclic_matrix layout;
    uint64_t element = base_type_size((enum base_type)datum->type);
    *from = 0;
    *to = datum->bytes;
    if (piece != ALL_PIECES) {
        if (!data_layout(datum, &layout) || piece >= block_cyclic_matrix_ranks(&layout))
            return error_set(error, ESP_INVALID, "a datum has no piece %u: it is %s", piece,
                             data_layout(datum, &layout) ? "in fewer" : "in one");
        *from = pieces_before(&layout, piece) * element;
        *to = *from + pieces_count(&layout, piece) * element;
    }
    if (*to - *from == bytes)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "expected memory of %llu bytes for a datum, found %llu",
                     (unsigned long long)(*to - *from), (unsigned long long)bytes);
}

static enum esp_status get_once(struct engine *engine, const char *address, const char *id, uint32_t piece,
                                void *memory, uint64_t bytes, struct progress *progress, struct ranges *done,
                                struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_OPEN, .open = {.datum = id}}, reply = {0};
    uint64_t client[2];
    struct extension extension;
    request.open.extensions = data_tell_client(engine, client, &extension);
    struct datum_id parsed;
    enum esp_status status = datum_id_parse(id, &parsed, error);
    if (status == ESP_OK)
        status = data_ask(engine, address, &request, &reply, error);
    uint64_t from = 0, to = 0;
    if (status == ESP_OK)
        status = find_range(&reply.open_reply.datum, piece, bytes, &from, &to, error);
    if (status == ESP_OK) {
        const struct transfer_options options = {.transport = engine->transport,
                                                 .address = address,
                                                 .key = parsed.key,
                                                 .ticket = reply.open_reply.ticket,
                                                 .bytes = reply.open_reply.datum.bytes,
                                                 .timeout_ms = engine->call_timeout_ms,
                                                 .memory = memory,
                                                 .moved = moved,
                                                 .arg = progress,
                                                 .helpers = engine->runners};
        status = piece == ALL_PIECES ? transfer_run(&options, done, error)
                                     : move_range(&options, done, from, to, memory, error);
        finish(engine, address, id, reply.open_reply.ticket, NULL);
        if (status == ESP_OK && piece == ALL_PIECES)
            status = data_join(&reply.open_reply.datum, memory, error);
    }
    message_clear(&reply);
    return status;
}

/* What has come from one holder need not come from the next, for they are the same. */
static enum esp_status get(struct engine *engine, const char *id, uint32_t piece, void *memory,
                           uint64_t bytes, struct data_told told, struct esp_error *error)
{
    struct progress progress = {.told = told, .bytes = bytes};
    struct data_holder holders[DATA_MOST_HOLDERS];
    struct ranges done = {0};
    size_t n = 0;
    enum esp_status status = ESP_OK;
    for (unsigned i = 0; i < MOST_RESUMED; i++) {
        status = data_find(engine, id, i > 0, holders, &n, error);
        for (size_t h = 0; status == ESP_OK && h < n; h++) {
            status = get_once(engine, holders[h].address, id, piece, memory, bytes, &progress, &done, error);
            if (transfer_may_go_on(status) && h + 1 < n)
                status = ESP_OK; /* the next one */
            else
                break;
        }
        if (!transfer_may_go_on(status) || n == 0)
            break;
        engine_pause(&engine->closing, INT64_C(100) << i);
    }
    ranges_clear(&done);
    return status;
}

enum esp_status data_get(struct engine *engine, const char *id, void *memory, uint64_t bytes,
                         struct data_told told, struct esp_error *error)
{
    return get(engine, id, ALL_PIECES, memory, bytes, told, error);
}

enum esp_status data_get_piece(struct engine *engine, const char *id, unsigned piece, void *memory,
                               uint64_t bytes, struct data_told told, struct esp_error *error)
{
    return get(engine, id, piece, memory, bytes, told, error);
}
