/* SPDX-License-Identifier: Apache-2.0
 *
 * Deletes data: at their holders, and at servers that are fetching them.
 */
#include "client/data/data.h"
#include "client/session/route.h"

#include <stdio.h>
#include <string.h>

/* `elsewhere`: only this server's copy is deleted, see EXTENSION_ELSEWHERE. NULL: the server takes no copy
 * any more. */
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
    struct data_holder is; /* address "": it keeps the datum, and is absent */
    bool known;            /* it has the datum, or keeps it; else it may have a copy */
    bool maybe;            /* it got the order, and may have deleted it before it became unreachable */
    enum esp_status status;
};

struct dropping {
    struct engine *engine;
    const char *id;
    struct dropped servers[MOST_DROPPED];
    size_t n, next;
    bool found;           /* a server had it */
    bool is_kept;         /* a server names others that keep it, too */
    struct esp_error why; /* the first relevant failure, except unreachable servers */
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
    dropping->is_kept = true;
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

/* Adds the servers that, according to this one, have fetched the datum, also before and during its
 * deletion, and the servers that keep it. A server that has the order lets no other server fetch the
 * datum, and takes none. So no server has to be asked twice. */
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
    if (server->status == ESP_MAYBE) { /* repeating the order does no harm */
        server->maybe = true;
        server->status = ESP_UNREACHABLE;
    }
    dropping->found |= server->status == ESP_OK || (server->status == ESP_NOT_FOUND && server->maybe);
    if (server->status == ESP_UNREACHABLE || (server->status == ESP_TIMEOUT && server->known))
        return; /* and its answer says nothing */
    if (server->status != ESP_OK && server->status != ESP_NOT_FOUND && dropping->why.status == ESP_OK)
        dropping->why = error;
    follow_copies(dropping, &server->is);
}

static bool is_unreached(const struct dropped *server)
{
    return server->known && (server->status == ESP_UNREACHABLE || server->status == ESP_TIMEOUT);
}

/* Servers report a deletion to their agents at the moment in which they delete. */
#define TOLD_ABOVE_MS 400

/* Waits for holders that were restarting just now, and deletes the datum there. */
static void drop_at_returned(struct dropping *dropping)
{
    const size_t n = dropping->n;
    bool paused = false, waited;
    for (size_t i = 0; i < n; i++) {
        struct dropped *server = &dropping->servers[i];
        if (!server->known || server->status != ESP_UNREACHABLE)
            continue;
        if (!paused)
            engine_pause(&dropping->engine->closing, TOLD_ABOVE_MS);
        paused = true;
        if (!engine_await_returning(dropping->engine, server->is.server, server->is.address, &waited))
            continue;
        dropping->next = i;
        drop_next(dropping);
    }
    for (dropping->next = n; dropping->next < dropping->n;)
        drop_next(dropping); /* the servers that these have named */
}

/* Appends names separated by ", ", as many as fit. */
static void add_name(char *names, size_t size, const char *name)
{
    const size_t used = strlen(names);
    if (used + strlen(name) + 3 < size)
        snprintf(names + used, size - used, "%s%s", used ? ", " : "", name);
}

static void name_unreached(const struct dropping *dropping, char *names, size_t size)
{
    names[0] = 0;
    for (size_t i = 0; i < dropping->n; i++)
        if (is_unreached(&dropping->servers[i]))
            add_name(names, size, dropping->servers[i].is.server);
}

/* Names the unreachable servers that keep or have the datum, and will still have it when they are back. */
static enum esp_status tell_unreached(const struct dropping *dropping, struct esp_error *error)
{
    char names[512], text[DATUM_TEXT] = "";
    struct datum_id id;
    name_unreached(dropping, names, sizeof names);
    if (!*names)
        return ESP_OK;
    if (datum_id_parse(dropping->id, &id, NULL) == ESP_OK)
        datum_id_short(&id, text);
    return error_set(
        error, ESP_UNREACHABLE,
        "datum %s could not be deleted on %s, which may keep it and cannot be reached%s: delete it "
        "again when 'espalier tree' shows it, or it comes back with it ('espalier data rm --force' gives up "
        "what is there)",
        text, names, dropping->found ? "; elsewhere it is deleted" : "");
}

/* ---- servers that are no longer named as keepers ---- */

struct settling {
    struct engine *engine;
    const char *id;
    char names[MOST_DROPPED * (CAP_NAME + 1)];
    size_t bytes;
};

static void settle_name(struct settling *settling, const char *name)
{
    const size_t length = strlen(name) + 1;
    if (settling->bytes + length > sizeof settling->names)
        return;
    memcpy(settling->names + settling->bytes, name, length);
    settling->bytes += length;
}

