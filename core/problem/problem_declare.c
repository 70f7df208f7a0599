/* SPDX-License-Identifier: Apache-2.0
 *
 * Declarations of arguments, and which names an expression may use in which place. */
#include "core/problem/problem_parser.h"

#include <stdio.h>
#include <string.h>

#define N_PROPERTIES 9

/* In the order of the bits of enum argument_property. */
static const char *const property_names[N_PROPERTIES] = {
    "upper", "lower",     "symmetric", "positive-definite", "row-major", "unit-diagonal",
    "query", "hermitian", "finite"};

const char *property_name(unsigned bit)
{
    return bit < N_PROPERTIES ? property_names[bit] : NULL;
}

bool parser_type(struct parser *parser, enum base_type *type, bool *found)
{
    struct lexer *lexer = &parser->lexer;
    *found = false;
    for (unsigned t = 0; t < N_TYPES && !*found; t++)
        if (lexer_at_name(lexer, base_type_name((enum base_type)t))) {
            *type = (enum base_type)t;
            *found = true;
        }
    if (!*found && parser->family && (lexer_at_name(lexer, "scalar") || lexer_at_name(lexer, "real"))) {
        *type = family_type(parser->family, lexer_at_name(lexer, "real"));
        *found = true;
        return lexer_advance(lexer);
    }
    if (!*found)
        return true;
    if (!lexer_advance(lexer))
        return false;
    if (*type == TYPE_DOUBLE && lexer_at_name(lexer, "complex")) {
        *type = TYPE_DOUBLE_COMPLEX;
        return lexer_advance(lexer);
    }
    return true;
}

static bool is_reserved(const struct parser *parser, const char *name)
{
    if (parser->family &&
        (strcmp(name, "scalar") == 0 || strcmp(name, "real") == 0 || strcmp(name, "when") == 0))
        return true;
    for (unsigned t = 0; t < N_TYPES; t++)
        if (strcmp(name, base_type_name((enum base_type)t)) == 0)
            return true;
    return strcmp(name, "in") == 0 || strcmp(name, "out") == 0 || strcmp(name, "inout") == 0 ||
           expr_reserves(name);
}

bool parser_name(struct parser *parser, const char *what, const char **name)
{
    struct lexer *lexer = &parser->lexer;
    if (lexer->token.kind != TOKEN_NAME)
        return lexer_expected(lexer, what, NULL);
    if (lexer->token.length > PROBLEM_MAX_NAME)
        return lexer_fail(lexer, lexer->token.offset, "a name has at most %d characters, this one has %u",
                          PROBLEM_MAX_NAME, lexer->token.length);
    *name = lexer_token_text(lexer, parser->arena);
    if (!*name)
        return false;
    if (is_reserved(parser, *name))
        return lexer_expected(lexer, what, "this word has a meaning of its own in the language");
    return lexer_advance(lexer);
}

/* Reads `:start,end,skip` after a dimension. */
static bool read_section(struct parser *parser, struct argument *argument)
{
    struct lexer *lexer = &parser->lexer;
    uint32_t offset = lexer->token.offset;
    if (!lexer_at_symbol(lexer, ':'))
        return true;
    if (argument->mode == MODE_WORK)
        return lexer_fail(lexer, offset, "a work array does not travel: it has no section");
    if (base_type_is_variable(argument->type))
        return lexer_fail(lexer, offset, "an array of %ss has no section", base_type_name(argument->type));
    argument->is_section = true;
    for (unsigned i = 0; i < 3; i++) {
        if (i > 0 && !lexer_at_symbol(lexer, ','))
            return lexer_expected(lexer, "an operator or ','",
                                  "a section is start, end and skip: x[n:0,n - 1,2]");
        if (!lexer_advance(lexer) ||
            !parser_expression(parser, USAGE_DIMENSION, &argument->section[argument->n_dims][i]))
            return false;
    }
    return true;
}

static bool read_dims(struct parser *parser, struct argument *argument)
{
    struct lexer *lexer = &parser->lexer;
    if (argument->type == TYPE_STATE)
        return lexer_fail(lexer, lexer->token.offset, "a %s has no dimensions",
                          base_type_name(argument->type));
    do {
        if (argument->n_dims == 1 && base_type_is_variable(argument->type))
            return lexer_fail(lexer, lexer->token.offset, "an array of %ss has one dimension",
                              base_type_name(argument->type));
        if (argument->n_dims == PROBLEM_MAX_DIMS)
            return lexer_fail(lexer, lexer->token.offset, "an array has at most %d dimensions",
                              PROBLEM_MAX_DIMS);
        if (!lexer_advance(lexer) ||
            !parser_expression(parser, USAGE_DIMENSION, &argument->dims[argument->n_dims]) ||
            !read_section(parser, argument))
            return false;
        argument->n_dims++;
    } while (lexer_at_symbol(lexer, ','));
    return lexer_take_symbol(lexer, ']',
                             argument->section[argument->n_dims - 1][0] ? "an operator, ',' or ']'"
                                                                        : "an operator, ',', ':' or ']'");
}

