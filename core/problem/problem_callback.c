/* SPDX-License-Identifier: Apache-2.0
 *
 * Callbacks: their declaration, and the positions of the values of a call. */
#include "core/problem/problem_callback.h"
#include "core/problem/problem_parser.h"

#include <stdlib.h>
#include <string.h>

#define MOST_CALLBACKS 8 /* of one problem */

/* The parser's state for the problem around the callback. */
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
        return lexer_expected(lexer, "a type (char, short, int, long, int64, float, double, complex, string)",
                              NULL);
    if (type > TYPE_STRING)
        return lexer_fail(lexer, offset, "a callback takes and gives numbers and strings, not a %s",
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
    if (argument_is_texts(argument))
        return lexer_fail(lexer, offset, "a callback takes and gives single strings, no arrays of them");
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

/* Adds the function's result as the last output, under the callback's own name. */
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

/* Resolves names of the callback's own arguments. Other names wait in parser->pending, because arguments
 * of the problem around it may be declared later. */
static bool resolve_own(struct parser *parser)
{
    for (struct pending *p = parser->pending; p; p = p->next) {
        struct expr *own = NULL, *others = NULL, **own_end = &own, **others_end = &others;
        for (struct expr *name = p->names; name; name = name->next_name) {
            struct expr ***end =
                problem_argument_index(parser->problem, name->spelling) >= 0 ? &own_end : &others_end;
            **end = name;
            *end = &name->next_name;
        }
        *own_end = *others_end = NULL;
        if (!parser_resolve(parser, &parser->lexer, own, p->usage, p->owner))
            return false;
        p->names = others;
    }
    return true;
}

static bool read_signature(struct parser *parser, const struct argument *argument, enum base_type returned)
{
    struct problem *callback = parser->problem;
    if (!read_parameters(parser) || (argument->callback_returns && !add_result(parser, returned)) ||
        !resolve_own(parser) || !parser_check_arguments(parser))
        return false;
    callback->arguments =
        parser_keep(parser, parser->arguments, callback->n_arguments, sizeof *callback->arguments);
    return callback->arguments != NULL;
}

/* Reads the callback's signature. The parser has room for one signature, so that of the problem is saved
 * meanwhile. */
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
    parser->callbacks[outer.problem->n_arguments] =
        (struct callback_draft){.problem = callback, .names = parser->pending};
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
    if (argument->callback_returns && *type > TYPE_STRING)
        return lexer_fail(&parser->lexer, offset, "a callback returns a number or a string, not a %s",
                          base_type_name(*type));
    return true;
}

/* ---- scalars of the problem around it ---- */

/* Adds an input of the same name to the callback; *index is its index among the callback's arguments. */
static bool add_outer(struct parser *parser, struct callback_draft *draft, uint32_t argument,
                      const struct expr *name, uint32_t *index)
{
    const struct problem *callback = draft->problem;
    uint32_t k = 0;
    while (k < draft->n_outer && draft->outer[k] != argument)
        k++;
    *index = callback->n_arguments + k;
    if (k < draft->n_outer)
        return true;
    if (k == CALLBACK_MAX_OUTER)
        return lexer_fail(&parser->lexer, name->offset,
                          "the sizes of a callback use at most %d scalars of the problem",
                          CALLBACK_MAX_OUTER);
    draft->outer[draft->n_outer++] = argument;
    return true;
}

static bool resolve_outer(struct parser *parser, struct callback_draft *draft)
{
    for (const struct pending *p = draft->names; p; p = p->next) {
        if (!parser_resolve(parser, &parser->lexer, p->names, USAGE_DIMENSION, 0))
            return false;
        for (struct expr *name = p->names; name; name = name->next_name) {
            uint32_t index;
            if (!add_outer(parser, draft, name->index, name, &index))
                return false;
            name->index = index;
        }
    }
    return true;
}

static bool keep_outer(struct parser *parser, const struct callback_draft *draft)
{
    struct problem *callback = draft->problem;
    const uint32_t own = callback->n_arguments;
    struct argument *arguments = arena_alloc(parser->arena, (own + draft->n_outer) * sizeof *arguments);
    if (!arguments)
        return lexer_no_memory(&parser->lexer);
    memcpy(arguments, callback->arguments, own * sizeof *arguments);
    for (uint32_t k = 0; k < draft->n_outer; k++) {
        const struct argument *from = &parser->arguments[draft->outer[k]];
        arguments[own + k] = (struct argument){
            .name = from->name, .text = "", .mode = MODE_IN, .type = from->type, .line = from->line};
    }
    callback->arguments = arguments;
    callback->n_arguments = own + draft->n_outer;
    callback->n_outer = draft->n_outer;
    callback->outer = parser_keep(parser, draft->outer, draft->n_outer, sizeof *draft->outer);
    return callback->outer != NULL;
}

bool parser_end_callbacks(struct parser *parser)
{
    struct problem *problem = parser->problem;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        struct callback_draft *draft = &parser->callbacks[i];
        if (parser->arguments[i].type != TYPE_CALLBACK)
            continue;
        if (!resolve_outer(parser, draft) || (draft->n_outer > 0 && !keep_outer(parser, draft)))
            return false;
        parser->problem = draft->problem;
        const bool written = parser_write_source(parser);
        parser->problem = problem;
        if (!written)
            return false;
    }
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

/* Sets the offset of a value and moves *end past it. False when there are too many bytes. */
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

static bool is_there(const struct argument *argument, bool answer)
{
    return answer ? argument_is_output(argument) : argument_is_input(argument);
}

