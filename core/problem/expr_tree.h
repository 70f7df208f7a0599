/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of an expression, for the files that read, print and evaluate it.
 */
#ifndef CORE_EXPR_TREE_H
#define CORE_EXPR_TREE_H

#include "core/problem/expr.h"
#include "core/problem/lexer.h"
#include "util/text.h"

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
    FUNCTION_IS, /* a flag: one of the letters, whatever its case */
    FUNCTION_EXP,
    FUNCTION_LOG,
    FUNCTION_SIN,
    FUNCTION_COS,
    FUNCTION_TAN,
    FUNCTION_ATAN,
    FUNCTION_FACTOR_FLOP, /* of a compressed matrix (core/problem/fill.h) */
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
    uint8_t least, most; /* operands */
    double (*real)(
        double); /* a function of analysis: its word is a name, too, where no '(' follows; else NULL */
};
extern const struct function_row expr_functions[N_FUNCTIONS];

struct expr {
    uint8_t kind;
    uint8_t code; /* enum expr_operator or expr_function */
    uint8_t n_operands;
    bool names_character; /* EXPR_NAME of a char argument: shown as a letter */
    bool names_matrix;    /* EXPR_NAME of a compressed matrix, which factor_flop() and factor_nz() take */
    uint32_t index;       /* EXPR_NAME: in the scope, once resolved */
    uint32_t offset;      /* in the description, for messages of the parser */
    const char *spelling; /* of a number or name, as written */
    struct number value;  /* of a constant */
    struct expr **operands;
    struct expr *next_name; /* EXPR_NAME: the next one that waits for its index */
    const char *text;       /* canonical spelling; of a whole expression only */
};

/* The names met while reading, in the order of the text; index is not set yet. */
struct name_list {
    struct expr *first, **last;
};

/* Reads one expression from where the lexer stands to behind its last token. Names are appended to
 * *names. False with *lexer's error filled. */
bool expr_read(struct lexer *lexer, struct arena *arena, struct name_list *names, struct expr **expr);

/* Whether a word is a function, `and`, `or`, `not`: an argument cannot be called so. */
bool expr_reserves(const char *word);

/* The canonical spelling of an expression or of a part of one, which is written to `text`, cut to fit. */
const char *expr_spell(const struct expr *expr, char *text, size_t size);

/* Writes the canonical spelling of a tree. */
void expr_write(const struct expr *expr, struct text *text);

#endif
