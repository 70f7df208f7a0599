/* SPDX-License-Identifier: Apache-2.0
 *
 * Callbacks on the command line: expressions of the callback's own parameters and of the scalars that its
 * sizes use (f='x^2 + 1'), in brackets when there are several results (f='[y[2]; -y[1]]'). Strings are texts
 * in double quotes or strings that go in. A function that libffi makes evaluates them when the
 * routine calls.
 */
#include "config.h"

#include "core/values/values_function.h"
#include "core/values/signature.h"
#include "core/values/values_storage.h"
#include "core/problem/foreign.h"
#include "core/problem/problem_callback.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RESULTS  64
#define MOST_ELEMENTS 64 /* of arrays, that the expressions of one function name */

/* An element that is named: y[2]. In the expressions it goes by a name that no parameter can have. */
struct element {
    char name[PROBLEM_MAX_NAME + 32]; /* "y[2]", for messages, */
    char alias[32];                   /* and "element__0" */
    uint32_t parameter;
    int64_t index; /* from 0 */
};

struct value_function {
    const struct problem *callback;       /* borrowed from the description */
    const struct values_library *library; /* not owned */
    uint64_t outer[CALLBACK_MAX_OUTER];   /* scalars of the problem around it that its sizes use, raw */
    bool returns;
    struct arena arena; /* of the expressions */
    struct result {
        struct expr *expr;
        char *text; /* of a string: what it is; NULL: */
        int string; /* the parameter that it is */
    } results[MOST_RESULTS];
    uint32_t n_results;
    struct element elements[MOST_ELEMENTS];
    uint32_t n_elements;
    ffi_closure *closure;
    void *code; /* its address as a function */
    ffi_cif cif;
    ffi_type *types[CALLBACK_MAX_PARAMETERS];
};

/* ---- reading ---- */

static enum esp_status take_element(struct value_function *function, const char *name, size_t length,
                                    const char *digits, const struct element **taken, struct esp_error *error)
{
    char word[PROBLEM_MAX_NAME + 1];
    char *end;
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    int parameter = problem_argument_index(function->callback, word);
    long long index = strtoll(digits, &end, 10);
    end += strspn(end, " ");
    if (parameter < 0 || function->callback->arguments[parameter].n_dims != 1 || *end != ']' || index < 1 ||
        function->callback->arguments[parameter].mode == MODE_OUT)
        return error_set(error, ESP_INVALID,
                         "expected an element, from 1, of a vector that goes in, as y[2], found '%s[%.20s'",
                         word, digits);
    if (function->n_elements == MOST_ELEMENTS)
        return error_set(error, ESP_LIMIT, "an expression names at most %d elements", MOST_ELEMENTS);
    struct element *element = &function->elements[function->n_elements];
    snprintf(element->name, sizeof element->name, "%s[%lld]", word, index);
    snprintf(element->alias, sizeof element->alias, "element__%u", function->n_elements++);
    element->parameter = (uint32_t)parameter;
    element->index = index - 1;
    *taken = element;
    return ESP_OK;
}

/* The text with aliases in the place of elements; to be freed. */
static enum esp_status name_elements(struct value_function *function, const char *text, char **named,
                                     struct esp_error *error)
{
    size_t size = 0;
    FILE *out = open_memstream(named, &size);
    enum esp_status status = out ? ESP_OK : error_no_memory(error, "a function");
    while (status == ESP_OK && *text) {
        size_t length = 0;
        if (isalpha((unsigned char)*text) || *text == '_')
            while (isalnum((unsigned char)text[length]) || text[length] == '_')
                length++;
        size_t blanks = length ? strspn(text + length, " ") : 0;
        const struct element *element = NULL;
        if (length && text[length + blanks] == '[') {
            const char *digits = text + length + blanks + 1, *close = strchr(digits, ']');
            status = take_element(function, text, length, digits, &element, error);
            if (status == ESP_OK) {
                fputs(element->alias, out);
                text = close + 1;
            }
            continue;
        }
        fwrite(text, 1, length ? length : 1, out);
        text += length ? length : 1;
    }
    if (out && fclose(out) != 0 && status == ESP_OK)
        status = error_no_memory(error, "a function");
    if (status != ESP_OK && out) {
        free(*named);
        *named = NULL;
    }
    return status;
}

