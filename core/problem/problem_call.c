/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks that the call of a routine fits the arguments of its problem. */
#include "core/problem/problem_parser.h"

#include <string.h>

/* An output that no parameter fills would return uninitialised memory to the caller; a callback that is no
 * parameter would never be called. */
static bool check_outputs(struct parser *parser, uint32_t offset)
{
    const struct implementation *implementation = parser->implementation;
    for (uint32_t i = 0; i < parser->problem->n_arguments; i++) {
        const struct argument *argument = &parser->arguments[i];
        bool is_callback = argument->type == TYPE_CALLBACK;
        bool passed = (!argument_is_output(argument) && !is_callback) ||
                      (implementation->returns && implementation->result.kind == PARAMETER_ARGUMENT &&
                       implementation->result.argument == i);
        for (uint32_t p = 0; p < implementation->n_parameters && !passed; p++)
            passed = (implementation->parameters[p].kind == PARAMETER_ARGUMENT ||
                      implementation->parameters[p].kind == PARAMETER_INTO) &&
                     implementation->parameters[p].argument == i;
        if (!passed)
            return lexer_fail(&parser->lexer, offset, "the %s '%s' is not among the parameters of %s()",
                              is_callback ? "callback" : "output", argument->name, implementation->symbol);
    }
    return true;
}

/* Checks that a variable is not both the routine's result and written by it: one value would be lost. */
static bool check_returned(struct parser *parser, uint32_t offset)
{
    const struct implementation *implementation = parser->implementation;
    for (uint32_t p = 0; p < implementation->n_parameters; p++)
        if (implementation->returns && implementation->result.kind == PARAMETER_ARGUMENT &&
            implementation->parameters[p].kind == PARAMETER_ARGUMENT &&
            implementation->parameters[p].argument == implementation->result.argument)
            return lexer_fail(
                &parser->lexer, offset, "'%s' is what %s() returns: it cannot be among the parameters, too",
                parser->arguments[implementation->result.argument].name, implementation->symbol);
    return true;
}

/* Checks that a queried work scalar is a parameter: otherwise the routine cannot be asked for the size. */
static bool check_queries(struct parser *parser, uint32_t offset)
{
    const struct implementation *implementation = parser->implementation;
    for (uint32_t p = 0; p < implementation->n_parameters; p++) {
        const struct call_parameter *parameter = &implementation->parameters[p];
        uint32_t size, found = 0;
        if (parameter->kind != PARAMETER_ARGUMENT ||
            !argument_is_queried(&parser->arguments[parameter->argument]))
            continue;
        expr_is_name(parser->arguments[parameter->argument].dims[0], &size);
        while (found < implementation->n_parameters &&
               !call_parameter_is_value_of(&implementation->parameters[found], size))
            found++;
        if (found == implementation->n_parameters)
            return lexer_fail(&parser->lexer, offset,
                              "'%s' is asked for with 'query', but its size '%s' is not among the "
                              "parameters of %s()",
                              parser->arguments[parameter->argument].name, parser->arguments[size].name,
                              implementation->symbol);
    }
    return true;
}

/* Checks that a routine can receive, or return, the text. */
static bool check_text(struct parser *parser, const struct argument *argument, uint32_t offset)
{
    if (argument->type == TYPE_CALLBACK && argument->callback_returns &&
        argument->callback->arguments[callback_n_parameters(argument)].type == TYPE_STRING &&
        parser->implementation->convention == CONVENTION_FORTRAN)
        return lexer_fail(&parser->lexer, offset,
                          "the callback '%s' returns a string, which Fortran's functions do not do here: "
                          "give the string by a parameter, callback %s(..., out string NAME)",
                          argument->name, argument->name);
    if (argument->type == TYPE_STRING && argument->mode != MODE_IN)
        return lexer_fail(&parser->lexer, offset,
                          "'%s' is a string whose length is not known before the call, which only a command "
                          "can give back (a routine has arrays of char, or of strings, string NAME[1], or a "
                          "file)",
                          argument->name);
    return true;
}

