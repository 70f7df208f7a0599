/* SPDX-License-Identifier: Apache-2.0 */
#include "services/directory/tree.h"

#include "core/problem/problem.h"
#include "util/bytes.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void directory_tree_clear(struct directory_tree *tree)
{
    HASH_CLEAR(hh, tree->by_name);
    arena_clear(&tree->arena);
    free(tree->entries);
    *tree = (struct directory_tree){0};
}

/* ---- spelling of names ---- */

static int digit_of(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Reads the byte at *at and moves past it; *escaped: it was written after a backslash, as itself or by two
 * digits (RFC 4514, section 2.4). */
static char take_byte(const char **at, bool *escaped)
{
    const char *text = *at;
    *escaped = text[0] == '\\' && text[1];
    if (!*escaped) {
        *at = text + 1;
        return text[0];
    }
    const int high = digit_of(text[1]), low = high < 0 ? -1 : digit_of(text[2]);
    *at = text + (low < 0 ? 2 : 3);
    return low < 0 ? text[1] : (char)(16 * high + low);
}

/* A name being written, "" at first. */
struct name_writer {
    char *text;
    size_t size, n;
};

static void write_plain(struct name_writer *writer, char byte)
{
    if (writer->n + 1 < writer->size)
        writer->text[writer->n] = byte;
    writer->n++;
}

/* Writes a byte in our canonical way. Blanks and '#' are special only at the ends of a value. */
static void write_byte(struct name_writer *writer, char byte, bool first, bool last)
{
    const unsigned char number = (unsigned char)byte;
    if (number < ' ' || number == 127) {
        write_plain(writer, '\\');
        write_plain(writer, "0123456789abcdef"[number >> 4]);
        write_plain(writer, "0123456789abcdef"[number & 15]);
        return;
    }
    if (strchr(",+\"\\<>;=", byte) || (byte == ' ' && (first || last)) || (byte == '#' && first))
        write_plain(writer, '\\');
    write_plain(writer, byte);
}

/* False: the name does not fit. */
static bool end_name(struct name_writer *writer)
{
    const bool fits = writer->n < writer->size;
    writer->text[fits ? writer->n : writer->size - 1] = 0;
    return fits;
}

/* Rewrites the name canonically, because one value has several spellings: "a\2C b", "a\, b". LDAP servers
 * use another one than we do. */
static bool write_name(const char *name, char *text, size_t size)
{
    struct name_writer writer = {text, size, 0};
    bool in_value = false, first = false, escaped;
    while (*name) {
        const char byte = take_byte(&name, &escaped);
        const bool parts = !escaped && (byte == ',' || byte == '+' || (byte == '=' && !in_value));
        /* An unescaped special character is no part of the value, or marks another kind of value. */
        const bool stays = parts || !in_value || (!escaped && (byte == ' ' || byte == '#'));
        if (stays)
            write_plain(&writer, byte);
        else
            write_byte(&writer, byte, first, !*name || *name == ',' || *name == '+');
        first = parts && byte == '=';
        in_value = parts ? byte == '=' : in_value;
    }
    return end_name(&writer);
}

/* Makes the key of a name, because names are compared without regard to case; false if the name is too
 * long. */
static bool key_of(const char *name, char key[DIRECTORY_MOST_NAME + 1])
{
    const bool fits = write_name(name, key, DIRECTORY_MOST_NAME + 1);
    for (char *at = key; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return fits;
}

/* ---- entries ---- */

struct directory_entry *directory_tree_find(const struct directory_tree *tree, const char *name)
{
    char key[DIRECTORY_MOST_NAME + 1];
    struct directory_entry *entry = NULL;
    if (key_of(name, key))
        HASH_FIND_STR(tree->by_name, key, entry);
    return entry;
}

static bool make_room(struct directory_tree *tree)
{
    if (tree->n < tree->capacity)
        return true;
    const size_t capacity = tree->capacity ? 2 * tree->capacity : 64;
    struct directory_entry **entries = realloc(tree->entries, capacity * sizeof *entries);
    if (!entries)
        return false;
    tree->entries = entries;
    tree->capacity = capacity;
    return true;
}

static struct directory_entry *add_entry(struct directory_tree *tree, const char *name, const char *key,
                                         struct esp_error *error)
{
    struct directory_entry *entry = arena_alloc(&tree->arena, sizeof *entry);
    if (entry && (entry->name = arena_strdup(&tree->arena, name)) &&
        (entry->key = arena_strdup(&tree->arena, key)) && make_room(tree)) {
        HASH_ADD_KEYPTR(hh, tree->by_name, entry->key, strlen(entry->key), entry);
        if (entry->hh.tbl)
            return tree->entries[tree->n++] = entry;
    }
    error_no_memory(error, "an entry of the directory");
    return NULL;
}

struct directory_entry *directory_tree_entry(struct directory_tree *tree, const char *name,
                                             struct esp_error *error)
{
    char key[DIRECTORY_MOST_NAME + 1], written[DIRECTORY_MOST_NAME + 1];
    struct directory_entry *entry = directory_tree_find(tree, name);
    if (entry)
        return entry;
    if (tree->n == DIRECTORY_MOST_ENTRIES) {
        error_set(error, ESP_LIMIT, "expected a directory of at most %d entries, found more",
                  DIRECTORY_MOST_ENTRIES);
        return NULL;
    }
    if (!key_of(name, key) || !write_name(name, written, sizeof written)) {
        error_set(error, ESP_LIMIT, "expected a name of at most %d characters, found \"%.60s...\"",
                  DIRECTORY_MOST_NAME, name);
        return NULL;
    }
    return add_entry(tree, written, key, error);
}

enum esp_status directory_tree_rename(struct directory_tree *tree, struct directory_entry *entry,
                                      const char *name, const char *cn, struct esp_error *error)
{
    char key[DIRECTORY_MOST_NAME + 1];
    if (!key_of(name, key) || directory_tree_find(tree, name))
        return error_set(error, ESP_LIMIT, "the name \"%.60s\" is too long, or taken", name);
    const char *own_name = arena_strdup(&tree->arena, name), *own_key = arena_strdup(&tree->arena, key),
               *own_cn = arena_strdup(&tree->arena, cn);
    if (!own_name || !own_key || !own_cn)
        return error_no_memory(error, "an entry of the directory");
    HASH_DELETE(hh, tree->by_name, entry);
    entry->name = own_name;
    entry->key = own_key;
    HASH_ADD_KEYPTR(hh, tree->by_name, entry->key, strlen(entry->key), entry);
    for (uint32_t i = 0; i < entry->n_values; i++)
        if (strcasecmp(entry->values[i].attribute, "cn") == 0) {
            entry->values[i].text = own_cn;
            entry->values[i].length = strlen(own_cn);
        }
    return ESP_OK;
}

static bool make_room_for_value(struct directory_tree *tree, struct directory_entry *entry)
{
    if (entry->n_values < entry->capacity)
        return true;
    const uint32_t capacity = entry->capacity ? 2 * entry->capacity : 8;
    struct directory_value *values = arena_alloc(&tree->arena, capacity * sizeof *values);
    if (!values)
        return false;
    if (entry->n_values)
        memcpy(values, entry->values, entry->n_values * sizeof *values);
    entry->values = values;
    entry->capacity = capacity;
    return true;
}

enum esp_status directory_tree_add(struct directory_tree *tree, struct directory_entry *entry,
                                   const char *attribute, const char *text, size_t length,
                                   struct esp_error *error)
{
    char most[BYTES_TEXT];
    if (tree->arena.total + length > DIRECTORY_MOST_BYTES || entry->n_values == DIRECTORY_MOST_VALUES)
        return error_set(error, ESP_LIMIT,
                         "%.200s: expected a directory of at most %s, and %d values in an entry, found more",
                         directory_entry_title(entry), bytes_text(DIRECTORY_MOST_BYTES, most),
                         DIRECTORY_MOST_VALUES);
    const char *name = arena_strdup(&tree->arena, attribute);
    char *own = arena_alloc(&tree->arena, length + 1);
    if (!name || !own || !make_room_for_value(tree, entry))
        return error_no_memory(error, "a value of the directory");
    if (length)
        memcpy(own, text, length);
    entry->values[entry->n_values++] = (struct directory_value){name, own, length};
    return ESP_OK;
}

void directory_entry_drop(struct directory_entry *entry, const char *attribute)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < entry->n_values; i++)
        if (strcasecmp(entry->values[i].attribute, attribute) != 0)
            entry->values[n++] = entry->values[i];
    entry->n_values = n;
}

