/* SPDX-License-Identifier: Apache-2.0 */
#include "client/invocation.h"
#include "client/contents.h"
#include "client/invocation_data.h"
#include "client/invocation_hold.h"
#include "client/sequence.h"
#include "core/texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "values travel as they lie in memory: little-endian"
#endif

static uint32_t count_passed(const struct problem *problem)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        n += argument_is_passed(&problem->arguments[i]);
    return n;
}

static enum esp_status begin(struct invocation *invocation, struct function *function,
                             struct esp_error *error)
{
    memset(invocation, 0, sizeof *invocation);
    const struct problem *problem = function->problem;
    uint32_t n = count_passed(problem);
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

static const struct argument *argument_of(const struct invocation *invocation, const struct value *value)
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

/* A scalar in by value, as C's promotions pass it. */
static void take_scalar(struct value *value, enum base_type type, va_list *list)
{
    value->in = value->scalar.bytes;
    switch (type) {
    case TYPE_CHAR:
        *(char *)value->scalar.bytes = (char)va_arg(*list, int);
        break;
    case TYPE_SHORT: {
        short number = (short)va_arg(*list, int);
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
}

/* Sets where a value that is passed by address comes from and goes to. */
static enum esp_status place(struct value *value, const struct argument *argument, void *data,
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

struct binding {
    const void *inputs[PROBLEM_MAX_ARGUMENTS]; /* scalar inputs by the description's index */
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
};

static bool is_plain_scalar(const struct argument *argument)
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
    if (!argument_is_input(argument) || value->in || value->datum || value->grid)
        return ESP_OK;
    if (is_array_or_number(value) && (value->bytes == 0 || argument->initial))
        return ESP_OK;
    return error_set(
        error, ESP_INVALID, "argument \"%s\": expected %s, found a null pointer%s", argument->name,
        value->form == VALUE_FUNCTION ? "the address of a function" : "a pointer to its value",
        argument->mode == MODE_INOUT ? ", which stands for an unwanted result: this one is an input too"
                                     : "");
}

/* An array that was left out: every element has the default. */
static enum esp_status fill_default(const struct problem *problem, struct value *value,
                                    const struct number *scope, struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[value->index];
    if (argument->n_dims == 0 || !argument_is_input(argument) || !argument->initial || value->in ||
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
    if (!argument_is_input(argument))
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

/* With the scalar inputs known: sizes, preconditions, cost. */
static enum esp_status bind(struct invocation *invocation, struct binding *binding, struct esp_error *error)
{
    const struct problem *problem = invocation->function->problem;
    enum esp_status status = problem_bind(problem, binding->inputs, binding->scope, binding->shapes, error);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        if (is_array_or_number(value))
            value->bytes = binding->shapes[value->index].bytes;
        status = hold_check(value, problem, binding->scope, &binding->shapes[value->index], error);
        if (status != ESP_OK)
            break;
        status = value->form == VALUE_TEXTS ? take_texts(problem, value, binding, error)
                                            : check_present(argument_of(invocation, value), value, error);
        if (status == ESP_OK)
            status = fill_default(problem, value, binding->scope, error);
        if (status == ESP_OK && value->form == VALUE_SECTION)
            status = take_section(problem, value, binding, error);
        if (status == ESP_OK)
            status = take_home(invocation, value, argument_of(invocation, value), error);
        invocation->memory_bytes += is_array_or_number(value) ? 0 : value->bytes;
    }
    for (uint32_t i = 0; status == ESP_OK && i < problem->n_arguments; i++)
        invocation->memory_bytes += binding->shapes[i].bytes + binding->shapes[i].whole_bytes;
    uint64_t extra = 0;
    if (status == ESP_OK)
        status = check_contents(invocation, binding, error);
    if (status == ESP_OK)
        status = problem_memory(problem, binding->scope, &extra, error);
    if (status == ESP_OK)
        status = problem_work(problem, binding->scope, &invocation->work_flop, error);
    invocation->memory_bytes += extra;
    return status;
}

enum esp_status invocation_from_list(struct invocation *invocation, struct function *function,
                                     va_list arguments, struct esp_error *error)
{
    struct binding binding;
    va_list list;
    va_copy(list, arguments); /* its address can be passed on everywhere */
    enum esp_status status = begin(invocation, function, error);
    memset(binding.inputs, 0, sizeof binding.inputs);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        const struct argument *argument = argument_of(invocation, value);
        if (is_plain_scalar(argument) && argument->mode == MODE_IN)
            take_scalar(value, argument->type, &list);
        else
            status = place(value, argument, va_arg(list, void *), error);
        if (argument->n_dims == 0 && argument_is_input(argument))
            binding.inputs[value->index] = value->in;
    }
    va_end(list);
    if (status == ESP_OK)
        status = bind(invocation, &binding, error);
    if (status != ESP_OK)
        invocation_release(invocation);
    return status;
}

/* ---- vectors ---- */

static enum esp_status check_count(const struct problem *problem, size_t n, struct esp_error *error)
{
    uint32_t expected = count_passed(problem);
    if (n == expected)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "%s: expected %u arguments, found %zu", problem->name, expected, n);
}

static bool is_integer(enum base_type type)
{
    return type <= TYPE_INT64;
}

/* A completed scalar as the description's type. */
static enum esp_status store_completed(struct value *value, const struct argument *argument,
                                       const struct esp_argument *given, struct esp_error *error)
{
    struct number number = {.kind = NUMBER_REAL, .real = given->value.real};
    if (is_integer(argument->type))
        number = (struct number){.kind = NUMBER_INTEGER, .integer = given->value.integer};
    enum esp_status status = number_store(&number, argument->type, value->scalar.bytes, error);
    if (status != ESP_OK)
        error_prefix(error, "argument \"%s\"", argument->name);
    value->in = value->scalar.bytes;
    return status;
}

static enum esp_status check_type(const struct argument *argument, const struct esp_argument *given,
                                  struct esp_error *error)
{
    enum esp_type expected = (enum esp_type)(argument->type + 1);
    bool both_long = (expected == ESP_TYPE_LONG || expected == ESP_TYPE_INT64) &&
                     (given->type == ESP_TYPE_LONG || given->type == ESP_TYPE_INT64);
    if (given->type == ESP_TYPE_ANY || given->type == expected || both_long)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "argument \"%s\": expected %s, found %s", argument->name,
                     esp_type_name(expected), esp_type_name(given->type));
}

/* "3 x 4" */
static void extents_text(const int64_t *dims, unsigned n, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (unsigned i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, i ? " x %lld" : "%lld", (long long)dims[i]);
}

static enum esp_status check_extents(const struct argument *argument, const struct shape *shape,
                                     const struct esp_argument *given, struct esp_error *error)
{
    if (given->n_dims == 0 || !given->data)
        return ESP_OK;
    if (given->n_dims > ESP_MAX_DIMS)
        return error_set(error, ESP_INVALID, "argument \"%s\": expected at most %d dimensions, found %u",
                         argument->name, ESP_MAX_DIMS, given->n_dims);
    /* A column may be given as a matrix of one column, and the other way round. */
    bool equal = true;
    for (unsigned i = 0; i < given->n_dims || i < shape->n_dims; i++) {
        int64_t expected = i < shape->n_dims ? shape->dims[i] : 1;
        equal &= expected == (i < given->n_dims ? given->dims[i] : 1);
    }
    if (equal)
        return ESP_OK;
    char wanted[160], found[160];
    extents_text(shape->dims, shape->n_dims, wanted, sizeof wanted);
    extents_text(given->dims, given->n_dims, found, sizeof found);
    return error_set(error, ESP_INVALID, "argument \"%s\": expected %s, found %s", argument->name,
                     shape->n_dims ? wanted : "a scalar", found);
}

enum esp_status invocation_from_vector(struct invocation *invocation, struct function *function,
                                       const struct esp_argument *arguments, size_t n_arguments,
                                       struct esp_error *error)
{
    struct binding binding;
    struct esp_argument completed[ESP_MAX_ARGUMENTS];
    enum esp_status status = check_count(function->problem, n_arguments, error);
    if (status != ESP_OK)
        return status;
    memcpy(completed, arguments, n_arguments * sizeof *completed);
    status = invocation_complete(function->problem, completed, n_arguments, error);
    if (status == ESP_OK)
        status = begin(invocation, function, error);
    if (status != ESP_OK)
        return status;
    memset(binding.inputs, 0, sizeof binding.inputs);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        const struct argument *argument = argument_of(invocation, value);
        if (completed[i].completed && !completed[i].data)
            status = store_completed(value, argument, &completed[i], error);
        else
            status = place(value, argument, completed[i].data, error);
        if (status == ESP_OK)
            status = invocation_take_data(value, argument, &completed[i], error);
        if (argument->n_dims == 0 && argument_is_input(argument))
            binding.inputs[value->index] = value->in;
        if (is_plain_scalar(argument) && argument->mode == MODE_IN && value->in &&
            value->in != value->scalar.bytes) {
            /* By value: the caller may reuse its variable while the session runs. */
            memcpy(value->scalar.bytes, value->in, base_type_size(argument->type));
            binding.inputs[value->index] = value->in = value->scalar.bytes;
        }
    }
    if (status == ESP_OK)
        status = bind(invocation, &binding, error);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++)
        status = check_extents(argument_of(invocation, &invocation->values[i]),
                               &binding.shapes[invocation->values[i].index], &arguments[i], error);
    if (status != ESP_OK)
        invocation_release(invocation);
    return status;
}

