/* SPDX-License-Identifier: Apache-2.0 */
#include "client/arguments/invocation_bind.h"
#include "client/arguments/contents.h"
#include "client/arguments/invocation_hold.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "values travel as they lie in memory: little-endian"
#endif

uint32_t invocation_count_passed(const struct problem *problem)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        n += argument_is_passed(&problem->arguments[i]);
    return n;
}

enum esp_status invocation_begin(struct invocation *invocation, struct function *function,
                                 struct esp_error *error)
{
    memset(invocation, 0, sizeof *invocation);
    const struct problem *problem = function->problem;
    uint32_t n = invocation_count_passed(problem);
    invocation->values = calloc(n ? n : 1, sizeof *invocation->values);
    if (!invocation->values)
        return error_no_memory(error, "arguments");
    invocation->function = function_use(function);
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (!argument_is_passed(argument))
            continue;
        struct value *value = &invocation->values[invocation->n_values++];
        value->index = i;
        value->form = argument_is_texts(argument)                                     ? VALUE_TEXTS
                      : argument->type == TYPE_STRING || argument->type == TYPE_STATE ? VALUE_TEXT
                      : argument->type == TYPE_FILE                                   ? VALUE_FILE
                      : argument->is_section                                          ? VALUE_SECTION
                      : argument->type == TYPE_CALLBACK                               ? VALUE_FUNCTION
                                                                                      : VALUE_MEMORY;
    }
    return ESP_OK;
}

const struct argument *invocation_argument(const struct invocation *invocation, const struct value *value)
{
    return &invocation->function->problem->arguments[value->index];
}

void invocation_release(struct invocation *invocation)
{
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        free(invocation->values[i].loaded);
        free(invocation->values[i].received);
        free(invocation->values[i].section);
        free(invocation->values[i].datum);
        hold_release(&invocation->values[i]);
    }
    free(invocation->values);
    function_release(invocation->function);
    memset(invocation, 0, sizeof *invocation);
}

/* ---- gathering ---- */

/* A number that C's promotions have made an int. */
static enum esp_status take_promoted(int *number, int least, int most, const struct argument *argument,
                                     va_list *list, struct esp_error *error)
{
    *number = va_arg(*list, int);
    if (*number >= least && *number <= most)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "argument \"%s\" (%s): expected a number from %d to %d, found %d",
                     argument->name, base_type_name(argument->type), least, most, *number);
}

/* A scalar in by value, as C's promotions pass it. */
static enum esp_status take_scalar(struct value *value, const struct argument *argument, va_list *list,
                                   struct esp_error *error)
{
    int promoted;
    enum esp_status status = ESP_OK;
    value->in = value->scalar.bytes;
    switch (argument->type) {
    case TYPE_CHAR: /* signed and unsigned ones */
        status = take_promoted(&promoted, SCHAR_MIN, UCHAR_MAX, argument, list, error);
        *(char *)value->scalar.bytes = (char)promoted;
        break;
    case TYPE_SHORT: {
        status = take_promoted(&promoted, SHRT_MIN, SHRT_MAX, argument, list, error);
        short number = (short)promoted;
        memcpy(value->scalar.bytes, &number, sizeof number);
        break;
    }
    case TYPE_INT: {
        int number = va_arg(*list, int);
        memcpy(value->scalar.bytes, &number, sizeof number);
        break;
    }
    case TYPE_LONG:
    case TYPE_INT64:
        value->scalar.integer = va_arg(*list, int64_t);
        break;
    case TYPE_FLOAT: {
        float number = (float)va_arg(*list, double);
        memcpy(value->scalar.bytes, &number, sizeof number);
        break;
    }
    case TYPE_DOUBLE:
        value->scalar.real = va_arg(*list, double);
        break;
    case TYPE_COMPLEX: {
        float _Complex number = va_arg(*list, float _Complex);
        memcpy(value->scalar.bytes, &number, sizeof number);
        break;
    }
    case TYPE_DOUBLE_COMPLEX: {
        double _Complex number = va_arg(*list, double _Complex);
        memcpy(value->scalar.bytes, &number, sizeof number);
        break;
    }
    case TYPE_STRING:
    case TYPE_FILE:
    case TYPE_STATE:
    case TYPE_CALLBACK:
        break; /* passed by address */
    }
    return status;
}

enum esp_status invocation_place(struct value *value, const struct argument *argument, void *data,
                                 struct esp_error *error)
{
    bool is_data;
    enum esp_status status = hold_take_data(value, argument, data, &is_data, error);
    if (status != ESP_OK || is_data)
        return status;
    if (argument_is_output(argument))
        value->out = data;
    if (!argument_is_input(argument) || !data)
        return ESP_OK;
    if (value->form == VALUE_FILE)
        return contents_load(data, &value->loaded, &value->bytes, error) == ESP_OK
                   ? (value->in = value->loaded, ESP_OK)
                   : error_prefix(error, "argument \"%s\"", argument->name);
    /* Text that comes back is passed by the address of its pointer. */
    value->in = value->form == VALUE_TEXT && argument->mode == MODE_INOUT ? *(char **)data : data;
    if (value->form == VALUE_TEXT && value->in)
        value->bytes = strlen(value->in) + 1;
    return ESP_OK;
}

/* ---- checking ---- */

enum esp_status invocation_from_list(struct invocation *invocation, struct function *function,
                                     const struct room *room, va_list arguments, struct esp_error *error)
{
    struct binding binding;
    va_list list;
    va_copy(list, arguments); /* its address can be passed on everywhere */
    enum esp_status status = invocation_begin(invocation, function, error);
    memset(binding.inputs, 0, sizeof binding.inputs);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        const struct argument *argument = invocation_argument(invocation, value);
        if (invocation_is_plain_scalar(argument) && argument->mode == MODE_IN)
            status = take_scalar(value, argument, &list, error);
        else
            status = invocation_place(value, argument, va_arg(list, void *), error);
        if (argument->n_dims == 0 && argument_is_input(argument))
            binding.inputs[value->index] = value->in;
    }
    va_end(list);
    if (status == ESP_OK) {
        hold_enter(invocation);
        status = invocation_measure(invocation, &binding, error);
    }
    if (status == ESP_OK)
        status = invocation_bind(invocation, &binding, room, error);
    if (status != ESP_OK)
        invocation_release(invocation);
    return status;
}
