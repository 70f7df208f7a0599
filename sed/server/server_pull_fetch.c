/* SPDX-License-Identifier: Apache-2.0
 *
 * Fetching a datum. A thread asks one holder after the other, moves the bytes straight into the memory of the
 * store, and tells those who wait. Nothing is visible before all of it is here.
 */
#include "sed/server/server_pull.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUSY_MS     50   /* before asking a store again that has no room now */
#define BUSY_MOST   1200 /* times */
#define REOPEN_MOST 4    /* times that one source is asked again in the middle of a transfer */

static struct transport *transport_of(const struct pull *pull)
{
    return pull->server->endpoint->transport;
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = BUSY_MS * NS_PER_MS}, NULL);
}

static enum esp_status open_at(struct pull *pull, const char *address, struct message *reply,
                               struct esp_error *error)
{
    char text[DATUM_TEXT];
    struct message request = {.kind = MESSAGE_OPEN};
    const char *name = pull->server->name;
    struct extension porters = {EXTENSION_PORTERS, (const uint8_t *)"", 0},
                     fetcher = {EXTENSION_FETCHER, (const uint8_t *)name, (uint32_t)strlen(name)};
    request.open.datum = datum_id_text(&pull->id, text);
    if (pull->laid)
        request.open.extensions = (struct extensions){&porters, 1};
    else if (!pull->begun && pull->flags & DATUM_REPLICA) /* not again in the middle of a transfer */
        request.open.extensions = (struct extensions){&fetcher, 1};
    enum esp_status status = ESP_BUSY;
    for (unsigned i = 0; status == ESP_BUSY && i < BUSY_MOST && !atomic_load(&pull->stop); i++) {
        if (i > 0) {
            message_clear(reply);
            nap();
        }
        status = transport_call(transport_of(pull), address, &request, PULL_ASK_MS, reply, error);
    }
    return status;
}

static void close_at(struct pull *pull, const char *address, uint64_t ticket)
{
    char text[DATUM_TEXT];
    struct message request = {.kind = MESSAGE_FINISH}, reply;
    request.finish = (struct finish){.datum = datum_id_text(&pull->id, text), .ticket = ticket};
    transport_call(transport_of(pull), address, &request, PULL_ASK_MS, &reply, NULL);
    message_clear(&reply);
}

/* The source has let this server in, perhaps because it is one: for whom it fetches it has to see itself. */
static enum esp_status check_owner(const struct pull *pull, const struct datum_info *record,
                                   struct esp_error *error)
{
    char text[DATUM_TEXT];
    if (pull->asker.is.trusted || (record->flags & DATUM_SHARED) || !record->owner || !*record->owner ||
        strcmp(record->owner, pull->asker.identity) == 0)
        return ESP_OK;
    return error_set(error, ESP_REFUSED, "datum %s belongs to somebody else",
                     datum_id_short(&pull->id, text));
}

/* Room in the store, as the source describes the datum. */
static enum esp_status begin(struct pull *pull, const struct datum_info *record, struct esp_error *error)
{
    struct server *server = pull->server;
    bool as_there = pull->laid || (pull->flags & DATUM_REPLICA);
    struct store_new fresh = {.id = &pull->as,
                              .mode = as_there ? (enum datum_mode)record->mode : pull->mode,
                              .flags = pull->flags | (record->flags & ~(uint32_t)DATUM_REPLICA),
                              .owner = record->owner,
                              .created_s = record->created_s,
                              .passing = !pull->laid};
    struct datum_id made;
    enum esp_status status = server_data_shape(record, &fresh.shape, error);
    if (status == ESP_OK)
        status = check_owner(pull, record, error);
    if (status == ESP_OK)
        status = datum_may_leave((enum datum_mode)record->mode, record->flags,
                                 !pull->laid && !(pull->flags & DATUM_REPLICA), error);
    if (status == ESP_OK)
        status = pull_lay(pull, &fresh.shape, error);
    if (status != ESP_OK || pull->begun)
        return status;
    status = ESP_BUSY;
    for (unsigned i = 0; status == ESP_BUSY && i < BUSY_MOST && !atomic_load(&pull->stop); i++) {
        if (i > 0)
            nap();
        endpoint_enter(server->endpoint);
        status = store_begin(server->data.store, &pull->asker.is, &fresh, &made, error);
        endpoint_leave(server->endpoint);
    }
    pull->begun = status == ESP_OK;
    return status;
}

