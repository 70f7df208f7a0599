/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/returning.h"

#include "core/choice/terms.h"
#include "core/hierarchy/absent.h"
#include "util/clock.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct returning_server {
    struct returning_server *next;
    int64_t gone_ns, until_ns;
    char *name, *parent, *address;
    uint64_t incarnation;
    struct known_catalog *catalog;
    char *problems; /* as in struct returning_entry */
    bool silent;
};

static void drop(struct returning *returning, struct returning_server *server)
{
    LL_DELETE(returning->first, server);
    returning->n--;
    catalog_let_go(returning->catalogs, server->catalog);
    free(server->name);
    free(server->parent);
    free(server->address);
    free(server->problems);
    free(server);
}

static struct returning_server *find(const struct returning *returning, const char *name)
{
    struct returning_server *server;
    LL_FOREACH(returning->first, server)
    {
        if (strcmp(server->name, name) == 0)
            return server;
    }
    return NULL;
}

bool returning_forget(struct returning *returning, const char *name)
{
    struct returning_server *server = find(returning, name);
    if (server)
        drop(returning, server);
    return server != NULL;
}

/* Drops an entry. Servers that were ended will come back; for silent ones that is only a hope, so they are
 * dropped first. */
static bool make_room(struct returning *returning, bool silent)
{
    struct returning_server *server;
    if (returning->n < RETURNING_MOST)
        return true;
    LL_FOREACH(returning->first, server)
    {
        if (server->silent)
            break;
    }
    if (!server && silent)
        return false;
    drop(returning, server ? server : returning->first);
    return true;
}

static const char *next_name(const char *name)
{
    return name + strlen(name) + 1;
}

static char *copy_names(const char *names)
{
    const char *end = names;
    while (*end)
        end = next_name(end);
    const size_t bytes = (size_t)(end - names) + 1;
    char *copy = malloc(bytes);
    return copy ? memcpy(copy, names, bytes) : NULL;
}

void returning_restore(struct returning *returning, const struct returning_entry *entry)
{
    struct returning_server *server = NULL;
    returning_forget(returning, entry->name);
    if (!make_room(returning, entry->silent) || !(server = calloc(1, sizeof *server)))
        return;
    *server = (struct returning_server){.gone_ns = entry->gone_ns,
                                        .until_ns = entry->until_ns,
                                        .name = strdup(entry->name),
                                        .parent = strdup(entry->parent),
                                        .address = strdup(entry->address),
                                        .incarnation = entry->incarnation,
                                        .catalog = catalog_hold(entry->catalog),
                                        .problems = entry->problems ? copy_names(entry->problems) : NULL,
                                        .silent = entry->silent};
    LL_APPEND(returning->first, server);
    returning->n++;
    if (!server->name || !server->parent || !server->address || (entry->problems && !server->problems))
        drop(returning, server);
}

void returning_note(struct returning *returning, const struct node_record *record,
                    struct known_catalog *catalog, bool silent, int64_t now_ns, int64_t until_ns)
{
    const struct returning_entry entry = {.name = record->name,
                                          .parent = record->parent,
                                          .address = record->address,
                                          .incarnation = record->incarnation,
                                          .silent = silent,
                                          .gone_ns = now_ns,
                                          .until_ns = until_ns,
                                          .catalog = catalog};
    returning_restore(returning, &entry);
}

bool returning_each(const struct returning *returning,
                    bool (*visit)(void *arg, const struct returning_entry *entry), void *arg)
{
    const struct returning_server *server;
    LL_FOREACH(returning->first, server)
    {
        const struct returning_entry entry = {server->name,        server->parent,  server->address,
                                              server->incarnation, server->silent,  server->gone_ns,
                                              server->until_ns,    server->catalog, server->problems};
        if (!visit(arg, &entry))
            return false;
    }
    return true;
}

void returning_tick(struct returning *returning, int64_t now_ns)
{
    struct returning_server *server, *next;
    LL_FOREACH_SAFE(returning->first, server, next)
    {
        if (now_ns >= server->until_ns)
            drop(returning, server);
    }
}

int64_t returning_due(const struct returning *returning)
{
    const struct returning_server *server;
    int64_t due_ns = CLOCK_NEVER;
    LL_FOREACH(returning->first, server)
    {
        if (server->until_ns < due_ns)
            due_ns = server->until_ns;
    }
    return due_ns;
}

static const struct returning_server *find_due(const struct returning *returning, const char *name,
                                               int64_t now_ns)
{
    const struct returning_server *server = find(returning, name);
    return server && now_ns < server->until_ns ? server : NULL;
}

bool returning_has(const struct returning *returning, const char *name, int64_t now_ns)
{
    return find_due(returning, name, now_ns) != NULL;
}

