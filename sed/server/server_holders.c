/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/server/server_holders.h"

#include "core/hierarchy/membership.h"
#include "sed/server/server_data.h"
#include "sed/server/server_state.h"

#include <stdio.h>
#include <string.h>

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

void holders_begin(struct holders *holders, struct server *server, const struct datum_id *id)
{
    const char *parent = membership_parent_address(server->membership);
    const struct copy *copy;
    holders->n = 0;
    holders->transport = server->endpoint->transport;
    datum_id_text(id, holders->id);
    snprintf(holders->own, sizeof holders->own, "%s", endpoint_address(server->endpoint));
    snprintf(holders->name, sizeof holders->name, "%s", server->name);
    for (copy = server->data.copies; copy; copy = copy->next)
        if (datum_key_equal(copy->key, id->key))
            add(holders, copy->address, false);
    if (parent)
        add(holders, parent, true);
}

/* Copies of which agents may not know yet: name and address of each, with their NULs. */
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
        if (strcmp(reply->items[i].server, holders->name) != 0) /* also as it was before a restart */
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
    if (reply->kind == MESSAGE_DATA_REPLY) /* also a failure may tell of copies */
        read_answer(holders, &reply->data_reply);
    return status;
}

enum esp_status holders_ask(struct holders *holders, uint32_t i, struct message *reply,
                            struct esp_error *error)
{
    return holders_ask_at(holders, holders->items[i].address, ASK_MS, reply, error);
}
