/* SPDX-License-Identifier: Apache-2.0
 *
 * What data there are, and where.
 */
#include "client/data/data.h"
#include "client/library.h"
#include "client/session/package.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Answers of servers, before they are packed for the program. */
struct answers {
    struct engine *engine;
    struct message *items;
    size_t n;
    uint64_t entries;
    bool of_damaged;        /* files that were set aside are meant */
    size_t silent;          /* servers that did not answer, */
    struct esp_error first; /* and what is known of the first of them */
};

static enum esp_status ask(struct answers *answers, const char *address, const struct data *data,
                           struct message **into, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_DATA, .data = *data};
    struct message *more = realloc(answers->items, (answers->n + 1) * sizeof *more);
    if (!more)
        return error_no_memory(error, "a list of data");
    answers->items = more;
    *into = &more[answers->n++];
    memset(*into, 0, sizeof **into);
    enum esp_status status = data_ask(answers->engine, address, &request, *into, error);
    if (status == ESP_OK)
        answers->entries += (*into)->data_reply.n;
    return status;
}

static void clear(struct answers *answers)
{
    for (size_t i = 0; i < answers->n; i++)
        message_clear(&answers->items[i]);
    free(answers->items);
}

static void unpack_storage(const struct datum_info *from, struct esp_data_info *to)
{
    to->by_rows = from->row_major;
    if (from->storage == STORAGE_PACKED) {
        to->storage = from->layout_a == 'L' ? ESP_DATA_PACKED_LOWER : ESP_DATA_PACKED_UPPER;
    } else if (from->storage == STORAGE_BANDED) {
        to->storage = ESP_DATA_BANDED;
        to->below = from->layout_a;
        to->above = from->layout_b;
        to->front = from->layout_c;
    }
}

static bool unpack(void *package, const struct datum_info *from, bool is_damaged, struct esp_data_info *to)
{
    *to = (struct esp_data_info){.id = package_text(package, from->datum),
                                 .server = package_text(package, from->server),
                                 .address = package_text(package, from->address),
                                 .owner = package_text(package, from->owner),
                                 .type = (enum esp_type)(from->type + 1),
                                 .n_dims = from->n_dims,
                                 .bytes = from->bytes,
                                 .mode = (enum esp_data_mode)from->mode,
                                 .replica = (from->flags & DATUM_REPLICA) != 0,
                                 .unique = (from->flags & DATUM_UNIQUE) != 0,
                                 .in_memory = from->in_memory,
                                 .on_disk = from->on_disk,
                                 .users = from->users,
                                 .gets = from->gets,
                                 .bytes_in = from->bytes_in,
                                 .bytes_out = from->bytes_out,
                                 .created_s = (double)from->created_s,
                                 .idle_s = from->idle_s};
    if (is_damaged && !from->complete)
        to->type = ESP_TYPE_ANY; /* its header tells nothing */
    memcpy(to->dims, from->dims, from->n_dims * sizeof *to->dims);
    unpack_storage(from, to);
    struct block_cyclic_matrix layout;
    if (data_layout(from, &layout))
        to->layout = (struct esp_data_layout){.rows = (unsigned)layout.rows.ranks,
                                              .cols = (unsigned)layout.cols.ranks,
                                              .row_block = layout.rows.block,
                                              .col_block = layout.cols.block};
    return to->id && to->server && to->address && to->owner;
}

static enum esp_status pack(const struct answers *answers, struct esp_data_info **infos, size_t *n,
                            struct esp_error *error)
{
    struct esp_data_info *package = package_create((answers->entries + 1) * sizeof *package);
    bool whole = package;
    *n = 0;
    for (size_t i = 0; i < answers->n; i++) {
        const struct data_reply *reply = &answers->items[i].data_reply;
        for (uint32_t k = 0; whole && answers->items[i].outcome.status == ESP_OK && k < reply->n; k++)
            whole = unpack(package, &reply->items[k], answers->of_damaged, &package[(*n)++]);
    }
    if (whole) {
        *infos = package;
        return ESP_OK;
    }
    package_destroy(package);
    return error_no_memory(error, "a list of data");
}

static void note_silence(struct answers *answers, const struct data_holder *server,
                         const struct esp_error *error)
{
    if (answers->silent++ > 0)
        return;
    answers->first = *error;
    error_prefix_at(&answers->first, server->server, server->address);
}

/* Of an earlier version: what it told is of data. */
static enum esp_status no_damaged(struct answers *answers, struct message *reply, struct esp_error *error)
{
    answers->entries -= reply->data_reply.n;
    reply->data_reply.n = 0;
    return error_set(
        error, ESP_VERSION,
        "it is of an earlier version, which does not tell of its damaged files: look into the folder "
        "'damaged' among its data");
}

