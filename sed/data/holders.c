/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/data/data_internal.h"

#include "core/hierarchy/membership.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define ASK_MS 10000

static void add(struct holders *holders, const char *address, bool is_agent)
{
    if (holders->n == HOLDERS_MOST || !*address || strlen(address) > CAP_ADDRESS ||
        strcmp(address, holders->own) == 0)
        return;
    for (uint32_t i = 0; i < holders->n; i++)
        if (strcmp(holders->items[i].address, address) == 0)
            return;
    struct holder *holder = &holders->items[holders->n++];
    snprintf(holder->address, sizeof holder->address, "%s", address);
    holder->is_agent = is_agent;
}

void holders_begin(struct holders *holders, struct server_data *data, const struct datum_id *id)
{
    const char *parent = data->ops->parent(data->server);
    const struct copy *copy;
    holders->n = 0;
    holders->transport = data->endpoint->transport;
    datum_id_text(id, holders->id);
    snprintf(holders->own, sizeof holders->own, "%s", endpoint_address(data->endpoint));
    snprintf(holders->name, sizeof holders->name, "%s", data->options.name);
    for (copy = data->copies; copy; copy = copy->next)
        if (datum_key_equal(copy->key, id->key))
            add(holders, copy->address, false);
    if (parent)
        add(holders, parent, true);
}

/* Adds copies that agents may not know yet. The value has name and address of each, with their NULs. */
static void add_copies(struct holders *holders, const struct extension *copies)
{
    uint32_t at = 0;
    if (!copies || copies->length == 0 || copies->value[copies->length - 1] != 0)
        return;
    while (at < copies->length) {
        at += (uint32_t)strlen((const char *)copies->value + at) + 1; /* behind the name */
        if (at == copies->length)
            return;
        add(holders, (const char *)copies->value + at, false);
        at += (uint32_t)strlen((const char *)copies->value + at) + 1;
    }
}

static void read_answer(struct holders *holders, const struct data_reply *reply)
{
    char above[CAP_ADDRESS + 1] = "";
    const struct extension *agent = extension_find(&reply->extensions, EXTENSION_ABOVE);
    for (uint32_t i = 0; i < reply->n; i++)
        if (strcmp(reply->items[i].server, holders->name) !=
            0) /* skips this server, also under an address of an earlier life */
            add(holders, reply->items[i].address, !*reply->items[i].server);
    add_copies(holders, extension_find(&reply->extensions, EXTENSION_COPIES));
    if (agent && agent->length <= CAP_ADDRESS)
        memcpy(above, agent->value, agent->length);
    add(holders, above, true);
}

enum esp_status holders_ask_at(struct holders *holders, const char *address, int64_t timeout_ms,
                               struct message *reply, struct esp_error *error)
{
    struct message look = {.kind = MESSAGE_DATA, .data = {.datum = holders->id, .after = ""}};
    enum esp_status status = transport_call(holders->transport, address, &look, timeout_ms, reply, error);
    if (reply->kind == MESSAGE_DATA_REPLY) /* a failure may name copies, too */
        read_answer(holders, &reply->data_reply);
    return status;
}

enum esp_status holders_ask(struct holders *holders, uint32_t i, struct message *reply,
                            struct esp_error *error)
{
    return holders_ask_at(holders, holders->items[i].address, ASK_MS, reply, error);
}

/*
 * Copies that are on their way, or so fresh that agents do not know them. The server that gave a copy away
 * names it, so that a node that searches the datum, or deletes it, finds every copy.
 */

#define MOST_COPIES 1024u
#define MOST_TOLD   64u
#define FRESH_NS    (60 * NS_PER_S) /* agents have heard of the copy long before */

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

static void forget(struct server_data *data, struct copy *copy)
{
    DL_DELETE(data->copies, copy);
    data->n_copies--;
    copy_destroy(copy);
}

static void forget_old(struct server_data *data)
{
    struct copy *copy, *next;
    int64_t now_ns = data_now(data);
    DL_FOREACH_SAFE(data->copies, copy, next)
    {
        const bool is_full = data->n_copies >= MOST_COPIES;
        if (now_ns - copy->since_ns < FRESH_NS && !is_full)
            return;
        forget(data, copy);
    }
}

static struct copy *find(const struct server_data *data, struct datum_key key, const char *name)
{
    struct copy *copy;
    DL_FOREACH(data->copies, copy)
    if (datum_key_equal(copy->key, key) && strcmp(copy->server, name) == 0)
        return copy;
    return NULL;
}

void copies_note(struct server_data *data, struct copy *copy)
{
    if (!copy)
        return;
    forget_old(data);
    struct copy *known = find(data, copy->key, copy->server);
    if (known)
        forget(data, known);
    copy->since_ns = data_now(data);
    DL_APPEND(data->copies, copy);
    data->n_copies++;
}

