/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions of the problem description language: dimensions, cost, preconditions, messages.
 */
#ifndef CORE_EXPR_H
#define CORE_EXPR_H

#include "core/problem/lexer.h"
#include "util/arena.h"
#include "util/error.h"
#include "util/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPR_MAX_DEPTH    64  /* levels of nesting, as of parentheses */
#define EXPR_MAX_TERMS    512 /* numbers and names: the tree of a sum with n terms has depth n */
#define EXPR_MAX_OPERANDS 16  /* of min() and max() */

struct expr; /* an immutable tree in its problem's memory; threads may share it */

/* A value of an expression: an exact 64-bit integer, or a double. */
struct number {
    enum { NUMBER_UNKNOWN, NUMBER_INTEGER, NUMBER_REAL } kind;
    int64_t integer;
    double real;
};

/* The values of the names in an expression: values[i] belongs to the argument with index i. */
struct scope {
    const struct number *values;
    uint32_t n_values;
};

/* Evaluates the expression with checked integer arithmetic. An overflow, a division by zero or an unknown
 * value is ESP_INVALID with a text that shows the expression. `/` of integers gives a real if the quotient
 * is no integer. */
enum esp_status expr_eval(const struct expr *expr, const struct scope *scope, struct number *result,
                          struct esp_error *error);

/* Evaluates an integer >= 0 (a dimension): any other value is ESP_INVALID. */
enum esp_status expr_eval_size(const struct expr *expr, const struct scope *scope, int64_t *result,
                               struct esp_error *error);
/* Evaluates any number (a cost) as a double: integers that overflow become reals. */
enum esp_status expr_eval_real(const struct expr *expr, const struct scope *scope, double *result,
                               struct esp_error *error);
/* Evaluates a truth value (preconditions, error conditions). */
enum esp_status expr_eval_bool(const struct expr *expr, const struct scope *scope, bool *result,
                               struct esp_error *error);

/* Parses a whole expression over names[i] (index i in the scope). The expression lies in `arena`.
 * ESP_SYNTAX with "expression:line:column: expected ..., found ...". */
enum esp_status expr_parse(const char *text, const char *const *names, uint32_t n_names, struct arena *arena,
                           struct expr **expr, struct esp_error *error);

/* True, with the index, when the expression is just the name of an argument. */
bool expr_is_name(const struct expr *expr, uint32_t *index);

/* Whether the expression contains the name of argument `index`. */
bool expr_uses(const struct expr *expr, uint32_t index);

/* True when the expression is slope * x + offset with integer slope != 0 and exactly one name x that is
 * unknown in the scope; sets the index of x, slope and offset. */
bool expr_is_linear(const struct expr *expr, const struct scope *scope, uint32_t *index, int64_t *slope,
                    int64_t *offset);

/* Returns the expression in its canonical spelling (2/3*n^3 + n), for messages, help and digests. */
const char *expr_text(const struct expr *expr);

/* Writes the known values of the names in the expression, each once: "n = -1, nrhs = 3". Cut to fit. */
void expr_describe_values(const struct expr *expr, const struct scope *scope, char *text, size_t size);

/* The structure of expressions, for the files that read, print and evaluate them. */

enum expr_kind {
    EXPR_INTEGER,
    EXPR_REAL,
    EXPR_CHARACTER,
    EXPR_NAME,
    EXPR_OPERATOR, /* of one or two operands */
    EXPR_FUNCTION
};

enum expr_operator {
    OPERATOR_OR,
    OPERATOR_AND,
    OPERATOR_NOT,
    OPERATOR_EQUAL,
    OPERATOR_NOT_EQUAL,
    OPERATOR_LESS,
    OPERATOR_LESS_EQUAL,
    OPERATOR_GREATER,
    OPERATOR_GREATER_EQUAL,
    OPERATOR_ADD,
    OPERATOR_SUBTRACT,
    OPERATOR_MULTIPLY,
    OPERATOR_DIVIDE,
    OPERATOR_MODULO,
    OPERATOR_NEGATE,
    OPERATOR_POWER,
    N_OPERATORS
};

enum expr_function {
    FUNCTION_MIN,
    FUNCTION_MAX,
    FUNCTION_ABS,
    FUNCTION_CEIL,
    FUNCTION_FLOOR,
    FUNCTION_LOG2,
    FUNCTION_SQRT,
    FUNCTION_IF,
    FUNCTION_IS, /* is(flag, letters...): whether the flag is one of the letters, in either case */
    FUNCTION_EXP,
    FUNCTION_LOG,
    FUNCTION_SIN,
    FUNCTION_COS,
    FUNCTION_TAN,
    FUNCTION_ATAN,
    FUNCTION_FACTOR_FLOP, /* argument is a compressed matrix (core/problem/fill.h) */
    FUNCTION_FACTOR_NZ,
    N_FUNCTIONS
};

/* How tightly an operator binds; larger binds tighter. */
enum {
    PRECEDENCE_OR = 1,
    PRECEDENCE_AND,
    PRECEDENCE_NOT,
    PRECEDENCE_COMPARISON,
    PRECEDENCE_SUM,
    PRECEDENCE_PRODUCT,
    PRECEDENCE_NEGATE,
    PRECEDENCE_POWER,
    PRECEDENCE_VALUE
};

struct operator_row {
    const char *spelling;
    int symbol; /* SYMBOL2 code; 0: the spelling is a name */
    int precedence;
};
extern const struct operator_row expr_operators[N_OPERATORS];

struct function_row {
    const char *name;
    uint8_t least, most;    /* operands */
    double (*real)(double); /* a mathematical function: its word is a function only before '(' and may be a
                               name otherwise; else NULL */
};
extern const struct function_row expr_functions[N_FUNCTIONS];

struct expr {
    uint8_t kind;
    uint8_t code; /* enum expr_operator or expr_function */
    uint8_t n_operands;
    bool names_character; /* EXPR_NAME of a char argument: shown as a letter */
    bool names_matrix;    /* EXPR_NAME of a compressed matrix, which factor_flop() and factor_nz() take */
    uint32_t index;       /* EXPR_NAME: index in the scope, once resolved */
    uint32_t offset;      /* offset in the description, for messages of the parser */
    const char *spelling; /* of a number or name, as written */
    struct number value;  /* value of a constant */
    struct expr **operands;
    struct expr *next_name; /* EXPR_NAME: the next name that is not resolved yet */
    const char *text;       /* canonical spelling; only in the root of an expression */
};

/* The names found while reading, in the order of the text; their index is not set yet. */
struct name_list {
    struct expr *first, **last;
};

/* Reads one expression and leaves the lexer after its last token. Appends its names to *names. False with
 * *lexer's error filled. */
bool expr_read(struct lexer *lexer, struct arena *arena, struct name_list *names, struct expr **expr);

/* Whether the word is a function, `and`, `or` or `not`: an argument cannot have this name. */
bool expr_reserves(const char *word);

/* Writes the canonical spelling of an expression, or of a part of one, to `text`, cut to fit. */
const char *expr_spell(const struct expr *expr, char *text, size_t size);

/* Writes the canonical spelling of a tree. */
void expr_write(const struct expr *expr, struct text *text);

#endif
