/* SPDX-License-Identifier: Apache-2.0 */
#include "client/arguments/invocation.h"
#include "util/contents.h"
#include "client/arguments/describe.h"
#include "client/arguments/hooks.h"
#include "client/arguments/invocation_data.h"
#include "core/data/datum_section.h"
#include "core/problem/fill.h"
#include "core/problem/problem_callback.h"
#include "core/problem/texts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values derived from scalar inputs. */
struct binding {
    const void *inputs[PROBLEM_MAX_ARGUMENTS]; /* scalar inputs by the description's index */
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
};

static bool invocation_is_plain_scalar(const struct argument *argument);
static enum esp_status invocation_measure(struct invocation *invocation, struct binding *binding,
                                          struct esp_error *error);
static enum esp_status invocation_bind(struct invocation *invocation, struct binding *binding,
                                       const struct room *room, struct esp_error *error);

/* The elements of an array in memory, and their number; NULL: it is not in memory. */
static const void *array_of(const struct invocation *invocation, uint32_t index, uint64_t *n)
{
    const struct argument *argument = &invocation->function->problem->arguments[index];
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        const struct value *value = &invocation->values[i];
        if (value->index != index || value->form != VALUE_MEMORY || value->datum || !value->in)
            continue;
        *n = value->bytes / base_type_size(argument->type);
        return value->in;
    }
    return NULL;
}

bool invocation_fill_matters(const struct problem *problem, uint32_t index)
{
    const struct argument *argument = &problem->arguments[index];
    const bool compressed = argument->storage == STORAGE_CSC || argument->storage == STORAGE_CSR;
    return compressed && argument_is_input(argument) &&
           ((problem->work && expr_uses(problem->work, index)) ||
            (problem->memory && expr_uses(problem->memory, index)));
}

static bool fill_of(const struct invocation *invocation, uint32_t index, struct fill *fill)
{
    const struct problem *problem = invocation->function->problem;
    const struct argument *argument = &problem->arguments[index];
    const bool wide = problem->arguments[argument->pointers].type != TYPE_INT;
    uint64_t n_pointers = 0, n_indices = 0;
    if (wide != (problem->arguments[argument->indices].type != TYPE_INT))
        return false;
    const void *pointers = array_of(invocation, argument->pointers, &n_pointers),
               *indices = array_of(invocation, argument->indices, &n_indices);
    if (!pointers || !indices || n_pointers < 2)
        return false;
    const uint64_t stored = wide ? (uint64_t)((const int64_t *)pointers)[n_pointers - 1]
                                 : (uint64_t)((const int32_t *)pointers)[n_pointers - 1];
    return stored - argument->base <= n_indices &&
           fill_by_pattern((int64_t)n_pointers - 1, pointers, indices, wide, (int)argument->base, fill);
}

/* The fill of argument `index`, which has that shape. Returns false if it does not matter, or if its
 * pattern is not in memory.
 */
static bool invocation_fill(const struct invocation *invocation, uint32_t index, const struct shape *shape,
                            struct fill *fill)
{
    return invocation_fill_matters(invocation->function->problem, index) &&
           shape->dims[0] == shape->dims[1] && fill_of(invocation, index, fill);
}

static void put_double(uint8_t *bytes, double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(bits >> 8 * i);
}

/* Adds EXTENSION_FILL to the call. */
static enum esp_status invocation_say_fill(const struct invocation *invocation, struct message *call,
                                           struct esp_error *error)
{
    const struct problem *problem = invocation->function->problem;
    uint8_t item[FILL_BYTES] = {0}, all[8 * FILL_BYTES];
    uint32_t length = 0;
    for (uint32_t i = 0; i < problem->n_arguments && length < sizeof all; i++) {
        struct fill fill;
        if (!invocation_fill_matters(problem, i) || !fill_of(invocation, i, &fill))
            continue;
        item[0] = (uint8_t)i; /* PROBLEM_MAX_ARGUMENTS fit */
        put_double(item + 4, fill.elements);
        put_double(item + 12, fill.flop);
        memcpy(all + length, item, sizeof item);
        length += FILL_BYTES;
    }
    uint8_t *bytes = length > 0 ? arena_memdup(&call->arena, all, length) : NULL;
    if (length == 0)
        return ESP_OK;
    return bytes && extension_add(&call->call.extensions, EXTENSION_FILL, bytes, length, &call->arena)
               ? ESP_OK
               : error_no_memory(error, "a call");
}

static const struct call_hooks no_hooks;
const struct call_hooks *call_hooks = &no_hooks;

