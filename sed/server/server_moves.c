/* SPDX-License-Identifier: Apache-2.0
 *
 * Data on their way in and out: offer, open, finish.
 */
#include "sed/server/server_data_internal.h"

#include "core/choice/fetchers.h"
#include "sed/server/server_state.h"
#include "util/bytes.h"

#include <stdlib.h>
#include <string.h>

/* ---- offer ---- */

static struct message *offer_answer(struct server *server, const struct ticket *ticket)
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
        if (store_missing(server->data.store, &ticket->asker.is, ticket->id.key, from, &gap, NULL) !=
                ESP_OK ||
            gap.from == gap.to)
            break;
        to->gaps[to->n_gaps++] = (struct datum_gap){gap.from, gap.to};
        from = gap.to;
    }
    if (to->n_gaps == CAP_GAPS) /* the rest counts as missing */
        to->gaps[CAP_GAPS - 1].to = ticket->bytes;
    return reply;
}

static enum esp_status check_origin(const struct server *server, const struct datum_id *id,
                                    struct esp_error *error)
{
    if (!strcmp(id->origin, server->name))
        return ESP_OK;
    return error_set(error, ESP_INVALID,
                     "its identity says that it is made by server %s, but it is offered to server %s",
                     id->origin, server->name);
}

/* A datum of that key is here already. */
static enum esp_status check_same(struct server *server, const struct datum_id *id, const struct asker *asker,
                                  const struct datum_shape *shape, struct esp_error *error)
{
    struct store_entry entry;
    enum esp_status status = store_look(server->data.store, &asker->is, id, &entry, error);
    if (status == ESP_OK && memcmp(entry.shape.dims, shape->dims, sizeof shape->dims) != 0)
        status =
            error_set(error, ESP_REFUSED, "a datum of that identity and of another shape is here already");
    return status;
}

static struct ticket *begin(struct server *server, const struct offer *offer, const struct datum_id *id,
                            const struct datum_shape *shape, const struct asker *asker,
                            struct esp_error *error)
{
    struct store_new fresh = {.id = id,
                              .shape = *shape,
                              .mode = (enum datum_mode)offer->datum.mode,
                              .flags = offer->datum.flags & DATUM_ALL_FLAGS & ~(uint32_t)DATUM_REPLICA,
                              .created_s = offer->datum.created_s};
    struct datum_id made;
    struct ticket *ticket = ticket_create(server, id, asker, true, error);
    if (!ticket)
        return NULL;
    ticket->bytes = shape->bytes;
    if (store_begin(server->data.store, &ticket->asker.is, &fresh, &made, error) == ESP_OK)
        return ticket;
    ticket_end(server, ticket);
    return NULL;
}

/* Whoever it is may wait for a server that starts again. */
static void refuse_offer(const struct server *server, struct call *call, const char *datum,
                         const struct esp_error *error)
{
    struct message *reply;
    if (error->status != ESP_UNREACHABLE || !duty_is_back_soon(&server->duty)) {
        data_refuse(call, MESSAGE_OFFER_REPLY, datum, error);
        return;
    }
    reply = message_failure(MESSAGE_OFFER_REPLY, error->status, "%s", error->text);
    if (reply)
        extension_add(&reply->offer_reply.extensions, EXTENSION_AWAITED, "", 0, &reply->arena);
    call_reply(call, reply);
}

void data_on_offer(struct server *server, struct call *call, const struct offer *offer)
{
    struct asker asker;
    struct datum_shape shape;
    struct datum_id id;
    struct esp_error error;
    struct ticket *ticket = NULL;
    data_asker_of(server, call, &offer->extensions, &asker);
    enum esp_status status = datum_id_parse(offer->datum.datum, &id, &error);
    if (status == ESP_OK)
        status = check_origin(server, &id, &error);
    if (status == ESP_OK)
        status = server_data_shape(&offer->datum, &shape, &error);
    if (status == ESP_OK)
        status = server_takes_sessions(server, &error);
    if (status == ESP_OK && store_has(server->data.store, id.key)) {
        status = check_same(server, &id, &asker, &shape, &error);
        if (status == ESP_OK) {
            call_reply(call, message_create(MESSAGE_OFFER_REPLY));
            return;
        }
    } else if (status == ESP_OK) {
        ticket = ticket_of_offer(server, id.key);
        if (ticket && (strcmp(ticket->asker.identity, asker.identity) != 0 || ticket->bytes != shape.bytes)) {
            status =
                error_set(&error, ESP_REFUSED, "a datum of that identity is being put by another client");
        } else if (!ticket) {
            ticket = begin(server, offer, &id, &shape, &asker, &error);
            status = ticket ? ESP_OK : error.status;
        }
    }
    if (status != ESP_OK) {
        refuse_offer(server, call, offer->datum.datum, &error);
        return;
    }
    ticket->heard_ns = server_now(server);
    call_reply(call, offer_answer(server, ticket));
}

