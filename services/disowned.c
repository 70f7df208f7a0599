/* SPDX-License-Identifier: Apache-2.0 */
#include "services/disowned.h"

#include "util/durable_file.h"
#include "util/hash.h"
#include "util/regular_file.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME "given-up"
#define HEADING   "espalier given up 1"

struct entry {
    struct datum_id id;
    int64_t since_s;
    UT_hash_handle hh; /* by id.key; the oldest first */
    char owner[];
};

struct disowned {
    char *folder;
    struct entry *entries;
    bool unwritten; /* the file does not have all of them */
};

static void drop(struct disowned *disowned, struct entry *entry)
{
    if (!entry)
        return;
    HASH_DEL(disowned->entries, entry);
    free(entry);
}

static struct entry *find(const struct disowned *disowned, struct datum_key key)
{
    struct entry *entry;
    HASH_FIND(hh, disowned->entries, &key, sizeof key, entry);
    return entry;
}

static void drop_old(struct disowned *disowned, int64_t now_s)
{
    while (disowned->entries && now_s - disowned->entries->since_s > DISOWNED_KEPT_S)
        drop(disowned, disowned->entries);
}

/* Returns the entry to drop for one more of that owner, so that an owner displaces only his own entries.
 * NULL: there is room. */
static struct entry *in_the_way(const struct disowned *disowned, const char *owner)
{
    struct entry *oldest = disowned->entries;
    if (HASH_COUNT(disowned->entries) < DISOWNED_MOST)
        return NULL;
    for (; oldest && strcmp(oldest->owner, owner) != 0; oldest = oldest->hh.next)
        ;
    return oldest ? oldest : disowned->entries;
}

static int by_time(const struct entry *a, const struct entry *b)
{
    return (a->since_s > b->since_s) - (a->since_s < b->since_s);
}

static enum esp_status check_owner(const char *owner, struct esp_error *error)
{
    if (strlen(owner) > CAP_NAME)
        return error_set(error, ESP_INVALID, "expected an owner's name of at most %d bytes, found one of %zu",
                         CAP_NAME, strlen(owner));
    for (const char *c = owner; *c; c++)
        if (iscntrl((unsigned char)*c))
            return error_set(error, ESP_INVALID,
                             "expected an owner's name without control characters, found code %d",
                             (unsigned char)*c);
    return ESP_OK;
}

static enum esp_status add(struct disowned *disowned, const struct datum_id *id, const char *owner,
                           int64_t since_s, struct esp_error *error)
{
    struct entry *entry = calloc(1, sizeof *entry + strlen(owner) + 1);
    if (!entry)
        return error_no_memory(error, "what was given up");
    entry->id = *id;
    entry->since_s = since_s;
    strcpy(entry->owner, owner);
    HASH_ADD_INORDER(hh, disowned->entries, id.key, sizeof entry->id.key, entry, by_time);
    if (entry->hh.tbl)
        return ESP_OK;
    free(entry);
    return error_no_memory(error, "what was given up");
}

/* ---- the file: IDENTITY SECONDS OWNER ---- */

static bool write_all(FILE *file, const void *arg)
{
    const struct disowned *disowned = arg;
    char text[DATUM_TEXT];
    bool good = fputs(HEADING "\n", file) >= 0;
    for (const struct entry *entry = disowned->entries; entry && good; entry = entry->hh.next)
        good = fprintf(file, "%s %" PRId64 " %s\n", datum_id_text(&entry->id, text), entry->since_s,
                       entry->owner) > 0;
    return good;
}

