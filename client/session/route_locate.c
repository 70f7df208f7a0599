/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is there: which master agents, as redirectors name them or the file; and who answers at an address.
 */
#include "client/session/acquainted.h"
#include "client/session/deadline.h"
#include "client/session/route_internal.h"
#include "core/hierarchy/absent.h"
#include "core/host_name.h"

#include <string.h>

/* Room for so many masters, without names. */
static struct master_entry *begin_located(struct message *reply, size_t n, struct esp_error *error)
{
    memset(reply, 0, sizeof *reply);
    reply->kind = MESSAGE_LOCATE_REPLY;
    struct master_entry *masters = arena_alloc(&reply->arena, n * sizeof *masters);
    if (!masters) {
        error_no_memory(error, "the list of agents");
        return NULL;
    }
    reply->locate_reply.masters = masters;
    reply->locate_reply.n_masters = (uint32_t)n;
    return masters;
}

static enum esp_status locate_from_file(struct route *route, struct message *reply, struct esp_error *error)
{
    struct master_entry *masters = begin_located(reply, route->n_agents, error);
    for (size_t i = 0; masters && i < route->n_agents; i++)
        masters[i] = (struct master_entry){.name = "", .address = route->agents[i]};
    return masters ? ESP_OK : ESP_NO_MEMORY;
}

enum esp_status route_known(struct route *route, struct message *reply, struct esp_error *error)
{
    pthread_mutex_lock(&route->lock);
    struct master_entry *masters = begin_located(reply, route->n_masters, error);
    bool whole = masters != NULL;
    for (size_t i = 0; whole && i < route->n_masters; i++) {
        masters[i] =
            (struct master_entry){.name = "", .address = arena_strdup(&reply->arena, route->masters[i])};
        whole = masters[i].address != NULL;
    }
    pthread_mutex_unlock(&route->lock);
    if (whole)
        return ESP_OK;
    message_clear(reply);
    return error_no_memory(error, "the list of agents");
}

/* The node, or the name server that knows its address, is only slow perhaps: it may be asked again. */
static bool is_silence(enum esp_status status, const struct esp_error *error)
{
    return status == ESP_TIMEOUT || (status != ESP_OK && host_name_is_late(error));
}

/* The first question to that address came to nothing: whatever it was, it executed nothing. */
static enum esp_status nobody_there(const char *who, const char *address, int64_t waited_ms,
                                    struct esp_error *error)
{
    switch (error->status) {
    case ESP_TIMEOUT:
        return error_set(error, ESP_UNREACHABLE,
                         "%s: no Espalier daemon answers at %s: something takes connections there, and says "
                         "nothing for %.3g s (stopped, overloaded, or no Espalier: is the port right?)",
                         who, address, (double)waited_ms / 1e3);
    case ESP_MAYBE:
        return error_set(
            error, ESP_UNREACHABLE,
            "%s: no Espalier daemon answers at %s: what listens there ends the connection without an "
            "answer (is the port right, do both use TLS or neither?)",
            who, address);
    case ESP_PROTOCOL:
    case ESP_VERSION:
        error_prefix(error, "%s: no Espalier daemon of this contract answers at %s", who, address);
        return error->status = ESP_UNREACHABLE;
    default:
        return error_prefix_at(error, who, address);
    }
}

enum esp_status route_greet(struct route *route, const char *who, const char *address, bool *silent,
                            enum node_role *role, struct esp_error *error)
{
    return route_greet_within(route, who, address, INT64_MAX, silent, role, error);
}

enum esp_status route_greet_within(struct route *route, const char *who, const char *address, int64_t most_ms,
                                   bool *silent, enum node_role *role, struct esp_error *error)
{
    const int64_t most = most_ms < route->greeting_timeout_ms ? most_ms : route->greeting_timeout_ms;
    const int64_t patience_ms = deadline_left_ms(transport_clock(route->transport), most);
    struct message request = {.kind = MESSAGE_GREET, .greet = {.minor = CONTRACT_MINOR}}, reply = {0};
    struct esp_error unread;
    if (!error)
        error = &unread;
    enum esp_status status = transport_call(route->transport, address, &request, patience_ms, &reply, error);
    if (silent)
        *silent = is_silence(status, error);
    if (status == ESP_OK && role)
        *role = (enum node_role)reply.greet_reply.role;
    message_clear(&reply);
    return status == ESP_OK ? status : nobody_there(who, address, patience_ms, error);
}

