/* SPDX-License-Identifier: Apache-2.0
 *
 * Other servers that keep the same datum for good. Nobody else may know of one that is down: who deletes the
 * datum hears here that it will be back. Of a durable datum the names are in a file beside its own.
 */
#include "services/data/store_state.h"

#include "util/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_MOST  64 /* of one datum */
#define PLACES_BYTES (PLACES_MOST * (CAP_NAME + 1))
#define HEAD         "espalier places 1\n"
#define NEW          "places.new"
#define ENDING       ".places"

static const char *file_name(struct datum_key key, char name[STORE_BESIDE_NAME])
{
    return store_beside_name(key, ENDING, name);
}

static bool is_among(const char *names, size_t bytes, const char *name)
{
    for (size_t at = 0; at < bytes; at += strlen(names + at) + 1)
        if (strcmp(names + at, name) == 0)
            return true;
    return false;
}

/* Names as nodes have them (services/node_name.h), each with its NUL. */
static enum esp_status check(const char *names, size_t bytes, struct esp_error *error)
{
    if (bytes > 0 && names[bytes - 1] != 0)
        return error_set(error, ESP_PROTOCOL, "expected names of servers, found one without an end");
    for (size_t at = 0; at < bytes; at += strlen(names + at) + 1) {
        if (!names[at] || strlen(names + at) > CAP_NAME)
            return error_set(error, ESP_PROTOCOL,
                             "expected names of servers of 1 to %d bytes, found one of %zu", CAP_NAME,
                             strlen(names + at));
        for (const char *c = names + at; *c; c++)
            if ((unsigned char)*c <= ' ' || *c == 0x7f)
                return error_set(error, ESP_PROTOCOL,
                                 "expected a name without blanks and control characters, found code %d",
                                 (unsigned char)*c);
    }
    return ESP_OK;
}

enum esp_status store_write_places(struct store *store, struct datum_key key, const char *head,
                                   const char *names, size_t bytes, struct esp_error *error)
{
    struct files *files = store->options.files;
    const size_t before = strlen(head);
    char name[STORE_BESIDE_NAME], text[PLACES_HEAD_BYTES + PLACES_BYTES];
    struct file *file;
    if (bytes > PLACES_BYTES)
        return error_set(error, ESP_LIMIT, "expected at most %d bytes of names of servers, found %zu",
                         PLACES_BYTES, bytes);
    memcpy(text, head, before);
    memcpy(text + before, names, bytes);
    for (size_t at = before; at < before + bytes; at++)
        if (!text[at])
            text[at] = '\n';
    enum esp_status status = files->ops->create(files, NEW, &file, error);
    if (status != ESP_OK)
        return status;
    status = files->ops->write(file, text, before + bytes, 0, error);
    if (status == ESP_OK)
        status = files->ops->sync(file, error);
    files->ops->close(file);
    if (status == ESP_OK)
        status = files->ops->rename(files, NEW, file_name(key, name), error);
    return status == ESP_OK ? files->ops->sync_folder(files, "", error) : status;
}

/* Its own and the new ones; the store's own node is none. */
static enum esp_status merge(const struct store *store, const struct datum *datum, const char *names,
                             size_t bytes, char *all, size_t *all_bytes, struct esp_error *error)
{
    size_t used = datum->places_bytes;
    if (used > 0)
        memcpy(all, datum->places, used);
    for (size_t at = 0; at < bytes; at += strlen(names + at) + 1) {
        const size_t length = strlen(names + at) + 1;
        if (strcmp(names + at, store->node) == 0 || is_among(all, used, names + at))
            continue;
        if (used + length > PLACES_BYTES)
            return error_set(error, ESP_LIMIT,
                             "server %.80s notes %d bytes of names of other servers that keep a datum, and "
                             "no more: keep it on fewer",
                             store->node, PLACES_BYTES);
        memcpy(all + used, names + at, length);
        used += length;
    }
    *all_bytes = used;
    return ESP_OK;
}

enum esp_status store_note_places(struct store *store, const struct store_asker *asker, struct datum_key key,
                                  const char *names, size_t bytes, struct esp_error *error)
{
    char all[PLACES_BYTES];
    struct datum *datum;
    struct datum_id id = store_id_of(key);
    size_t all_bytes = 0;
    enum esp_status status = store_find_visible(store, asker, &id, &datum, error);
    if (status == ESP_OK)
        status = check(names, bytes, error);
    if (status == ESP_OK && datum->writing)
        status = store_busy(store, error, "the datum is being written to the disk");
    if (status == ESP_OK)
        status = merge(store, datum, names, bytes, all, &all_bytes, error);
    if (status != ESP_OK || all_bytes == 0 ||
        (all_bytes == datum->places_bytes && datum->places_on_disk == datum->on_disk))
        return status;
    char *copy = malloc(all_bytes);
    if (!copy)
        return error_no_memory(error, "names of servers");
    memcpy(copy, all, all_bytes);
    if (datum->on_disk && (status = store_write_places(store, key, HEAD, all, all_bytes, error)) != ESP_OK) {
        free(copy);
        return status;
    }
    free(datum->places);
    datum->places = copy;
    datum->places_bytes = all_bytes;
    datum->places_on_disk = datum->on_disk;
    return ESP_OK;
}

