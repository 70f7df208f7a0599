/* SPDX-License-Identifier: Apache-2.0
 *
 * Callbacks: their declaration, and where the values of a call of one lie.
 */
#include "core/problem/problem_callback.h"
#include "core/problem/problem_parser.h"

#include <stdlib.h>
#include <string.h>

#define MOST_CALLBACKS 8 /* of one problem */

/* What the parser knows of the problem around the callback. */
struct outer {
    struct problem *problem;
    struct pending *pending, **last_pending;
    struct argument *arguments;
};

static bool check_number(struct parser *parser)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < parser->problem->n_arguments; i++)
        n += parser->arguments[i].type == TYPE_CALLBACK;
    return n < MOST_CALLBACKS || lexer_fail(&parser->lexer, parser->lexer.token.offset,
                                            "a problem has at most %d callbacks", MOST_CALLBACKS);
}

/* ---- the signature in parentheses ---- */

static bool read_mode(struct parser *parser, enum argument_mode *mode)
{
    static const enum argument_mode modes[] = {MODE_IN, MODE_OUT, MODE_INOUT};
    static const char *const words[] = {"in", "out", "inout"};
    for (unsigned i = 0; i < 3; i++)
        if (lexer_at_name(&parser->lexer, words[i])) {
            *mode = modes[i];
            return lexer_advance(&parser->lexer);
        }
    return lexer_expected_word(&parser->lexer, "in, out or inout (a parameter of the callback)", words, 3);
}

static bool read_parameter(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    enum argument_mode mode = MODE_IN;
    enum base_type type;
    bool is_type;
    if (!read_mode(parser, &mode))
        return false;
    uint32_t offset = lexer->token.offset;
    if (!parser_type(parser, &type, &is_type))
        return false;
    if (!is_type)
        return lexer_expected(lexer, "a type (char, short, int, long, int64, float, double, complex)", NULL);
    if (type > TYPE_DOUBLE_COMPLEX)
        return lexer_fail(lexer, offset, "a callback takes and gives numbers, not a %s",
                          base_type_name(type));
    offset = lexer->token.offset;
    if (parser->problem->n_arguments == CALLBACK_MAX_PARAMETERS)
        return lexer_fail(lexer, offset, "a callback has at most %d parameters", CALLBACK_MAX_PARAMETERS);
    if (!parser_argument(parser, mode, type))
        return false;
    const struct argument *argument = &parser->arguments[parser->problem->n_arguments - 1];
    if (argument->initial || argument->properties || argument->count || argument->unread ||
        argument->index_of || argument->is_section || argument->storage != STORAGE_FULL)
        return lexer_fail(lexer, offset,
                          "a parameter of a callback has a type and dimensions, no properties or default");
    return true;
}

static bool read_parameters(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    if (!lexer_take_symbol(lexer, '(', "'(' and the parameters of the callback"))
        return false;
    while (!lexer_at_symbol(lexer, ')')) {
        if (!read_parameter(parser))
            return false;
        if (lexer_at_symbol(lexer, ')'))
            break;
        if (!lexer_take_symbol(lexer, ',', "',' or ')'"))
            return false;
    }
    return lexer_take_symbol(lexer, ')', "')'");
}

/* What the function returns is an output behind the others, under the callback's own name. */
static bool add_result(struct parser *parser, enum base_type type)
{
    struct problem *callback = parser->problem;
    for (uint32_t i = 0; i < callback->n_arguments; i++)
        if (strcmp(parser->arguments[i].name, callback->name) == 0)
            return lexer_fail(&parser->lexer, parser->lexer.token.offset,
                              "the callback '%s' returns a value: a parameter needs another name",
                              callback->name);
    parser->arguments[callback->n_arguments++] = (struct argument){
        .name = callback->name, .text = "", .mode = MODE_OUT, .type = type, .line = parser->lexer.token.line};
    return true;
}

static bool read_signature(struct parser *parser, const struct argument *argument, enum base_type returned)
{
    struct problem *callback = parser->problem;
    if (!read_parameters(parser) || (argument->callback_returns && !add_result(parser, returned)) ||
        !parser_resolve_pending(parser) || !parser_check_arguments(parser) ||
        !parser_write_callback_source(parser))
        return false;
    callback->arguments =
        parser_keep(parser, parser->arguments, callback->n_arguments, sizeof *callback->arguments);
    return callback->arguments != NULL;
}

/* The parser reads one signature at a time: that of the problem is put aside for the callback's. */
static bool read_inside(struct parser *parser, struct argument *argument, enum base_type returned)
{
    struct problem *callback = arena_alloc(parser->arena, sizeof *callback);
    struct outer outer = {.problem = parser->problem,
                          .pending = parser->pending,
                          .last_pending = parser->last_pending,
                          .arguments = parser_keep(parser, parser->arguments, parser->problem->n_arguments,
                                                   sizeof *parser->arguments)};
    if (!callback)
        return lexer_no_memory(&parser->lexer);
    if (!outer.arguments)
        return false;
    *callback = (struct problem){.name = argument->name,
                                 .title = argument->name,
                                 .text = "",
                                 .gams = "",
                                 .file = parser->file,
                                 .folder = parser->folder,
                                 .arguments = parser->arguments,
                                 .idempotent = true,
                                 .line = argument->line};
    parser->problem = callback;
    parser->pending = NULL;
    parser->last_pending = &parser->pending;
    bool good = read_signature(parser, argument, returned);
    parser->problem = outer.problem;
    parser->pending = outer.pending;
    parser->last_pending = outer.pending ? outer.last_pending : &parser->pending;
    if (outer.problem->n_arguments > 0)
        memcpy(parser->arguments, outer.arguments, outer.problem->n_arguments * sizeof *parser->arguments);
    argument->callback = callback;
    return good;
}

