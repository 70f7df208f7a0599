/* SPDX-License-Identifier: Apache-2.0
 *
 * Data that go from here: deleted, everywhere or here only, or handed over to the server to which they move.
 */
#include "sed/server/server_data_internal.h"

#include "sed/server/server_state.h"

#include <string.h>

/* ---- drop ---- */

/* What is strict goes with its first session, wherever that was: servers tell each other. */
static bool may_drop_for_others(struct server *server, const struct asker *asker, const struct datum_id *id)
{
    struct store_entry entry;
    const struct store_asker trusted = {.identity = asker->identity, .trusted = true};
    return data_is_server(server, asker->identity) &&
           store_look(server->data.store, &trusted, id, &entry, NULL) == ESP_OK && entry.flags & DATUM_STRICT;
}

/* The datum goes everywhere: what is on its way here is given up, and no other copy is taken. */
static enum esp_status drop_all(struct server *server, const struct asker *asker, const struct datum_id *id,
                                struct esp_error *error)
{
    struct esp_error why;
    enum esp_status status = store_delete(server->data.store, &asker->is, id, error);
    if (status != ESP_NOT_FOUND)
        return status;
    enum esp_status coming = server_pull_forbid(server, asker, id, &why);
    if (coming != ESP_OK && coming != ESP_NOT_FOUND)
        return error_set(error, coming, "%s", why.text);
    store_bar(server->data.store, &asker->is, id->key);
    return coming == ESP_OK ? ESP_OK : status;
}

/* After a move only replicas go: an original leaves with the server that takes it. */
static enum esp_status drop_replica(struct server *server, const struct asker *asker,
                                    const struct datum_id *id, const struct extension *to,
                                    struct esp_error *error)
{
    char name[CAP_NAME + 1] = "";
    struct store_entry entry;
    enum esp_status status = store_look(server->data.store, &asker->is, id, &entry, error);
    if (status != ESP_OK || !(entry.flags & DATUM_REPLICA))
        return status;
    if (to->length <= CAP_NAME)
        memcpy(name, to->value, to->length);
    return store_depart(server->data.store, &asker->is, id, *name ? name : NULL, error);
}

/* It lives on elsewhere: not there where it is just leaving, because it comes here. */
static enum esp_status drop_copy(struct server *server, const struct asker *asker, const struct datum_id *id,
                                 struct esp_error *error)
{
    char text[DATUM_TEXT];
    if (server_pull_moves(server, id->key))
        return error_set(
            error, ESP_BUSY,
            "datum %.120s is just moving to server %.80s: delete its copy there when it has come",
            datum_id_short(id, text), server->name);
    return store_depart(server->data.store, &asker->is, id, NULL, error);
}

static enum esp_status drop_offer(struct server *server, uint64_t number, const struct datum_id *id,
                                  struct esp_error *error)
{
    struct ticket *ticket = ticket_shown(server, number, id->key, true, error);
    enum esp_status status =
        ticket ? store_abort(server->data.store, &ticket->asker.is, id->key, error) : error->status;
    if (status == ESP_OK)
        ticket_end(server, ticket);
    return status;
}

/* Also a server may say so, of itself. */
static void settle(struct server *server, struct asker *asker, struct datum_key key,
                   const struct extension *names)
{
    asker->is.trusted = data_is_server(server, asker->identity);
    store_settle_places(server->data.store, &asker->is, key, (const char *)names->value, names->length);
}

void data_on_drop(struct server *server, struct call *call, const struct drop *drop)
{
    struct asker asker;
    struct datum_id id;
    struct esp_error error;
    const struct extension *elsewhere = extension_find(&drop->extensions, EXTENSION_ELSEWHERE),
                           *settled = extension_find(&drop->extensions, EXTENSION_SETTLED);
    asker_of(call, &asker);
    enum esp_status status = datum_id_parse(drop->datum, &id, &error);
    if (status == ESP_OK)
        asker.is.trusted = may_drop_for_others(server, &asker, &id);
    if (status == ESP_OK && extension_find(&drop->extensions, EXTENSION_DAMAGED))
        status = data_drop_damaged(server, call, &id, &error);
    else if (status == ESP_OK && settled)
        settle(server, &asker, id.key, settled);
    else if (status == ESP_OK && drop->ticket != 0)
        status = drop_offer(server, drop->ticket, &id, &error);
    else if (status == ESP_OK && elsewhere && elsewhere->length > 0)
        status = drop_replica(server, &asker, &id, elsewhere, &error);
    else if (status == ESP_OK && elsewhere)
        status = drop_copy(server, &asker, &id, &error);
    else if (status == ESP_OK)
        status = drop_all(server, &asker, &id, &error);
    if (status == ESP_OK)
        data_done(call);
    else
        data_refuse(call, MESSAGE_DONE_REPLY, drop->datum, &error);
}

void data_on_given_up(struct server *server, const struct order *order)
{
    struct asker asker;
    struct datum_id id;
    struct esp_error error;
    const char *owner;
    char text[DATUM_TEXT];
    const struct extension *what = extension_find(&order->extensions, EXTENSION_DISOWNED);
    if (!server->data.store || !datum_given_up_read(what, &id, &owner))
        return;
    asker_set(&asker, owner, false);
    const enum esp_status status = drop_all(server, &asker, &id, &error);
    if (status == ESP_OK)
        log_notice("%s: it was given up while this server was away: it goes", datum_id_short(&id, text));
    else if (status != ESP_NOT_FOUND)
        log_warning("%s: it was given up, and cannot be deleted here now: %s", datum_id_short(&id, text),
                    error.text);
}

/* ---- moves: of several servers that want the original, one gets it ---- */