void invocation_known_inputs(const struct problem *problem, const void *const *scalars, const void **inputs)
{
    static const unsigned char something[16];
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        bool is_text = argument->n_dims == 0 && !is_plain_scalar(argument) && argument_is_input(argument);
        inputs[i] = is_text ? something : scalars[i];
    }
}

enum esp_status invocation_for_results(struct invocation *invocation, struct function *function,
                                       const void *const *scalars, const struct esp_argument *arguments,
                                       size_t n_arguments, struct esp_error *error)
{
    const struct problem *problem = function->problem;
    struct binding binding;
    enum esp_status status = check_count(problem, n_arguments, error);
    if (status != ESP_OK || (status = begin(invocation, function, error)) != ESP_OK)
        return status;
    invocation_known_inputs(problem, scalars, binding.inputs);
    status = problem_bind(problem, binding.inputs, binding.scope, binding.shapes, error);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        const struct argument *argument = argument_of(invocation, value);
        if (value->form == VALUE_MEMORY)
            value->bytes = binding.shapes[value->index].bytes;
        if (argument_is_output(argument) && arguments[i].kept) {
            value->is_kept = true;
            value->kept = arguments[i].kept;
        }
        if (!argument_is_output(argument) || !arguments[i].data)
            continue;
        bool is_data;
        status = hold_take_data(value, argument, arguments[i].data, &is_data, error);
        if (is_data || status != ESP_OK)
            continue;
        value->out = arguments[i].data;
        status = check_type(argument, &arguments[i], error);
        if (status == ESP_OK)
            status = check_extents(argument, &binding.shapes[value->index], &arguments[i], error);
    }
    if (status != ESP_OK)
        invocation_release(invocation);
    return status;
}

