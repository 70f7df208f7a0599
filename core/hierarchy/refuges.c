/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/refuges.h"

#include <stdio.h>
#include <string.h>

void refuges_add(struct refuges *refuges, const char *address)
{
    if (!address[0] || strlen(address) > CAP_ADDRESS || refuges->n == MOST_REFUGES)
        return;
    for (size_t i = 0; i < refuges->n; i++)
        if (strcmp(refuges->addresses[i], address) == 0)
            return;
    strcpy(refuges->addresses[refuges->n++], address);
}

bool refuges_equal(const struct refuges *a, const struct refuges *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->addresses[i], b->addresses[i]) != 0)
            return false;
    return true;
}

struct extension refuges_put(const struct refuges *refuges, uint8_t *bytes)
{
    uint32_t length = 0;
    for (size_t i = 0; i < refuges->n; i++) {
        const uint32_t n = (uint32_t)strlen(refuges->addresses[i]) + 1;
        memcpy(bytes + length, refuges->addresses[i], n);
        length += n;
    }
    return (struct extension){.tag = EXTENSION_REFUGES, .value = bytes, .length = length};
}

void refuges_get(const struct extensions *extensions, struct refuges *refuges)
{
    const struct extension *extension = extension_find(extensions, EXTENSION_REFUGES);
    refuges->n = 0;
    if (!extension || extension->length == 0 || extension->value[extension->length - 1] != 0)
        return;
    const char *at = (const char *)extension->value, *end = at + extension->length;
    for (; at < end; at += strlen(at) + 1)
        refuges_add(refuges, at);
}