/* One expression over the parameters, and behind them the elements. */
static enum esp_status read_expression(struct value_function *function, const char *text,
                                       struct esp_error *error)
{
    const char *names[PROBLEM_MAX_ARGUMENTS + MOST_ELEMENTS];
    const struct problem *callback = function->callback;
    char *named = NULL;
    if (function->n_results == MOST_RESULTS)
        return error_set(error, ESP_LIMIT, "a function gives at most %d results", MOST_RESULTS);
    enum esp_status status = name_elements(function, text, &named, error);
    if (status != ESP_OK)
        return status;
    for (uint32_t i = 0; i < callback->n_arguments; i++) /* results cannot be looked at, nor whole arrays */
        names[i] = argument_is_input(&callback->arguments[i]) && callback->arguments[i].n_dims == 0 &&
                           callback->arguments[i].type != TYPE_STRING
                       ? callback->arguments[i].name
                       : "";
    for (uint32_t i = 0; i < function->n_elements; i++)
        names[callback->n_arguments + i] = function->elements[i].alias;
    status = expr_parse(named, names, callback->n_arguments + function->n_elements, &function->arena,
                        &function->results[function->n_results++].expr, error);
    free(named);
    return status;
}

/* The output that result `n` is an element of, or belongs to; NULL: the sizes of arrays before it are not
 * known yet, or there are no more. */
static const struct argument *output_of(const struct problem *callback, uint32_t n)
{
    for (uint32_t i = 0; i < callback_n_own(callback); i++) {
        const struct argument *argument = &callback->arguments[i];
        if (!argument_is_output(argument))
            continue;
        if (argument->n_dims > 0)
            return NULL;
        if (n-- == 0)
            return argument;
    }
    return NULL;
}

/* A string is a text in double quotes, or that of a parameter. */
static enum esp_status read_string(struct value_function *function, const char *text, bool *found,
                                   struct esp_error *error)
{
    char word[PROBLEM_MAX_NAME + 1];
    const char *from = text + strspn(text, " ");
    size_t length = strlen(from);
    while (length > 0 && from[length - 1] == ' ')
        length--;
    snprintf(word, sizeof word, "%.*s", (int)length, from);
    const int parameter = problem_argument_index(function->callback, word);
    const struct argument *argument = parameter >= 0 ? &function->callback->arguments[parameter] : NULL;
    const bool quoted = length >= 2 && from[0] == '"' && from[length - 1] == '"';
    *found = quoted || (argument && argument_is_string(argument) && argument_is_input(argument));
    if (!*found)
        return ESP_OK;
    if (function->n_results == MOST_RESULTS)
        return error_set(error, ESP_LIMIT, "a function gives at most %d results", MOST_RESULTS);
    struct result *result = &function->results[function->n_results++];
    *result = (struct result){.string = parameter};
    if (!quoted)
        return ESP_OK;
    result->text = arena_alloc(&function->arena, length - 1);
    if (!result->text)
        return error_no_memory(error, "a function");
    memcpy(result->text, from + 1, length - 2);
    result->text[length - 2] = 0;
    return ESP_OK;
}

static enum esp_status read_result(struct value_function *function, const char *text, struct esp_error *error)
{
    bool found;
    const struct argument *output = output_of(function->callback, function->n_results);
    enum esp_status status = read_string(function, text, &found, error);
    if (status != ESP_OK || found)
        return status;
    if (output && argument_is_string(output))
        return error_set(error, ESP_INVALID,
                         "%s is a string: expected a text, \"like this\", or a string that goes in, found "
                         "'%.60s'",
                         output->name, text);
    return read_expression(function, text, error);
}

/* Behind the piece that begins here, which ends at a ';' or ',' outside of all parentheses and brackets. */
static char *end_of_piece(char *at)
{
    bool quoted = false;
    for (int depth = 0; *at && (quoted || depth > 0 || (*at != ';' && *at != ',')); at++) {
        quoted ^= *at == '"';
        if (!quoted)
            depth += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
    }
    return at;
}

/* Whether all of the text is one pair of brackets. */
static bool is_list(const char *text)
{
    size_t length = strlen(text);
    return *text == '[' && length >= 2 && text[length - 1] == ']';
}

