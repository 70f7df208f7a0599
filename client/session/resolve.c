/* SPDX-License-Identifier: Apache-2.0
 *
 * Servers that are named by the program: where they are, and whether they are servers.
 */
#include "client/session/engine.h"

#include <stdio.h>
#include <string.h>

static enum esp_status not_a_server(const char *server, uint32_t role, struct esp_error *error)
{
    return error_set(error, ESP_NOT_FOUND, "\"%s\" is a %s: expected a server", server,
                     node_role_name((enum node_role)role));
}

enum esp_status engine_resolve(struct engine *engine, const char *server, char *address,
                               struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_TREE, .tree = {.node = server}}, reply = {0};
    enum esp_status status = route_ask(engine->route, &request, engine->call_timeout_ms, &reply, error);
    const struct node_record *found = NULL;
    if (status == ESP_OK)
        for (uint32_t i = 0; i < reply.tree_reply.n_records; i++)
            if (strcmp(reply.tree_reply.records[i].name, server) == 0)
                found = &reply.tree_reply.records[i];
    if (found && found->role != ROLE_SERVER)
        status = not_a_server(server, found->role, error);
    else if (found && *found->address)
        snprintf(address, CAP_ADDRESS + 1, "%s", found->address);
    else if (status == ESP_OK)
        status = error_set(error, ESP_NOT_FOUND, "no server of the hierarchy has the name \"%s\"", server);
    message_clear(&reply);
    return status;
}

static enum esp_status greet_server(struct engine *engine, const char *address, struct esp_error *error)
{
    enum node_role role;
    enum esp_status status = route_greet(engine->route, "server", address, &role, error);
    if (status == ESP_OK && role != ROLE_SERVER)
        status = not_a_server(address, role, error);
    return status;
}

enum esp_status engine_find_server(struct engine *engine, const char *server, char *address,
                                   struct esp_error *error)
{
    enum esp_status status;
    if (!strchr(server, ':')) {
        status = engine_resolve(engine, server, address, error);
    } else if (strlen(server) > CAP_ADDRESS) {
        status = error_set(error, ESP_NOT_FOUND, "\"%.40s...\" is no address: expected host:port", server);
    } else {
        strcpy(address, server);
        status = ESP_OK;
    }
    if (status == ESP_OK)
        status = greet_server(engine, address, error);
    return status == ESP_OK || status == ESP_NO_MEMORY ? status : (error->status = ESP_NOT_FOUND);
}
