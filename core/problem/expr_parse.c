/* SPDX-License-Identifier: Apache-2.0 */
#include "core/problem/expr_tree.h"

#include <math.h>
#include <string.h>

#define MAX_CANONICAL 8192 /* bytes of one expression in its canonical spelling */

const struct operator_row expr_operators[N_OPERATORS] = {
    [OPERATOR_OR] = {"or", 0, PRECEDENCE_OR},
    [OPERATOR_AND] = {"and", 0, PRECEDENCE_AND},
    [OPERATOR_NOT] = {"not", 0, PRECEDENCE_NOT},
    [OPERATOR_EQUAL] = {"==", SYMBOL2('=', '='), PRECEDENCE_COMPARISON},
    [OPERATOR_NOT_EQUAL] = {"!=", SYMBOL2('!', '='), PRECEDENCE_COMPARISON},
    [OPERATOR_LESS] = {"<", '<', PRECEDENCE_COMPARISON},
    [OPERATOR_LESS_EQUAL] = {"<=", SYMBOL2('<', '='), PRECEDENCE_COMPARISON},
    [OPERATOR_GREATER] = {">", '>', PRECEDENCE_COMPARISON},
    [OPERATOR_GREATER_EQUAL] = {">=", SYMBOL2('>', '='), PRECEDENCE_COMPARISON},
    [OPERATOR_ADD] = {"+", '+', PRECEDENCE_SUM},
    [OPERATOR_SUBTRACT] = {"-", '-', PRECEDENCE_SUM},
    [OPERATOR_MULTIPLY] = {"*", '*', PRECEDENCE_PRODUCT},
    [OPERATOR_DIVIDE] = {"/", '/', PRECEDENCE_PRODUCT},
    [OPERATOR_MODULO] = {"%", '%', PRECEDENCE_PRODUCT},
    [OPERATOR_NEGATE] = {"-", '-', PRECEDENCE_NEGATE},
    [OPERATOR_POWER] = {"^", '^', PRECEDENCE_POWER},
};

const struct function_row expr_functions[N_FUNCTIONS] = {
    [FUNCTION_MIN] = {"min", 1, EXPR_MAX_OPERANDS, NULL},
    [FUNCTION_MAX] = {"max", 1, EXPR_MAX_OPERANDS, NULL},
    [FUNCTION_ABS] = {"abs", 1, 1, NULL},
    [FUNCTION_CEIL] = {"ceil", 1, 1, NULL},
    [FUNCTION_FLOOR] = {"floor", 1, 1, NULL},
    [FUNCTION_LOG2] = {"log2", 1, 1, NULL},
    [FUNCTION_SQRT] = {"sqrt", 1, 1, NULL},
    [FUNCTION_IF] = {"if", 3, 3, NULL},
    [FUNCTION_IS] = {"is", 2, EXPR_MAX_OPERANDS, NULL},
    [FUNCTION_EXP] = {"exp", 1, 1, exp},
    [FUNCTION_LOG] = {"log", 1, 1, log},
    [FUNCTION_SIN] = {"sin", 1, 1, sin},
    [FUNCTION_COS] = {"cos", 1, 1, cos},
    [FUNCTION_TAN] = {"tan", 1, 1, tan},
    [FUNCTION_ATAN] = {"atan", 1, 1, atan},
    [FUNCTION_FACTOR_FLOP] = {"factor_flop", 1, 1, NULL},
    [FUNCTION_FACTOR_NZ] = {"factor_nz", 1, 1, NULL},
};

bool expr_reserves(const char *word)
{
    for (unsigned f = 0; f < N_FUNCTIONS; f++)
        if (!expr_functions[f].real && strcmp(word, expr_functions[f].name) == 0)
            return true;
    for (unsigned o = 0; o < N_OPERATORS; o++)
        if (strcmp(word, expr_operators[o].spelling) == 0)
            return true;
    return false;
}

struct reader {
    struct lexer *lexer;
    struct arena *arena;
    struct name_list *names;
    unsigned nesting; /* of the recursion */
    unsigned terms;   /* read so far */
};