static bool check_property(struct parser *parser, const struct argument *argument, uint32_t property,
                           uint32_t offset)
{
    const uint32_t triangles = PROPERTY_UPPER | PROPERTY_LOWER;
    if (property == PROPERTY_QUERY)
        return (argument->mode == MODE_WORK && argument->n_dims == 1) ||
               lexer_fail(&parser->lexer, offset,
                          "only a work array of one dimension can have its size asked of the routine");
    if (property == PROPERTY_FINITE)
        return (argument->type >= TYPE_FLOAT && argument->type <= TYPE_DOUBLE_COMPLEX &&
                (argument->mode == MODE_IN || argument->mode == MODE_INOUT)) ||
               lexer_fail(&parser->lexer, offset,
                          "only inputs of float, double and complex types can be finite");
    if (property == PROPERTY_ROW_MAJOR ? argument->n_dims < 2 : argument->n_dims != 2)
        return lexer_fail(&parser->lexer, offset, "only a matrix (two dimensions) can have this property");
    if (property == PROPERTY_ROW_MAJOR && argument->count)
        return lexer_fail(&parser->lexer, offset, "an array with a count is stored by columns");
    if (argument->properties & property)
        return lexer_fail(&parser->lexer, offset, "this property was given already");
    if (((argument->properties | property) & triangles) == triangles)
        return lexer_fail(&parser->lexer, offset, "a matrix is upper or lower, not both");
    return true;
}

static bool unknown_property(const struct lexer *lexer, const struct argument *argument)
{
    const char *words[N_PROPERTIES + N_STORAGE_WORDS];
    memcpy(words, property_names, sizeof property_names);
    memcpy(words + N_PROPERTIES, parser_storage_words, N_STORAGE_WORDS * sizeof *words);
    return lexer_expected_word(lexer,
                               argument->n_dims ? "',', a property or the end of the line"
                                                : "',', '[' or the end of the line",
                               words, N_PROPERTIES + N_STORAGE_WORDS);
}

static bool read_properties(struct parser *parser, struct argument *argument)
{
    struct lexer *lexer = &parser->lexer;
    while (lexer->token.kind == TOKEN_NAME) {
        bool found;
        if (!lexer_reread_word(lexer, true) || !parser_storage(parser, argument, &found))
            return false;
        if (found)
            continue;
        unsigned bit = 0;
        while (bit < N_PROPERTIES && !lexer_at_name(lexer, property_names[bit]))
            bit++;
        if (bit == N_PROPERTIES)
            return unknown_property(lexer, argument);
        if (!check_property(parser, argument, 1U << bit, lexer->token.offset))
            return false;
        argument->properties |= 1U << bit;
        if (!lexer_advance(lexer))
            return false;
    }
    return true;
}

static bool read_default(struct parser *parser, struct argument *argument)
{
    struct lexer *lexer = &parser->lexer;
    bool is_number = !base_type_is_variable(argument->type);
    bool possible = argument->n_dims == 0
                        ? argument->mode == MODE_IN || argument->mode == MODE_WORK
                        : (argument->mode == MODE_IN || argument->mode == MODE_INOUT) &&
                              (argument->storage == STORAGE_FULL || argument->storage == STORAGE_PACKED ||
                               argument->storage == STORAGE_BANDED);
    if (!possible || !is_number)
        return lexer_fail(lexer, lexer->token.offset,
                          "only a number that goes in, or an array of them, can have a default");
    return lexer_advance(lexer) && parser_expression(parser, USAGE_DEFAULT, &argument->initial);
}

bool parser_new_name(struct parser *parser, const char *name, uint32_t offset)
{
    for (uint32_t i = 0; i < parser->problem->n_arguments; i++)
        if (strcmp(parser->arguments[i].name, name) == 0)
            return lexer_fail(&parser->lexer, offset, "'%s' was declared already in line %u", name,
                              parser->arguments[i].line);
    return true;
}

