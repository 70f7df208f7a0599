/* SPDX-License-Identifier: Apache-2.0
 *
 * The hierarchy as espalier.h shows it: masters, and the node at an address. (The tree: tree.c.)
 */
#include "client/session/library.h"
#include "client/session/engine.h"
#include "client/session/session.h"
#include "util/package.h"

#include <stdio.h>

_Static_assert((int)ESP_ROLE_CLIENT == (int)ROLE_CLIENT && (int)ESP_ROLE_SERVER == (int)ROLE_SERVER,
               "roles are numbered alike");

const char *esp_role_name(enum esp_role role)
{
    return node_role_name((enum node_role)role);
}

/* ---- masters ---- */

static struct esp_master *pack_masters(const struct locate_reply *located)
{
    struct esp_master *masters = package_create((located->n_masters + 1) * sizeof *masters);
    for (uint32_t i = 0; masters && i < located->n_masters; i++) {
        const struct master_entry *from = &located->masters[i];
        masters[i] = (struct esp_master){.name = package_text(masters, from->name),
                                         .address = package_text(masters, from->address),
                                         .incarnation = from->incarnation,
                                         .servers = from->servers,
                                         .load = from->load};
        if (!masters[i].name || !masters[i].address) {
            package_destroy(masters);
            return NULL;
        }
    }
    return masters;
}

enum esp_status esp_locate(struct esp_master **masters, size_t *n)
{
    struct esp_error *error = library_error();
    if (!masters || !n)
        return error_set(error, ESP_INVALID, "expected places for the list, found NULL");
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    struct message reply = {0};
    enum esp_status status = route_locate(library->engine->route, &reply, error);
    library_leave(status == ESP_OK);
    if (status == ESP_OK && !(*masters = pack_masters(&reply.locate_reply)))
        status = error_no_memory(error, "the list of master agents");
    if (status == ESP_OK)
        *n = reply.locate_reply.n_masters;
    message_clear(&reply);
    return status;
}

void esp_locate_free(struct esp_master *masters)
{
    package_destroy(masters);
}

enum esp_status esp_greet(const char *address, char *name, enum esp_role *role)
{
    struct esp_error *error = library_error();
    if (!address)
        return error_set(error, ESP_INVALID, "expected an address, found NULL");
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    struct message request = {.kind = MESSAGE_GREET, .greet = {.minor = CONTRACT_MINOR}}, reply = {0};
    enum esp_status status =
        deadline_call(library->transport, address, &request, library->engine->call_timeout_ms, &reply, error);
    library_leave(status == ESP_OK);
    if (status == ESP_OK && name)
        snprintf(name, CAP_NAME + 1, "%s", reply.greet_reply.name);
    if (status == ESP_OK && role)
        *role = (enum esp_role)reply.greet_reply.role;
    message_clear(&reply);
    return status;
}