static bool read_tree(struct reader *reader, int least, struct expr **result);

static struct expr *new_node(struct reader *reader, enum expr_kind kind, unsigned n_operands)
{
    struct expr *expr = arena_alloc(reader->arena, sizeof *expr);
    struct expr **operands =
        n_operands ? arena_alloc(reader->arena, n_operands * sizeof(struct expr *)) : NULL;
    if (!expr || (n_operands && !operands)) {
        lexer_no_memory(reader->lexer);
        return NULL;
    }
    expr->kind = (uint8_t)kind;
    expr->n_operands = (uint8_t)n_operands;
    expr->operands = operands;
    expr->offset = reader->lexer->token.offset;
    return expr;
}

static bool new_operation(struct reader *reader, enum expr_kind kind, unsigned code,
                          struct expr *const *operands, unsigned n_operands, struct expr **result)
{
    struct expr *expr = new_node(reader, kind, n_operands);
    if (!expr)
        return false;
    expr->code = (uint8_t)code;
    for (unsigned i = 0; i < n_operands; i++)
        expr->operands[i] = operands[i];
    expr->offset = operands[0]->offset;
    *result = expr;
    return true;
}

static bool read_constant(struct reader *reader, struct expr **result)
{
    const struct token *token = &reader->lexer->token;
    struct expr *expr = new_node(reader, EXPR_INTEGER, 0);
    if (!expr)
        return false;
    expr->value = (struct number){.kind = NUMBER_INTEGER, .integer = token->integer};
    if (token->kind == TOKEN_CHARACTER) {
        expr->kind = EXPR_CHARACTER;
    } else if (token->kind == TOKEN_REAL) {
        expr->kind = EXPR_REAL;
        expr->value = (struct number){.kind = NUMBER_REAL, .real = token->real};
    }
    expr->spelling = lexer_token_text(reader->lexer, reader->arena);
    *result = expr;
    return expr->spelling && lexer_advance(reader->lexer);
}

static bool unknown_function(struct reader *reader, const struct expr *name)
{
    const char *functions[N_FUNCTIONS];
    for (unsigned f = 0; f < N_FUNCTIONS; f++)
        functions[f] = expr_functions[f].name;
    const char *near = lexer_nearest(name->spelling, functions, N_FUNCTIONS);
    if (near)
        return lexer_fail(reader->lexer, name->offset, "unknown function '%s': did you mean '%s'?",
                          name->spelling, near);
    return lexer_fail(reader->lexer, name->offset,
                      "unknown function '%s': there are min, max, abs, ceil, floor, log2, sqrt, exp, log, "
                      "sin, cos, tan, atan, factor_flop, factor_nz, if and is",
                      name->spelling);
}

static bool read_function(struct reader *reader, const struct expr *name, struct expr **result)
{
    unsigned code = 0;
    while (code < N_FUNCTIONS && strcmp(expr_functions[code].name, name->spelling) != 0)
        code++;
    if (code == N_FUNCTIONS)
        return unknown_function(reader, name);
    const struct function_row *row = &expr_functions[code];
    struct expr *operands[EXPR_MAX_OPERANDS];
    unsigned n = 0;
    do {
        if (n == row->most)
            return lexer_fail(reader->lexer, reader->lexer->token.offset, "%s() takes at most %u operand%s",
                              row->name, row->most, row->most == 1 ? "" : "s");
        if (!lexer_advance(reader->lexer) || !read_tree(reader, 0, &operands[n++]))
            return false;
    } while (lexer_at_symbol(reader->lexer, ','));
    if (!lexer_take_symbol(reader->lexer, ')', "an operator, ',' or ')'"))
        return false;
    if (n < row->least)
        return lexer_fail(reader->lexer, name->offset, "%s() takes %s%u operands, found %u", row->name,
                          row->least < row->most ? "at least " : "", row->least, n);
    if (code == FUNCTION_FACTOR_FLOP || code == FUNCTION_FACTOR_NZ) {
        if (operands[0]->kind != EXPR_NAME)
            return lexer_fail(reader->lexer, operands[0]->offset, "%s() takes the name of a matrix",
                              row->name);
        operands[0]->names_matrix = true;
    }
    if (!new_operation(reader, EXPR_FUNCTION, code, operands, n, result))
        return false;
    (*result)->offset = name->offset;
    return true;
}

