/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading data from servers.
 */
#include "client/data/data_moving.h"
#include "client/data/data_strings.h"
#include "core/redistribution/pieces.h"

#include "core/problem/texts.h"

#include <inttypes.h>
#include <stdlib.h>

#define ALL_PIECES (-1)
#define BOTH_ENDS  (-2)

/* What is wanted: all of the datum, one piece of it, or its ends. */
struct wanted {
    int64_t piece; /* ALL_PIECES: the datum */
    void *memory;
    uint64_t bytes;      /* of `memory` */
    uint64_t head, tail; /* BOTH_ENDS: so much of the first and of the last bytes, of so many: */
    uint64_t all;
    bool strings; /* an array of them; `memory` is made when its bytes are known, and is the caller's */
    uint64_t n;   /* then: of these */
};

static enum esp_status make_memory(const struct datum_info *datum, struct wanted *wanted,
                                   struct esp_error *error)
{
    if (datum->type != TYPE_STRING || datum->n_dims != 1 || datum->dims[0] < 0)
        return error_set(error, ESP_INVALID,
                         "expected an array of strings, found a datum of type %s with %u dimensions",
                         base_type_name((enum base_type)datum->type), datum->n_dims);
    if (wanted->memory)
        return ESP_OK; /* of another holder */
    wanted->n = (uint64_t)datum->dims[0];
    wanted->bytes = datum->bytes;
    wanted->memory = datum->bytes < SIZE_MAX ? malloc((size_t)datum->bytes + 1) : NULL;
    return wanted->memory ? ESP_OK : error_no_memory(error, "an array of strings");
}

static enum esp_status find_range(const struct datum_info *datum, struct wanted *wanted, uint64_t *from,
                                  uint64_t *to, struct esp_error *error)
{
    struct block_cyclic_matrix layout;
    uint64_t element = base_type_size((enum base_type)datum->type);
    *from = 0;
    *to = datum->bytes;
    if (wanted->strings && make_memory(datum, wanted, error) != ESP_OK)
        return error->status;
    if (wanted->piece == BOTH_ENDS && (datum->bytes != wanted->all || data_layout(datum, &layout)))
        return error_set(error, ESP_INVALID,
                         "expected a datum of %llu bytes in one piece, found one of %llu%s",
                         (unsigned long long)wanted->all, (unsigned long long)datum->bytes,
                         data_layout(datum, &layout) ? " in several" : "");
    if (wanted->piece == BOTH_ENDS)
        return ESP_OK;
    if (wanted->piece != ALL_PIECES) {
        if (!data_layout(datum, &layout) || wanted->piece >= block_cyclic_matrix_ranks(&layout))
            return error_set(error, ESP_INVALID, "a datum has no piece %" PRId64 ": it is %s", wanted->piece,
                             data_layout(datum, &layout) ? "in fewer" : "in one");
        *from = pieces_before(&layout, wanted->piece) * element;
        *to = *from + pieces_count(&layout, wanted->piece) * element;
    }
    if (*to - *from == wanted->bytes)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "expected memory of %llu bytes for a datum, found %llu",
                     (unsigned long long)(*to - *from), (unsigned long long)wanted->bytes);
}

static bool is_late(void *arg)
{
    return data_is_late(arg);
}

static enum esp_status move(const struct transfer_options *options, const struct wanted *wanted,
                            struct ranges *done, uint64_t from, uint64_t to, struct esp_error *error)
{
    if (wanted->piece == ALL_PIECES)
        return transfer_run(options, done, error);
    if (wanted->piece != BOTH_ENDS)
        return data_move_range(options, done, from, to, wanted->memory, error);
    enum esp_status status = data_move_range(options, done, 0, wanted->head, wanted->memory, error);
    if (status == ESP_OK)
        status = data_move_range(options, done, wanted->all - wanted->tail, wanted->all,
                                 (char *)wanted->memory + wanted->head, error);
    return status;
}

/* Whose bytes stay away for so long is left for another holder; where all are silent they are asked again,
 * each time for twice as long. */
#define SILENCE_MS 2000

static int64_t silence_ms(const struct data_progress *progress, unsigned round)
{
    int64_t most_ms = SILENCE_MS;
    const int64_t left_ms = data_left_ms(progress);
    while (round-- > 0 && most_ms < left_ms)
        most_ms *= 2;
    return most_ms < left_ms ? most_ms : left_ms;
}