void copies_note_source(struct server_data *data, struct datum_key key, const char *name, const char *address)
{
    if (*name && *address)
        copies_note(data, make(key, name, address));
}

void copies_note_moved(struct server_data *data, struct datum_key key, const char *name)
{
    struct copy *copy = find(data, key, name);
    if (copy)
        copy->moved = true;
}

bool copies_has_moved(const struct server_data *data, struct datum_key key, const char *name)
{
    const struct copy *copy = find(data, key, name);
    return copy && copy->moved;
}

/* ---- told ---- */

struct telling {
    const struct copy *items[MOST_TOLD];
    uint32_t n;
    size_t bytes;
};

static void copy_add(struct telling *telling, const struct copy *copy, struct datum_key key)
{
    if (!copy || !datum_key_equal(copy->key, key) || telling->n == MOST_TOLD)
        return;
    telling->items[telling->n++] = copy;
    telling->bytes += strlen(copy->server) + strlen(copy->address) + 2;
}

static struct extension tell_copies(struct server_data *data, struct datum_key key, struct arena *arena)
{
    struct telling telling = {.n = 0};
    const struct copy *copy;
    for (const struct ticket *ticket = data->tickets; ticket; ticket = ticket->hh.next)
        copy_add(&telling, ticket->copy, key);
    DL_FOREACH(data->copies, copy)
    copy_add(&telling, copy, key);
    char *text = telling.n > 0 ? arena_alloc(arena, telling.bytes) : NULL, *at = text;
    for (uint32_t i = 0; text && i < telling.n; i++) {
        at = stpcpy(at, telling.items[i]->server) + 1;
        at = stpcpy(at, telling.items[i]->address) + 1;
    }
    return (struct extension){EXTENSION_COPIES, (const uint8_t *)text, text ? (uint32_t)telling.bytes : 0};
}

/* The servers that keep the datum, and the server to which it has moved. */
static struct extension tell_places(struct server_data *data, struct datum_key key, struct arena *arena)
{
    size_t bytes;
    const char *names = store_places(data->store, key, &bytes);
    const void *text = names ? arena_memdup(arena, names, bytes) : NULL;
    return (struct extension){EXTENSION_PLACES, text, text ? (uint32_t)bytes : 0};
}

void copies_tell(struct server_data *data, struct datum_key key, struct message *reply)
{
    forget_old(data);
    const struct extension copies = tell_copies(data, key, &reply->arena),
                           places = tell_places(data, key, &reply->arena);
    struct extension *items = arena_alloc(&reply->arena, 3 * sizeof *items);
    uint32_t n = 0;
    if (!items)
        return;
    if (copies.length > 0)
        items[n++] = copies;
    if (places.length > 0)
        items[n++] = places;
    if (store_was_deleted(data->store, key))
        items[n++] = (struct extension){EXTENSION_DELETED, NULL, 0};
    reply->data_reply.extensions = (struct extensions){items, n};
}

void copies_release(struct server_data *data)
{
    while (data->copies)
        forget(data, data->copies);
}

/*
 * Strict data are deleted everywhere when the first session has used them.
 */

#define CONSUMED_ASK_MS 10000

struct forgetting {
    struct thread_job job;
    struct holders holders;
};

static void forget_at(struct holders *holders, uint32_t i)
{
    struct esp_error error;
    const struct holder *asked = &holders->items[i];
    struct message drop = {.kind = MESSAGE_DROP, .drop = {.datum = holders->id}}, reply = {0};
    if (!asked->is_agent) {
        enum esp_status status =
            transport_call(holders->transport, asked->address, &drop, CONSUMED_ASK_MS, &reply, &error);
        message_clear(&reply);
        if (status != ESP_OK && status != ESP_NOT_FOUND)
            log_warning("a strictly volatile datum that has been used stays on %s: %s", asked->address,
                        error.text);
    }
    holders_ask(holders, i, &reply, NULL);
    message_clear(&reply);
}

static void forget_everywhere(void *arg)
{
    struct forgetting *forgetting = arg;
    for (uint32_t i = 0; i < forgetting->holders.n; i++)
        forget_at(&forgetting->holders, i);
    free(forgetting);
}

void server_data_consumed(struct server_data *data, const struct datum_id *id)
{
    struct errands *errands = data->errands;
    struct forgetting *forgetting = calloc(1, sizeof *forgetting);
    if (!forgetting)
        return;
    forgetting->job = (struct thread_job){.run = forget_everywhere, .arg = forgetting};
    holders_begin(&forgetting->holders, data, id);
    if (!errands || data->leaving || !errands->submit(errands, &forgetting->job))
        free(forgetting);
}
