/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/server_data.h"

#include "sed/server_operands.h"
#include "sed/server_state.h"
#include "util/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define LOOK_NS     (5 * NS_PER_S)
#define RETRY_NS    (20 * NS_PER_MS) /* after the store was too busy for a session */
#define MOST_LISTED 256u

void asker_set(struct asker *asker, const char *identity, bool trusted)
{
    snprintf(asker->identity, sizeof asker->identity, "%s", identity ? identity : "");
    asker->is = (struct store_asker){.identity = asker->identity, .trusted = trusted};
}

void asker_of(const struct call *call, struct asker *asker)
{
    asker_set(asker, call_envelope(call)->identity, false);
}

static void refuse(struct call *call, enum message_kind reply, const char *datum,
                   const struct esp_error *error)
{
    struct datum_id id;
    char text[DATUM_TEXT] = "a datum";
    if (datum && datum_id_parse(datum, &id, NULL) == ESP_OK)
        datum_id_short(&id, text);
    if (error->status != ESP_BUSY)
        log_warning("%s: refused: %s", text, error->text);
    call_reply(call, message_failure(reply, error->status, "%s", error->text));
}

static void done(struct call *call)
{
    call_reply(call, message_create(MESSAGE_DONE_REPLY));
}

/* ---- tickets ---- */

static struct ticket *ticket_find(struct server *server, uint64_t number)
{
    struct ticket *ticket;
    HASH_FIND(hh, server->data.tickets, &number, sizeof number, ticket);
    return ticket && !ticket->over ? ticket : NULL;
}

static struct ticket *ticket_create(struct server *server, const struct datum_id *id,
                                    const struct asker *asker, bool put, struct esp_error *error)
{
    if (server->data.n_tickets >= DATA_MOST_TICKETS) {
        error_set(error, ESP_BUSY, "server %s: %d data are being put and read; no more at a time",
                  server->name, DATA_MOST_TICKETS);
        return NULL;
    }
    struct ticket *ticket = calloc(1, sizeof *ticket);
    if (!ticket || random_bytes(&ticket->number, sizeof ticket->number, error) != ESP_OK) {
        free(ticket);
        error_no_memory(error, "a ticket");
        return NULL;
    }
    ticket->number |= 1; /* 0 is none */
    ticket->id = *id;
    asker_set(&ticket->asker, asker->identity, asker->is.trusted);
    ticket->put = put;
    ticket->heard_ns = server_now(server);
    HASH_ADD(hh, server->data.tickets, number, sizeof ticket->number, ticket);
    if (!ticket->hh.tbl) {
        free(ticket);
        error_no_memory(error, "a ticket");
        return NULL;
    }
    server->data.n_tickets++;
    return ticket;
}

/* It is over: at once, or when nothing moves any more. */
static void ticket_end(struct server *server, struct ticket *ticket)
{
    ticket->over = true;
    if (ticket->moving > 0)
        return;
    HASH_DEL(server->data.tickets, ticket);
    server->data.n_tickets--;
    store_release(server->data.store, ticket->pin, false);
    free(ticket);
}

static struct ticket *ticket_of_offer(struct server *server, struct datum_key key)
{
    struct ticket *ticket;
    for (ticket = server->data.tickets; ticket; ticket = ticket->hh.next)
        if (ticket->put && !ticket->over && datum_key_equal(ticket->id.key, key))
            return ticket;
    return NULL;
}

/* The one that is meant, or why not. */
static struct ticket *ticket_shown(struct server *server, uint64_t number, struct datum_key key, bool put,
                                   struct esp_error *error)
{
    struct ticket *ticket = ticket_find(server, number);
    if (ticket && ticket->put == put && datum_key_equal(ticket->id.key, key))
        return ticket;
    error_set(
        error, ESP_NOT_FOUND,
        "server %s does not know this %s (it was restarted, or nothing was heard for %lld s): ask again",
        server->name, put ? "offer" : "reader", (long long)(DATA_TICKET_LEASE_NS / NS_PER_S));
    return NULL;
}

/* ---- the disk's part ---- */

static void chore_end(struct chore *chore, enum esp_status status, const struct esp_error *error)
{
    DL_DELETE(chore->server->data.chores, chore);
    if (chore->ticket)
        chore->ticket->moving--;
    chore->then(chore, status, error);
    free(chore);
}

static void chore_run(void *arg)
{
    struct chore *chore = arg;
    struct server *server = chore->server;
    struct esp_error error = {0};
    store_work_do(chore->work);
    endpoint_enter(server->endpoint);
    enum esp_status status = store_work_end(server->data.store, chore->work, &error);
    chore_end(chore, status, &error);
    endpoint_leave(server->endpoint);
}