static enum esp_status read_results(struct value_function *function, const char *text,
                                    struct esp_error *error)
{
    char *copy = strdup(text + strspn(text, " "));
    enum esp_status status = copy ? ESP_OK : error_no_memory(error, "a function");
    for (size_t n = copy ? strlen(copy) : 0; n > 0 && copy[n - 1] == ' '; n--)
        copy[n - 1] = 0;
    if (copy && !is_list(copy)) {
        status = read_result(function, copy, error);
    } else if (copy) {
        copy[strlen(copy) - 1] = 0;
        for (char *from = copy + 1; status == ESP_OK && from[strspn(from, " ")];) {
            char *to = end_of_piece(from);
            bool last = !*to;
            *to = 0;
            status = read_result(function, from, error);
            if (last)
                break;
            from = to + 1;
        }
    }
    free(copy);
    return status;
}

/* ---- being called ---- */

/* The scalars that go in, and the elements that the expressions name. */
static enum esp_status load_scope(const struct value_function *function, void *const *values,
                                  struct number *numbers, const struct shape *shapes, struct esp_error *error)
{
    const struct problem *callback = function->callback;
    for (uint32_t i = 0; i < function->n_elements; i++) {
        const struct element *element = &function->elements[i];
        enum base_type type = callback->arguments[element->parameter].type;
        if (element->index >= shapes[element->parameter].dims[0])
            return error_set(error, ESP_INVALID, "%s: it has %lld elements", element->name,
                             (long long)shapes[element->parameter].dims[0]);
        numbers[callback->n_arguments + i] = number_load(
            type, (const char *)values[element->parameter] + (size_t)element->index * base_type_size(type));
    }
    return ESP_OK;
}

static enum esp_status give_string(const struct result *result, const struct problem *callback,
                                   void *const *values, void *to, struct esp_error *error)
{
    if (result->expr)
        return error_set(error, ESP_INVALID, "expected a string, found the expression %s",
                         expr_text(result->expr));
    if (result->text)
        *(char **)to = result->text;
    else /* the library copies it before the strings of the question go */
        *(char **)to = callback->arguments[result->string].mode == MODE_IN ? (char *)values[result->string]
                                                                           : *(char **)values[result->string];
    return ESP_OK;
}

static enum esp_status give_result(const struct result *result, const struct problem *callback,
                                   void *const *values, const struct scope *scope, enum base_type type,
                                   void *to, struct esp_error *error)
{
    struct number number = {.kind = NUMBER_REAL};
    const struct expr *expr = result->expr;
    if (type == TYPE_STRING)
        return give_string(result, callback, values, to, error);
    if (!expr)
        return error_set(error, ESP_INVALID, "expected a number, found a string");
    enum esp_status status = type >= TYPE_FLOAT ? expr_eval_real(expr, scope, &number.real, error)
                                                : expr_eval(expr, scope, &number, error);
    return status == ESP_OK ? number_store(&number, type, to, error) : status;
}

static enum esp_status answer(const struct value_function *function, void *const *values,
                              struct esp_error *error)
{
    const struct problem *callback = function->callback;
    struct number numbers[PROBLEM_MAX_ARGUMENTS + MOST_ELEMENTS];
    struct shape shapes[PROBLEM_MAX_ARGUMENTS];
    const void *inputs[PROBLEM_MAX_ARGUMENTS] = {0};
    struct scope scope = {numbers, callback->n_arguments + function->n_elements};
    uint64_t wanted = 0, n = 0;
    const uint32_t n_own = callback_n_own(callback);
    for (uint32_t i = 0; i < n_own; i++)
        if (argument_is_input(&callback->arguments[i]))
            inputs[i] = values[i];
    for (uint32_t k = 0; k < callback->n_outer; k++)
        inputs[n_own + k] = &function->outer[k];
    enum esp_status status = problem_bind(callback, inputs, numbers, shapes, error);
    if (status == ESP_OK)
        status = load_scope(function, values, numbers, shapes, error);
    for (uint32_t i = 0; status == ESP_OK && i < callback->n_arguments; i++)
        wanted += argument_is_output(&callback->arguments[i]) ? shapes[i].count : 0;
    if (status == ESP_OK && wanted != function->n_results)
        return error_set(error, ESP_INVALID, "expected %llu results, found %u expressions",
                         (unsigned long long)wanted, function->n_results);
    for (uint32_t i = 0; status == ESP_OK && i < callback->n_arguments; i++) {
        enum base_type type = callback->arguments[i].type;
        for (uint64_t k = 0;
             argument_is_output(&callback->arguments[i]) && k < shapes[i].count && status == ESP_OK; k++)
            status = give_result(&function->results[n++], callback, values, &scope, type,
                                 (char *)values[i] + k * base_type_size(type), error);
    }
    return status;
}

