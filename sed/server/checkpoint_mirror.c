/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/server/checkpoint_mirror.h"

#include "core/data/datum.h"
#include "sed/crd/checkpoint.h"
#include "services/data/transfer.h"
#include "util/fingerprint.h"
#include "util/regular_file.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ASK_MS   3000
#define CHUNK_MS 10000
#define LOOK_AT  16 /* states of one call that a keeper may have: two, and what a crash has left */

uint64_t mirror_key(const struct session_id *origin)
{
    const uint64_t words[4] = {origin->client_high, origin->client_low, origin->sequence, origin->secret};
    const uint64_t key = fingerprint(words, sizeof words);
    return key ? key : 1;
}

static const char *identity(const struct keeper *keeper, uint64_t key, uint64_t number, char *text)
{
    struct datum_id id = {.key = {key, number}};
    snprintf(id.origin, sizeof id.origin, "%s", keeper->name);
    return datum_id_text(&id, text);
}

/* The call as the client whose lease the copies have. */
static struct extensions tell_holder(uint64_t key, uint64_t bytes[2], struct extension *extension)
{
    bytes[0] = bytes[1] = htole64(key);
    *extension = (struct extension){EXTENSION_DATA_CLIENT, (const uint8_t *)bytes, DATA_CLIENT_BYTES};
    return (struct extensions){extension, 1};
}

/* Numbers of the call's states that are there, at most LOOK_AT. */
static uint32_t look(struct transport *transport, const struct keeper *keeper, uint64_t key,
                     uint64_t *numbers)
{
    char text[DATUM_TEXT];
    struct message request = {.kind = MESSAGE_DATA}, reply;
    struct datum_id id;
    struct extension holder;
    uint64_t bytes[2];
    uint32_t n = 0;
    request.data = (struct data){.datum = "",
                                 .after = identity(keeper, key, 0, text),
                                 .limit = LOOK_AT,
                                 .extensions = tell_holder(key, bytes, &holder)};
    enum esp_status status = transport_call(transport, keeper->address, &request, ASK_MS, &reply, NULL);
    for (uint32_t i = 0; status == ESP_OK && i < reply.data_reply.n && n < LOOK_AT; i++)
        if (datum_id_parse(reply.data_reply.items[i].datum, &id, NULL) == ESP_OK && id.key.high == key)
            numbers[n++] = id.key.low;
    message_clear(&reply);
    return n;
}

uint64_t mirror_newest(struct transport *transport, const struct keeper *keeper, uint64_t key)
{
    uint64_t numbers[LOOK_AT], newest = 0;
    const uint32_t n = look(transport, keeper, key, numbers);
    for (uint32_t i = 0; i < n; i++)
        newest = numbers[i] > newest ? numbers[i] : newest;
    return newest;
}

void mirror_drop(struct transport *transport, const struct keeper *keeper, uint64_t key, uint64_t below)
{
    uint64_t numbers[LOOK_AT];
    char text[DATUM_TEXT];
    const uint32_t n = look(transport, keeper, key, numbers);
    for (uint32_t i = 0; i < n; i++) {
        struct message request = {.kind = MESSAGE_DROP}, reply;
        if (numbers[i] >= below)
            continue;
        request.drop = (struct drop){.datum = identity(keeper, key, numbers[i], text)};
        transport_call(transport, keeper->address, &request, ASK_MS, &reply, NULL);
        message_clear(&reply);
    }
}

static enum esp_status end_ticket(struct transport *transport, const struct keeper *keeper, const char *datum,
                                  uint64_t ticket, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_FINISH}, reply;
    request.finish = (struct finish){.datum = datum, .ticket = ticket};
    enum esp_status status = transport_call(transport, keeper->address, &request, ASK_MS, &reply, error);
    message_clear(&reply);
    return status;
}

static enum esp_status move(struct transport *transport, const struct keeper *keeper, uint64_t key,
                            uint64_t number, uint64_t ticket, bool put, void *memory, uint64_t bytes,
                            struct esp_error *error)
{
    const struct transfer_options options = {.transport = transport,
                                             .address = keeper->address,
                                             .key = {key, number},
                                             .ticket = ticket,
                                             .put = put,
                                             .bytes = bytes,
                                             .timeout_ms = TRANSFER_SLOW * CHUNK_MS,
                                             .still_ms = CHUNK_MS,
                                             .memory = memory};
    struct ranges done = {0};
    enum esp_status status = transfer_run(&options, &done, error);
    ranges_clear(&done);
    return status;
}

/* ---- fetching ---- */

static enum esp_status write_file(const char *path, const void *data, uint64_t bytes, struct esp_error *error)
{
    char temporary[4096];
    snprintf(temporary, sizeof temporary, "%s.copy", path);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool good = file && fwrite(data, 1, bytes, file) == bytes;
    if (file)
        good = fclose(file) == 0 && good;
    else if (fd >= 0)
        close(fd);
    if (good && rename(temporary, path) == 0)
        return ESP_OK;
    error_errno(error, "cannot write %s", path);
    unlink(temporary);
    return ESP_SYSTEM;
}

