/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/data.h"
#include "client/data/sequence.h"
#include "client/session/library.h"
#include "client/session/engine.h"
#include "core/choice/terms.h"
#include "core/problem/texts.h"
#include "core/redistribution/pieces.h"
#include "services/data/transfer.h"
#include "util/clock.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DATA_MOST_RESUMED 5 /* times that a transfer continues with a new ticket */

struct data_progress {
    struct data_told told;
    uint64_t bytes, moved;
    _Atomic int64_t since_ns; /* last movement, or the beginning */
    int64_t patience_ns;      /* time without movement that is tolerated: as long as an answer may take */
    int64_t until_ns;         /* end of the whole transfer (client/session/patience.h) */
};

static enum esp_status data_get_piece(struct engine *engine, const char *id, unsigned piece, void *memory,
                                      uint64_t bytes, struct data_told told, struct esp_error *error);

#define LEAST_MS 200

static void data_progress_begin(struct data_progress *progress, const struct engine *engine)
{
    const int64_t left_ms = deadline_left_ms(engine->clock, INT64_MAX);
    progress->since_ns = clock_now_ns(&clock_system);
    progress->patience_ns = engine->call_timeout_ms * NS_PER_MS;
    progress->until_ns =
        left_ms < CLOCK_NEVER / NS_PER_MS / 2 ? progress->since_ns + left_ms * NS_PER_MS : CLOCK_NEVER;
}

/* Whether nothing has moved for too long, or the time is over. */
static bool data_is_late(const struct data_progress *progress)
{
    const int64_t now_ns = clock_now_ns(&clock_system);
    return now_ns - progress->since_ns > progress->patience_ns || now_ns > progress->until_ns;
}

static int64_t until_ms(const struct data_progress *progress, int64_t then_ns)
{
    const int64_t end_ns = then_ns < progress->until_ns ? then_ns : progress->until_ns,
                  left_ms = (end_ns - clock_now_ns(&clock_system)) / NS_PER_MS;
    return left_ms > LEAST_MS ? left_ms : LEAST_MS;
}

/* How much longer a pause may last; at least a moment. */
static int64_t data_left_ms(const struct data_progress *progress)
{
    return until_ms(progress, progress->since_ns + progress->patience_ns);
}

/* Limit of a chunk that begins now: so many times the tolerated pause. */
static int64_t data_chunk_ms(const struct data_progress *progress, unsigned patiences)
{
    return until_ms(progress, clock_now_ns(&clock_system) + patiences * progress->patience_ns);
}

/* For transfers whose `arg` is a struct data_progress. */
static void data_moved(void *arg, uint64_t bytes)
{
    struct data_progress *progress = arg;
    progress->moved += bytes;
    progress->since_ns = clock_now_ns(&clock_system);
    if (progress->told.tell && progress->bytes > 0)
        progress->told.tell(progress->told.arg, (double)progress->moved / (double)progress->bytes);
}

/* Ends the ticket of an offer (which makes the datum visible) or of an open. */
static enum esp_status data_finish(struct engine *engine, const char *address, const char *id,
                                   uint64_t ticket, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_FINISH, .finish = {.datum = id, .ticket = ticket}}, reply = {0};
    enum esp_status status = data_ask(engine, address, &request, &reply, error);
    message_clear(&reply);
    return status;
}

/* Moves only [from, to) of a datum into or from this memory. */
static enum esp_status data_move_range(const struct transfer_options *options, const struct ranges *done,
                                       uint64_t from, uint64_t to, const void *memory,
                                       struct esp_error *error)
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

/* Data that servers fetch from each other. */

#define MOST_LOOKED     4    /* times that holders are looked up */
#define PULL_MS         2000 /* limit of one question about a copy under way */
#define TOLD_MS         500  /* the same if progress is reported */
#define BUSY_MS         50
#define MOST_EXTENSIONS 4

/* The client whose lease the data have. `bytes` and `extension` live as long as the message. */
static struct extensions data_tell_client(const struct engine *engine, uint64_t bytes[2],
                                          struct extension *extension)
{
    bytes[0] = htole64(engine->client_high);
    bytes[1] = htole64(engine->client_low);
    *extension = (struct extension){EXTENSION_DATA_CLIENT, (const uint8_t *)bytes, DATA_CLIENT_BYTES};
    return (struct extensions){extension, 1};
}

/* Asks the server until the copy is there. The server waits for room and for other transfers as long as an
 * answer may take here (call_timeout). A server that could not begin, or that first ends an earlier
 * transfer of the datum, is asked again for as long. */
