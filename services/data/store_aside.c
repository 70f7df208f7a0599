/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that were damaged: out of the way in damaged/, known there as long as nobody removes them.
 */
#include "services/data/store_state.h"

#include "util/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES  (sizeof DAMAGED_FOLDER + 1 + 256)
#define MOST_ASIDES 10000u /* that are known one by one; more are on the disk only */

static const char *path_of(const char *name, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, DAMAGED_FOLDER "/%.255s", name);
    return path;
}

static const char *aside_path(const struct store_aside *aside, char path[PATH_BYTES])
{
    char name[DATUM_FILE_NAME];
    return path_of(datum_file_name(aside->id.key, aside->finished, name), path);
}

/* The place of that file among those that are known, or where it would be. */
static uint32_t place_of(const struct store *store, struct datum_key key, bool finished)
{
    uint32_t from = 0, to = store->n_asides;
    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        const struct store_aside *aside = store->asides[middle];
        const int order = store_compare_keys(aside->id.key, key);
        if (order < 0 || (order == 0 && aside->finished < finished))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static struct store_aside *at(const struct store *store, uint32_t place, struct datum_key key)
{
    struct store_aside *aside = place < store->n_asides ? store->asides[place] : NULL;
    return aside && datum_key_equal(aside->id.key, key) ? aside : NULL;
}

static void forget(struct store *store, uint32_t place)
{
    struct store_aside *aside = store->asides[place];
    store->counts.aside--;
    store->counts.aside_bytes -= aside->file_bytes;
    store->n_asides--;
    memmove(&store->asides[place], &store->asides[place + 1],
            (store->n_asides - place) * sizeof(struct store_aside *));
    free(aside);
}

/* What its header tells, where that is whole. */
static bool look_at(struct store *store, const char *path, struct store_aside *aside)
{
    struct files *files = store->options.files;
    struct datum_header record;
    struct file *file;
    if (files->ops->open(files, path, &file, &aside->file_bytes, NULL) != ESP_OK)
        return false;
    files->ops->close(file);
    aside->readable = datum_file_head(files, path, &record, NULL) == ESP_OK &&
                      datum_key_equal(record.id.key, aside->id.key);
    if (!aside->readable) {
        memcpy(aside->id.origin, store->node, sizeof store->node);
        return true;
    }
    aside->id = record.id;
    aside->shape = record.shape;
    aside->mode = record.mode;
    aside->created_s = record.created_s;
    memcpy(aside->owner, record.owner, sizeof aside->owner);
    return true;
}

static void note(struct store *store, const char *name)
{
    char path[PATH_BYTES];
    struct store_aside *aside = calloc(1, sizeof *aside);
    if (!aside || store->n_asides == MOST_ASIDES || !datum_file_key(name, &aside->id.key) ||
        !datum_file_is_one(name, &aside->finished) || !look_at(store, path_of(name, path), aside)) {
        free(aside);
        return;
    }
    const uint32_t place = place_of(store, aside->id.key, aside->finished);
    const struct store_aside *known = at(store, place, aside->id.key);
    if (known && known->finished == aside->finished) /* which it has replaced */
        forget(store, place);
    if (store->n_asides == store->asides_capacity) {
        const uint32_t capacity = store->asides_capacity ? 2 * store->asides_capacity : 16;
        void *more = realloc(store->asides, capacity * sizeof(struct store_aside *));
        if (!more) {
            free(aside);
            return;
        }
        store->asides = more;
        store->asides_capacity = capacity;
    }
    memmove(&store->asides[place + 1], &store->asides[place],
            (store->n_asides - place) * sizeof(struct store_aside *));
    store->asides[place] = aside;
    store->n_asides++;
    store->counts.aside++;
    store->counts.aside_bytes += aside->file_bytes;
}

void store_set_aside(struct store *store, const char *name, const char *why)
{
    struct files *files = store->options.files;
    char to[PATH_BYTES];
    struct esp_error error = {.text = ""};
    enum esp_status status = files->ops->rename(files, name, path_of(name, to), &error);
    if (status == ESP_OK)
        note(store, name);
    if (status == ESP_OK)
        status = files->ops->sync_folder(files, DAMAGED_FOLDER, &error);
    if (status == ESP_OK)
        status = files->ops->sync_folder(files, "", &error);
    store->counts.damaged++;
    log_error("data: %s: set aside in %s/" DAMAGED_FOLDER "%s%s", why, files->where,
              status == ESP_OK ? "" : ", which failed: ", status == ESP_OK ? "" : error.text);
}

bool store_is_set_aside(const struct store *store, struct datum_key key)
{
    struct files *files = store->options.files;
    char name[DATUM_FILE_NAME], path[PATH_BYTES];
    struct file *file;
    uint64_t bytes;
    path_of(datum_file_name(key, true, name), path);
    if (!files || files->ops->open(files, path, &file, &bytes, NULL) != ESP_OK)
        return false;
    files->ops->close(file);
    return true;
}

static enum esp_status note_file(void *arg, const char *name, const char *kind, struct esp_error *error)
{
    (void)error;
    if (!kind)
        note(arg, name);
    return ESP_OK;
}

enum esp_status store_recover_asides(struct store *store, struct esp_error *error)
{
    struct files *files = store->options.files;
    return files->ops->list(files, DAMAGED_FOLDER, note_file, store, error);
}

void store_forget_asides(struct store *store)
{
    while (store->n_asides > 0)
        forget(store, store->n_asides - 1);
    free(store->asides);
}

/* Of a file whose header, length or name is wrong nobody knows whose it is. */
static bool may(const struct store_asker *asker, const struct store_aside *aside)
{
    return asker->trusted || strcmp(asker->identity ? asker->identity : "", aside->owner) == 0;
}

size_t store_list_asides(const struct store *store, const struct store_asker *asker, struct datum_key after,
                         struct store_aside *asides, size_t capacity)
{
    size_t n = 0;
    uint32_t place = datum_key_is_none(after) ? 0 : place_of(store, after, true);
    if (!datum_key_is_none(after) && at(store, place, after))
        place++;
    for (; place < store->n_asides && n < capacity; place++)
        if (may(asker, store->asides[place]))
            asides[n++] = *store->asides[place];
    return n;
}

static enum esp_status remove_file(struct store *store, uint32_t place, struct esp_error *error)
{
    struct files *files = store->options.files;
    char path[PATH_BYTES];
    enum esp_status status = files->ops->remove(files, aside_path(store->asides[place], path), error);
    if (status != ESP_OK && status != ESP_NOT_FOUND) /* somebody has removed it by hand */
        return status;
    forget(store, place);
    return files->ops->sync_folder(files, DAMAGED_FOLDER, error);
}

enum esp_status store_remove_aside(struct store *store, const struct store_asker *asker,
                                   const struct datum_id *id, struct esp_error *error)
{
    char text[DATUM_TEXT];
    const struct store_aside *aside;
    const uint32_t place = place_of(store, id->key, false);
    enum esp_status status = ESP_NOT_FOUND;
    while ((aside = at(store, place, id->key))) {
        if (!may(asker, aside))
            return error_set(
                error, ESP_REFUSED,
                "the damaged file belongs to %s: \"%.80s\" may not remove it (administrators may)",
                aside->owner[0]   ? aside->owner
                : aside->readable ? "clients without a certificate"
                                  : "nobody knows whom, as its header, length or name is wrong",
                asker->identity ? asker->identity : "");
        status = remove_file(store, place, error);
        if (status != ESP_OK)
            return status;
        store_note_end(store, id->key, "", END_REMOVED);
    }
    return status == ESP_OK
               ? ESP_OK
               : error_set(error, ESP_NOT_FOUND, "server %.80s has no damaged file of datum %.120s",
                           store->node, datum_id_short(id, text));
}