/* ---- open ---- */

struct message *data_open_answer(struct server *server, const struct ticket *ticket)
{
    struct store_entry entry;
    struct message *reply = message_create(MESSAGE_OPEN_REPLY);
    struct extension *extension;
    struct esp_error error;
    if (!reply)
        return NULL;
    reply->open_reply.ticket = ticket->number;
    if (store_look(server->data.store, &ticket->asker.is, &ticket->id, &entry, &error) == ESP_OK &&
        server_data_record(server, &entry, &reply->arena, &reply->open_reply.datum)) {
        replicas_answer(server, ticket, &entry, reply);
        if (ticket->moves && (extension = arena_alloc(&reply->arena, sizeof *extension))) {
            *extension = (struct extension){EXTENSION_MOVES, (const uint8_t *)"", 0};
            reply->open_reply.extensions = (struct extensions){extension, 1};
        }
        return reply;
    }
    message_destroy(reply);
    return message_failure(MESSAGE_OPEN_REPLY, ESP_NOT_FOUND, "it was deleted in this very moment");
}

/* Whose pieces porters are to lend: all of it is in memory now. */
static void opened(struct chore *chore, enum esp_status status, const struct esp_error *error)
{
    struct server *server = chore->server;
    struct ticket *ticket = chore->ticket;
    ticket->heard_ns = server_now(server);
    if (chore->call && status == ESP_OK) {
        server_loans_make(server, chore->call, ticket);
        return;
    }
    if (status != ESP_OK)
        ticket->pin = NULL; /* it is gone */
    if (chore->call)
        call_reply(chore->call, message_failure(MESSAGE_OPEN_REPLY, status, "%s", error->text));
    ticket_end(server, ticket);
}

/* In memory as a whole for porters, else piece by piece. */
static enum esp_status pin(struct server *server, struct ticket *ticket, struct chore *chore,
                           struct store_work **work, struct esp_error *error)
{
    if (!ticket->lends)
        return store_open_reader(server->data.store, &ticket->asker.is, &ticket->id, &ticket->pin, error);
    if (!chore)
        return error_no_memory(error, "reading a datum");
    return store_open(server->data.store, &ticket->asker.is, &ticket->id, &ticket->pin, work, error);
}

bool data_is_server(const struct server *server, const char *identity)
{
    const struct config_strings *known = server->options.data_servers;
    for (size_t i = 0; known && *identity && i < known->n; i++)
        if (strcmp(known->items[i], identity) == 0)
            return true;
    return false;
}

void data_tell_fetchers(const struct server *server, uint32_t argument, const struct datum_id *id,
                        struct response *response, struct arena *arena)
{
    const struct config_strings *known = server->options.data_servers;
    const struct store_asker all = {.identity = "", .trusted = true};
    struct store_entry entry;
    if (store_look(server->data.store, &all, id, &entry, NULL) != ESP_OK)
        return;
    const bool anybody = entry.flags & DATUM_SHARED;
    static const char *const nobody[] = {""};
    const char *const *names = known && known->n > 0 ? (const char *const *)known->items : nobody;
    fetchers_tell(&response->extensions, argument, server->name, entry.owner, anybody ? NULL : names,
                  known ? known->n : 0, arena);
}

/* A server asks that has no right to the datum: who reads its error is to know what would give it that. */
static void tell_how(const struct server *server, const struct asker *asker,
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
        why.text, asker->identity, server->name);
}

