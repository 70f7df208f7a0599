/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/bulk.h"
#include "client/session/attempt.h"
#include "client/session/lend.h"
#include "client/session/given_up.h"
#include "client/session/link.h"
#include "core/message/chunk.h"
#include "util/clock.h"

#include <string.h>
#include <time.h>

#define SILENCE_MS    2500 /* if no byte of a piece moves for so long, the server is checked */
#define MOST_SILENCES 10   /* times that a piece may be silent so long while it moves, as links may be slow */

/* Two threads take pieces of one transfer: the session's runner, and a helper from the pool if one is
 * free. */
struct transfer {
    struct session *session;
    bool send;
    pthread_mutex_t lock; /* protects the following members */
    pthread_cond_t left;
    uint32_t value;  /* the next piece: its value */
    uint64_t offset; /* and its offset */
    uint64_t total, moved;
    bool helping;
    enum esp_status status; /* the first failure */
    struct esp_error error;
};

struct piece {
    struct value *value;
    uint64_t offset, length;
};

static uint64_t extent(const struct transfer *transfer, const struct value *value)
{
    return transfer->send ? (value->bulk && !value->datum && !value->lent ? value->bytes : 0) : value->fetch;
}

static uint64_t total(const struct transfer *transfer)
{
    uint64_t bytes = 0;
    const struct invocation *invocation = &transfer->session->invocation;
    for (uint32_t i = 0; i < invocation->n_values; i++)
        bytes += extent(transfer, &invocation->values[i]);
    return bytes;
}

static bool next_piece(struct transfer *transfer, uint64_t most, struct piece *piece)
{
    struct invocation *invocation = &transfer->session->invocation;
    bool found = false;
    pthread_mutex_lock(&transfer->lock);
    if (transfer->status == ESP_OK && session_is_cancelled(transfer->session))
        transfer->status = error_set(&transfer->error, ESP_CANCELLED, "cancelled");
    while (transfer->status == ESP_OK && !found && transfer->value < invocation->n_values) {
        struct value *value = &invocation->values[transfer->value];
        uint64_t left = extent(transfer, value) - transfer->offset;
        if (left == 0) {
            transfer->value++;
            transfer->offset = 0;
            continue;
        }
        *piece = (struct piece){value, transfer->offset, left < most ? left : most};
        transfer->offset += piece->length;
        found = true;
    }
    pthread_mutex_unlock(&transfer->lock);
    return found;
}

static int64_t piece_ms(const struct session *session)
{
    const int64_t most_ms = session_left_ms(session) + GRACE_MS,
                  slow_ms = MOST_SILENCES * session->engine->call_timeout_ms;
    return slow_ms < most_ms ? slow_ms : most_ms;
}

/* The first try is short if another server could take the session, so that a silent server is noticed
 * soon. */
static int64_t silence_ms(const struct session *session, unsigned attempt)
{
    const struct engine *engine = session->engine;
    const bool soon = attempt == 0 && engine->answer_patience_ms > 0 && session_may_move(session);
    return soon && SILENCE_MS < engine->call_timeout_ms ? SILENCE_MS : engine->call_timeout_ms;
}

static enum esp_status move_once(struct transfer *transfer, struct piece *piece, int64_t silence_ms,
                                 struct esp_error *error)
{
    struct session *session = transfer->session;
    struct message header = {.kind = transfer->send ? MESSAGE_PUT : MESSAGE_GET};
    header.chunk = (struct chunk){.session = session->id,
                                  .argument = piece->value->index,
                                  .offset = piece->offset,
                                  .length = piece->length};
    const char *address = session->link->address;
    const int64_t timeout_ms = piece_ms(session);
    if (transfer->send)
        return transport_put(session->engine->transport, address, &header,
                             (const char *)piece->value->in + piece->offset, timeout_ms, silence_ms, error);
    char *memory = piece->value->received ? piece->value->received : piece->value->out;
    while (piece->length > 0) {
        uint64_t moved = 0;
        header.chunk.offset = piece->offset;
        header.chunk.length = piece->length;
        enum esp_status status = transport_get(session->engine->transport, address, &header,
                                               memory + piece->offset, &moved, timeout_ms, silence_ms, error);
        if (status == ESP_OK && (moved == 0 || moved > piece->length))
            status = error_set(error, ESP_PROTOCOL, "a result ended early");
        if (status != ESP_OK)
            return status;
        piece->offset += moved;
        piece->length -= moved;
    }
    return ESP_OK;
}

static bool is_broken(enum esp_status status)
{
    return status == ESP_UNREACHABLE || status == ESP_MAYBE || status == ESP_TIMEOUT;
}

/* A chunk carries its offset, so moving it twice does no harm. */
static enum esp_status move(struct transfer *transfer, struct piece *piece, struct esp_error *error)
{
    const struct session *session = transfer->session;
    struct patience patience = engine_patience(session->engine);
    enum esp_status status = ESP_OK;
    for (unsigned attempt = 0; attempt < MOST_TRIES || attempt_waits(session, &patience, status); attempt++) {
        attempt_pause(session, attempt);
        status = move_once(transfer, piece, silence_ms(session, attempt), error);
        /* A chunk that was damaged on its way is a violation of the protocol. */
        if ((!is_broken(status) && status != ESP_PROTOCOL) || session_left_ms(session) <= 1)
            break;
        if (status == ESP_TIMEOUT && given_up_in_transfer(transfer->session))
            break;
    }
    return status;
}