static enum esp_status watch(struct engine *engine, const char *address, const struct message *request,
                             struct data_told told, struct esp_error *error)
{
    int64_t until_ns = clock_now_ns(&clock_system) + engine->call_timeout_ms * NS_PER_MS;
    uint64_t arrived = 0;
    for (;;) {
        struct message reply = {0};
        enum esp_status status =
            transport_call(engine->transport, address, request, engine->call_timeout_ms, &reply, error);
        const struct pull_reply *told_us = &reply.pull_reply;
        bool complete = told_us->complete;
        if (status == ESP_OK && told.tell && (complete || told_us->bytes > 0))
            told.tell(told.arg, complete ? 1 : (double)told_us->arrived / (double)told_us->bytes);
        if (status == ESP_OK && told_us->arrived > arrived) { /* it is under way, not waiting for room */
            arrived = told_us->arrived;
            until_ns = clock_now_ns(&clock_system) + engine->call_timeout_ms * NS_PER_MS;
        }
        message_clear(&reply);
        if (status == ESP_BUSY && clock_now_ns(&clock_system) < until_ns && !atomic_load(&engine->closing))
            engine_pause(&engine->closing, BUSY_MS);
        else if (status != ESP_OK || complete)
            return status;
        else if (atomic_load(&engine->closing))
            return error_set(error, ESP_CANCELLED, "it was given up before all of it was there");
    }
}

static enum esp_status pull(struct engine *engine, const char *id, const char *address,
                            const struct data_holder *holders, size_t n, const struct pull_request *wish,
                            struct data_told told, struct esp_error *error)
{
    const char *sources[DATA_MOST_HOLDERS];
    struct extension extensions[MOST_EXTENSIONS];
    struct message request = {.kind = MESSAGE_PULL, .pull = *wish};
    const int64_t look_ms = told.tell ? TOLD_MS : PULL_MS, half_ms = engine->call_timeout_ms / 2;
    const uint64_t wait_ms = htole64((uint64_t)engine->call_timeout_ms);
    uint32_t n_extensions = wish->extensions.n;
    for (uint32_t i = 0; i < n_extensions; i++)
        extensions[i] = wish->extensions.items[i];
    extensions[n_extensions++] =
        (struct extension){EXTENSION_PATIENCE, (const uint8_t *)&wait_ms, sizeof wait_ms};
    for (size_t i = 0; i < n; i++)
        sources[i] = holders[i].address;
    request.pull.datum = id;
    request.pull.sources = sources;
    request.pull.n_sources = (uint32_t)n;
    request.pull.patience_ms = (uint64_t)(look_ms < half_ms ? look_ms : half_ms);
    request.pull.extensions = (struct extensions){extensions, n_extensions};
    return watch(engine, address, &request, told, error);
}

/* Returns the mode and flags with which the holder keeps the datum; a move takes them along. `flags`:
 * DATUM_..., or NULL. */
static enum esp_status mode_at(struct engine *engine, const char *id, const struct data_holder *holder,
                               uint32_t *mode, uint32_t *flags, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_DATA, .data = {.datum = id, .after = ""}}, reply = {0};
    enum esp_status status = data_ask(engine, holder->address, &request, &reply, error);
    const bool is_there = status == ESP_OK && reply.data_reply.n > 0;
    *mode = is_there ? reply.data_reply.items[0].mode : 0;
    if (flags)
        *flags = is_there ? reply.data_reply.items[0].flags : DATUM_REPLICA;
    message_clear(&reply);
    return status;
}

/* Asks the first holder that has it, because agents learn of moves a little later. */
static enum esp_status mode_of(struct engine *engine, const char *id, const struct data_holder *holders,
                               size_t n, uint32_t *mode, struct esp_error *error)
{
    enum esp_status status = ESP_NOT_FOUND;
    for (size_t i = 0; status == ESP_NOT_FOUND && i < n; i++)
        status = mode_at(engine, id, &holders[i], mode, NULL, error);
    return status;
}

/* The datum has moved; a server that did not answer then may still have a copy. */
static enum esp_status tell_unsettled(const char *server, const struct data_holder *other,
                                      enum esp_status status, struct esp_error *error)
{
    if (status != ESP_UNREACHABLE && status != ESP_MAYBE && status != ESP_TIMEOUT)
        return status;
    return error_prefix(
        error, "it is on server %s now, but %s may have it, too, until the same move is ordered again",
        server, other->server);
}

/* Deletes the replicas at the other holders. `again`: one of them has an original, too, because a process
 * died at the end of a move; the same move, repeated, removes that. */
