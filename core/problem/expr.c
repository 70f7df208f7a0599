/* SPDX-License-Identifier: Apache-2.0 */
#include "core/problem/expr_tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* One evaluation: what it knows, how it counts, and the reason when it fails. */
struct evaluation {
    const struct scope *scope;
    bool approximate; /* integers that overflow go on as reals */
    const char *why;
    const char *name; /* that `why` is about, or NULL */
};

static bool evaluate(struct evaluation *e, const struct expr *expr, struct number *result);

static bool fail(struct evaluation *e, const char *why)
{
    e->why = why;
    return false;
}

static double as_real(const struct number *number)
{
    return number->kind == NUMBER_INTEGER ? (double)number->integer : number->real;
}

static bool give_integer(struct number *result, int64_t value)
{
    *result = (struct number){.kind = NUMBER_INTEGER, .integer = value};
    return true;
}

static bool give_real(struct evaluation *e, struct number *result, double value)
{
    if (!isfinite(value))
        return fail(e, "the result is not a finite number");
    *result = (struct number){.kind = NUMBER_REAL, .real = value};
    return true;
}

static bool is_true(const struct number *number)
{
    return as_real(number) != 0;
}

/* False when it overflows. */
static bool integer_power(int64_t base, int64_t exponent, int64_t *result)
{
    if (base == 0 || base == 1) {
        *result = exponent == 0 ? 1 : base;
        return true;
    }
    if (base == -1) {
        *result = exponent % 2 ? -1 : 1;
        return true;
    }
    *result = 1;
    for (int64_t i = 0; i < exponent; i++) /* at most 63 rounds before it overflows */
        if (__builtin_mul_overflow(*result, base, result))
            return false;
    return true;
}

static bool real_arithmetic(struct evaluation *e, unsigned code, double a, double b, struct number *result)
{
    switch (code) {
    case OPERATOR_ADD:
        return give_real(e, result, a + b);
    case OPERATOR_SUBTRACT:
        return give_real(e, result, a - b);
    case OPERATOR_MULTIPLY:
        return give_real(e, result, a * b);
    case OPERATOR_DIVIDE:
        return b == 0 ? fail(e, "division by zero") : give_real(e, result, a / b);
    case OPERATOR_POWER:
        return a == 0 && b < 0 ? fail(e, "division by zero") : give_real(e, result, pow(a, b));
    default:
        return fail(e, "'%' wants integers");
    }
}

static bool integer_arithmetic(struct evaluation *e, unsigned code, int64_t a, int64_t b,
                               struct number *result)
{
    int64_t value;
    bool exact = true;
    switch (code) {
    case OPERATOR_ADD:
        exact = !__builtin_add_overflow(a, b, &value);
        break;
    case OPERATOR_SUBTRACT:
        exact = !__builtin_sub_overflow(a, b, &value);
        break;
    case OPERATOR_MULTIPLY:
        exact = !__builtin_mul_overflow(a, b, &value);
        break;
    case OPERATOR_DIVIDE:
        if (b == 0)
            return fail(e, "division by zero");
        if (b == -1) /* INT64_MIN / -1 traps on many machines */
            exact = !__builtin_sub_overflow(INT64_C(0), a, &value);
        else if (a % b)
            return give_real(e, result, (double)a / (double)b);
        else
            value = a / b;
        break;
    case OPERATOR_MODULO:
        if (b == 0)
            return fail(e, "division by zero");
        value = b == -1 ? 0 : a % b;
        break;
    default:
        if (b < 0)
            return real_arithmetic(e, code, (double)a, (double)b, result);
        exact = integer_power(a, b, &value);
    }
    if (exact)
        return give_integer(result, value);
    if (e->approximate)
        return real_arithmetic(e, code, (double)a, (double)b, result);
    return fail(e, "the result overflows a 64-bit integer");
}

static bool compare(unsigned code, const struct number *a, const struct number *b)
{
    int order;
    if (a->kind == NUMBER_INTEGER && b->kind == NUMBER_INTEGER)
        order = (a->integer > b->integer) - (a->integer < b->integer);
    else if (isnan(as_real(a)) || isnan(as_real(b)))
        return code == OPERATOR_NOT_EQUAL;
    else
        order = (as_real(a) > as_real(b)) - (as_real(a) < as_real(b));
    switch (code) {
    case OPERATOR_EQUAL:
        return order == 0;
    case OPERATOR_NOT_EQUAL:
        return order != 0;
    case OPERATOR_LESS:
        return order < 0;
    case OPERATOR_LESS_EQUAL:
        return order <= 0;
    case OPERATOR_GREATER:
        return order > 0;
    default:
        return order >= 0;
    }
}

static bool negate(struct evaluation *e, const struct number *a, struct number *result)
{
    if (a->kind == NUMBER_INTEGER)
        return integer_arithmetic(e, OPERATOR_SUBTRACT, 0, a->integer, result);
    return give_real(e, result, -a->real);
}