/* Checks arrays of strings: C has pointers to texts, Fortran elements of one length. */
static bool check_texts(struct parser *parser, uint32_t offset)
{
    const struct implementation *implementation = parser->implementation;
    for (uint32_t p = 0; p < implementation->n_parameters; p++) {
        const struct call_parameter *parameter = &implementation->parameters[p];
        if (parameter->kind != PARAMETER_ARGUMENT)
            continue;
        const struct argument *argument = &parser->arguments[parameter->argument];
        if (argument->n_dims == 0 && !check_text(parser, argument, offset))
            return false;
        if (!argument_is_texts(argument) || argument->type == TYPE_FILE)
            continue;
        if (implementation->convention == CONVENTION_FORTRAN && argument->mode != MODE_IN &&
            !implementation->parameters[p].width)
            return lexer_fail(
                &parser->lexer, offset,
                "'%s' is an array of strings that comes back, and Fortran's have one length: write "
                "character(%s, 80) among the parameters for its character(80) %s(*)",
                argument->name, argument->name, argument->name);
    }
    return true;
}

/* Checks that a routine which receives leading(A) also receives A. */
static bool check_leading(struct parser *parser, uint32_t offset)
{
    const struct implementation *implementation = parser->implementation;
    for (uint32_t p = 0; p < implementation->n_parameters; p++) {
        const struct call_parameter *parameter = &implementation->parameters[p];
        bool passed = parameter->kind != PARAMETER_LEADING;
        for (uint32_t k = 0; k < implementation->n_parameters && !passed; k++)
            passed = implementation->parameters[k].kind == PARAMETER_ARGUMENT &&
                     implementation->parameters[k].argument == parameter->argument;
        if (!passed)
            return lexer_fail(&parser->lexer, offset,
                              "leading(%s) is passed to %s(), but '%s' is not among its parameters",
                              parser->arguments[parameter->argument].name, implementation->symbol,
                              parser->arguments[parameter->argument].name);
    }
    return true;
}

static bool parser_check_call(struct parser *parser, uint32_t offset)
{
    return check_outputs(parser, offset) && check_returned(parser, offset) && check_queries(parser, offset) &&
           check_texts(parser, offset) && check_leading(parser, offset);
}

/* Reads implementations: the call, and the meaning of its results. */

bool parser_end_implementation(struct parser *parser)
{
    struct implementation *implementation = parser->implementation;
    if (!implementation)
        return true;
    if (!implementation->symbol)
        return lexer_fail(
            &parser->lexer, parser->implementation_offset,
            "the implementation '%s' has no call: expected a line with 'fortran', 'c', 'parallel' or "
            "'command'",
            implementation->name);
    if (implementation->convention == CONVENTION_COMMAND && !parser_end_command(parser))
        return false;
    if (!parser_end_parallel(parser) ||
        (implementation_is_routine(implementation) && !parser_name_files(parser)))
        return false;
    implementation->errors =
        parser_keep(parser, parser->errors, implementation->n_errors, sizeof *implementation->errors);
    return implementation->errors != NULL;
}

bool parser_implementation(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    struct problem *problem = parser->problem;
    uint32_t offset = lexer->token.offset;
    if (!parser_end_implementation(parser))
        return false;
    if (problem->n_implementations == MAX_IMPLEMENTATIONS)
        return lexer_fail(lexer, offset, "a problem has at most %d implementations", MAX_IMPLEMENTATIONS);
    struct implementation *implementation = &parser->implementations[problem->n_implementations];
    *implementation =
        (struct implementation){.line = lexer->token.line, .output_bytes = COMMAND_DEFAULT_OUTPUT};
    parser->has_output_limit = false;
    if (!parser_name(parser, "the name of the implementation", &implementation->name))
        return false;
    for (uint32_t i = 0; i < problem->n_implementations; i++)
        if (strcmp(parser->implementations[i].name, implementation->name) == 0)
            return lexer_fail(lexer, offset, "there is an implementation '%s' already in line %u",
                              implementation->name, parser->implementations[i].line);
    problem->n_implementations++;
    parser->implementation = implementation;
    parser->implementation_offset = offset;
    return true;
}

