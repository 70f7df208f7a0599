/* SPDX-License-Identifier: Apache-2.0
 *
 * Strict data go with the first session that has used them: everywhere, wherever that session was.
 */
#include "sed/server/server_data.h"

#include "core/hierarchy/membership.h"
#include "sed/server/server_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ASKED 64
#define ASK_MS     10000

struct asked {
    char address[CAP_ADDRESS + 1];
    bool is_agent;
};

struct forgetting {
    struct thread_job job;
    struct transport *transport;
    char id[DATUM_TEXT], own[CAP_ADDRESS + 1];
    struct asked asked[MOST_ASKED];
    uint32_t n;
};

static void add(struct forgetting *forgetting, const char *address, bool is_agent)
{
    if (forgetting->n == MOST_ASKED || !*address || strlen(address) > CAP_ADDRESS ||
        strcmp(address, forgetting->own) == 0)
        return;
    for (uint32_t i = 0; i < forgetting->n; i++)
        if (strcmp(forgetting->asked[i].address, address) == 0)
            return;
    struct asked *asked = &forgetting->asked[forgetting->n++];
    snprintf(asked->address, sizeof asked->address, "%s", address);
    asked->is_agent = is_agent;
}

/* Who else may have it. */
static void read_answer(struct forgetting *forgetting, const struct data_reply *reply)
{
    char above[CAP_ADDRESS + 1] = "";
    const struct extension *copies = extension_find(&reply->extensions, EXTENSION_COPIES);
    const struct extension *agent = extension_find(&reply->extensions, EXTENSION_ABOVE);
    for (uint32_t i = 0; i < reply->n; i++)
        add(forgetting, reply->items[i].address, !*reply->items[i].server);
    for (uint32_t at = 0;
         copies && copies->length > 0 && copies->value[copies->length - 1] == 0 && at < copies->length;) {
        at += (uint32_t)strlen((const char *)copies->value + at) + 1; /* behind the name */
        if (at < copies->length)
            add(forgetting, (const char *)copies->value + at, false);
        at += at < copies->length ? (uint32_t)strlen((const char *)copies->value + at) + 1 : 0;
    }
    if (agent && agent->length <= CAP_ADDRESS)
        memcpy(above, agent->value, agent->length);
    add(forgetting, above, true);
}

static void forget_at(struct forgetting *forgetting, const struct asked *asked)
{
    struct esp_error error;
    struct message drop = {.kind = MESSAGE_DROP, .drop = {.datum = forgetting->id}};
    struct message look = {.kind = MESSAGE_DATA, .data = {.datum = forgetting->id, .after = ""}}, reply = {0};
    if (!asked->is_agent) {
        enum esp_status status =
            transport_call(forgetting->transport, asked->address, &drop, ASK_MS, &reply, &error);
        message_clear(&reply);
        if (status != ESP_OK && status != ESP_NOT_FOUND)
            log_warning("a strictly volatile datum that has been used stays on %s: %s", asked->address,
                        error.text);
    }
    transport_call(forgetting->transport, asked->address, &look, ASK_MS, &reply, NULL);
    read_answer(forgetting, &reply.data_reply); /* also a failure may tell of copies */
    message_clear(&reply);
}

static void forget_everywhere(void *arg)
{
    struct forgetting *forgetting = arg;
    for (uint32_t i = 0; i < forgetting->n; i++)
        forget_at(forgetting, &forgetting->asked[i]);
    free(forgetting);
}

void server_data_consumed(struct server *server, const struct datum_id *id)
{
    struct errands *errands = server->data.errands;
    const char *parent = membership_parent_address(server->membership);
    const struct copy *copy;
    struct forgetting *forgetting = calloc(1, sizeof *forgetting);
    if (!forgetting)
        return;
    forgetting->transport = server->endpoint->transport;
    forgetting->job = (struct thread_job){.run = forget_everywhere, .arg = forgetting};
    datum_id_text(id, forgetting->id);
    snprintf(forgetting->own, sizeof forgetting->own, "%s", endpoint_address(server->endpoint));
    for (copy = server->data.copies; copy; copy = copy->next)
        if (datum_key_equal(copy->key, id->key))
            add(forgetting, copy->address, false);
    if (parent)
        add(forgetting, parent, true);
    if (!errands || server->data.leaving || !errands->submit(errands, &forgetting->job))
        free(forgetting);
}