void call_hooks_set(const struct call_hooks *hooks)
{
    call_hooks = hooks ? hooks : &no_hooks;
}

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "values travel as they lie in memory: little-endian"
#endif

/* Number of arguments that callers pass. */
static uint32_t invocation_count_passed(const struct problem *problem)
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

/* The value's argument in the description. */
static const struct argument *invocation_argument(const struct invocation *invocation,
                                                  const struct value *value)
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
        if (call_hooks->release)
            call_hooks->release(&invocation->values[i]);
        free(invocation->values[i].stayed);
        free(invocation->values[i].edges);
        free(invocation->values[i].shape);
    }
    free(invocation->values);
    function_release(invocation->function);
    memset(invocation, 0, sizeof *invocation);
}

/* ---- operations of the room of data ---- */

static enum esp_status take_data(struct value *value, const struct argument *argument, void *given,
                                 bool *is_data, struct esp_error *error)
{
    *is_data = false;
    return call_hooks->take_data ? call_hooks->take_data(value, argument, given, is_data, error) : ESP_OK;
}

static void enter(struct invocation *invocation)
{
    if (call_hooks->enter)
        call_hooks->enter(invocation);
}

typedef enum esp_status check_hook(struct value *value, const struct problem *problem,
                                   const struct number *scope, const struct shape *shape,
                                   struct esp_error *error);

static enum esp_status check_by(check_hook *hook, struct value *value, const struct problem *problem,
                                const struct binding *binding, struct esp_error *error)
{
    return hook ? hook(value, problem, binding->scope, &binding->shapes[value->index], error) : ESP_OK;
}

static enum esp_status sync_memory(const struct value *value, struct esp_error *error)
{
    return call_hooks->sync ? call_hooks->sync(value->out, value->bytes, error) : ESP_OK;
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

/* Sets the source and the destination of a value that is passed by address. */
static enum esp_status invocation_place(struct value *value, const struct argument *argument, void *data,
                                        struct esp_error *error)
{
    bool is_data;
    enum esp_status status = take_data(value, argument, data, &is_data, error);
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
    va_copy(list, arguments); /* a copy whose address can be passed on */
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
        enter(invocation);
        status = invocation_measure(invocation, &binding, error);
    }
    if (status == ESP_OK)
        status = invocation_bind(invocation, &binding, room, error);
    if (status != ESP_OK)
        invocation_release(invocation);
    return status;
}

/* Checks arguments against the description: sizes, missing arguments, preconditions. */

static bool invocation_is_plain_scalar(const struct argument *argument)
{
    return argument->n_dims == 0 && !base_type_is_variable(argument->type);
}

/* Whether the size of the value follows from the scalars. */
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

/* An array that the call does not read is not sent, and not fetched from its server. */
static void leave_unread(struct value *value, const struct shape *shape)
{
    if (!shape->unread)
        return;
    value->unread = true;
    value->in = NULL;
    free(value->datum);
    value->datum = NULL;
}

/* An array was left out: sets all elements to the default. */
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

/* Copies the scalars, because a function may be called after they have changed. */
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

/* Gathers the elements that are sent now, and remembers their places for the results. */
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

/* Reads files and copies texts, because the caller may change them while the session runs. */
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

/* A state is on the server that its identity names; calls that use it must go there. */
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

/* Checks sizes and preconditions with the scalar inputs known, without reading any array. */
static enum esp_status invocation_measure(struct invocation *invocation, struct binding *binding,
                                          struct esp_error *error)
{
    return problem_bind(invocation->function->problem, binding->inputs, binding->scope, binding->shapes,
                        error);
}

static enum esp_status invocation_bind(struct invocation *invocation, struct binding *binding,
                                       const struct room *room, struct esp_error *error)
{
    const struct problem *problem = invocation->function->problem;
    enum esp_status status = ESP_OK;
    if (room && call_hooks->check_room)
        status = call_hooks->check_room(room, invocation->function, binding->scope, binding->shapes, error);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        if (is_array_or_number(value))
            value->bytes = binding->shapes[value->index].bytes;
        leave_unread(value, &binding->shapes[value->index]);
        status = check_by(call_hooks->check_input, value, problem, binding, error);
        if (status != ESP_OK)
            break;
        status = value->form == VALUE_TEXTS
                     ? take_texts(problem, value, binding, error)
                     : check_present(invocation_argument(invocation, value), value, error);
        if (status == ESP_OK && value->form == VALUE_TEXTS)
            status = check_by(call_hooks->check_strings, value, problem, binding, error);
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
        status = check_by(call_hooks->check_result, value, problem, binding, error);
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

/* The arguments of a vector, and values that follow from other arguments. */

static enum esp_status check_count(const struct problem *problem, size_t n, struct esp_error *error)
{
    uint32_t expected = invocation_count_passed(problem);
    if (n == expected)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "%s: expected %u arguments, found %zu", problem->name, expected, n);
}