static enum esp_status drop_others(struct engine *engine, const char *id, const char *server,
                                   const struct data_holder *holders, size_t n, bool *again,
                                   struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    *again = false;
    for (size_t i = 0; status == ESP_OK && i < n; i++) {
        uint32_t mode, flags = DATUM_REPLICA;
        if (strcmp(holders[i].server, server) == 0)
            continue;
        status = data_drop_at(engine, id, &holders[i], server, error);
        if (status == ESP_OK)
            status = mode_at(engine, id, &holders[i], &mode, &flags, error);
        *again |= status == ESP_OK && !(flags & DATUM_REPLICA);
        if (status == ESP_NOT_FOUND) /* it has left with the original, or before */
            status = ESP_OK;
        tell_unsettled(server, &holders[i], status, error);
    }
    return status;
}

/* Says in the error which server does not answer, and what state the datum is in. `lays`: the copy that is
 * being made there is deleted if no client asks for it. */
static enum esp_status tell_silence(const char *server, const char *address,
                                    const struct data_holder *holders, size_t n, bool lays,
                                    struct esp_error *error)
{
    const enum esp_status status = error ? error->status : ESP_OK;
    const bool is_unsure = status == ESP_TIMEOUT || status == ESP_MAYBE;
    char names[512] = "", why[sizeof error->text];
    if (!is_unsure && status != ESP_UNREACHABLE)
        return status;
    if (strncmp(error->text, address, strlen(address)) != 0) /* it names that server */
        return error_prefix(error, "server %s", server);
    for (size_t i = 0, used = 0; i < n && used + CAP_NAME + 3 < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", holders[i].server);
    error_prefix_at(error, server, address);
    snprintf(why, sizeof why, "%s", error->text);
    return error_set(
        error, status,
        "server %s, which is to have it, %s: nothing is lost, %s has it still%s%s; 'espalier tree' "
        "shows who answers (%s)",
        server, is_unsure ? "does not answer" : "cannot be reached", names,
        !is_unsure ? ""
        : lays     ? ", and what this server makes of it is deleted there when it goes on"
                   : ", and so may this server when it goes on ('espalier data info' tells)",
        is_unsure ? "; order it again then, which does no harm" : ", and nothing was moved", why);
}

/* A replica cannot give the original to another server. */
static enum esp_status check_original(const char *id, const char *server, const struct data_holder *holders,
                                      size_t n, struct esp_error *error)
{
    char text[DATUM_TEXT] = "";
    struct datum_id parsed;
    if (data_has_original(holders, n))
        return ESP_OK;
    if (datum_id_parse(id, &parsed, NULL) == ESP_OK)
        datum_id_short(&parsed, text);
    return error_set(error, ESP_NOT_FOUND, /* agents may learn of it in a moment */
                     "datum %s: %s has a replica of it, and the server with the original cannot be reached: "
                     "try again when that is back; if it never comes back, 'espalier data mv --force ID "
                     "%s' (esp_data_adopt()) makes an original of a replica",
                     text, holders[0].server, server);
}

/* Servers report a deletion to their agents at the moment in which they delete. */
#define TOLD_ABOVE_MS 400

static bool may_be_back(struct engine *engine, const char *server, const char *was)
{
    char address[CAP_ADDRESS + 1];
    bool waited;
    return engine_await_returning(engine, server, address, &waited) && (waited || strcmp(address, was) != 0);
}

/* The source or the destination was not reached. Returns whether it is there now: it was restarting, or
 * was killed and is back at another address. */
static bool await_ends(struct engine *engine, const char *server, const char *address,
                       const struct data_holder *holders, size_t n)
{
    engine_pause(&engine->closing, TOLD_ABOVE_MS);
    bool back = may_be_back(engine, server, address);
    for (size_t i = 0; i < n; i++)
        back |= may_be_back(engine, holders[i].server, holders[i].address);
    return back;
}

static enum esp_status find_for(struct engine *engine, const char *id, const char *server, bool move,
                                struct data_holder *holders, size_t *n, struct esp_error *error)
{
    struct data_witnesses unread;
    if (!move)
        return data_find(engine, id, true, holders, n, error);
    const enum esp_status status = data_find_told(engine, id, true, holders, n, &unread, error);
    return status == ESP_OK ? check_original(id, server, holders, *n, error) : status;
}

/* `as`: how the moved datum is kept; NULL: as before. *again: the failure may not repeat. */
static enum esp_status copy_once(struct engine *engine, const char *id, const char *server, bool move,
                                 const struct pull_request *as, struct data_told told, bool *again,
                                 struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    char address[CAP_ADDRESS + 1];
    size_t n = 0;
    struct pull_request wish = {.flags = move ? 0 : DATUM_REPLICA};
    bool once_more = false;
    if (as)
        wish = *as;
    *again = false;
    enum esp_status status = engine_await_name(engine, server, address, error);
    if (status != ESP_OK) /* the wait is over */
        return status;
    status = find_for(engine, id, server, move, holders, &n, error);
    *again = status == ESP_NOT_FOUND; /* it may have just moved, and its new place is not known yet */
    if (status != ESP_OK)
        return status;
    if (move && !as)
        status = mode_of(engine, id, holders, n, &wish.mode, error);
    if (status == ESP_OK && (status = pull(engine, id, address, holders, n, &wish, told, error)) != ESP_OK)
        tell_silence(server, address, holders, n, false, error);
    if (status == ESP_OK && move)
        status = drop_others(engine, id, server, holders, n, &once_more, error);
    if (status == ESP_OK && once_more)
        status = pull(engine, id, address, holders, n, &wish, told, error);
    *again = status == ESP_NOT_FOUND || ((status == ESP_UNREACHABLE || status == ESP_MAYBE) &&
                                         await_ends(engine, server, address, holders, n));
    return status;
}

/* If the datum was deleted meanwhile, the error says so instead of how the transfer failed. */
static enum esp_status or_gone(struct engine *engine, const char *id, enum esp_status status,
                               struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    struct esp_error why;
    size_t n = 0;
    if (status == ESP_MAYBE) /* the order may be repeated without harm; the lost server is what counts */
        status = error->status = ESP_UNREACHABLE;
    if (status == ESP_OK || status == ESP_TIMEOUT || status == ESP_BUSY || atomic_load(&engine->closing) ||
        data_find(engine, id, false, holders, &n, &why) != ESP_NOT_FOUND)
        return status;
    return error_set(error, ESP_NOT_FOUND, "%s", why.text);
}

static enum esp_status copy(struct engine *engine, const char *id, const char *server, bool move,
                            const struct pull_request *as, struct data_told told, struct esp_error *error)
{
    enum esp_status status = ESP_NOT_FOUND;
    bool again = true;
    for (unsigned i = 0; again && i < MOST_LOOKED; i++) {
        if (i > 0)
            engine_pause(&engine->closing, INT64_C(100) << (i - 1));
        status = copy_once(engine, id, server, move, as, told, &again, error);
    }
    return or_gone(engine, id, status, error);
}

enum esp_status data_copy(struct engine *engine, const char *id, const char *server, bool move,
                          struct data_told told, struct esp_error *error)
{
    return copy(engine, id, server, move, NULL, told, error);
}

enum esp_status data_move_as(struct engine *engine, const char *id, const char *server, enum datum_mode mode,
                             uint32_t flags, struct esp_error *error)
{
    const struct pull_request moved = {.mode = mode, .flags = flags};
    return copy(engine, id, server, true, &moved, (struct data_told){0}, error);
}

/* ---- originals on several servers ---- */

/* A server that keeps the datum for good knows the other ones, so that a deletion notices those that are
 * down. */
static enum esp_status note_places(struct engine *engine, const char *id, const char *address,
                                   const char *names, size_t bytes, struct esp_error *error)
{
    struct extension places = {EXTENSION_PLACES, (const uint8_t *)names, (uint32_t)bytes};
    struct message request = {.kind = MESSAGE_PULL}, reply = {0};
    request.pull = (struct pull_request){
        .datum = id, .flags = DATUM_REPLICA, .patience_ms = PULL_MS, .extensions = {&places, 1}};
    enum esp_status status = data_ask(engine, address, &request, &reply, error);
    message_clear(&reply);
    return status;
}

struct keepers {
    struct data_holder items[DATA_MOST_HOLDERS]; /* servers with originals, and the one that will keep it */
    size_t n;
    char names[DATA_MOST_HOLDERS * (CAP_NAME + 1)];
    size_t bytes;
};

/* Announces the new server to all of them before it gets the datum. */
static enum esp_status announce(struct engine *engine, const char *id, const char *server,
                                struct keepers *keepers, struct esp_error *error)
{
    keepers->n = keepers->bytes = 0;
    enum esp_status status = data_find(engine, id, true, keepers->items, &keepers->n, error);
    for (size_t i = 0; status == ESP_OK && i < keepers->n; i++) {
        const struct data_holder *holder = &keepers->items[i];
        if (holder->flags & DATUM_REPLICA || strcmp(holder->server, server) == 0)
            continue;
        status = note_places(engine, id, holder->address, server, strlen(server) + 1, error);
        if (status == ESP_NOT_FOUND) { /* it has just left */
            status = ESP_OK;
            continue;
        }
        keepers->bytes += (size_t)sprintf(keepers->names + keepers->bytes, "%s", holder->server) + 1;
    }
    return status;
}

enum esp_status data_copy_kept(struct engine *engine, const char *id, const char *server,
                               enum datum_mode mode, uint32_t flags, struct esp_error *error)
{
    struct keepers keepers;
    char address[CAP_ADDRESS + 1];
    const struct data_told nobody = {0};
    const struct pull_request kept = {.mode = mode, .flags = flags | DATUM_KEPT_COPY};
    if (flags & DATUM_UNIQUE && data_move_as(engine, id, server, mode, flags, error) != ESP_OK)
        return error->status;
    /* An unknown name would be noted for ever. */
    enum esp_status status = engine_await_name(engine, server, address, error);
    if (status == ESP_OK)
        status = announce(engine, id, server, &keepers, error);
    if (status == ESP_OK)
        status = copy(engine, id, server, false, &kept, nobody, error);
    if (status != ESP_OK || keepers.bytes == 0)
        return status;
    status = engine_resolve(engine, server, address, error);
    return status == ESP_OK ? note_places(engine, id, address, keepers.names, keepers.bytes, error) : status;
}

/* ---- other distributions ---- */

struct laying {
    const char *id;
    char new_id[DATUM_TEXT];
    unsigned char value[LAID_WORDS * sizeof(uint64_t) + DATUM_TEXT];
    uint64_t client[2];
    uint8_t taken;
    struct extension extensions[3];
};

static void describe_layout(const struct engine *engine, const struct esp_data_layout *layout,
                            struct laying *laying)
{
    const uint64_t words[LAID_WORDS] = {htole64(layout->rows), htole64(layout->cols),
                                        htole64((uint64_t)layout->row_block),
                                        htole64((uint64_t)layout->col_block)};
    size_t length = strlen(laying->new_id);
    memcpy(laying->value, words, sizeof words);
    memcpy(laying->value + sizeof words, laying->new_id, length);
    data_tell_client(engine, laying->client, &laying->extensions[0]);
    laying->extensions[1] =
        (struct extension){EXTENSION_LAID, laying->value, (uint32_t)(sizeof words + length)};
    laying->extensions[2] = (struct extension){EXTENSION_LAID_TAKEN, &laying->taken, 1};
}

static enum esp_status lay_once(struct engine *engine, struct laying *laying, const char *server,
                                const char *address, struct data_told told, struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    const struct pull_request wish = {.extensions = {laying->extensions, 3}};
    size_t n = 0;
    enum esp_status status = data_find(engine, laying->id, true, holders, &n, error);
    if (status == ESP_OK &&
        (status = pull(engine, laying->id, address, holders, n, &wish, told, error)) != ESP_OK)
        tell_silence(server, address, holders, n, true, error);
    return status;
}

/* Takes the new datum, so that the server does not delete it: its identity is known here. Repeating this
 * does no harm. */
static enum esp_status take(struct engine *engine, struct laying *laying, const char *server,
                            const char *address, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_PULL}, reply = {0};
    laying->taken = 1;
    request.pull = (struct pull_request){.datum = laying->id, .extensions = {laying->extensions, 3}};
    enum esp_status status = data_ask(engine, address, &request, &reply, error);
    message_clear(&reply);
    if (status != ESP_OK && status != ESP_NOT_FOUND)
        error_prefix(error,
                     "server %s has made %s, and deletes it unless it has heard that it is known here "
                     "('espalier data info' tells)",
                     server, laying->new_id);
    laying->taken = 0;
    return status;
}

