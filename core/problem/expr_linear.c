/* SPDX-License-Identifier: Apache-2.0 */
#include "core/problem/expr_tree.h"

/* slope * x + offset; slope 0 and any index for a constant. */
struct linear {
    uint32_t index;
    int64_t slope, offset;
};

static bool linear_form(const struct expr *expr, const struct scope *scope, struct linear *form);

static bool linear_sum(struct linear a, struct linear b, struct linear *sum)
{
    if (a.slope && b.slope && a.index != b.index)
        return false;
    sum->index = a.slope ? a.index : b.index;
    return !__builtin_add_overflow(a.slope, b.slope, &sum->slope) &&
           !__builtin_add_overflow(a.offset, b.offset, &sum->offset);
}

static bool linear_scaled(struct linear a, int64_t factor, struct linear *scaled)
{
    scaled->index = a.index;
    return !__builtin_mul_overflow(a.slope, factor, &scaled->slope) &&
           !__builtin_mul_overflow(a.offset, factor, &scaled->offset);
}

static bool linear_operator(const struct expr *expr, const struct scope *scope, struct linear *form)
{
    struct linear a, b;
    if (!linear_form(expr->operands[0], scope, &a))
        return false;
    if (expr->code == OPERATOR_NEGATE)
        return linear_scaled(a, -1, form);
    if (expr->n_operands != 2 || !linear_form(expr->operands[1], scope, &b))
        return false;
    switch (expr->code) {
    case OPERATOR_ADD:
        return linear_sum(a, b, form);
    case OPERATOR_SUBTRACT:
        return linear_scaled(b, -1, &b) && linear_sum(a, b, form);
    case OPERATOR_MULTIPLY:
        return a.slope == 0 ? linear_scaled(b, a.offset, form)
                            : b.slope == 0 && linear_scaled(a, b.offset, form);
    default:
        return false;
    }
}

/* Goes into the branch that if() takes when its condition is known. */
static bool linear_if(const struct expr *expr, const struct scope *scope, struct linear *form)
{
    bool holds;
    if (expr_eval_bool(expr->operands[0], scope, &holds, NULL) != ESP_OK)
        return false;
    return linear_form(expr->operands[holds ? 1 : 2], scope, form);
}

static bool linear_form(const struct expr *expr, const struct scope *scope, struct linear *form)
{
    struct number value;
    if (expr_eval(expr, scope, &value, NULL) == ESP_OK) {
        *form = (struct linear){.offset = value.integer};
        return value.kind == NUMBER_INTEGER;
    }
    if (expr->kind == EXPR_NAME) {
        *form = (struct linear){.index = expr->index, .slope = 1};
        return true;
    }
    if (expr->kind == EXPR_FUNCTION && expr->code == FUNCTION_IF)
        return linear_if(expr, scope, form);
    return expr->kind == EXPR_OPERATOR && linear_operator(expr, scope, form);
}

bool expr_is_linear(const struct expr *expr, const struct scope *scope, uint32_t *index, int64_t *slope,
                    int64_t *offset)
{
    struct linear form;
    if (!linear_form(expr, scope, &form) || form.slope == 0)
        return false;
    *index = form.index;
    *slope = form.slope;
    *offset = form.offset;
    return true;
}
