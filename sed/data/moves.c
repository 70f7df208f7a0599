/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/data/data_internal.h"

#include "core/choice/fetchers.h"
#include "core/choice/terms.h"
#include "util/bytes.h"

#include <stdlib.h>
#include <string.h>

/*
 * Clients put data (offer, finish), and clients and servers read them (open, finish).
 */

/* ---- offer ---- */

static struct message *offer_answer(struct server_data *data, const struct ticket *ticket)
{
    struct message *reply = message_create(MESSAGE_OFFER_REPLY);
    uint64_t from = 0;
    if (!reply)
        return NULL;
    struct offer_reply *to = &reply->offer_reply;
    to->ticket = ticket->number;
    to->gaps = arena_alloc(&reply->arena, CAP_GAPS * sizeof *to->gaps);
    while (to->gaps && to->n_gaps < CAP_GAPS) {
        struct range gap;
        if (store_missing(data->store, &ticket->asker.is, ticket->id.key, from, &gap, NULL) != ESP_OK ||
            gap.from == gap.to)
            break;
        to->gaps[to->n_gaps++] = (struct datum_gap){gap.from, gap.to};
        from = gap.to;
    }
    if (to->n_gaps == CAP_GAPS) /* all bytes from there on count as missing */
        to->gaps[CAP_GAPS - 1].to = ticket->bytes;
    return reply;
}

static enum esp_status check_origin(const struct server_data *data, const struct datum_id *id,
                                    struct esp_error *error)
{
    if (!strcmp(id->origin, data->options.name))
        return ESP_OK;
    return error_set(error, ESP_INVALID,
                     "its identity says that it is made by server %s, but it is offered to server %s",
                     id->origin, data->options.name);
}

/* There is a datum of that key: ESP_REFUSED if it has another shape. */
static enum esp_status check_same(struct server_data *data, const struct datum_id *id,
                                  const struct asker *asker, const struct datum_shape *shape,
                                  struct esp_error *error)
{
    struct store_entry entry;
    enum esp_status status = store_look(data->store, &asker->is, id, &entry, error);
    if (status == ESP_OK && memcmp(entry.shape.dims, shape->dims, sizeof shape->dims) != 0)
        status =
            error_set(error, ESP_REFUSED, "a datum of that identity and of another shape is here already");
    return status;
}

static struct ticket *begin(struct server_data *data, const struct offer *offer, const struct datum_id *id,
                            const struct datum_shape *shape, const struct asker *asker,
                            struct esp_error *error)
{
    struct store_new fresh = {.id = id,
                              .shape = *shape,
                              .mode = (enum datum_mode)offer->datum.mode,
                              .flags = offer->datum.flags & DATUM_ALL_FLAGS & ~(uint32_t)DATUM_REPLICA,
                              .created_s = offer->datum.created_s};
    struct datum_id made;
    struct ticket *ticket = ticket_create(data, id, asker, true, error);
    if (!ticket)
        return NULL;
    ticket->bytes = shape->bytes;
    if (store_begin(data->store, &ticket->asker.is, &fresh, &made, error) == ESP_OK)
        return ticket;
    ticket_end(data, ticket);
    return NULL;
}

/* If this server is restarting, the answer says that the client may wait for it. */
static void refuse_offer(const struct server_data *data, struct call *call, const char *datum,
                         const struct esp_error *error)
{
    struct message *reply;
    if (error->status != ESP_UNREACHABLE || !data->ops->is_back_soon(data->server)) {
        data_refuse(call, MESSAGE_OFFER_REPLY, datum, error);
        return;
    }
    reply = message_failure(MESSAGE_OFFER_REPLY, error->status, "%s", error->text);
    if (reply)
        extension_add(&reply->offer_reply.extensions, EXTENSION_AWAITED, "", 0, &reply->arena);
    call_reply(call, reply);
}