/* Has the server make another datum of the same value, and writes its identity to `new_id` (DATUM_TEXT
 * bytes). Blocks. */
static enum esp_status data_redistribute(struct engine *engine, const char *id, const char *server,
                                         const struct esp_data_layout *layout, struct data_told told,
                                         char *new_id, struct esp_error *error)
{
    struct datum_id drawn;
    struct laying laying = {.id = id};
    char address[CAP_ADDRESS + 1];
    enum esp_status status = engine_await_name(engine, server, address, error);
    if (status == ESP_OK)
        status = datum_id_draw(server, &drawn, error);
    if (status != ESP_OK)
        return status;
    datum_id_text(&drawn, laying.new_id);
    describe_layout(engine, layout, &laying);
    status = ESP_NOT_FOUND;
    for (unsigned i = 0; status == ESP_NOT_FOUND && i < MOST_LOOKED; i++) {
        if (i > 0)
            engine_pause(&engine->closing, INT64_C(100) << (i - 1));
        status = lay_once(engine, &laying, server, address, told, error);
        if (status == ESP_OK)
            status = take(engine, &laying, server, address, error);
    }
    memcpy(new_id, laying.new_id, sizeof laying.new_id);
    return or_gone(engine, id, status, error);
}

/* Puts data on servers. */

