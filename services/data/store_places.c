/* SPDX-License-Identifier: Apache-2.0
 *
 * Other servers that keep the same datum for good. Nobody else may know of one that is down: who deletes the
 * datum hears here that it will be back. Of a durable datum the names are in a file beside its own.
 */
#include "services/data/store_state.h"

#include "util/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_MOST  64 /* of one datum */
#define PLACES_BYTES (PLACES_MOST * (CAP_NAME + 1))
#define HEAD         "espalier places 1\n"
#define NEW          "places.new"
#define ENDING       ".places"
#define NAME_BYTES   (DATUM_DIGITS + sizeof ENDING)

static const char *file_name(struct datum_key key, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%016" PRIx64 "%016" PRIx64 ENDING, key.high, key.low);
    return name;
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

static enum esp_status write_file(struct store *store, const struct datum *datum, const char *names,
                                  size_t bytes, struct esp_error *error)
{
    struct files *files = store->options.files;
    char name[NAME_BYTES], text[sizeof HEAD + PLACES_BYTES];
    struct file *file;
    memcpy(text, HEAD, sizeof HEAD);
    memcpy(text + sizeof HEAD - 1, names, bytes);
    for (size_t at = sizeof HEAD - 1; at < sizeof HEAD - 1 + bytes; at++)
        if (!text[at])
            text[at] = '\n';
    enum esp_status status = files->ops->create(files, NEW, &file, error);
    if (status != ESP_OK)
        return status;
    status = files->ops->write(file, text, sizeof HEAD - 1 + bytes, 0, error);
    if (status == ESP_OK)
        status = files->ops->sync(file, error);
    files->ops->close(file);
    if (status == ESP_OK)
        status = files->ops->rename(files, NEW, file_name(datum->key, name), error);
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
    if (datum->on_disk && (status = write_file(store, datum, all, all_bytes, error)) != ESP_OK) {
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
    *bytes = datum ? datum->places_bytes : 0;
    return *bytes > 0 ? datum->places : NULL;
}

/* One that stays behind is removed at the next start. */
void store_forget_places(struct store *store, const struct datum *datum)
{
    struct files *files = store->options.files;
    char name[NAME_BYTES];
    if (datum->places_on_disk)
        files->ops->remove(files, file_name(datum->key, name), NULL);
}

/* ---- at the start ---- */

struct found {
    struct datum_key *keys;
    size_t n, capacity;
};

static enum esp_status note(void *arg, const char *name, const char *kind, struct esp_error *error)
{
    struct found *found = arg;
    struct datum_key key;
    char as_datum[DATUM_FILE_NAME];
    if (kind || strlen(name) != NAME_BYTES - 1 || strcmp(name + DATUM_DIGITS, ENDING) != 0)
        return ESP_OK;
    snprintf(as_datum, sizeof as_datum, "%.*s.datum", DATUM_DIGITS, name);
    if (!datum_file_key(as_datum, &key))
        return ESP_OK;
    if (found->n == found->capacity) {
        const size_t capacity = found->capacity ? 2 * found->capacity : 64;
        void *keys = realloc(found->keys, capacity * sizeof *found->keys);
        if (!keys)
            return error_no_memory(error, "the names of data");
        found->keys = keys;
        found->capacity = capacity;
    }
    found->keys[found->n++] = key;
    return ESP_OK;
}

/* The lines behind the head, as names with their NULs. */
static enum esp_status read_file(struct files *files, const char *name, char *names, size_t *bytes,
                                 struct esp_error *error)
{
    struct file *file;
    char head[sizeof HEAD] = "";
    uint64_t length;
    enum esp_status status = files->ops->open(files, name, &file, &length, error);
    if (status != ESP_OK)
        return status;
    const bool fits = length >= sizeof HEAD - 1 && length - (sizeof HEAD - 1) <= PLACES_BYTES;
    *bytes = fits ? length - (sizeof HEAD - 1) : 0;
    if (fits)
        status = files->ops->read(file, head, sizeof HEAD - 1, 0, error);
    if (status == ESP_OK && fits)
        status = files->ops->read(file, names, *bytes, sizeof HEAD - 1, error);
    files->ops->close(file);
    if (status == ESP_OK && (!fits || strcmp(head, HEAD) != 0))
        return error_set(error, ESP_SYNTAX,
                         "expected \"espalier places 1\" and names of servers, found something else");
    for (size_t i = 0; status == ESP_OK && i < *bytes; i++)
        if (names[i] == '\n')
            names[i] = 0;
    return status == ESP_OK ? check(names, *bytes, error) : status;
}

static void recover_one(struct store *store, struct datum_key key)
{
    struct files *files = store->options.files;
    struct datum *datum = store_find(store, key);
    char name[NAME_BYTES], names[PLACES_BYTES];
    struct esp_error error;
    size_t bytes;
    file_name(key, name);
    if (!datum) {
        if (!store_is_set_aside(store, key))
            files->ops->remove(files, name, NULL);
        return;
    }
    if (read_file(files, name, names, &bytes, &error) != ESP_OK) {
        log_error("data: %s/%s: %s: who deletes that datum does not hear of other servers that keep it",
                  files->where, name, error.text);
        return;
    }
    if (bytes == 0 || !(datum->places = malloc(bytes)))
        return;
    memcpy(datum->places, names, bytes);
    datum->places_bytes = bytes;
    datum->places_on_disk = true;
}

enum esp_status store_recover_places(struct store *store, struct esp_error *error)
{
    struct found found = {0};
    struct files *files = store->options.files;
    enum esp_status status = files->ops->list(files, "", note, &found, error);
    for (size_t i = 0; status == ESP_OK && i < found.n; i++)
        recover_one(store, found.keys[i]);
    free(found.keys);
    return status;
}