/* A server that does not get the message goes on naming them, which does no harm. */
static void settle_at(const struct settling *settling, const struct data_holder *server)
{
    struct extension extension = {EXTENSION_SETTLED, (const uint8_t *)settling->names,
                                  (uint32_t)settling->bytes};
    struct message request = {.kind = MESSAGE_DROP,
                              .drop = {.datum = settling->id, .extensions = {&extension, 1}}},
                   reply = {0};
    data_ask(settling->engine, server->address, &request, &reply, NULL);
    message_clear(&reply);
}

/* Removes the servers where the datum was deleted, or (`given_up`) is given up. */
static void settle(const struct dropping *dropping, bool given_up)
{
    struct settling settling = {.engine = dropping->engine, .id = dropping->id};
    for (size_t i = 0; i < dropping->n; i++)
        if (given_up || !is_unreached(&dropping->servers[i]))
            settle_name(&settling, dropping->servers[i].is.server);
    for (size_t i = 0; dropping->is_kept && i < dropping->n; i++)
        if (dropping->servers[i].status == ESP_OK || dropping->servers[i].status == ESP_NOT_FOUND)
            settle_at(&settling, &dropping->servers[i].is);
}

/* Another client was faster: the error is the one that others see for a deleted datum. */
static enum esp_status tell_gone(struct engine *engine, const char *id, struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    size_t n = 0;
    return data_find(engine, id, false, holders, &n, error) == ESP_NOT_FOUND
               ? ESP_NOT_FOUND
               : error_set(error, ESP_NOT_FOUND, "another client has deleted it at this moment");
}

static enum esp_status note_origin(void *arg, const struct data_holder *server, struct esp_error *error)
{
    (void)error;
    drop_there_too(arg, server);
    return ESP_OK;
}

/* Only replicas were found: adds a server that may have the original and has not answered, as it will
 * still have it when it is back. */
static void note_missing(struct dropping *dropping, const char *name)
{
    for (size_t i = 0; i < dropping->n; i++) {
        struct dropped *server = &dropping->servers[i];
        if (strcmp(server->is.server, name) != 0)
            continue;
        server->known = true; /* it may have been reached after all */
        return;
    }
    if (dropping->n == MOST_DROPPED)
        return;
    struct dropped *missing = &dropping->servers[dropping->n++];
    *missing = (struct dropped){.known = true, .status = ESP_UNREACHABLE};
    snprintf(missing->is.server, sizeof missing->is.server, "%s", name);
}

/* `left`: unreachable servers are given up, and their names are written there; NULL: unreachable servers
 * are an error. */
static enum esp_status drop_everywhere(struct engine *engine, const char *id,
                                       const struct data_holder *holders, size_t n,
                                       const struct data_witnesses *witnesses, bool patient, char *left,
                                       struct esp_error *error)
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
    if (!at_origin) /* the datum has moved on, but clients ask its maker for it */
        data_each_server(engine, parsed.origin, note_origin, &dropping, NULL, NULL);
    while (dropping.next < dropping.n)
        drop_next(&dropping);
    for (size_t i = 0; !data_has_original(holders, n) && i < witnesses->n_silent; i++)
        note_missing(&dropping, witnesses->silent[i]);
    if (patient)
        drop_at_returned(&dropping);
    settle(&dropping, left != NULL);
    if (dropping.why.status != ESP_OK)
        return error_set(error, dropping.why.status, "%s", dropping.why.text);
    if (left)
        name_unreached(&dropping, left, DATA_LEFT_BYTES);
    else if (tell_unreached(&dropping, error) != ESP_OK)
        return ESP_UNREACHABLE;
    if (!dropping.found && !(left && *left))
        return tell_gone(engine, id, error);
    return ESP_OK;
}

/* No reachable server has the datum. */
static enum esp_status give_up_silent(struct engine *engine, const char *id,
                                      const struct data_witnesses *witnesses, char *left)
{
    struct settling settling = {.engine = engine, .id = id};
    for (size_t i = 0; i < witnesses->n_silent; i++) {
        settle_name(&settling, witnesses->silent[i]);
        add_name(left, DATA_LEFT_BYTES, witnesses->silent[i]);
    }
    for (size_t i = 0; i < witnesses->n_told; i++) {
        /* The server has no copy, but from now on answers that the datum is deleted. */
        data_drop_at(engine, id, &witnesses->told[i], NULL, NULL);
        settle_at(&settling, &witnesses->told[i]);
    }
    return ESP_OK;
}

/* ---- servers that come back are informed by master agents ---- */

struct telling {
    bool is_noted;        /* by at least one */
    struct esp_error why; /* the first that could not */
};

static void note_told(void *arg, const char *address, const struct message *reply,
                      const struct esp_error *why)
{
    struct telling *telling = arg;
    const bool noted = reply && extension_find(&reply->data_reply.extensions, EXTENSION_DISOWNED);
    telling->is_noted |= noted;
    if (noted || telling->why.status != ESP_OK)
        return;
    if (why)
        error_set(&telling->why, why->status, "%s", why->text);
    else
        error_set(&telling->why, ESP_VERSION, "the master agent at %s is of a version that does not note it",
                  address);
}

