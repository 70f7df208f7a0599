/* SPDX-License-Identifier: Apache-2.0 */
#include "core/choice/terms.h"

#include <endian.h>
#include <math.h>
#include <string.h>

/* ---- reading ---- */

bool terms_get_integer(const struct extensions *extensions, uint32_t tag, uint64_t *word)
{
    const struct extension *extension = extension_find(extensions, tag);
    if (!extension || extension->length < sizeof *word)
        return false;
    memcpy(word, extension->value, sizeof *word);
    *word = le64toh(*word);
    return true;
}

bool terms_get_real(const struct extensions *extensions, uint32_t tag, double *value)
{
    uint64_t word;
    if (!terms_get_integer(extensions, tag, &word))
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

uint32_t weather_put(const struct weather *weather, uint8_t bytes[WEATHER_BYTES])
{
    const double numbers[] = {weather->available, weather->forecast, weather->error, weather->memory_free,
                              weather->disk_free};
    const uint32_t counts[] = {htole32(weather->step_ms), htole32(weather->n)};
    uint8_t *at = bytes;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++, at += 8) {
        uint64_t word;
        memcpy(&word, &numbers[i], sizeof word);
        word = htole64(word);
        memcpy(at, &word, sizeof word);
    }
    memcpy(at, counts, sizeof counts);
    memcpy(at + sizeof counts, weather->shares, weather->n);
    return (uint32_t)(at - bytes + sizeof counts) + weather->n;
}

static bool is_share(double value)
{
    return value > 0 && value <= 1;
}

static double not_negative(double value)
{
    return value > 0 && isfinite(value) ? value : 0;
}

bool weather_get(const struct extensions *extensions, struct weather *weather)
{
    const struct extension *extension = extension_find(extensions, EXTENSION_WEATHER);
    double numbers[5];
    uint32_t counts[2];
    *weather = (struct weather){0};
    if (!extension || extension->length < sizeof numbers + sizeof counts)
        return false;
    for (size_t i = 0; i < 5; i++) {
        uint64_t word;
        memcpy(&word, extension->value + 8 * i, sizeof word);
        word = le64toh(word);
        memcpy(&numbers[i], &word, sizeof word);
    }
    memcpy(counts, extension->value + sizeof numbers, sizeof counts);
    const uint32_t n = le32toh(counts[1]);
    if (!is_share(numbers[0]) || !is_share(numbers[1]) || n > WEATHER_HISTORY ||
        extension->length < sizeof numbers + sizeof counts + n)
        return false;
    *weather = (struct weather){.available = numbers[0],
                                .forecast = numbers[1],
                                .error = not_negative(numbers[2]),
                                .memory_free = not_negative(numbers[3]),
                                .disk_free = not_negative(numbers[4]),
                                .step_ms = le32toh(counts[0]),
                                .n = n};
    memcpy(weather->shares, extension->value + sizeof numbers + sizeof counts, n);
    return true;
}

void server_terms_get(const struct extensions *extensions, struct server_terms *terms)
{
    *terms = (struct server_terms){.properties = get_texts(extensions, EXTENSION_PROPERTIES),
                                   .ranks_trouble = get_texts(extensions, EXTENSION_RANKS_TROUBLE)};
    if (!property_next(&terms->ranks_trouble, NULL))
        terms->ranks_trouble = (struct property_set){0};
    if (!terms_get_real(extensions, EXTENSION_PRICE, &terms->price) || !(terms->price > 0) ||
        !isfinite(terms->price))
        terms->price = 0;
    if (!terms_get_integer(extensions, EXTENSION_INCOMING, &terms->incoming_bytes))
        terms->incoming_bytes = 0;
    if (!terms_get_integer(extensions, EXTENSION_MEMORY_HELD, &terms->held_bytes))
        terms->held_bytes = 0;
    weather_get(extensions, &terms->weather);
}

struct path terms_link(const struct node_record *record)
{
    struct path link = record->link;
    if (!terms_get_real(&record->extensions, EXTENSION_LINK_BACK, &link.back_bps) || !(link.back_bps > 0) ||
        !isfinite(link.back_bps))
        link.back_bps = 0;
    return link;
}

void constraints_get(const struct extensions *extensions, struct constraints *constraints)
{
    *constraints = (struct constraints){.wanted = get_texts(extensions, EXTENSION_WANTED)};
    if (!terms_get_real(extensions, EXTENSION_FINISH, &constraints->finish_s) || !(constraints->finish_s > 0))
        constraints->finish_s = HUGE_VAL;
    double sooner_s;
    if (terms_get_real(extensions, EXTENSION_SOONER, &sooner_s) && sooner_s < constraints->finish_s)
        constraints->finish_s = sooner_s;
    if (!terms_get_integer(extensions, EXTENSION_MOST_MEMORY, &constraints->most_memory_bytes))
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

bool terms_add_integer(struct extensions *extensions, uint32_t tag, uint64_t value, struct arena *arena)
{
    value = htole64(value);
    return extension_add(extensions, tag, &value, sizeof value, arena);
}

bool terms_add_real(struct extensions *extensions, uint32_t tag, double value, struct arena *arena)
{
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    return terms_add_integer(extensions, tag, word, arena);
}

bool terms_add_weather(struct extensions *extensions, const struct weather *weather, struct arena *arena)
{
    uint8_t bytes[WEATHER_BYTES];
    const uint32_t length = weather_put(weather, bytes);
    return extension_add(extensions, EXTENSION_WEATHER, bytes, length, arena);
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
    return extension_add(extensions, tag, all, (uint32_t)length, arena);
}