static enum esp_status area(void *arg, uint64_t offset, uint64_t bytes, struct store_piece *piece,
                            struct esp_error *error)
{
    struct pull *pull = arg;
    endpoint_enter(pull->server->endpoint);
    enum esp_status status =
        store_area(pull->server->data.store, &pull->asker.is, pull->as.key, offset, bytes, piece, error);
    endpoint_leave(pull->server->endpoint);
    return status;
}

static enum esp_status area_done(void *arg, struct store_piece *piece, bool whole, struct esp_error *error)
{
    struct pull *pull = arg;
    enum esp_status status = whole ? store_piece_write(piece, error) : ESP_OK;
    endpoint_enter(pull->server->endpoint);
    store_area_done(pull->server->data.store, pull->as.key, piece, whole && status == ESP_OK, NULL);
    endpoint_leave(pull->server->endpoint);
    return status;
}

static void moved(void *arg, uint64_t bytes)
{
    struct pull *pull = arg;
    atomic_fetch_add(&pull->arrived, bytes);
}

static bool is_stopped(void *arg)
{
    struct pull *pull = arg;
    return atomic_load(&pull->stop);
}

static enum esp_status move(struct pull *pull, const char *address, uint64_t ticket, uint64_t bytes,
                            struct esp_error *error)
{
    const struct errands *errands = pull->server->data.errands;
    const struct transfer_options options = {.transport = transport_of(pull),
                                             .address = address,
                                             .key = pull->id.key,
                                             .ticket = ticket,
                                             .bytes = bytes,
                                             .timeout_ms = PULL_CHUNK_MS,
                                             .area = area,
                                             .area_done = area_done,
                                             .moved = moved,
                                             .cancelled = is_stopped,
                                             .arg = pull,
                                             .helpers = errands ? errands->helpers : NULL};
    return transfer_run(&options, &pull->done, error);
}

/* The same, and its time counts as a measurement of the link, when all of it came in one go. */
static enum esp_status move_timed(struct pull *pull, const char *address, const struct open_reply *opened,
                                  struct esp_error *error)
{
    const struct server_options *told = &pull->server->options;
    const bool whole = pull->done.n == 0 && opened->datum.server && *opened->datum.server;
    const int64_t begun_ns = clock_now_ns(&clock_system);
    enum esp_status status = move(pull, address, opened->ticket, opened->datum.bytes, error);
    if (status == ESP_OK && whole && told->fetched)
        told->fetched(told->fetched_arg, opened->datum.server, opened->datum.bytes,
                      (double)(clock_now_ns(&clock_system) - begun_ns) / 1e9);
    return status;
}

/* A source that says nothing of it is of a version that lets every copy stay. */
static bool may_stay(const struct open_reply *opened)
{
    const struct extension *told = extension_find(&opened->extensions, EXTENSION_REPLICA);
    return !told || (told->length > 0 && told->value[0] != 0);
}

static enum esp_status fetch_once(struct pull *pull, const char *address, struct esp_error *error)
{
    struct message reply;
    enum esp_status status = open_at(pull, address, &reply, error);
    if (status == ESP_OK) {
        const struct open_reply *opened = &reply.open_reply;
        atomic_store(&pull->bytes, opened->datum.bytes);
        if (!pull->begun)
            pull->stays = may_stay(opened);
        status = begin(pull, &opened->datum, error);
        if (status == ESP_OK && pull->laid)
            status = pull_carry(pull, address, opened, error);
        else if (status == ESP_OK)
            status = move_timed(pull, address, opened, error);
        close_at(pull, address, opened->ticket);
    }
    message_clear(&reply);
    return status;
}

/* A source that was restarted in the middle, or that the network lost for a moment, goes on where it was. */
static enum esp_status fetch_from(struct pull *pull, const char *address, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (unsigned i = 0; i < REOPEN_MOST; i++) {
        uint64_t before = atomic_load(&pull->arrived);
        status = fetch_once(pull, address, error);
        if (status == ESP_OK || !transfer_may_go_on(status) || atomic_load(&pull->arrived) == before ||
            pull->stuck)
            break;
    }
    return status;
}