/* ---- order ---- */

static int by_depth_and_name(const void *a, const void *b)
{
    const struct directory_entry *one = *(struct directory_entry *const *)a,
                                 *other = *(struct directory_entry *const *)b;
    const unsigned d = directory_name_depth(one->name), e = directory_name_depth(other->name);
    return d != e ? (d > e) - (d < e) : strcasecmp(one->name, other->name);
}

/* Parses "{12}text": 12, and where the text begins; false: it has no position. */
static bool read_place(const struct directory_value *value, unsigned long *place, const char **text)
{
    char *end;
    if (value->text[0] != '{' || !isdigit((unsigned char)value->text[1]))
        return false;
    *place = strtoul(value->text + 1, &end, 10);
    *text = end + 1;
    return *end == '}';
}

const char *directory_value_text(const struct directory_value *value)
{
    unsigned long place;
    const char *text;
    return read_place(value, &place, &text) ? text : value->text;
}

static int by_attribute(const void *a, const void *b)
{
    const struct directory_value *one = a, *other = b;
    unsigned long place, other_place;
    const char *text;
    const int order = strcasecmp(one->attribute, other->attribute);
    if (order)
        return order;
    if (read_place(one, &place, &text) && read_place(other, &other_place, &text) && place != other_place)
        return place < other_place ? -1 : 1;
    const size_t least = one->length < other->length ? one->length : other->length;
    const int bytes = memcmp(one->text, other->text, least);
    return bytes ? bytes : (one->length > other->length) - (one->length < other->length);
}

