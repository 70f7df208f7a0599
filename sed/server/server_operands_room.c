/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the store could ever hold all data of a call at once.
 */
#include "sed/server/server_operands.h"
#include "sed/server/server_state.h"
#include "util/bytes.h"

/* Of a section, the datum is at least as large as that; how large is known while it is pinned. */
static uint64_t bytes_of(const struct operand *operand)
{
    return operand->pin ? store_pin_shape(operand->pin)->bytes : operand->shape.bytes;
}

/* A datum that goes in more than once is there once: it counts with its largest part. */
static bool counts(const struct operands *operands, const struct operand *operand)
{
    for (const struct operand *other = operands->items; other < operands->items + operands->n; other++) {
        if (other == operand || other->kept || !datum_key_equal(other->id.key, operand->id.key))
            continue;
        if (bytes_of(other) > bytes_of(operand) || (bytes_of(other) == bytes_of(operand) && other < operand))
            return false;
    }
    return true;
}

/* It lives on the disk, and takes no memory: a result, or (as far as is known here) what goes in. */
static bool is_streamed(const struct server *server, const struct operand *operand)
{
    const uint64_t bytes = bytes_of(operand);
    return operand->kept ? store_is_streamed(server_data_store(server->data), bytes, operand->mode,
                                             operand->flags, operand->straight)
                         : store_is_streamed(server_data_store(server->data), bytes, DATUM_VOLATILE,
                                             DATUM_REPLICA, false);
}

/* The first durable results go straight to their files, until the rest has room. */
static void relieve(const struct server *server, struct operands *operands, uint64_t limit, uint64_t *taken)
{
    for (uint32_t i = 0; i<operands->n && * taken> limit; i++) {
        struct operand *operand = &operands->items[i];
        if (!operand->kept || operand->late || is_streamed(server, operand) ||
            !store_is_streamed(server_data_store(server->data), bytes_of(operand), operand->mode,
                               operand->flags, true))
            continue;
        operand->straight = true;
        *taken -= store_memory_of(bytes_of(operand));
    }
}

static enum esp_status tell_too_large(const struct server *server, const struct operand *operand,
                                      uint64_t limit_bytes, struct esp_error *error)
{
    char limit[BYTES_TEXT], size[BYTES_TEXT];
    const struct problem *problem = operand->of->session->problem;
    return error_set(error, ESP_NO_MEMORY,
                     "%s: a datum of %s can never fit the memory for data on server %s, which is limited to "
                     "%s (store_memory)%s",
                     problem->arguments[operand->index].name, bytes_text(bytes_of(operand), size),
                     server->name, bytes_text(limit_bytes, limit),
                     operand->kept ? "; let it come back, or stay for good (persistent)" : "");
}

enum esp_status server_operands_check_room(const struct server *server, struct operands *operands,
                                           struct esp_error *error)
{
    char limit[BYTES_TEXT], data[BYTES_TEXT], results[BYTES_TEXT];
    struct store_counts store;
    uint64_t taken = 0, data_bytes = 0, result_bytes = 0;
    store_count(server_data_store(server->data), &store);
    for (uint32_t i = 0; i < operands->n; i++) {
        const struct operand *operand = &operands->items[i];
        uint64_t bytes = bytes_of(operand);
        if (operand->late || (!operand->kept && !counts(operands, operand)) || is_streamed(server, operand))
            continue;
        if (store_memory_of(bytes) > store.memory_limit || bytes > store.memory_limit)
            return tell_too_large(server, operand, store.memory_limit, error);
        taken += store_memory_of(bytes); /* of a few arguments, each below the limit */
        *(operand->kept ? &result_bytes : &data_bytes) += bytes;
    }
    relieve(server, operands, store.memory_limit, &taken);
    if (taken <= store.memory_limit)
        return ESP_OK;
    return error_set(error, ESP_NO_MEMORY,
                     "the memory for data on server %s, %s (store_memory), can never hold at once what the "
                     "call needs: data of %s that go in, and results of %s that are to stay; let results "
                     "come back, or stay for good (persistent), or use a server with more",
                     server->name, bytes_text(store.memory_limit, limit), bytes_text(data_bytes, data),
                     bytes_text(result_bytes, results));
}