static bool evaluate_operator(struct evaluation *e, const struct expr *expr, struct number *result)
{
    struct number a, b;
    if (!evaluate(e, expr->operands[0], &a))
        return false;
    if (expr->code == OPERATOR_NOT)
        return give_integer(result, !is_true(&a));
    if (expr->code == OPERATOR_NEGATE)
        return negate(e, &a, result);
    if (expr->code == OPERATOR_AND && !is_true(&a))
        return give_integer(result, 0);
    if (expr->code == OPERATOR_OR && is_true(&a))
        return give_integer(result, 1);
    if (!evaluate(e, expr->operands[1], &b))
        return false;
    if (expr->code == OPERATOR_AND || expr->code == OPERATOR_OR)
        return give_integer(result, is_true(&b));
    if (expr_operators[expr->code].precedence == PRECEDENCE_COMPARISON)
        return give_integer(result, compare(expr->code, &a, &b));
    if (a.kind == NUMBER_INTEGER && b.kind == NUMBER_INTEGER)
        return integer_arithmetic(e, expr->code, a.integer, b.integer, result);
    return real_arithmetic(e, expr->code, as_real(&a), as_real(&b), result);
}

static bool extreme(struct evaluation *e, const struct expr *expr, struct number *result)
{
    if (!evaluate(e, expr->operands[0], result))
        return false;
    for (unsigned i = 1; i < expr->n_operands; i++) {
        struct number next;
        if (!evaluate(e, expr->operands[i], &next))
            return false;
        if (compare(expr->code == FUNCTION_MIN ? OPERATOR_LESS : OPERATOR_GREATER, &next, result))
            *result = next;
    }
    return true;
}

/* ceil() and floor() give an integer where one can hold it. */
static bool give_rounded(struct evaluation *e, struct number *result, double value)
{
    if (value >= -0x1p63 && value < 0x1p63)
        return give_integer(result, (int64_t)value);
    return give_real(e, result, value);
}

static int64_t upper_case(int64_t letter)
{
    return letter >= 'a' && letter <= 'z' ? letter - ('a' - 'A') : letter;
}

/* is(flag, 'N', 'T'): LAPACK and BLAS take the letters of their flags in either case. */
static bool is_one_of(struct evaluation *e, const struct expr *expr, struct number *result)
{
    struct number flag;
    bool found = false;
    if (!evaluate(e, expr->operands[0], &flag))
        return false;
    for (unsigned i = 1; i < expr->n_operands && !found; i++) {
        struct number letter;
        if (!evaluate(e, expr->operands[i], &letter))
            return false;
        if (flag.kind != NUMBER_INTEGER || letter.kind != NUMBER_INTEGER)
            return fail(e, "is() wants characters");
        found = upper_case(flag.integer) == upper_case(letter.integer);
    }
    return give_integer(result, found);
}

static bool evaluate_function(struct evaluation *e, const struct expr *expr, struct number *result)
{
    if (expr->code == FUNCTION_IS)
        return is_one_of(e, expr, result);
    if (expr->code == FUNCTION_MIN || expr->code == FUNCTION_MAX)
        return extreme(e, expr, result);
    struct number a;
    if (!evaluate(e, expr->operands[0], &a))
        return false;
    if (expr->code == FUNCTION_FACTOR_FLOP)
        return give_real(e, result, a.real);
    if (expr->code == FUNCTION_FACTOR_NZ)
        return give_real(e, result, (double)a.integer);
    double real = as_real(&a);
    if (expr_functions[expr->code].real)
        return give_real(e, result, expr_functions[expr->code].real(real));
    switch (expr->code) {
    case FUNCTION_IF:
        return evaluate(e, expr->operands[is_true(&a) ? 1 : 2], result);
    case FUNCTION_LOG2:
        return real > 0 ? give_real(e, result, log2(real)) : fail(e, "log2() wants a number > 0");
    case FUNCTION_SQRT:
        return real >= 0 ? give_real(e, result, sqrt(real)) : fail(e, "sqrt() wants a number >= 0");
    case FUNCTION_ABS:
        if (real < 0)
            return negate(e, &a, result);
        *result = a;
        return true;
    default:
        if (a.kind == NUMBER_INTEGER)
            return give_integer(result, a.integer);
        return give_rounded(e, result, expr->code == FUNCTION_CEIL ? ceil(real) : floor(real));
    }
}

static bool evaluate_name(struct evaluation *e, const struct expr *expr, struct number *result)
{
    const struct scope *scope = e->scope;
    const char *why = NULL;
    if (expr->index >= scope->n_values || scope->values[expr->index].kind == NUMBER_UNKNOWN)
        why = " is not known";
    else if (scope->values[expr->index].kind == NUMBER_REAL && !isfinite(scope->values[expr->index].real))
        why = " is not a finite number";
    if (why) {
        e->name = expr->spelling;
        return fail(e, why);
    }
    *result = scope->values[expr->index];
    return true;
}

