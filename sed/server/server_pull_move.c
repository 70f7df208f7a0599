/* SPDX-License-Identifier: Apache-2.0
 *
 * The original of a datum comes here. Who has it lets one server at a time have it
 * (sed/server/server_drop.c). First it is here for good, then it goes there: whoever dies in between, it is
 * never lost, and the same move once more ends what was left.
 */
#include "sed/server/server_pull.h"

#include "sed/server/server_data_internal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define TRIES      5
#define PAUSE_MS   100 /* before the second try; twice as long before each further one */
#define LOOK_BYTES ((uint64_t)4 << 20)

enum esp_status pull_promote(struct pull *pull, struct esp_error *error)
{
    struct server *server = pull->server;
    struct store *store = server->data.store;
    struct store_work *work = NULL;
    endpoint_enter(server->endpoint);
    enum esp_status status = store_promote(store, &pull->asker.is, pull->as.key, &work, error);
    endpoint_leave(server->endpoint);
    if (!work)
        return status;
    store_work_do(work);
    endpoint_enter(server->endpoint);
    status = store_work_end(store, work, error);
    endpoint_leave(server->endpoint);
    return status;
}

static enum esp_status tell_giver(struct pull *pull, struct esp_error *error)
{
    char text[DATUM_TEXT];
    const char *name = pull->server->name;
    struct extension moved = {EXTENSION_MOVES, (const uint8_t *)name, (uint32_t)strlen(name)};
    struct message request = {.kind = MESSAGE_FINISH}, reply = {0};
    request.finish = (struct finish){
        .datum = datum_id_text(&pull->id, text), .ticket = pull->ticket, .extensions = {&moved, 1}};
    enum esp_status status =
        transport_call(pull->server->endpoint->transport, pull->giver, &request, PULL_ASK_MS, &reply, error);
    message_clear(&reply);
    return status;
}

/* One that has a replica, or nothing, is not asked for more. */
static enum esp_status ask_giver(struct pull *pull, const char *address, struct esp_error *error)
{
    struct message reply;
    enum esp_status status = pull_open(pull, address, &reply, error);
    const bool gives = status == ESP_OK && extension_find(&reply.open_reply.extensions, EXTENSION_MOVES);
    const uint64_t ticket = status == ESP_OK ? reply.open_reply.ticket : 0;
    message_clear(&reply);
    pull->giver[0] = 0;
    if (gives) {
        snprintf(pull->giver, sizeof pull->giver, "%s", address);
        pull->ticket = ticket;
    } else if (status == ESP_OK) {
        pull_close(pull, address, ticket);
    }
    return status == ESP_NOT_FOUND ? ESP_OK : status;
}

/* The giver does not know this move, as what came took longer than his patience, or he has nothing any more.
 * ESP_BUSY: he is not ready to let go now. */
static enum esp_status claim_again(struct pull *pull, struct esp_error *error)
{
    char giver[sizeof pull->giver];
    memcpy(giver, pull->giver, sizeof giver);
    enum esp_status status = ask_giver(pull, giver, error);
    const bool gives = *pull->giver;
    memcpy(pull->giver, giver, sizeof giver);
    if (status == ESP_OK)
        return gives ? tell_giver(pull, error) : ESP_OK;
    error->status = ESP_BUSY; /* what he says to this is no word on what is here */
    return ESP_BUSY;
}

/* Nobody is to let go for one that was deleted meanwhile, or has left with a server that this one had let
 * have it before; and none leaves so from now on. */
static enum esp_status hold_on(struct pull *pull, struct esp_error *error)
{
    struct server *server = pull->server;
    struct store_entry entry;
    char text[DATUM_TEXT];
    endpoint_enter(server->endpoint);
    enum esp_status status = store_look(server->data.store, &pull->asker.is, &pull->id, &entry, error);
    if (status == ESP_OK && entry.flags & DATUM_REPLICA)
        status =
            error_set(error, ESP_NOT_FOUND, "%s: what is here is a replica", datum_id_short(&pull->id, text));
    if (status == ESP_OK)
        data_reclaim(server, pull->id.key);
    endpoint_leave(server->endpoint);
    return status;
}

static enum esp_status tell(struct pull *pull, struct esp_error *error)
{
    enum esp_status status = hold_on(pull, error);
    if (status != ESP_OK)
        return status;
    status = tell_giver(pull, error);
    return status == ESP_NOT_FOUND ? claim_again(pull, error) : status;
}

static bool may_be_tried_again(enum esp_status status)
{
    return status == ESP_BUSY || status == ESP_UNREACHABLE || status == ESP_MAYBE || status == ESP_TIMEOUT;
}

