/* SPDX-License-Identifier: Apache-2.0
 *
 * Recovers the contents of the store's folder at the start. */
#include "services/data/store_state.h"
#include "util/bytes.h"
#include "util/fingerprint.h"
#include "util/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define MARKER      "store" /* file that names the folder's owner */
#define MARKER_NEW  "store.new"
#define MARKER_MOST 1024

/* ---- owner of the folder ---- */

static enum esp_status sync_root(struct files *files, struct esp_error *error)
{
    return files->ops->sync_folder(files, "", error);
}

static enum esp_status write_marker(struct files *files, const char *text, struct esp_error *error)
{
    struct file *file;
    enum esp_status status = files->ops->create(files, MARKER_NEW, &file, error);
    if (status != ESP_OK)
        return status;
    status = files->ops->write(file, text, strlen(text), 0, error);
    if (status == ESP_OK)
        status = files->ops->sync(file, error);
    files->ops->close(file);
    if (status == ESP_OK)
        status = files->ops->rename(files, MARKER_NEW, MARKER, error);
    return status == ESP_OK ? sync_root(files, error) : status;
}

static enum esp_status read_marker(struct files *files, char *text, struct esp_error *error)
{
    struct file *file;
    uint64_t bytes;
    enum esp_status status = files->ops->open(files, MARKER, &file, &bytes, error);
    if (status != ESP_OK)
        return status;
    if (bytes >= MARKER_MOST)
        bytes = MARKER_MOST - 1;
    status = files->ops->read(file, text, bytes, 0, error);
    files->ops->close(file);
    text[bytes] = '\0';
    return status;
}

static enum esp_status refuse_data(void *arg, const char *name, const char *kind, struct esp_error *error)
{
    const struct files *files = arg;
    bool finished;
    if (kind || !datum_file_is_one(name, &finished) || !finished)
        return ESP_OK;
    return error_set(error, ESP_REFUSED,
                     "%s has data (%s), but no file '" MARKER "' that says which server's they are: another "
                     "program's folder, or one that lost it",
                     files->where, name);
}

/* Two lines: "espalier store 1" and "node NAME". */
static enum esp_status check_marker(struct store *store, const char *expected, const char *found,
                                    struct esp_error *error)
{
    const char *where = store->options.files->where;
    unsigned version;
    if (strcmp(found, expected) == 0)
        return ESP_OK;
    if (sscanf(found, "espalier store %u", &version) != 1)
        return error_set(error, ESP_REFUSED,
                         "%s/" MARKER ": expected \"espalier store %u\" and \"node %.80s\", found \"%.40s\"",
                         where, DATUM_FILE_VERSION, store->node, found);
    if (version != DATUM_FILE_VERSION)
        return error_set(error, ESP_VERSION,
                         "%s is a store of version %u; this server reads version %u: use the program that "
                         "wrote it, or another state folder",
                         where, version, DATUM_FILE_VERSION);
    const char *node = strstr(found, "\nnode ");
    return error_set(error, ESP_REFUSED,
                     "%s is the store of server \"%.*s\", this is \"%.80s\": give each server a state folder "
                     "of its own",
                     where, node ? (int)strcspn(node + 6, "\n") : 0, node ? node + 6 : "", store->node);
}

static enum esp_status take_folder(struct store *store, struct esp_error *error)
{
    struct files *files = store->options.files;
    char expected[CAP_NAME + 64], found[MARKER_MOST];
    snprintf(expected, sizeof expected, "espalier store %u\nnode %s\n", DATUM_FILE_VERSION, store->node);
    enum esp_status status = files->ops->lock(files, error);
    if (files->ops->remember)
        files->ops->remember(files, MARKER, expected);
    if (status == ESP_OK)
        status = read_marker(files, found, error);
    if (status == ESP_OK)
        return check_marker(store, expected, found, error);
    if (status != ESP_NOT_FOUND)
        return status;
    status = files->ops->list(files, "", refuse_data, files, error);
    return status == ESP_OK ? write_marker(files, expected, error) : status;
}

/* ---- contents ---- */

struct names {
    char (*items)[DATUM_FILE_NAME];
    size_t n, capacity;
    struct files *files;
    const char *folder;
    bool finished; /* which ones are wanted */
};

