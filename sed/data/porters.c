/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/data/data_internal.h"

#include "core/redistribution/pieces.h"
#include "sed/porter/porter_far.h"
#include "sed/porter/porter_order.h"
#include "sed/porter/porter_stream.h"
#include "util/config.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Matrices in pieces that move to another server and get another layout there. Porters of the holder lend the
 * pieces (tickets.c), porters of this server fetch them (sed/porter/porter.h).
 */

#define ALIVE_NS                                                                                             \
    (20 *                                                                                                    \
     NS_PER_S) /* how often the holder hears from this server; its ticket ends after DATA_TICKET_LEASE_NS */
#define LATE_MS                                                                                              \
    3000 /* for ranks on other hosts, after all other pieces have come; less than clients wait               \
          */

enum esp_status pull_lie(const struct datum_shape *shape, struct block_cyclic_matrix *layout,
                         struct esp_error *error)
{
    if (datum_shape_layout(shape, layout))
        return ESP_OK;
    if (shape->storage != STORAGE_FULL || shape->row_major || shape->n_dims < 1 || shape->n_dims > 2)
        return error_set(error, ESP_INVALID,
                         "expected a matrix or vector that is stored in full, by columns, or in pieces");
    *layout = pieces_whole(shape->dims[0], shape->n_dims > 1 ? shape->dims[1] : 1);
    return ESP_OK;
}

enum esp_status pull_lay(const struct pull *pull, struct datum_shape *shape, struct esp_error *error)
{
    struct block_cyclic_matrix layout;
    const struct pull_layout *wanted = &pull->layout;
    if (!pull->laid)
        return ESP_OK;
    enum esp_status status = pull_lie(shape, &layout, error);
    if (status != ESP_OK)
        return status;
    shape->storage = STORAGE_FULL;
    memset(shape->layout, 0, sizeof shape->layout);
    if (wanted->rows == 0)
        return ESP_OK;
    layout = pieces_grid(layout.rows.n, layout.cols.n, wanted->rows, wanted->cols, wanted->row_block,
                         wanted->col_block);
    return datum_shape_spread(shape, &layout, error);
}

/* The ports. If the connections are encrypted, a port of 0 and the key come first. */
uint32_t porters_write(const struct porter_order *order, uint8_t *value)
{
    uint8_t *to = value;
    if (order->sealed) {
        memset(to, 0, sizeof(uint16_t));
        memcpy(to + sizeof(uint16_t), order->secret, PORTER_SECRET_BYTES);
        to += sizeof(uint16_t) + PORTER_SECRET_BYTES;
    }
    for (uint32_t i = 0; i < order->n_ports; i++, to += sizeof(uint16_t)) {
        const uint16_t port = htole16(order->ports[i]);
        memcpy(to, &port, sizeof port);
    }
    return (uint32_t)(to - value);
}

bool porters_read(const struct extension *ports, struct porter_order *order)
{
    const uint32_t key = sizeof(uint16_t) + PORTER_SECRET_BYTES;
    const uint8_t *from = ports ? ports->value : NULL;
    uint32_t length = ports ? ports->length : 0;
    order->sealed = length > key && from[0] == 0 && from[1] == 0;
    if (order->sealed) {
        memcpy(order->secret, from + sizeof(uint16_t), PORTER_SECRET_BYTES);
        from += key;
        length -= key;
    }
    if (length < sizeof(uint16_t) || length % sizeof(uint16_t) != 0 || length > sizeof order->ports)
        return false;
    order->n_ports = length / (uint32_t)sizeof(uint16_t);
    memcpy(order->ports, from, length);
    for (uint32_t i = 0; i < order->n_ports; i++)
        order->ports[i] = le16toh(order->ports[i]);
    return true;
}

#define NAME_BYTES   16
#define LENDER_BYTES 7 /* and its address */

uint32_t lenders_write(const struct porter_lenders *lenders, bool sealed, uint8_t *value)
{
    const uint64_t name[2] = {htole64(lenders->name.high), htole64(lenders->name.low)};
    uint8_t *to = value;
    if (sealed) {
        memcpy(to, lenders->secret, PORTER_SECRET_BYTES);
        to += PORTER_SECRET_BYTES;
    }
    memcpy(to, name, NAME_BYTES);
    to += NAME_BYTES;
    for (uint32_t i = 0; i < lenders->n; i++) {
        const struct porter_lender *lender = &lenders->all[i];
        const uint32_t rank = htole32(lender->rank);
        const uint16_t port = htole16(lender->port);
        const size_t length = strnlen(lender->host, sizeof lender->host - 1);
        memcpy(to, &rank, sizeof rank);
        memcpy(to + 4, &port, sizeof port);
        to[6] = (uint8_t)length;
        memcpy(to + LENDER_BYTES, lender->host, length);
        to += LENDER_BYTES + length;
    }
    return (uint32_t)(to - value);
}

