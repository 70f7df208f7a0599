/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties of the server for the choice of servers, beside its load, and requests that it refuses by them.
 */
#include "core/forecast/predictor.h"
#include "core/choice/terms.h"
#include "sed/server/server_state.h"

#include <math.h>
#include <utlist.h>

/* Bytes of large arguments; small ones come with the call. */
static uint64_t bytes_to_come(const struct session *session)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < session->problem->n_arguments; i++) {
        const struct session_argument *argument = &session->arguments[i];
        if (argument->kind != KIND_BULK)
            continue;
        bytes += session->job.arguments[i].bytes;
        for (uint32_t j = 0; j < argument->arrived.n; j++)
            bytes -= argument->arrived.items[j].to - argument->arrived.items[j].from;
    }
    return bytes;
}

static uint64_t incoming_bytes(const struct server *server)
{
    const struct session *session;
    uint64_t bytes = 0;
    DL_FOREACH2(server->sessions.active, session, next_active)
    if (session->state == SESSION_WAITING || session->state == SESSION_RECEIVING)
        bytes += bytes_to_come(session);
    return bytes;
}

#define MOST_TROUBLE 200 /* bytes of the reason that agents hear */

bool server_tell_terms(const struct server *server, struct arena *arena, struct node_record *record)
{
    const uint64_t incoming = incoming_bytes(server), held = server_memory_held(server);
    struct extensions *extensions = &record->extensions;
    if (incoming && !terms_add_integer(extensions, EXTENSION_INCOMING, incoming, arena))
        return false;
    if (held && !terms_add_integer(extensions, EXTENSION_MEMORY_HELD, held, arena))
        return false;
    if (duty_is_back_soon(&server->duty) && !extension_add(extensions, EXTENSION_BACK_SOON, "", 0, arena))
        return false;
    if (server->stage.ending && !extension_add(extensions, EXTENSION_ENDING, "", 0, arena))
        return false;
    if (server->stage.ending && server->options.return_ns > 0 && duty_may_be_back(&server->duty) &&
        !terms_add_integer(extensions, EXTENSION_EXPECTED, (uint64_t)(server->options.return_ns / NS_PER_MS),
                           arena))
        return false;
    if (server->options.loopback_only && !extension_add(extensions, EXTENSION_LOOPBACK_ONLY, "", 0, arena))
        return false;
    char trouble[MOST_TROUBLE];
    const char *const texts[] = {trouble};
    if (server_lacks_ranks(server, trouble, sizeof trouble) &&
        !terms_add_texts(extensions, EXTENSION_RANKS_TROUBLE, texts, 1, arena))
        return false;
    if (server->options.price > 0 &&
        !terms_add_real(extensions, EXTENSION_PRICE, server->options.price, arena))
        return false;
    if (server_link(server)->back_bps > 0 &&
        !terms_add_real(extensions, EXTENSION_LINK_BACK, server_link(server)->back_bps, arena))
        return false;
    if (server_weather(server)->available > 0 &&
        !terms_add_weather(extensions, server_weather(server), arena))
        return false;
    if (server->options.senses && !(server_weather(server)->available > 0) &&
        !extension_add(extensions, EXTENSION_SENSES, "", 0, arena))
        return false;
    return server->options.n_properties == 0 ||
           terms_add_texts(extensions, EXTENSION_PROPERTIES, server->options.properties,
                           server->options.n_properties, arena);
}

bool server_accepts(const struct server *server, const struct request *request,
                    const struct request_cost *cost)
{
    struct constraints constraints;
    constraints_get(&request->extensions, &constraints);
    if (cost->memory_bytes > constraints.most_memory_bytes)
        return false;
    const char *word = property_next(&constraints.wanted, NULL);
    for (; word; word = property_next(&constraints.wanted, word)) {
        size_t i = 0;
        while (i < server->options.n_properties && strcmp(server->options.properties[i], word) != 0)
            i++;
        if (i == server->options.n_properties)
            return false;
    }
    return true;
}