static bool read_result_type(struct parser *parser, struct argument *argument, enum base_type *type)
{
    uint32_t offset = parser->lexer.token.offset;
    if (!parser_type(parser, type, &argument->callback_returns))
        return false;
    if (argument->callback_returns && *type > TYPE_DOUBLE_COMPLEX)
        return lexer_fail(&parser->lexer, offset, "a callback returns a number, not a %s",
                          base_type_name(*type));
    return true;
}

bool parser_callback(struct parser *parser)
{
    struct argument argument = {
        .mode = MODE_IN, .type = TYPE_CALLBACK, .line = parser->lexer.token.line, .text = ""};
    enum base_type returned = TYPE_DOUBLE;
    if (!check_number(parser) || !read_result_type(parser, &argument, &returned))
        return false;
    uint32_t offset = argument.offset = parser->lexer.token.offset;
    if (!parser_name(parser, "the type or the name of the callback", &argument.name) ||
        !parser_new_name(parser, argument.name, offset) || !read_inside(parser, &argument, returned) ||
        !parser_argument_text(parser, &argument))
        return false;
    if (parser->problem->n_arguments == PROBLEM_MAX_ARGUMENTS)
        return lexer_fail(&parser->lexer, offset, "a problem has at most %d arguments",
                          PROBLEM_MAX_ARGUMENTS);
    parser->arguments[parser->problem->n_arguments++] = argument;
    return true;
}

/* ---- one call ---- */

bool problem_has_callbacks(const struct problem *problem)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (problem->arguments[i].type == TYPE_CALLBACK)
            return true;
    return false;
}

/* The offset of a value, behind which *end moves. False when there are too many bytes. */
static bool put(uint32_t *end, uint64_t bytes, uint32_t *offset)
{
    *offset = *end;
    if (bytes > CALLBACK_MOST_BYTES - *end)
        return false;
    *end = (uint32_t)((*end + bytes + CALLBACK_ALIGNMENT - 1) & ~(uint64_t)(CALLBACK_ALIGNMENT - 1));
    return *end <= CALLBACK_MOST_BYTES;
}

static enum esp_status too_large(const struct problem *callback, uint32_t index, struct esp_error *error)
{
    return error_set(error, ESP_LIMIT,
                     "callback %s: with %s its arguments take more than the %d bytes that a call may have",
                     callback->name, callback->arguments[index].name, CALLBACK_MOST_BYTES);
}

/* Scalars (or arrays) of the question and of the answer. */
static enum esp_status place(const struct problem *callback, bool arrays, struct callback_layout *layout,
                             struct esp_error *error)
{
    for (uint32_t i = 0; i < callback->n_arguments; i++) {
        const struct argument *argument = &callback->arguments[i];
        uint64_t bytes = arrays ? layout->shapes[i].bytes : base_type_size(argument->type);
        if ((argument->n_dims > 0) != arrays)
            continue;
        layout->question[i] = layout->answer[i] = CALLBACK_ABSENT;
        if ((argument_is_input(argument) && !put(&layout->question_bytes, bytes, &layout->question[i])) ||
            (argument_is_output(argument) && !put(&layout->answer_bytes, bytes, &layout->answer[i])))
            return too_large(callback, i, error);
    }
    return ESP_OK;
}

enum esp_status callback_lay_out(const struct problem *callback, const void *const *values,
                                 struct callback_layout *layout, struct esp_error *error)
{
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    layout->question_bytes = layout->answer_bytes = 0;
    enum esp_status status = problem_bind(callback, values, scope, layout->shapes, error);
    if (status != ESP_OK) {
        struct esp_error why = error ? *error : (struct esp_error){.status = status};
        return error_set(error, status, "callback %s", why.text); /* its name is there already */
    }
    status = place(callback, false, layout, error);
    return status == ESP_OK ? place(callback, true, layout, error) : status;
}

enum esp_status callback_lay_out_question(const struct problem *callback, const void *question,
                                          uint32_t length, struct callback_layout *layout,
                                          struct esp_error *error)
{
    const void *values[PROBLEM_MAX_ARGUMENTS] = {0};
    layout->question_bytes = layout->answer_bytes = 0;
    enum esp_status status = place(callback, false, layout, error);
    if (status == ESP_OK && layout->question_bytes <= length) {
        for (uint32_t i = 0; i < callback->n_arguments; i++)
            if (callback->arguments[i].n_dims == 0 && layout->question[i] != CALLBACK_ABSENT)
                values[i] = (const char *)question + layout->question[i];
        status = callback_lay_out(callback, values, layout, error);
    }
    if (status == ESP_OK && layout->question_bytes != length)
        status = error_set(error, ESP_PROTOCOL, "callback %s: expected a question of %u bytes, found %u",
                           callback->name, layout->question_bytes, length);
    return status;
}
