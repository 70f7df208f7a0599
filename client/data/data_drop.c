/* SPDX-License-Identifier: Apache-2.0
 *
 * Deleting data: wherever they are, and wherever they are going.
 */
#include "client/data/data.h"

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

struct dropping {
    struct engine *engine;
    const char *id;
    struct data_holder servers[MOST_DROPPED];
    size_t n, next, n_known; /* the first ones are known to have it; of the others it was told */
    bool found;              /* somebody had it */
    struct esp_error why;    /* the first failure that matters */
};

static void drop_there_too(void *arg, const struct data_holder *server)
{
    struct dropping *dropping = arg;
    for (size_t i = 0; i < dropping->n; i++)
        if (strcmp(dropping->servers[i].address, server->address) == 0)
            return;
    if (dropping->n < MOST_DROPPED)
        dropping->servers[dropping->n++] = *server;
}

/* Whom that one has let have it, also before and while it was deleted there. Since then it lets nobody, and
 * who was asked to delete it takes none: so nobody has to be asked twice. */
static void follow_copies(struct dropping *dropping, const struct data_holder *server)
{
    struct message request = {.kind = MESSAGE_DATA, .data = {.datum = dropping->id, .after = ""}},
                   reply = {0};
    data_ask(dropping->engine, server->address, &request, &reply, NULL);
    if (reply.kind == MESSAGE_DATA_REPLY)
        data_read_copies(&reply.data_reply.extensions, drop_there_too, dropping);
    message_clear(&reply);
}

static void drop_next(struct dropping *dropping)
{
    struct esp_error error;
    bool known = dropping->next < dropping->n_known;
    const struct data_holder *server = &dropping->servers[dropping->next++];
    enum esp_status status = data_drop_at(dropping->engine, dropping->id, server, NULL, &error);
    dropping->found |= status == ESP_OK;
    bool matters = status != ESP_NOT_FOUND && (known || status != ESP_UNREACHABLE);
    if (status != ESP_OK && matters && dropping->why.status == ESP_OK)
        dropping->why = error;
    follow_copies(dropping, server);
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
    dropping.n_known = dropping.n;
    if (!at_origin) /* it has moved on, but that is where people ask what became of it */
        data_each_server(engine, parsed.origin, note_origin, &dropping, NULL);
    while (dropping.next < dropping.n)
        drop_next(&dropping);
    if (dropping.why.status != ESP_OK)
        return error_set(error, dropping.why.status, "%s", dropping.why.text);
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