static enum esp_status note_name(void *arg, const char *name, const char *kind, struct esp_error *error)
{
    struct names *names = arg;
    bool finished;
    if (!datum_file_is_one(name, &finished) || finished != names->finished)
        return ESP_OK;
    if (kind) {
        log_warning("data: %s/%s%s%s: expected a regular file, found %s: it is left alone",
                    names->files->where, names->folder, *names->folder ? "/" : "", name, kind);
        return ESP_OK;
    }
    if (names->n == names->capacity) {
        size_t capacity = names->capacity ? 2 * names->capacity : 64;
        void *items = realloc(names->items, capacity * sizeof *names->items);
        if (!items)
            return error_no_memory(error, "the names of data");
        names->items = items;
        names->capacity = capacity;
    }
    snprintf(names->items[names->n++], DATUM_FILE_NAME, "%s", name);
    return ESP_OK;
}

/* ---- files beside those of data ---- */

const char *store_beside_name(struct datum_key key, const char *ending, char name[STORE_BESIDE_NAME])
{
    snprintf(name, STORE_BESIDE_NAME, "%016" PRIx64 "%016" PRIx64 "%s", key.high, key.low, ending);
    return name;
}

struct beside {
    const char *ending;
    struct store_keys *keys;
};

static enum esp_status note_beside(void *arg, const char *name, const char *kind, struct esp_error *error)
{
    const struct beside *beside = arg;
    struct store_keys *keys = beside->keys;
    struct datum_key key;
    char as_datum[DATUM_FILE_NAME];
    if (kind || strlen(name) < DATUM_DIGITS || strcmp(name + DATUM_DIGITS, beside->ending) != 0)
        return ESP_OK;
    snprintf(as_datum, sizeof as_datum, "%.*s.datum", DATUM_DIGITS, name);
    if (!datum_file_key(as_datum, &key))
        return ESP_OK;
    if (keys->n == keys->capacity) {
        const size_t capacity = keys->capacity ? 2 * keys->capacity : 64;
        void *items = realloc(keys->items, capacity * sizeof *keys->items);
        if (!items)
            return error_no_memory(error, "the names of data");
        keys->items = items;
        keys->capacity = capacity;
    }
    keys->items[keys->n++] = key;
    return ESP_OK;
}

enum esp_status store_list_beside(struct files *files, const char *ending, struct store_keys *keys,
                                  struct esp_error *error)
{
    struct beside beside = {ending, keys};
    *keys = (struct store_keys){0};
    return files->ops->list(files, "", note_beside, &beside, error);
}

/* ---- the data ---- */

static enum esp_status list_names(struct files *files, const char *folder, bool finished, struct names *names,
                                  struct esp_error *error)
{
    *names = (struct names){.files = files, .folder = folder, .finished = finished};
    enum esp_status status = files->ops->list(files, folder, note_name, names, error);
    if (status != ESP_OK)
        free(names->items);
    return status;
}

enum esp_status store_each_damaged(const struct store *store, void (*visit)(void *arg, struct datum_key key),
                                   void *arg, struct esp_error *error)
{
    struct names names;
    struct datum_key key;
    enum esp_status status = store->options.files
                                 ? list_names(store->options.files, DAMAGED_FOLDER, true, &names, error)
                                 : ESP_PENDING;
    if (status != ESP_OK)
        return status == ESP_PENDING ? ESP_OK : status;
    for (size_t i = 0; i < names.n; i++)
        if (datum_file_key(names.items[i], &key) && !store_has(store, key))
            visit(arg, key);
    free(names.items);
    return ESP_OK;
}

static enum esp_status remove_unfinished(struct files *files, struct esp_error *error)
{
    struct names names;
    enum esp_status status = list_names(files, "", false, &names, error);
    if (status != ESP_OK)
        return status;
    for (size_t i = 0; status == ESP_OK && i < names.n; i++)
        status = files->ops->remove(files, names.items[i], error);
    if (names.n > 0)
        log_notice("data: %zu transfers that were not complete are forgotten", names.n);
    free(names.items);
    return status;
}

static enum esp_status add_recovered(struct store *store, const struct datum_header *record, bool verified,
                                     struct esp_error *error)
{
    struct datum *datum = store_make_entry(store, record);
    if (!datum || !store_add(store, datum)) {
        if (datum)
            store_free_entry(store, datum);
        return error_no_memory(error, "a datum");
    }
    datum->state = DATUM_VISIBLE;
    datum->on_disk = true;
    datum->verified = verified;
    store->n_unverified += !verified;
    store->counts.data++;
    store->counts.recovered++;
    datum->charged = true;
    store->counts.disk_bytes += datum_file_bytes(record->shape.bytes);
    return ESP_OK;
}