static bool evaluate(struct evaluation *e, const struct expr *expr, struct number *result)
{
    switch (expr->kind) {
    case EXPR_NAME:
        return evaluate_name(e, expr, result);
    case EXPR_OPERATOR:
        return evaluate_operator(e, expr, result);
    case EXPR_FUNCTION:
        return evaluate_function(e, expr, result);
    default:
        *result = expr->value;
        return true;
    }
}

/* " with n = 5" behind a message, when there is something to tell. */
static const char *with_values(const struct expr *expr, const struct scope *scope, char *text, size_t size)
{
    memcpy(text, " with ", 7);
    expr_describe_values(expr, scope, text + 6, size - 6);
    return text[6] ? text : "";
}

static enum esp_status run(const struct expr *expr, const struct scope *scope, bool approximate,
                           struct number *result, struct esp_error *error)
{
    struct evaluation e = {.scope = scope, .approximate = approximate};
    if (evaluate(&e, expr, result))
        return ESP_OK;
    if (!error) /* whoever only asks whether it can be done pays for no text */
        return ESP_INVALID;
    char values[160], spelling[200];
    return error_set(error, ESP_INVALID, "%s: %s%s%s", expr_spell(expr, spelling, sizeof spelling),
                     e.name ? e.name : "", e.why, with_values(expr, scope, values, sizeof values));
}

enum esp_status expr_eval(const struct expr *expr, const struct scope *scope, struct number *result,
                          struct esp_error *error)
{
    return run(expr, scope, false, result, error);
}

enum esp_status expr_eval_size(const struct expr *expr, const struct scope *scope, int64_t *result,
                               struct esp_error *error)
{
    struct number number;
    enum esp_status status = run(expr, scope, false, &number, error);
    if (status != ESP_OK)
        return status;
    if (number.kind != NUMBER_REAL && number.integer >= 0) {
        *result = number.integer;
        return ESP_OK;
    }
    char values[160];
    const char *with = with_values(expr, scope, values, sizeof values);
    if (number.kind == NUMBER_REAL)
        return error_set(error, ESP_INVALID, "%s: expected an integer, found %g%s", expr_text(expr),
                         number.real, with);
    return error_set(error, ESP_INVALID, "%s: expected a size >= 0, found %" PRId64 "%s", expr_text(expr),
                     number.integer, with);
}

enum esp_status expr_eval_real(const struct expr *expr, const struct scope *scope, double *result,
                               struct esp_error *error)
{
    struct number number;
    enum esp_status status = run(expr, scope, true, &number, error);
    if (status == ESP_OK)
        *result = as_real(&number);
    return status;
}

enum esp_status expr_eval_bool(const struct expr *expr, const struct scope *scope, bool *result,
                               struct esp_error *error)
{
    struct number number;
    enum esp_status status = run(expr, scope, false, &number, error);
    if (status == ESP_OK)
        *result = is_true(&number);
    return status;
}

bool expr_is_name(const struct expr *expr, uint32_t *index)
{
    if (expr->kind == EXPR_NAME && index)
        *index = expr->index;
    return expr->kind == EXPR_NAME;
}

bool expr_uses(const struct expr *expr, uint32_t index)
{
    if (expr->kind == EXPR_NAME)
        return expr->index == index;
    for (uint8_t i = 0; i < expr->n_operands; i++)
        if (expr_uses(expr->operands[i], index))
            return true;
    return false;
}

/* Whether `text` already tells the value of `name`. */
static bool is_told(const struct text *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = text->data; (at = strstr(at, name)); at += n)
        if ((at == text->data || at[-1] == ' ') && strncmp(at + n, " = ", 3) == 0)
            return true;
    return false;
}

static void describe(const struct expr *expr, const struct scope *scope, struct text *text)
{
    for (unsigned i = 0; i < expr->n_operands; i++)
        describe(expr->operands[i], scope, text);
    if (expr->kind != EXPR_NAME || expr->index >= scope->n_values || is_told(text, expr->spelling))
        return;
    const struct number *value = &scope->values[expr->index];
    const char *separator = text->length ? ", " : "";
    if (value->kind == NUMBER_REAL)
        text_printf(text, "%s%s = %g", separator, expr->spelling, value->real);
    else if (value->kind == NUMBER_INTEGER && expr->names_character && value->integer > ' ' &&
             value->integer < 0x7f)
        text_printf(text, "%s%s = '%c'", separator, expr->spelling, (int)value->integer);
    else if (value->kind == NUMBER_INTEGER)
        text_printf(text, "%s%s = %" PRId64, separator, expr->spelling, value->integer);
}

void expr_describe_values(const struct expr *expr, const struct scope *scope, char *text, size_t size)
{
    struct text writer;
    text_open(&writer, text, size);
    describe(expr, scope, &writer);
}