/* Returns the index of the argument named by the current token, or -1. */
static int argument_here(const struct parser *parser)
{
    for (uint32_t i = 0; i < parser->problem->n_arguments; i++)
        if (lexer_at_name(&parser->lexer, parser->arguments[i].name))
            return (int)i;
    return -1;
}

/* Adds a result of the routine besides the arguments of the problem; error clauses use its name. */
static bool new_result(struct parser *parser, enum base_type type, struct call_parameter *parameter)
{
    struct lexer *lexer = &parser->lexer;
    struct implementation *implementation = parser->implementation;
    uint32_t offset = lexer->token.offset;
    if (argument_here(parser) >= 0)
        return lexer_expected(lexer, "a new name for a result",
                              "this is an argument, write it without 'out'");
    if (type > TYPE_DOUBLE)
        return lexer_fail(lexer, offset, "a result is a number, not a %s", base_type_name(type));
    if (implementation->n_results == PROBLEM_MAX_RESULTS)
        return lexer_fail(lexer, offset, "a call has at most %d results", PROBLEM_MAX_RESULTS);
    *parameter = (struct call_parameter){.kind = PARAMETER_RESULT, .type = type};
    if (!parser_name(parser, "the name of a result", &parameter->name))
        return false;
    for (uint32_t i = 0; i < implementation->n_results; i++)
        if (strcmp(parser->results[i], parameter->name) == 0)
            return lexer_fail(lexer, offset, "there is a result '%s' already", parameter->name);
    parameter->result_index = parser->problem->n_arguments + implementation->n_results;
    parser->results[implementation->n_results++] = parameter->name;
    return true;
}

static bool read_result_parameter(struct parser *parser, struct call_parameter *parameter)
{
    enum base_type type = TYPE_INT;
    bool is_type;
    return lexer_advance(&parser->lexer) && parser_type(parser, &type, &is_type) &&
           new_result(parser, type, parameter);
}

/* Chooses the type of an expression that has none; false if an int would lose something. */
static bool natural_type(const struct parser *parser, const struct expr *value, enum base_type *type)
{
    *type = TYPE_INT;
    if (value->kind == EXPR_CHARACTER)
        *type = TYPE_CHAR;
    if (value->kind == EXPR_REAL)
        return false;
    if (value->kind == EXPR_NAME) {
        enum base_type named = parser->arguments[value->index].type;
        return named != TYPE_FLOAT && named != TYPE_DOUBLE;
    }
    if (value->kind == EXPR_FUNCTION &&
        (value->code == FUNCTION_LOG2 || value->code == FUNCTION_SQRT || expr_functions[value->code].real))
        return false;
    if (value->kind == EXPR_FUNCTION && (value->code == FUNCTION_CEIL || value->code == FUNCTION_FLOOR))
        return true;
    enum base_type ignored;
    for (unsigned i = 0; i < value->n_operands; i++)
        if (!natural_type(parser, value->operands[i], &ignored))
            return false;
    return true;
}

