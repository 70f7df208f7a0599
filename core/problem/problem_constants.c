/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks a description without any call: values that are constants, and shapes that are impossible. */
#include "core/problem/problem_parser.h"

#include <string.h>

static bool is_constant(const struct expr *expr)
{
    for (unsigned i = 0; i < expr->n_operands; i++)
        if (!is_constant(expr->operands[i]))
            return false;
    return expr->kind != EXPR_NAME;
}

static bool refuse(struct parser *parser, const struct expr *expr, const struct esp_error *why)
{
    return lexer_fail(&parser->lexer, expr->offset, "%s", why->text);
}

bool parser_check_parts(struct parser *parser, const struct expr *expr)
{
    static const struct scope nothing = {NULL, 0};
    struct esp_error why;
    char spelling[200];
    double value;
    if (is_constant(expr))
        return expr_eval_real(expr, &nothing, &value, &why) == ESP_OK || refuse(parser, expr, &why);
    for (unsigned i = 0; i < expr->n_operands; i++)
        if (!parser_check_parts(parser, expr->operands[i]))
            return false;
    bool divides =
        expr->kind == EXPR_OPERATOR && (expr->code == OPERATOR_DIVIDE || expr->code == OPERATOR_MODULO);
    if (divides && is_constant(expr->operands[1]) &&
        expr_eval_real(expr->operands[1], &nothing, &value, NULL) == ESP_OK && value == 0)
        return lexer_fail(&parser->lexer, expr->operands[1]->offset, "%s: division by zero",
                          expr_spell(expr, spelling, sizeof spelling));
    return true;
}

bool parser_check_inner(struct parser *parser, const struct lexer *inner, const struct expr *expr)
{
    struct lexer outer = parser->lexer;
    parser->lexer = *inner; /* the lexer that the expression's positions refer to */
    parser->lexer.outer = &outer;
    bool good = parser_check_parts(parser, expr);
    parser->lexer = outer;
    return good;
}

bool parser_check_value(struct parser *parser, const struct expr *expr, enum base_type type)
{
    static const struct scope nothing = {NULL, 0};
    struct number value;
    struct esp_error why;
    unsigned char raw[16];
    if (!parser_check_parts(parser, expr))
        return false;
    if (!is_constant(expr))
        return true;
    if (expr_eval(expr, &nothing, &value, &why) != ESP_OK || number_store(&value, type, raw, &why) != ESP_OK)
        return refuse(parser, expr, &why);
    return true;
}

static bool check_dims(struct parser *parser, const struct argument *argument)
{
    static const struct scope nothing = {NULL, 0};
    uint64_t bytes = base_type_size(argument->type);
    for (uint32_t d = 0; d < argument->n_dims; d++) {
        const struct expr *dim = argument->dims[d];
        struct esp_error why;
        int64_t extent;
        if (!parser_check_parts(parser, dim))
            return false;
        if (!is_constant(dim))
            continue;
        if (expr_eval_size(dim, &nothing, &extent, &why) != ESP_OK)
            return refuse(parser, dim, &why);
        if (extent > 0 && (__builtin_mul_overflow(bytes, (uint64_t)extent, &bytes) || bytes > INT64_MAX))
            return lexer_fail(&parser->lexer, dim->offset, "no memory has room for '%s': its size overflows",
                              argument->name);
    }
    return true;
}

static bool constant_size(const struct expr *expr, int64_t *value)
{
    static const struct scope nothing = {NULL, 0};
    return is_constant(expr) && expr_eval_size(expr, &nothing, value, NULL) == ESP_OK;
}

