/* SPDX-License-Identifier: Apache-2.0
 *
 * Servers that the program names: finds their addresses, and checks that they are servers.
 */
#include "client/session/engine.h"
#include "core/choice/terms.h"
#include "core/hierarchy/namesakes.h"
#include "util/clock.h"

#include <stdio.h>
#include <string.h>

#define AGAIN_MS 100 /* pause after a silent node was waited for */

static enum esp_status not_a_server(const char *server, uint32_t role, struct esp_error *error)
{
    return error_set(error, ESP_NOT_FOUND, "\"%s\" is a %s: expected a server", server,
                     node_role_name((enum node_role)role));
}

/* If two nodes have one name below different master agents, the name would mean the one whose master is
 * asked; so it is refused. */
static enum esp_status check_alone(const struct node_record *found, struct esp_error *error)
{
    struct namesake namesake;
    if (!namesake_read(&found->extensions, &namesake))
        return ESP_OK;
    return error_set(
        error, ESP_NOT_FOUND,
        "which server \"%s\" is meant is not clear: there is one at %s, and %s; until then name it by its "
        "address",
        found->name, found->address, namesake.why);
}

/* It is still there, and is restarting, or may restart. */
static bool is_leaving(const struct node_record *found)
{
    return found->draining && (extension_find(&found->extensions, EXTENSION_BACK_SOON) ||
                               extension_find(&found->extensions, EXTENSION_EXPECTED) ||
                               extension_find(&found->extensions, EXTENSION_ENDING));
}

/* `chosen`: a person or a program chose the server; else it is known to exist. hope->awaited is also set
 * if the server is there but leaving. */
static enum esp_status resolve(struct engine *engine, const char *server, bool chosen,
                               struct route_hope *hope, char *address, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_TREE, .tree = {.node = server}}, reply = {0};
    enum esp_status status = route_try(engine->route, &request, engine->call_timeout_ms, hope, &reply, error);
    const struct node_record *found = NULL;
    if (status == ESP_OK)
        for (uint32_t i = 0; i < reply.tree_reply.n_records; i++)
            if (strcmp(reply.tree_reply.records[i].name, server) == 0)
                found = &reply.tree_reply.records[i];
    if (found && found->role != ROLE_SERVER)
        status = not_a_server(server, found->role, error);
    else if (found && chosen && check_alone(found, error) != ESP_OK)
        status = error->status;
    else if (found && *found->address)
        snprintf(address, CAP_ADDRESS + 1, "%s", found->address);
    else if (status == ESP_OK)
        status = error_set(error, ESP_NOT_FOUND, "no server of the hierarchy has the name \"%s\"", server);
    if (status == ESP_OK)
        hope->awaited = is_leaving(found);
    message_clear(&reply);
    return status;
}

enum esp_status engine_resolve(struct engine *engine, const char *server, char *address,
                               struct esp_error *error)
{
    struct route_hope hope;
    struct esp_error untold;
    struct esp_error *told = error ? error : &untold;
    const enum esp_status status = resolve(engine, server, false, &hope, address, told);
    return status == ESP_NO_SERVER ? (told->status = ESP_NOT_FOUND) : status;
}

static enum esp_status greet_server(struct engine *engine, const char *address, bool *silent,
                                    struct esp_error *error)
{
    enum node_role role;
    enum esp_status status = route_greet(engine->route, "server", address, silent, &role, error);
    if (status == ESP_OK && role != ROLE_SERVER)
        status = not_a_server(address, role, error);
    return status;
}

/* One try to find the server. */
static enum esp_status find_server(struct engine *engine, const char *server, struct route_hope *hope,
                                   char *address, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    *hope = (struct route_hope){false};
    if (!strchr(server, ':'))
        status = resolve(engine, server, true, hope, address, error);
    else if (strlen(server) > CAP_ADDRESS)
        status = error_set(error, ESP_NOT_FOUND, "\"%.40s...\" is no address: expected host:port", server);
    else
        strcpy(address, server);
    if (status != ESP_OK)
        return status;
    status = greet_server(engine, address, &hope->silent, error);
    if (status == ESP_UNREACHABLE && !hope->silent && !strchr(server, ':'))
        status = error->status = ESP_NO_SERVER; /* the tree showed it a moment ago */
    return status;
}

