/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/sessions/printed.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 1024u

/* The number of a byte decides where it lies, so a larger ring is filled anew. */
static void grow(struct printed *printed, uint32_t wanted)
{
    uint32_t size = printed->size ? printed->size : FIRST_BYTES;
    while (size < wanted && size < CAP_PRINTED)
        size *= 2;
    uint8_t *ring = size > printed->size ? malloc(size) : NULL;
    if (!ring)
        return;
    for (uint64_t n = printed->total - printed->length; n < printed->total; n++)
        ring[n % size] = printed->ring[n % printed->size];
    free(printed->ring);
    printed->ring = ring;
    printed->size = size;
}

void printed_add(struct printed **printed, const void *bytes, uint32_t length)
{
    if (!*printed && !(*printed = calloc(1, sizeof **printed)))
        return;
    struct printed *to = *printed;
    if (to->length + length > to->size)
        grow(to, to->length + length);
    for (uint32_t i = 0; i < length && to->size > 0; i++)
        to->ring[(to->total + i) % to->size] = ((const uint8_t *)bytes)[i];
    to->total += length;
    to->length = to->length + length < to->size ? to->length + length : to->size;
}

uint32_t printed_since(const struct printed *printed, uint64_t seen, uint8_t *to, uint64_t *position)
{
    *position = seen;
    if (!printed || seen >= printed->total)
        return 0;
    if (printed->total - seen > printed->length)
        *position = printed->total - printed->length;
    uint32_t length = (uint32_t)(printed->total - *position);
    for (uint32_t i = 0; i < length; i++)
        to[i] = printed->ring[(*position + i) % printed->size];
    return length;
}

void printed_free(struct printed *printed)
{
    if (printed)
        free(printed->ring);
    free(printed);
}