static enum esp_status fetch_opened(struct transport *transport, const struct keeper *keeper, uint64_t key,
                                    uint64_t number, const struct open_reply *opened, const char *path,
                                    struct esp_error *error)
{
    const uint64_t bytes = opened->datum.bytes;
    if (bytes > MIRROR_MOST_BYTES + CHECKPOINT_HEADER_BYTES)
        return error_set(error, ESP_LIMIT, "a checkpoint of %llu bytes", (unsigned long long)bytes);
    void *memory = malloc(bytes ? bytes : 1);
    enum esp_status status = memory ? ESP_OK : error_no_memory(error, "a checkpoint");
    if (status == ESP_OK)
        status = move(transport, keeper, key, number, opened->ticket, false, memory, bytes, error);
    if (status == ESP_OK && checkpoint_check(memory, bytes) != number)
        status = error_set(error, ESP_PROTOCOL, "what \"%s\" has is no checkpoint %llu", keeper->name,
                           (unsigned long long)number);
    if (status == ESP_OK)
        status = write_file(path, memory, bytes, error);
    free(memory);
    return status;
}

enum esp_status mirror_fetch(struct transport *transport, const struct keeper *keeper, uint64_t key,
                             uint64_t number, const char *path, struct esp_error *error)
{
    char text[DATUM_TEXT];
    struct message request = {.kind = MESSAGE_OPEN}, reply;
    request.open.datum = identity(keeper, key, number, text);
    enum esp_status status = transport_call(transport, keeper->address, &request, ASK_MS, &reply, error);
    if (status == ESP_OK) {
        status = fetch_opened(transport, keeper, key, number, &reply.open_reply, path, error);
        end_ticket(transport, keeper, text, reply.open_reply.ticket, NULL);
    }
    message_clear(&reply);
    return status;
}

/* ---- putting ---- */

/* The whole file, to be freed; NULL with the error. */
static void *read_file(const char *path, uint64_t *bytes, struct esp_error *error)
{
    struct stat is;
    FILE *file = regular_file_open(path, "r", error);
    void *memory = NULL;
    if (!file)
        return NULL;
    if (fstat(fileno(file), &is) != 0) {
        error_errno(error, "cannot read %s", path);
    } else if ((uint64_t)is.st_size > MIRROR_MOST_BYTES) {
        error_set(error, ESP_LIMIT, "a checkpoint of %lld bytes is too large to be copied to another server",
                  (long long)is.st_size);
    } else {
        *bytes = (uint64_t)is.st_size;
        memory = malloc(*bytes + 1);
        if (!memory)
            error_no_memory(error, "a checkpoint");
        else if (fread(memory, 1, *bytes, file) != *bytes) {
            error_errno(error, "cannot read %s", path);
            free(memory);
            memory = NULL;
        }
    }
    fclose(file);
    return memory;
}

static enum esp_status offer(struct transport *transport, const struct keeper *keeper, uint64_t key,
                             uint64_t number, void *memory, uint64_t bytes, struct esp_error *error)
{
    char text[DATUM_TEXT];
    int64_t dims[1] = {(int64_t)bytes};
    uint64_t holder[2];
    struct extension extension;
    struct message request = {.kind = MESSAGE_OFFER}, reply;
    request.offer.extensions = tell_holder(key, holder, &extension);
    request.offer.datum = (struct datum_info){.datum = identity(keeper, key, number, text),
                                              .type = TYPE_CHAR,
                                              .dims = dims,
                                              .n_dims = 1,
                                              .bytes = bytes,
                                              .mode = DATUM_VOLATILE,
                                              .flags = DATUM_SHARED,
                                              .created_s = (int64_t)time(NULL),
                                              .owner = "",
                                              .server = "",
                                              .address = ""};
    enum esp_status status = transport_call(transport, keeper->address, &request, ASK_MS, &reply, error);
    const uint64_t ticket = status == ESP_OK ? reply.offer_reply.ticket : 0;
    message_clear(&reply);
    if (status != ESP_OK || ticket == 0) /* 0: it is there already */
        return status;
    status = move(transport, keeper, key, number, ticket, true, memory, bytes, error);
    return status == ESP_OK ? end_ticket(transport, keeper, text, ticket, error) : status;
}

enum esp_status mirror_put(struct transport *transport, const struct keeper *keeper, uint64_t key,
                           const char *path, uint64_t *number, struct esp_error *error)
{
    uint64_t bytes = 0;
    char *memory = read_file(path, &bytes, error);
    if (!memory)
        return error->status;
    enum esp_status status = ESP_OK;
    *number = checkpoint_check(memory, bytes);
    if (*number == 0)
        status = error_set(error, ESP_SYSTEM, "%s is damaged", path);
    if (status == ESP_OK)
        status = offer(transport, keeper, key, *number, memory, bytes, error);
    free(memory);
    if (status == ESP_OK)
        mirror_drop(transport, keeper, key, *number);
    return status;
}