void data_on_offer(struct server_data *data, struct call *call, const struct offer *offer)
{
    struct asker asker;
    struct datum_shape shape;
    struct datum_id id;
    struct esp_error error;
    struct ticket *ticket = NULL;
    data_asker_of(data, call, &offer->extensions, &asker);
    enum esp_status status = datum_id_parse(offer->datum.datum, &id, &error);
    if (status == ESP_OK)
        status = check_origin(data, &id, &error);
    if (status == ESP_OK)
        status = data_shape(&offer->datum, &shape, &error);
    if (status == ESP_OK)
        status = data->ops->takes(data->server, &error);
    if (status == ESP_OK && store_has(data->store, id.key)) {
        status = check_same(data, &id, &asker, &shape, &error);
        if (status == ESP_OK) {
            call_reply(call, message_create(MESSAGE_OFFER_REPLY));
            return;
        }
    } else if (status == ESP_OK) {
        ticket = ticket_of_offer(data, id.key);
        if (ticket && (strcmp(ticket->asker.identity, asker.identity) != 0 || ticket->bytes != shape.bytes)) {
            status =
                error_set(&error, ESP_REFUSED, "a datum of that identity is being put by another client");
        } else if (!ticket) {
            ticket = begin(data, offer, &id, &shape, &asker, &error);
            status = ticket ? ESP_OK : error.status;
        }
    }
    if (status != ESP_OK) {
        refuse_offer(data, call, offer->datum.datum, &error);
        return;
    }
    ticket->heard_ns = data_now(data);
    call_reply(call, offer_answer(data, ticket));
}

/* ---- open ---- */

struct message *data_open_answer(struct server_data *data, const struct ticket *ticket)
{
    struct store_entry entry;
    struct message *reply = message_create(MESSAGE_OPEN_REPLY);
    struct extension *extension;
    struct esp_error error;
    if (!reply)
        return NULL;
    reply->open_reply.ticket = ticket->number;
    if (store_look(data->store, &ticket->asker.is, &ticket->id, &entry, &error) == ESP_OK &&
        data_record(data, &entry, &reply->arena, &reply->open_reply.datum)) {
        replicas_answer(data, ticket, &entry, reply);
        if (ticket->moves && (extension = arena_alloc(&reply->arena, sizeof *extension))) {
            *extension = (struct extension){EXTENSION_MOVES, (const uint8_t *)"", 0};
            reply->open_reply.extensions = (struct extensions){extension, 1};
        }
        return reply;
    }
    message_destroy(reply);
    return message_failure(MESSAGE_OPEN_REPLY, ESP_NOT_FOUND, "it was deleted in this very moment");
}

/* `then` of an open whose pieces porters lend: the datum is in memory. */
static void opened(struct chore *chore, enum esp_status status, const struct esp_error *error)
{
    struct server_data *data = chore->data;
    struct ticket *ticket = chore->ticket;
    ticket->heard_ns = data_now(data);
    if (chore->call && status == ESP_OK) {
        loans_make(data, chore->call, ticket);
        return;
    }
    if (status != ESP_OK)
        ticket->pin = NULL; /* it is gone */
    if (chore->call)
        call_reply(chore->call, message_failure(MESSAGE_OPEN_REPLY, status, "%s", error->text));
    ticket_end(data, ticket);
}

/* Pins the datum: in memory as a whole for porters, else piece by piece. */
static enum esp_status pin(struct server_data *data, struct ticket *ticket, struct chore *chore,
                           struct store_work **work, struct esp_error *error)
{
    if (!ticket->lends)
        return store_open_reader(data->store, &ticket->asker.is, &ticket->id, &ticket->pin, error);
    if (!chore)
        return error_no_memory(error, "reading a datum");
    return store_open(data->store, &ticket->asker.is, &ticket->id, &ticket->pin, work, error);
}

bool data_is_server(const struct server_data *data, const char *identity)
{
    const struct config_strings *known = data->options.data_servers;
    for (size_t i = 0; known && *identity && i < known->n; i++)
        if (strcmp(known->items[i], identity) == 0)
            return true;
    return false;
}

void data_tell_fetchers(const struct server_data *data, uint32_t argument, const struct datum_id *id,
                        struct response *response, struct arena *arena)
{
    const struct config_strings *known = data->options.data_servers;
    const struct store_asker all = {.identity = "", .trusted = true};
    struct store_entry entry;
    if (store_look(data->store, &all, id, &entry, NULL) != ESP_OK)
        return;
    const bool anybody = entry.flags & DATUM_SHARED;
    static const char *const nobody[] = {""};
    const char *const *names = known && known->n > 0 ? (const char *const *)known->items : nobody;
    fetchers_tell(&response->extensions, argument, data->options.name, entry.owner, anybody ? NULL : names,
                  known ? known->n : 0, arena);
}