bool pull_add_address(struct pull *pull, const char *address)
{
    for (uint32_t i = 0; i < pull->n_addresses; i++)
        if (!strcmp(pull->addresses[i], address))
            return false;
    if (pull->n_addresses == CAP_SOURCES || !address[0] || strlen(address) > CAP_ADDRESS)
        return false;
    snprintf(pull->addresses[pull->n_addresses++], CAP_ADDRESS + 1, "%s", address);
    return true;
}

/* Asks the agents, the nearest first; whether there are new addresses. */
static bool look_up(struct pull *pull)
{
    bool found = false;
    char text[DATUM_TEXT];
    for (unsigned i = 0; i < CAP_ANCESTORS && !found && pull->above[0]; i++) {
        struct message request = {.kind = MESSAGE_DATA}, reply;
        request.data.datum = datum_id_text(&pull->id, text);
        enum esp_status status =
            transport_call(transport_of(pull), pull->above, &request, PULL_ASK_MS, &reply, NULL);
        const struct data_reply *told = &reply.data_reply;
        for (uint32_t r = 0; status == ESP_OK && r < told->n; r++)
            if (strcmp(told->items[r].server, pull->server->name) != 0)
                found |= pull_add_address(pull, told->items[r].address);
        /* Also a failure tells who may know more. */
        const struct extension *above = extension_find(&told->extensions, EXTENSION_ABOVE);
        if (above && above->length <= CAP_ADDRESS) {
            memcpy(pull->above, above->value, above->length);
            pull->above[above->length] = 0;
        } else {
            pull->above[0] = 0;
        }
        message_clear(&reply);
    }
    return found;
}

static enum esp_status fetch(struct pull *pull, struct esp_error *error)
{
    char text[DATUM_TEXT];
    enum esp_status status =
        error_set(error, ESP_NOT_FOUND, "%s: no server is known to hold it", datum_id_short(&pull->id, text));
    uint32_t next = 0;
    for (;;) {
        while (next < pull->n_addresses && !atomic_load(&pull->stop)) {
            struct esp_error why = {0};
            const char *address = pull->addresses[next++];
            enum esp_status tried = fetch_from(pull, address, &why);
            if (tried == ESP_OK || pull->stuck)
                return tried == ESP_OK ? ESP_OK : error_set(error, tried, "%s", why.text);
            /* That one does not have it tells less than that another cannot be reached. */
            if (status == ESP_NOT_FOUND || tried != ESP_NOT_FOUND)
                status = error_set(error, tried, "%s from %s: %s", datum_id_short(&pull->id, text), address,
                                   why.text);
        }
        if (atomic_load(&pull->stop) || !look_up(pull))
            return status;
    }
}

static enum esp_status commit(struct pull *pull, struct esp_error *error)
{
    struct server *server = pull->server;
    struct store_work *work = NULL;
    endpoint_enter(server->endpoint);
    enum esp_status status = store_commit(server->data.store, &pull->asker.is, pull->as.key, &work, error);
    endpoint_leave(server->endpoint);
    if (!work)
        return status;
    store_work_do(work);
    endpoint_enter(server->endpoint);
    status = store_work_end(server->data.store, work, error);
    endpoint_leave(server->endpoint);
    return status;
}

void pull_run(void *arg)
{
    struct pull *pull = arg;
    struct server *server = pull->server;
    struct esp_error error = {0};
    char text[DATUM_TEXT], bytes[DATUM_BYTES_TEXT];
    enum esp_status status = fetch(pull, &error);
    if (status == ESP_OK)
        status = commit(pull, &error);
    endpoint_enter(server->endpoint);
    if (status != ESP_OK && pull->begun)
        store_abort(server->data.store, &pull->asker.is, pull->as.key, NULL);
    if (status == ESP_OK && (pull->stays || pull->asked_for))
        store_stay(server->data.store, pull->as.key);
    if (status == ESP_OK)
        log_notice("%s: fetched, %s", datum_id_short(&pull->as, text), datum_bytes_text(pull->bytes, bytes));
    else
        log_warning("%s: cannot be fetched: %s", datum_id_short(&pull->id, text), error.text);
    HASH_DEL(server->data.pulls, pull);
    pull_tell(pull, status, &error);
    ranges_clear(&pull->done);
    free(pull);
    endpoint_leave(server->endpoint);
}