/* As the routine's call arrives: scalars that go in by value, all else by address. */
static void run(ffi_cif *cif, void *returned, void **parameters, void *arg)
{
    const struct value_function *function = arg;
    const struct problem *callback = function->callback;
    uint32_t n = callback_n_own(callback) - function->returns;
    void *values[PROBLEM_MAX_ARGUMENTS];
    _Alignas(16) unsigned char result[16] = {0};
    struct esp_error error = {0};
    (void)cif;
    for (uint32_t i = 0; i < n; i++) {
        bool by_value = callback->arguments[i].n_dims == 0 && callback->arguments[i].mode == MODE_IN;
        values[i] =
            by_value && callback->arguments[i].type != TYPE_STRING ? parameters[i] : *(void **)parameters[i];
    }
    values[n] = result;
    if (answer(function, values, &error) != ESP_OK) {
        error_prefix(&error, "%s", callback->name);
        function->library->callback_fail(error.text);
    }
    if (function->returns)
        foreign_return(callback->arguments[n].type, result, returned);
}

static enum esp_status make_callable(struct value_function *function, struct esp_error *error)
{
    const struct problem *callback = function->callback;
    uint32_t n = callback_n_own(callback) - function->returns;
    ffi_type *result = function->returns ? foreign_type(callback->arguments[n].type) : &ffi_type_void;
    for (uint32_t i = 0; i < callback->n_arguments; i++)
        if (callback->arguments[i].type == TYPE_COMPLEX || callback->arguments[i].type == TYPE_DOUBLE_COMPLEX)
            return error_set(error, ESP_INVALID,
                             "expressions have no complex numbers: call it from a program");
    for (uint32_t i = 0; i < n; i++)
        function->types[i] = callback->arguments[i].n_dims == 0 && callback->arguments[i].mode == MODE_IN
                                 ? foreign_type(callback->arguments[i].type)
                                 : &ffi_type_pointer;
    function->closure = ffi_closure_alloc(sizeof *function->closure, &function->code);
    if (!function->closure)
        return error_no_memory(error, "a function");
    if (ffi_prep_cif(&function->cif, FFI_DEFAULT_ABI, n, result, function->types) != FFI_OK ||
        ffi_prep_closure_loc(function->closure, &function->cif, run, function, function->code) != FFI_OK)
        return error_set(error, ESP_SYSTEM, "libffi cannot make such a function on this machine");
    return ESP_OK;
}

/* ---- arguments ---- */

void value_function_destroy(struct value_function *function)
{
    if (!function)
        return;
    if (function->closure)
        ffi_closure_free(function->closure);
    arena_clear(&function->arena);
    free(function);
}

enum esp_status values_take_function(struct values *values, size_t index, const char *text,
                                     struct esp_error *error)
{
    const struct argument *argument = values_argument(values, index);
    struct value_function *function = calloc(1, sizeof *function);
    if (!function)
        return error_no_memory(error, "a function");
    function->callback = argument->callback;
    function->library = values->library;
    function->returns = argument->callback_returns;
    values->slots[index].function = function;
    enum esp_status status = read_results(function, text, error);
    if (status == ESP_OK)
        status = make_callable(function, error);
    if (status != ESP_OK) {
        const char *signature = values->problem->arguments[index].callback;
        struct esp_error why = *error;
        /* ESP_SYNTAX is of files */
        return error_set(error, status == ESP_SYNTAX ? ESP_INVALID : status, "%s%s: %s", argument->name,
                         signature ? signature : "", why.text);
    }
    values->arguments[index].type = ESP_TYPE_CALLBACK;
    values->arguments[index].data = function->code;
    return ESP_OK;
}

enum esp_status values_size_functions(struct values *values, struct esp_error *error)
{
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    enum esp_status status = ESP_OK;
    values_scope(values, scope);
    for (size_t i = 0; i < values->problem->n_arguments && status == ESP_OK; i++) {
        struct value_function *function = values->slots[i].function;
        if (function)
            status = callback_outer_values(function->callback, scope, function->outer, error);
    }
    return status;
}