/* Returns how many bytes the entry has; 0: it is malformed. */
static uint32_t read_lender(const uint8_t *from, uint32_t bytes, struct porter_lender *lender)
{
    uint32_t rank;
    uint16_t port;
    if (bytes < LENDER_BYTES || from[6] >= sizeof lender->host || bytes < LENDER_BYTES + (uint32_t)from[6])
        return 0;
    memcpy(&rank, from, sizeof rank);
    memcpy(&port, from + 4, sizeof port);
    *lender = (struct porter_lender){.rank = le32toh(rank), .port = le16toh(port)};
    memcpy(lender->host, from + LENDER_BYTES, from[6]);
    return LENDER_BYTES + (uint32_t)from[6];
}

void lenders_read(const struct extension *extension, bool sealed, struct porter_lenders *lenders)
{
    uint64_t name[2];
    uint32_t at = sealed ? PORTER_SECRET_BYTES : 0;
    lenders->n = 0;
    if (!extension || extension->length < at + NAME_BYTES)
        return;
    memcpy(lenders->secret, extension->value, at);
    memcpy(name, extension->value + at, NAME_BYTES);
    lenders->name = (struct datum_key){.high = le64toh(name[0]), .low = le64toh(name[1])};
    at += NAME_BYTES;
    while (at < extension->length && lenders->n < PORTER_LENDERS_MOST) {
        const uint32_t bytes =
            read_lender(extension->value + at, extension->length - at, &lenders->all[lenders->n]);
        if (bytes == 0) {
            lenders->n = 0;
            return;
        }
        lenders->n++;
        at += bytes;
    }
}

static enum esp_status make_order(const struct pull *pull, const char *address,
                                  const struct open_reply *opened, struct porter_order *order,
                                  struct esp_error *error)
{
    struct datum_shape shape;
    uint16_t port; /* the ticket of the holder; its porters have tickets of their own */
    *order = (struct porter_order){.ticket = opened->ticket, .key = pull->id.key};
    snprintf(order->source, sizeof order->source, "%s", opened->datum.server ? opened->datum.server : "");
    enum esp_status status = data_shape(&opened->datum, &shape, error);
    if (status == ESP_OK)
        status = pull_lie(&shape, &order->from, error);
    if (status == ESP_OK)
        status = pull_lay(pull, &shape, error);
    if (status == ESP_OK)
        status = pull_lie(&shape, &order->to, error);
    order->element_bytes = (uint32_t)base_type_size(shape.type);
    if (status == ESP_OK && !porters_read(extension_find(&opened->extensions, EXTENSION_PORTERS), order))
        status = error_set(error, ESP_REFUSED, "it does not lend pieces: it is of an earlier version");
    const uint32_t lenders = order->sealed ? EXTENSION_LENDERS_SEALED : EXTENSION_LENDERS;
    lenders_read(extension_find(&opened->extensions, lenders), order->sealed != 0, &order->lenders);
    if (status == ESP_OK && pull->data->options.porters_seal && !order->sealed)
        status = error_set(error, ESP_REFUSED,
                           "it lends pieces in the open, and server %s, which has certificates, fetches them "
                           "over encrypted connections only",
                           pull->data->options.name);
    if (status == ESP_OK)
        status = config_read_address(address, NULL, order->host, sizeof order->host, &port, error);
    return status;
}

struct carrying {
    struct pull *pull;
    const char *address;
    uint64_t ticket;
    int64_t said_ns; /* keeps the ticket alive */
};

static void moved(void *arg, uint64_t bytes)
{
    const struct carrying *carrying = arg;
    atomic_fetch_add(&carrying->pull->arrived, bytes);
}

/* The holder does not hear what porters do, so its ticket would end. */
static bool is_stopped(void *arg)
{
    struct carrying *carrying = arg;
    struct pull *pull = carrying->pull;
    int64_t now = clock_now_ns(&clock_system);
    char byte;
    if (now - carrying->said_ns > ALIVE_NS) {
        struct message header = transfer_header(false, pull->id.key, carrying->ticket, 0, 1);
        uint64_t got = 0;
        transport_get(pull->data->endpoint->transport, carrying->address, &header, &byte, &got, PULL_ASK_MS,
                      0, NULL);
        carrying->said_ns = clock_now_ns(&clock_system);
    }
    return atomic_load(&pull->stop);
}

/* The client does not wait until a stopped porter has unmapped the memory. */
static void tell_early(void *arg, const struct esp_error *error)
{
    const struct carrying *carrying = arg;
    struct pull *pull = carrying->pull;
    struct esp_error named = *error;
    error_prefix(&named, "server %s", pull->data->options.name);
    log_warning("%s", named.text);
    endpoint_enter(pull->data->endpoint);
    atomic_store(&pull->stop, true);
    pull_tell(pull, named.status, &named);
    endpoint_leave(pull->data->endpoint);
}

