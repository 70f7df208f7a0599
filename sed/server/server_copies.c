/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies that are so fresh, or still on their way, that agents do not know of them: who has the datum that
 * was copied names them, so that all who look for it, and above all who deletes it, find every copy.
 */
#include "sed/server/server_data_internal.h"

#include "sed/server/server_state.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define MOST_COPIES 1024u
#define MOST_TOLD   64u
#define FRESH_NS    (60 * NS_PER_S) /* agents have heard of it long before */

static struct copy *make(struct datum_key key, const char *name, const char *address)
{
    struct copy *copy = calloc(1, sizeof *copy);
    if (!copy)
        return NULL;
    copy->key = key;
    copy->server = strdup(name);
    copy->address = strdup(address);
    if (copy->server && copy->address)
        return copy;
    copy_destroy(copy);
    return NULL;
}

void copy_destroy(struct copy *copy)
{
    if (!copy)
        return;
    free(copy->server);
    free(copy->address);
    free(copy);
}

struct copy *copy_read(struct datum_key key, const struct extensions *extensions)
{
    const struct extension *told = extension_find(extensions, EXTENSION_COPIES);
    if (!told || told->length < 4 || told->value[told->length - 1] != 0)
        return NULL;
    const char *name = (const char *)told->value;
    size_t length = strlen(name);
    if (length == 0 || length > CAP_NAME || length + 2 >= told->length)
        return NULL;
    const char *address = name + length + 1;
    return strlen(address) <= CAP_ADDRESS ? make(key, name, address) : NULL;
}

static void forget(struct server *server, struct copy *copy)
{
    DL_DELETE(server->data.copies, copy);
    server->data.n_copies--;
    copy_destroy(copy);
}

static void forget_old(struct server *server)
{
    struct copy *copy, *next;
    int64_t now_ns = server_now(server);
    DL_FOREACH_SAFE(server->data.copies, copy, next)
    {
        const bool is_full = server->data.n_copies >= MOST_COPIES;
        if (now_ns - copy->since_ns < FRESH_NS && !is_full)
            return;
        forget(server, copy);
    }
}

static struct copy *find(const struct server *server, struct datum_key key, const char *name)
{
    struct copy *copy;
    DL_FOREACH(server->data.copies, copy)
    if (datum_key_equal(copy->key, key) && strcmp(copy->server, name) == 0)
        return copy;
    return NULL;
}

void copies_note(struct server *server, struct copy *copy)
{
    if (!copy)
        return;
    forget_old(server);
    struct copy *known = find(server, copy->key, copy->server);
    if (known)
        forget(server, known);
    copy->since_ns = server_now(server);
    DL_APPEND(server->data.copies, copy);
    server->data.n_copies++;
}

void server_copies_note(struct server *server, struct datum_key key, const char *name, const char *address)
{
    if (*name && *address)
        copies_note(server, make(key, name, address));
}

void copies_note_moved(struct server *server, struct datum_key key, const char *name)
{
    struct copy *copy = find(server, key, name);
    if (copy)
        copy->moved = true;
}

bool copies_has_moved(const struct server *server, struct datum_key key, const char *name)
{
    const struct copy *copy = find(server, key, name);
    return copy && copy->moved;
}

/* ---- told ---- */

struct telling {
    const struct copy *items[MOST_TOLD];
    uint32_t n;
    size_t bytes;
};

static void add(struct telling *telling, const struct copy *copy, struct datum_key key)
{
    if (!copy || !datum_key_equal(copy->key, key) || telling->n == MOST_TOLD)
        return;
    telling->items[telling->n++] = copy;
    telling->bytes += strlen(copy->server) + strlen(copy->address) + 2;
}

static struct extension tell_copies(struct server *server, struct datum_key key, struct arena *arena)
{
    struct telling telling = {.n = 0};
    const struct copy *copy;
    for (const struct ticket *ticket = server->data.tickets; ticket; ticket = ticket->hh.next)
        add(&telling, ticket->copy, key);
    DL_FOREACH(server->data.copies, copy)
    add(&telling, copy, key);
    char *text = telling.n > 0 ? arena_alloc(arena, telling.bytes) : NULL, *at = text;
    for (uint32_t i = 0; text && i < telling.n; i++) {
        at = stpcpy(at, telling.items[i]->server) + 1;
        at = stpcpy(at, telling.items[i]->address) + 1;
    }
    return (struct extension){EXTENSION_COPIES, (const uint8_t *)text, text ? (uint32_t)telling.bytes : 0};
}

/* Who keeps it, from here or from what was deleted here, and where it has moved. */
static struct extension tell_places(struct server *server, struct datum_key key, struct arena *arena)
{
    size_t bytes;
    const char *names = store_places(server->data.store, key, &bytes);
    const void *text = names ? arena_memdup(arena, names, bytes) : NULL;
    return (struct extension){EXTENSION_PLACES, text, text ? (uint32_t)bytes : 0};
}

void copies_tell(struct server *server, struct datum_key key, struct message *reply)
{
    forget_old(server);
    const struct extension copies = tell_copies(server, key, &reply->arena),
                           places = tell_places(server, key, &reply->arena);
    struct extension *items = arena_alloc(&reply->arena, 3 * sizeof *items);
    uint32_t n = 0;
    if (!items)
        return;
    if (copies.length > 0)
        items[n++] = copies;
    if (places.length > 0)
        items[n++] = places;
    if (store_was_deleted(server->data.store, key))
        items[n++] = (struct extension){EXTENSION_DELETED, NULL, 0};
    reply->data_reply.extensions = (struct extensions){items, n};
}

void copies_release(struct server *server)
{
    while (server->data.copies)
        forget(server, server->data.copies);
}