static bool read_name(struct reader *reader, struct expr **result)
{
    struct expr *expr = new_node(reader, EXPR_NAME, 0);
    if (!expr || !(expr->spelling = lexer_token_text(reader->lexer, reader->arena)))
        return false;
    if (strcmp(expr->spelling, "and") == 0 || strcmp(expr->spelling, "or") == 0)
        return lexer_expected(reader->lexer, "a value", NULL);
    if (strcmp(expr->spelling, "not") == 0)
        return lexer_expected(reader->lexer, "a value", "put (not ...) in parentheses here");
    if (!lexer_advance(reader->lexer))
        return false;
    if (lexer_at_symbol(reader->lexer, '('))
        return read_function(reader, expr, result);
    if (expr_reserves(expr->spelling))
        return lexer_expected(reader->lexer, "'(' after the name of a function", NULL);
    *reader->names->last = expr;
    reader->names->last = &expr->next_name;
    *result = expr;
    return true;
}

static bool read_value(struct reader *reader, struct expr **result)
{
    const struct token *token = &reader->lexer->token;
    if (!lexer_at_symbol(reader->lexer, '(') && reader->terms++ == EXPR_MAX_TERMS)
        return lexer_fail(reader->lexer, token->offset,
                          "the expression has more than %d terms (numbers and names)", EXPR_MAX_TERMS);
    if (token->kind == TOKEN_INTEGER || token->kind == TOKEN_REAL || token->kind == TOKEN_CHARACTER)
        return read_constant(reader, result);
    if (token->kind == TOKEN_NAME)
        return read_name(reader, result);
    if (!lexer_at_symbol(reader->lexer, '('))
        return lexer_expected(reader->lexer, "a value",
                              lexer_at_symbol(reader->lexer, '!') ? "write 'not'" : NULL);
    return lexer_advance(reader->lexer) && read_tree(reader, 0, result) &&
           lexer_take_symbol(reader->lexer, ')', "an operator or ')'");
}

static bool read_prefixed(struct reader *reader, int least, struct expr **result)
{
    unsigned code;
    if (lexer_at_symbol(reader->lexer, '-') && least <= PRECEDENCE_NEGATE)
        code = OPERATOR_NEGATE;
    else if (lexer_at_name(reader->lexer, "not") && least <= PRECEDENCE_NOT)
        code = OPERATOR_NOT;
    else
        return read_value(reader, result);
    uint32_t offset = reader->lexer->token.offset;
    struct expr *operand;
    if (!lexer_advance(reader->lexer) || !read_tree(reader, expr_operators[code].precedence, &operand) ||
        !new_operation(reader, EXPR_OPERATOR, code, &operand, 1, result))
        return false;
    (*result)->offset = offset;
    return true;
}

/* The binary operator the lexer stands on, or N_OPERATORS. */
static unsigned binary_operator(const struct lexer *lexer)
{
    if (lexer->token.kind == TOKEN_NAME)
        return lexer_at_name(lexer, "or")    ? OPERATOR_OR
               : lexer_at_name(lexer, "and") ? OPERATOR_AND
                                             : N_OPERATORS;
    for (unsigned code = 0; lexer->token.kind == TOKEN_SYMBOL && code < N_OPERATORS; code++) {
        if (code == OPERATOR_NOT || code == OPERATOR_NEGATE)
            continue;
        if (expr_operators[code].symbol && lexer_at_symbol(lexer, expr_operators[code].symbol))
            return code;
    }
    return N_OPERATORS;
}

