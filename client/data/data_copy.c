/* SPDX-License-Identifier: Apache-2.0
 *
 * Data that servers fetch from each other.
 */
#include "client/data/data.h"
#include "util/clock.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#define MOST_LOOKED     4    /* times that somebody is looked for who has a datum */
#define PULL_MS         2000 /* of one look at a copy under way, at most; */
#define TOLD_MS         500  /* where somebody is told of it */
#define BUSY_MS         50
#define MOST_EXTENSIONS 4

struct extensions data_tell_client(const struct engine *engine, uint64_t bytes[2],
                                   struct extension *extension)
{
    bytes[0] = htole64(engine->client_high);
    bytes[1] = htole64(engine->client_low);
    *extension = (struct extension){EXTENSION_DATA_CLIENT, (const uint8_t *)bytes, DATA_CLIENT_BYTES};
    return (struct extensions){extension, 1};
}

/* Looks at it until it is there. How long the server waits, for room and for others, is what an answer may
 * take here (call_timeout); one that could not even begin with it, or that ends an earlier transfer of it, is
 * asked again for as long. */
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
        if (status == ESP_OK && told_us->arrived > arrived) { /* it is on its way, not waiting for room */
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

/* As it is kept where it is: a move takes that along. `flags`: DATUM_... of it, or NULL. */
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

/* The first of them that has it says so: agents hear of moves a little later. */
static enum esp_status mode_of(struct engine *engine, const char *id, const struct data_holder *holders,
                               size_t n, uint32_t *mode, struct esp_error *error)
{
    enum esp_status status = ESP_NOT_FOUND;
    for (size_t i = 0; status == ESP_NOT_FOUND && i < n; i++)
        status = mode_at(engine, id, &holders[i], mode, NULL, error);
    return status;
}

/* The datum has moved; one that did not answer then may have a part in it still. */
static enum esp_status tell_unsettled(const char *server, const struct data_holder *other,
                                      enum esp_status status, struct esp_error *error)
{
    if (status != ESP_UNREACHABLE && status != ESP_MAYBE && status != ESP_TIMEOUT)
        return status;
    return error_prefix(
        error, "it is on server %s now, but %s may have it, too, until the same move is ordered again",
        server, other->server);
}

/* The others let go of their replicas. `again`: one has an original, too, as after a death at the end of a
 * move: it leaves with the same move once more. */
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
        if (status == ESP_NOT_FOUND) /* it has left, with the original or before */
            status = ESP_OK;
        tell_unsettled(server, &holders[i], status, error);
    }
    return status;
}

/* Who gave the order has to know who does not answer, and what holds now. `lays`: what is made there goes
 * when nobody asks for it. */
static enum esp_status tell_silence(const char *server, const char *address,
                                    const struct data_holder *holders, size_t n, bool lays,
                                    struct esp_error *error)
{
    const enum esp_status status = error ? error->status : ESP_OK;
    const bool is_unsure = status == ESP_TIMEOUT || status == ESP_MAYBE;
    char names[512] = "", why[sizeof error->text];
    if (!is_unsure && status != ESP_UNREACHABLE)
        return status;
    if (strncmp(error->text, address, strlen(address)) != 0) /* it says itself whom it did not reach */
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

/* Replicas have nothing to give to who is to have the original. */
static enum esp_status check_original(const char *id, const char *server, const struct data_holder *holders,
                                      size_t n, struct esp_error *error)
{
    char text[DATUM_TEXT] = "";
    struct datum_id parsed;
    if (data_has_original(holders, n))
        return ESP_OK;
    if (datum_id_parse(id, &parsed, NULL) == ESP_OK)
        datum_id_short(&parsed, text);
    return error_set(error, ESP_NOT_FOUND, /* agents may hear of it in a moment */
                     "datum %s: %s has a replica of it, and the server with the original cannot be reached: "
                     "try again when that is back; if it never comes back, 'espalier data mv --force ID "
                     "%s' (esp_data_adopt()) makes an original of a replica",
                     text, holders[0].server, server);
}

/* Servers tell those above them that they go in the moment in which they do. */
#define TOLD_ABOVE_MS 400

static bool may_be_back(struct engine *engine, const char *server, const char *was)
{
    char address[CAP_ADDRESS + 1];
    bool waited;
    return engine_await_returning(engine, server, address, &waited) && (waited || strcmp(address, was) != 0);
}

/* One of those between which it travels was not reached. Whether one is there now: it was being started
 * again, or was killed, and is back at another address. */
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

/* `as`: how a move is kept there; NULL: as it is where it is. *again: it failed, and may not the next time.
 */
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
    if (status != ESP_OK) /* it has been waited for */
        return status;
    status = find_for(engine, id, server, move, holders, &n, error);
    *again = status == ESP_NOT_FOUND; /* it has just moved, perhaps, and nobody knows where yet */
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

/* Where it was deleted meanwhile, that is what matters, and not on which way that was noticed. */
static enum esp_status or_gone(struct engine *engine, const char *id, enum esp_status status,
                               struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    struct esp_error why;
    size_t n = 0;
    if (status == ESP_MAYBE) /* it is ordered again without harm: that somebody was lost is what counts */
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

/* Who keeps it for good knows of the others, so that who deletes it hears of those that are down. */
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
    struct data_holder
        items[DATA_MOST_HOLDERS]; /* of originals, without the server that is to keep it, too */
    size_t n;
    char names[DATA_MOST_HOLDERS * (CAP_NAME + 1)];
    size_t bytes;
};

/* All of them hear of the new one, before it has anything. */
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
    /* A name that nobody has would be noted for ever. */
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

/* ---- to lie otherwise ---- */

struct laying {
    const char *id;
    char new_id[DATUM_TEXT];
    unsigned char value[LAID_WORDS * sizeof(uint64_t) + DATUM_TEXT];
    uint64_t client[2];
    uint8_t taken;
    struct extension extensions[3];
};

static void describe(const struct engine *engine, const struct esp_data_layout *layout, struct laying *laying)
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

/* The server is not to delete it: its identity is known here. Said twice it does no harm. */
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

enum esp_status data_redistribute(struct engine *engine, const char *id, const char *server,
                                  const struct esp_data_layout *layout, struct data_told told, char *new_id,
                                  struct esp_error *error)
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
    describe(engine, layout, &laying);
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
