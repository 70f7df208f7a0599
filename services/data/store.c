/* SPDX-License-Identifier: Apache-2.0 */
#include "services/data/store_state.h"
#include "util/fingerprint.h"
#include "util/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void store_fill_id(const struct datum *datum, struct datum_id *id);
static void store_leave_client(struct store *store, struct datum *datum);
static void store_spare_no_more(struct store *store, struct datum *datum);

int store_compare_keys(struct datum_key a, struct datum_key b)
{
    if (a.high != b.high)
        return a.high < b.high ? -1 : 1;
    return a.low < b.low ? -1 : a.low > b.low;
}

static int compare(const struct datum *a, const struct datum *b)
{
    return store_compare_keys(a->key, b->key);
}

static void fill_entry(const struct store *store, const struct datum *datum, struct store_entry *entry)
{
    struct datum_header record;
    store_fill_record(datum, &record);
    *entry = (struct store_entry){.id = record.id,
                                  .shape = record.shape,
                                  .mode = record.mode,
                                  .flags = record.flags,
                                  .created_s = record.created_s,
                                  .in_memory = datum_in_memory(datum) && !datum->loading,
                                  .on_disk = datum->on_disk || datum->stream,
                                  .pins = datum->pins,
                                  .puts = datum->puts,
                                  .gets = datum->gets,
                                  .bytes_in = datum->bytes_in,
                                  .bytes_out = datum->bytes_out,
                                  .disk_reads = datum->disk_reads,
                                  .idle_s = (double)(store_now(store) - datum->used_ns) / 1e9};
    memcpy(entry->owner, record.owner, sizeof entry->owner);
}

enum esp_status store_look(struct store *store, const struct store_asker *asker, const struct datum_id *id,
                           struct store_entry *entry, struct esp_error *error)
{
    struct datum *datum;
    enum esp_status status = store_find_visible(store, asker, id, &datum, error);
    if (status == ESP_OK)
        fill_entry(store, datum, entry);
    return status;
}

bool store_has(const struct store *store, struct datum_key key)
{
    const struct datum *datum = store_find(store, key);
    return datum && datum->state == DATUM_VISIBLE;
}

/* Finds the next datum for a page of a list. All pages of a long list need one sort; data added meanwhile
 * are sorted in by the next one. */
static struct datum *behind(struct store *store, struct datum_key after)
{
    if (!store->sorted) {
        HASH_SORT(store->data, compare);
        store->sorted = true;
        store->unverified = NULL;
    }
    struct datum *datum = datum_key_is_none(after) ? NULL : store_find(store, after);
    if (datum)
        return datum->hh.next;
    for (datum = store->data; datum && store_compare_keys(datum->key, after) <= 0;)
        datum = datum->hh.next;
    return datum;
}

size_t store_list(struct store *store, const struct store_asker *asker, struct datum_key after,
                  struct store_entry *entries, size_t capacity)
{
    size_t n = 0;
    for (struct datum *datum = behind(store, after); datum && n < capacity; datum = datum->hh.next)
        if (datum->state == DATUM_VISIBLE && store_check_owner(asker, datum, NULL) == ESP_OK)
            fill_entry(store, datum, &entries[n++]);
    return n;
}

void store_each(const struct store *store,
                void (*visit)(void *arg, const struct datum_id *id, uint64_t bytes), void *arg)
{
    struct datum_id id;
    for (const struct datum *datum = store->data; datum; datum = datum->hh.next) {
        if (datum->state != DATUM_VISIBLE)
            continue;
        store_fill_id(datum, &id);
        visit(arg, &id, datum->shape.bytes);
    }
}

void store_count(const struct store *store, struct store_counts *counts)
{
    *counts = store->counts;
    counts->pinned_bytes = counts->memory_bytes - store->movable_bytes;
}

/* Epitaphs: the fate of data that are no longer here. Requests for such data are answered with it, and a
 * copy of deleted data that was on its way is refused. */

static const char *const ends[N_ENDS] = {
    [END_DELETED] = "it was deleted",
    [END_BARRED] = "it was deleted",
    [END_DROPPED] =
        "it was dropped to make room (a volatile datum or a replica; put it as persistent to keep "
        "it)",
    [END_EXPIRED] = "its client was not heard of for its lease (put it as persistent to keep it)",
    [END_DAMAGED] = "its file was damaged, and is set aside there (damaged/KEY.datum, "
                    "KEY being its 32 digits; 'espalier data ls --damaged')",
    [END_CONSUMED] = "it was strictly volatile, and a session has used it",
    [END_PASSED] = "it was a copy for a session, and nobody has used it since",
    [END_DEPARTED] = "its copy here was deleted, and it may be on other servers",
    [END_MOVED] = "it was moved to another server",
    [END_REMOVED] = "its file was damaged, and was removed",
    [END_ABORTED] = "its transfer was given up before it was complete",
};

uint64_t store_owner_digest(const char *name)
{
    return fingerprint(name, strlen(name));
}

void store_note_end(struct store *store, struct datum_key key, const char *owner, enum store_end end)
{
    struct store_epitaph *epitaph = &store->epitaphs[store->n_epitaphs++ % STORE_EPITAPHS];
    *epitaph = (struct store_epitaph){.key = key, .owner = store_owner_digest(owner), .end = end};
}

/* Returns the latest epitaph of the datum; NULL: there is none. */
static const struct store_epitaph *find(const struct store *store, struct datum_key key)
{
    for (uint32_t i = 0; i < STORE_EPITAPHS && i < store->n_epitaphs; i++) {
        const struct store_epitaph *epitaph = &store->epitaphs[(store->n_epitaphs - 1 - i) % STORE_EPITAPHS];
        if (datum_key_equal(epitaph->key, key))
            return epitaph;
    }
    return NULL;
}