static enum esp_status tell_masters(struct engine *engine, const char *id, const char *left,
                                    struct esp_error *error)
{
    struct telling telling = {0};
    struct extension extension = {.tag = EXTENSION_DISOWNED};
    struct message request = {.kind = MESSAGE_DATA,
                              .data = {.datum = id, .after = "", .extensions = {&extension, 1}}};
    enum esp_status status =
        route_ask_all(engine->route, &request, engine->call_timeout_ms, note_told, &telling, &telling.why);
    if (status == ESP_OK && telling.is_noted)
        return ESP_OK;
    return error_set(error, telling.why.status,
                     "the datum is given up, but no master agent has noted that (%.200s): should %.200s come "
                     "back, delete it again",
                     telling.why.text, left);
}

static enum esp_status give_up(struct engine *engine, const char *id, char *left, struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    struct data_witnesses witnesses;
    size_t n = 0;
    left[0] = 0;
    enum esp_status status = data_find_told(engine, id, false, holders, &n, &witnesses, error);
    if (status == ESP_OK)
        return drop_everywhere(engine, id, holders, n, &witnesses, false, left, error);
    const bool is_silence = status == ESP_UNREACHABLE || status == ESP_TIMEOUT;
    return is_silence && witnesses.asked && witnesses.n_silent > 0
               ? give_up_silent(engine, id, &witnesses, left)
               : status;
}

enum esp_status data_give_up(struct engine *engine, const char *id, char *left, struct esp_error *error)
{
    const enum esp_status status = give_up(engine, id, left, error);
    return status == ESP_OK && *left ? tell_masters(engine, id, left, error) : status;
}

enum esp_status data_original_silent(struct engine *engine, const char *id, char *names,
                                     struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    struct data_witnesses witnesses;
    size_t n = 0;
    names[0] = 0;
    enum esp_status status = data_find_told(engine, id, true, holders, &n, &witnesses, error);
    for (size_t i = 0; status == ESP_OK && !data_has_original(holders, n) && i < witnesses.n_silent; i++)
        add_name(names, DATA_LEFT_BYTES, witnesses.silent[i]);
    return status;
}

enum esp_status data_drop(struct engine *engine, const char *id, const char *server, bool patient,
                          struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    struct data_witnesses witnesses;
    size_t n = 0;
    enum esp_status status = data_find_told(engine, id, patient, holders, &n, &witnesses, error);
    if (status == ESP_OK && !server)
        return drop_everywhere(engine, id, holders, n, &witnesses, patient, NULL, error);
    if (status != ESP_OK)
        return status;
    for (size_t i = 0; i < n; i++)
        if (strcmp(server, holders[i].server) == 0)
            return data_drop_at(engine, id, &holders[i], "", error);
    return error_set(error, ESP_NOT_FOUND, "server %s does not have it", server);
}

/* ---- damaged files ---- */

struct removing {
    struct engine *engine;
    const char *id;
    bool found;
    struct esp_error why; /* the first failure */
};

/* A server of an earlier version does not know this ticket, and would delete the datum. */
static enum esp_status remove_at(void *arg, const struct data_holder *server, struct esp_error *error)
{
    struct removing *removing = arg;
    struct extension damaged = {EXTENSION_DAMAGED, NULL, 0};
    struct message request = {.kind = MESSAGE_DROP,
                              .drop = {.datum = removing->id,
                                       .ticket = DAMAGED_TICKET,
                                       .extensions = {&damaged, 1}}},
                   reply = {0};
    enum esp_status status = data_ask(removing->engine, server->address, &request, &reply, error);
    message_clear(&reply);
    removing->found |= status == ESP_OK;
    if (status == ESP_OK || status == ESP_NOT_FOUND || removing->why.status != ESP_OK)
        return ESP_OK;
    error_prefix_at(error, server->server, server->address);
    removing->why = *error;
    return ESP_OK;
}

enum esp_status data_remove_damaged(struct engine *engine, const char *id, const char *server,
                                    struct esp_error *error)
{
    struct datum_id parsed;
    char text[DATUM_TEXT];
    struct removing removing = {.engine = engine, .id = id};
    struct esp_error missed = {.status = ESP_OK};
    enum esp_status status = datum_id_parse(id, &parsed, error);
    if (status == ESP_OK)
        status = data_each_server(engine, server, remove_at, &removing, &missed, error);
    if (status != ESP_OK)
        return status;
    if (removing.why.status != ESP_OK)
        return error_set(error, removing.why.status, "%s", removing.why.text);
    if (!removing.found && missed.status != ESP_OK)
        return error_set(error, missed.status, "%s", missed.text);
    return removing.found
               ? ESP_OK
               : error_set(error, ESP_NOT_FOUND,
                           "no server%s%s has a damaged file of datum %s ('espalier data ls --damaged' "
                           "shows those that there are)",
                           server ? " " : "", server ? server : "", datum_id_short(&parsed, text));
}