static enum esp_status get_once(struct engine *engine, const char *address, const char *id,
                                struct wanted *wanted, struct data_progress *progress, int64_t most_silent_ms,
                                struct ranges *done, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_OPEN, .open = {.datum = id}}, reply = {0};
    uint64_t client[2];
    struct extension extension;
    request.open.extensions = data_tell_client(engine, client, &extension);
    struct datum_id parsed;
    enum esp_status status = datum_id_parse(id, &parsed, error);
    if (status == ESP_OK)
        status = data_ask_within(engine, address, &request, most_silent_ms, &reply, error);
    uint64_t from = 0, to = 0;
    if (status == ESP_OK)
        status = find_range(&reply.open_reply.datum, wanted, &from, &to, error);
    if (status == ESP_OK) {
        const struct transfer_options options = {.transport = engine->transport,
                                                 .address = address,
                                                 .key = parsed.key,
                                                 .ticket = reply.open_reply.ticket,
                                                 .bytes = reply.open_reply.datum.bytes,
                                                 .timeout_ms = data_chunk_ms(progress, TRANSFER_SLOW),
                                                 .silence_ms = most_silent_ms,
                                                 .memory = wanted->memory,
                                                 .moved = data_moved,
                                                 .is_late = is_late,
                                                 .arg = progress,
                                                 .helpers = engine->runners};
        status = move(&options, wanted, done, from, to, error);
        if (status != ESP_TIMEOUT) /* who is silent closes it by itself, in a minute */
            data_finish(engine, address, id, reply.open_reply.ticket, NULL);
        if (status == ESP_OK && wanted->piece == ALL_PIECES)
            status = data_join(&reply.open_reply.datum, wanted->memory, error);
    }
    message_clear(&reply);
    return status;
}

/* Whose disk does not give it (which need not mean that it is damaged) is no better a holder than who is
 * gone. */
static bool may_be_had_elsewhere(enum esp_status status)
{
    return transfer_may_go_on(status) || status == ESP_SYSTEM;
}

/* What has come from one holder need not come from the next, for they are the same. */
static enum esp_status get_from_any(struct engine *engine, const char *id, struct wanted *wanted,
                                    struct data_progress *progress, unsigned round, struct ranges *done,
                                    bool *found, struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    size_t n = 0;
    /* The second time all are looked for who have it. */
    enum esp_status status = data_find(engine, id, round > 0, holders, &n, error);
    *found = n > 0;
    for (size_t h = 0; status == ESP_OK && h < n; h++) {
        status = get_once(engine, holders[h].address, id, wanted, progress, silence_ms(progress, round), done,
                          error);
        if (!may_be_had_elsewhere(status) || h + 1 == n)
            break;
        status = ESP_OK; /* the next one */
    }
    return status;
}

static enum esp_status get(struct engine *engine, const char *id, struct wanted *wanted,
                           struct data_told told, struct esp_error *error)
{
    struct data_progress progress = {.told = told, .bytes = wanted->bytes};
    struct ranges done = {0};
    enum esp_status status = ESP_OK;
    bool found = true;
    unsigned failures = 0;
    data_progress_begin(&progress, engine);
    for (unsigned round = 0; failures < DATA_MOST_RESUMED; round++) {
        status = get_from_any(engine, id, wanted, &progress, round, &done, &found, error);
        const bool again = round == 0 ? may_be_had_elsewhere(status) : transfer_may_go_on(status);
        if (!again || !found || atomic_load(&engine->closing) ||
            ((round > 0 || status == ESP_TIMEOUT) && data_is_late(&progress)))
            break;
        failures += status != ESP_TIMEOUT; /* who is silent may be waited for as long as there is patience */
        engine_pause(&engine->closing, INT64_C(100) << failures);
    }
    ranges_clear(&done);
    return status;
}

enum esp_status data_get(struct engine *engine, const char *id, void *memory, uint64_t bytes,
                         struct data_told told, struct esp_error *error)
{
    struct wanted wanted = {.piece = ALL_PIECES, .memory = memory, .bytes = bytes};
    return get(engine, id, &wanted, told, error);
}

enum esp_status data_get_ends(struct engine *engine, const char *id, void *memory, uint64_t bytes,
                              uint64_t head, uint64_t tail, struct esp_error *error)
{
    struct wanted wanted = {
        .piece = BOTH_ENDS, .memory = memory, .bytes = head + tail, .head = head, .tail = tail, .all = bytes};
    return get(engine, id, &wanted, (struct data_told){0}, error);
}

enum esp_status data_get_strings(struct engine *engine, const char *id, void **value, uint64_t *bytes,
                                 uint64_t *n, struct esp_error *error)
{
    struct wanted wanted = {.piece = ALL_PIECES, .strings = true};
    enum esp_status status = get(engine, id, &wanted, (struct data_told){0}, error);
    if (status == ESP_OK)
        status = texts_check(wanted.memory, wanted.bytes, wanted.n, true, error);
    if (status != ESP_OK) {
        free(wanted.memory);
        return status;
    }
    *value = wanted.memory;
    *bytes = wanted.bytes;
    *n = wanted.n;
    return ESP_OK;
}

enum esp_status data_get_piece(struct engine *engine, const char *id, unsigned piece, void *memory,
                               uint64_t bytes, struct data_told told, struct esp_error *error)
{
    struct wanted wanted = {.piece = piece, .memory = memory, .bytes = bytes};
    return get(engine, id, &wanted, told, error);
}
