/* SPDX-License-Identifier: Apache-2.0 */
#include "core/problem/expr.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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
    if (expr->code == OPERATOR_POWER) { /* right-associative, and its exponent may have a sign */
        left = PRECEDENCE_POWER + 1;
        right = PRECEDENCE_NEGATE;
    } else if (row->precedence == PRECEDENCE_COMPARISON) { /* not associative */
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

/* `least`: operators that bind less tightly are put in parentheses. */
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

/* State of one evaluation: known values, kind of arithmetic, and the reason of a failure. */
struct evaluation {
    const struct scope *scope;
    bool approximate; /* integers that overflow become reals */
    const char *why;
    const char *name; /* the name that `why` is about, or NULL */
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
    for (int64_t i = 0; i < exponent; i++) /* at most 63 rounds before an overflow */
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
        if (b == -1) /* INT64_MIN / -1 traps on many processors */
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

/* ceil() and floor() yield an integer if it fits. */
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

/* Writes the suffix " with n = 5" of a message, or nothing. */
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
    if (!error) /* a caller that passes no error gets no text */
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

/* Whether `text` already contains the value of `name`. */
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

/* slope * x + offset; a constant has slope 0 and any index. */
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

/* Follows the branch that if() takes when its condition is known. */
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

/* Returns the binary operator at the lexer, or N_OPERATORS. */
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

/* Adds a hint for operators of other languages. */
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