void server_data_chore(struct server *server, struct chore *chore, struct store_work *work)
{
    struct esp_error error = {0};
    chore->server = server;
    chore->work = work;
    chore->job = (struct thread_job){.run = chore_run, .arg = chore};
    DL_APPEND(server->data.chores, chore);
    if (chore->ticket)
        chore->ticket->moving++; /* it stays */
    if (!work) {
        chore_end(chore, ESP_OK, &error);
        return;
    }
    struct errands *errands = server->data.errands;
    if (errands && !server->data.leaving && errands->submit(errands, &chore->job))
        return;
    store_work_do(work); /* nobody else can */
    enum esp_status status = store_work_end(server->data.store, work, &error);
    chore_end(chore, status, &error);
}

static struct chore *chore_for(struct call *call, struct ticket *ticket,
                               void (*then)(struct chore *chore, enum esp_status status,
                                            const struct esp_error *error))
{
    struct chore *chore = calloc(1, sizeof *chore);
    if (!chore)
        return NULL;
    chore->call = call;
    chore->ticket = ticket;
    chore->then = then;
    return chore;
}

/* ---- records ---- */

enum esp_status server_data_shape(const struct datum_info *record, struct datum_shape *shape,
                                  struct esp_error *error)
{
    *shape = (struct datum_shape){.type = (enum base_type)record->type,
                                  .n_dims = record->n_dims,
                                  .storage = (enum storage)record->storage,
                                  .layout = {record->layout_a, record->layout_b, record->layout_c},
                                  .row_major = record->row_major,
                                  .bytes = record->bytes};
    for (uint32_t i = 0; i < record->n_dims && i < CAP_DIMS; i++)
        shape->dims[i] = record->dims[i];
    return datum_shape_check(shape, error);
}

bool server_data_record(const struct server *server, const struct store_entry *entry, struct arena *arena,
                        struct datum_info *record)
{
    const struct datum_shape *shape = &entry->shape;
    char text[DATUM_TEXT];
    *record = (struct datum_info){.type = shape->type,
                                  .n_dims = shape->n_dims,
                                  .storage = shape->storage,
                                  .layout_a = shape->layout[0],
                                  .layout_b = shape->layout[1],
                                  .layout_c = shape->layout[2],
                                  .row_major = shape->row_major,
                                  .bytes = shape->bytes,
                                  .mode = entry->mode,
                                  .flags = entry->flags,
                                  .created_s = entry->created_s,
                                  .complete = true,
                                  .in_memory = entry->in_memory,
                                  .on_disk = entry->on_disk,
                                  .users = entry->pins,
                                  .puts = entry->puts,
                                  .gets = entry->gets,
                                  .bytes_in = entry->bytes_in,
                                  .bytes_out = entry->bytes_out,
                                  .disk_reads = entry->disk_reads,
                                  .idle_s = entry->idle_s};
    record->datum = arena_strdup(arena, datum_id_text(&entry->id, text));
    record->dims = arena_memdup(arena, shape->dims, sizeof shape->dims);
    record->owner = arena_strdup(arena, entry->owner);
    record->server = arena_strdup(arena, server->name);
    record->address = arena_strdup(arena, endpoint_address(server->endpoint));
    return record->datum && record->dims && record->owner && record->server && record->address;
}

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

static void on_offer(struct server *server, struct call *call, const struct offer *offer)
{
    struct asker asker;
    struct datum_shape shape;
    struct datum_id id;
    struct esp_error error;
    struct ticket *ticket = NULL;
    asker_of(call, &asker);
    enum esp_status status = datum_id_parse(offer->datum.datum, &id, &error);
    if (status == ESP_OK)
        status = check_origin(server, &id, &error);
    if (status == ESP_OK)
        status = server_data_shape(&offer->datum, &shape, &error);
    if (status == ESP_OK && server->draining)
        status = error_set(&error, ESP_REFUSED, "server %s is shutting down", server->name);
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
        refuse(call, MESSAGE_OFFER_REPLY, offer->datum.datum, &error);
        return;
    }
    ticket->heard_ns = server_now(server);
    call_reply(call, offer_answer(server, ticket));
}

/* ---- open ---- */

