/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/told_links.h"

#include <endian.h>
#include <math.h>
#include <string.h>

static void put_real(uint8_t *bytes, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = htole64(bits);
    memcpy(bytes, &bits, sizeof bits);
}

static double get_real(const uint8_t *bytes)
{
    uint64_t bits;
    double value;
    memcpy(&bits, bytes, sizeof bits);
    bits = le64toh(bits);
    memcpy(&value, &bits, sizeof value);
    return value;
}

bool told_links_add(struct extensions *extensions, uint32_t tag, const struct told_link *links, size_t n,
                    struct arena *arena)
{
    size_t length = 0, at = 0;
    n = n < CAP_TOLD_LINKS ? n : CAP_TOLD_LINKS;
    for (size_t i = 0; i < n; i++)
        length += strlen(links[i].peer) + 1 + 16;
    if (length == 0)
        return true;
    uint8_t *bytes = arena_alloc(arena, length);
    if (!bytes)
        return false;
    for (size_t i = 0; i < n; i++) {
        const size_t name = strlen(links[i].peer) + 1;
        memcpy(bytes + at, links[i].peer, name);
        put_real(bytes + at + name, links[i].path.latency_s);
        put_real(bytes + at + name + 8, links[i].path.bandwidth_bps);
        at += name + 16;
    }
    return extension_add(extensions, tag, bytes, (uint32_t)length, arena);
}

bool told_links_next(const struct extensions *extensions, uint32_t tag, struct told_link *link)
{
    const struct extension *extension = extension_find(extensions, tag);
    const uint8_t *at = extension ? extension->value : NULL, *end = at ? at + extension->length : NULL;
    if (link->peer && at)
        at = (const uint8_t *)link->peer + strlen(link->peer) + 17;
    const uint8_t *nul = at && at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
    if (!nul || end - nul < 17)
        return false;
    const double latency_s = get_real(nul + 1), bandwidth = get_real(nul + 9);
    link->peer = (const char *)at;
    link->path = (struct path){true, latency_s, bandwidth, 0};
    link->least_bps = 0;
    link->path.known = isfinite(latency_s) && latency_s >= 0 && isfinite(bandwidth) && bandwidth > 0;
    return true;
}

bool told_links_find(const struct extensions *extensions, uint32_t tag, const char *peer, struct path *path)
{
    struct told_link link = {NULL};
    for (int i = 0; i < CAP_TOLD_LINKS && told_links_next(extensions, tag, &link); i++)
        if (strcmp(link.peer, peer) == 0) {
            *path = link.path;
            return path->known;
        }
    return false;
}

static bool add_opening(struct extensions *extensions, const struct told_link *links, size_t n,
                        uint8_t others, struct arena *arena)
{
    uint8_t opening[1 + CAP_TOLD_LINKS] = {others}, any = others;
    n = n < CAP_TOLD_LINKS ? n : CAP_TOLD_LINKS;
    for (size_t i = 0; i < n; i++)
        any |= opening[1 + i] = links[i].opening;
    const void *value = any ? arena_memdup(arena, opening, 1 + n) : NULL;
    return !any ||
           (value && extension_add(extensions, EXTENSION_CLIENT_OPENING, value, (uint32_t)(1 + n), arena));
}

/* Returns the opening of the link with number i; 0 is that of all other links. */
static uint8_t opening_at(const struct extensions *extensions, uint32_t i)
{
    const struct extension *extension = extension_find(extensions, EXTENSION_CLIENT_OPENING);
    return extension && i < extension->length ? extension->value[i] : 0;
}

/* More round trips than any connection takes. */
#define MOST_TRIPS 8

unsigned told_trips(uint8_t opening, bool has_others)
{
    const unsigned trips = opening & (TOLD_GREETS - 1u);
    return (trips < MOST_TRIPS ? trips : MOST_TRIPS) + (has_others && (opening & TOLD_GREETS));
}

struct path_opening told_opening(const struct told_link *link, bool has_others)
{
    return (struct path_opening){told_trips(link->opening, has_others), link->window, link->window_back};
}

unsigned told_other_trips(const struct extensions *extensions, bool has_others)
{
    return told_trips(opening_at(extensions, 0), has_others);
}

#define WINDOWS_BYTES 8 /* of a link */

static bool add_windows(struct extensions *extensions, const struct told_link *links, size_t n,
                        struct arena *arena)
{
    uint32_t windows[2 * CAP_TOLD_LINKS] = {0}, any = 0;
    n = n < CAP_TOLD_LINKS ? n : CAP_TOLD_LINKS;
    for (size_t i = 0; i < n; i++) {
        windows[2 * i] = htole32((uint32_t)fmin(links[i].window, UINT32_MAX));
        windows[2 * i + 1] = htole32((uint32_t)fmin(links[i].window_back, UINT32_MAX));
        any |= windows[2 * i] | windows[2 * i + 1];
    }
    const void *value = any ? arena_memdup(arena, windows, n * WINDOWS_BYTES) : NULL;
    return !any || (value && extension_add(extensions, EXTENSION_CLIENT_WINDOWS, value,
                                           (uint32_t)(n * WINDOWS_BYTES), arena));
}

