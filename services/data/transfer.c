/* SPDX-License-Identifier: Apache-2.0 */
#include "services/data/transfer.h"
#include "core/message/chunk.h"
#include "util/clock.h"
#include "util/pages.h"

#include <pthread.h>
#include <time.h>

#define PAUSE_MS 20 /* before the second try; multiplied by four before each further one */

struct transfer {
    const struct transfer_options *options;
    pthread_mutex_t lock; /* guards the following members */
    pthread_cond_t left;
    struct ranges *done;
    uint64_t next; /* no thread has taken a piece from here on */
    bool helping;
    enum esp_status status; /* the first failure */
    struct esp_error error;
};

struct message transfer_header(bool put, struct datum_key key, uint64_t ticket, uint64_t offset,
                               uint64_t length)
{
    struct message header = {.kind = put ? MESSAGE_PUT : MESSAGE_GET};
    header.chunk =
        (struct chunk){.session = {.client_high = key.high, .client_low = key.low, .secret = ticket},
                       .offset = offset,
                       .length = length,
                       .flags = CHUNK_DATUM};
    return header;
}

bool transfer_may_go_on(enum esp_status status)
{
    return status == ESP_UNREACHABLE || status == ESP_MAYBE || status == ESP_TIMEOUT ||
           status == ESP_PROTOCOL || status == ESP_NOT_FOUND;
}

static void fail(struct transfer *transfer, const struct esp_error *error)
{
    if (transfer->status != ESP_OK)
        return;
    transfer->status = error->status;
    transfer->error = *error;
}

/* Finds the first piece at or after `from` that is not done. */
static bool find_gap(const struct ranges *done, uint64_t from, uint64_t bytes, struct range *gap)
{
    *gap = (struct range){from, bytes};
    for (uint32_t i = 0; i < done->n; i++) {
        if (done->items[i].to <= gap->from)
            continue;
        if (done->items[i].from > gap->from) {
            gap->to = done->items[i].from;
            break;
        }
        gap->from = done->items[i].to;
    }
    return gap->from < bytes;
}

static bool take_piece(struct transfer *transfer, uint64_t most, struct range *piece)
{
    const struct transfer_options *options = transfer->options;
    struct esp_error error;
    pthread_mutex_lock(&transfer->lock);
    if (options->cancelled && options->cancelled(options->arg)) {
        error_set(&error, ESP_CANCELLED, "cancelled");
        fail(transfer, &error);
    }
    bool found =
        transfer->status == ESP_OK && find_gap(transfer->done, transfer->next, options->bytes, piece);
    if (found) {
        /* Chunks end at multiples of their size, so that pieces of a resumed transfer join. */
        uint64_t end = (piece->from / most + 1) * most;
        if (piece->to > end)
            piece->to = end;
        transfer->next = piece->to;
    }
    pthread_mutex_unlock(&transfer->lock);
    return found;
}

static void pause_ms(int64_t ms)
{
    struct timespec span = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&span, NULL);
}

static enum esp_status move_once(const struct transfer_options *options, const struct range *piece,
                                 struct store_piece *part, struct esp_error *error)
{
    uint64_t offset = piece->from;
    while (offset < piece->to) {
        uint64_t length = piece->to - offset, moved = length;
        struct message header = transfer_header(options->put, options->key, options->ticket, offset, length);
        uint8_t *at = (uint8_t *)part->memory + (offset - piece->from);
        enum esp_status status =
            options->put
                ? transport_put(options->transport, options->address, &header, at, options->timeout_ms,
                                options->still_ms, error)
                : transport_get(options->transport, options->address, &header, at, &moved,
                                options->timeout_ms,
                                options->silence_ms > 0 ? options->silence_ms : options->still_ms, error);
        if (status == ESP_OK && (moved == 0 || moved > length))
            status =
                error_set(error, ESP_PROTOCOL, "%s: a datum of %llu bytes ends at byte %llu",
                          options->address, (unsigned long long)options->bytes, (unsigned long long)offset);
        if (status != ESP_OK)
            return status;
        part->summed = moved == piece->to - piece->from && (header.chunk.flags & CHUNK_HAS_CRC);
        part->crc32c = header.chunk.crc32c;
        offset += moved;
    }
    return ESP_OK;
}