/* Checks the constants of a section a[size:start,end,skip]: 0 <= start <= end < size and skip >= 1. */
static bool check_section(struct parser *parser, const struct argument *argument, uint32_t d)
{
    static const char *const what[] = {"start", "end", "skip"};
    struct expr *const *bounds = argument->section[d];
    int64_t start, end, skip, size;
    for (unsigned i = 0; i < 3; i++) {
        if (!parser_check_parts(parser, bounds[i]))
            return false;
        if (is_constant(bounds[i]) && !constant_size(bounds[i], &skip))
            return lexer_fail(&parser->lexer, bounds[i]->offset,
                              "the section of '%s': expected %s to be a whole number from 0 on, found %s",
                              argument->name, what[i], expr_text(bounds[i]));
    }
    if (constant_size(bounds[0], &start) && constant_size(bounds[1], &end) && start > end)
        return lexer_fail(&parser->lexer, bounds[1]->offset,
                          "the section of '%s': expected an end from its start on, found %s behind %s",
                          argument->name, expr_text(bounds[1]), expr_text(bounds[0]));
    if (constant_size(argument->dims[d], &size))
        for (unsigned i = 0; i < 2; i++)
            if (constant_size(bounds[i], &end) && end >= size)
                return lexer_fail(&parser->lexer, bounds[i]->offset,
                                  "the section of '%s': expected its %s below the size %s, found %s",
                                  argument->name, what[i], expr_text(argument->dims[d]),
                                  expr_text(bounds[i]));
    if (constant_size(bounds[2], &skip) && skip < 1)
        return lexer_fail(&parser->lexer, bounds[2]->offset,
                          "the section of '%s': expected a skip from 1 on, found %s", argument->name,
                          expr_text(bounds[2]));
    return true;
}

static bool check_sections(struct parser *parser, const struct argument *argument)
{
    for (uint32_t d = 0; d < argument->n_dims; d++)
        if (argument->section[d][0] && !check_section(parser, argument, d))
            return false;
    return true;
}

static bool check_square(struct parser *parser, const struct argument *argument)
{
    const char *word = argument->storage == STORAGE_PACKED                 ? "packed"
                       : argument->properties & PROPERTY_SYMMETRIC         ? "symmetric"
                       : argument->properties & PROPERTY_HERMITIAN         ? "hermitian"
                       : argument->properties & PROPERTY_POSITIVE_DEFINITE ? "positive-definite"
                                                                           : NULL;
    if (!word || strcmp(expr_text(argument->dims[0]), expr_text(argument->dims[1])) == 0)
        return true;
    return lexer_fail(&parser->lexer, argument->dims[1]->offset,
                      "'%s' is %s: expected a square matrix, found %s[%s, %s]", argument->name, word,
                      argument->name, expr_text(argument->dims[0]), expr_text(argument->dims[1]));
}

static bool check_triangle(struct parser *parser, const struct argument *argument)
{
    static const struct scope nothing = {NULL, 0};
    struct number letter;
    const struct expr *triangle = argument->layout[0];
    if (argument->storage != STORAGE_PACKED || !triangle || !is_constant(triangle))
        return true;
    if (expr_eval(triangle, &nothing, &letter, NULL) == ESP_OK && letter.kind == NUMBER_INTEGER &&
        letter.integer > 0 && letter.integer < 128 && strchr("UuLl", (int)letter.integer))
        return true;
    return lexer_fail(&parser->lexer, triangle->offset,
                      "expected 'U' or 'L', the triangle that is packed, found %s", expr_text(triangle));
}

static bool check_diagonals(struct parser *parser, const struct argument *argument)
{
    static const char *const what[] = {"diagonals below the main one", "diagonals above the main one",
                                       "rows in front"};
    static const struct scope nothing = {NULL, 0};
    for (unsigned i = 0; argument->storage == STORAGE_BANDED && i < 3; i++) {
        const struct expr *number = argument->layout[i];
        int64_t value;
        if (!number)
            continue;
        if (!parser_check_parts(parser, number))
            return false;
        if (is_constant(number) && expr_eval_size(number, &nothing, &value, NULL) != ESP_OK)
            return lexer_fail(&parser->lexer, number->offset,
                              "'%s' is banded: expected a number of %s from 0 on, found %s", argument->name,
                              what[i], expr_text(number));
    }
    return true;
}

/* Computes dim - from, with values of the scalars that depend on `seed`. */
static bool difference(const struct parser *parser, const struct expr *dim, const struct expr *from,
                       int64_t seed, int64_t *result)
{
    struct number values[PROBLEM_MAX_ARGUMENTS];
    int64_t a, b;
    for (uint32_t i = 0; i < parser->problem->n_arguments; i++)
        values[i] = (struct number){.kind = NUMBER_INTEGER, .integer = 16 + seed * (int64_t)i};
    const struct scope scope = {values, parser->problem->n_arguments};
    if (expr_eval_size(dim, &scope, &a, NULL) != ESP_OK || expr_eval_size(from, &scope, &b, NULL) != ESP_OK)
        return false;
    *result = a - b;
    return true;
}