const char *store_places(const struct store *store, struct datum_key key, size_t *bytes)
{
    const struct datum *datum = store_find(store, key);
    /* As long as there is one, what is here is a replica, or only coming. */
    const struct store_trace *trace = store_find_trace(store, key);
    const char *names = trace ? trace->names : datum ? datum->places : NULL;
    *bytes = trace ? trace->bytes : datum ? datum->places_bytes : 0;
    return *bytes > 0 ? names : NULL;
}

void store_remove_places(struct store *store, struct datum_key key)
{
    struct files *files = store->options.files;
    char name[STORE_BESIDE_NAME];
    files->ops->remove(files, file_name(key, name), NULL);
}

/* One that stays behind is removed at the next start. */
void store_forget_places(struct store *store, const struct datum *datum)
{
    if (datum->places_on_disk)
        store_remove_places(store, datum->key);
}

/* ---- at the start ---- */

/* What such a file says. */
struct told {
    char text[PLACES_HEAD_BYTES + PLACES_BYTES + 1];
    const char *names; /* in the text, each with its NUL */
    size_t bytes;
    bool is_trace;
    struct store_trace trace; /* then: of which kind */
};

static enum esp_status read_file(struct files *files, const char *name, struct told *told,
                                 struct esp_error *error)
{
    struct file *file;
    uint64_t length;
    enum esp_status status = files->ops->open(files, name, &file, &length, error);
    if (status != ESP_OK)
        return status;
    const bool fits = length < sizeof told->text;
    if (fits)
        status = files->ops->read(file, told->text, length, 0, error);
    files->ops->close(file);
    if (status != ESP_OK)
        return status;
    told->text[fits ? length : 0] = 0;
    const char *end = strchr(told->text, '\n');
    told->trace = (struct store_trace){.on_disk = true};
    told->is_trace = store_trace_head(told->text, &told->trace);
    if (!end || (!told->is_trace && strncmp(told->text, HEAD, strlen(HEAD)) != 0))
        return error_set(error, ESP_SYNTAX,
                         "expected \"espalier places 1\" and names of servers, found something else");
    told->names = end + 1;
    told->bytes = length - (size_t)(told->names - told->text);
    for (size_t i = (size_t)(told->names - told->text); i < length; i++)
        if (told->text[i] == '\n')
            told->text[i] = 0;
    return check(told->names, told->bytes, error);
}

static void recover_places(struct datum *datum, const struct told *told)
{
    if (told->bytes == 0 || !(datum->places = malloc(told->bytes)))
        return;
    memcpy(datum->places, told->names, told->bytes);
    datum->places_bytes = told->bytes;
    datum->places_on_disk = true;
}

static void recover_trace(struct store *store, struct datum_key key, const struct told *told)
{
    struct store_trace *trace = malloc(sizeof *trace);
    char *names = malloc(told->bytes);
    if (!trace || !names) {
        free(trace);
        free(names);
        return; /* the next start tells of it */
    }
    *trace = told->trace;
    trace->key = key;
    trace->names = memcpy(names, told->names, told->bytes);
    trace->bytes = told->bytes;
    store_add_trace(store, trace);
}

/* A trace beside its datum is of a deletion, or a move, that was not finished: its names are places. */
static void recover_one(struct store *store, struct datum_key key)
{
    struct files *files = store->options.files;
    struct datum *datum = store_find(store, key);
    char name[STORE_BESIDE_NAME];
    struct told told;
    struct esp_error error;
    file_name(key, name);
    const enum esp_status status = read_file(files, name, &told, &error);
    if (datum && status == ESP_OK)
        recover_places(datum, &told);
    else if (datum)
        log_error("data: %s/%s: %s: who deletes that datum does not hear of other servers that keep it",
                  files->where, name, error.text);
    else if (status == ESP_OK && told.is_trace && told.bytes > 0)
        recover_trace(store, key, &told);
    else if (!store_is_set_aside(store, key))
        files->ops->remove(files, name, NULL);
}

enum esp_status store_recover_places(struct store *store, struct esp_error *error)
{
    struct store_keys found;
    enum esp_status status = store_list_beside(store->options.files, ENDING, &found, error);
    for (size_t i = 0; status == ESP_OK && i < found.n; i++)
        recover_one(store, found.items[i]);
    free(found.items);
    return status;
}