/* Whether to try again. A damaged chunk has status ESP_PROTOCOL. */
static bool may_be_tried_again(const struct transfer_options *options, enum esp_status status)
{
    if ((options->cancelled && options->cancelled(options->arg)) ||
        (options->is_late && options->is_late(options->arg)))
        return false;
    return status != ESP_NOT_FOUND && transfer_may_go_on(status) &&
           !(status == ESP_TIMEOUT && options->silence_ms > 0);
}

static enum esp_status move_piece(const struct transfer_options *options, const struct range *piece,
                                  struct esp_error *error)
{
    uint64_t bytes = piece->to - piece->from;
    struct store_piece part = {.memory = options->memory ? options->memory + piece->from : NULL};
    enum esp_status status =
        options->memory ? ESP_OK : options->area(options->arg, piece->from, bytes, &part, error);
    if (status != ESP_OK)
        return status;
    if (part.fresh)
        pages_touch(part.memory, bytes, true);
    for (unsigned attempt = 0; attempt < TRANSFER_TRIES; attempt++) {
        if (attempt > 0)
            pause_ms((int64_t)PAUSE_MS << (2 * (attempt - 1)));
        status = move_once(options, piece, &part, error);
        if (!may_be_tried_again(options, status))
            break;
    }
    if (options->memory)
        return status;
    struct esp_error why = {0};
    enum esp_status done = options->area_done(options->arg, &part, status == ESP_OK, &why);
    return status != ESP_OK || done == ESP_OK ? status : error_set(error, done, "%s", why.text);
}

static void stream(struct transfer *transfer)
{
    const struct transfer_options *options = transfer->options;
    struct range piece;
    uint64_t most = chunk_length(0, 0);
    while (take_piece(transfer, most, &piece)) {
        struct esp_error error = {0};
        int64_t begun = clock_now_ns(&clock_system);
        enum esp_status status = move_piece(options, &piece, &error);
        most = chunk_length(piece.to - piece.from, clock_now_ns(&clock_system) - begun);
        pthread_mutex_lock(&transfer->lock);
        if (status == ESP_OK)
            status = ranges_add(transfer->done, piece.from, piece.to, &error);
        if (status != ESP_OK)
            fail(transfer, &error);
        else if (options->moved)
            options->moved(options->arg, piece.to - piece.from);
        pthread_mutex_unlock(&transfer->lock);
    }
}

static void help(void *arg)
{
    struct transfer *transfer = arg;
    stream(transfer);
    pthread_mutex_lock(&transfer->lock);
    transfer->helping = false;
    pthread_cond_signal(&transfer->left);
    pthread_mutex_unlock(&transfer->lock);
}

enum esp_status transfer_run(const struct transfer_options *options, struct ranges *done,
                             struct esp_error *error)
{
    struct transfer transfer = {.options = options, .done = done};
    struct thread_job job = {.run = help, .arg = &transfer};
    pthread_mutex_init(&transfer.lock, NULL);
    pthread_cond_init(&transfer.left, NULL);
    transfer.helping = options->helpers && options->bytes > 2 * CHUNK_LONG;
    if (transfer.helping && !thread_pool_submit(options->helpers, &job))
        transfer.helping = false;
    bool submitted = transfer.helping;
    stream(&transfer);
    bool withdrawn = submitted && thread_pool_withdraw(options->helpers, &job);
    pthread_mutex_lock(&transfer.lock);
    while (transfer.helping && !withdrawn)
        pthread_cond_wait(&transfer.left, &transfer.lock);
    pthread_mutex_unlock(&transfer.lock);
    pthread_cond_destroy(&transfer.left);
    pthread_mutex_destroy(&transfer.lock);
    if (transfer.status != ESP_OK && error)
        *error = transfer.error;
    return transfer.status;
}
