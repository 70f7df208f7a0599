/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the store could ever hold all data of a call at once.
 */
#include "sed/server/server_operands.h"
#include "sed/server/server_state.h"

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

enum esp_status server_operands_check_room(const struct server *server, const struct operands *operands,
                                           struct esp_error *error)
{
    char limit[DATUM_BYTES_TEXT], data[DATUM_BYTES_TEXT], results[DATUM_BYTES_TEXT];
    struct store_counts store;
    uint64_t taken = 0, data_bytes = 0, result_bytes = 0;
    store_count(server->data.store, &store);
    for (uint32_t i = 0; i < operands->n; i++) {
        const struct operand *operand = &operands->items[i];
        uint64_t bytes = bytes_of(operand);
        if (!operand->kept && !counts(operands, operand))
            continue;
        if (bytes > store.memory_limit) /* told of that one alone */
            return ESP_OK;
        taken += store_memory_of(bytes); /* of a few arguments, each below the limit */
        *(operand->kept ? &result_bytes : &data_bytes) += bytes;
    }
    if (taken <= store.memory_limit)
        return ESP_OK;
    return error_set(error, ESP_NO_MEMORY,
                     "the memory for data on server %s, %s (store_memory), can never hold at once what the "
                     "call needs: data of %s that go in, and results of %s that are to stay; let results "
                     "come back, or use a server with more",
                     server->name, datum_bytes_text(store.memory_limit, limit),
                     datum_bytes_text(data_bytes, data), datum_bytes_text(result_bytes, results));
}
