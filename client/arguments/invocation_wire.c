/* SPDX-License-Identifier: Apache-2.0
 *
 * What an invocation looks like in messages, and how results find their way back.
 */
#include "client/arguments/invocation.h"
#include "client/arguments/contents.h"
#include "client/arguments/invocation_data.h"
#include "client/arguments/invocation_fill.h"
#include "core/data/datum_section.h"
#include "core/problem/texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All inline arguments of one call: the message stays below its cap with room to spare. */
#define INLINE_TOTAL ((uint64_t)4 << 20)

/* Results of variable length are bounded by what a client is willing to hold. */
#define MOST_VARIABLE ((uint64_t)1 << 40)

static const struct argument *argument_of(const struct invocation *invocation, const struct value *value)
{
    return &invocation->function->problem->arguments[value->index];
}

/* The value of a scalar input as expressions see it; false when no expression can use it. */
static bool scalar_value(const struct argument *argument, const struct value *value,
                         struct scalar_value *scalar)
{
    if (argument->n_dims > 0 || !argument_is_input(argument) || !value->in || argument->type > TYPE_DOUBLE)
        return false;
    struct number number = number_load(argument->type, value->in);
    *scalar = (struct scalar_value){.index = value->index,
                                    .is_real = number.kind == NUMBER_REAL,
                                    .integer = number.integer,
                                    .real = number.real};
    return number.kind != NUMBER_UNKNOWN;
}

/* Without the section and the addresses that calls carry; "": the value comes from here. */
static const char *identity_of(const struct value *value, struct arena *arena)
{
    char text[DATUM_TEXT], reference[DATUM_REFERENCE_TEXT];
    struct datum_id id;
    struct datum_section section;
    if (!value->datum)
        return "";
    snprintf(reference, sizeof reference, "%.*s", (int)strcspn(value->datum, " "), value->datum);
    return datum_reference_parse(reference, &id, &section, NULL) == ESP_OK
               ? arena_strdup(arena, datum_id_text(&id, text))
               : "";
}

enum esp_status invocation_request(const struct invocation *invocation, struct message *submit,
                                   struct esp_error *error)
{
    struct request *request = &submit->submit.request;
    uint32_t n = invocation->n_values;
    request->problem = invocation->function->problem->name;
    request->digest = invocation->function->digest;
    request->work_flop = invocation->work_flop;
    request->memory_bytes = invocation->memory_bytes;
    request->scalars = arena_alloc(&submit->arena, n * sizeof *request->scalars);
    request->arguments = arena_alloc(&submit->arena, n * sizeof *request->arguments);
    if (!request->scalars || !request->arguments)
        return error_no_memory(error, "a request");
    for (uint32_t i = 0; i < n; i++) {
        const struct value *value = &invocation->values[i];
        const struct argument *argument = argument_of(invocation, value);
        bool stays = value->is_kept && !value_goes_in(value, argument);
        request->arguments[i] = (struct argument_attribute){.index = value->index,
                                                            .mode = value->unread ? MODE_OUT : argument->mode,
                                                            .bytes = stays ? 0 : value->bytes,
                                                            .holder = value->holder,
                                                            .datum = identity_of(value, &submit->arena)};
        if (!request->arguments[i].datum)
            return error_no_memory(error, "a request");
        if (scalar_value(argument, value, &request->scalars[request->n_scalars]))
            request->n_scalars++;
    }
    request->n_arguments = n;
    return ESP_OK;
}

void invocation_split(struct invocation *invocation, uint64_t inline_bytes)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        bool small = value->bytes <= inline_bytes && total + value->bytes <= INLINE_TOTAL;
        value->bulk = value->in && !small && value->form != VALUE_FUNCTION;
        if (value->in && small)
            total += value->bytes;
    }
}

enum esp_status invocation_arguments(const struct invocation *invocation, struct message *call,
                                     struct esp_error *error)
{
    struct call_argument *arguments =
        arena_alloc(&call->arena, invocation->n_values * sizeof *call->call.arguments);
    if (!arguments)
        return error_no_memory(error, "the arguments of a call");
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        const struct value *value = &invocation->values[i];
        const struct argument *argument = argument_of(invocation, value);
        struct call_argument *sent = &arguments[i];
        *sent = (struct call_argument){.index = value->index, .bytes = value->bytes};
        if (value->form == VALUE_FUNCTION) {
            sent->kind = KIND_ABSENT; /* the server asks for what it says */
        } else if (value->datum) {
            sent->kind = KIND_DATUM;
            sent->data = (const uint8_t *)value->datum;
            sent->length = (uint32_t)strlen(value->datum);
        } else if (!value_goes_in(value, argument)) {
            sent->kind = value->out || value->is_kept ? KIND_WANTED : KIND_ABSENT;
        } else if (!value->in && value->bytes > 0) {
            sent->kind = KIND_ABSENT; /* its default */
            sent->bytes = 0;
        } else if (value->bulk) {
            sent->kind = KIND_BULK;
        } else {
            sent->kind = KIND_INLINE;
            sent->data = value->in;
            sent->length = (uint32_t)value->bytes;
        }
    }
    call->call.arguments = arguments;
    call->call.n_arguments = invocation->n_values;
    enum esp_status status = invocation_say_fill(invocation, call, error);
    return status == ESP_OK ? invocation_say_kept(invocation, call, error) : status;
}