/* The ticket of the server that may have it in place of this one: there is one at most. */
static struct ticket *claim_of(const struct server *server, struct datum_key key)
{
    struct ticket *ticket;
    for (ticket = server->data.tickets; ticket; ticket = ticket->hh.next)
        if (ticket->moves && !ticket->over && datum_key_equal(ticket->id.key, key))
            return ticket;
    return NULL;
}

static enum esp_status tell_rival(const struct datum_id *id, const char *server, struct esp_error *error)
{
    char text[DATUM_TEXT];
    return error_set(error, ESP_REFUSED,
                     "datum %.120s is being moved to server %.80s, and has one place: move it "
                     "again when it is there",
                     datum_id_short(id, text), server);
}

/* That server may have died in the middle: who reads the error is to know when another one is let in. */
static enum esp_status tell_claimed(const struct server *server, const struct ticket *claim,
                                    struct esp_error *error)
{
    char text[DATUM_TEXT];
    const int64_t silent_ns = claim->moving > 0 ? 0 : server_now(server) - claim->heard_ns;
    if (silent_ns < NS_PER_S)
        return tell_rival(&claim->id, claim->copy->server, error);
    return error_set(error, ESP_REFUSED,
                     "datum %.120s is being moved to server %.80s, of which nothing was heard for %lld s: "
                     "move it again when it is there, or, if that server has gone, after %lld s of silence",
                     datum_id_short(&claim->id, text), claim->copy->server, (long long)(silent_ns / NS_PER_S),
                     (long long)(DATA_TICKET_LEASE_NS / NS_PER_S));
}

/* Whether what is here is the original. ESP_NOT_FOUND. */
static enum esp_status look_at_original(struct server *server, const struct store_asker *asker,
                                        const struct datum_id *id, struct store_entry *entry,
                                        struct esp_error *error)
{
    char text[DATUM_TEXT];
    enum esp_status status = store_look(server->data.store, asker, id, entry, error);
    if (status == ESP_OK && entry->flags & DATUM_REPLICA)
        status = error_set(error, ESP_NOT_FOUND,
                           "server %.80s has a replica of datum %.120s, and not the original", server->name,
                           datum_id_short(id, text));
    return status;
}

enum esp_status data_claim(struct server *server, struct ticket *ticket, const struct extensions *extensions,
                           struct esp_error *error)
{
    struct store_entry entry;
    if (!extension_find(extensions, EXTENSION_MOVES))
        return ESP_OK;
    if (!ticket->copy)
        return error_set(error, ESP_PROTOCOL,
                         "expected the name and the address of the server that a datum moves to, found none");
    struct ticket *other = claim_of(server, ticket->id.key);
    if (other && strcmp(other->copy->server, ticket->copy->server) == 0) {
        ticket_end(server, other); /* its own, that is past */
        other = NULL;
    }
    enum esp_status status = look_at_original(server, &ticket->asker.is, &ticket->id, &entry, error);
    if (status == ESP_OK)
        status = datum_may_leave(entry.mode, entry.flags, true, error);
    if (status == ESP_OK && other)
        status = tell_claimed(server, other, error);
    /* Two servers that both have it, and each of which is to be the only one, must not both let go of it. */
    if (status == ESP_OK &&
        (server_pull_moves(server, ticket->id.key) || strcmp(ticket->copy->server, server->name) == 0))
        status = tell_rival(&ticket->id, server->name, error);
    ticket->moves = status == ESP_OK;
    return status;
}

void data_reclaim(struct server *server, struct datum_key key)
{
    struct ticket *ticket = claim_of(server, key);
    if (ticket)
        ticket->moves = false;
}

/* The original is here, and who says to have taken it was not let in for that, or is heard late: he may have
 * let another have it meanwhile, even this server. */
static enum esp_status refuse_late(struct server *server, const struct datum_id *id,
                                   const struct ticket *claim, const char *to, struct esp_error *error)
{
    if (claim && strcmp(claim->copy->server, to) != 0)
        return tell_claimed(server, claim, error);
    if (server_pull_moves(server, id->key))
        return tell_rival(id, server->name, error);
    return error_set(error, ESP_NOT_FOUND,
                     "server %.80s does not know this move (it was restarted, or nothing was heard for %lld "
                     "s): ask again",
                     server->name, (long long)(DATA_TICKET_LEASE_NS / NS_PER_S));
}

static enum esp_status hand_over(struct server *server, uint64_t number, const struct datum_id *id,
                                 const char *to, struct esp_error *error)
{
    struct store_entry entry;
    const struct store_asker anybody = {.trusted = true}; /* the ticket says who may */
    struct ticket *claim = claim_of(server, id->key);
    enum esp_status status = look_at_original(server, &anybody, id, &entry, error);
    if (status == ESP_NOT_FOUND && copies_has_moved(server, id->key, to))
        return ESP_OK; /* said again */
    if (status == ESP_NOT_FOUND && store_was_deleted(server->data.store, id->key))
        return error->status = ESP_REFUSED;
    if (status == ESP_OK && (!claim || claim->number != number || strcmp(claim->copy->server, to) != 0))
        status = refuse_late(server, id, claim, to, error);
    if (status == ESP_OK)
        status = store_depart(server->data.store, &claim->asker.is, id, to, error);
    if (status == ESP_OK) {
        ticket_end(server, claim);
        copies_note_moved(server, id->key, to);
    }
    return status;
}

void data_hand_over(struct server *server, struct call *call, const struct finish *finish,
                    const struct datum_id *id, const struct extension *to)
{
    struct esp_error error;
    char name[CAP_NAME + 1] = "";
    if (to->length <= CAP_NAME)
        memcpy(name, to->value, to->length);
    if (hand_over(server, finish->ticket, id, name, &error) == ESP_OK)
        data_done(call);
    else
        data_refuse(call, MESSAGE_DONE_REPLY, finish->datum, &error);
}