#define FIRST_WAIT_MS   50 /* for a server that is restarting */
#define LONGEST_WAIT_MS 500

struct putting {
    struct engine *engine;
    const char *server; /* its name */
    char address[CAP_ADDRESS + 1];
    const char *id;
    struct datum_key key;
    struct datum_info datum;
    /* One of three: the whole datum, its pieces, or a source that makes it part by part. */
    const void *data;
    const void *const *pieces;
    const struct esp_data_source *source;
    struct data_progress progress;
};

/* Counts the ranges that the server does not have as missing, the rest as done. */
static enum esp_status take_gaps(const struct offer_reply *offer, uint64_t bytes, struct ranges *done,
                                 struct esp_error *error)
{
    uint64_t at = 0;
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; status == ESP_OK && i <= offer->n_gaps; i++) {
        uint64_t to = i < offer->n_gaps ? offer->gaps[i].from : bytes;
        if (to > bytes || to < at)
            return error_set(error, ESP_PROTOCOL, "the server reports gaps that are impossible");
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

/* Ends the ticket, because the server need not wait for bytes that cannot be sent. */
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

/* A server that is about to restart takes no data, and is waited for as calls wait for it. A repeated
 * offer is the same one. */
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

/* The server may be restarting at another address: what it had of the datum is then sent anew. */
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
                              const struct datum_info *datum, const struct esp_data_source *source,
                              struct data_told told, char *id, struct esp_error *error)
{
    struct putting putting = {.engine = engine,
                              .datum = *datum,
                              .source = source,
                              .progress = {.told = told, .bytes = datum->bytes}};
    return put_as(&putting, server, address, id, error);
}