/* A server without the right to the datum asks: the error says how to give it that right. */
static void tell_how(const struct server_data *data, const struct asker *asker,
                     const struct extensions *extensions, struct esp_error *error)
{
    const bool fetches =
        extension_find(extensions, EXTENSION_COPIES) || extension_find(extensions, EXTENSION_PORTERS);
    if (!fetches || error->status != ESP_REFUSED || asker->is.trusted || !*asker->identity)
        return;
    const struct esp_error why = *error;
    error_set(
        error, why.status,
        "%s: to let that server fetch it, add \"%.80s\" to data_servers in the file of server %.80s, and "
        "restart that",
        why.text, asker->identity, data->options.name);
}

void data_on_open(struct server_data *data, struct call *call, const struct open *open)
{
    struct asker asker;
    struct datum_id id;
    struct esp_error error;
    struct store_work *work = NULL;
    struct ticket *ticket = NULL;
    struct chore *chore = NULL;
    data_asker_of(data, call, &open->extensions, &asker);
    asker.is.trusted = data_is_server(data, asker.identity);
    enum esp_status status = datum_id_parse(open->datum, &id, &error);
    if (status == ESP_OK) {
        ticket = ticket_create(data, &id, &asker, false, &error);
        status = ticket ? ESP_OK : error.status;
    }
    if (status == ESP_OK) {
        ticket->copy = copy_read(id.key, &open->extensions);
        const struct extension *porters = extension_find(&open->extensions, EXTENSION_PORTERS);
        ticket->lends = porters != NULL;
        ticket->lends_sealed = porters && porters->length > 0;
        chore = ticket->lends ? chore_for(call, ticket, opened) : NULL;
        status = pin(data, ticket, chore, &work, &error);
        if (status != ESP_OK)
            tell_how(data, &asker, &open->extensions, &error);
    }
    if (status == ESP_OK && !work)
        status = data_claim(data, ticket, &open->extensions, &error);
    if (status != ESP_OK) {
        free(chore);
        if (ticket)
            ticket_end(data, ticket);
        data_refuse(call, MESSAGE_OPEN_REPLY, open->datum, &error);
        return;
    }
    ticket->bytes = store_pin_shape(ticket->pin)->bytes;
    if (ticket->lends) {
        server_data_chore(data, chore, work);
        return;
    }
    replicas_note(ticket, &open->extensions);
    call_reply(call, data_open_answer(data, ticket));
}

/* ---- finish ---- */

static void committed(struct chore *chore, enum esp_status status, const struct esp_error *error)
{
    char text[DATUM_TEXT], bytes[BYTES_TEXT];
    if (status == ESP_OK)
        log_notice("%s: stored, %s", datum_id_short(&chore->ticket->id, text),
                   bytes_text(chore->ticket->bytes, bytes));
    else /* the client does not try again */
        store_abort(chore->data->store, &chore->ticket->asker.is, chore->ticket->id.key, NULL);
    ticket_end(chore->data, chore->ticket);
    if (chore->call && status == ESP_OK)
        data_done(chore->call);
    else if (chore->call)
        call_reply(chore->call, message_failure(MESSAGE_DONE_REPLY, status, "%s", error->text));
}

static void finish_offer(struct server_data *data, struct call *call, struct ticket *ticket)
{
    struct esp_error error;
    struct store_work *work = NULL;
    struct chore *chore = chore_for(call, ticket, committed);
    enum esp_status status = chore ? ESP_OK : error_no_memory(&error, "storing a datum");
    if (status == ESP_OK)
        status = store_commit(data->store, &ticket->asker.is, ticket->id.key, &work, &error);
    if (status == ESP_OK) {
        server_data_chore(data, chore, work);
        return;
    }
    free(chore);
    data_refuse(call, MESSAGE_DONE_REPLY, NULL, &error);
}

void data_on_finish(struct server_data *data, struct call *call, const struct finish *finish)
{
    struct datum_id id;
    struct esp_error error;
    if (datum_id_parse(finish->datum, &id, &error) != ESP_OK) {
        data_refuse(call, MESSAGE_DONE_REPLY, NULL, &error);
        return;
    }
    const struct extension *moved = extension_find(&finish->extensions, EXTENSION_MOVES);
    if (moved) {
        data_hand_over(data, call, finish, &id, moved);
        return;
    }
    struct ticket *ticket = ticket_find(data, finish->ticket);
    if (ticket && datum_key_equal(ticket->id.key, id.key) && ticket->put) {
        finish_offer(data, call, ticket);
    } else if (ticket && datum_key_equal(ticket->id.key, id.key)) {
        ticket_end(data, ticket);
        data_done(call);
    } else if (store_has(data->store, id.key)) {
        data_done(call); /* said again */
    } else {
        ticket_shown(data, finish->ticket, id.key, true, &error);
        data_refuse(call, MESSAGE_DONE_REPLY, finish->datum, &error);
    }
}

