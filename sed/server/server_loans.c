/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces that porters of this server lend to those of another one, as long as somebody has the datum open.
 */
#include "sed/porter/porter_order.h"
#include "sed/server/server_data_internal.h"
#include "sed/server/server_pull.h"

#include "util/random.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#define LEND_MS 3000 /* of all porters: less than the other server waits for the answer */

struct porter_loans {
    struct thread_job job;
    struct server *server;
    struct ticket *ticket;
    struct call *call; /* NULL: nobody waits any more */
    struct porter_order order;
    struct datum_key value; /* by which ranks on other hosts know it */
    int fd;                 /* of the pieces */
    struct porter_list porters;
    int sockets[PORTERS_MOST];
    uint32_t n;
    struct porter_loans *prev, *next;
};

void server_loans_end(struct porter_loans *loans)
{
    if (!loans)
        return;
    for (uint32_t i = 0; i < loans->n; i++)
        close(loans->sockets[i]);
    if (loans->fd >= 0)
        close(loans->fd);
    free(loans);
}

static void make(struct porter_loans *loans, struct esp_error *error)
{
    const struct server_options *options = &loans->server->options;
    const int64_t until_ns = clock_now_ns(&clock_system) + LEND_MS * NS_PER_MS;
    enum esp_status status = ESP_OK;
    char name[PORTER_NAME];
    options->porters(options->porters_arg, &loans->porters);
    for (uint32_t i = 0; status == ESP_OK && i < loans->porters.n; i++) {
        const int64_t left_ms = (until_ns - clock_now_ns(&clock_system)) / NS_PER_MS;
        status =
            porter_lend(loans->porters.paths[i], &loans->order, loans->fd, left_ms > 0 ? (int)left_ms : 0,
                        &loans->sockets[i], &loans->order.ports[i], error);
        loans->n += status == ESP_OK;
        if (status != ESP_OK)
            error_prefix(error, "server %s, %s", loans->server->name, porter_name(&loans->porters, i, name));
    }
    if (options->lenders && (!loans->order.sealed || options->porters_seal))
        options->lenders(options->porters_arg, loans->value, loans->order.ticket, &loans->order.lenders);
    if (status == ESP_OK && loans->n == 0)
        error_set(error, ESP_BUSY, "the porters of server %s are being started", loans->server->name);
}

static struct message *answer(struct porter_loans *loans)
{
    struct message *reply = data_open_answer(loans->server, loans->ticket);
    if (!reply || reply->open_reply.outcome.status != ESP_OK)
        return reply;
    struct extension *extensions = arena_alloc(&reply->arena, 2 * sizeof *extensions);
    uint8_t *value = arena_alloc(&reply->arena, PORTERS_VALUE_MOST);
    uint8_t *lenders = arena_alloc(&reply->arena, sizeof loans->order.lenders);
    if (!extensions || !value || !lenders) {
        message_destroy(reply);
        return NULL;
    }
    loans->order.n_ports = loans->n;
    extensions[0] = (struct extension){EXTENSION_PORTERS, value, porters_write(&loans->order, value)};
    const bool sealed = loans->order.sealed != 0;
    extensions[1] = (struct extension){sealed ? EXTENSION_LENDERS_SEALED : EXTENSION_LENDERS, lenders,
                                       lenders_write(&loans->order.lenders, sealed, lenders)};
    reply->open_reply.extensions = (struct extensions){extensions, loans->order.lenders.n > 0 ? 2 : 1};
    return reply;
}

static void lent(struct porter_loans *loans, const struct esp_error *error)
{
    struct server *server = loans->server;
    struct ticket *ticket = loans->ticket;
    struct call *call = loans->call;
    ticket->moving--;
    ticket->heard_ns = server_now(server);
    if (error->status == ESP_OK && call) {
        ticket->loans = loans;
        call_reply(call, answer(loans));
        if (ticket->over)
            ticket_end(server, ticket);
        return;
    }
    if (call)
        call_reply(call, message_failure(MESSAGE_OPEN_REPLY, error->status, "%s", error->text));
    server_loans_end(loans);
    ticket_end(server, ticket);
}

static void loans_run(void *arg)
{
    struct porter_loans *loans = arg;
    struct server *server = loans->server;
    struct esp_error error = {.status = ESP_OK};
    make(loans, &error);
    endpoint_enter(server->endpoint);
    DL_DELETE(server->data.loans, loans);
    lent(loans, &error);
    endpoint_leave(server->endpoint);
}

static enum esp_status prepare(struct porter_loans *loans, struct esp_error *error)
{
    struct ticket *ticket = loans->ticket;
    const struct store_memory *memory = store_pin_memory(ticket->pin);
    const struct datum_shape *shape = store_pin_shape(ticket->pin);
    struct porter_order *order = &loans->order;
    const struct laying *laying = layings_find(&loans->server->data.layings, ticket->id.key);
    loans->value = laying ? laying->value : ticket->id.key;
    *order = (struct porter_order){.kind = PORTER_LEND,
                                   .version = PORTER_VERSION,
                                   .ticket = ticket->number,
                                   .key = ticket->id.key,
                                   .element_bytes = (uint32_t)base_type_size(shape->type),
                                   .offset = memory->offset,
                                   .bytes = memory->bytes};
    if (!loans->server->options.porters)
        return error_set(
            error, ESP_REFUSED,
            "server %s carries no pieces to other servers: it keeps no data in memory (store_memory)",
            loans->server->name);
    if (loans->server->options.porters_seal && !ticket->lends_sealed)
        return error_set(
            error, ESP_REFUSED,
            "server %s, which has certificates, lends pieces over encrypted connections only: the "
            "other server has none, or is of an earlier version",
            loans->server->name);
    order->sealed = ticket->lends_sealed;
    enum esp_status status =
        order->sealed ? random_bytes(order->secret, sizeof order->secret, error) : ESP_OK;
    if (status == ESP_OK)
        status = pull_lie(shape, &order->from, error);
    return status == ESP_OK ? store_pin_reader(ticket->pin, false, &loans->fd, error) : status;
}

void server_loans_make(struct server *server, struct call *call, struct ticket *ticket)
{
    struct esp_error error = {.status = ESP_OK};
    struct porter_loans *loans = calloc(1, sizeof *loans);
    struct errands *errands = server->data.errands;
    ticket->moving++;
    if (!loans) {
        ticket->moving--;
        call_reply(call, message_failure(MESSAGE_OPEN_REPLY, ESP_NO_MEMORY, "no memory for lending a datum"));
        ticket_end(server, ticket);
        return;
    }
    *loans = (struct porter_loans){
        .job = {.run = loans_run, .arg = loans}, .server = server, .ticket = ticket, .call = call, .fd = -1};
    if (ticket->bytes > 0 && prepare(loans, &error) == ESP_OK) {
        DL_APPEND(server->data.loans, loans);
        if (errands && !server->data.leaving && errands->submit(errands, &loans->job))
            return;
        DL_DELETE(server->data.loans, loans);
        error_set(&error, ESP_REFUSED, "server %s is shutting down", server->name);
    }
    lent(loans, &error); /* also what has no bytes: nothing has to be lent */
}

bool server_loans_abandoned(struct server *server, struct call *call)
{
    struct porter_loans *loans;
    DL_FOREACH(server->data.loans, loans)
    {
        if (loans->call != call)
            continue;
        loans->call = NULL;
        return true;
    }
    return false;
}