const char *store_moved_to(const struct store *store, struct datum_key key)
{
    const struct store_trace *trace = store_has(store, key) ? NULL : store_find_trace(store, key);
    return trace && trace->moved ? trace->names : NULL;
}

/* Whether the datum itself was deleted, and not only the copy here. */
static bool ends_all(const struct store_epitaph *epitaph)
{
    return epitaph->end == END_DELETED || epitaph->end == END_CONSUMED;
}

const char *store_epitaph(const struct store *store, const struct datum_id *id, char text[STORE_EPITAPH_TEXT])
{
    const struct store_epitaph *epitaph = find(store, id->key);
    const struct store_trace *trace = store_find_trace(store, id->key);
    /* The fate of a later copy here, or of one that did not come, is not the fate of the datum. */
    if (trace && trace->moved && !(epitaph && (ends_all(epitaph) || epitaph->end == END_BARRED))) {
        snprintf(text, STORE_EPITAPH_TEXT, "it was moved to server %.*s", CAP_NAME, trace->names);
        return text;
    }
    if (epitaph && epitaph->end == END_DAMAGED && !store_is_set_aside(store, id->key))
        return "its file there was damaged, or was removed";
    if (epitaph)
        return ends[epitaph->end];
    if (trace)
        return ends[END_DELETED];
    if (store_is_set_aside(store, id->key))
        return ends[END_DAMAGED];
    if (strcmp(id->origin, store->node) != 0)
        return "it was made by another server, and there is no copy here";
    return "it is not known here: deleted or dropped long ago, volatile before a restart, or never put";
}

void store_bar(struct store *store, const struct store_asker *asker, struct datum_key key)
{
    const char *identity = asker->identity ? asker->identity : "";
    store_note_end(store, key, identity, END_BARRED);
    store_trace_deleted(store, key, identity);
}

bool store_is_barred(const struct store *store, struct datum_key key, const char *owner, uint32_t flags)
{
    const struct store_epitaph *epitaph = find(store, key);
    const struct store_trace *trace = store_find_trace(store, key);
    const uint64_t own = store_owner_digest(owner);
    return (trace && !trace->moved && (flags & DATUM_SHARED || trace->owner == own)) ||
           (epitaph && (ends_all(epitaph) || epitaph->end == END_BARRED) &&
            (flags & DATUM_SHARED || epitaph->owner == own));
}

bool store_was_deleted(const struct store *store, struct datum_key key)
{
    const struct store_epitaph *epitaph = find(store, key);
    const struct store_trace *trace = store_has(store, key) ? NULL : store_find_trace(store, key);
    return (epitaph && ends_all(epitaph)) || (trace && !trace->moved);
}

bool store_has_lost(const struct store *store, struct datum_key key)
{
    const struct store_epitaph *epitaph = find(store, key);
    return epitaph && epitaph->end == END_DAMAGED;
}

/* Untaken data: the client that ordered them does not know their identity yet. A durable one has an extra
 * file beside its own until the client knows, so that it does not outlive an end of the server before
 * that. */

#define ENDING ".untaken"

static const char *file_name(struct datum_key key, char name[STORE_BESIDE_NAME])
{
    return store_beside_name(key, ENDING, name);
}

/* Removes the extra file of an untaken datum that has gone. A file that stays behind is removed at the
 * next start. */
static void store_forget_untaken(struct store *store, struct datum *datum)
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
    if (status == ESP_OK || status == ESP_NOT_FOUND) /* also when repeated */
        status = files->ops->sync_folder(files, "", error);
    datum->untaken = status != ESP_OK;
    return status;
}

/* ---- at the start ---- */

/* Removes the datum's files before the extra file, so that an interrupted removal continues at the next
 * start. */