/* A file that cannot be read now stays: it may be readable later. */
static enum esp_status recover_one(struct store *store, const char *name, uint64_t *to_verify,
                                   struct esp_error *error)
{
    struct files *files = store->options.files;
    struct datum_header record;
    struct esp_error why = {.text = ""};
    bool verify = false;
    enum esp_status status = datum_file_head(files, name, &record, &why);
    if (status == ESP_OK && (verify = record.shape.bytes <= *to_verify)) {
        *to_verify -= record.shape.bytes;
        status = datum_file_read(files, &record, NULL, &why);
    }
    if (status == ESP_OK)
        return add_recovered(store, &record, verify, error);
    if (status == ESP_SYNTAX)
        store_set_aside(store, name, why.text);
    else if (why.status == ESP_NO_MEMORY)
        return error_set(error, status, "%s", why.text);
    else
        log_error("data: %s: this datum is not served", why.text);
    return ESP_OK;
}

static enum esp_status recover_all(struct store *store, struct esp_error *error)
{
    struct names names;
    char size[BYTES_TEXT];
    uint64_t to_verify = store->options.verify_bytes;
    enum esp_status status = list_names(store->options.files, "", true, &names, error);
    if (status != ESP_OK)
        return status;
    int64_t told_ns = store_now(store);
    for (size_t i = 0; status == ESP_OK && i < names.n; i++) {
        status = recover_one(store, names.items[i], &to_verify, error);
        if (store_now(store) - told_ns > 5 * NS_PER_S) {
            log_notice("data: %zu of %zu looked at", i + 1, names.n);
            told_ns = store_now(store);
        }
    }
    free(names.items);
    if (status == ESP_OK && (store->counts.data > 0 || store->counts.damaged > 0))
        log_notice("data: found %" PRIu32 " (%s)%s", store->counts.data,
                   bytes_text(store->counts.disk_bytes, size),
                   store->counts.damaged > 0 ? "; damaged ones are set aside" : "");
    return status;
}

enum esp_status store_recover(struct store *store, struct esp_error *error)
{
    struct files *files = store->options.files;
    enum esp_status status = take_folder(store, error);
    if (status == ESP_OK)
        status = files->ops->make_folder(files, DAMAGED_FOLDER, error);
    if (status == ESP_OK)
        status = sync_root(files, error);
    if (status == ESP_OK)
        status = remove_unfinished(files, error);
    if (status == ESP_OK)
        status = store_recover_asides(store, error);
    if (status == ESP_OK)
        status = store_recover_untaken(store, error);
    if (status == ESP_OK)
        status = recover_all(store, error);
    if (status == ESP_OK)
        status = store_recover_places(store, error);
    /* A name that existed but was not durable yet must not be acknowledged now and lost later. */
    return status == ESP_OK ? sync_root(files, error) : status;
}

/* Traces of data that have left while other servers may have them: a datum was deleted while other servers
 * kept it, or it has moved. Requests for such data are answered with the trace, and holders that were away
 * meanwhile ask when they are back. For durable data the trace is in the file that had the names of the
 * other holders (store_room.c), so that it survives a restart. */

#define MOST_TRACES 1024u

static const char *head_of(const struct store_trace *trace, char head[PLACES_HEAD_BYTES])
{
    snprintf(head, PLACES_HEAD_BYTES, "espalier %s 1 %016" PRIx64 "\n", trace->moved ? "moved" : "deleted",
             trace->owner);
    return head;
}

bool store_trace_head(const char *line, struct store_trace *trace)
{
    char word[16];
    uint64_t owner;
    if (sscanf(line, "espalier %15s 1 %16" SCNx64, word, &owner) != 2)
        return false;
    trace->moved = strcmp(word, "moved") == 0;
    trace->owner = owner;
    return trace->moved || strcmp(word, "deleted") == 0;
}

struct store_trace *store_find_trace(const struct store *store, struct datum_key key)
{
    struct store_trace *trace;
    DL_FOREACH(store->traces, trace)
    if (datum_key_equal(trace->key, key))
        return trace;
    return NULL;
}

static void destroy(struct store_trace *trace)
{
    free(trace->names);
    free(trace);
}

/* If the file stays behind, the trace is back after a restart, which is harmless. */
static void forget(struct store *store, struct store_trace *trace)
{
    if (trace->on_disk)
        store_remove_places(store, trace->key);
    DL_DELETE(store->traces, trace);
    store->n_traces--;
    destroy(trace);
}