/* data_put() from pieces, whose layout is in *datum (data_lay()). */
static enum esp_status data_put_pieces(struct engine *engine, const char *server, const char *address,
                                       const struct datum_info *datum, const void *const *pieces,
                                       struct data_told told, char *id, struct esp_error *error)
{
    struct putting putting = {.engine = engine,
                              .datum = *datum,
                              .pieces = pieces,
                              .progress = {.told = told, .bytes = datum->bytes}};
    return put_as(&putting, server, address, id, error);
}

/* Data in pieces, as the ranks of parallel servers have them. */

/* ---- layouts from servers ---- */

static struct datum_shape shape_of(const struct datum_info *datum)
{
    struct datum_shape shape = {.type = (enum base_type)datum->type,
                                .n_dims = datum->n_dims,
                                .storage = (enum storage)datum->storage,
                                .layout = {datum->layout_a, datum->layout_b, datum->layout_c},
                                .row_major = datum->row_major,
                                .bytes = datum->bytes};
    for (uint32_t i = 0; i < datum->n_dims && i < CAP_DIMS; i++)
        shape.dims[i] = datum->dims[i];
    return shape;
}

bool data_layout(const struct datum_info *datum, struct block_cyclic_matrix *layout)
{
    const struct datum_shape shape = shape_of(datum);
    return datum_shape_check(&shape, NULL) == ESP_OK && datum_shape_layout(&shape, layout);
}

enum esp_status data_fits(const struct datum_info *datum, const struct datum_shape *described,
                          struct esp_error *error)
{
    struct datum_shape expected = *described, found = shape_of(datum), whole = found;
    enum esp_status status = datum_shape_check(&found, error);
    if (status != ESP_OK)
        return error_prefix(error, "what the server says of the datum makes no sense");
    expected.row_major = found.row_major;
    /* For a partly stored matrix, the extents are those of the stored part. */
    whole.storage = STORAGE_FULL;
    memset(whole.layout, 0, sizeof whole.layout);
    if (found.type != TYPE_STRING && datum_shape_complete(&whole, NULL) == ESP_OK &&
        datum_shape_fits(&expected, &whole, "", NULL) == ESP_OK)
        return ESP_OK;
    return datum_shape_fits(&expected, &found, "the data", error);
}

/* With a single rank the block sizes do not matter, so any valid ones will do. */
static struct block_cyclic_matrix as_given(const struct datum_info *datum,
                                           const struct esp_data_layout *layout)
{
    return pieces_grid(datum->n_dims > 0 ? datum->dims[0] : 1, datum->n_dims > 1 ? datum->dims[1] : 1,
                       layout->rows, layout->cols, layout->row_block, layout->col_block);
}

/* Sets the layout of a datum that is described as a whole. Returns ESP_INVALID if it is impossible. */
static enum esp_status data_lay(struct datum_info *datum, const struct esp_data_layout *layout,
                                struct esp_error *error)
{
    struct datum_shape shape = shape_of(datum);
    const struct block_cyclic_matrix matrix = as_given(datum, layout);
    enum esp_status status = datum_shape_spread(&shape, &matrix, error);
    datum->storage = shape.storage;
    datum->layout_a = shape.layout[0];
    datum->layout_b = shape.layout[1];
    datum->layout_c = shape.layout[2];
    return status;
}

