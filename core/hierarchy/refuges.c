/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/refuges.h"

#include <stdio.h>
#include <string.h>

void refuges_add(struct refuges *refuges, const char *address, const char *name)
{
    if (!address[0] || strlen(address) > CAP_ADDRESS || refuges->n == MOST_REFUGES)
        return;
    for (size_t i = 0; i < refuges->n; i++)
        if (strcmp(refuges->addresses[i], address) == 0)
            return;
    strcpy(refuges->addresses[refuges->n], address);
    strcpy(refuges->names[refuges->n++], strlen(name) <= CAP_NAME ? name : "");
}

bool refuges_equal(const struct refuges *a, const struct refuges *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->addresses[i], b->addresses[i]) != 0 || strcmp(a->names[i], b->names[i]) != 0)
            return false;
    return true;
}

const char *refuges_find(const struct refuges *refuges, const char *name)
{
    for (size_t i = 0; *name && i < refuges->n; i++)
        if (strcmp(refuges->names[i], name) == 0)
            return refuges->addresses[i];
    return NULL;
}

static uint32_t put(uint8_t *to, const char *text)
{
    const uint32_t n = (uint32_t)strlen(text) + 1;
    memcpy(to, text, n);
    return n;
}

void refuges_put(const struct refuges *refuges, uint8_t *bytes, struct extension extensions[2])
{
    uint32_t addresses = 0, names = 0;
    for (size_t i = 0; i < refuges->n; i++)
        addresses += put(bytes + addresses, refuges->addresses[i]);
    for (size_t i = 0; i < refuges->n; i++)
        names += put(bytes + addresses + names, refuges->names[i]);
    extensions[0] = (struct extension){.tag = EXTENSION_REFUGES, .value = bytes, .length = addresses};
    extensions[1] =
        (struct extension){.tag = EXTENSION_REFUGE_NAMES, .value = bytes + addresses, .length = names};
}

/* Whether the value is a list of texts that end in zeros. */
static bool is_list(const struct extension *extension)
{
    return extension && extension->length > 0 && extension->value[extension->length - 1] == 0;
}

void refuges_get(const struct extensions *extensions, struct refuges *refuges)
{
    const struct extension *addresses = extension_find(extensions, EXTENSION_REFUGES);
    const struct extension *names = extension_find(extensions, EXTENSION_REFUGE_NAMES);
    refuges->n = 0;
    if (!is_list(addresses))
        return;
    const char *at = (const char *)addresses->value, *end = at + addresses->length;
    const char *name = is_list(names) ? (const char *)names->value : NULL;
    const char *names_end = name ? name + names->length : NULL;
    for (; at < end; at += strlen(at) + 1) {
        refuges_add(refuges, at, name && name < names_end ? name : "");
        name += name && name < names_end ? strlen(name) + 1 : 0;
    }
}
