/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that were damaged, and set aside: who put the data may see and remove them, and administrators.
 */
#include "sed/server/server_data_internal.h"

#include "sed/server/server_state.h"

#include <stdlib.h>

#define MOST_LISTED 256u

static void asker_for(struct server *server, const struct call *call, struct asker *asker)
{
    const struct envelope *envelope = call_envelope(call);
    asker_set(asker, envelope->identity, duty_permits(&server->duty, envelope, "damaged", NULL) == ESP_OK);
}

static bool fill(const struct server *server, const struct store_aside *aside, struct arena *arena,
                 struct datum_info *record)
{
    const struct datum_shape *shape = &aside->shape;
    char text[DATUM_TEXT];
    *record = (struct datum_info){.type = shape->type,
                                  .n_dims = shape->n_dims,
                                  .storage = shape->storage,
                                  .layout_a = shape->layout[0],
                                  .layout_b = shape->layout[1],
                                  .layout_c = shape->layout[2],
                                  .row_major = shape->row_major,
                                  .bytes = aside->file_bytes,
                                  .mode = aside->mode,
                                  .created_s = aside->created_s,
                                  .complete = aside->readable,
                                  .on_disk = true};
    record->datum = arena_strdup(arena, datum_id_text(&aside->id, text));
    record->dims = arena_memdup(arena, shape->dims, sizeof shape->dims);
    record->owner = arena_strdup(arena, aside->owner);
    record->server = arena_strdup(arena, server->name);
    record->address = arena_strdup(arena, endpoint_address(server->endpoint));
    return record->datum && record->dims && record->owner && record->server && record->address;
}

static enum esp_status list(struct server *server, const struct call *call, const struct data *data,
                            struct message *reply, struct esp_error *error)
{
    struct asker asker;
    struct datum_id after = {0};
    struct data_reply *to = &reply->data_reply;
    if (data->after[0] && datum_id_parse(data->after, &after, error) != ESP_OK)
        return error->status;
    asker_for(server, call, &asker);
    const size_t limit = data->limit > 0 && data->limit < MOST_LISTED ? data->limit : MOST_LISTED;
    struct store_aside *asides = calloc(limit, sizeof *asides);
    struct extension *mark = arena_alloc(&reply->arena, sizeof *mark);
    to->items = arena_alloc(&reply->arena, limit * sizeof *to->items);
    bool whole = asides && mark && to->items;
    const size_t n = whole ? store_list_asides(server->data.store, &asker.is, after.key, asides, limit) : 0;
    for (size_t i = 0; whole && i < n; i++)
        whole = fill(server, &asides[i], &reply->arena, &to->items[to->n++]);
    free(asides);
    if (!whole)
        return error_no_memory(error, "a list of damaged files");
    to->more = n == limit;
    *mark = (struct extension){EXTENSION_DAMAGED, NULL, 0};
    to->extensions = (struct extensions){mark, 1};
    return ESP_OK;
}

void data_on_damaged(struct server *server, struct call *call, const struct data *data)
{
    struct esp_error error;
    struct message *reply = message_create(MESSAGE_DATA_REPLY);
    enum esp_status status =
        reply ? list(server, call, data, reply, &error) : error_no_memory(&error, "a list of damaged files");
    if (status != ESP_OK) {
        message_destroy(reply);
        reply = message_failure(MESSAGE_DATA_REPLY, status, "%s", error.text);
    }
    call_reply(call, reply);
}

enum esp_status data_drop_damaged(struct server *server, const struct call *call, const struct datum_id *id,
                                  struct esp_error *error)
{
    struct asker asker;
    char text[DATUM_TEXT];
    asker_for(server, call, &asker);
    enum esp_status status = store_remove_aside(server->data.store, &asker.is, id, error);
    if (status == ESP_OK)
        log_notice("%s: its damaged file was removed, as its owner, or an administrator, wanted",
                   datum_id_short(id, text));
    return status;
}