static struct message *open_answer(struct server *server, const struct ticket *ticket)
{
    struct store_entry entry;
    struct message *reply = message_create(MESSAGE_OPEN_REPLY);
    struct esp_error error;
    if (!reply)
        return NULL;
    reply->open_reply.ticket = ticket->number;
    if (store_look(server->data.store, &ticket->asker.is, &ticket->id, &entry, &error) == ESP_OK &&
        server_data_record(server, &entry, &reply->arena, &reply->open_reply.datum))
        return reply;
    message_destroy(reply);
    return message_failure(MESSAGE_OPEN_REPLY, ESP_NOT_FOUND, "it was deleted in this very moment");
}

static void opened(struct chore *chore, enum esp_status status, const struct esp_error *error)
{
    struct server *server = chore->server;
    struct ticket *ticket = chore->ticket;
    if (status != ESP_OK)
        ticket->pin = NULL; /* it is gone */
    if (chore->call && status == ESP_OK)
        call_reply(chore->call, open_answer(server, ticket));
    else if (chore->call)
        call_reply(chore->call, message_failure(MESSAGE_OPEN_REPLY, status, "%s", error->text));
    ticket->heard_ns = server_now(server);
    if (status != ESP_OK || !chore->call || ticket->over)
        ticket_end(server, ticket);
}

static void on_open(struct server *server, struct call *call, const struct open *open)
{
    struct asker asker;
    struct datum_id id;
    struct esp_error error;
    struct store_work *work = NULL;
    struct ticket *ticket = NULL;
    struct chore *chore = NULL;
    asker_of(call, &asker);
    enum esp_status status = datum_id_parse(open->datum, &id, &error);
    if (status == ESP_OK) {
        ticket = ticket_create(server, &id, &asker, false, &error);
        status = ticket ? ESP_OK : error.status;
    }
    if (status == ESP_OK && !(chore = chore_for(call, ticket, opened)))
        status = error_no_memory(&error, "reading a datum");
    if (status == ESP_OK)
        status = store_open(server->data.store, &ticket->asker.is, &id, &ticket->pin, &work, &error);
    if (status != ESP_OK) {
        free(chore);
        if (ticket)
            ticket_end(server, ticket);
        refuse(call, MESSAGE_OPEN_REPLY, open->datum, &error);
        return;
    }
    ticket->bytes = store_pin_shape(ticket->pin)->bytes;
    server_data_chore(server, chore, work);
}

/* ---- finish, drop ---- */

static void committed(struct chore *chore, enum esp_status status, const struct esp_error *error)
{
    char text[DATUM_TEXT], bytes[DATUM_BYTES_TEXT];
    if (status == ESP_OK)
        log_notice("%s: stored, %s", datum_id_short(&chore->ticket->id, text),
                   datum_bytes_text(chore->ticket->bytes, bytes));
    if (status == ESP_OK || chore->ticket->over)
        ticket_end(chore->server, chore->ticket);
    if (chore->call && status == ESP_OK)
        done(chore->call);
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
    refuse(call, MESSAGE_DONE_REPLY, NULL, &error);
}

static void on_finish(struct server *server, struct call *call, const struct finish *finish)
{
    struct datum_id id;
    struct esp_error error;
    if (datum_id_parse(finish->datum, &id, &error) != ESP_OK) {
        refuse(call, MESSAGE_DONE_REPLY, NULL, &error);
        return;
    }
    struct ticket *ticket = ticket_find(server, finish->ticket);
    if (ticket && datum_key_equal(ticket->id.key, id.key) && ticket->put) {
        finish_offer(server, call, ticket);
    } else if (ticket && datum_key_equal(ticket->id.key, id.key)) {
        ticket_end(server, ticket);
        done(call);
    } else if (store_has(server->data.store, id.key)) {
        done(call); /* said again */
    } else {
        ticket_shown(server, finish->ticket, id.key, true, &error);
        refuse(call, MESSAGE_DONE_REPLY, finish->datum, &error);
    }
}

static void on_drop(struct server *server, struct call *call, const struct drop *drop)
{
    struct asker asker;
    struct datum_id id;
    struct esp_error error;
    asker_of(call, &asker);
    enum esp_status status = datum_id_parse(drop->datum, &id, &error);
    if (status == ESP_OK && drop->ticket == 0) {
        status = store_delete(server->data.store, &asker.is, &id, &error);
    } else if (status == ESP_OK) {
        struct ticket *ticket = ticket_shown(server, drop->ticket, id.key, true, &error);
        status = ticket ? store_abort(server->data.store, &ticket->asker.is, id.key, &error) : error.status;
        if (status == ESP_OK)
            ticket_end(server, ticket);
    }
    if (status == ESP_OK)
        done(call);
    else
        refuse(call, MESSAGE_DONE_REPLY, drop->datum, &error);
}

