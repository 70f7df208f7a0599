/* SPDX-License-Identifier: Apache-2.0
 *
 * Replicas. A server that fetches a datum for a session says so; who has the original counts how often each
 * one asks, and tells those that ask most that their copy may stay (services/data/replication.h). The other
 * copies are passing: they go when nobody has used them for a while.
 */
#include "sed/server/server_data_internal.h"

#include "sed/server/server_state.h"

#include <stdlib.h>
#include <string.h>

enum esp_status replicas_create(struct server *server, struct esp_error *error)
{
    const struct server_options *options = &server->options;
    const struct replication_options replication = {.asks = options->replica_asks,
                                                    .most_copies = options->replicas,
                                                    .most_bytes = options->replica_bytes,
                                                    .clock = server->clock};
    if (options->replicas == 0)
        return ESP_OK;
    return replication_create(&replication, &server->data.replication, error);
}

void replicas_note(struct ticket *ticket, const struct extensions *extensions)
{
    const struct extension *fetcher = extension_find(extensions, EXTENSION_FETCHER);
    if (fetcher && fetcher->length > 0 && fetcher->length <= CAP_NAME)
        ticket->fetcher =
            strndup((const char *)fetcher->value, fetcher->length); /* NULL: it is not counted */
}

void replicas_answer(struct server *server, const struct ticket *ticket, const struct store_entry *entry,
                     struct message *reply)
{
    static const uint8_t yes = 1, no = 0;
    struct extension *extension = ticket->fetcher ? arena_alloc(&reply->arena, sizeof *extension) : NULL;
    if (!extension)
        return;
    /* Copies of copies would be beyond all counting. */
    bool stays =
        server->data.replication && !(entry->flags & DATUM_REPLICA) &&
        replication_asked(server->data.replication, entry->id.key, entry->shape.bytes, ticket->fetcher);
    *extension = (struct extension){EXTENSION_REPLICA, stays ? &yes : &no, 1};
    reply->open_reply.extensions = (struct extensions){extension, 1};
}