/* Called with the lock held, so that the caller's function is never called twice at once. */
static void tell_moved(struct transfer *transfer, uint64_t length)
{
    const struct following *following = &transfer->session->following;
    if (!transfer->send || !following->sent)
        return;
    pthread_mutex_lock(&transfer->lock);
    transfer->moved += length;
    following->sent(following->arg, (double)transfer->moved / (double)transfer->total);
    pthread_mutex_unlock(&transfer->lock);
}

static void stream(struct transfer *transfer)
{
    struct piece piece;
    uint64_t most = chunk_length(0, 0);
    while (next_piece(transfer, most, &piece)) {
        struct esp_error error = {0};
        uint64_t length = piece.length;
        int64_t begun = clock_now_ns(transfer->session->engine->clock);
        enum esp_status status = move(transfer, &piece, &error);
        most = chunk_length(length, clock_now_ns(transfer->session->engine->clock) - begun);
        if (status == ESP_OK) {
            tell_moved(transfer, length);
            continue;
        }
        pthread_mutex_lock(&transfer->lock);
        if (transfer->status == ESP_OK) {
            transfer->status = status;
            transfer->error = error;
        }
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

static enum esp_status run_transfer(struct session *session, bool send, struct esp_error *error)
{
    struct transfer transfer = {.session = session, .send = send};
    struct thread_pool *pool = session->engine->runners;
    struct thread_job job = {.run = help, .arg = &transfer};
    uint64_t bytes = total(&transfer);
    if (bytes == 0)
        return ESP_OK;
    int64_t start_ns = clock_now_ns(session->engine->clock);
    const double begun_ns = link_begins(session->link, send);
    session->heavy = true;
    transfer.total = bytes;
    pthread_mutex_init(&transfer.lock, NULL);
    pthread_cond_init(&transfer.left, NULL);
    transfer.helping = bytes > CHUNK_SINGLE;
    if (transfer.helping && !thread_pool_submit(pool, &job))
        transfer.helping = false;
    bool submitted = transfer.helping;
    stream(&transfer);
    bool withdrawn = submitted && thread_pool_withdraw(pool, &job);
    pthread_mutex_lock(&transfer.lock);
    while (transfer.helping && !withdrawn)
        pthread_cond_wait(&transfer.left, &transfer.lock);
    pthread_mutex_unlock(&transfer.lock);
    pthread_cond_destroy(&transfer.left);
    pthread_mutex_destroy(&transfer.lock);
    session->sent_ns += clock_now_ns(session->engine->clock) - start_ns;
    const double own_s = link_ends(session->link, send, begun_ns);
    if (transfer.status == ESP_OK)
        link_learn(session->link, send, bytes, own_s, session->forecast_transfer_s);
    if (transfer.status != ESP_OK)
        *error = transfer.error;
    return transfer.status;
}

/* Whether the server may have lost the session, so that another one must be tried. */
static bool note_lost(struct session *session, enum esp_status status, const struct esp_error *error)
{
    if (!is_broken(status) && status != ESP_NOT_FOUND && status != ESP_STALE)
        return false;
    session->lost = true;
    session->remote_error = *error;
    return true;
}

void bulk_send(struct session *session)
{
    struct esp_error error = {0};
    struct message reply = {0}, request = {.kind = MESSAGE_RUN};
    lend_values(session);
    enum esp_status status = run_transfer(session, true, &error);
    if (status == ESP_CANCELLED)
        return; /* the next step ends the session */
    const bool run = status == ESP_OK;
    if (run) {
        int64_t patience_ms = attempt_patience_ms(session);
        request.run = (struct run){.session = session->id, .patience_ms = (uint64_t)patience_ms};
        status = attempt_ask(session, &request, patience_ms, &reply, &error);
    }
    if (status == ESP_OK) {
        session_absorb(session, &reply.call_reply.session);
        session_enter_queue(session);
        /* A server that still wants chunks would be sent them for ever. */
        if (atomic_load(&session->remote) == SESSION_RECEIVING)
            session_end(session, error_set(&session->error, ESP_PROTOCOL,
                                           "server %s asks for arguments that it was sent", session->server));
    } else if (note_lost(session, status, &error)) {
        session->unbegun = !run;
    } else {
        session->error = error;
        error_prefix(&session->error, "sending arguments to %s", session->server);
        session_end(session, status);
    }
    message_clear(&reply);
}

enum esp_status bulk_receive(struct session *session)
{
    struct esp_error error = {0};
    struct invocation *invocation = &session->invocation;
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        const struct value *value = &invocation->values[i];
        invocation->consumed |= value->fetch > 0 && invocation_overwrites(invocation, value);
    }
    enum esp_status status = run_transfer(session, false, &error);
    if (status != ESP_OK && !note_lost(session, status, &error)) {
        session->error = error;
        if (status != ESP_CANCELLED)
            error_prefix(&session->error, "fetching results from %s", session->server);
    }
    return status;
}
