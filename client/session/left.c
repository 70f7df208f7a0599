/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/left.h"

#include "client/session/session.h"
#include "core/data/datum_section.h"
#include "util/package.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies the identity without its section and without the addresses of its holders. */
static bool identity_of(const char *reference, char *id)
{
    struct datum_id parsed;
    struct datum_section section;
    char text[DATUM_REFERENCE_TEXT];
    size_t length = reference ? strcspn(reference, " ") : 0;
    if (length == 0 || length >= sizeof text)
        return false;
    memcpy(text, reference, length);
    text[length] = 0;
    if (datum_reference_parse(text, &parsed, &section, NULL) != ESP_OK)
        return false;
    datum_id_text(&parsed, id);
    return true;
}

static void add(struct left *left, const struct invocation *invocation, uint32_t position, bool is_output)
{
    const struct value *value = &invocation->values[position];
    char id[DATUM_TEXT];
    if (!identity_of(is_output ? value->stayed : value->datum, id))
        return;
    struct left_datum *datum = &left->data[left->n++];
    *datum = (struct left_datum){.position = position, .is_output = is_output};
    strcpy(datum->id, id);
    datum->own = is_output ? (value->stays & ESP_SESSION_OUTPUTS) || value->kept
                           : (value->stays & ESP_SESSION_INPUTS) && value->held;
    snprintf(datum->argument, sizeof datum->argument, "%s",
             invocation->function->problem->arguments[value->index].name);
}

struct left *left_gather(const struct invocation *invocation)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < invocation->n_values; i++)
        n += (invocation->values[i].datum != NULL) + (invocation->values[i].stayed != NULL);
    struct left *left = n > 0 ? calloc(1, sizeof *left + n * sizeof *left->data) : NULL;
    for (uint32_t i = 0; left && i < invocation->n_values; i++) {
        add(left, invocation, i, false);
        add(left, invocation, i, true);
    }
    return left;
}

size_t left_bytes(const struct left *left)
{
    return left ? sizeof *left + left->n * sizeof *left->data : 0;
}

struct left *left_copy(const struct left *left)
{
    struct left *copy = left ? malloc(left_bytes(left)) : NULL;
    return copy ? memcpy(copy, left, left_bytes(left)) : NULL;
}

struct left *left_join(struct left *left, const struct left *before)
{
    if (!before)
        return left;
    const uint32_t more = left ? left->n : 0;
    struct left *joined = malloc(left_bytes(before) + more * sizeof *before->data);
    if (!joined)
        return left;
    memcpy(joined, before, left_bytes(before));
    if (more > 0)
        memcpy(joined->data + joined->n, left->data, more * sizeof *left->data);
    joined->n += more;
    free(left);
    return joined;
}

bool left_tell(const struct left *left, void *package, const struct esp_session_datum **result, size_t *n)
{
    *n = left ? left->n : 0;
    struct esp_session_datum *data = *n > 0 ? arena_alloc(package_arena(package), *n * sizeof *data) : NULL;
    for (size_t i = 0; data && i < *n; i++) {
        data[i] = (struct esp_session_datum){.argument = package_text(package, left->data[i].argument),
                                             .position = left->data[i].position,
                                             .side = left->data[i].is_output ? ESP_SESSION_OUTPUTS
                                                                             : ESP_SESSION_INPUTS,
                                             .own = left->data[i].own,
                                             .id = package_text(package, left->data[i].id)};
        if (!data[i].argument || !data[i].id)
            return false;
    }
    *result = data;
    return *n == 0 || data;
}
