/* SPDX-License-Identifier: Apache-2.0
 *
 * The canonical text of a signature: what agents and clients receive instead of the file.
 */
#include "core/problem/abstract.h"
#include "core/problem/problem_parser.h"
#include "core/problem/problem_solves.h"
#include "core/problem/section.h"

#include <string.h>

static void write_quoted(struct text *text, const char *string)
{
    text_put(text, "\"");
    for (const char *at = string; *at;) {
        size_t plain = strcspn(at, "\n\"\\");
        text_put_bytes(text, at, plain);
        at += plain;
        if (*at)
            text_put(text, *at == '\n' ? "\\n" : *at == '"' ? "\\\"" : "\\\\");
        at += *at != 0;
    }
    text_put(text, "\"");
}

static void write_storage(struct text *text, const struct problem *problem, const struct argument *argument)
{
    text_put(text, storage_name(argument->storage));
    if (argument->storage == STORAGE_CSC || argument->storage == STORAGE_CSR)
        text_printf(text, "(%s, %s%s)", problem->arguments[argument->pointers].name,
                    problem->arguments[argument->indices].name, argument->base ? ", 1" : "");
    for (unsigned i = 0; i < 3 && argument->layout[i]; i++) {
        text_put(text, i ? ", " : "(");
        expr_write(argument->layout[i], text);
    }
    if (argument->layout[0])
        text_put(text, ")");
}

void problem_storage_text(const struct problem *problem, const struct argument *argument, char *text,
                          size_t size)
{
    struct text writer;
    text_open(&writer, text, size);
    write_storage(&writer, problem, argument);
}

void argument_write_index(struct text *text, const struct argument *argument)
{
    text_printf(text, "%s(%s)", argument->index_signed ? "signed-index" : "index",
                expr_text(argument->index_of));
}

static void write_argument(struct text *text, const struct problem *problem, const struct argument *argument);

static void write_callback(struct text *text, const struct argument *argument)
{
    const struct problem *callback = argument->callback;
    uint32_t n = callback_n_parameters(argument);
    text_put(text, "callback ");
    if (argument->callback_returns)
        text_printf(text, "%s ", base_type_name(callback->arguments[n].type));
    text_printf(text, "%s(", argument->name);
    for (uint32_t i = 0; i < n; i++) {
        text_put(text, i ? ", " : "");
        write_argument(text, callback, &callback->arguments[i]);
    }
    text_put(text, ")");
    if (*argument->text) {
        text_put(text, " ");
        write_quoted(text, argument->text);
    }
}

static void write_argument(struct text *text, const struct problem *problem, const struct argument *argument)
{
    if (argument->type == TYPE_CALLBACK) {
        write_callback(text, argument);
        return;
    }
    text_put(text, argument_mode_name(argument->mode));
    text_put(text, " ");
    text_put(text, base_type_name(argument->type));
    text_put(text, " ");
    text_put(text, argument->name);
    argument_write_dims(text, argument);
    for (unsigned bit = 0; property_name(bit); bit++)
        if (argument->properties & (1U << bit)) {
            text_put(text, " ");
            text_put(text, property_name(bit));
        }
    if (argument->storage != STORAGE_FULL) {
        text_put(text, " ");
        write_storage(text, problem, argument);
    }
    if (argument->count)
        text_printf(text, " count(%s)", expr_text(argument->count));
    if (argument->index_of) {
        text_put(text, " ");
        argument_write_index(text, argument);
    }
    if (argument->unread)
        text_printf(text, " unread(%s)", expr_text(argument->unread));
    if (argument->triangle) {
        text_put(text, " triangle(");
        expr_write(argument->triangle, text);
        if (argument->unit) {
            text_put(text, ", ");
            expr_write(argument->unit, text);
        }
        text_put(text, ")");
    }
    if (argument->initial) {
        text_put(text, " = ");
        expr_write(argument->initial, text);
    }
    if (*argument->text) {
        text_put(text, " ");
        write_quoted(text, argument->text);
    }
}

static void write_expression(struct text *text, const char *clause, const struct expr *expr)
{
    if (!expr)
        return;
    text_put(text, clause);
    text_put(text, " ");
    text_put(text, expr_text(expr));
    text_put(text, "\n");
}

static void write_precondition(struct text *text, const struct precondition *precondition)
{
    text_put(text, "require ");
    text_put(text, expr_text(precondition->condition));
    if (precondition->message.text) {
        text_put(text, " ");
        write_quoted(text, precondition->message.text);
    }
    text_put(text, "\n");
}

static void write_problem(struct text *text, const struct problem *problem)
{
    text_put(text, problem->abstract ? "abstract " : "problem ");
    text_put(text, problem->name);
    text_put(text, " ");
    write_quoted(text, problem->title);
    text_put(text, "\n");
    if (*problem->text) {
        text_put(text, "text ");
        write_quoted(text, problem->text);
        text_put(text, "\n");
    }
    if (*problem->gams) {
        text_put(text, "gams ");
        text_put(text, problem->gams);
        text_put(text, "\n");
    }
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        write_argument(text, problem, &problem->arguments[i]);
        text_put(text, "\n");
    }
    for (uint32_t i = 0; i < problem->n_preconditions; i++)
        write_precondition(text, &problem->preconditions[i]);
    solves_write(problem, text);
    write_expression(text, "work", problem->work);
    write_expression(text, "memory", problem->memory);
    if (!problem->idempotent)
        text_put(text, "idempotent no\n");
    if (problem->checkpoint)
        text_put(text, "checkpoint yes\n");
    for (uint32_t i = 0; problem->abstract && i < problem->abstract->n_rules; i++) {
        abstract_write_rule(problem, &problem->abstract->rules[i], text);
        text_put(text, "\n");
    }
}

bool parser_write_source(struct parser *parser)
{
    struct problem *problem = parser->problem;
    struct text text;
    text_open(&text, parser->scratch, sizeof parser->scratch);
    write_problem(&text, problem);
    if (text.length >= text.size)
        return lexer_fail(&parser->lexer, parser->problem_offset,
                          "the signature of '%s' takes more than %d bytes in its canonical form",
                          problem->name, PROBLEM_MAX_TEXT - 1);
    problem->source = parser_keep(parser, parser->scratch, text.length + 1, 1);
    problem->digest = digest_text(parser->scratch, text.length);
    return problem->source != NULL;
}
