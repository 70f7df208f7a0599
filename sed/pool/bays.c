/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/pool/bays.h"

#include <unistd.h>

/* Half of the bays have the least size, half of the others the next, and so on. */
static uint32_t size_class(uint32_t i)
{
    uint32_t class = 0;
    for (uint32_t left = BAYS_OF_LEAST; i >= left; left /= 2, class ++)
        i -= left;
    return class;
}

static uint32_t first_of(uint32_t class)
{
    return BAYS + 1 - ((BAYS + 1) >> class);
}

uint32_t bay_bytes(uint32_t i)
{
    return (uint32_t)BAY_LEAST_BYTES << size_class(i);
}

uint32_t bay_offset(uint32_t i)
{
    uint32_t class = size_class(i);
    return class * BAYS_TOTAL + (i - first_of(class)) * ((uint32_t)BAY_LEAST_BYTES << class);
}

int32_t bay_take(uint64_t *used, uint64_t bytes)
{
    uint32_t class = 0;
    while (class < BAYS_SIZES && bytes > (uint64_t)BAY_LEAST_BYTES << class)
        class ++;
    if (class == BAYS_SIZES || sysconf(_SC_PAGESIZE) > BAY_LEAST_BYTES)
        return -1;
    uint64_t free = ~*used & ((UINT64_C(1) << BAYS) - 1) & ~((UINT64_C(1) << first_of(class)) - 1);
    if (!free)
        return -1;
    uint32_t i = (uint32_t)__builtin_ctzll(free);
    *used |= UINT64_C(1) << i;
    return (int32_t)i;
}