bool parser_argument_text(struct parser *parser, struct argument *argument)
{
    struct lexer *lexer = &parser->lexer;
    argument->text = "";
    if (lexer->token.kind != TOKEN_STRING)
        return true;
    if (lexer->token.length - 2 > MAX_TITLE)
        return lexer_fail(lexer, lexer->token.offset, "a text here has at most %d bytes, this one has %u",
                          MAX_TITLE, lexer->token.length - 2);
    argument->text = lexer_token_text(lexer, parser->arena);
    return argument->text && lexer_advance(lexer);
}

static bool check_work(struct parser *parser, const struct argument *argument, uint32_t offset)
{
    if (argument->mode != MODE_WORK)
        return true;
    if (base_type_is_variable(argument->type))
        return lexer_fail(&parser->lexer, offset, "a %s cannot be work memory",
                          base_type_name(argument->type));
    if (argument->n_dims == 0 && !argument->initial)
        return lexer_fail(&parser->lexer, offset,
                          "'%s' needs dimensions (a work array) or a value (%s = ...)", argument->name,
                          argument->name);
    return true;
}

/* A problem has at most one state, because the state determines the server of a call. */
static bool check_state(struct parser *parser, const struct argument *argument, uint32_t offset)
{
    for (uint32_t i = 0; argument->type == TYPE_STATE && i < parser->problem->n_arguments; i++)
        if (parser->arguments[i].type == TYPE_STATE)
            return lexer_fail(&parser->lexer, offset, "a problem has at most one state: '%s' is one already",
                              parser->arguments[i].name);
    return true;
}

bool parser_argument(struct parser *parser, enum argument_mode mode, enum base_type type)
{
    struct lexer *lexer = &parser->lexer;
    uint32_t offset = lexer->token.offset;
    if (parser->problem->n_arguments == PROBLEM_MAX_ARGUMENTS)
        return lexer_fail(lexer, offset, "a problem has at most %d arguments", PROBLEM_MAX_ARGUMENTS);
    struct argument *argument = &parser->arguments[parser->problem->n_arguments];
    *argument = (struct argument){.mode = mode, .type = type, .line = lexer->token.line, .offset = offset};
    if (!parser_check_sign(lexer, type) || !parser_name(parser, "the name of an argument", &argument->name) ||
        !parser_new_name(parser, argument->name, offset) || !parser_check_brackets(lexer, argument))
        return false;
    if (lexer_at_symbol(lexer, '[') && !read_dims(parser, argument))
        return false;
    if (!read_properties(parser, argument))
        return false;
    if (lexer_at_symbol(lexer, '=') && !read_default(parser, argument))
        return false;
    if (!parser_argument_text(parser, argument) || !check_work(parser, argument, offset) ||
        !check_state(parser, argument, offset))
        return false;
    parser->problem->n_arguments++;
    return true;
}

bool parser_declare(struct parser *parser, enum argument_mode mode)
{
    struct lexer *lexer = &parser->lexer;
    enum base_type type;
    bool is_type;
    if (!parser_type(parser, &type, &is_type))
        return false;
    if (!is_type)
        return parser_unknown_type(lexer);
    for (;;) {
        if (!parser_argument(parser, mode, type))
            return false;
        if (lexer_at_line_end(lexer))
            return true;
        if (!lexer_take_symbol(lexer, ',', "',' or the end of the line"))
            return false;
    }
}

bool parser_expression(struct parser *parser, enum usage usage, struct expr **expr)
{
    struct name_list names = {.last = &names.first};
    return expr_read(&parser->lexer, parser->arena, &names, expr) &&
           parser_postpone(parser, names.first, usage);
}

bool parser_postpone(struct parser *parser, struct expr *names, enum usage usage)
{
    if (!names)
        return true;
    struct pending *pending = arena_alloc(parser->arena, sizeof *pending);
    if (!pending)
        return lexer_no_memory(&parser->lexer);
    *pending = (struct pending){.names = names, .usage = usage, .owner = parser->problem->n_arguments};
    *parser->last_pending = pending;
    parser->last_pending = &pending->next;
    return true;
}

bool parser_resolve_pending(struct parser *parser)
{
    for (const struct pending *p = parser->pending; p; p = p->next)
        if (!parser_resolve(parser, &parser->lexer, p->names, p->usage, p->owner))
            return false;
    return true;
}

