/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions of the problem description language: dimensions, cost, preconditions, messages.
 */
#ifndef CORE_EXPR_H
#define CORE_EXPR_H

#include "util/arena.h"
#include "util/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPR_MAX_DEPTH    64  /* levels of nesting, as of parentheses */
#define EXPR_MAX_TERMS    512 /* numbers and names: the tree of a long sum is as deep as the sum is long */
#define EXPR_MAX_OPERANDS 16  /* of min() and max() */

struct expr; /* an immutable tree in its problem's memory; threads may share it */

/* A number as expressions see it: an exact 64-bit integer, or a double. */
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

/* Evaluates. Integer arithmetic is checked: an overflow, a division by zero, an unknown value are
 * ESP_INVALID with a text that shows the expression. `/` of integers that does not come out even gives a
 * real. */
enum esp_status expr_eval(const struct expr *expr, const struct scope *scope, struct number *result,
                          struct esp_error *error);

/* The same where an integer >= 0 is wanted (a dimension): anything else is ESP_INVALID. */
enum esp_status expr_eval_size(const struct expr *expr, const struct scope *scope, int64_t *result,
                               struct esp_error *error);
/* The same where any number will do (cost), as a double: what overflows integers goes on as a real. */
enum esp_status expr_eval_real(const struct expr *expr, const struct scope *scope, double *result,
                               struct esp_error *error);
/* The same where a truth value is wanted (preconditions, error conditions). */
enum esp_status expr_eval_bool(const struct expr *expr, const struct scope *scope, bool *result,
                               struct esp_error *error);

/* Parses a whole expression over names[i] (index i in the scope). The expression lies in `arena`
 * and ends with it. ESP_SYNTAX with "expression:line:column: expected ..., found ...". */
enum esp_status expr_parse(const char *text, const char *const *names, uint32_t n_names, struct arena *arena,
                           struct expr **expr, struct esp_error *error);

/* True and the index when the expression is nothing but the name of an argument. */
bool expr_is_name(const struct expr *expr, uint32_t *index);

/* Whether the name of argument `index` is anywhere in it. */
bool expr_uses(const struct expr *expr, uint32_t index);

/* When the expression is slope * x + offset with integer slope != 0 and exactly one name x that the
 * scope does not know: true, the index of x, slope and offset. */
bool expr_is_linear(const struct expr *expr, const struct scope *scope, uint32_t *index, int64_t *slope,
                    int64_t *offset);

/* The expression in its canonical spelling (2/3*n^3 + n), for messages, help and digests. */
const char *expr_text(const struct expr *expr);

/* "n = -1, nrhs = 3": the known values of the names in the expression, each once. Cut to fit. */
void expr_describe_values(const struct expr *expr, const struct scope *scope, char *text, size_t size);

#endif