void directory_tree_sort(struct directory_tree *tree)
{
    if (tree->n)
        qsort(tree->entries, tree->n, sizeof *tree->entries, by_depth_and_name);
    for (size_t i = 0; i < tree->n; i++)
        if (tree->entries[i]->n_values)
            qsort(tree->entries[i]->values, tree->entries[i]->n_values, sizeof *tree->entries[i]->values,
                  by_attribute);
}

uint64_t directory_tree_digest(const struct directory_tree *tree)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < tree->n; i++) {
        const struct directory_entry *entry = tree->entries[i];
        digest = digest * 31 + digest_text(entry->name, strlen(entry->name));
        for (uint32_t k = 0; k < entry->n_values; k++)
            digest = digest * 31 +
                     digest_text(entry->values[k].attribute, strlen(entry->values[k].attribute)) +
                     digest_text(entry->values[k].text, entry->values[k].length);
    }
    return digest;
}

/* ---- lookup ---- */

const struct directory_value *directory_value(const struct directory_entry *entry, const char *attribute)
{
    for (uint32_t i = 0; i < entry->n_values; i++)
        if (strcasecmp(entry->values[i].attribute, attribute) == 0)
            return &entry->values[i];
    return NULL;
}

bool directory_entry_is(const struct directory_entry *entry, const char *object_class)
{
    for (uint32_t i = 0; i < entry->n_values; i++)
        if (strcasecmp(entry->values[i].attribute, "objectClass") == 0 &&
            strcasecmp(entry->values[i].text, object_class) == 0)
            return true;
    return false;
}

void directory_entry_cn(const struct directory_entry *entry, char *text, size_t size)
{
    size_t n = 0;
    bool escaped;
    const char *at = entry->name;
    if (strncasecmp(at, "cn=", 3) == 0)
        for (at += 3; *at && *at != ',' && n + 1 < size;)
            text[n++] = take_byte(&at, &escaped);
    text[n] = 0;
}

const char *directory_entry_title(const struct directory_entry *entry)
{
    return *entry->name ? entry->name : "the base";
}

const char *directory_name_parent(const char *name)
{
    for (; *name; name++) {
        if (*name == '\\' && name[1])
            name++;
        else if (*name == ',')
            return name + 1;
    }
    return name;
}

unsigned directory_name_depth(const char *name)
{
    unsigned depth = 0;
    for (; *name; name = directory_name_parent(name))
        depth++;
    return depth;
}

bool directory_name_make(char *name, size_t size, const char *text, const char *parent)
{
    struct name_writer writer = {name, size, 0};
    for (const char *at = "cn="; *at; at++)
        write_plain(&writer, *at);
    for (const char *at = text; *at; at++)
        write_byte(&writer, *at, at == text, !at[1]);
    if (*parent)
        write_plain(&writer, ',');
    for (const char *at = parent; *at; at++)
        write_plain(&writer, *at);
    return end_name(&writer);
}