/* Reads [TYPE] expression; a plain name is the argument itself. */
static bool read_value_parameter(struct parser *parser, struct call_parameter *parameter)
{
    struct lexer *lexer = &parser->lexer;
    uint32_t offset = lexer->token.offset;
    struct name_list names = {.last = &names.first};
    enum base_type type;
    bool is_type;
    if (!parser_type(parser, &type, &is_type))
        return false;
    if (is_type && base_type_is_variable(type))
        return lexer_fail(lexer, offset, "an expression cannot be passed as a %s", base_type_name(type));
    int index = is_type ? -1 : argument_here(parser);
    if (!expr_read(lexer, parser->arena, &names, &parameter->value))
        return false;
    if (index >= 0 && parameter->value->kind == EXPR_NAME) {
        const struct argument *argument = &parser->arguments[index];
        parameter->argument = (uint32_t)index;
        parameter->type = argument->type;
        if (argument->mode != MODE_WORK || argument->n_dims) {
            parameter->kind = PARAMETER_ARGUMENT;
            parameter->value = NULL;
            return true;
        }
    }
    parameter->kind = PARAMETER_VALUE;
    if (!parser_resolve(parser, lexer, names.first, USAGE_CALL, 0))
        return false;
    if (is_type) {
        parameter->type = type;
        return parser_check_value(parser, parameter->value, type);
    }
    if (parameter->value->kind != EXPR_NAME && !natural_type(parser, parameter->value, &parameter->type))
        return lexer_fail(lexer, offset, "the real value %s needs a type: write float %s or double %s",
                          expr_text(parameter->value), expr_text(parameter->value),
                          expr_text(parameter->value));
    return parameter->value->kind == EXPR_NAME ||
           parser_check_value(parser, parameter->value, parameter->type);
}

/* Reads character(NAME, width): an array of strings as Fortran's CHARACTER(width) NAME(n). */
static bool read_characters(struct parser *parser, struct call_parameter *parameter)
{
    struct lexer *lexer = &parser->lexer;
    uint32_t offset = lexer->token.offset;
    struct name_list names = {.last = &names.first};
    if (parser->implementation->convention != CONVENTION_FORTRAN)
        return lexer_fail(lexer, offset,
                          "character() is for Fortran: a C routine takes the array by its name");
    if (!lexer_advance(lexer) || !lexer_take_symbol(lexer, '(', "'(' before the name of an array of strings"))
        return false;
    int index = argument_here(parser);
    offset = lexer->token.offset;
    if (index < 0 || !argument_is_texts(&parser->arguments[index]) ||
        parser->arguments[index].type == TYPE_FILE)
        return lexer_expected(lexer, "the name of an array of strings", NULL);
    *parameter = (struct call_parameter){
        .kind = PARAMETER_ARGUMENT, .argument = (uint32_t)index, .type = parser->arguments[index].type};
    return lexer_advance(lexer) && lexer_take_symbol(lexer, ',', "',' and the characters of an element") &&
           expr_read(lexer, parser->arena, &names, &parameter->width) &&
           parser_resolve(parser, lexer, names.first, USAGE_CALL, 0) &&
           parser_check_value(parser, parameter->width, TYPE_INT) &&
           lexer_take_symbol(lexer, ')', "an operator or ')'");
}

/* Reads leading(A): the server chooses the distance between the columns of A, and passes it to the
 * routine. */
static bool read_leading(struct parser *parser, struct call_parameter *parameter)
{
    if (implementation_is_parallel(parser->implementation))
        return lexer_fail(&parser->lexer, parser->lexer.token.offset,
                          "leading() is for routines of one process: ranks get desc()");
    *parameter = (struct call_parameter){.kind = PARAMETER_LEADING, .type = TYPE_INT};
    return parser_of_matrix(parser, parameter);
}

/* Reads a parameter. `out` before a name makes a result; an argument cannot be called `out`. */
static bool read_parameter(struct parser *parser, struct call_parameter *parameter)
{
    bool found = false;
    if (parser->implementation->spreads && argument_here(parser) < 0 &&
        !parser_parallel_parameter(parser, parameter, &found))
        return false;
    if (found)
        return true;
    if (lexer_at_name(&parser->lexer, "out"))
        return read_result_parameter(parser, parameter);
    if (lexer_at_name(&parser->lexer, "character") && argument_here(parser) < 0)
        return read_characters(parser, parameter);
    if (lexer_at_name(&parser->lexer, "leading") && argument_here(parser) < 0)
        return read_leading(parser, parameter);
    return read_value_parameter(parser, parameter);
}

