/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/server/server_data_internal.h"

#include "sed/server/server_operands.h"
#include "sed/server/server_state.h"

#include <endian.h>
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

void asker_copy(struct asker *to, const struct asker *from)
{
    asker_set(to, from->identity, from->is.trusted);
    memcpy(to->is.client, from->is.client, sizeof to->is.client);
}

void asker_of(const struct call *call, struct asker *asker)
{
    asker_set(asker, call_envelope(call)->identity, false);
}

void data_refuse(struct call *call, enum message_kind reply, const char *datum, const struct esp_error *error)
{
    struct datum_id id;
    char text[DATUM_TEXT] = "a datum";
    if (datum && datum_id_parse(datum, &id, NULL) == ESP_OK)
        datum_id_short(&id, text);
    if (error->status != ESP_BUSY)
        log_warning("%s: refused: %s", text, error->text);
    call_reply(call, message_failure(reply, error->status, "%s", error->text));
}

void data_done(struct call *call)
{
    call_reply(call, message_create(MESSAGE_DONE_REPLY));
}

void data_asker_of(struct server *server, const struct call *call, const struct extensions *extensions,
                   struct asker *asker)
{
    const struct extension *client = extension_find(extensions, EXTENSION_DATA_CLIENT);
    asker_of(call, asker);
    if (!client || client->length < DATA_CLIENT_BYTES)
        return;
    memcpy(asker->is.client, client->value, sizeof asker->is.client);
    for (unsigned i = 0; i < 2; i++)
        asker->is.client[i] = le64toh(asker->is.client[i]);
    server_data_client_seen(server, asker->is.client);
}

void server_data_client_seen(struct server *server, const uint64_t client[2])
{
    if (server->data.store)
        store_client_seen(server->data.store, client);
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

struct chore *chore_for(struct call *call, struct ticket *ticket,
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
    if (extension_find(&data->extensions, EXTENSION_DAMAGED)) {
        data_on_damaged(server, call, data);
        return;
    }
    struct asker asker;
    struct esp_error error;
    struct message *reply = message_create(MESSAGE_DATA_REPLY);
    data_asker_of(server, call, &data->extensions, &asker);
    asker.is.trusted = data->datum[0] && data_is_server(server, asker.identity);
    enum esp_status status = !reply           ? error_no_memory(&error, "a list of data")
                             : data->datum[0] ? look_one(server, &asker, data->datum, reply, &error)
                                              : look_all(server, &asker, data, reply, &error);
    if (status != ESP_OK) {
        message_destroy(reply);
        reply = message_failure(MESSAGE_DATA_REPLY, status, "%s", error.text);
    }
    struct datum_id id;
    if (reply && data->datum[0] && datum_id_parse(data->datum, &id, NULL) == ESP_OK)
        copies_tell(server, id.key, reply); /* also who has it no more may know who has */
    call_reply(call, reply);
}

/* ---- calls ---- */

bool server_data_on_call(struct server *server, struct call *call, const struct message *request)
{
    if (request->kind < MESSAGE_OFFER || request->kind > MESSAGE_PULL)
        return false;
    if (!server->data.store) {
        /* Who says that a datum has moved takes ESP_REFUSED as "it is here". */
        const enum esp_status status = request->kind == MESSAGE_FINISH ? ESP_NOT_FOUND : ESP_REFUSED;
        call_reply(call,
                   message_failure(message_reply_kind(request->kind), status,
                                   "server %s keeps no data (store_memory = 0 in its file)", server->name));
        return true;
    }
    switch (request->kind) {
    case MESSAGE_OFFER:
        data_on_offer(server, call, &request->offer);
        break;
    case MESSAGE_OPEN:
        data_on_open(server, call, &request->open);
        break;
    case MESSAGE_FINISH:
        data_on_finish(server, call, &request->finish);
        break;
    case MESSAGE_DROP:
        data_on_drop(server, call, &request->drop);
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
    return server_loans_abandoned(server, call) || server_pull_abandoned(server, call);
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
    if (news != STORE_ARRIVED && server->data.replication)
        replication_forget(server->data.replication, id->key);
    if (news == STORE_DAMAGED)
        rescue_begin(server, id, false);
    if (server->endpoint)
        membership_touch(server->membership, NEWS_MS);
}

/* ---- life ---- */

static void verified(struct chore *chore, enum esp_status status, const struct esp_error *error)
{
    if (status == ESP_NOT_FOUND)
        log_error("%s", error->text);
    chore->server->data.verifying = false;
    chore->server->data.due_ns = 0; /* the next one */
}

/* Files that nobody has read since the start, one at a time while nothing computes. */
static void verify_next(struct server *server)
{
    if (server->data.verifying || server->running > 0 || server->data.leaving)
        return;
    struct store_work *work = store_check_next(server->data.store);
    if (!work)
        return;
    struct chore *chore = chore_for(NULL, NULL, verified);
    if (!chore) { /* the work has to be done in any case */
        store_work_do(work);
        store_work_end(server->data.store, work, NULL);
        return;
    }
    server->data.verifying = true;
    server_data_chore(server, chore, work);
}

void server_data_tick(struct server *server, int64_t now_ns)
{
    if (!server->data.store || !server->endpoint || now_ns < server->data.due_ns)
        return;
    if (server->data.blocked) {
        server->data.blocked = false;
        server_operands_retry(server);
    }
    tickets_tick(server, now_ns);
    untaken_tick(server, now_ns);
    verify_next(server);
    int64_t due = store_tick(server->data.store), rescues = rescues_tick(server, now_ns),
            returned = returned_tick(server, now_ns);
    due = rescues < due ? rescues : due;
    due = returned < due ? returned : due;
    int64_t latest = now_ns + (server->data.blocked ? RETRY_NS : LOOK_NS);
    server->data.due_ns = due < latest && due > now_ns ? due : latest;
}

/* What the start found in files is news to the agents, too. */
static void found_again(void *self, const struct datum_id *id, uint64_t bytes)
{
    const struct server *server = self;
    location_add(server->data.location, server->data.here, id->key, bytes, NULL);
}

static void found_damaged(void *self, struct datum_key key)
{
    struct server *server = self;
    struct datum_id id = {.key = key};
    snprintf(id.origin, sizeof id.origin, "%s", server->name); /* its own is in the file */
    rescue_begin(server, &id, true);
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
                                  .client_lease_ns = options->data_lease_ns,
                                  .passing_ns = options->replica_rest_ns,
                                  .news = server_data_news,
                                  .arg = server};
    const struct location_options location = {.seed = options->seed, .track = true};
    server->data.due_ns = server_now(server) + LOOK_NS;
    enum esp_status status = location_create(&location, &server->data.location, error);
    if (status == ESP_OK)
        status = location_child(server->data.location, &server->data.here, error);
    if (status == ESP_OK)
        status = replicas_create(server, error);
    if (status != ESP_OK) {
        if (options->files)
            options->files->ops->destroy(options->files);
        return status;
    }
    status = store_create(&store, &server->data.store, error);
    if (status == ESP_OK)
        store_each(server->data.store, found_again, server);
    if (status == ESP_OK)
        returned_begin(server);
    if (status == ESP_OK)
        status = store_each_damaged(server->data.store, found_damaged, server, error);
    return status;
}

void server_data_release(struct server *server)
{
    if (server->data.store)
        tickets_release(server);
    untaken_release(server);
    copies_release(server);
    rescues_release(server);
    returned_release(server);
    store_destroy(server->data.store); /* which tells of nothing any more */
    replication_destroy(server->data.replication);
    location_destroy(server->data.location);
}