/* Arranges a datum that has arrived in pieces, in place. */
static enum esp_status data_join(const struct datum_info *datum, void *memory, struct esp_error *error)
{
    struct block_cyclic_matrix layout;
    if (!data_layout(datum, &layout) || datum->bytes == 0)
        return ESP_OK;
    void *pieces = malloc(datum->bytes);
    if (!pieces)
        return error_no_memory(error, "putting a datum together");
    memcpy(pieces, memory, datum->bytes);
    pieces_join(&layout, pieces, memory, base_type_size((enum base_type)datum->type));
    free(pieces);
    return ESP_OK;
}

/* ---- for programs ---- */

static enum esp_status describe(const struct esp_argument *array, const struct esp_data_layout *layout,
                                enum esp_data_mode mode, struct datum_info *datum, struct esp_error *error)
{
    struct datum_shape shape = {.type = (enum base_type)(array->type - 1), .n_dims = array->n_dims};
    if (array->type == ESP_TYPE_ANY || array->type > ESP_TYPE_DOUBLE_COMPLEX || array->n_dims < 1 ||
        array->n_dims > 2)
        return error_set(
            error, ESP_INVALID,
            "expected a vector or a matrix of numbers or characters, found %u dimensions of type %s",
            array->n_dims, esp_type_name(array->type));
    memcpy(shape.dims, array->dims, array->n_dims * sizeof *shape.dims);
    enum esp_status status = datum_shape_complete(&shape, error);
    *datum = (struct datum_info){.type = shape.type,
                                 .dims = (int64_t *)(uintptr_t)array->dims,
                                 .n_dims = array->n_dims,
                                 .bytes = shape.bytes,
                                 .mode = mode,
                                 .created_s = (int64_t)time(NULL)};
    return status == ESP_OK ? data_lay(datum, layout, error) : status;
}

uint64_t esp_data_piece_elements(const struct esp_argument *array, const struct esp_data_layout *layout,
                                 unsigned piece)
{
    struct datum_info datum;
    if (!array || !layout || describe(array, layout, ESP_DATA_VOLATILE, &datum, NULL) != ESP_OK)
        return 0;
    const struct block_cyclic_matrix matrix = as_given(&datum, layout);
    return piece < block_cyclic_matrix_ranks(&matrix) ? pieces_count(&matrix, piece) : 0;
}

/* The pieces of a whole array. Their memory is one block, *cut, which the caller frees. */
static enum esp_status cut(const struct datum_info *datum, const struct esp_data_layout *layout,
                           const void *whole, const void ***pieces, void **all, struct esp_error *error)
{
    const struct block_cyclic_matrix matrix = as_given(datum, layout);
    int64_t n = block_cyclic_matrix_ranks(&matrix);
    size_t element = base_type_size((enum base_type)datum->type);
    *all = malloc(datum->bytes ? datum->bytes : 1);
    *pieces = calloc((size_t)n, sizeof **pieces);
    if (!*all || !*pieces)
        return error_no_memory(error, "cutting an array into pieces");
    pieces_cut(&matrix, whole, *all, element);
    uint64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        (*pieces)[i] = (const char *)*all + at;
        at += pieces_count(&matrix, i) * element;
    }
    return ESP_OK;
}

static enum esp_status check_pieces(const struct datum_info *datum, const struct esp_data_layout *layout,
                                    const void *const *pieces, struct esp_error *error)
{
    const struct block_cyclic_matrix matrix = as_given(datum, layout);
    for (int64_t i = 0; i < block_cyclic_matrix_ranks(&matrix); i++)
        if (!pieces[i] && pieces_count(&matrix, i) > 0)
            return error_set(error, ESP_INVALID, "expected memory of piece %lld, found NULL", (long long)i);
    return ESP_OK;
}

static enum esp_status put_on(struct engine *engine, const char *server, const struct datum_info *datum,
                              const void *const *pieces, struct data_told told, char **id,
                              struct esp_error *error)
{
    char address[CAP_ADDRESS + 1], text[DATUM_TEXT] = "";
    enum esp_status status = engine_await_name(engine, server, address, error);
    if (status == ESP_OK)
        status = data_put_pieces(engine, server, address, datum, pieces, told, text, error);
    if (status == ESP_OK && !(*id = strdup(text)))
        status = error_no_memory(error, "the identity of a datum");
    return status;
}