static enum esp_status take_memory(struct pull *pull, struct porter_order *order, int *fd,
                                   struct esp_error *error)
{
    struct store_memory memory;
    struct server_data *data = pull->data;
    endpoint_enter(data->endpoint);
    enum esp_status status = store_put_memory(data->store, &pull->asker.is, pull->as.key, &memory, error);
    endpoint_leave(data->endpoint);
    if (status != ESP_OK)
        return status;
    order->offset = memory.offset;
    order->bytes = memory.bytes;
    *fd = memory.fd;
    return ESP_OK;
}

static void give_memory_back(struct pull *pull, bool whole)
{
    struct server_data *data = pull->data;
    endpoint_enter(data->endpoint);
    store_put_filled(data->store, pull->as.key, whole, NULL);
    endpoint_leave(data->endpoint);
}

/* Ranks on other hosts fetch their pieces, too, so that the next call need not send them. Pieces that only
 * change their layout are moved among those ranks in that call. */
static struct porter_far *begin_far(struct pull *pull, const char *address, const struct porter_order *order)
{
    struct server_data *data = pull->data;
    const struct server_data_options *options = &data->options;
    struct porter_lenders ranks;
    if (!options->lenders || pull->layout.rows == 0 || strcmp(address, pull->here) == 0)
        return NULL;
    endpoint_enter(data->endpoint);
    const struct laying *laying = layings_find(&data->layings, pull->id.key);
    const struct datum_key value = laying ? laying->value : pull->id.key;
    endpoint_leave(data->endpoint);
    options->lenders(options->porters_arg, value, PORTER_ORDERS, &ranks);
    return porter_far_begin(&ranks, order);
}

/* Orders the porters of this host, and the ranks on other hosts. */
static enum esp_status fetch_all(struct pull *pull, const struct porter_list *porters,
                                 const struct porter_order *order, int fd, const struct porter_watch *watch,
                                 bool *let_go, struct esp_error *error)
{
    const struct carrying *carrying = watch->arg;
    struct porter_far *far = begin_far(pull, carrying->address, order);
    const enum esp_status status = porter_fetch_all(porters, order, fd, watch, let_go, error);
    if (far) {
        const int late_ms = watch->patience_ms / 3 < LATE_MS ? (int)(watch->patience_ms / 3) : LATE_MS;
        const uint32_t have = porter_far_end(far, status == ESP_OK ? late_ms : 0);
        log_debug("%u ranks on other hosts have fetched their pieces", have);
    }
    return status;
}

static enum esp_status carry(struct pull *pull, struct porter_order *order, const struct porter_watch *watch,
                             struct esp_error *error)
{
    const struct server_data_options *options = &pull->data->options;
    struct porter_list *porters = calloc(1, sizeof *porters);
    bool let_go = true;
    int fd = -1;
    if (!porters)
        return error_no_memory(error, "fetching a datum");
    options->porters(options->porters_arg, porters);
    enum esp_status status = porters->n > 0
                                 ? take_memory(pull, order, &fd, error)
                                 : error_set(error, ESP_BUSY, "the porters of server %s are being started",
                                             pull->data->options.name);
    if (status == ESP_OK) {
        log_debug("%u porters fetch pieces of a datum from %u at %s%s, and %u on other hosts", porters->n,
                  order->n_ports, order->host, order->sealed ? ", encrypted" : "", order->lenders.n);
        status = fetch_all(pull, porters, order, fd, watch, &let_go, error);
        if (status != ESP_OK)
            error_prefix(error, "server %s", pull->data->options.name);
        pull->stuck = !let_go;
        if (let_go)
            give_memory_back(pull, status == ESP_OK);
        else /* the memory is never used again */
            log_error("a porter does not let go of the memory of a datum");
    }
    free(porters);
    return status;
}

enum esp_status pull_carry(struct pull *pull, const char *address, const struct open_reply *opened,
                           struct esp_error *error)
{
    struct porter_order order;
    struct carrying carrying = {
        .pull = pull, .address = address, .ticket = opened->ticket, .said_ns = clock_now_ns(&clock_system)};
    const int64_t patience_ms = atomic_load(&pull->patience_ns) / NS_PER_MS * 3 / 4; /* the error is in it */
    const struct porter_watch watch = {.moved = moved,
                                       .stopped = is_stopped,
                                       .arg = &carrying,
                                       .silent = tell_early,
                                       .patience_ms = patience_ms};
    if (!pull->data->options.porters)
        return error_set(
            error, ESP_REFUSED,
            "server %s carries no pieces from other servers: it keeps no data in memory (store_memory)",
            pull->data->options.name);
    if (opened->datum.bytes == 0)
        return ESP_OK;
    enum esp_status status = make_order(pull, address, opened, &order, error);
    order.stall_ms = (uint32_t)(patience_ms < PORTER_STALL_MS ? patience_ms : PORTER_STALL_MS);
    atomic_store(&pull->arrived, 0);
    return status == ESP_OK ? carry(pull, &order, &watch, error) : status;
}