/* Operators of other languages get a hint. */
static bool foreign_operator(const struct lexer *lexer)
{
    static const struct {
        int symbol;
        const char *hint;
    } foreign[] = {
        {SYMBOL2('&', '&'), "write 'and'"},
        {SYMBOL2('|', '|'), "write 'or'"},
        {SYMBOL2('*', '*'), "write '^'"},
        {SYMBOL2('<', '>'), "write '!='"},
        {'!', "write 'not'"},
        {'&', "write 'and'"},
        {'|', "write 'or'"},
        {'=', "write '==' to compare"},
        {SYMBOL2('=', '>'), "write '>='"},
        {SYMBOL2('=', '<'), "write '<='"},
    };
    for (size_t i = 0; lexer->token.kind == TOKEN_SYMBOL && i < sizeof foreign / sizeof *foreign; i++)
        if (lexer_at_symbol(lexer, foreign[i].symbol)) {
            lexer_expected(lexer, "an operator", foreign[i].hint);
            return true;
        }
    return false;
}

static bool read_tree(struct reader *reader, int least, struct expr **result)
{
    if (++reader->nesting > EXPR_MAX_DEPTH)
        return lexer_fail(reader->lexer, reader->lexer->token.offset,
                          "the expression is nested more than %d levels deep", EXPR_MAX_DEPTH);
    if (!read_prefixed(reader, least, result))
        return false;
    bool compared = false;
    for (;;) {
        if (foreign_operator(reader->lexer))
            return false;
        unsigned code = binary_operator(reader->lexer);
        int precedence = code < N_OPERATORS ? expr_operators[code].precedence : 0;
        if (code == N_OPERATORS || precedence < least)
            break;
        if (precedence == PRECEDENCE_COMPARISON && compared)
            return lexer_fail(reader->lexer, reader->lexer->token.offset,
                              "comparisons do not chain: write a < b and b < c");
        compared = precedence == PRECEDENCE_COMPARISON;
        struct expr *operands[2] = {*result, NULL};
        int right = code == OPERATOR_POWER ? PRECEDENCE_NEGATE : precedence + 1;
        if (!lexer_advance(reader->lexer) || !read_tree(reader, right, &operands[1]) ||
            !new_operation(reader, EXPR_OPERATOR, code, operands, 2, result))
            return false;
    }
    reader->nesting--;
    return true;
}

bool expr_read(struct lexer *lexer, struct arena *arena, struct name_list *names, struct expr **expr)
{
    struct reader reader = {.lexer = lexer, .arena = arena, .names = names};
    uint32_t offset = lexer->token.offset;
    if (!read_tree(&reader, 0, expr))
        return false;
    char canonical[MAX_CANONICAL];
    struct text text;
    text_open(&text, canonical, sizeof canonical);
    expr_write(*expr, &text);
    if (text.length >= text.size)
        return lexer_fail(lexer, offset, "the expression is longer than %d characters", MAX_CANONICAL - 1);
    (*expr)->text = arena_memdup(arena, canonical, text.length + 1);
    return (*expr)->text || lexer_no_memory(lexer);
}

static bool resolve(struct lexer *lexer, struct expr *name, const char *const *names, uint32_t n_names)
{
    for (uint32_t i = 0; i < n_names; i++)
        if (strcmp(names[i], name->spelling) == 0) {
            name->index = i;
            return true;
        }
    const char *near = lexer_nearest(name->spelling, names, n_names);
    return lexer_fail(lexer, name->offset, "unknown name '%s'%s%s%s", name->spelling,
                      near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

enum esp_status expr_parse(const char *text, const char *const *names, uint32_t n_names, struct arena *arena,
                           struct expr **expr, struct esp_error *error)
{
    struct lexer lexer;
    struct name_list read = {.last = &read.first};
    struct esp_error own;
    struct esp_error *filled = error ? error : &own;
    if (!lexer_open(&lexer, text, strlen(text), "expression", filled) ||
        !expr_read(&lexer, arena, &read, expr))
        return filled->status;
    if (lexer.token.kind != TOKEN_END) {
        lexer_expected(&lexer, "an operator or the end of the expression", NULL);
        return filled->status;
    }
    for (struct expr *name = read.first; name; name = name->next_name)
        if (!resolve(&lexer, name, names, n_names))
            return filled->status;
    return ESP_OK;
}
