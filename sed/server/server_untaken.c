/* SPDX-License-Identifier: Apache-2.0
 *
 * Data that clients have ordered to be laid otherwise here, and of which they have not said yet that they
 * know them (EXTENSION_LAID_TAKEN). Nobody else can name them: they do not outlive a client that asks no
 * more.
 */
#include "sed/server/server_pull.h"

#include "sed/server/server_data_internal.h"

#include <stdlib.h>

#define MOST_UNTAKEN 10000
/* A client asks how it stands every two seconds at most, and takes what is there at once. */
#define LEASE_NS (10 * NS_PER_S)

struct untaken {
    struct datum_id id;
    struct asker asker;
    int64_t until_ns;
    UT_hash_handle hh; /* by id.key */
};

static struct untaken *find(const struct server *server, struct datum_key key)
{
    struct untaken *untaken;
    HASH_FIND(hh, server->data.untaken, &key, sizeof key, untaken);
    return untaken;
}

static void forget(struct server *server, struct untaken *untaken)
{
    HASH_DEL(server->data.untaken, untaken);
    free(untaken);
}

static struct untaken *note(struct server *server, const struct asker *asker, const struct datum_id *id)
{
    struct untaken *untaken =
        HASH_COUNT(server->data.untaken) < MOST_UNTAKEN ? calloc(1, sizeof *untaken) : NULL;
    if (!untaken)
        return NULL;
    untaken->id = *id;
    asker_copy(&untaken->asker, asker);
    HASH_ADD(hh, server->data.untaken, id.key, sizeof untaken->id.key, untaken);
    if (untaken->hh.tbl)
        return untaken;
    free(untaken);
    return NULL;
}

enum esp_status untaken_ask(struct server *server, const struct asker *asker, const struct datum_id *id,
                            int64_t patience_ns, struct esp_error *error)
{
    struct untaken *untaken = find(server, id->key);
    if (!untaken && store_has(server->data.store, id->key)) /* it was taken: this question comes late */
        return ESP_OK;
    if (!untaken && !(untaken = note(server, asker, id)))
        return error_set(error, ESP_BUSY, "server %s makes %u data for clients; no more at a time",
                         server->name, HASH_COUNT(server->data.untaken));
    untaken->until_ns = server_now(server) + patience_ns + LEASE_NS;
    return ESP_OK;
}

enum esp_status untaken_take(struct server *server, const struct datum_id *id, struct esp_error *error)
{
    char text[DATUM_TEXT];
    if (!store_has(server->data.store, id->key))
        return error_set(error, ESP_NOT_FOUND,
                         "server %s does not have %s: it was not taken in time, or deleted", server->name,
                         datum_id_short(id, text));
    struct untaken *untaken = find(server, id->key);
    if (!untaken)
        return ESP_OK;
    const enum esp_status status = store_note_taken(server->data.store, id->key, error);
    if (status == ESP_OK)
        forget(server, untaken);
    return status;
}

enum esp_status untaken_made(struct server *server, struct datum_key key, struct esp_error *error)
{
    return find(server, key) ? store_note_untaken(server->data.store, key, error) : ESP_OK;
}

/* Whether it is gone, or was never made. */
static bool delete_untaken(struct server *server, const struct untaken *untaken)
{
    struct esp_error error;
    char text[DATUM_TEXT];
    datum_id_short(&untaken->id, text);
    enum esp_status status = store_delete(server->data.store, &untaken->asker.is, &untaken->id, &error);
    if (status == ESP_OK)
        log_notice("%s: deleted: who ordered it is gone, and nobody else knows it", text);
    else if (status != ESP_NOT_FOUND)
        log_warning("%s: who ordered it is gone, and it cannot be deleted: %s", text, error.text);
    return status == ESP_OK || status == ESP_NOT_FOUND;
}

void untaken_tick(struct server *server, int64_t now_ns)
{
    struct untaken *untaken, *next;
    HASH_ITER(hh, server->data.untaken, untaken, next)
    {
        if (untaken->until_ns > now_ns || server_pull_give_up(server, untaken->id.key))
            continue;
        if (delete_untaken(server, untaken))
            forget(server, untaken);
        else /* the disk is in the way */
            untaken->until_ns = now_ns + LEASE_NS;
    }
}

void untaken_release(struct server *server)
{
    struct untaken *untaken, *next;
    HASH_ITER(hh, server->data.untaken, untaken, next)
    {
        delete_untaken(server, untaken);
        forget(server, untaken);
    }
}