/* Advances to the ',' or ')' after the current parameter. */
static bool skip_parameter(struct lexer *lexer)
{
    unsigned depth = 0;
    while (lexer->token.kind != TOKEN_END) {
        if (depth == 0 && (lexer_at_symbol(lexer, ',') || lexer_at_symbol(lexer, ')')))
            break;
        depth += lexer_at_symbol(lexer, '(') || lexer_at_symbol(lexer, '[');
        depth -= depth > 0 && (lexer_at_symbol(lexer, ')') || lexer_at_symbol(lexer, ']'));
        if (!lexer_advance(lexer))
            return false;
    }
    return true;
}

/* Reads one parameter, or none: `when c or z: rwork` is skipped for the other members of the family. */
static bool read_conditional(struct parser *parser, struct call_parameter *parameters, uint32_t *n)
{
    struct lexer *lexer = &parser->lexer;
    bool holds = true;
    if (parser->family && lexer_at_name(lexer, "when") && !parser_when(parser, &holds))
        return false;
    if (!holds)
        return skip_parameter(lexer);
    if (*n == PROBLEM_MAX_PARAMETERS)
        return lexer_fail(lexer, lexer->token.offset, "a routine has at most %d parameters",
                          PROBLEM_MAX_PARAMETERS);
    return read_parameter(parser, &parameters[(*n)++]);
}

static bool read_parameters(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    struct implementation *implementation = parser->implementation;
    struct call_parameter parameters[PROBLEM_MAX_PARAMETERS] = {{0}};
    uint32_t n = 0;
    bool more = true;
    if (!lexer_take_symbol(lexer, '(', "'(' before the parameters of the routine"))
        return false;
    if (lexer_at_symbol(lexer, ')'))
        more = false;
    while (more) {
        if (!read_conditional(parser, parameters, &n))
            return false;
        more = lexer_at_symbol(lexer, ',');
        if (more && !lexer_advance(lexer))
            return false;
    }
    implementation->parameters = parser_keep(parser, parameters, n, sizeof *parameters);
    implementation->n_parameters = n;
    return implementation->parameters && lexer_take_symbol(lexer, ')', "an operator, ',' or ')'");
}

/* Reads `name =` before the symbol: an output scalar of the problem, or a new int result. */
static bool read_returned(struct parser *parser, struct lexer at_name)
{
    struct implementation *implementation = parser->implementation;
    struct lexer after_equal = parser->lexer;
    parser->lexer = at_name;
    implementation->returns = true;
    int index = argument_here(parser);
    if (index >= 0) {
        const struct argument *argument = &parser->arguments[index];
        if (argument->mode != MODE_OUT || argument->n_dims || !base_type_size(argument->type) ||
            argument->type > TYPE_DOUBLE_COMPLEX)
            return lexer_fail(&parser->lexer, parser->lexer.token.offset,
                              "'%s' cannot take what the routine returns: expected an 'out' scalar",
                              argument->name);
        implementation->result = (struct call_parameter){
            .kind = PARAMETER_ARGUMENT, .argument = (uint32_t)index, .type = argument->type};
    } else if (!new_result(parser, TYPE_INT, &implementation->result)) {
        return false;
    }
    parser->lexer = after_equal;
    return true;
}

static bool read_symbol(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    struct lexer at_name = *lexer;
    const char *symbol;
    if (lexer->token.kind != TOKEN_NAME)
        return lexer_expected(lexer, "the symbol of a routine", NULL);
    if (!(symbol = lexer_token_text(lexer, parser->arena)) || !lexer_advance(lexer))
        return false;
    if (lexer_at_symbol(lexer, '=')) {
        if (!lexer_advance(lexer) || !read_returned(parser, at_name))
            return false;
        if (lexer->token.kind != TOKEN_NAME)
            return lexer_expected(lexer, "the symbol of a routine", NULL);
        if (!(symbol = lexer_token_text(lexer, parser->arena)) || !lexer_advance(lexer))
            return false;
    }
    parser->implementation->symbol = symbol;
    return true;
}