static enum esp_status place_scalars(const struct problem *callback, bool answer, struct callback_side *side,
                                     struct esp_error *error)
{
    side->bytes = 0;
    for (uint32_t i = 0; i < callback->n_arguments; i++) {
        const struct argument *argument = &callback->arguments[i];
        side->at[i] = side->text[i] = CALLBACK_ABSENT;
        if (i >= callback_n_own(callback) || argument->n_dims > 0 || !is_there(argument, answer))
            continue;
        if (!put(&side->bytes,
                 argument_is_string(argument) ? sizeof(uint64_t) : base_type_size(argument->type),
                 &side->at[i]))
            return too_large(callback, i, error);
    }
    return ESP_OK;
}

static enum esp_status place(const struct problem *callback, bool answer, const struct shape *shapes,
                             struct callback_side *side, struct esp_error *error)
{
    enum esp_status status = place_scalars(callback, answer, side, error);
    if (status != ESP_OK)
        return status;
    for (uint32_t i = 0; i < callback_n_own(callback); i++)
        if (callback->arguments[i].n_dims > 0 && is_there(&callback->arguments[i], answer) &&
            !put(&side->bytes, shapes[i].bytes, &side->at[i]))
            return too_large(callback, i, error);
    for (uint32_t i = 0; i < callback_n_own(callback); i++)
        if (argument_is_string(&callback->arguments[i]) && is_there(&callback->arguments[i], answer) &&
            (side->length[i] >= CALLBACK_MOST_BYTES ||
             !put(&side->bytes, side->length[i] + 1, &side->text[i])))
            return too_large(callback, i, error);
    return ESP_OK;
}

enum esp_status callback_lay_out(const struct problem *callback, const void *const *values,
                                 struct callback_layout *layout, struct esp_error *error)
{
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    enum esp_status status = problem_bind(callback, values, scope, layout->shapes, error);
    if (status != ESP_OK) {
        struct esp_error why = error ? *error : (struct esp_error){.status = status};
        return error_set(error, status, "callback %s", why.text); /* the text already contains the name */
    }
    memset(layout->answer.length, 0, sizeof layout->answer.length);
    status = place(callback, false, layout->shapes, &layout->question, error);
    return status == ESP_OK ? callback_lay_out_answer(callback, layout, error) : status;
}

enum esp_status callback_lay_out_answer(const struct problem *callback, struct callback_layout *layout,
                                        struct esp_error *error)
{
    return place(callback, true, layout->shapes, &layout->answer, error);
}

/* Reads the lengths of strings from a received message; the scalars have been placed already. */
static void take_lengths(const struct problem *callback, const void *data, struct callback_side *side)
{
    for (uint32_t i = 0; i < callback_n_own(callback); i++)
        if (argument_is_string(&callback->arguments[i]) && side->at[i] != CALLBACK_ABSENT)
            memcpy(&side->length[i], (const char *)data + side->at[i], sizeof side->length[i]);
}

/* Checks that each string ends with a 0, because its reader relies on that. */
static enum esp_status check_strings(const struct problem *callback, const void *data,
                                     const struct callback_side *side, struct esp_error *error)
{
    for (uint32_t i = 0; i < callback_n_own(callback); i++) {
        if (side->text[i] != CALLBACK_ABSENT &&
            strnlen((const char *)data + side->text[i], side->length[i] + 1) != side->length[i])
            return error_set(error, ESP_PROTOCOL,
                             "callback %s: the string %s does not end where its length says", callback->name,
                             callback->arguments[i].name);
    }
    return ESP_OK;
}

enum esp_status callback_lay_out_question(const struct problem *callback, const uint64_t *outer,
                                          const void *question, uint32_t length,
                                          struct callback_layout *layout, struct esp_error *error)
{
    const void *values[PROBLEM_MAX_ARGUMENTS] = {0};
    struct callback_side *side = &layout->question;
    enum esp_status status = place_scalars(callback, false, side, error);
    if (status == ESP_OK && side->bytes <= length) {
        for (uint32_t i = 0; i < callback_n_own(callback); i++)
            if (side->at[i] != CALLBACK_ABSENT)
                values[i] = (const char *)question + side->at[i];
        for (uint32_t k = 0; k < callback->n_outer; k++)
            values[callback_n_own(callback) + k] = &outer[k];
        take_lengths(callback, question, side);
        status = callback_lay_out(callback, values, layout, error);
    }
    if (status == ESP_OK && side->bytes != length)
        status = error_set(error, ESP_PROTOCOL, "callback %s: expected a question of %u bytes, found %u",
                           callback->name, side->bytes, length);
    return status == ESP_OK ? check_strings(callback, question, side, error) : status;
}

enum esp_status callback_take_answer(const struct problem *callback, const void *answer, uint32_t length,
                                     struct callback_layout *layout, struct esp_error *error)
{
    struct callback_side *side = &layout->answer;
    enum esp_status status = ESP_OK;
    if (length <= CALLBACK_MOST_BYTES && side->bytes <= length) { /* counted with empty strings so far */
        take_lengths(callback, answer, side);
        status = callback_lay_out_answer(callback, layout, error);
    }
    if (status == ESP_OK && side->bytes != length)
        status = error_set(error, ESP_PROTOCOL,
                           "callback %s: expected an answer of %u bytes from the client, found %u",
                           callback->name, side->bytes, length);
    return status == ESP_OK ? check_strings(callback, answer, side, error) : status;
}

enum esp_status callback_outer_values(const struct problem *callback, const struct number *scope,
                                      uint64_t *outer, struct esp_error *error)
{
    for (uint32_t k = 0; k < callback->n_outer; k++) {
        const struct argument *argument = &callback->arguments[callback_n_own(callback) + k];
        outer[k] = 0;
        enum esp_status status = number_store(&scope[callback->outer[k]], argument->type, &outer[k], error);
        if (status != ESP_OK) {
            error_prefix(error, "callback %s: %s", callback->name, argument->name);
            return status;
        }
    }
    return ESP_OK;
}
