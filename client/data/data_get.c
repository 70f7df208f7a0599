/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading data from servers.
 */
#include "client/data/data_moving.h"
#include "core/redistribution/pieces.h"

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

static bool is_late(void *arg)
{
    return data_is_late(arg);
}

static enum esp_status get_once(struct engine *engine, const char *address, const char *id, uint32_t piece,
                                void *memory, uint64_t bytes, struct data_progress *progress,
                                struct ranges *done, struct esp_error *error)
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
                                                 .moved = data_moved,
                                                 .is_late = is_late,
                                                 .arg = progress,
                                                 .helpers = engine->runners};
        status = piece == ALL_PIECES ? transfer_run(&options, done, error)
                                     : data_move_range(&options, done, from, to, memory, error);
        data_finish(engine, address, id, reply.open_reply.ticket, NULL);
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
    struct data_progress progress = {.told = told, .bytes = bytes};
    struct data_holder holders[DATA_MOST_HOLDERS];
    struct ranges done = {0};
    size_t n = 0;
    enum esp_status status = ESP_OK;
    data_progress_begin(&progress, engine);
    for (unsigned i = 1;; i++) {
        status = data_find(engine, id, i > 1, holders, &n, error);
        for (size_t h = 0; status == ESP_OK && h < n; h++) {
            status = get_once(engine, holders[h].address, id, piece, memory, bytes, &progress, &done, error);
            if (transfer_may_go_on(status) && h + 1 < n)
                status = ESP_OK; /* the next one */
            else
                break;
        }
        /* The second time all are looked for who have it. */
        if (!transfer_may_go_on(status) || n == 0 || i == DATA_MOST_RESUMED ||
            (i > 1 && data_is_late(&progress)))
            break;
        engine_pause(&engine->closing, INT64_C(50) << i);
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