static bool check_query(const struct parser *parser, const struct argument *argument)
{
    uint32_t index;
    if (!argument_is_queried(argument))
        return true;
    if (expr_is_name(argument->dims[0], &index) && parser->arguments[index].mode == MODE_WORK &&
        parser->arguments[index].type >= TYPE_INT && parser->arguments[index].type <= TYPE_INT64)
        return true;
    return lexer_fail(&parser->lexer, argument->dims[0]->offset,
                      "a work array with 'query' has a work value as its size: work int lwork = ..., then "
                      "%s[lwork] query",
                      argument->name);
}

bool parser_check_arguments(struct parser *parser)
{
    for (uint32_t i = 0; i < parser->problem->n_arguments; i++)
        if (!check_query(parser, &parser->arguments[i]) || !parser_check_storage(parser, i))
            return false;
    return true;
}

static bool is_number(const struct argument *argument)
{
    return argument->n_dims == 0 && argument->type <= TYPE_DOUBLE;
}

static bool is_complex(const struct argument *argument)
{
    return argument->type == TYPE_COMPLEX || argument->type == TYPE_DOUBLE_COMPLEX;
}

/* Why the argument cannot be used in factor_flop() and factor_nz(); NULL when it can. */
static const char *matrix_objection(const struct argument *argument, enum usage usage)
{
    if (usage != USAGE_COST)
        return "stands in a function that only work and memory may use";
    if (!argument_is_input(argument) ||
        (argument->storage != STORAGE_CSC && argument->storage != STORAGE_CSR))
        return "is no input that is stored by compressed columns or rows";
    return NULL;
}

/* Why an expression in the place `usage` cannot use the argument, or NULL when it can. */
static const char *objection(const struct parser *parser, const struct expr *name, uint32_t index,
                             enum usage usage, uint32_t owner)
{
    const struct argument *argument = &parser->arguments[index];
    if (name->names_matrix)
        return matrix_objection(argument, usage);
    if (argument->n_dims)
        return "is an array: an expression can use scalars only";
    if (!is_number(argument) && !(usage == USAGE_UNREAD && is_complex(argument)))
        return "is no number that an expression could use";
    if (argument->mode == MODE_OUT && usage != USAGE_ERROR && usage != USAGE_COUNT)
        return "is an output: its value is not known before the call";
    if (usage == USAGE_UNREAD && argument->mode == MODE_WORK)
        return "is a work value: whether an argument is read must follow from the inputs";
    if (usage == USAGE_REQUIRE && argument->mode == MODE_WORK)
        return "is a work value: a precondition can use inputs only";
    if (usage == USAGE_DEFAULT && parser->arguments[owner].mode == MODE_IN && argument->mode == MODE_WORK)
        return "is a work value: the default of an input cannot use it";
    if (usage == USAGE_DEFAULT && index >= owner &&
        !(parser->arguments[owner].mode == MODE_WORK && argument->mode != MODE_WORK))
        return "is not declared yet: a default can use what was declared before it";
    return NULL;
}

static bool unknown_name(struct parser *parser, struct lexer *lexer, const struct expr *name)
{
    const char *words[PROBLEM_MAX_ARGUMENTS + PROBLEM_MAX_RESULTS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < parser->problem->n_arguments; i++)
        words[n++] = parser->arguments[i].name;
    for (uint32_t i = 0; parser->implementation && i < parser->implementation->n_results; i++)
        words[n++] = parser->results[i];
    const char *near = lexer_nearest(name->spelling, words, n);
    return lexer_fail(lexer, name->offset, "unknown name '%s'%s%s%s", name->spelling,
                      near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

bool parser_resolve(struct parser *parser, struct lexer *lexer, struct expr *names, enum usage usage,
                    uint32_t owner)
{
    for (struct expr *name = names; name; name = name->next_name) {
        uint32_t n = parser->problem->n_arguments, i = 0;
        while (i < n && strcmp(parser->arguments[i].name, name->spelling) != 0)
            i++;
        if (i < n) {
            const char *why = objection(parser, name, i, usage, owner);
            if (why)
                return lexer_fail(lexer, name->offset, "'%s' %s", name->spelling, why);
            name->names_character = parser->arguments[i].type == TYPE_CHAR;
        } else if (usage == USAGE_ERROR) {
            uint32_t n_results = parser->implementation->n_results, r = 0;
            while (r < n_results && strcmp(parser->results[r], name->spelling) != 0)
                r++;
            if (r == n_results)
                return unknown_name(parser, lexer, name);
            i = n + r;
        } else {
            return unknown_name(parser, lexer, name);
        }
        name->index = i;
    }
    return true;
}