/* ---- completing ---- */

/* Writes an inferred or default scalar where problem_bind() reads it. */
static void number_scalar(struct esp_argument *given, enum base_type type, const struct number *number)
{
    given->completed = 1;
    memset(&given->value, 0, sizeof given->value);
    if (is_integer(type))
        given->value.integer = number->kind == NUMBER_INTEGER ? number->integer : (int64_t)number->real;
    else
        given->value.real = number->kind == NUMBER_REAL ? number->real : (double)number->integer;
}

struct completion {
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    const int64_t *known_dims[PROBLEM_MAX_ARGUMENTS];
    uint32_t n_known[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
};

static bool has_open_extents(const struct esp_argument *given)
{
    bool open = given->n_dims == 0;
    for (unsigned d = 0; d < given->n_dims && d < ESP_MAX_DIMS; d++)
        open |= given->dims[d] == -1;
    return open;
}

/* Evaluates the extents of the arrays that were given none. */
static enum esp_status complete_extents(const struct problem *problem, struct completion *work,
                                        struct esp_argument *arguments, struct esp_error *error)
{
    struct scope scope = {work->scope, problem->n_arguments};
    for (uint32_t i = 0, k = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (!argument_is_passed(argument))
            continue;
        struct esp_argument *given = &arguments[k++];
        if (argument->n_dims == 0 || !has_open_extents(given))
            continue;
        for (uint32_t d = 0; d < argument->n_dims; d++) {
            if (d < given->n_dims && given->dims[d] != -1)
                continue;
            enum esp_status status = expr_eval_size(argument->dims[d], &scope, &given->dims[d], error);
            if (status != ESP_OK) {
                error_prefix(error, "argument \"%s\"", argument->name);
                return status;
            }
        }
        given->n_dims = argument->n_dims;
    }
    return ESP_OK;
}

enum esp_status invocation_complete(const struct problem *problem, struct esp_argument *arguments,
                                    size_t n_arguments, struct esp_error *error)
{
    struct completion work;
    enum esp_status status = check_count(problem, n_arguments, error);
    memset(&work, 0, sizeof work);
    bool missing = false, extents = false;
    for (uint32_t i = 0, k = 0; status == ESP_OK && i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (!argument_is_passed(argument))
            continue;
        struct esp_argument *given = &arguments[k++];
        status = check_type(argument, given, error);
        if (is_plain_scalar(argument) && argument_is_input(argument)) {
            if (given->data)
                work.scope[i] = number_load(argument->type, given->data);
            missing |= !given->data;
        } else if (argument->n_dims > 0) {
            if (given->n_dims > 0 && given->n_dims <= ESP_MAX_DIMS) {
                work.known_dims[i] = given->dims;
                work.n_known[i] = given->n_dims;
            }
            extents |= has_open_extents(given);
        }
    }
    if (status != ESP_OK)
        return status;
    if (missing) {
        status = problem_infer(problem, work.known_dims, work.n_known, work.scope, error);
        for (uint32_t i = 0, k = 0; status == ESP_OK && i < problem->n_arguments; i++) {
            const struct argument *argument = &problem->arguments[i];
            if (!argument_is_passed(argument))
                continue;
            struct esp_argument *given = &arguments[k++];
            if (is_plain_scalar(argument) && argument_is_input(argument) && !given->data &&
                work.scope[i].kind != NUMBER_UNKNOWN)
                number_scalar(given, argument->type, &work.scope[i]);
        }
    }
    if (status != ESP_OK || !extents)
        return status;
    /* What the caller got wrong, before what follows from it. */
    status = problem_check_known(problem, work.scope, error);
    return status == ESP_OK ? complete_extents(problem, &work, arguments, error) : status;
}