static bool is_integer(enum base_type type)
{
    return type <= TYPE_INT64;
}

/* Stores a completed scalar in the type of the description. */
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
    /* A column may be given as a matrix of one column, and vice versa. */
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

/* Names the given size that an extent contradicts, which helps more than the extents alone: "B has 3 rows,
 * but n = 2 was given". */
static enum esp_status explain_extents(const struct problem *problem, const struct number *scope,
                                       const struct esp_argument *arguments, struct esp_error *error)
{
    const int64_t *known_dims[PROBLEM_MAX_ARGUMENTS] = {0};
    uint32_t n_known[PROBLEM_MAX_ARGUMENTS] = {0};
    struct number values[PROBLEM_MAX_ARGUMENTS];
    struct esp_error why = {0};
    memcpy(values, scope, problem->n_arguments * sizeof *values);
    for (uint32_t i = 0, k = 0; i < problem->n_arguments; i++) {
        if (!argument_is_passed(&problem->arguments[i]))
            continue;
        const struct esp_argument *given = &arguments[k++];
        if (problem->arguments[i].n_dims == 0 || !given->data || given->n_dims == 0 ||
            given->n_dims > ESP_MAX_DIMS)
            continue;
        known_dims[i] = given->dims;
        n_known[i] = given->n_dims;
    }
    if (problem_infer(problem, known_dims, n_known, values, &why) != ESP_OK)
        *error = why;
    return error->status;
}

enum esp_status invocation_from_vector(struct invocation *invocation, struct function *function,
                                       const struct room *room, const struct esp_argument *arguments,
                                       size_t n_arguments, struct esp_error *error)
{
    struct binding binding;
    struct esp_argument completed[ESP_MAX_ARGUMENTS];
    enum esp_status status = check_count(function->problem, n_arguments, error);
    if (status != ESP_OK)
        return status;
    memcpy(completed, arguments, n_arguments * sizeof *completed);
    status = invocation_complete(function->problem, completed, n_arguments, error);
    if (status == ESP_OK)
        status = invocation_begin(invocation, function, error);
    if (status != ESP_OK)
        return status;
    memset(binding.inputs, 0, sizeof binding.inputs);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        const struct argument *argument = invocation_argument(invocation, value);
        if (completed[i].completed && !completed[i].data)
            status = store_completed(value, argument, &completed[i], error);
        else
            status = invocation_place(value, argument, completed[i].data, error);
        if (status == ESP_OK)
            status = invocation_take_data(value, argument, &completed[i], error);
        if (status == ESP_OK)
            status = invocation_take_stays(value, function->problem, &completed[i], error);
        if (argument->n_dims == 0 && argument_is_input(argument))
            binding.inputs[value->index] = value->in;
        if (invocation_is_plain_scalar(argument) && argument->mode == MODE_IN && value->in &&
            value->in != value->scalar.bytes) {
            /* Copied, because the caller may reuse its variable while the session runs. */
            memcpy(value->scalar.bytes, value->in, base_type_size(argument->type));
            binding.inputs[value->index] = value->in = value->scalar.bytes;
        }
    }
    if (status == ESP_OK) {
        enter(invocation);
        status = invocation_measure(invocation, &binding, error);
    }
    const bool measured = status == ESP_OK;
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++)
        status = check_extents(invocation_argument(invocation, &invocation->values[i]),
                               &binding.shapes[invocation->values[i].index], &arguments[i], error);
    if (status == ESP_INVALID && measured)
        status = explain_extents(function->problem, binding.scope, arguments, error);
    if (status == ESP_OK)
        status = invocation_bind(invocation, &binding, room, error);
    if (status != ESP_OK)
        invocation_release(invocation);
    return status;
}

