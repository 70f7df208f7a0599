/* SPDX-License-Identifier: Apache-2.0 */
#include "core/terms.h"

#include <endian.h>
#include <math.h>
#include <string.h>

/* ---- reading ---- */

static bool get_word(const struct extensions *extensions, uint32_t tag, uint64_t *word)
{
    const struct extension *extension = extension_find(extensions, tag);
    if (!extension || extension->length < sizeof *word)
        return false;
    memcpy(word, extension->value, sizeof *word);
    *word = le64toh(*word);
    return true;
}

static bool get_real(const struct extensions *extensions, uint32_t tag, double *value)
{
    uint64_t word;
    if (!get_word(extensions, tag, &word))
        return false;
    memcpy(value, &word, sizeof word);
    return true;
}

static struct property_set get_texts(const struct extensions *extensions, uint32_t tag)
{
    const struct extension *extension = extension_find(extensions, tag);
    if (!extension)
        return (struct property_set){0};
    return (struct property_set){(const char *)extension->value, extension->length};
}

void server_terms_get(const struct extensions *extensions, struct server_terms *terms)
{
    *terms = (struct server_terms){.properties = get_texts(extensions, EXTENSION_PROPERTIES)};
    if (!get_real(extensions, EXTENSION_PRICE, &terms->price) || !(terms->price > 0) ||
        !isfinite(terms->price))
        terms->price = 0;
    if (!get_word(extensions, EXTENSION_INCOMING, &terms->incoming_bytes))
        terms->incoming_bytes = 0;
}

void constraints_get(const struct extensions *extensions, struct constraints *constraints)
{
    *constraints = (struct constraints){.wanted = get_texts(extensions, EXTENSION_WANTED)};
    if (!get_real(extensions, EXTENSION_FINISH, &constraints->finish_s) || !(constraints->finish_s > 0))
        constraints->finish_s = HUGE_VAL;
    if (!get_word(extensions, EXTENSION_MOST_MEMORY, &constraints->most_memory_bytes))
        constraints->most_memory_bytes = UINT64_MAX;
}

/* ---- properties ---- */

const char *property_next(const struct property_set *set, const char *after)
{
    const char *end = set->texts + set->length;
    const char *next = after ? after + strlen(after) + 1 : set->texts;
    if (!set->length || next >= end || !memchr(next, 0, (size_t)(end - next)))
        return NULL;
    return next;
}

static bool has_property(const struct property_set *set, const char *word)
{
    for (const char *own = property_next(set, NULL); own; own = property_next(set, own))
        if (strcmp(own, word) == 0)
            return true;
    return false;
}

const char *property_missing(const struct property_set *wanted, const struct property_set *has)
{
    for (const char *word = property_next(wanted, NULL); word; word = property_next(wanted, word))
        if (!has_property(has, word))
            return word;
    return NULL;
}

const char *property_fault(const char *word)
{
    if (!*word)
        return "it is empty";
    if (strlen(word) >= CAP_PROPERTY)
        return "it has more than 63 bytes";
    for (const unsigned char *c = (const unsigned char *)word; *c; c++)
        if (*c <= ' ' || *c == 127)
            return "it has a blank or a control character";
    return NULL;
}

/* ---- writing ---- */

static bool add(struct extensions *extensions, uint32_t tag, const void *value, uint32_t length,
                struct arena *arena)
{
    struct extension *items = arena_alloc(arena, (extensions->n + 1) * sizeof *items);
    const uint8_t *copy = items ? arena_memdup(arena, value, length) : NULL;
    if (!copy)
        return false;
    if (extensions->n)
        memcpy(items, extensions->items, extensions->n * sizeof *items);
    items[extensions->n] = (struct extension){tag, copy, length};
    *extensions = (struct extensions){items, extensions->n + 1};
    return true;
}

bool terms_add_integer(struct extensions *extensions, uint32_t tag, uint64_t value, struct arena *arena)
{
    value = htole64(value);
    return add(extensions, tag, &value, sizeof value, arena);
}

bool terms_add_real(struct extensions *extensions, uint32_t tag, double value, struct arena *arena)
{
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    return terms_add_integer(extensions, tag, word, arena);
}

bool terms_add_texts(struct extensions *extensions, uint32_t tag, const char *const *texts, size_t n,
                     struct arena *arena)
{
    char all[CAP_PROPERTIES * CAP_PROPERTY];
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t bytes = strlen(texts[i]) + 1;
        if (length + bytes > sizeof all)
            return false;
        memcpy(all + length, texts[i], bytes);
        length += bytes;
    }
    return add(extensions, tag, all, (uint32_t)length, arena);
}
