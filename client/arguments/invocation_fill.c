/* SPDX-License-Identifier: Apache-2.0 */
#include "client/arguments/invocation_fill.h"

#include <string.h>

/* The elements of an array that is here, and how many; NULL: it is not. */
static const void *array_of(const struct invocation *invocation, uint32_t index, uint64_t *n)
{
    const struct argument *argument = &invocation->function->problem->arguments[index];
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        const struct value *value = &invocation->values[i];
        if (value->index != index || value->form != VALUE_MEMORY || value->datum || !value->in)
            continue;
        *n = value->bytes / base_type_size(argument->type);
        return value->in;
    }
    return NULL;
}

bool invocation_fill_matters(const struct problem *problem, uint32_t index)
{
    const struct argument *argument = &problem->arguments[index];
    const bool compressed = argument->storage == STORAGE_CSC || argument->storage == STORAGE_CSR;
    return compressed && argument_is_input(argument) &&
           ((problem->work && expr_uses(problem->work, index)) ||
            (problem->memory && expr_uses(problem->memory, index)));
}

static bool fill_of(const struct invocation *invocation, uint32_t index, struct fill *fill)
{
    const struct problem *problem = invocation->function->problem;
    const struct argument *argument = &problem->arguments[index];
    const bool wide = problem->arguments[argument->pointers].type != TYPE_INT;
    uint64_t n_pointers = 0, n_indices = 0;
    if (wide != (problem->arguments[argument->indices].type != TYPE_INT))
        return false;
    const void *pointers = array_of(invocation, argument->pointers, &n_pointers),
               *indices = array_of(invocation, argument->indices, &n_indices);
    if (!pointers || !indices || n_pointers < 2)
        return false;
    const uint64_t stored = wide ? (uint64_t)((const int64_t *)pointers)[n_pointers - 1]
                                 : (uint64_t)((const int32_t *)pointers)[n_pointers - 1];
    return stored - argument->base <= n_indices &&
           fill_by_pattern((int64_t)n_pointers - 1, pointers, indices, wide, (int)argument->base, fill);
}

bool invocation_fill(const struct invocation *invocation, uint32_t index, const struct shape *shape,
                     struct fill *fill)
{
    return invocation_fill_matters(invocation->function->problem, index) &&
           shape->dims[0] == shape->dims[1] && fill_of(invocation, index, fill);
}

static void put_double(uint8_t *bytes, double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(bits >> 8 * i);
}

enum esp_status invocation_say_fill(const struct invocation *invocation, struct message *call,
                                    struct esp_error *error)
{
    const struct problem *problem = invocation->function->problem;
    uint8_t item[FILL_BYTES] = {0}, all[8 * FILL_BYTES];
    uint32_t length = 0;
    for (uint32_t i = 0; i < problem->n_arguments && length < sizeof all; i++) {
        struct fill fill;
        if (!invocation_fill_matters(problem, i) || !fill_of(invocation, i, &fill))
            continue;
        item[0] = (uint8_t)i; /* PROBLEM_MAX_ARGUMENTS fit */
        put_double(item + 4, fill.elements);
        put_double(item + 12, fill.flop);
        memcpy(all + length, item, sizeof item);
        length += FILL_BYTES;
    }
    uint8_t *bytes = length > 0 ? arena_memdup(&call->arena, all, length) : NULL;
    if (length == 0)
        return ESP_OK;
    return bytes && extension_add(&call->call.extensions, EXTENSION_FILL, bytes, length, &call->arena)
               ? ESP_OK
               : error_no_memory(error, "a call");
}