void invocation_known_inputs(const struct problem *problem, const void *const *scalars, const void **inputs)
{
    static const unsigned char something[16];
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        bool is_text =
            argument->n_dims == 0 && !invocation_is_plain_scalar(argument) && argument_is_input(argument);
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
    if (status != ESP_OK || (status = invocation_begin(invocation, function, error)) != ESP_OK)
        return status;
    invocation_known_inputs(problem, scalars, binding.inputs);
    status = problem_bind(problem, binding.inputs, binding.scope, binding.shapes, error);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        const struct argument *argument = invocation_argument(invocation, value);
        if (value->form == VALUE_MEMORY)
            value->bytes = binding.shapes[value->index].bytes;
        if (value->form == VALUE_TEXTS)
            value->n_texts = binding.shapes[value->index].count;
        if (argument_is_output(argument))
            value->stays = ESP_SESSION_OUTPUTS; /* the job then leaves its results on a server */
        if (argument_is_output(argument) && arguments[i].kept) {
            value->is_kept = true;
            value->kept = arguments[i].kept;
        }
        if (!argument_is_output(argument) || !arguments[i].data)
            continue;
        bool is_data;
        status = take_data(value, argument, arguments[i].data, &is_data, error);
        if (is_data || status != ESP_OK)
            continue;
        value->out = arguments[i].data;
        status = check_type(argument, &arguments[i], error);
        if (status == ESP_OK && value->form == VALUE_MEMORY && argument->n_dims > 0)
            status = sync_memory(value, error);
        if (status == ESP_OK)
            status = check_extents(argument, &binding.shapes[value->index], &arguments[i], error);
    }
    if (status == ESP_OK)
        enter(invocation);
    else
        invocation_release(invocation);
    return status;
}

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

/* Computes the extents of arrays without given ones. */
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
        if (invocation_is_plain_scalar(argument) && argument_is_input(argument)) {
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
            if (invocation_is_plain_scalar(argument) && argument_is_input(argument) && !given->data &&
                work.scope[i].kind != NUMBER_UNKNOWN)
                number_scalar(given, argument->type, &work.scope[i]);
        }
    }
    if (status != ESP_OK || !extents)
        return status;
    /* Reports the caller's own errors before errors that follow from them. */
    status = problem_check_known(problem, work.scope, error);
    return status == ESP_OK ? complete_extents(problem, &work, arguments, error) : status;
}

enum esp_status invocation_elements(const struct problem *problem, const struct esp_argument *arguments,
                                    size_t n_arguments, uint64_t *elements, struct esp_error *error)
{
    struct esp_argument completed[ESP_MAX_ARGUMENTS];
    struct value values[ESP_MAX_ARGUMENTS];
    struct binding binding;
    const void *scalars[PROBLEM_MAX_ARGUMENTS] = {0};
    enum esp_status status = check_count(problem, n_arguments, error);
    if (status != ESP_OK)
        return status;
    memcpy(completed, arguments, n_arguments * sizeof *completed);
    status = invocation_complete(problem, completed, n_arguments, error);
    for (uint32_t i = 0, k = 0; status == ESP_OK && i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (!argument_is_passed(argument))
            continue;
        const struct esp_argument *given = &completed[k];
        if (argument->n_dims == 0 && argument_is_input(argument)) {
            if (given->completed && !given->data)
                status = store_completed(&values[k], argument, given, error);
            scalars[i] = given->data ? given->data : given->completed ? values[k].in : NULL;
        }
        k++;
    }
    if (status != ESP_OK)
        return status;
    invocation_known_inputs(problem, scalars, binding.inputs);
    status = problem_bind(problem, binding.inputs, binding.scope, binding.shapes, error);
    for (uint32_t i = 0, k = 0; status == ESP_OK && i < problem->n_arguments; i++)
        if (argument_is_passed(&problem->arguments[i]))
            elements[k++] = binding.shapes[i].count;
    return status;
}

/* An invocation in messages: arguments on their way out, results on their way back. */

/* Limit of all inline arguments of one call: the message stays well below its cap. */
#define INLINE_TOTAL ((uint64_t)4 << 20)

/* Limit of a result of variable length. */
#define MOST_VARIABLE ((uint64_t)1 << 40)

static const struct argument *argument_of(const struct invocation *invocation, const struct value *value)
{
    return &invocation->function->problem->arguments[value->index];
}

/* The value of a scalar input for expressions; false if no expression can use it. */
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

/* The identity without the section and the addresses that calls carry; "": the value comes from this
 * process. */
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
            sent->kind = KIND_ABSENT; /* the server calls it by questions */
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

/* The destination of a result's bytes: the caller's memory, or memory of the library if the size was not
 * known before. */
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
        return false; /* it is handed out after everything has arrived */
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
        return ESP_OK; /* the caller does not want it */
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

/* Gives each text to the caller, and writes each file, unless its pointer is NULL. */
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
