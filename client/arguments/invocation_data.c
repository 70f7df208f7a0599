/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments that are data by identity, and results that stay: from a vector's arguments into messages, and
 * back from a server's report.
 */
#include "client/arguments/invocation_data.h"
#include "core/data/datum_section.h"

#include <stdlib.h>
#include <string.h>

static void drop_blanks(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++)
        if (*from != ' ')
            *to++ = *from;
    *to = 0;
}

enum esp_status invocation_take_data(struct value *value, const struct argument *argument,
                                     const struct esp_argument *given, struct esp_error *error)
{
    struct datum_id id;
    struct datum_section section;
    if (given->unwanted && argument->mode == MODE_INOUT && value->form == VALUE_MEMORY &&
        argument->n_dims > 0 && !given->kept)
        value->out = NULL;
    if (!given->datum && !given->kept)
        return ESP_OK;
    const bool strings = value->form == VALUE_TEXTS && argument->type == TYPE_STRING;
    bool whole = value->form == VALUE_MEMORY || strings, cut = value->form == VALUE_SECTION && !given->kept;
    if (argument->n_dims == 0 || !(whole || cut))
        return error_set(
            error, ESP_INVALID, "argument \"%s\": only %sarrays of numbers, characters and strings can %s",
            argument->name, given->kept ? "whole " : "", given->kept ? "stay as data" : "be data");
    if (given->datum && !argument_is_input(argument))
        return error_set(error, ESP_INVALID, "argument \"%s\": it is an output, and no datum goes in",
                         argument->name);
    if (given->kept && !argument_is_output(argument))
        return error_set(error, ESP_INVALID, "argument \"%s\": it is an input, and cannot stay as a result",
                         argument->name);
    if (given->kept && (unsigned)given->kept_mode >= DATUM_N_MODES)
        return error_set(error, ESP_INVALID, "argument \"%s\": expected a mode of data, found %d",
                         argument->name, (int)given->kept_mode);
    value->is_kept = given->kept != NULL;
    value->kept = given->kept;
    value->kept_mode = (uint32_t)given->kept_mode;
    value->kept_flags |= given->kept && given->kept_in_pieces ? DATUM_AS_IT_LIES : 0;
    if (!given->datum)
        return ESP_OK;
    if (datum_reference_parse(given->datum, &id, &section, error) != ESP_OK)
        return error_prefix(error, "argument \"%s\"", argument->name);
    if (strings && section.n_dims > 0)
        return error_set(error, ESP_INVALID, "argument \"%s\": an array of strings is a datum as a whole",
                         argument->name);
    value->in = NULL; /* nothing is sent */
    value->datum = strdup(given->datum);
    if (!value->datum)
        return error_no_memory(error, "the identity of a datum");
    drop_blanks(value->datum); /* blanks separate it from addresses */
    return ESP_OK;
}

enum esp_status invocation_take_stays(struct value *value, const struct problem *problem,
                                      const struct esp_argument *given, struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[value->index];
    if (!given->stays || argument->n_dims == 0 || value->form != VALUE_MEMORY || value->grid)
        return ESP_OK;
    if (problem->abstract)
        return error_set(
            error, ESP_INVALID,
            "%s: argument \"%s\" cannot stay on a server: it goes to another problem, which this "
            "one chooses; call that one",
            problem->name, argument->name);
    if ((unsigned)given->kept_mode >= DATUM_N_MODES)
        return error_set(error, ESP_INVALID, "argument \"%s\": expected a mode of data, found %d",
                         argument->name, (int)given->kept_mode);
    value->stays = given->stays;
    value->kept_mode = (uint32_t)given->kept_mode;
    if ((given->stays & ESP_SESSION_OUTPUTS) && argument_is_output(argument))
        value->is_kept = true;
    return ESP_OK;
}

bool invocation_takes_data(const struct invocation *invocation)
{
    for (uint32_t i = 0; i < invocation->n_values; i++)
        if (invocation->values[i].datum)
            return true;
    return false;
}

bool invocation_lost_datum(enum esp_status status)
{
    return status == ESP_NOT_FOUND || status == ESP_UNREACHABLE;
}

static void put_little(uint8_t *bytes, uint32_t number)
{
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(number >> (8 * i));
}

static bool is_array(const struct value *value)
{
    return value->form != VALUE_TEXTS;
}

/* Results that also come here are put back by the client after they have arrived (client/data/binding.c). */
static bool is_strings(const struct value *value)
{
    return value->form == VALUE_TEXTS && !value->out;
}