enum esp_status esp_data_put_pieces(const char *server, const struct esp_argument *array,
                                    const struct esp_data_layout *layout, const void *const *pieces,
                                    enum esp_data_mode mode, esp_data_progress *progress, void *arg,
                                    char **id)
{
    struct esp_error *error = library_error();
    const struct data_told told = {progress, arg};
    struct datum_info datum;
    void *all = NULL;
    const void **own = NULL;
    if (!server || !array || !layout || !id || (!pieces && !array->data))
        return error_set(
            error, ESP_INVALID,
            "expected a server, an array with its layout and memory, and a place for the identity, "
            "found NULL");
    if (describe(array, layout, mode, &datum, error) != ESP_OK)
        return error->status;
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status =
        pieces ? check_pieces(&datum, layout, pieces, error) : sequence_sync(array->data, datum.bytes, error);
    if (status == ESP_OK && !pieces)
        status = cut(&datum, layout, array->data, &own, &all, error);
    if (status == ESP_OK)
        status = put_on(library->engine, server, &datum, pieces ? pieces : own, told, id, error);
    library_leave(status == ESP_OK);
    free(own);
    free(all);
    return status;
}

enum esp_status esp_data_get_piece(const char *id, unsigned piece, void *memory, uint64_t bytes,
                                   esp_data_progress *progress, void *arg)
{
    struct esp_error *error = library_error();
    const struct data_told told = {progress, arg};
    if (!id || (!memory && bytes > 0))
        return error_set(error, ESP_INVALID, "expected an identity and memory, found NULL");
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status = sequence_sync(memory, bytes, error);
    if (status == ESP_OK)
        status = data_get_piece(library->engine, id, piece, memory, bytes, told, error);
    library_leave(status == ESP_OK);
    return status;
}

enum esp_status esp_data_redistribute(const char *from, const char *server,
                                      const struct esp_data_layout *layout, esp_data_progress *progress,
                                      void *arg, char **id)
{
    struct esp_error *error = library_error();
    const struct data_told told = {progress, arg};
    char text[DATUM_TEXT];
    if (!from || !server || !layout || !id)
        return error_set(
            error, ESP_INVALID,
            "expected an identity, a server, a layout and a place for the new identity, found NULL");
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    enum esp_status status = data_redistribute(library->engine, from, server, layout, told, text, error);
    if (status == ESP_OK && !(*id = strdup(text)))
        status = error_no_memory(error, "the identity of a datum");
    library_leave(status == ESP_OK);
    return status;
}

/* Reads data from servers. */

#define ALL_PIECES (-1)
#define BOTH_ENDS  (-2)

/* The part to read: the whole datum, one piece, or its ends. */
struct wanted {
    int64_t piece; /* ALL_PIECES: the datum */
    void *memory;
    uint64_t bytes;      /* of `memory` */
    uint64_t head, tail; /* BOTH_ENDS: first and last bytes to read, and size of the datum */
    uint64_t all;
    bool strings; /* an array of strings; `memory` is allocated when the size is known, for the caller */
    uint64_t n;   /* then: their number */
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

/* If no byte arrives for so long, the next holder is tried. If all are silent, they are asked again, each
 * time for twice as long. */
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
        if (status != ESP_TIMEOUT) /* a silent server closes the ticket by itself, in a minute */
            data_finish(engine, address, id, reply.open_reply.ticket, NULL);
        if (status == ESP_OK && wanted->piece == ALL_PIECES)
            status = data_join(&reply.open_reply.datum, wanted->memory, error);
    }
    message_clear(&reply);
    return status;
}

/* A server whose disk does not return the datum (which need not mean damage) is like a server that is
 * gone: another holder is tried. */
static bool may_be_had_elsewhere(enum esp_status status)
{
    return transfer_may_go_on(status) || status == ESP_SYSTEM;
}

/* Bytes that one holder has sent are not fetched from the next, because all copies are equal. */
static enum esp_status get_from_any(struct engine *engine, const char *id, struct wanted *wanted,
                                    struct data_progress *progress, unsigned round, struct ranges *done,
                                    bool *found, struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    size_t n = 0;
    /* The second round looks up all holders. */
    enum esp_status status = data_find(engine, id, round > 0, holders, &n, error);
    *found = n > 0;
    for (size_t h = 0; status == ESP_OK && h < n; h++) {
        status = get_once(engine, holders[h].address, id, wanted, progress, silence_ms(progress, round), done,
                          error);
        if (!may_be_had_elsewhere(status) || h + 1 == n)
            break;
        status = ESP_OK; /* try the next one */
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
        failures += status != ESP_TIMEOUT; /* a silent server may be waited for while patience lasts */
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

/* Reads one piece of a datum in pieces. Blocks. */
static enum esp_status data_get_piece(struct engine *engine, const char *id, unsigned piece, void *memory,
                                      uint64_t bytes, struct data_told told, struct esp_error *error)
{
    struct wanted wanted = {.piece = piece, .memory = memory, .bytes = bytes};
    return get(engine, id, &wanted, told, error);
}