/* ---- what there is ---- */

static enum esp_status look_one(struct server *server, const struct asker *asker, const char *datum,
                                struct message *reply, struct esp_error *error)
{
    struct datum_id id;
    struct store_entry entry;
    struct data_reply *to = &reply->data_reply;
    enum esp_status status = datum_id_parse(datum, &id, error);
    if (status == ESP_OK)
        status = store_look(server->data.store, &asker->is, &id, &entry, error);
    if (status != ESP_OK)
        return status;
    to->items = arena_alloc(&reply->arena, sizeof *to->items);
    if (!to->items || !server_data_record(server, &entry, &reply->arena, to->items))
        return error_no_memory(error, "a list of data");
    to->n = 1;
    return ESP_OK;
}

static enum esp_status look_all(struct server *server, const struct asker *asker, const struct data *data,
                                struct message *reply, struct esp_error *error)
{
    struct datum_id after = {0};
    struct data_reply *to = &reply->data_reply;
    size_t limit = data->limit > 0 && data->limit < MOST_LISTED ? data->limit : MOST_LISTED;
    if (data->after[0] && datum_id_parse(data->after, &after, error) != ESP_OK)
        return error->status;
    struct store_entry *entries = calloc(limit, sizeof *entries);
    to->items = arena_alloc(&reply->arena, limit * sizeof *to->items);
    bool whole = entries && to->items;
    size_t n = whole ? store_list(server->data.store, &asker->is, after.key, entries, limit) : 0;
    for (size_t i = 0; whole && i < n; i++)
        whole = server_data_record(server, &entries[i], &reply->arena, &to->items[to->n++]);
    to->more = n == limit;
    free(entries);
    return whole ? ESP_OK : error_no_memory(error, "a list of data");
}

static void on_data(struct server *server, struct call *call, const struct data *data)
{
    struct asker asker;
    struct esp_error error;
    struct message *reply = message_create(MESSAGE_DATA_REPLY);
    asker_of(call, &asker);
    enum esp_status status = !reply           ? error_no_memory(&error, "a list of data")
                             : data->datum[0] ? look_one(server, &asker, data->datum, reply, &error)
                                              : look_all(server, &asker, data, reply, &error);
    if (status == ESP_OK) {
        call_reply(call, reply);
        return;
    }
    message_destroy(reply);
    call_reply(call, message_failure(MESSAGE_DATA_REPLY, status, "%s", error.text));
}

/* ---- chunks ---- */

static enum esp_status open_area(struct server *server, const struct chunk *chunk, bool write,
                                 struct chunk_area *area, struct esp_error *error)
{
    struct datum_key key = {chunk->session.client_high, chunk->session.client_low};
    struct ticket *ticket =
        server->data.store ? ticket_shown(server, chunk->session.secret, key, write, error) : NULL;
    if (!server->data.store)
        error_set(error, ESP_REFUSED, "server %s keeps no data", server->name);
    if (!ticket)
        return error->status;
    ticket->heard_ns = server_now(server);
    if (chunk->offset > ticket->bytes || (write && chunk->length > ticket->bytes - chunk->offset))
        return error_set(error, ESP_INVALID,
                         "expected a chunk within the datum's %" PRIu64 " bytes, found %" PRIu64
                         " bytes at %" PRIu64,
                         ticket->bytes, chunk->length, chunk->offset);
    uint64_t left = ticket->bytes - chunk->offset;
    area->length = chunk->length < left ? chunk->length : left;
    if (write) {
        enum esp_status status = store_area(server->data.store, &ticket->asker.is, key, chunk->offset,
                                            area->length, &area->data, error);
        if (status != ESP_OK)
            return status;
    } else {
        area->data = store_pin_memory(ticket->pin)->data + chunk->offset;
    }
    ticket->moving++;
    area->hold = ticket;
    return ESP_OK;
}

void server_data_on_chunk(struct server *server, const struct message *header, bool write,
                          struct chunk_area *area)
{
    struct esp_error error;
    if (open_area(server, &header->chunk, write, area, &error) == ESP_OK)
        return;
    log_warning("a piece of a datum: refused: %s", error.text);
    area->reply = message_failure(MESSAGE_CHUNK_REPLY, error.status, "%s", error.text);
}