/*
 * Replicas. A server that fetches a datum for a session says so. The server with the original counts the
 * requests of each server, and lets the servers that ask most keep their copies
 * (services/data/replication.h). Other copies are dropped when they are unused for a while.
 */

enum esp_status replicas_create(struct server_data *data, struct esp_error *error)
{
    const struct server_data_options *options = &data->options;
    const struct replication_options replication = {.asks = options->replica_asks,
                                                    .most_copies = options->replicas,
                                                    .most_bytes = options->replica_bytes,
                                                    .clock = data->options.clock};
    if (options->replicas == 0)
        return ESP_OK;
    return replication_create(&replication, &data->replication, error);
}

void replicas_note(struct ticket *ticket, const struct extensions *extensions)
{
    const struct extension *fetcher = extension_find(extensions, EXTENSION_FETCHER);
    if (fetcher && fetcher->length > 0 && fetcher->length <= CAP_NAME)
        ticket->fetcher =
            strndup((const char *)fetcher->value, fetcher->length); /* NULL: the request is not counted */
}

void replicas_answer(struct server_data *data, const struct ticket *ticket, const struct store_entry *entry,
                     struct message *reply)
{
    static const uint8_t yes = 1, no = 0;
    struct extension *extension = ticket->fetcher ? arena_alloc(&reply->arena, sizeof *extension) : NULL;
    if (!extension)
        return;
    /* Copies of copies are not counted. */
    bool stays = data->replication && !(entry->flags & DATUM_REPLICA) &&
                 replication_asked(data->replication, entry->id.key, entry->shape.bytes, ticket->fetcher);
    *extension = (struct extension){EXTENSION_REPLICA, stays ? &yes : &no, 1};
    reply->open_reply.extensions = (struct extensions){extension, 1};
}

/*
 * Data that leave: they are deleted everywhere, deleted here only, or handed to the server to which they
 * move.
 */

/* ---- drop ---- */

/* Other servers may delete strict data: these go with the first session that has used them. */
static bool may_drop_for_others(struct server_data *data, const struct asker *asker,
                                const struct datum_id *id)
{
    struct store_entry entry;
    const struct store_asker trusted = {.identity = asker->identity, .trusted = true};
    return data_is_server(data, asker->identity) &&
           store_look(data->store, &trusted, id, &entry, NULL) == ESP_OK && entry.flags & DATUM_STRICT;
}

/* The datum is deleted everywhere: ends a transfer to this server, and takes no copy from now on. */
static enum esp_status drop_all(struct server_data *data, const struct asker *asker,
                                const struct datum_id *id, struct esp_error *error)
{
    struct esp_error why;
    enum esp_status status = store_delete(data->store, &asker->is, id, error);
    if (status != ESP_NOT_FOUND)
        return status;
    enum esp_status coming = pull_forbid(data, asker, id, &why);
    if (coming != ESP_OK && coming != ESP_NOT_FOUND)
        return error_set(error, coming, "%s", why.text);
    store_bar(data->store, &asker->is, id->key);
    return coming == ESP_OK ? ESP_OK : status;
}

/* After a move, deletes a replica only: data_hand_over() deletes the original. */
static enum esp_status drop_replica(struct server_data *data, const struct asker *asker,
                                    const struct datum_id *id, const struct extension *to,
                                    struct esp_error *error)
{
    char name[CAP_NAME + 1] = "";
    struct store_entry entry;
    enum esp_status status = store_look(data->store, &asker->is, id, &entry, error);
    if (status != ESP_OK || !(entry.flags & DATUM_REPLICA))
        return status;
    if (to->length <= CAP_NAME)
        memcpy(name, to->value, to->length);
    return store_depart(data->store, &asker->is, id, *name ? name : NULL, error);
}