/* Whether the server may appear soon. ESP_NO_SERVER: it was there, or a master agent that may know it was. */
static bool may_come(const struct engine *engine, const char *server, enum esp_status status, bool silent,
                     int64_t passed_ns)
{
    if (status == ESP_UNREACHABLE || status == ESP_MAYBE)
        return silent || passed_ns < PATIENCE_GONE_NS ||
               (!strchr(server, ':') && route_was_there(engine->route));
    return silent || status == ESP_NO_SERVER;
}

/* A function that tries once to find the server. */
typedef enum esp_status find_once(struct engine *engine, const char *server, struct route_hope *hope,
                                  char *address, struct esp_error *error);

/* Waits for a server that is being restarted, as long as a master agent says so. */
static enum esp_status await_server(struct engine *engine, const char *server, int64_t silence_ms,
                                    find_once *find, char *address, struct esp_error *error)
{
    struct patience patience =
        patience_begin(engine->agent_patience_ms, silence_ms, clock_now_ns(engine->clock));
    const int64_t begun_ns = clock_now_ns(engine->clock);
    int64_t gone_ns = 0;
    for (;;) {
        struct route_hope hope;
        const enum esp_status status = find(engine, server, &hope, address, error);
        if (status == ESP_OK || status == ESP_NO_MEMORY)
            return status;
        const int64_t now_ns = clock_now_ns(engine->clock);
        gone_ns = gone_ns ? gone_ns : now_ns;
        if (hope.awaited) /* patience does not start while a master agent says so */
            patience = patience_begin(engine->agent_patience_ms, silence_ms, now_ns);
        if (!may_come(engine, server, status, hope.silent, now_ns - gone_ns) ||
            !patience_lasts(&patience, hope.silent, now_ns) || atomic_load(&engine->closing) ||
            deadline_left_ms(engine->clock, AGAIN_MS) < AGAIN_MS) {
            patience_tell("that server", begun_ns, now_ns, error);
            return status;
        }
        engine_pause(&engine->closing, AGAIN_MS);
    }
}

enum esp_status engine_find_server(struct engine *engine, const char *server, char *address,
                                   struct esp_error *error)
{
    const enum esp_status status =
        await_server(engine, server, engine->lookup_silence_ms, find_server, address, error);
    return status == ESP_OK || status == ESP_NO_MEMORY ? status : (error->status = ESP_NOT_FOUND);
}

static enum esp_status find_name(struct engine *engine, const char *server, struct route_hope *hope,
                                 char *address, struct esp_error *error)
{
    return resolve(engine, server, false, hope, address, error);
}

enum esp_status engine_await_name(struct engine *engine, const char *server, char *address,
                                  struct esp_error *error)
{
    const enum esp_status status = await_server(engine, server, 0, find_name, address, error);
    return status == ESP_NO_SERVER ? (error->status = ESP_NOT_FOUND) : status;
}

bool engine_await_returning(struct engine *engine, const char *server, char *address, bool *waited)
{
    struct patience patience = patience_begin(engine->agent_patience_ms, 0, clock_now_ns(engine->clock));
    int64_t gone_ns = 0;
    *waited = false;
    for (;;) {
        struct esp_error unread;
        struct route_hope hope;
        const enum esp_status status = resolve(engine, server, false, &hope, address, &unread);
        const int64_t now_ns = clock_now_ns(engine->clock);
        gone_ns = gone_ns ? gone_ns : now_ns;
        if (status == ESP_OK && !hope.awaited)
            return true;
        if (hope.awaited)
            patience = patience_begin(engine->agent_patience_ms, 0, now_ns);
        else if (status == ESP_NO_SERVER || !may_come(engine, server, status, false, now_ns - gone_ns))
            return false;
        *waited |= hope.awaited;
        if (!patience_lasts(&patience, false, now_ns) || atomic_load(&engine->closing) ||
            deadline_left_ms(engine->clock, AGAIN_MS) < AGAIN_MS)
            return false;
        engine_pause(&engine->closing, AGAIN_MS);
    }
}