static enum esp_status remove_untaken(struct files *files, struct datum_key key, struct esp_error *error)
{
    char name[DATUM_FILE_NAME], beside[STORE_BESIDE_NAME];
    enum esp_status status = files->ops->remove(files, datum_file_name(key, true, name), error);
    if (status == ESP_OK) {
        log_notice("data: %s/%s: deleted: this server ended before who ordered it knew it", files->where,
                   name);
        status = files->ops->sync_folder(files, "", error);
    } else if (status == ESP_NOT_FOUND) { /* it was unfinished, or has gone */
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

static char nobody[] = "";

struct datum *store_find(const struct store *store, struct datum_key key)
{
    struct datum *datum;
    HASH_FIND(hh, store->data, &key, sizeof key, datum);
    return datum;
}

bool store_add(struct store *store, struct datum *datum)
{
    HASH_ADD(hh, store->data, key, sizeof datum->key, datum);
    store->sorted = false;
    return datum->hh.tbl != NULL;
}

/* Shares common names: most data are created here, and many owners are "". */
static char *keep_name(struct store *store, const char *name)
{
    if (strcmp(name, store->node) == 0)
        return store->node;
    return name[0] ? strdup(name) : nobody;
}

static void drop_name(const struct store *store, char *name)
{
    if (name != store->node && name != nobody)
        free(name);
}

struct datum *store_make_entry(struct store *store, const struct datum_header *record)
{
    struct datum *datum = calloc(1, sizeof *datum);
    if (!datum)
        return NULL;
    datum->key = record->id.key;
    datum->shape = record->shape;
    datum->mode = record->mode;
    datum->flags = record->flags;
    datum->created_s = record->created_s;
    datum->used_ns = store_now(store);
    datum->segment_owner[0] = record->id.key.high; /* unless a client is known */
    datum->segment_owner[1] = record->id.key.low;
    datum->origin = keep_name(store, record->id.origin);
    datum->owner = keep_name(store, record->owner);
    if (datum->origin && datum->owner)
        return datum;
    store_free_entry(store, datum);
    return NULL;
}

void store_free_entry(struct store *store, struct datum *datum)
{
    drop_name(store, datum->origin);
    drop_name(store, datum->owner);
    ranges_clear(&datum->arrived);
    store_sums_clear(&datum->sums);
    free(datum->places);
    free(datum);
}

static void store_fill_id(const struct datum *datum, struct datum_id *id)
{
    *id = (struct datum_id){datum->key, ""};
    memcpy(id->origin, datum->origin, strlen(datum->origin));
}

void store_fill_record(const struct datum *datum, struct datum_header *record)
{
    *record = (struct datum_header){
        .shape = datum->shape, .mode = datum->mode, .flags = datum->flags, .created_s = datum->created_s};
    store_fill_id(datum, &record->id);
    memcpy(record->owner, datum->owner, strlen(datum->owner));
}

enum esp_status store_busy(struct store *store, struct esp_error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error_vset(error, ESP_BUSY, format, arguments);
    va_end(arguments);
    store->refused_busy = true;
    return ESP_BUSY;
}

void store_changed(struct store *store)
{
    if (!store->refused_busy)
        return;
    store->refused_busy = false;
    if (store->options.changed)
        store->options.changed(store->options.arg);
}

enum esp_status store_check_owner(const struct store_asker *asker, const struct datum *datum,
                                  struct esp_error *error)
{
    const char *identity = asker->identity ? asker->identity : "";
    if (asker->trusted || datum->flags & DATUM_SHARED || strcmp(identity, datum->owner) == 0)
        return ESP_OK;
    return error_set(error, ESP_REFUSED,
                     "the datum belongs to %s, and is not shared: \"%.80s\" may not use it",
                     datum->owner[0] ? datum->owner : "clients without a certificate", identity);
}

enum esp_status store_find_visible(struct store *store, const struct store_asker *asker,
                                   const struct datum_id *id, struct datum **result, struct esp_error *error)
{
    char text[DATUM_TEXT], why[STORE_EPITAPH_TEXT];
    struct datum *datum = store_find(store, id->key);
    if (!datum || datum->state == DATUM_LEAVING)
        return error_set(error, ESP_NOT_FOUND, "server %.80s has no datum %.120s: %s", store->node,
                         datum_id_short(id, text), store_epitaph(store, id, why));
    if (datum->state != DATUM_VISIBLE)
        return error_set(error, ESP_NOT_FOUND, "server %.80s has no datum %.120s yet: it is still being put",
                         store->node, datum_id_short(id, text));
    enum esp_status status = store_check_owner(asker, datum, error);
    if (status == ESP_OK)
        *result = datum;
    return status;
}

/* ---- the end of a datum ---- */

static void count_end(struct store *store, const struct datum *datum, enum store_end end)
{
    switch (end) {
    case END_DROPPED:
    case END_PASSED:
        store->counts.dropped++;
        break;
    case END_EXPIRED:
        store->counts.expired++;
        break;
    case END_DAMAGED: /* counted when the file is quarantined */
        break;
    default:
        store->counts.deleted += datum->state == DATUM_VISIBLE;
    }
}

void store_settle(struct store *store, struct datum *datum)
{
    if (!datum->gone || datum->pins || datum->held || datum->areas)
        return;
    store_give_memory(store, datum);
    datum_stream_close(datum->stream);
    store_free_entry(store, datum);
}

static void forget_on_disk(struct store *store, struct datum *datum)
{
    store_give_disk(store, datum);
    if (datum->on_disk && !datum->verified)
        store->n_unverified--;
    datum->on_disk = false;
}

/* Removes the datum from the hash. */
static void take_out(struct store *store, struct datum *datum)
{
    if (store->unverified == datum)
        store->unverified = datum->hh.next;
    HASH_DEL(store->data, datum);
    datum->gone = true;
    store_settle(store, datum);
}

void store_end(struct store *store, struct datum *datum, enum store_end end)
{
    const bool visible = datum->state == DATUM_VISIBLE, replica = datum->flags & DATUM_REPLICA;
    struct datum_id id;
    uint64_t bytes = datum->shape.bytes;
    store_fill_id(datum, &id);
    store_note_end(store, datum->key, datum->owner, end);
    count_end(store, datum, end);
    store_leave_client(store, datum);
    forget_on_disk(store, datum);
    store_stay(store, datum->key);
    store_spare_no_more(store, datum);
    store_forget_untaken(store, datum);
    if (visible && datum->stream)
        datum_stream_unlink(datum->stream); /* its readers may outlive a new datum of its name */
    if (visible) {
        store->counts.data--;
    } else {
        store->counts.unfinished--;
        DL_DELETE(store->unfinished, datum);
    }
    datum->state = DATUM_LEAVING;
    store_line_up(store, datum);
    if (datum->areas == 0)
        take_out(store, datum);
    if (visible && store->options.news)
        store->options.news(store->options.arg, &id, bytes,
                            end == END_DAMAGED && !replica ? STORE_DAMAGED : STORE_GONE);
    store_changed(store);
}

/* ---- the store ---- */

enum esp_status store_create(const struct store_options *options, struct store **result,
                             struct esp_error *error)
{
    struct store *store = calloc(1, sizeof *store);
    enum esp_status status = ESP_OK;
    if (!store) {
        status = error_no_memory(error, "the store");
    } else {
        store->options = *options;
        if (store->options.most_data == 0)
            store->options.most_data = STORE_MOST_DATA;
        snprintf(store->node, sizeof store->node, "%s", options->node);
        store->counts.memory_limit = options->memory_bytes;
        store->counts.disk_limit = options->disk_bytes;
        if (options->files)
            status = store_recover(store, error);
    }
    if (status != ESP_OK) {
        if (store)
            store_destroy(store);
        else if (options->files)
            options->files->ops->destroy(options->files);
        return status;
    }
    *result = store;
    return ESP_OK;
}

void store_destroy(struct store *store)
{
    if (!store)
        return;
    struct datum *datum, *next;
    HASH_ITER(hh, store->data, datum, next)
    {
        store_leave_client(store, datum);
        HASH_DEL(store->data, datum);
        segments_give(store->options.segments, datum->segment);
        datum_stream_close(datum->stream);
        store_free_entry(store, datum);
    }
    if (store->options.files)
        store->options.files->ops->destroy(store->options.files);
    store_forget_traces(store);
    store_forget_asides(store);
    free(store);
}

/* Leases: data of clients that have vanished are deleted. */

static struct store_client *find_client(const struct store *store, const uint64_t id[2])
{
    struct store_client *client;
    HASH_FIND(hh, store->clients, id, sizeof client->id, client);
    return client;
}

static struct store_client *make_client(struct store *store, const uint64_t id[2])
{
    struct store_client *client = calloc(1, sizeof *client);
    if (!client)
        return NULL;
    memcpy(client->id, id, sizeof client->id);
    HASH_ADD(hh, store->clients, id, sizeof client->id, client);
    if (client->hh.tbl)
        return client;
    free(client);
    return NULL;
}

/* Without memory for the lease, the datum has none: it is deleted when room is needed. */
static void store_join_client(struct store *store, struct datum *datum, const uint64_t id[2])
{
    if (store->options.client_lease_ns == 0 || (id[0] == 0 && id[1] == 0))
        return;
    struct store_client *client = find_client(store, id);
    if (!client && !(client = make_client(store, id)))
        return;
    client->seen_ns = store_now(store);
    datum->client = client;
    DL_APPEND2(client->data, datum, prev_of_client, next_of_client);
}

static void store_leave_client(struct store *store, struct datum *datum)
{
    struct store_client *client = datum->client;
    if (!client)
        return;
    datum->client = NULL;
    DL_DELETE2(client->data, datum, prev_of_client, next_of_client);
    if (client->data)
        return;
    HASH_DEL(store->clients, client);
    free(client);
}

void store_client_seen(struct store *store, const uint64_t id[2])
{
    struct store_client *client = find_client(store, id);
    if (client)
        client->seen_ns = store_now(store);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Deletes all data of the client; the last one frees its record. */
static void expire_client(struct store *store, struct store_client *client)
{
    struct datum *datum, *next;
    for (datum = client->data; datum; datum = next) {
        next = datum->next_of_client;
        store_end(store, datum, END_EXPIRED);
    }
}

static int64_t tick_clients(struct store *store, int64_t now_ns)
{
    struct store_client *client, *next;
    int64_t next_ns = CLOCK_NEVER;
    HASH_ITER(hh, store->clients, client, next)
    {
        int64_t due_ns = client->seen_ns + store->options.client_lease_ns;
        if (due_ns <= now_ns)
            expire_client(store, client);
        else
            next_ns = earlier(next_ns, due_ns);
    }
    return next_ns;
}

/* A datum with a moving piece, or being written, is not idle. */
static int64_t tick_unfinished(struct store *store, int64_t now_ns)
{
    struct datum *datum, *next;
    int64_t next_ns = CLOCK_NEVER;
    if (store->options.put_lease_ns == 0)
        return next_ns;
    DL_FOREACH_SAFE(store->unfinished, datum, next)
    {
        bool busy = datum->areas > 0 || datum->state == DATUM_COMMITTING;
        int64_t due_ns = (busy ? now_ns : datum->used_ns) + store->options.put_lease_ns;
        if (due_ns <= now_ns)
            store_end(store, datum, END_ABORTED);
        else
            next_ns = earlier(next_ns, due_ns);
    }
    return next_ns;
}

void store_stay(struct store *store, struct datum_key key)
{
    struct datum *datum = store_find(store, key);
    if (!datum || !datum->passing)
        return;
    datum->passing = false;
    store->n_passing--;
}

void store_spare(struct store *store, struct datum_key key, int64_t for_ns)
{
    struct datum *datum = store_find(store, key);
    if (!datum || datum->state != DATUM_VISIBLE)
        return;
    store->n_spared += datum->spared_until_ns == 0;
    datum->spared_until_ns = store_now(store) + for_ns;
    store_line_up(store, datum);
}

/* The datum may be deleted like others again. */
static void store_spare_no_more(struct store *store, struct datum *datum)
{
    if (datum->spared_until_ns == 0)
        return;
    datum->spared_until_ns = 0;
    store->n_spared--;
    store_line_up(store, datum);
}

static int64_t tick_spared(struct store *store, int64_t now_ns)
{
    int64_t next_ns = CLOCK_NEVER;
    for (struct datum *datum = store->data; store->n_spared > 0 && datum; datum = datum->hh.next) {
        if (datum->spared_until_ns == 0)
            continue;
        if (datum->spared_until_ns <= now_ns)
            store_spare_no_more(store, datum);
        else
            next_ns = earlier(next_ns, datum->spared_until_ns);
    }
    return next_ns;
}

/* The list is in the order of the last use: after the first datum that is not due, none is. */
static int64_t tick_line(struct store *store, enum datum_line line, int64_t now_ns)
{
    struct datum *datum, *next;
    DL_FOREACH_SAFE(store->lines[line], datum, next)
    {
        int64_t due_ns = datum->used_ns + store->options.passing_ns;
        if (due_ns > now_ns)
            return due_ns;
        if (datum->passing)
            store_end(store, datum, END_PASSED);
    }
    return now_ns + store->options.passing_ns; /* pinned data */
}

static int64_t tick_passing(struct store *store, int64_t now_ns)
{
    if (store->n_passing == 0 || store->options.passing_ns == 0)
        return CLOCK_NEVER;
    return earlier(tick_line(store, LINE_DROP, now_ns), tick_line(store, LINE_BORNE, now_ns));
}

int64_t store_tick(struct store *store)
{
    int64_t now_ns = store_now(store);
    int64_t due_ns = earlier(tick_clients(store, now_ns), tick_unfinished(store, now_ns));
    return earlier(earlier(due_ns, tick_spared(store, now_ns)), tick_passing(store, now_ns));
}

/* ---- begin ---- */

static enum esp_status check_new(const struct store *store, const struct store_new *new_datum,
                                 struct esp_error *error)
{
    uint32_t flags = new_datum->flags;
    if ((unsigned)new_datum->mode >= DATUM_N_MODES || flags & ~DATUM_ALL_FLAGS)
        return error_set(error, ESP_INVALID,
                         "expected a persistence mode from 0 to %d, found %d, flags %" PRIx32,
                         DATUM_N_MODES - 1, (int)new_datum->mode, flags);
    if (flags & DATUM_REPLICA && flags & DATUM_UNIQUE)
        return error_set(error, ESP_INVALID, "a unique datum has no replicas");
    if (flags & DATUM_STRICT && new_datum->mode != DATUM_VOLATILE)
        return error_set(error, ESP_INVALID, "expected a strict datum to be volatile, found %s",
                         datum_mode_name(new_datum->mode));
    if (new_datum->owner && strlen(new_datum->owner) > CAP_NAME)
        return error_set(error, ESP_INVALID, "expected an owner's name of at most %d bytes", CAP_NAME);
    if (HASH_COUNT(store->data) >= store->options.most_data)
        return error_set(error, ESP_LIMIT, "this store has %" PRIu32 " data, as many as it may have",
                         store->options.most_data);
    return datum_shape_check(&new_datum->shape, error);
}

static enum esp_status check_identity(struct store *store, const struct datum_id *id, struct esp_error *error)
{
    char text[DATUM_TEXT];
    const struct datum *there = store_find(store, id->key);
    if (datum_key_is_none(id->key))
        return error_set(error, ESP_INVALID, "expected the identity of a datum, found key 0");
    if (!there)
        return ESP_OK;
    if (there->state == DATUM_LEAVING)
        return store_busy(store, error, "a transfer of datum %.120s that was given up still moves",
                          datum_id_short(id, text));
    return error_set(error, ESP_REFUSED, "datum %.120s is %s server %.80s already", datum_id_short(id, text),
                     there->state == DATUM_VISIBLE ? "on" : "being put on", store->node);
}

static enum esp_status name_it(struct store *store, const struct store_new *new_datum, struct datum_id *id,
                               struct esp_error *error)
{
    if (!new_datum->id)
        return datum_id_draw(store->node, id, error);
    *id = *new_datum->id;
    return check_identity(store, id, error);
}

static struct datum *make_entry(struct store *store, const struct store_asker *asker,
                                const struct store_new *new_datum, const struct datum_id *id)
{
    const char *owner = new_datum->owner ? new_datum->owner : asker->identity ? asker->identity : "";
    struct datum_header record = {.id = *id,
                                  .shape = new_datum->shape,
                                  .mode = new_datum->mode,
                                  .flags = new_datum->flags,
                                  .created_s = new_datum->created_s};
    memcpy(record.owner, owner, strnlen(owner, CAP_NAME));
    struct datum *datum = store_make_entry(store, &record);
    if (datum && (asker->client[0] || asker->client[1]))
        memcpy(datum->segment_owner, asker->client, sizeof datum->segment_owner);
    return datum;
}

/* Reserves memory, or a file, or both. Nothing is deleted to make room before both are known to fit. */
static enum esp_status take_place(struct store *store, struct datum *datum, bool streamed,
                                  struct esp_error *error)
{
    struct datum_header record;
    const uint64_t bytes = datum->shape.bytes;
    const bool on_disk = streamed || datum_is_durable(datum->mode, datum->flags);
    enum esp_status status = on_disk ? store_check_disk(store, bytes, error) : ESP_OK;
    if (status == ESP_OK && !streamed)
        status = store_check_memory(store, bytes, error);
    if (status == ESP_OK && on_disk)
        status = store_take_disk(store, datum, error);
    if (status != ESP_OK || !streamed)
        return status == ESP_OK ? store_take_memory(store, datum, error) : status;
    store_fill_record(datum, &record);
    return datum_stream_create(store->options.files, &record, &datum->stream, error);
}

enum esp_status store_begin(struct store *store, const struct store_asker *asker,
                            const struct store_new *new_datum, struct datum_id *id, struct esp_error *error)
{
    struct datum_id name;
    enum esp_status status = check_new(store, new_datum, error);
    if (status == ESP_OK)
        status = name_it(store, new_datum, &name, error);
    if (status != ESP_OK)
        return status;
    const bool streamed = store_is_streamed(store, new_datum->shape.bytes, new_datum->mode, new_datum->flags,
                                            new_datum->streamed);
    struct datum *datum = make_entry(store, asker, new_datum, &name);
    if (!datum)
        return error_no_memory(error, "a datum");
    if ((status = take_place(store, datum, streamed, error)) == ESP_OK && !store_add(store, datum))
        status = error_no_memory(error, "a datum");
    if (status != ESP_OK) {
        store_give_memory(store, datum);
        store_give_disk(store, datum);
        datum_stream_close(datum->stream);
        store_free_entry(store, datum);
        return status;
    }
    DL_APPEND(store->unfinished, datum);
    store->counts.unfinished++;
    datum->passing = new_datum->passing && new_datum->flags & DATUM_REPLICA;
    store->n_passing += datum->passing;
    if (datum->mode == DATUM_VOLATILE && !(datum->flags & DATUM_REPLICA))
        store_join_client(store, datum, asker->client);
    *id = name;
    return ESP_OK;
}

/* ---- commit ---- */

static enum esp_status check_whole(struct store *store, const struct datum *datum, struct esp_error *error)
{
    struct range gap = store_first_gap(datum, 0);
    if (datum->state == DATUM_COMMITTING)
        return store_busy(store, error, "the datum is being written to the disk already");
    if (datum->areas > 0)
        return store_busy(store, error, "%" PRIu32 " pieces of the datum are still moving", datum->areas);
    if (gap.from == gap.to)
        return ESP_OK;
    return error_set(error, ESP_INVALID,
                     "expected all %" PRIu64 " bytes before the commit, found none from byte %" PRIu64
                     " to %" PRIu64,
                     datum->shape.bytes, gap.from, gap.to);
}

static void make_visible(struct store *store, struct datum *datum)
{
    struct datum_id id;
    DL_DELETE(store->unfinished, datum);
    store->counts.unfinished--;
    store->counts.data++;
    store->counts.committed++;
    datum->state = DATUM_VISIBLE;
    datum->used_ns = store_now(store);
    ranges_clear(&datum->arrived);
    store_line_up(store, datum);
    store_fill_id(datum, &id);
    if (!(datum->flags & DATUM_REPLICA))
        store_forget_trace(store, datum->key);
    if (store->options.news)
        store->options.news(store->options.arg, &id, datum->shape.bytes, STORE_ARRIVED);
    store_changed(store);
}

enum esp_status store_commit(struct store *store, const struct store_asker *asker, struct datum_key key,
                             struct store_work **work, struct esp_error *error)
{
    struct datum *datum = store_find(store, key);
    *work = NULL;
    if (datum && datum->state == DATUM_VISIBLE)
        return store_check_owner(asker, datum, error);
    enum esp_status status = store_find_unfinished(store, asker, key, &datum, error);
    if (status == ESP_OK)
        status = check_whole(store, datum, error);
    if (status != ESP_OK)
        return status;
    const bool durable = datum_is_durable(datum->mode, datum->flags);
    if (!durable && !datum->stream) {
        make_visible(store, datum);
        return ESP_OK;
    }
    if (!(*work = store_make_work(store, datum, durable ? WORK_WRITE : WORK_SEAL)))
        return error_no_memory(error, "writing a datum");
    datum->writing = *work;
    datum->state = DATUM_COMMITTING;
    return ESP_OK;
}

/* Releases the stream that a datum was written with, once its file has its name. */
static void note_on_disk(struct datum *datum)
{
    datum->on_disk = datum->verified = true;
    datum_stream_close(datum->stream);
    datum->stream = NULL;
}

void store_written(struct store *store, struct datum *datum, bool well)
{
    datum->writing = NULL;
    if (well && datum_is_durable(datum->mode, datum->flags))
        note_on_disk(datum);
    if (datum->state == DATUM_VISIBLE) { /* promoted */
        if (!well && !datum->stream)
            store_give_disk(store, datum);
        if (!(datum->flags & DATUM_REPLICA))
            store_forget_trace(store, datum->key);
        store_line_up(store, datum);
        return;
    }
    datum->used_ns = store_now(store);
    datum->state = DATUM_PUTTING;
    if (!well && datum->stream) /* written bytes may be lost */
        ranges_clear(&datum->arrived);
    if (well)
        make_visible(store, datum);
    else
        store_changed(store);
}

/* Checks the mode: a durable datum has its mode in its file. */
static enum esp_status check_keeping(const struct datum *datum, enum datum_mode mode, struct esp_error *error)
{
    char text[DATUM_TEXT];
    struct datum_id id = store_id_of(datum->key);
    if (mode == DATUM_VOLATILE || datum->mode == mode)
        return ESP_OK;
    return error_set(error, ESP_REFUSED,
                     "datum %.120s is kept here as %s: to have it here as %s, delete this copy first",
                     datum_id_short(&id, text), datum_mode_name(datum->mode), datum_mode_name(mode));
}

enum esp_status store_keep(struct store *store, const struct store_asker *asker, struct datum_key key,
                           enum datum_mode mode, uint32_t flags, struct store_work **work,
                           struct esp_error *error)
{
    struct datum *datum;
    struct datum_id id = store_id_of(key);
    *work = NULL;
    enum esp_status status = store_find_visible(store, asker, &id, &datum, error);
    if (status != ESP_OK)
        return status;
    store_stay(store, key);
    if (datum->writing)
        return store_busy(store, error, "the datum is being written to the disk already");
    if (datum->on_disk)
        return check_keeping(datum, mode, error);
    if (mode == DATUM_VOLATILE && !datum->stream) {
        datum->flags &= ~(uint32_t)DATUM_REPLICA;
        store_forget_trace(store, key);
        return ESP_OK;
    }
    /* The work holds it from now on, so that making room on the disk does not delete it. */
    if (!(*work = store_make_work(store, datum, datum->stream ? WORK_PROMOTE : WORK_WRITE)))
        return error_no_memory(error, "writing a datum");
    if ((status = store_take_disk(store, datum, error)) != ESP_OK) {
        store_drop_work(store, *work);
        *work = NULL;
        return status;
    }
    (*work)->record.mode = mode;
    (*work)->record.flags |= flags;
    (*work)->record.flags &=
        ~(uint32_t)(mode == DATUM_VOLATILE ? DATUM_REPLICA : DATUM_REPLICA | DATUM_STRICT);
    datum->writing = *work;
    store_leave_client(store, datum);
    store_spare_no_more(store, datum);
    store_line_up(store, datum);
    return ESP_OK;
}

enum esp_status store_promote(struct store *store, const struct store_asker *asker, struct datum_key key,
                              struct store_work **work, struct esp_error *error)
{
    struct datum *datum;
    struct datum_id id = store_id_of(key);
    *work = NULL;
    enum esp_status status = store_find_visible(store, asker, &id, &datum, error);
    if (status != ESP_OK || !(datum->flags & DATUM_REPLICA))
        return status;
    return store_keep(store, asker, key, datum->mode, 0, work, error);
}

enum esp_status store_abort(struct store *store, const struct store_asker *asker, struct datum_key key,
                            struct esp_error *error)
{
    struct datum *datum;
    enum esp_status status = store_find_unfinished(store, asker, key, &datum, error);
    if (status == ESP_OK && datum->state == DATUM_COMMITTING)
        status = store_busy(store, error, "the datum is being written to the disk");
    if (status == ESP_OK)
        store_end(store, datum, END_ABORTED);
    return status;
}

static struct store_pin *make_pin(struct store *store, struct datum *datum)
{
    struct store_pin *pin = calloc(1, sizeof *pin);
    if (!pin)
        return NULL;
    pin->datum = datum;
    store->counts.pinned += datum->pins == 0;
    datum->pins++;
    store_line_up(store, datum);
    return pin;
}

static void drop_pin(struct store *store, struct store_pin *pin)
{
    struct datum *datum = pin->datum;
    if (pin->mapped)
        munmap(pin->mapped, pin->mapped_bytes);
    datum_stream_close(pin->stream);
    free(pin);
    datum->pins--;
    store->counts.pinned -= datum->pins == 0;
    datum->used_ns = store_now(store);
    store_line_up(store, datum);
    store_settle(store, datum);
}

static enum esp_status open_stream(struct store *store, struct store_pin *pin, struct esp_error *error)
{
    struct datum_header record;
    enum esp_status status = ESP_OK;
    store_fill_record(pin->datum, &record);
    if (pin->datum->stream)
        pin->stream = datum_stream_share(pin->datum->stream);
    else
        status = datum_stream_open(store->options.files, &record, &pin->stream, error);
    if (status == ESP_NOT_FOUND) { /* its file */
        status = store_tell_damaged(store, &record.id, "the file is gone", error);
        store_lose_damaged(store, pin->datum, "the file is gone");
    }
    if (status != ESP_OK)
        return status;
    pin->datum->disk_reads++;
    store->counts.disk_reads++;
    return ESP_OK;
}

/* A datum larger than the memory: users map its file, which is checked first. The header is whole pages,
 * so the datum starts at a page. */
static enum esp_status begin_mapping(struct store *store, struct datum *datum, struct store_pin *pin,
                                     struct store_work **work, struct esp_error *error)
{
    uint64_t offset;
    enum esp_status status = open_stream(store, pin, error);
    if (status != ESP_OK)
        return status;
    struct store_memory *memory = &pin->memory;
    int fd = datum_stream_descriptor(pin->stream, &offset);
    if (fd < 0)
        return store_check_memory(store, datum->shape.bytes, error); /* explains that it does not fit */
    pin->mapped_bytes = offset + datum->shape.bytes;
    void *mapped = mmap(NULL, pin->mapped_bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (mapped == MAP_FAILED)
        return error_errno(error, "cannot map a datum's file");
    pin->mapped = mapped;
    *memory = (struct store_memory){fd, offset, datum->shape.bytes, (uint8_t *)mapped + offset};
    if (!(*work = store_make_work(store, datum, WORK_MAP)))
        return error_no_memory(error, "reading a datum");
    (*work)->pin = pin;
    return ESP_OK;
}

/* The datum is only on disk: reserve memory first, then read. */
static enum esp_status begin_loading(struct store *store, struct datum *datum, struct store_pin *pin,
                                     struct store_work **work, struct esp_error *error)
{
    enum esp_status status = store_take_memory(store, datum, error);
    if (status != ESP_OK)
        return status;
    *work = store_make_work(store, datum, WORK_LOAD);
    if (!*work || !store_make_latch(*work)) {
        if (*work)
            store_drop_work(store, *work);
        *work = NULL;
        store_give_memory(store, datum);
        return error_no_memory(error, "reading a datum");
    }
    (*work)->pin = pin;
    datum->loading = *work;
    return ESP_OK;
}

/* Another caller is reading it already. */
static enum esp_status join_loading(struct store *store, struct datum *datum, struct store_pin *pin,
                                    struct store_work **work, struct esp_error *error)
{
    if (!(*work = store_make_work(store, datum, WORK_JOIN)))
        return error_no_memory(error, "waiting for a datum");
    (*work)->pin = pin;
    (*work)->latch = datum->loading->latch;
    (*work)->latch->users++;
    return ESP_OK;
}

enum esp_status store_open(struct store *store, const struct store_asker *asker, const struct datum_id *id,
                           struct store_pin **result, struct store_work **work, struct esp_error *error)
{
    struct datum *datum;
    *work = NULL;
    enum esp_status status = store_find_visible(store, asker, id, &datum, error);
    if (status != ESP_OK)
        return status;
    struct store_pin *pin = make_pin(store, datum);
    if (!pin)
        return error_no_memory(error, "a pin of a datum");
    if (datum->loading)
        status = join_loading(store, datum, pin, work, error);
    else if (!datum_in_memory(datum))
        status =
            datum->stream || store_is_streamed(store, datum->shape.bytes, datum->mode, datum->flags, false)
                ? begin_mapping(store, datum, pin, work, error)
                : begin_loading(store, datum, pin, work, error);
    if (status != ESP_OK) {
        drop_pin(store, pin);
        return status;
    }
    datum->gets++;
    datum->used_ns = store_now(store);
    if (!pin->mapped)
        store_fill_memory(datum, &pin->memory);
    *result = pin;
    return ESP_OK;
}

enum esp_status store_open_reader(struct store *store, const struct store_asker *asker,
                                  const struct datum_id *id, struct store_pin **result,
                                  struct esp_error *error)
{
    struct datum *datum;
    enum esp_status status = store_find_visible(store, asker, id, &datum, error);
    if (status != ESP_OK)
        return status;
    struct store_pin *pin = make_pin(store, datum);
    if (!pin)
        return error_no_memory(error, "a pin of a datum");
    if (datum->loading || !datum_in_memory(datum))
        status = open_stream(store, pin, error);
    if (status != ESP_OK) {
        drop_pin(store, pin);
        return status;
    }
    datum->gets++;
    datum->used_ns = store_now(store);
    store_fill_memory(datum, &pin->memory);
    *result = pin;
    return ESP_OK;
}

void store_loaded(struct store *store, struct store_work *work, bool usable)
{
    struct datum *datum = work->datum;
    if (!usable)
        drop_pin(store, work->pin);
    if (work->kind != WORK_LOAD)
        return;
    datum->loading = NULL;
    datum->disk_reads++;
    store->counts.disk_reads++;
    if (work->status != ESP_OK) /* then no caller that joined can use it either */
        store_give_memory(store, datum);
    store_changed(store);
}

const struct store_memory *store_pin_memory(const struct store_pin *pin)
{
    return &pin->memory;
}

bool store_doubt(struct store *store, const struct store_pin *pin)
{
    struct datum *datum = pin->datum;
    if (!pin->mapped)
        return false;
    if (!datum->gone && datum->on_disk && datum->verified) {
        datum->verified = false;
        store->n_unverified++;
        store->unverified = NULL;
    }
    return true;
}

const struct datum_shape *store_pin_shape(const struct store_pin *pin)
{
    return &pin->datum->shape;
}

enum esp_status store_pin_reader(struct store_pin *pin, bool outside, int *fd, struct esp_error *error)
{
    char path[48];
    if (pin->memory.fd < 0)
        return error_set(error, ESP_INVALID, "an empty datum has no memory to be passed on");
    snprintf(path, sizeof path, "/proc/self/fd/%d", pin->memory.fd);
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return error_errno(error, "cannot open a datum's memory for reading (%s)", path);
    pin->datum->exposed |= outside;
    return ESP_OK;
}

void store_release(struct store *store, struct store_pin *pin, bool consumed)
{
    if (!pin)
        return;
    struct datum *datum = pin->datum;
    if (consumed && !datum->gone && datum->flags & DATUM_STRICT && !datum->writing)
        store_end(store, datum, END_CONSUMED);
    drop_pin(store, pin);
}

/* ---- deleting ---- */

static enum esp_status delete_file(struct store *store, struct datum *datum, enum store_end why,
                                   struct esp_error *error)
{
    struct files *files = store->options.files;
    char name[DATUM_FILE_NAME];
    struct esp_error own;
    enum esp_status status = files->ops->remove(files, datum_file_name(datum->key, true, name), &own);
    if (status != ESP_OK && status != ESP_NOT_FOUND)
        return error_set(error, ESP_SYSTEM, "the datum could not be deleted: %s", own.text);
    status = files->ops->sync_folder(files, "", &own);
    store_forget_places(store, datum);
    store_end(store, datum, why);
    if (status == ESP_OK)
        return ESP_OK;
    return error_set(error, ESP_SYSTEM,
                     "the datum is deleted, but may come back if this machine stops without warning: %s",
                     own.text);
}

/* `to`: the server it has moved to; NULL: none. */
static enum esp_status end(struct store *store, const struct store_asker *asker, const struct datum_id *id,
                           enum store_end why, const char *to, struct esp_error *error)
{
    struct datum *datum;
    enum esp_status status = store_find_visible(store, asker, id, &datum, error);
    if (status != ESP_OK)
        return status;
    if (datum->writing)
        return store_busy(store, error, "the datum is being written to the disk");
    struct store_trace *trace =
        to || (why == END_DELETED && datum->places_bytes > 0) ? store_trace_begin(store, datum, to) : NULL;
    if (datum->on_disk)
        status = delete_file(store, datum, why, error);
    else
        store_end(store, datum, why);
    store_trace_end(store, trace);
    return status;
}

enum esp_status store_delete(struct store *store, const struct store_asker *asker, const struct datum_id *id,
                             struct esp_error *error)
{
    return end(store, asker, id, END_DELETED, NULL, error);
}

enum esp_status store_depart(struct store *store, const struct store_asker *asker, const struct datum_id *id,
                             const char *to, struct esp_error *error)
{
    return end(store, asker, id, to ? END_MOVED : END_DEPARTED, to, error);
}
