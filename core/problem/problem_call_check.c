/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the call of a routine fits the arguments of its problem.
 */
#include "core/problem/problem_parser.h"

/* An output that no call fills would reach the caller as whatever was in memory; a function of the caller
 * that no routine is told of would never be called. */
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

/* What a routine returns would be lost where it also writes, or the other way round. */
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

/* The routine can only be asked for a size that it is told in the call proper. */
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

/* What a routine has no way to take, or to give back. */
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

/* C has pointers to texts, Fortran elements of one length. */
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

/* How far the columns lie apart tells nothing to a routine that does not get the matrix. */
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

bool parser_check_call(struct parser *parser, uint32_t offset)
{
    return check_outputs(parser, offset) && check_returned(parser, offset) && check_queries(parser, offset) &&
           check_texts(parser, offset) && check_leading(parser, offset);
}
