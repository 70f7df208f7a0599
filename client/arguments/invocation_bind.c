/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments against the description: sizes, what is missing, what is checked here already.
 */
#include "client/arguments/invocation_bind.h"
#include "client/arguments/contents.h"
#include "client/arguments/invocation_fill.h"
#include "client/arguments/invocation_hold.h"
#include "core/problem/problem_callback.h"
#include "client/room.h"
#include "core/problem/texts.h"

#include <stdlib.h>
#include <string.h>

bool invocation_is_plain_scalar(const struct argument *argument)
{
    return argument->n_dims == 0 && !base_type_is_variable(argument->type);
}

/* Its bytes follow from the scalars. */
static bool is_array_or_number(const struct value *value)
{
    return value->form == VALUE_MEMORY || value->form == VALUE_SECTION;
}

/* An input must have a value, unless it is empty or has a default. */
static enum esp_status check_present(const struct argument *argument, const struct value *value,
                                     struct esp_error *error)
{
    if (!value_goes_in(value, argument) || value->in || value->datum || value->grid)
        return ESP_OK;
    if (is_array_or_number(value) && (value->bytes == 0 || argument->initial))
        return ESP_OK;
    return error_set(
        error, ESP_INVALID, "argument \"%s\": expected %s, found a null pointer%s", argument->name,
        value->form == VALUE_FUNCTION ? "the address of a function" : "a pointer to its value",
        argument->mode == MODE_INOUT ? ", which stands for an unwanted result: this one is an input too"
                                     : "");
}

/* What the call does not read is not sent, nor fetched from where it lives. */
static void leave_unread(struct value *value, const struct shape *shape)
{
    if (!shape->unread)
        return;
    value->unread = true;
    value->in = NULL;
    free(value->datum);
    value->datum = NULL;
    holding_release(value->held);
    value->held = NULL;
}

/* An array that was left out: every element has the default. */
static enum esp_status fill_default(const struct problem *problem, struct value *value,
                                    const struct number *scope, struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[value->index];
    if (argument->n_dims == 0 || !value_goes_in(value, argument) || !argument->initial || value->in ||
        value->datum || value->grid || !is_array_or_number(value) || value->bytes == 0)
        return ESP_OK;
    unsigned char raw[16];
    size_t size = base_type_size(argument->type);
    enum esp_status status = problem_default(problem, value->index, scope, raw, error);
    if (status != ESP_OK)
        return status;
    char *filled = malloc(value->bytes);
    if (!filled)
        return error_no_memory(error, argument->name);
    for (uint64_t at = 0; at < value->bytes; at += size)
        memcpy(filled + at, raw, size);
    value->in = value->loaded = filled;
    return ESP_OK;
}

/* A function is called when the values of the call may be others already. */
static enum esp_status take_outer(const struct problem *problem, struct value *value,
                                  const struct number *scope, struct esp_error *error)
{
    const struct problem *callback = problem->arguments[value->index].callback;
    if (callback->n_outer == 0)
        return ESP_OK;
    value->loaded = calloc(CALLBACK_MAX_OUTER, sizeof(uint64_t));
    return value->loaded ? callback_outer_values(callback, scope, value->loaded, error)
                         : error_no_memory(error, "a callback");
}

/* What is sent of an array is gathered now, and its places are remembered for what comes back. */
static enum esp_status take_section(const struct problem *problem, struct value *value,
                                    const struct binding *binding, struct esp_error *error)
{
    value->section = malloc(sizeof *value->section);
    if (!value->section)
        return error_no_memory(error, "an argument");
    enum esp_status status = problem_section(problem, value->index, binding->scope,
                                             binding->shapes[value->index].dims, value->section, error);
    if (status != ESP_OK || !value->in || value->loaded)
        return status;
    value->loaded = malloc(value->bytes ? value->bytes : 1);
    if (!value->loaded)
        return error_no_memory(error, "an argument");
    section_gather(value->section, value->in, value->loaded);
    value->in = value->loaded;
    return ESP_OK;
}

/* Files are read, texts are copied: what the caller has may change while the session runs. */
static enum esp_status gather_item(const struct argument *argument, uint64_t index, const char *text,
                                   struct text_item *item, struct esp_error *error)
{
    if (!text)
        return error_set(error, ESP_INVALID, "argument \"%s\": element %llu is a null pointer",
                         argument->name, (unsigned long long)index + 1);
    if (argument->type == TYPE_STRING) {
        *item = (struct text_item){.bytes = text, .length = strlen(text)};
        return ESP_OK;
    }
    void *loaded;
    enum esp_status status = contents_load(text, &loaded, &item->length, error);
    if (status != ESP_OK)
        return error_prefix(error, "argument \"%s\"", argument->name);
    item->bytes = loaded;
    return ESP_OK;
}