/* Checks that there is one pointer more than columns (csr: rows). Sizes that are separate names may be
 * equal. */
static bool check_pointers(struct parser *parser, const struct argument *argument)
{
    if (argument->storage != STORAGE_CSC && argument->storage != STORAGE_CSR)
        return true;
    const struct argument *pointers = &parser->arguments[argument->pointers];
    const struct expr *lines = argument->dims[argument->storage == STORAGE_CSC];
    int64_t once, again;
    if (!difference(parser, pointers->dims[0], lines, 6, &once) ||
        !difference(parser, pointers->dims[0], lines, 11, &again) || once != again || once == 1)
        return true;
    return lexer_fail(&parser->lexer, pointers->dims[0]->offset,
                      "'%s' has the pointers of '%s': expected %s[%s + 1], found %s[%s]", pointers->name,
                      argument->name, pointers->name, expr_text(lines), pointers->name,
                      expr_text(pointers->dims[0]));
}

bool parser_check_condition(struct parser *parser, const struct expr *condition, const char *then)
{
    static const struct scope nothing = {NULL, 0};
    bool holds;
    if (!parser_check_parts(parser, condition))
        return false;
    if (!is_constant(condition) || expr_eval_bool(condition, &nothing, &holds, NULL) != ESP_OK || holds)
        return true;
    return lexer_fail(&parser->lexer, condition->offset, "%s never holds: %s", expr_text(condition), then);
}

/* Whether the argument is a compressed matrix, or its pointers or numbers: their contents are checked
 * before a call. */
static bool leads(const struct parser *parser, uint32_t index)
{
    for (uint32_t i = 0; i < parser->problem->n_arguments; i++) {
        const struct argument *argument = &parser->arguments[i];
        if ((argument->storage == STORAGE_CSC || argument->storage == STORAGE_CSR) &&
            (i == index || argument->pointers == index || argument->indices == index))
            return true;
    }
    return false;
}

static bool check_unread(struct parser *parser, uint32_t index)
{
    const struct argument *argument = &parser->arguments[index];
    if (!argument->unread)
        return true;
    if (leads(parser, index))
        return lexer_fail(&parser->lexer, argument->unread->offset,
                          "'%s' is always read: it is of a compressed matrix", argument->name);
    if (!parser_check_condition(parser, argument->unread, "the array is always read"))
        return false;
    return !is_constant(argument->unread) ||
           lexer_fail(&parser->lexer, argument->unread->offset,
                      "%s always holds: an array that is never read is declared 'out'",
                      expr_text(argument->unread));
}

static bool check_preconditions(struct parser *parser)
{
    for (uint32_t i = 0; i < parser->problem->n_preconditions; i++)
        if (!parser_check_condition(parser, parser->preconditions[i].condition,
                                    "every call would be refused"))
            return false;
    return true;
}

static bool check_cost(struct parser *parser, const struct expr *cost, const char *what)
{
    static const struct scope nothing = {NULL, 0};
    double value;
    if (!cost)
        return true;
    if (!parser_check_parts(parser, cost))
        return false;
    return !is_constant(cost) || expr_eval_real(cost, &nothing, &value, NULL) != ESP_OK || value >= 0 ||
           lexer_fail(&parser->lexer, cost->offset, "expected %s >= 0, found %s", what, expr_text(cost));
}

bool parser_check_constants(struct parser *parser)
{
    const struct problem *problem = parser->problem;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &parser->arguments[i];
        if (!check_dims(parser, argument) || !check_sections(parser, argument) ||
            !check_triangle(parser, argument) || !check_diagonals(parser, argument) ||
            (argument->n_dims == 2 && !check_square(parser, argument)) || !check_pointers(parser, argument))
            return false;
        if (!check_unread(parser, i))
            return false;
        if (argument->initial && !parser_check_value(parser, argument->initial, argument->type))
            return false;
    }
    return check_preconditions(parser) && check_cost(parser, problem->work, "a number of operations") &&
           check_cost(parser, problem->memory, "a number of bytes");
}