static enum esp_status read_line(struct disowned *disowned, const char *path, unsigned number, char *line,
                                 struct esp_error *error)
{
    struct datum_id id;
    char *end, *since = strchr(line, ' ');
    if (number == 1)
        return strcmp(line, HEADING) == 0
                   ? ESP_OK
                   : error_set(error, ESP_CONFIG,
                               "%s:1: expected \"" HEADING "\", found \"%.60s\": it is of another version; "
                               "remove the file to forget which data were given up",
                               path, line);
    if (since)
        *since++ = '\0';
    const int64_t since_s = since ? strtoll(since, &end, 10) : 0;
    if (!since || end == since || *end != ' ' || check_owner(end + 1, NULL) != ESP_OK ||
        datum_id_parse(line, &id, NULL) != ESP_OK || find(disowned, id.key))
        return error_set(error, ESP_CONFIG,
                         "%s:%u: expected an identity, seconds since 1970 and an owner, found another line: "
                         "remove the file to forget which data were given up",
                         path, number);
    return add(disowned, &id, end + 1, since_s, error);
}

static enum esp_status read_all(struct disowned *disowned, const char *path, struct esp_error *error)
{
    char line[DATUM_TEXT + CAP_NAME + 32];
    unsigned number = 0;
    enum esp_status status = ESP_OK;
    FILE *file = regular_file_open(path, "r", error);
    if (!file)
        return error->status == ESP_NOT_FOUND ? ESP_OK : error->status;
    while (status == ESP_OK && number <= DISOWNED_MOST && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        status = read_line(disowned, path, ++number, line, error);
    }
    fclose(file);
    return status;
}

enum esp_status disowned_load(const char *folder, int64_t now_s, struct disowned **result,
                              struct esp_error *error)
{
    char path[PATH_MAX];
    struct esp_error own;
    error = error ? error : &own;
    struct disowned *disowned = calloc(1, sizeof *disowned);
    if (!disowned || (folder && !(disowned->folder = strdup(folder)))) {
        free(disowned);
        return error_no_memory(error, "what was given up");
    }
    enum esp_status status = ESP_OK;
    if (folder)
        status = durable_file_path(folder, FILE_NAME, "", path, error);
    if (folder && status == ESP_OK)
        status = read_all(disowned, path, error);
    if (status != ESP_OK) {
        disowned_destroy(disowned);
        return status;
    }
    drop_old(disowned, now_s);
    *result = disowned;
    return ESP_OK;
}

void disowned_destroy(struct disowned *disowned)
{
    if (!disowned)
        return;
    while (disowned->entries)
        drop(disowned, disowned->entries);
    free(disowned->folder);
    free(disowned);
}

static enum esp_status write_file(struct disowned *disowned, struct esp_error *error)
{
    const enum esp_status status =
        disowned->folder ? durable_file_replace(disowned->folder, FILE_NAME, write_all, disowned, error)
                         : ESP_OK;
    if (status == ESP_OK)
        disowned->unwritten = false;
    return status;
}

enum esp_status disowned_note(struct disowned *disowned, const struct datum_id *id, const char *owner,
                              int64_t now_s, struct esp_error *error)
{
    enum esp_status status = check_owner(owner, error);
    const struct entry *known = find(disowned, id->key);
    if (status != ESP_OK)
        return status;
    if (known && strcmp(known->owner, owner) == 0)
        return disowned->unwritten ? write_file(disowned, error) : ESP_OK;
    if (known)
        return error_set(error, ESP_REFUSED, "another owner has given up a datum of that identity");
    drop_old(disowned, now_s);
    drop(disowned, in_the_way(disowned, owner));
    status = add(disowned, id, owner, now_s, error);
    if (status == ESP_OK) {
        status = write_file(disowned, error);
        if (status != ESP_OK)
            drop(disowned, find(disowned, id->key));
    }
    return status;
}

static struct disowned_datum told(const struct entry *entry)
{
    return (struct disowned_datum){entry->id, entry->owner};
}

bool disowned_find(const struct disowned *disowned, struct datum_key key, struct disowned_datum *found)
{
    const struct entry *entry = find(disowned, key);
    if (entry)
        *found = told(entry);
    return entry != NULL;
}