static enum esp_status take_texts(const struct problem *problem, struct value *value,
                                  const struct binding *binding, struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[value->index];
    uint64_t n = value->n_texts = binding->shapes[value->index].count, gathered = 0;
    const char *const *texts = value->in;
    if (!argument_is_input(argument) || value->datum || value->grid)
        return ESP_OK;
    if (!texts && n > 0)
        return error_set(error, ESP_INVALID,
                         "argument \"%s\": expected an array of %llu pointers, found a null pointer",
                         argument->name, (unsigned long long)n);
    struct text_item *items = calloc(n ? n : 1, sizeof *items);
    enum esp_status status = items ? ESP_OK : error_no_memory(error, argument->name);
    for (; status == ESP_OK && gathered < n; gathered++)
        status = gather_item(argument, gathered, texts[gathered], &items[gathered], error);
    if (status == ESP_OK)
        status = texts_pack(items, n, &value->loaded, &value->bytes, error);
    for (uint64_t i = 0; argument->type == TYPE_FILE && items && i < gathered; i++)
        free((void *)(uintptr_t)items[i].bytes);
    free(items);
    value->in = value->loaded;
    return status;
}

static enum esp_status check_contents(const struct invocation *invocation, const struct binding *binding,
                                      struct esp_error *error)
{
    const void *data[PROBLEM_MAX_ARGUMENTS] = {0};
    for (uint32_t i = 0; i < invocation->n_values; i++)
        if (is_array_or_number(&invocation->values[i]))
            data[invocation->values[i].index] = invocation->values[i].in;
    return problem_check_contents(invocation->function->problem, data, binding->scope, binding->shapes,
                                  error);
}

/* A state is on the server that its identity names, and calls that work on it must go there. */
static enum esp_status take_home(struct invocation *invocation, const struct value *value,
                                 const struct argument *argument, struct esp_error *error)
{
    if (argument->type != TYPE_STATE || !argument_is_input(argument) || !value->in)
        return ESP_OK;
    const char *text = value->in, *at = strchr(text, '@');
    if (!at || strncmp(text, "state:", 6) != 0 || strlen(at + 1) > CAP_NAME || !at[1])
        return error_set(error, ESP_INVALID,
                         "argument \"%s\": expected a state, as state:ID@SERVER, found \"%.80s\"",
                         argument->name, text);
    strcpy(invocation->home, at + 1);
    return ESP_OK;
}

enum esp_status invocation_measure(struct invocation *invocation, struct binding *binding,
                                   struct esp_error *error)
{
    return problem_bind(invocation->function->problem, binding->inputs, binding->scope, binding->shapes,
                        error);
}

enum esp_status invocation_bind(struct invocation *invocation, struct binding *binding,
                                const struct room *room, struct esp_error *error)
{
    const struct problem *problem = invocation->function->problem;
    enum esp_status status = room_check(room, invocation->function, binding->scope, binding->shapes, error);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        if (is_array_or_number(value))
            value->bytes = binding->shapes[value->index].bytes;
        leave_unread(value, &binding->shapes[value->index]);
        status = hold_check(value, problem, binding->scope, &binding->shapes[value->index], error);
        if (status != ESP_OK)
            break;
        status = value->form == VALUE_TEXTS
                     ? take_texts(problem, value, binding, error)
                     : check_present(invocation_argument(invocation, value), value, error);
        if (status == ESP_OK && value->form == VALUE_TEXTS)
            status =
                hold_check_strings(value, problem, binding->scope, &binding->shapes[value->index], error);
        if (status == ESP_OK)
            status = fill_default(problem, value, binding->scope, error);
        if (status == ESP_OK && value->form == VALUE_FUNCTION)
            status = take_outer(problem, value, binding->scope, error);
        if (status == ESP_OK && value->form == VALUE_SECTION)
            status = take_section(problem, value, binding, error);
        if (status == ESP_OK)
            status = take_home(invocation, value, invocation_argument(invocation, value), error);
        invocation->memory_bytes += is_array_or_number(value) ? 0 : value->bytes;
    }
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        status = hold_check_result(value, problem, binding->scope, &binding->shapes[value->index], error);
    }
    for (uint32_t i = 0; status == ESP_OK && i < problem->n_arguments; i++)
        invocation->memory_bytes += binding->shapes[i].bytes + binding->shapes[i].whole_bytes;
    uint64_t extra = 0;
    if (status == ESP_OK)
        status = check_contents(invocation, binding, error);
    for (uint32_t i = 0; status == ESP_OK && i < problem->n_arguments; i++) {
        struct fill fill;
        if (invocation_fill(invocation, i, &binding->shapes[i], &fill))
            binding->scope[i] = fill_number(&fill);
    }
    if (status == ESP_OK)
        status = problem_memory(problem, binding->scope, &extra, error);
    if (status == ESP_OK)
        status = problem_work(problem, binding->scope, &invocation->work_flop, error);
    invocation->memory_bytes += extra;
    return status;
}