static bool read_library(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    parser->implementation->library = "";
    if (!lexer_at_name(lexer, "in"))
        return lexer_at_line_end(lexer) || lexer_expected(lexer, "'in LIBRARY' or the end of the line", NULL);
    if (!lexer_advance(lexer) || !lexer_reread_word(lexer, false))
        return false;
    if (lexer->token.kind != TOKEN_NAME && lexer->token.kind != TOKEN_STRING)
        return lexer_expected(lexer, "the name of a library, as liblapack.so.3", NULL);
    parser->implementation->library = lexer_token_text(lexer, parser->arena);
    return parser->implementation->library && lexer_advance(lexer);
}

bool parser_call(struct parser *parser, enum convention convention)
{
    uint32_t offset = parser->lexer.token.offset;
    if (parser->implementation->symbol)
        return lexer_fail(&parser->lexer, offset, "the implementation '%s' has a call already: %s()",
                          parser->implementation->name, parser->implementation->symbol);
    parser->implementation->convention = convention;
    return read_symbol(parser) && read_parameters(parser) && read_library(parser) &&
           parser_check_call(parser, offset);
}

/* Reads the condition of the implementation's next clause; NULL on an error. */
static struct error_clause *read_judgement(struct parser *parser, const char *otherwise)
{
    struct lexer *lexer = &parser->lexer;
    struct implementation *implementation = parser->implementation;
    if (implementation->n_errors == MAX_ERROR_CLAUSES) {
        lexer_fail(lexer, lexer->token.offset, "an implementation has at most %d error clauses and notes",
                   MAX_ERROR_CLAUSES);
        return NULL;
    }
    struct error_clause *clause = &parser->errors[implementation->n_errors++];
    struct name_list names = {.last = &names.first};
    *clause = (struct error_clause){0};
    if (!expr_read(lexer, parser->arena, &names, &clause->condition) ||
        !parser_resolve(parser, lexer, names.first, USAGE_ERROR, 0) ||
        !parser_check_condition(parser, clause->condition, otherwise))
        return NULL;
    return clause;
}

/* `word` is the keyword of the clause. */
static bool read_message_clause(struct parser *parser, const char *word, enum verdict verdict)
{
    struct lexer *lexer = &parser->lexer;
    if (!parser->implementation->symbol)
        return lexer_fail(lexer, lexer->token.offset,
                          "'%s' belongs behind the call ('fortran', 'c' or 'command') it is about", word);
    struct error_clause *clause = read_judgement(parser, "its message would never be seen");
    if (!clause)
        return false;
    clause->verdict = verdict;
    if (lexer->token.kind != TOKEN_STRING)
        return lexer_expected(lexer, "an operator or a message in quotes", NULL);
    return parser_message(parser, USAGE_ERROR, &clause->message);
}

bool parser_error_clause(struct parser *parser)
{
    return read_message_clause(parser, "error", VERDICT_FAILED);
}

bool parser_note_clause(struct parser *parser)
{
    return read_message_clause(parser, "note", VERDICT_NOTED);
}

bool parser_success_clause(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    const struct implementation *implementation = parser->implementation;
    if (!implementation->symbol || implementation->convention != CONVENTION_COMMAND)
        return lexer_fail(
            lexer, lexer->token.offset,
            "'success' belongs behind the 'command' whose exit status it is about: a routine has none");
    struct error_clause *clause = read_judgement(parser, "it would never apply");
    if (clause)
        clause->verdict = VERDICT_DONE;
    return clause;
}
