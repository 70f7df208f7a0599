/* SPDX-License-Identifier: Apache-2.0
 *
 * Data that nobody can name yet: who has ordered them has not heard that they are there. A durable one has a
 * file beside its own until he has, so that it does not outlive the end of the server in between.
 */
#include "services/data/store_state.h"

#include "util/log.h"

#include <stdlib.h>

#define ENDING ".untaken"

static const char *file_name(struct datum_key key, char name[STORE_BESIDE_NAME])
{
    return store_beside_name(key, ENDING, name);
}

/* One that stays behind is removed at the next start. */
void store_forget_untaken(struct store *store, struct datum *datum)
{
    struct files *files = store->options.files;
    char name[STORE_BESIDE_NAME];
    if (datum->untaken)
        files->ops->remove(files, file_name(datum->key, name), NULL);
    datum->untaken = false;
}

enum esp_status store_note_untaken(struct store *store, struct datum_key key, struct esp_error *error)
{
    struct datum *datum = store_find(store, key);
    struct files *files = store->options.files;
    char name[STORE_BESIDE_NAME];
    struct file *file;
    if (!datum || datum->state != DATUM_PUTTING || datum->untaken ||
        !datum_is_durable(datum->mode, datum->flags))
        return ESP_OK;
    enum esp_status status = files->ops->create(files, file_name(key, name), &file, error);
    if (status != ESP_OK)
        return status;
    files->ops->close(file);
    datum->untaken = true;
    if ((status = files->ops->sync_folder(files, "", error)) != ESP_OK)
        store_forget_untaken(store, datum);
    return status;
}

enum esp_status store_note_taken(struct store *store, struct datum_key key, struct esp_error *error)
{
    struct datum *datum = store_find(store, key);
    struct files *files = store->options.files;
    char name[STORE_BESIDE_NAME];
    if (!datum || !datum->untaken)
        return ESP_OK;
    enum esp_status status = files->ops->remove(files, file_name(key, name), error);
    if (status == ESP_OK || status == ESP_NOT_FOUND) /* also where it is said once more */
        status = files->ops->sync_folder(files, "", error);
    datum->untaken = status != ESP_OK;
    return status;
}

/* ---- at the start ---- */

/* Its own files go before the one that says so: who stops in between goes on at the next start. */
static enum esp_status remove_untaken(struct files *files, struct datum_key key, struct esp_error *error)
{
    char name[DATUM_FILE_NAME], beside[STORE_BESIDE_NAME];
    enum esp_status status = files->ops->remove(files, datum_file_name(key, true, name), error);
    if (status == ESP_OK) {
        log_notice("data: %s/%s: deleted: this server ended before who ordered it knew it", files->where,
                   name);
        status = files->ops->sync_folder(files, "", error);
    } else if (status == ESP_NOT_FOUND) { /* it was not finished, or has gone */
        status = ESP_OK;
    }
    return status == ESP_OK ? files->ops->remove(files, file_name(key, beside), error) : status;
}

enum esp_status store_recover_untaken(struct store *store, struct esp_error *error)
{
    struct files *files = store->options.files;
    struct store_keys found;
    struct esp_error why;
    enum esp_status status = store_list_beside(files, ENDING, &found, error);
    for (size_t i = 0; status == ESP_OK && i < found.n; i++)
        if (remove_untaken(files, found.items[i], &why) != ESP_OK)
            log_error("data: what nobody has heard of cannot be removed now: %s", why.text);
    free(found.items);
    return status;
}