static struct value *find_value(struct invocation *invocation, uint32_t index)
{
    for (uint32_t i = 0; i < invocation->n_values; i++)
        if (invocation->values[i].index == index)
            return &invocation->values[i];
    return NULL;
}

/* Where the bytes of a result go: the caller's memory, or ours when its length was not known before. */
static enum esp_status destination(struct value *value, const struct argument *argument, uint64_t bytes,
                                   void **memory, struct esp_error *error)
{
    bool is_known = value->form == VALUE_MEMORY || value->form == VALUE_SECTION;
    if (is_known && bytes != value->bytes)
        return error_set(error, ESP_PROTOCOL, "result \"%s\": expected %llu bytes, found %llu",
                         argument->name, (unsigned long long)value->bytes, (unsigned long long)bytes);
    if (value->form == VALUE_MEMORY) {
        *memory = value->out;
        return ESP_OK;
    }
    if (bytes > MOST_VARIABLE)
        return error_set(error, ESP_PROTOCOL, "result \"%s\": %llu bytes announced", argument->name,
                         (unsigned long long)bytes);
    free(value->received);
    value->received = malloc((size_t)bytes + 1);
    if (!value->received)
        return error_no_memory(error, argument->name);
    ((char *)value->received)[bytes] = 0;
    value->n_received = bytes;
    *memory = value->received;
    return ESP_OK;
}

static bool overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes)
{
    return (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

bool invocation_overwrites(const struct invocation *invocation, const struct value *output)
{
    if (output->form != VALUE_MEMORY || !output->out)
        return false; /* it is handed out when all has come */
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        const struct value *value = &invocation->values[i];
        if (value->in && overlap(value->in, value->bytes, output->out, output->bytes))
            return true;
    }
    return false;
}

static enum esp_status take_result(struct invocation *invocation, const struct call_result *result,
                                   struct esp_error *error)
{
    struct value *value = find_value(invocation, result->index);
    const struct argument *argument = value ? argument_of(invocation, value) : NULL;
    if (!value || !argument_is_output(argument))
        return error_set(error, ESP_PROTOCOL, "result %u is no output of %s", result->index,
                         invocation->function->problem->name);
    if ((value->is_kept && value->form != VALUE_TEXTS) || result->kind == KIND_DATUM)
        return invocation_take_identity(value, argument, result, error);
    if (!value->out && !value->is_kept)
        return ESP_OK; /* nobody wants it */
    void *memory = NULL;
    enum esp_status status = destination(value, argument, result->bytes, &memory, error);
    if (status != ESP_OK)
        return status;
    if (result->kind == KIND_BULK) {
        value->fetch = value->lent_out ? 0 : result->bytes;
        return ESP_OK;
    }
    if (result->kind != KIND_INLINE || result->length != result->bytes)
        return error_set(error, ESP_PROTOCOL, "result \"%s\": kind %u with %u of %llu bytes", argument->name,
                         result->kind, result->length, (unsigned long long)result->bytes);
    invocation->consumed |= invocation_overwrites(invocation, value);
    if (result->length > 0)
        memcpy(memory, result->data, result->length);
    return ESP_OK;
}

enum esp_status invocation_results(struct invocation *invocation, const struct call_result *results,
                                   uint32_t n_results, struct esp_error *error)
{
    uint64_t seen = 0;
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; status == ESP_OK && i < n_results; i++) {
        status = take_result(invocation, &results[i], error);
        if (status == ESP_OK)
            seen |= UINT64_C(1) << results[i].index;
    }
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        const struct value *value = &invocation->values[i];
        const struct argument *argument = argument_of(invocation, value);
        bool expected = argument_is_output(argument) && (value->out || value->is_kept) &&
                        (value->form != VALUE_MEMORY || value->bytes > 0);
        if (expected && !(seen >> value->index & 1))
            status = error_set(error, ESP_PROTOCOL, "the server sent no result \"%s\"", argument->name);
    }
    return status;
}

/* Each text becomes the caller's, each file is written, unless its pointer is null. */
static enum esp_status finish_texts(struct invocation *invocation, const struct value *value,
                                    struct esp_error *error)
{
    const struct argument *argument = argument_of(invocation, value);
    bool strings = argument->type == TYPE_STRING;
    char **texts = value->out;
    struct text_item item = {0};
    enum esp_status status = texts_check(value->received, value->n_received, value->n_texts, strings, error);
    if (status != ESP_OK) {
        error_prefix(error, "result \"%s\"", argument->name);
        error->status = ESP_PROTOCOL;
        return ESP_PROTOCOL;
    }
    for (uint64_t i = 0; status == ESP_OK && texts && i < value->n_texts; i++) {
        texts_next(value->received, i, &item);
        if (strings && !(texts[i] = strdup(item.bytes)))
            status = error_no_memory(error, argument->name);
        else if (!strings && texts[i])
            status = contents_save(texts[i], item.bytes, item.length, error);
    }
    return status;
}

enum esp_status invocation_finish(struct invocation *invocation, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        const bool is_kept = value->is_kept && value->form == VALUE_TEXTS;
        if (!value->received || (!value->out && !is_kept))
            continue;
        if (value->form == VALUE_FILE) {
            status = contents_save(value->out, value->received, value->n_received, error);
        } else if (value->form == VALUE_TEXTS) {
            status = finish_texts(invocation, value, error);
        } else if (value->form == VALUE_SECTION) {
            section_scatter(value->section, value->received, value->out);
        } else {
            *(char **)value->out = value->received;
            value->received = NULL;
        }
    }
    return status;
}