/* Deletes the copy here, unless the original is moving here. */
static enum esp_status drop_copy(struct server_data *data, const struct asker *asker,
                                 const struct datum_id *id, struct esp_error *error)
{
    char text[DATUM_TEXT];
    if (pull_moves(data, id->key))
        return error_set(
            error, ESP_BUSY,
            "datum %.120s is just moving to server %.80s: delete its copy there when it has come",
            datum_id_short(id, text), data->options.name);
    return store_depart(data->store, &asker->is, id, NULL, error);
}

static enum esp_status drop_offer(struct server_data *data, uint64_t number, const struct datum_id *id,
                                  struct esp_error *error)
{
    struct ticket *ticket = ticket_shown(data, number, id->key, true, error);
    enum esp_status status =
        ticket ? store_abort(data->store, &ticket->asker.is, id->key, error) : error->status;
    if (status == ESP_OK)
        ticket_end(data, ticket);
    return status;
}

/* Forgets that those servers keep the datum. A server may say so of itself. */
static void settle(struct server_data *data, struct asker *asker, struct datum_key key,
                   const struct extension *names)
{
    asker->is.trusted = data_is_server(data, asker->identity);
    store_settle_places(data->store, &asker->is, key, (const char *)names->value, names->length);
}

void data_on_drop(struct server_data *data, struct call *call, const struct drop *drop)
{
    struct asker asker;
    struct datum_id id;
    struct esp_error error;
    const struct extension *elsewhere = extension_find(&drop->extensions, EXTENSION_ELSEWHERE),
                           *settled = extension_find(&drop->extensions, EXTENSION_SETTLED);
    asker_of(call, &asker);
    enum esp_status status = datum_id_parse(drop->datum, &id, &error);
    if (status == ESP_OK)
        asker.is.trusted = may_drop_for_others(data, &asker, &id);
    if (status == ESP_OK && settled)
        settle(data, &asker, id.key, settled);
    else if (status == ESP_OK && drop->ticket != 0)
        status = drop_offer(data, drop->ticket, &id, &error);
    else if (status == ESP_OK && elsewhere && elsewhere->length > 0)
        status = drop_replica(data, &asker, &id, elsewhere, &error);
    else if (status == ESP_OK && elsewhere)
        status = drop_copy(data, &asker, &id, &error);
    else if (status == ESP_OK)
        status = drop_all(data, &asker, &id, &error);
    if (status == ESP_OK)
        data_done(call);
    else
        data_refuse(call, MESSAGE_DONE_REPLY, drop->datum, &error);
}

void server_data_on_given_up(struct server_data *data, const struct order *order)
{
    struct asker asker;
    struct datum_id id;
    struct esp_error error;
    const char *owner;
    char text[DATUM_TEXT];
    const struct extension *what = extension_find(&order->extensions, EXTENSION_DISOWNED);
    if (!data->store || !datum_given_up_read(what, &id, &owner))
        return;
    asker_set(&asker, owner, false);
    const enum esp_status status = drop_all(data, &asker, &id, &error);
    if (status == ESP_OK)
        log_notice("%s: it was given up while this server was away: it goes", datum_id_short(&id, text));
    else if (status != ESP_NOT_FOUND)
        log_warning("%s: it was given up, and cannot be deleted here now: %s", datum_id_short(&id, text),
                    error.text);
}

/* ---- moves: of several servers that want the original, one gets it ---- */

