/* SPDX-License-Identifier: Apache-2.0 */
#include "core/problem/expr_tree.h"

static int precedence_of(const struct expr *expr)
{
    return expr->kind == EXPR_OPERATOR ? expr_operators[expr->code].precedence : PRECEDENCE_VALUE;
}

static void write_tree(const struct expr *expr, int least, struct text *text);

static void write_operator(const struct expr *expr, struct text *text)
{
    const struct operator_row *row = &expr_operators[expr->code];
    if (expr->code == OPERATOR_NOT || expr->code == OPERATOR_NEGATE) {
        text_put(text, row->spelling);
        if (expr->code == OPERATOR_NOT)
            text_put(text, " ");
        write_tree(expr->operands[0], row->precedence, text);
        return;
    }
    int left = row->precedence, right = row->precedence + 1;
    if (expr->code == OPERATOR_POWER) { /* groups to the right, and its exponent may have a sign */
        left = PRECEDENCE_POWER + 1;
        right = PRECEDENCE_NEGATE;
    } else if (row->precedence == PRECEDENCE_COMPARISON) { /* does not group */
        left = row->precedence + 1;
    }
    const char *space = row->precedence < PRECEDENCE_PRODUCT || expr->code == OPERATOR_MODULO ? " " : "";
    write_tree(expr->operands[0], left, text);
    text_put(text, space);
    text_put(text, row->spelling);
    text_put(text, space);
    write_tree(expr->operands[1], right, text);
}

static void write_function(const struct expr *expr, struct text *text)
{
    text_put(text, expr_functions[expr->code].name);
    text_put(text, "(");
    for (unsigned i = 0; i < expr->n_operands; i++) {
        if (i)
            text_put(text, ", ");
        write_tree(expr->operands[i], 0, text);
    }
    text_put(text, ")");
}

/* `least`: what binds less tightly is put in parentheses. */
static void write_tree(const struct expr *expr, int least, struct text *text)
{
    bool parentheses = precedence_of(expr) < least;
    if (parentheses)
        text_put(text, "(");
    if (expr->kind == EXPR_OPERATOR)
        write_operator(expr, text);
    else if (expr->kind == EXPR_FUNCTION)
        write_function(expr, text);
    else
        text_put(text, expr->spelling);
    if (parentheses)
        text_put(text, ")");
}

void expr_write(const struct expr *expr, struct text *text)
{
    write_tree(expr, 0, text);
}

const char *expr_spell(const struct expr *expr, char *text, size_t size)
{
    if (expr->text)
        return expr->text;
    struct text writer;
    text_open(&writer, text, size);
    expr_write(expr, &writer);
    return text;
}

const char *expr_text(const struct expr *expr)
{
    return expr->text ? expr->text : "";
}