static enum esp_status persist(struct pull *pull, struct esp_error *error)
{
    enum esp_status status = tell(pull, error);
    for (unsigned i = 1; i < TRIES && may_be_tried_again(status) && !atomic_load(&pull->stop); i++) {
        nanosleep(&(struct timespec){.tv_nsec = (INT64_C(1) << i) * PAUSE_MS / 2 * NS_PER_MS}, NULL);
        status = tell(pull, error);
    }
    return status;
}

enum esp_status pull_take_over(struct pull *pull, struct esp_error *error)
{
    char text[DATUM_TEXT];
    struct esp_error why = {0};
    enum esp_status status = persist(pull, &why);
    if (status == ESP_REFUSED) {
        endpoint_enter(pull->server->endpoint);
        store_depart(pull->server->data.store, &pull->asker.is, &pull->as, NULL, NULL);
        endpoint_leave(pull->server->endpoint);
        pull_close(pull, pull->giver,
                   pull->ticket); /* what was deleted there stays in the memory until then */
        return error_set(error, ESP_REFUSED, "%s", why.text);
    }
    if (status != ESP_OK && hold_on(pull, error) != ESP_OK) {
        pull_close(pull, pull->giver, pull->ticket);
        return error->status;
    }
    if (status != ESP_OK) /* twice is better than not at all */
        log_warning("%s: has moved here, but %s may have it, too: %s", datum_id_short(&pull->id, text),
                    pull->giver, why.text);
    return ESP_OK;
}

/* ---- an original that is here, and elsewhere, too ---- */

enum esp_status pull_find_original(struct pull *pull, bool *is_here, struct esp_error *error)
{
    struct store_entry entry = {.flags = DATUM_REPLICA};
    struct store *store = pull->server->data.store;
    enum esp_status status = ESP_OK;
    *is_here = false;
    if (pull->kind != PULL_MOVED)
        return ESP_OK;
    if (store_has(store, pull->id.key))
        status = store_look(store, &pull->asker.is, &pull->id, &entry, error);
    *is_here = status == ESP_OK && !(entry.flags & DATUM_REPLICA);
    if (!*is_here) /* the one that comes has been promised to nobody */
        data_reclaim(pull->server, pull->id.key);
    return status;
}

static enum esp_status read_piece(struct pull *pull, struct store_pin *pin, uint64_t offset, uint64_t bytes,
                                  struct esp_error *error)
{
    struct store_piece piece;
    struct server *server = pull->server;
    endpoint_enter(server->endpoint);
    enum esp_status status = store_pin_area(pin, offset, bytes, &piece, error);
    endpoint_leave(server->endpoint);
    if (status != ESP_OK)
        return status;
    status = store_piece_read(&piece, error);
    endpoint_enter(server->endpoint);
    store_pin_area_done(server->data.store, pin, &piece, false);
    endpoint_leave(server->endpoint);
    return status;
}

/* What is only on the disk is read, so that nobody lets go of a datum whose file here is damaged. */
static enum esp_status look_at(struct pull *pull, struct store_pin *pin, struct esp_error *error)
{
    const uint64_t bytes = store_pin_shape(pin)->bytes;
    enum esp_status status = ESP_OK;
    for (uint64_t at = 0; status == ESP_OK && at < bytes; at += LOOK_BYTES)
        status = read_piece(pull, pin, at, bytes - at < LOOK_BYTES ? bytes - at : LOOK_BYTES, error);
    return status;
}

static enum esp_status relieve(struct pull *pull, const char *address, struct store_pin *pin, bool *looked,
                               struct esp_error *error)
{
    pull_note_life(pull);
    enum esp_status status = ask_giver(pull, address, error);
    if (status == ESP_OK && *pull->giver && !*looked)
        status = look_at(pull, pin, error);
    *looked |= status == ESP_OK && *pull->giver;
    if (*pull->giver && (status != ESP_OK || (status = persist(pull, error)) != ESP_OK))
        pull_close(pull, address, pull->ticket);
    if (status != ESP_OK && status != ESP_NOT_FOUND)
        error_prefix(error, "it is here already, but %s may have it, too", address);
    return status;
}

enum esp_status pull_settle(struct pull *pull, struct esp_error *error)
{
    struct server *server = pull->server;
    struct store_pin *pin = NULL;
    bool looked = false;
    endpoint_enter(server->endpoint);
    enum esp_status status = store_open_reader(server->data.store, &pull->asker.is, &pull->id, &pin, error);
    endpoint_leave(server->endpoint);
    for (uint32_t i = 0; status == ESP_OK && i < pull->n_addresses && !atomic_load(&pull->stop); i++)
        status = relieve(pull, pull->addresses[i], pin, &looked, error);
    endpoint_enter(server->endpoint);
    store_release(server->data.store, pin, false);
    endpoint_leave(server->endpoint);
    return status;
}