void store_add_trace(struct store *store, struct store_trace *trace)
{
    struct store_trace *old = store_find_trace(store, trace->key);
    if (old) { /* its file belongs to the new trace now */
        old->on_disk = false;
        forget(store, old);
    }
    if (store->n_traces == MOST_TRACES)
        forget(store, store->traces);
    DL_APPEND(store->traces, trace);
    store->n_traces++;
}

static void write(struct store *store, struct store_trace *trace)
{
    char head[PLACES_HEAD_BYTES];
    struct esp_error error;
    trace->on_disk = store_write_places(store, trace->key, head_of(trace, head), trace->names, trace->bytes,
                                        &error) == ESP_OK;
    if (!trace->on_disk)
        log_warning("data: after the next start nobody hears from here which servers have a datum that has "
                    "gone: %s",
                    error.text);
}

/* Collects the place that it moves to, and its other holders. */
static bool take_names(struct store_trace *trace, const struct datum *datum, const char *to)
{
    const size_t own = to ? strlen(to) + 1 : 0;
    trace->names = malloc(own + datum->places_bytes);
    if (!trace->names)
        return false;
    if (own > 0)
        memcpy(trace->names, to, own);
    trace->bytes = own;
    for (size_t at = 0; at < datum->places_bytes; at += strlen(datum->places + at) + 1) {
        const char *name = datum->places + at;
        if (to && strcmp(name, to) == 0)
            continue;
        memcpy(trace->names + trace->bytes, name, strlen(name) + 1);
        trace->bytes += strlen(name) + 1;
    }
    return true;
}

struct store_trace *store_trace_begin(struct store *store, struct datum *datum, const char *to)
{
    struct store_trace *trace = calloc(1, sizeof *trace);
    if (!trace || !take_names(trace, datum, to)) {
        free(trace);
        return NULL; /* then requests get a less precise answer */
    }
    trace->key = datum->key;
    trace->owner = store_owner_digest(datum->owner);
    trace->moved = to != NULL;
    if (datum->on_disk)
        write(store, trace);
    if (trace->on_disk)
        datum->places_on_disk = false; /* the file outlives the datum */
    return trace;
}

void store_trace_end(struct store *store, struct store_trace *trace)
{
    struct datum *datum = trace ? store_find(store, trace->key) : NULL;
    if (datum && datum->state == DATUM_VISIBLE) { /* it has not gone after all; the names are the same */
        datum->places_on_disk |= trace->on_disk;
        destroy(trace);
    } else if (trace) {
        store_add_trace(store, trace);
    }
}

void store_forget_trace(struct store *store, struct datum_key key)
{
    struct store_trace *trace = store->traces ? store_find_trace(store, key) : NULL;
    if (trace)
        forget(store, trace);
}

void store_trace_deleted(struct store *store, struct datum_key key, const char *identity)
{
    struct store_trace *trace = store_find_trace(store, key);
    if (!trace || !trace->moved || trace->owner != store_owner_digest(identity))
        return;
    trace->moved = false;
    if (trace->on_disk)
        write(store, trace);
}

/* Removes those names from the trace. */
static void cut(struct store_trace *trace, const char *names, size_t bytes)
{
    size_t used = 0;
    for (size_t at = 0, length; at < trace->bytes; at += length) {
        length = strlen(trace->names + at) + 1;
        bool settled = false;
        for (size_t i = 0; i < bytes && !settled; i += strlen(names + i) + 1)
            settled = strcmp(names + i, trace->names + at) == 0;
        if (settled)
            continue;
        memmove(trace->names + used, trace->names + at, length);
        used += length;
    }
    trace->bytes = used;
}

void store_settle_places(struct store *store, const struct store_asker *asker, struct datum_key key,
                         const char *names, size_t bytes)
{
    struct store_trace *trace = store_find_trace(store, key);
    const uint64_t owner = store_owner_digest(asker->identity ? asker->identity : "");
    if (bytes == 0 || names[bytes - 1] != 0 || !trace || trace->moved ||
        !(asker->trusted || trace->owner == owner))
        return;
    const size_t before = trace->bytes;
    cut(trace, names, bytes);
    if (trace->bytes == 0)
        forget(store, trace);
    else if (trace->bytes < before && trace->on_disk)
        write(store, trace);
}

void store_forget_traces(struct store *store)
{
    struct store_trace *trace, *next;
    DL_FOREACH_SAFE(store->traces, trace, next)
    {
        DL_DELETE(store->traces, trace);
        destroy(trace);
    }
}
