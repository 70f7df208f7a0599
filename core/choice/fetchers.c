/* SPDX-License-Identifier: Apache-2.0 */
#include "core/choice/fetchers.h"

#include <endian.h>
#include <string.h>

#define HEADER_BYTES (2 * sizeof(uint32_t))

static bool append(uint8_t *bytes, size_t *used, const char *text)
{
    const size_t length = strlen(text) + 1;
    if (*used + length > FETCHERS_MOST_BYTES)
        return false;
    memcpy(bytes + *used, text, length);
    *used += length;
    return true;
}

static uint32_t count(const struct extensions *extensions)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < extensions->n; i++)
        n += extensions->items[i].tag == EXTENSION_FETCHERS;
    return n;
}

static void drop_all(struct extensions *extensions)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < extensions->n; i++)
        if (extensions->items[i].tag != EXTENSION_FETCHERS)
            extensions->items[kept++] = extensions->items[i];
    extensions->n = kept;
}

/* When there are too many entries, they are replaced by one that allows any server: half of the list would
 * put servers at a disadvantage that the other half allows. */
static bool make_room(struct extensions *extensions, uint32_t more, struct arena *arena)
{
    static const uint8_t all[HEADER_BYTES + 1] = {0xff, 0xff, 0xff, 0xff, 1};
    if (count(extensions) + more <= FETCHERS_MOST)
        return true;
    drop_all(extensions);
    return extension_add(extensions, EXTENSION_FETCHERS, all, sizeof all, arena);
}

bool fetchers_tell(struct extensions *extensions, uint32_t argument, const char *holder, const char *owner,
                   const char *const *names, size_t n, struct arena *arena)
{
    uint8_t bytes[FETCHERS_MOST_BYTES];
    size_t used = HEADER_BYTES;
    bool whole = append(bytes, &used, holder) && names && (!*owner || append(bytes, &used, owner));
    for (size_t i = 0; whole && i < n; i++)
        whole = append(bytes, &used, names[i]);
    const uint32_t header[] = {htole32(argument), htole32(!whole)};
    memcpy(bytes, header, sizeof header);
    return make_room(extensions, 1, arena) &&
           extension_add(extensions, EXTENSION_FETCHERS, bytes, (uint32_t)used, arena);
}

bool fetchers_gather(struct extensions *extensions, const struct extensions *from, struct arena *arena)
{
    bool whole = make_room(extensions, count(from), arena);
    for (uint32_t i = 0; whole && i < from->n; i++)
        if (from->items[i].tag == EXTENSION_FETCHERS)
            whole = make_room(extensions, 1, arena) &&
                    extension_add(extensions, EXTENSION_FETCHERS, from->items[i].value, from->items[i].length,
                                  arena);
    return whole;
}

/* Returns the NUL-terminated texts of an extension about the argument; NULL: it is about another one, or
 * malformed. */
static const char *texts_of(const struct extension *extension, uint32_t argument, bool *anybody)
{
    uint32_t header[2];
    if (extension->tag != EXTENSION_FETCHERS || extension->length <= HEADER_BYTES ||
        extension->value[extension->length - 1] != 0)
        return NULL;
    memcpy(header, extension->value, sizeof header);
    *anybody = header[1] != 0;
    return header[0] == UINT32_MAX || le32toh(header[0]) == argument
               ? (const char *)extension->value + HEADER_BYTES
               : NULL;
}

bool fetchers_may(const struct extensions *extensions, uint32_t argument, const char *certificate,
                  const char **holder)
{
    *holder = NULL;
    for (uint32_t i = 0; i < extensions->n; i++) {
        const struct extension *told = &extensions->items[i];
        bool anybody;
        const char *at = texts_of(told, argument, &anybody), *end = (const char *)told->value + told->length;
        if (!at)
            continue;
        if (anybody)
            return true;
        if (!*holder)
            *holder = at;
        for (at += strlen(at) + 1; at < end; at += strlen(at) + 1)
            if (strcmp(at, certificate) == 0)
                return true;
    }
    return !*holder;
}