void data_on_open(struct server *server, struct call *call, const struct open *open)
{
    struct asker asker;
    struct datum_id id;
    struct esp_error error;
    struct store_work *work = NULL;
    struct ticket *ticket = NULL;
    struct chore *chore = NULL;
    data_asker_of(server, call, &open->extensions, &asker);
    asker.is.trusted = data_is_server(server, asker.identity);
    enum esp_status status = datum_id_parse(open->datum, &id, &error);
    if (status == ESP_OK) {
        ticket = ticket_create(server, &id, &asker, false, &error);
        status = ticket ? ESP_OK : error.status;
    }
    if (status == ESP_OK) {
        ticket->copy = copy_read(id.key, &open->extensions);
        const struct extension *porters = extension_find(&open->extensions, EXTENSION_PORTERS);
        ticket->lends = porters != NULL;
        ticket->lends_sealed = porters && porters->length > 0;
        chore = ticket->lends ? chore_for(call, ticket, opened) : NULL;
        status = pin(server, ticket, chore, &work, &error);
        if (status != ESP_OK)
            tell_how(server, &asker, &open->extensions, &error);
    }
    if (status == ESP_OK && !work)
        status = data_claim(server, ticket, &open->extensions, &error);
    if (status != ESP_OK) {
        free(chore);
        if (ticket)
            ticket_end(server, ticket);
        data_refuse(call, MESSAGE_OPEN_REPLY, open->datum, &error);
        return;
    }
    ticket->bytes = store_pin_shape(ticket->pin)->bytes;
    if (ticket->lends) {
        server_data_chore(server, chore, work);
        return;
    }
    replicas_note(ticket, &open->extensions);
    call_reply(call, data_open_answer(server, ticket));
}

/* ---- finish ---- */

static void committed(struct chore *chore, enum esp_status status, const struct esp_error *error)
{
    char text[DATUM_TEXT], bytes[BYTES_TEXT];
    if (status == ESP_OK)
        log_notice("%s: stored, %s", datum_id_short(&chore->ticket->id, text),
                   bytes_text(chore->ticket->bytes, bytes));
    else /* nobody comes again for what the disk did not take */
        store_abort(chore->server->data.store, &chore->ticket->asker.is, chore->ticket->id.key, NULL);
    ticket_end(chore->server, chore->ticket);
    if (chore->call && status == ESP_OK)
        data_done(chore->call);
    else if (chore->call)
        call_reply(chore->call, message_failure(MESSAGE_DONE_REPLY, status, "%s", error->text));
}

static void finish_offer(struct server *server, struct call *call, struct ticket *ticket)
{
    struct esp_error error;
    struct store_work *work = NULL;
    struct chore *chore = chore_for(call, ticket, committed);
    enum esp_status status = chore ? ESP_OK : error_no_memory(&error, "storing a datum");
    if (status == ESP_OK)
        status = store_commit(server->data.store, &ticket->asker.is, ticket->id.key, &work, &error);
    if (status == ESP_OK) {
        server_data_chore(server, chore, work);
        return;
    }
    free(chore);
    data_refuse(call, MESSAGE_DONE_REPLY, NULL, &error);
}

void data_on_finish(struct server *server, struct call *call, const struct finish *finish)
{
    struct datum_id id;
    struct esp_error error;
    if (datum_id_parse(finish->datum, &id, &error) != ESP_OK) {
        data_refuse(call, MESSAGE_DONE_REPLY, NULL, &error);
        return;
    }
    const struct extension *moved = extension_find(&finish->extensions, EXTENSION_MOVES);
    if (moved) {
        data_hand_over(server, call, finish, &id, moved);
        return;
    }
    struct ticket *ticket = ticket_find(server, finish->ticket);
    if (ticket && datum_key_equal(ticket->id.key, id.key) && ticket->put) {
        finish_offer(server, call, ticket);
    } else if (ticket && datum_key_equal(ticket->id.key, id.key)) {
        ticket_end(server, ticket);
        data_done(call);
    } else if (store_has(server->data.store, id.key)) {
        data_done(call); /* said again */
    } else {
        ticket_shown(server, finish->ticket, id.key, true, &error);
        data_refuse(call, MESSAGE_DONE_REPLY, finish->datum, &error);
    }
}