/* The ticket with which the original was promised to a server; there is one at most. */
static struct ticket *claim_of(const struct server_data *data, struct datum_key key)
{
    struct ticket *ticket;
    for (ticket = data->tickets; ticket; ticket = ticket->hh.next)
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

/* That server may have died in the middle: the error says when another server is let in. */
static enum esp_status tell_claimed(const struct server_data *data, const struct ticket *claim,
                                    struct esp_error *error)
{
    char text[DATUM_TEXT];
    const int64_t silent_ns = claim->moving > 0 ? 0 : data_now(data) - claim->heard_ns;
    if (silent_ns < NS_PER_S)
        return tell_rival(&claim->id, claim->copy->server, error);
    return error_set(error, ESP_REFUSED,
                     "datum %.120s is being moved to server %.80s, of which nothing was heard for %lld s: "
                     "move it again when it is there, or, if that server has gone, after %lld s of silence",
                     datum_id_short(&claim->id, text), claim->copy->server, (long long)(silent_ns / NS_PER_S),
                     (long long)(DATA_TICKET_LEASE_NS / NS_PER_S));
}

/* ESP_NOT_FOUND: there is no original here. */
static enum esp_status look_at_original(struct server_data *data, const struct store_asker *asker,
                                        const struct datum_id *id, struct store_entry *entry,
                                        struct esp_error *error)
{
    char text[DATUM_TEXT];
    enum esp_status status = store_look(data->store, asker, id, entry, error);
    if (status == ESP_OK && entry->flags & DATUM_REPLICA)
        status = error_set(error, ESP_NOT_FOUND,
                           "server %.80s has a replica of datum %.120s, and not the original",
                           data->options.name, datum_id_short(id, text));
    return status;
}

enum esp_status data_claim(struct server_data *data, struct ticket *ticket,
                           const struct extensions *extensions, struct esp_error *error)
{
    struct store_entry entry;
    if (!extension_find(extensions, EXTENSION_MOVES))
        return ESP_OK;
    if (!ticket->copy)
        return error_set(error, ESP_PROTOCOL,
                         "expected the name and the address of the server that a datum moves to, found none");
    struct ticket *other = claim_of(data, ticket->id.key);
    if (other && strcmp(other->copy->server, ticket->copy->server) == 0) {
        ticket_end(data, other); /* an earlier ticket of the same server */
        other = NULL;
    }
    enum esp_status status = look_at_original(data, &ticket->asker.is, &ticket->id, &entry, error);
    if (status == ESP_OK)
        status = datum_may_leave(entry.mode, entry.flags, true, error);
    if (status == ESP_OK && other)
        status = tell_claimed(data, other, error);
    /* Of two servers that both have an original, only one may delete it. */
    if (status == ESP_OK &&
        (pull_moves(data, ticket->id.key) || strcmp(ticket->copy->server, data->options.name) == 0))
        status = tell_rival(&ticket->id, data->options.name, error);
    ticket->moves = status == ESP_OK;
    return status;
}

void data_reclaim(struct server_data *data, struct datum_key key)
{
    struct ticket *ticket = claim_of(data, key);
    if (ticket)
        ticket->moves = false;
}

/* The original is here, and was not promised to the server that says it has taken it, or the promise has
 * ended: that server may have given the original away meanwhile, even to this server. */
static enum esp_status refuse_late(struct server_data *data, const struct datum_id *id,
                                   const struct ticket *claim, const char *to, struct esp_error *error)
{
    if (claim && strcmp(claim->copy->server, to) != 0)
        return tell_claimed(data, claim, error);
    if (pull_moves(data, id->key))
        return tell_rival(id, data->options.name, error);
    return error_set(error, ESP_NOT_FOUND,
                     "server %.80s does not know this move (it was restarted, or nothing was heard for %lld "
                     "s): ask again",
                     data->options.name, (long long)(DATA_TICKET_LEASE_NS / NS_PER_S));
}

static enum esp_status hand_over(struct server_data *data, uint64_t number, const struct datum_id *id,
                                 const char *to, struct esp_error *error)
{
    struct store_entry entry;
    const struct store_asker anybody = {.trusted = true}; /* the ticket proves the right */
    struct ticket *claim = claim_of(data, id->key);
    enum esp_status status = look_at_original(data, &anybody, id, &entry, error);
    if (status == ESP_NOT_FOUND && copies_has_moved(data, id->key, to))
        return ESP_OK; /* said again */
    if (status == ESP_NOT_FOUND && store_was_deleted(data->store, id->key))
        return error->status = ESP_REFUSED;
    if (status == ESP_OK && (!claim || claim->number != number || strcmp(claim->copy->server, to) != 0))
        status = refuse_late(data, id, claim, to, error);
    if (status == ESP_OK)
        status = store_depart(data->store, &claim->asker.is, id, to, error);
    if (status == ESP_OK) {
        ticket_end(data, claim);
        copies_note_moved(data, id->key, to);
    }
    return status;
}

void data_hand_over(struct server_data *data, struct call *call, const struct finish *finish,
                    const struct datum_id *id, const struct extension *to)
{
    struct esp_error error;
    char name[CAP_NAME + 1] = "";
    if (to->length <= CAP_NAME)
        memcpy(name, to->value, to->length);
    if (hand_over(data, finish->ticket, id, name, &error) == ESP_OK)
        data_done(call);
    else
        data_refuse(call, MESSAGE_DONE_REPLY, finish->datum, &error);
}
