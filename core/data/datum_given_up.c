/* SPDX-License-Identifier: Apache-2.0 */
#include "core/data/datum.h"

#include <stdio.h>
#include <string.h>

struct extension datum_given_up_pack(const struct datum_id *id, const char *owner,
                                     char bytes[DATUM_GIVEN_UP_BYTES])
{
    datum_id_text(id, bytes);
    const size_t length = strlen(bytes) + 1;
    snprintf(bytes + length, CAP_NAME + 1, "%s", owner);
    return (struct extension){EXTENSION_DISOWNED, (const uint8_t *)bytes,
                              (uint32_t)(length + strlen(bytes + length) + 1)};
}

bool datum_given_up_read(const struct extension *extension, struct datum_id *id, const char **owner)
{
    if (!extension || extension->length == 0 || extension->value[extension->length - 1] != 0)
        return false;
    const char *text = (const char *)extension->value;
    const size_t length = strlen(text) + 1;
    if (length == extension->length || datum_id_parse(text, id, NULL) != ESP_OK)
        return false;
    *owner = text + length;
    return strlen(*owner) <= CAP_NAME && length + strlen(*owner) + 1 == extension->length;
}
