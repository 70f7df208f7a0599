/* SPDX-License-Identifier: Apache-2.0
 *
 * Deleting data: wherever they are, and wherever they are going.
 */
#include "client/data/data.h"

#include <stdio.h>
#include <string.h>

/* `elsewhere`: only the copy there goes: EXTENSION_ELSEWHERE. NULL: so that none comes back. */
enum esp_status data_drop_at(struct engine *engine, const char *id, const struct data_holder *holder,
                             const char *elsewhere, struct esp_error *error)
{
    struct extension extension = {EXTENSION_ELSEWHERE, (const uint8_t *)elsewhere,
                                  elsewhere ? (uint32_t)strlen(elsewhere) : 0};
    struct message request = {.kind = MESSAGE_DROP, .drop = {.datum = id}}, reply = {0};
    if (elsewhere)
        request.drop.extensions = (struct extensions){&extension, 1};
    enum esp_status status = data_ask(engine, holder->address, &request, &reply, error);
    message_clear(&reply);
    return status;
}

#define MOST_DROPPED 64 /* servers */

struct dropped {
    struct data_holder is; /* address "": it keeps the datum, and is not there */
    bool known;            /* to have it, or to keep it; of others it was told that they may have a copy */
    enum esp_status status;
};

struct dropping {
    struct engine *engine;
    const char *id;
    struct dropped servers[MOST_DROPPED];
    size_t n, next;
    bool found;           /* somebody had it */
    struct esp_error why; /* the first failure that matters, but for those that are not reached */
};

static void drop_there_too(void *arg, const struct data_holder *server)
{
    struct dropping *dropping = arg;
    for (size_t i = 0; i < dropping->n; i++)
        if (strcmp(dropping->servers[i].is.address, server->address) == 0)
            return;
    if (dropping->n < MOST_DROPPED)
        dropping->servers[dropping->n++] = (struct dropped){.is = *server};
}

static void drop_at_keeper(void *arg, const char *name)
{
    struct esp_error why;
    struct dropping *dropping = arg;
    struct data_holder server = {0};
    for (size_t i = 0; i < dropping->n; i++)
        if (dropping->servers[i].known && strcmp(dropping->servers[i].is.server, name) == 0)
            return;
    snprintf(server.server, sizeof server.server, "%s", name);
    if (engine_resolve(dropping->engine, name, server.address, &why) != ESP_OK)
        server.address[0] = 0;
    for (size_t i = 0; i < dropping->n; i++)
        if (*server.address && strcmp(dropping->servers[i].is.address, server.address) == 0) {
            dropping->servers[i].known = true;
            return;
        }
    if (dropping->n < MOST_DROPPED)
        dropping->servers[dropping->n++] = (struct dropped){.is = server, .known = true};
}

/* Whom that one has let have it, also before and while it was deleted there, and who else keeps it. Since
 * then it lets nobody, and who was asked to delete it takes none: so nobody has to be asked twice. */
static void follow_copies(struct dropping *dropping, const struct data_holder *server)
{
    struct message request = {.kind = MESSAGE_DATA, .data = {.datum = dropping->id, .after = ""}},
                   reply = {0};
    data_ask(dropping->engine, server->address, &request, &reply, NULL);
    if (reply.kind == MESSAGE_DATA_REPLY) {
        data_read_copies(&reply.data_reply.extensions, drop_there_too, dropping);
        data_read_places(&reply.data_reply.extensions, drop_at_keeper, dropping);
    }
    message_clear(&reply);
}

static void drop_next(struct dropping *dropping)
{
    struct esp_error error;
    struct dropped *server = &dropping->servers[dropping->next++];
    server->status = *server->is.address
                         ? data_drop_at(dropping->engine, dropping->id, &server->is, NULL, &error)
                         : ESP_UNREACHABLE;
    dropping->found |= server->status == ESP_OK;
    if (server->status == ESP_UNREACHABLE)
        return; /* nor does it tell anything */
    if (server->status != ESP_OK && server->status != ESP_NOT_FOUND && dropping->why.status == ESP_OK)
        dropping->why = error;
    follow_copies(dropping, &server->is);
}

/* Those that keep it, or have it, and will have it still when they are back. */
static enum esp_status tell_unreached(const struct dropping *dropping, struct esp_error *error)
{
    char names[512] = "", text[DATUM_TEXT] = "";
    struct datum_id id;
    size_t used = 0;
    for (size_t i = 0; i < dropping->n && used < sizeof names; i++)
        if (dropping->servers[i].known && dropping->servers[i].status == ESP_UNREACHABLE)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                     dropping->servers[i].is.server);
    if (used == 0)
        return ESP_OK;
    if (datum_id_parse(dropping->id, &id, NULL) == ESP_OK)
        datum_id_short(&id, text);
    return error_set(
        error, ESP_UNREACHABLE,
        "datum %s could not be deleted on %s, which may keep it and cannot be reached%s: delete it "
        "again when 'espalier tree' shows it, or it comes back with it",
        text, names, dropping->found ? "; elsewhere it is deleted" : "");
}

/* Somebody else was faster: as others hear of it. */
static enum esp_status tell_gone(struct engine *engine, const char *id, struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    size_t n = 0;
    return data_find(engine, id, false, holders, &n, error) == ESP_NOT_FOUND
               ? ESP_NOT_FOUND
               : error_set(error, ESP_NOT_FOUND, "somebody else has deleted it in this moment");
}

static enum esp_status note_origin(void *arg, const struct data_holder *server, struct esp_error *error)
{
    (void)error;
    drop_there_too(arg, server);
    return ESP_OK;
}

static enum esp_status drop_everywhere(struct engine *engine, const char *id,
                                       const struct data_holder *holders, size_t n, struct esp_error *error)
{
    struct datum_id parsed = {0};
    bool at_origin = datum_id_parse(id, &parsed, NULL) != ESP_OK;
    struct dropping dropping = {.engine = engine, .id = id};
    for (size_t i = 0; i < n; i++) {
        at_origin |= strcmp(holders[i].server, parsed.origin) == 0;
        drop_there_too(&dropping, &holders[i]);
    }
    for (size_t i = 0; i < dropping.n; i++)
        dropping.servers[i].known = true;
    if (!at_origin) /* it has moved on, but that is where people ask what became of it */
        data_each_server(engine, parsed.origin, note_origin, &dropping, NULL);
    while (dropping.next < dropping.n)
        drop_next(&dropping);
    if (dropping.why.status != ESP_OK)
        return error_set(error, dropping.why.status, "%s", dropping.why.text);
    if (tell_unreached(&dropping, error) != ESP_OK)
        return ESP_UNREACHABLE;
    if (!dropping.found)
        return tell_gone(engine, id, error);
    return ESP_OK;
}

enum esp_status data_drop(struct engine *engine, const char *id, const char *server, struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    size_t n = 0;
    enum esp_status status = data_find(engine, id, true, holders, &n, error);
    if (status != ESP_OK || !server)
        return status == ESP_OK ? drop_everywhere(engine, id, holders, n, error) : status;
    for (size_t i = 0; i < n; i++)
        if (strcmp(server, holders[i].server) == 0)
            return data_drop_at(engine, id, &holders[i], "", error);
    return error_set(error, ESP_NOT_FOUND, "server %s does not have it", server);
}