void server_data_on_chunk_done(struct server *server, const struct message *header, bool write,
                               struct chunk_area *area, bool complete)
{
    struct ticket *ticket = area->hold;
    ticket->moving--;
    ticket->heard_ns = server_now(server);
    if (write)
        store_area_done(server->data.store, ticket->id.key, header->chunk.offset, area->length, complete,
                        NULL);
    else
        store_pin_read(ticket->pin, complete ? area->length : 0);
    if (ticket->over)
        ticket_end(server, ticket);
}

/* ---- calls ---- */

bool server_data_on_call(struct server *server, struct call *call, const struct message *request)
{
    if (request->kind < MESSAGE_OFFER || request->kind > MESSAGE_PULL)
        return false;
    if (!server->data.store) {
        call_reply(call,
                   message_failure(message_reply_kind(request->kind), ESP_REFUSED,
                                   "server %s keeps no data (store_memory = 0 in its file)", server->name));
        return true;
    }
    switch (request->kind) {
    case MESSAGE_OFFER:
        on_offer(server, call, &request->offer);
        break;
    case MESSAGE_OPEN:
        on_open(server, call, &request->open);
        break;
    case MESSAGE_FINISH:
        on_finish(server, call, &request->finish);
        break;
    case MESSAGE_DROP:
        on_drop(server, call, &request->drop);
        break;
    case MESSAGE_DATA:
        on_data(server, call, &request->data);
        break;
    default:
        server_on_pull(server, call, request);
    }
    return true;
}

bool server_data_abandoned(struct server *server, struct call *call)
{
    struct chore *chore;
    DL_FOREACH(server->data.chores, chore)
    if (chore->call == call) {
        chore->call = NULL;
        return true;
    }
    return server_pull_abandoned(server, call);
}

/* ---- what the parent hears ---- */

#define NEWS_MS 50 /* that changes are gathered */

void server_data_news(void *self, const struct datum_id *id, uint64_t bytes, enum store_news news)
{
    struct server *server = self;
    if (news == STORE_ARRIVED)
        location_add(server->data.location, server->data.here, id->key, bytes, NULL);
    else
        location_remove(server->data.location, server->data.here, id->key);
    if (server->endpoint)
        membership_touch(server->membership, NEWS_MS);
}

/* ---- life ---- */

void server_data_tick(struct server *server, int64_t now_ns)
{
    struct ticket *ticket, *next;
    if (!server->data.store || now_ns < server->data.due_ns)
        return;
    if (server->data.blocked) {
        server->data.blocked = false;
        server_operands_retry(server);
    }
    HASH_ITER(hh, server->data.tickets, ticket, next)
    {
        if (ticket->moving > 0 || ticket->over || now_ns - ticket->heard_ns < DATA_TICKET_LEASE_NS)
            continue;
        if (ticket->put)
            store_abort(server->data.store, &ticket->asker.is, ticket->id.key, NULL);
        ticket_end(server, ticket);
    }
    int64_t due = store_tick(server->data.store);
    int64_t latest = now_ns + (server->data.blocked ? RETRY_NS : LOOK_NS);
    server->data.due_ns = due < latest && due > now_ns ? due : latest;
}

enum esp_status server_data_create(struct server *server, struct esp_error *error)
{
    const struct server_options *options = &server->options;
    server->data.errands = options->errands;
    server->data.due_ns = CLOCK_NEVER;
    if (options->store_memory == 0) {
        if (options->files)
            options->files->ops->destroy(options->files);
        return ESP_OK;
    }
    struct store_options store = {.node = server->name,
                                  .segments = server->segments,
                                  .files = options->files,
                                  .clock = server->clock,
                                  .memory_bytes = options->store_memory,
                                  .disk_bytes = options->store_disk,
                                  .news = server_data_news,
                                  .arg = server};
    const struct location_options location = {.seed = options->seed, .track = true};
    server->data.due_ns = server_now(server) + LOOK_NS;
    enum esp_status status = location_create(&location, &server->data.location, error);
    if (status == ESP_OK)
        status = location_child(server->data.location, &server->data.here, error);
    if (status == ESP_OK)
        return store_create(&store, &server->data.store, error);
    if (options->files)
        options->files->ops->destroy(options->files);
    return status;
}

void server_data_release(struct server *server)
{
    struct ticket *ticket, *next;
    if (!server->data.store) {
        location_destroy(server->data.location);
        return;
    }
    HASH_ITER(hh, server->data.tickets, ticket, next)
    {
        ticket->moving = 0;
        ticket_end(server, ticket);
    }
    store_destroy(server->data.store); /* which tells of nothing any more */
    location_destroy(server->data.location);
}