bool returning_is_silent(const struct returning *returning, const char *name, int64_t now_ns)
{
    const struct returning_server *server = find_due(returning, name, now_ns);
    return server && server->silent;
}

int64_t returning_left_ns(const struct returning *returning, const char *name, int64_t now_ns)
{
    const struct returning_server *server = find_due(returning, name, now_ns);
    return server && !server->silent ? server->until_ns - now_ns : 0;
}

static bool solves(const struct returning_server *server, const char *problem)
{
    const struct known_catalog *catalog = server->catalog;
    for (uint32_t i = 0; catalog && i < catalog->n_variants; i++)
        if (strcmp(catalog->variants[i]->problem, problem) == 0)
            return true;
    for (const char *name = server->problems; name && *name; name = next_name(name))
        if (strcmp(name, problem) == 0)
            return true;
    return false;
}

const char *returning_solver(const struct returning *returning, const char *problem, int64_t now_ns)
{
    const struct returning_server *server, *found = NULL;
    LL_FOREACH(returning->first, server)
    {
        if (now_ns < server->until_ns && (!found || found->silent) && solves(server, problem))
            found = server;
    }
    return found ? found->name : NULL;
}

uint32_t returning_records(const struct returning *returning, int64_t now_ns, struct arena *arena,
                           struct node_record *records)
{
    const struct returning_server *server;
    uint32_t n = 0;
    LL_FOREACH(returning->first, server)
    {
        const struct extensions marks = absent_mark();
        if (server->silent)
            continue;
        struct node_record *record = &records[n++];
        *record = (struct node_record){.name = arena_strdup(arena, server->name),
                                       .parent = arena_strdup(arena, server->parent),
                                       .address = arena_strdup(arena, server->address),
                                       .role = ROLE_SERVER,
                                       .incarnation = server->incarnation,
                                       .age_s = (double)(now_ns - server->gone_ns) / 1e9};
        if (!record->name || !record->parent || !record->address ||
            !extension_add(&record->extensions, marks.items->tag, marks.items->value, 0, arena) ||
            !terms_add_integer(&record->extensions, EXTENSION_EXPECTED,
                               (uint64_t)((server->until_ns - now_ns) / NS_PER_MS), arena))
            return UINT32_MAX;
    }
    return n;
}

/* ---- the list as an extension for parent agents ---- */

#define NUMBER_BYTES 8
#define SILENT       (UINT64_C(1) << 56)

static bool is_among(const char *const *names, uint32_t n, const char *name)
{
    for (uint32_t i = 0; names && i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return !names;
}

bool returning_pack(const struct returning *returning, int64_t now_ns, const char *const *names, uint32_t n,
                    struct arena *arena, struct extension *extension)
{
    const struct returning_server *server;
    size_t bytes = 0;
    LL_FOREACH(returning->first, server)
    {
        bytes += NUMBER_BYTES + strlen(server->name) + 1;
    }
    uint8_t *to = arena_alloc(arena, bytes + 1);
    *extension = (struct extension){EXTENSION_RETURNING, to, 0};
    if (!to)
        return false;
    LL_FOREACH(returning->first, server)
    {
        if (now_ns >= server->until_ns || !is_among(names, n, server->name))
            continue;
        const uint64_t number =
            (uint64_t)((server->until_ns - now_ns) / NS_PER_MS) | (server->silent ? SILENT : 0);
        for (int i = 0; i < NUMBER_BYTES; i++)
            *to++ = (uint8_t)(number >> 8 * i);
        const size_t length = strlen(server->name) + 1;
        memcpy(to, server->name, length);
        to += length;
    }
    extension->length = (uint32_t)(to - extension->value);
    return true;
}

bool returning_read(struct returning_reader *reader, const char **name, bool *silent, uint64_t *ms)
{
    if (reader->left <= NUMBER_BYTES)
        return false;
    const char *text = (const char *)reader->at + NUMBER_BYTES;
    const size_t length = strnlen(text, reader->left - NUMBER_BYTES);
    if (length == reader->left - NUMBER_BYTES || length == 0 || length > CAP_NAME)
        return false;
    *ms = 0;
    for (int i = NUMBER_BYTES - 1; i >= 0; i--)
        *ms = *ms << 8 | reader->at[i];
    *silent = (*ms & SILENT) != 0;
    *ms &= SILENT - 1;
    *name = text;
    reader->at += NUMBER_BYTES + length + 1;
    reader->left -= (uint32_t)(NUMBER_BYTES + length + 1);
    return true;
}

void returning_release(struct returning *returning)
{
    while (returning->first)
        drop(returning, returning->first);
}
