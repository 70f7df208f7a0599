/* SPDX-License-Identifier: Apache-2.0
 *
 * Data whose original is lost with its server: a replica takes its place.
 */
#include "client/data/data.h"

#include <string.h>

/* Of those that have it, who has an original; NULL: nobody. */
static const struct data_holder *find_original(const struct data_holder *holders, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(holders[i].flags & DATUM_REPLICA))
            return &holders[i];
    return NULL;
}

static const struct data_holder *find_named(const struct data_holder *holders, size_t n, const char *server)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(holders[i].server, server) == 0)
            return &holders[i];
    return NULL;
}

/* As a server asks for that whose own file was damaged. */
static enum esp_status make_original(struct engine *engine, const char *id, const char *address,
                                     const char *lost, struct esp_error *error)
{
    struct extension extension = {EXTENSION_MOVES, (const uint8_t *)lost, (uint32_t)strlen(lost)};
    struct message request = {.kind = MESSAGE_PULL}, reply = {0};
    request.pull = (struct pull_request){.datum = id,
                                         .flags = DATUM_KEPT_COPY,
                                         .patience_ms = (uint64_t)engine->call_timeout_ms,
                                         .extensions = {&extension, 1}};
    enum esp_status status = data_ask(engine, address, &request, &reply, error);
    message_clear(&reply);
    return status;
}

enum esp_status data_adopt(struct engine *engine, const char *id, const char *server, struct data_told told,
                           struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    char address[CAP_ADDRESS + 1];
    struct datum_id parsed;
    size_t n = 0;
    enum esp_status status = datum_id_parse(id, &parsed, error);
    if (status == ESP_OK)
        status = engine_await_name(engine, server, address, error);
    if (status == ESP_OK)
        status = data_find(engine, id, true, holders, &n, error);
    if (status != ESP_OK)
        return status;
    if (find_original(holders, n))
        return data_copy(engine, id, server, true, told, error);
    if (!find_named(holders, n, server))
        status = data_copy(engine, id, server, false, told, error);
    return status == ESP_OK ? make_original(engine, id, address, parsed.origin, error) : status;
}