void disowned_each(const struct disowned *disowned,
                   void (*visit)(void *arg, const struct disowned_datum *datum), void *arg)
{
    for (const struct entry *entry = disowned->entries; entry; entry = entry->hh.next) {
        const struct disowned_datum datum = told(entry);
        visit(arg, &datum);
    }
}

size_t disowned_count(const struct disowned *disowned)
{
    return HASH_COUNT(disowned->entries);
}

/* ---- exchange with other master agents ---- */

uint64_t disowned_sum(struct disowned *disowned, int64_t now_s)
{
    uint64_t sum = 0;
    drop_old(disowned, now_s);
    for (const struct entry *entry = disowned->entries; entry; entry = entry->hh.next)
        sum ^= entry->id.key.high + 3 * entry->id.key.low; /* keys are random numbers */
    return sum;
}

bool disowned_list(const struct disowned *disowned, struct arena *arena, struct extension *list)
{
    char packed[DATUM_GIVEN_UP_BYTES];
    uint32_t length = 0;
    uint8_t *bytes =
        arena_alloc(arena, 1 + HASH_COUNT(disowned->entries) * (sizeof(int64_t) + DATUM_GIVEN_UP_BYTES));
    if (!bytes)
        return false;
    for (const struct entry *entry = disowned->entries; entry; entry = entry->hh.next) {
        const struct extension one = datum_given_up_pack(&entry->id, entry->owner, packed);
        memcpy(bytes + length, &entry->since_s, sizeof entry->since_s);
        memcpy(bytes + length + sizeof entry->since_s, one.value, one.length);
        length += (uint32_t)sizeof entry->since_s + one.length;
    }
    *list = (struct extension){EXTENSION_GIVEN_UP_LIST, bytes, length};
    return true;
}

struct item {
    struct datum_id id;
    const char *owner;
    int64_t since_s;
};

/* Reads the next item at *at, and moves *at past it. False at the end, or when the value is malformed. */
static bool next_item(const struct extension *list, uint32_t *at, struct item *item)
{
    if (list->length - *at <= sizeof item->since_s)
        return false;
    const uint8_t *bytes = list->value + *at + sizeof item->since_s, *end = list->value + list->length;
    const uint8_t *nul = memchr(bytes, 0, (size_t)(end - bytes));
    nul = nul && nul + 1 < end ? memchr(nul + 1, 0, (size_t)(end - nul - 1)) : NULL;
    if (!nul)
        return false;
    const struct extension one = {EXTENSION_DISOWNED, bytes, (uint32_t)(nul + 1 - bytes)};
    memcpy(&item->since_s, list->value + *at, sizeof item->since_s);
    *at += (uint32_t)sizeof item->since_s + one.length;
    return datum_given_up_read(&one, &item->id, &item->owner);
}

static bool is_news(const struct disowned *disowned, const struct item *item, int64_t now_s)
{
    if (find(disowned, item->id.key))
        return false;
    const struct entry *out = in_the_way(disowned, item->owner);
    return now_s - item->since_s <= DISOWNED_KEPT_S && check_owner(item->owner, NULL) == ESP_OK &&
           (!out || out->since_s < item->since_s);
}

enum esp_status disowned_take(struct disowned *disowned, const struct extension *list, int64_t now_s,
                              void (*news)(void *arg, const struct disowned_datum *datum), void *arg,
                              struct esp_error *error)
{
    struct item item;
    uint32_t at = 0;
    bool changed = false;
    drop_old(disowned, now_s);
    while (next_item(list, &at, &item)) {
        item.since_s = item.since_s < 0 ? 0 : item.since_s < now_s ? item.since_s : now_s;
        if (!is_news(disowned, &item, now_s))
            continue;
        drop(disowned, in_the_way(disowned, item.owner));
        enum esp_status status = add(disowned, &item.id, item.owner, item.since_s, error);
        if (status != ESP_OK)
            return status;
        changed = disowned->unwritten = true;
        news(arg, &(struct disowned_datum){item.id, item.owner});
    }
    return changed ? write_file(disowned, error) : ESP_OK;
}
