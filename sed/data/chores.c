/* SPDX-License-Identifier: Apache-2.0
 *
 * The asker of a call, work on the disk by a thread (a chore), and records of data in messages. All files of
 * this room use them.
 */
#include "sed/data/data_internal.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

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

void data_asker_of(struct server_data *data, const struct call *call, const struct extensions *extensions,
                   struct asker *asker)
{
    const struct extension *client = extension_find(extensions, EXTENSION_DATA_CLIENT);
    asker_of(call, asker);
    if (!client || client->length < DATA_CLIENT_BYTES)
        return;
    memcpy(asker->is.client, client->value, sizeof asker->is.client);
    for (unsigned i = 0; i < 2; i++)
        asker->is.client[i] = le64toh(asker->is.client[i]);
    server_data_client_seen(data, asker->is.client);
}

void server_data_client_seen(struct server_data *data, const uint64_t client[2])
{
    if (data->store)
        store_client_seen(data->store, client);
}

/* ---- the disk's part ---- */

static void chore_end(struct chore *chore, enum esp_status status, const struct esp_error *error)
{
    DL_DELETE(chore->data->chores, chore);
    if (chore->ticket)
        chore->ticket->moving--;
    chore->then(chore, status, error);
    free(chore);
}

static void chore_run(void *arg)
{
    struct chore *chore = arg;
    struct server_data *data = chore->data;
    struct esp_error error = {0};
    store_work_do(chore->work);
    endpoint_enter(data->endpoint);
    enum esp_status status = store_work_end(data->store, chore->work, &error);
    chore_end(chore, status, &error);
    endpoint_leave(data->endpoint);
}

void server_data_chore(struct server_data *data, struct chore *chore, struct store_work *work)
{
    struct esp_error error = {0};
    chore->data = data;
    chore->work = work;
    chore->job = (struct thread_job){.run = chore_run, .arg = chore};
    DL_APPEND(data->chores, chore);
    if (chore->ticket)
        chore->ticket->moving++; /* the ticket stays until the chore ends */
    if (!work) {
        chore_end(chore, ESP_OK, &error);
        return;
    }
    struct errands *errands = data->errands;
    if (errands && !data->leaving && errands->submit(errands, &chore->job))
        return;
    store_work_do(work); /* no thread can */
    enum esp_status status = store_work_end(data->store, work, &error);
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

enum esp_status data_shape(const struct datum_info *record, struct datum_shape *shape,
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

bool data_record(const struct server_data *data, const struct store_entry *entry, struct arena *arena,
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
    record->server = arena_strdup(arena, data->options.name);
    record->address = arena_strdup(arena, endpoint_address(data->endpoint));
    return record->datum && record->dims && record->owner && record->server && record->address;
}