static void read_windows(const struct extensions *extensions, uint32_t i, struct told_link *link)
{
    const struct extension *extension = extension_find(extensions, EXTENSION_CLIENT_WINDOWS);
    uint32_t windows[2] = {0, 0};
    if (extension && (size_t)(i + 1) * WINDOWS_BYTES <= extension->length)
        memcpy(windows, extension->value + (size_t)i * WINDOWS_BYTES, sizeof windows);
    link->window = le32toh(windows[0]);
    link->window_back = le32toh(windows[1]);
}

bool told_own_add(struct extensions *extensions, const struct told_link *links, size_t n, uint8_t others,
                  struct arena *arena)
{
    struct told_link back[CAP_TOLD_LINKS], least[CAP_TOLD_LINKS];
    size_t n_back = 0, n_least = 0;
    for (size_t i = 0; i < n && i < CAP_TOLD_LINKS; i++) {
        if (links[i].path.back_bps > 0)
            back[n_back++] = (struct told_link){.peer = links[i].peer, .path = path_turned(links[i].path)};
        if (links[i].path.bandwidth_bps <= 0 && links[i].least_bps > 0)
            least[n_least++] = (struct told_link){
                .peer = links[i].peer, .path = {true, links[i].path.latency_s, links[i].least_bps, 0}};
    }
    return add_opening(extensions, links, n, others, arena) && add_windows(extensions, links, n, arena) &&
           told_links_add(extensions, EXTENSION_CLIENT_LINKS, links, n, arena) &&
           told_links_add(extensions, EXTENSION_CLIENT_LINKS_BACK, back, n_back, arena) &&
           told_links_add(extensions, EXTENSION_CLIENT_LINKS_LEAST, least, n_least, arena);
}

/* The rate is not known, but another value of the link is. */
static bool is_without_rate(const struct told_link *link)
{
    const struct path *path = &link->path;
    return path->bandwidth_bps == 0 && isfinite(path->latency_s) && path->latency_s >= 0 &&
           (path->latency_s > 0 || link->least_bps > 0);
}

/* Returns the rate in the list with that tag for the link that was read last; 0: none. */
static double beside(const struct extensions *extensions, uint32_t tag, struct told_beside *list,
                     const char *peer)
{
    if (!list->is_read && !told_links_next(extensions, tag, &list->link))
        list->link.peer = NULL;
    list->is_read = true;
    if (!list->link.peer || strcmp(list->link.peer, peer) != 0)
        return 0;
    list->is_read = false;
    return list->link.path.known ? list->link.path.bandwidth_bps : 0;
}

bool told_own_next(const struct extensions *extensions, struct told_reader *reader, struct told_link *link)
{
    while (reader->n++ < CAP_TOLD_LINKS &&
           told_links_next(extensions, EXTENSION_CLIENT_LINKS, &reader->there)) {
        *link = reader->there;
        link->path.back_bps = beside(extensions, EXTENSION_CLIENT_LINKS_BACK, &reader->back, link->peer);
        link->least_bps = beside(extensions, EXTENSION_CLIENT_LINKS_LEAST, &reader->least, link->peer);
        link->opening = opening_at(extensions, reader->n);
        read_windows(extensions, reader->n - 1, link);
        if (!link->path.known && !is_without_rate(link))
            continue;
        link->path.known = true;
        return true;
    }
    return false;
}

bool told_own(const struct extensions *extensions, const char *address, struct told_link *link)
{
    struct told_reader reader = {.n = 0};
    while (told_own_next(extensions, &reader, link))
        if (strcmp(link->peer, address) == 0)
            return true;
    return false;
}

struct path told_shortest(const struct path *access, const struct path *agents)
{
    if (!access->known)
        return *agents;
    /* All servers are reached through it, including those to which agents know no path. */
    return agents->known ? path_join(*access, *agents) : *access;
}

struct path told_over(const struct told_link *own, struct path shortest)
{
    if (own->path.bandwidth_bps > 0)
        return own->path;
    struct path way = shortest.known ? shortest : own->path;
    if (own->path.latency_s > 0)
        way.latency_s = own->path.latency_s;
    way.bandwidth_bps = fmax(way.bandwidth_bps, own->least_bps);
    if (way.back_bps > 0)
        way.back_bps = fmax(way.back_bps, own->least_bps);
    return way;
}

bool told_access_add(struct extensions *extensions, const struct path *access, struct arena *arena)
{
    uint8_t bytes[16];
    put_real(bytes, access->latency_s);
    put_real(bytes + 8, access->bandwidth_bps);
    return extension_add(extensions, EXTENSION_CLIENT_ACCESS, bytes, sizeof bytes, arena);
}

struct path told_access(const struct extensions *extensions)
{
    const struct extension *extension = extension_find(extensions, EXTENSION_CLIENT_ACCESS);
    if (!extension || extension->length < 16)
        return (struct path){0};
    const double latency_s = get_real(extension->value), bandwidth = get_real(extension->value + 8);
    if (!isfinite(latency_s) || latency_s < 0 || !isfinite(bandwidth) || bandwidth < 0)
        return (struct path){0};
    return (struct path){true, latency_s, bandwidth, 0};
}

struct path told_way(const struct extensions *extensions, const char *address, struct path agents,
                     bool has_others, struct path_opening *opening)
{
    struct told_link own;
    const struct path access = told_access(extensions), shortest = told_shortest(&access, &agents);
    const bool is_told = told_own(extensions, address, &own);
    *opening = is_told ? told_opening(&own, has_others)
                       : (struct path_opening){told_other_trips(extensions, has_others), 0, 0};
    return is_told ? told_over(&own, shortest) : shortest;
}