/* What one redirector says; *silent: nothing, in that time. */
static enum esp_status ask_redirector(struct route *route, const char *address, int64_t timeout_ms,
                                      bool *silent, struct message *reply, struct esp_error *error)
{
    struct session_id first;
    uint8_t bytes[ASKER_BYTES];
    struct extension asker = {EXTENSION_ASKER, bytes, sizeof bytes};
    struct message request = {.kind = MESSAGE_LOCATE};
    if (route->asker) {
        route->asker(route->arg, &first);
        asker_put(&first, bytes);
        request.locate.extensions = (struct extensions){&asker, 1};
    }
    message_clear(reply);
    enum esp_status status = deadline_call(route->transport, address, &request, timeout_ms, reply, error);
    *silent = is_silence(status, error);
    if (status != ESP_OK)
        return nobody_there("redirector", address, timeout_ms, error);
    acquainted_note(address);
    if (reply->locate_reply.n_masters == 0)
        return error_set(error, ESP_NO_SERVER, "redirector at %s: no master agent has joined it yet",
                         address);
    return ESP_OK;
}

bool route_learns(const struct locate_reply *located)
{
    return extension_find(&located->extensions, EXTENSION_LEARNING) != NULL;
}

/* Of several that do not help, one that answers tells more than one that is not there. As of master agents,
 * nobody is waited for long while there are others to ask. */
static enum esp_status ask_redirectors(struct route *route, bool *any_silent, struct message *reply,
                                       struct esp_error *error)
{
    const size_t first = atomic_load(&route->redirector), n = route->n_redirectors;
    const int64_t most_ms = route->greeting_timeout_ms,
                  short_ms = n > 1 && most_ms > ROUTE_AWAKE_MS ? ROUTE_AWAKE_MS : most_ms;
    bool silent;
    struct esp_error why;
    for (size_t i = 0; i < (*any_silent && short_ms < most_ms ? 2 * n : n); i++) {
        const size_t index = (first + i) % n;
        enum esp_status status = ask_redirector(route, route->redirectors[index], i < n ? short_ms : most_ms,
                                                &silent, reply, &why);
        if (status == ESP_OK) {
            atomic_store(&route->redirector, index);
            return ESP_OK;
        }
        *any_silent |= silent;
        if (i == 0 || (status == ESP_NO_SERVER && error->status == ESP_UNREACHABLE))
            *error = why;
    }
    return error->status;
}

/* One that was just started has named masters, in `reply`: the first other one that knows all of them is
 * asked in its place from now on, if one answers. */
static void ask_for_all(struct route *route, struct message *reply)
{
    const size_t first = atomic_load(&route->redirector), n = route->n_redirectors;
    const int64_t most_ms = route->greeting_timeout_ms;
    for (size_t i = 1; i < n; i++) {
        const size_t index = (first + i) % n;
        struct message other = {0};
        struct esp_error unread;
        bool silent;
        if (ask_redirector(route, route->redirectors[index],
                           most_ms > ROUTE_AWAKE_MS ? ROUTE_AWAKE_MS : most_ms, &silent, &other,
                           &unread) == ESP_OK &&
            !route_learns(&other.locate_reply)) {
            message_clear(reply);
            *reply = other;
            atomic_store(&route->redirector, index);
            return;
        }
        message_clear(&other);
    }
}

enum esp_status route_locate_heeding(struct route *route, bool sure, bool *silent, struct message *reply,
                                     struct esp_error *error)
{
    struct esp_error unread;
    *silent = false;
    if (route->n_agents > 0)
        return locate_from_file(route, reply, error);
    if (route->n_redirectors == 0)
        return error_set(error, ESP_CONFIG, "expected the address of a redirector or of agents, found none");
    enum esp_status status = ask_redirectors(route, silent, reply, error ? error : &unread);
    if (status == ESP_OK && sure && route_learns(&reply->locate_reply))
        ask_for_all(route, reply);
    if (status == ESP_OK)
        atomic_store(&route->heard, true); /* and so have the masters, at the redirector's */
    return status;
}

enum esp_status route_locate(struct route *route, struct message *reply, struct esp_error *error)
{
    bool silent;
    return route_locate_heeding(route, false, &silent, reply, error);
}