static enum esp_status say_kept(const struct invocation *invocation, uint32_t tag,
                                bool (*means)(const struct value *value), struct message *call,
                                struct esp_error *error)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < invocation->n_values; i++)
        n += invocation->values[i].is_kept && means(&invocation->values[i]);
    if (n == 0)
        return ESP_OK;
    struct extensions *extensions = &call->call.extensions;
    struct extension *items = arena_alloc(&call->arena, (extensions->n + 1) * sizeof *items);
    uint8_t *bytes = arena_alloc(&call->arena, n * KEPT_BYTES), *at = bytes;
    if (!items || !bytes)
        return error_no_memory(error, "a call");
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        if (!invocation->values[i].is_kept || !means(&invocation->values[i]))
            continue;
        put_little(at, invocation->values[i].index);
        put_little(at + 4, invocation->values[i].kept_mode);
        put_little(at + 8, invocation->values[i].kept_flags);
        at += KEPT_BYTES;
    }
    if (extensions->n > 0)
        memcpy(items, extensions->items, extensions->n * sizeof *items);
    items[extensions->n] = (struct extension){tag, bytes, n * KEPT_BYTES};
    extensions->items = items;
    extensions->n++;
    return ESP_OK;
}

/* Requests the ends of results that are fetched at the first access, because guards leave the ends out. */
static enum esp_status say_edges(const struct invocation *invocation, struct message *call,
                                 struct esp_error *error)
{
    uint32_t n = 0;
    uint8_t *bytes = arena_alloc(&call->arena, (invocation->n_values + 1) * EDGES_BYTES);
    if (!bytes)
        return error_no_memory(error, "a call");
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        const struct value *value = &invocation->values[i];
        if (!value->wants_edges || !value->is_kept)
            continue;
        uint8_t *item = bytes + n++ * EDGES_BYTES;
        put_little(item, value->index);
        put_little(item + 4, (uint32_t)value->head);
        put_little(item + 8, (uint32_t)value->tail);
    }
    return n == 0 || extension_add(&call->call.extensions, EXTENSION_EDGES, bytes, n * EDGES_BYTES,
                                   &call->arena)
               ? ESP_OK
               : error_no_memory(error, "a call");
}

enum esp_status invocation_say_kept(const struct invocation *invocation, struct message *call,
                                    struct esp_error *error)
{
    enum esp_status status = say_kept(invocation, EXTENSION_KEPT, is_array, call, error);
    if (status == ESP_OK)
        status = say_kept(invocation, EXTENSION_KEPT_TEXTS, is_strings, call, error);
    return status == ESP_OK ? say_edges(invocation, call, error) : status;
}

static uint32_t get_little(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void take_edges(struct invocation *invocation, uint32_t index, uint32_t head, uint32_t tail,
                       const uint8_t *bytes)
{
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        if (value->index != index || !value->wants_edges || value->head != head || value->tail != tail)
            continue;
        free(value->edges);
        value->edges = malloc((size_t)head + tail);
        if (value->edges)
            memcpy(value->edges, bytes, (size_t)head + tail);
    }
}

void invocation_take_edges(struct invocation *invocation, const struct extensions *extensions)
{
    const struct extension *edges = extension_find(extensions, EXTENSION_EDGES);
    for (uint32_t i = 0; i < invocation->n_values; i++) { /* ends of an attempt that was lost */
        free(invocation->values[i].edges);
        invocation->values[i].edges = NULL;
    }
    for (uint64_t at = 0; edges && at + EDGES_BYTES <= edges->length;) {
        const uint8_t *item = edges->value + at;
        const uint32_t head = get_little(item + 4), tail = get_little(item + 8);
        at += EDGES_BYTES + (uint64_t)head + tail;
        if (at <= edges->length)
            take_edges(invocation, get_little(item), head, tail, item + EDGES_BYTES);
    }
}

enum esp_status invocation_take_identity(struct value *value, const struct argument *argument,
                                         const struct call_result *result, struct esp_error *error)
{
    char text[DATUM_TEXT];
    struct datum_id id;
    bool fits = result->kind == KIND_DATUM && result->length < sizeof text;
    if (fits) {
        memcpy(text, result->data, result->length);
        text[result->length] = 0;
    }
    if (!fits || datum_id_parse(text, &id, NULL) != ESP_OK)
        return error_set(error, ESP_PROTOCOL,
                         "result \"%s\": expected the identity of a datum, found kind %u", argument->name,
                         result->kind);
    free(value->stayed);
    value->stayed = strdup(text);
    return value->stayed ? ESP_OK : error_no_memory(error, "the identity of a datum");
}