/* One that keeps no data has none to show; one that does not answer may have some. */
static enum esp_status list_server(void *arg, const struct data_holder *server, struct esp_error *error)
{
    struct answers *answers = arg;
    struct data data = {.datum = "", .after = ""};
    struct message *reply = NULL;
    struct extension damaged = {EXTENSION_DAMAGED, NULL, 0};
    bool more = true;
    if (answers->of_damaged)
        data.extensions = (struct extensions){&damaged, 1};
    while (more) {
        enum esp_status status = ask(answers, server->address, &data, &reply, error);
        if (status == ESP_NO_MEMORY)
            return status;
        if (status == ESP_OK && answers->of_damaged &&
            !extension_find(&reply->data_reply.extensions, EXTENSION_DAMAGED))
            status = no_damaged(answers, reply, error);
        if (status == ESP_UNREACHABLE || status == ESP_TIMEOUT || status == ESP_VERSION)
            note_silence(answers, server, error);
        more = status == ESP_OK && reply->data_reply.more && reply->data_reply.n > 0;
        if (more)
            data.after = reply->data_reply.items[reply->data_reply.n - 1].datum;
    }
    return ESP_OK;
}

static enum esp_status look_once(struct answers *answers, const char *id, size_t *found,
                                 struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    size_t n = 0;
    struct message *reply;
    const struct data data = {.datum = id, .after = ""};
    enum esp_status status = data_find(answers->engine, id, true, holders, &n, error);
    *found = n;
    if (status != ESP_OK)
        return status;
    for (size_t i = 0; i < n && status != ESP_NO_MEMORY; i++) {
        status = ask(answers, holders[i].address, &data, &reply, error);
        if (status != ESP_OK)
            error_prefix_at(error, holders[i].server, holders[i].address);
    }
    if (status == ESP_NO_MEMORY || answers->entries > 0)
        return status == ESP_NO_MEMORY ? status : ESP_OK; /* one that has it is enough */
    return status != ESP_OK ? status : error_set(error, ESP_NOT_FOUND, "the datum has just been deleted");
}

/* Who had it a moment ago, and is not reached now, is being started again, perhaps: it is looked for anew. */
static enum esp_status look(struct answers *answers, const char *id, struct esp_error *error)
{
    size_t found;
    const enum esp_status status = look_once(answers, id, &found, error);
    return found > 0 && (status == ESP_UNREACHABLE || status == ESP_MAYBE)
               ? look_once(answers, id, &found, error)
               : status;
}

static enum esp_status tell_silence(const struct answers *answers, struct esp_error *error)
{
    char others[64] = "";
    if (answers->silent == 0)
        return ESP_OK;
    if (answers->silent > 1)
        snprintf(others, sizeof others, "; %zu more did not answer", answers->silent - 1);
    return error_set(error, answers->first.status, "%s%s", answers->first.text, others);
}

static enum esp_status answer(const char *id, const char *server, bool of_damaged,
                              struct esp_data_info **infos, size_t *n)
{
    struct esp_error *error = library_error();
    *infos = NULL;
    *n = 0;
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    struct answers answers = {.engine = library->engine, .of_damaged = of_damaged};
    struct esp_error missed = {.status = ESP_OK};
    enum esp_status status =
        id ? look(&answers, id, error)
           : data_each_server(library->engine, server, list_server, &answers, &missed, error);
    if (missed.status != ESP_OK && answers.silent++ == 0)
        answers.first = missed;
    if (status == ESP_OK)
        status = pack(&answers, infos, n, error);
    if (status == ESP_OK)
        status = tell_silence(&answers, error);
    clear(&answers);
    library_leave(status == ESP_OK);
    return status;
}

enum esp_status esp_data_look(const char *id, struct esp_data_info **infos, size_t *n)
{
    if (!id || !infos || !n)
        return error_set(library_error(), ESP_INVALID,
                         "expected an identity and places for the answer, found NULL");
    return answer(id, NULL, false, infos, n);
}

enum esp_status esp_data_list(const char *server, struct esp_data_info **infos, size_t *n)
{
    if (!infos || !n)
        return error_set(library_error(), ESP_INVALID, "expected places for the list, found NULL");
    return answer(NULL, server, false, infos, n);
}

enum esp_status esp_data_list_damaged(const char *server, struct esp_data_info **infos, size_t *n)
{
    if (!infos || !n)
        return error_set(library_error(), ESP_INVALID, "expected places for the list, found NULL");
    return answer(NULL, server, true, infos, n);
}

void esp_data_free(struct esp_data_info *infos)
{
    package_destroy(infos);
}
