/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/data.h"
#include "client/session/route.h"
#include "util/clock.h"

#include <stdio.h>
#include <string.h>

#define BUSY_MS 50

enum esp_status data_ask(struct engine *engine, const char *address, const struct message *request,
                         struct message *reply, struct esp_error *error)
{
    const int64_t until_ns = clock_now_ns(&clock_system) + engine->call_timeout_ms * NS_PER_MS;
    for (;;) {
        enum esp_status status =
            transport_call(engine->transport, address, request, engine->call_timeout_ms, reply, error);
        if (status != ESP_BUSY || clock_now_ns(&clock_system) >= until_ns || atomic_load(&engine->closing))
            return status;
        message_clear(reply);
        engine_pause(&engine->closing, BUSY_MS);
    }
}

enum esp_status data_each_server(struct engine *engine, const char *only,
                                 enum esp_status (*visit)(void *arg, const struct data_holder *server,
                                                          struct esp_error *error),
                                 void *arg, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_TREE, .tree = {.node = only ? only : ""}}, reply = {0};
    enum esp_status status = route_ask(engine->route, &request, engine->call_timeout_ms, &reply, error);
    bool found = false;
    for (uint32_t i = 0; status == ESP_OK && i < reply.tree_reply.n_records; i++) {
        const struct node_record *record = &reply.tree_reply.records[i];
        struct data_holder server;
        if (record->role != ROLE_SERVER || !record->address[0] || (only && strcmp(record->name, only) != 0))
            continue;
        snprintf(server.server, sizeof server.server, "%s", record->name);
        snprintf(server.address, sizeof server.address, "%s", record->address);
        found = true;
        status = visit(arg, &server, error);
    }
    message_clear(&reply);
    if (status == ESP_OK && only && !found)
        status = error_set(error, ESP_NOT_FOUND, "no server of the hierarchy has the name \"%s\"", only);
    return status;
}

void data_read_copies(const struct extensions *extensions,
                      void (*visit)(void *arg, const struct data_holder *server), void *arg)
{
    const struct extension *told = extension_find(extensions, EXTENSION_COPIES);
    struct data_holder server;
    if (!told || told->length == 0 || told->value[told->length - 1] != 0)
        return;
    const char *at = (const char *)told->value, *end = at + told->length;
    while (at < end) {
        const char *name = at, *address = name + strlen(name) + 1;
        if (address >= end)
            return;
        snprintf(server.server, sizeof server.server, "%s", name);
        snprintf(server.address, sizeof server.address, "%s", address);
        visit(arg, &server);
        at = address + strlen(address) + 1;
    }
}

#define MOST_ASKED 64 /* servers, for one datum */

struct search {
    struct engine *engine;
    const char *id, *origin;
    bool all;
    struct data_holder *holders;
    size_t n;
    struct data_holder asked[MOST_ASKED]; /* or to be asked, from `next` on: what others have told */
    size_t n_asked, next;
    struct esp_error *why; /* what the origin says */
};

static void note_server(void *arg, const struct data_holder *server)
{
    struct search *search = arg;
    for (size_t i = 0; i < search->n_asked; i++)
        if (strcmp(search->asked[i].address, server->address) == 0)
            return; /* by name it may be one from before the server was started again */
    if (search->n_asked < MOST_ASKED)
        search->asked[search->n_asked++] = *server;
}

/* Whether that one has it. A server that cannot be reached, or keeps no data, has nothing for us. Copies that
 * it has given away are noted. */
static void look(struct search *search, const struct data_holder *server)
{
    struct message request = {.kind = MESSAGE_DATA, .data = {.datum = search->id, .after = ""}}, reply = {0};
    struct esp_error said;
    bool is_origin = !strcmp(server->server, search->origin);
    enum esp_status status = data_ask(search->engine, server->address, &request, &reply, &said);
    if (status == ESP_UNREACHABLE || status == ESP_TIMEOUT)
        error_prefix_at(&said, server->server, server->address);
    if (status == ESP_OK && reply.data_reply.n > 0)
        search->holders[search->n++] = *server;
    /* Of all the refusals that of the owner's rights tells most, then what the maker says. */
    else if (is_origin || (status == ESP_REFUSED && search->why->status == ESP_NOT_FOUND && reply.kind &&
                           strstr(said.text, "belongs")))
        *search->why = said;
    if (reply.kind == MESSAGE_DATA_REPLY)
        data_read_copies(&reply.data_reply.extensions, note_server, search);
    message_clear(&reply);
}

/* All that were named, and whom they name. */
static void look_at_noted(struct search *search)
{
    while (search->next < search->n_asked && search->n < DATA_MOST_HOLDERS && (search->all || search->n == 0))
        look(search, &search->asked[search->next++]);
}

static enum esp_status note_origin(void *arg, const struct data_holder *server, struct esp_error *error)
{
    (void)error;
    note_server(arg, server);
    return ESP_OK;
}

/* An agent that may know, or a server that should have it. */
struct lead {
    char address[CAP_ADDRESS + 1];
};

#define MOST_LEADS 64

/* The agents send on who asks: downwards from the master, only where the datum is. */
static enum esp_status ask_agents(struct search *search, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_DATA, .data = {.datum = search->id, .after = ""}}, reply = {0};
    struct engine *engine = search->engine;
    struct lead leads[MOST_LEADS];
    size_t n = 0, next = 0;
    enum esp_status status = route_ask(engine->route, &request, engine->call_timeout_ms, &reply, error);
    while (status == ESP_OK) {
        for (uint32_t i = 0; i < reply.data_reply.n; i++) {
            const struct datum_info *info = &reply.data_reply.items[i];
            struct data_holder server;
            snprintf(server.server, sizeof server.server, "%s", info->server);
            snprintf(server.address, sizeof server.address, "%s", info->address);
            if (server.server[0])
                note_server(search, &server);
            else if (n < MOST_LEADS)
                snprintf(leads[n++].address, sizeof leads->address, "%s", info->address);
        }
        message_clear(&reply);
        look_at_noted(search);
        if (next == n)
            return ESP_OK;
        /* An agent that cannot be reached sends nobody on. */
        if (transport_call(engine->transport, leads[next++].address, &request, engine->call_timeout_ms,
                           &reply, NULL) != ESP_OK)
            reply.data_reply.n = 0;
    }
    message_clear(&reply);
    return status;
}

enum esp_status data_find(struct engine *engine, const char *id, bool all, struct data_holder *holders,
                          size_t *n_holders, struct esp_error *error)
{
    struct datum_id parsed;
    struct esp_error why;
    enum esp_status status = datum_id_parse(id, &parsed, error);
    if (status != ESP_OK)
        return status;
    struct search search = {
        .engine = engine, .id = id, .origin = parsed.origin, .all = all, .holders = holders, .why = &why};
    error_set(&why, ESP_NOT_FOUND, "server %s, which made it, is not there, and no other server has it",
              parsed.origin);
    data_each_server(engine, parsed.origin, note_origin, &search, NULL);
    look_at_noted(&search);
    if (search.n == 0 || all)
        status = ask_agents(&search, error);
    *n_holders = search.n;
    if (search.n > 0 || status != ESP_OK)
        return search.n > 0 ? ESP_OK : status;
    char text[DATUM_TEXT];
    return error_set(error, why.status, "datum %s: %s", datum_id_short(&parsed, text), why.text);
}
