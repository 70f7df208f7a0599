/* SPDX-License-Identifier: Apache-2.0
 *
 * The original of a datum comes here. Who has it lets one server at a time have it
 * (sed/server/server_drop.c). First it is here for good, then it goes there: whoever dies in between, it is
 * never lost.
 */
#include "sed/server/server_pull.h"

#include <string.h>
#include <time.h>

#define TRIES    5
#define PAUSE_MS 100 /* before the second try; twice as long before each further one */

enum esp_status pull_promote(struct pull *pull, struct esp_error *error)
{
    struct server *server = pull->server;
    struct store *store = server->data.store;
    struct store_work *work = NULL;
    endpoint_enter(server->endpoint);
    enum esp_status status = store_promote(store, &pull->asker.is, pull->as.key, &work, error);
    endpoint_leave(server->endpoint);
    if (!work)
        return status;
    store_work_do(work);
    endpoint_enter(server->endpoint);
    status = store_work_end(store, work, error);
    endpoint_leave(server->endpoint);
    return status;
}

static enum esp_status tell_giver(struct pull *pull, struct esp_error *error)
{
    char text[DATUM_TEXT];
    const char *name = pull->server->name;
    struct extension moved = {EXTENSION_MOVES, (const uint8_t *)name, (uint32_t)strlen(name)};
    struct message request = {.kind = MESSAGE_FINISH}, reply = {0};
    request.finish = (struct finish){
        .datum = datum_id_text(&pull->id, text), .ticket = pull->ticket, .extensions = {&moved, 1}};
    enum esp_status status =
        transport_call(pull->server->endpoint->transport, pull->giver, &request, PULL_ASK_MS, &reply, error);
    message_clear(&reply);
    return status;
}

static bool may_be_tried_again(enum esp_status status)
{
    return status == ESP_BUSY || status == ESP_UNREACHABLE || status == ESP_MAYBE || status == ESP_TIMEOUT;
}

enum esp_status pull_take_over(struct pull *pull, struct esp_error *error)
{
    char text[DATUM_TEXT];
    struct esp_error why = {0};
    enum esp_status status = tell_giver(pull, &why);
    for (unsigned i = 1; i < TRIES && may_be_tried_again(status) && !atomic_load(&pull->stop); i++) {
        nanosleep(&(struct timespec){.tv_nsec = (INT64_C(1) << i) * PAUSE_MS / 2 * NS_PER_MS}, NULL);
        status = tell_giver(pull, &why);
    }
    if (status == ESP_REFUSED) {
        endpoint_enter(pull->server->endpoint);
        store_depart(pull->server->data.store, &pull->asker.is, &pull->as, NULL);
        endpoint_leave(pull->server->endpoint);
        return error_set(error, ESP_REFUSED, "%s", why.text);
    }
    if (status != ESP_OK) /* twice is better than not at all */
        log_warning("%s: has moved here, but %s may have it, too: %s", datum_id_short(&pull->id, text),
                    pull->giver, why.text);
    return ESP_OK;
}
