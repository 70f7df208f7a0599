/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions of the problem description language: dimensions, cost, preconditions, messages.
 */
#ifndef CORE_EXPR_H
#define CORE_EXPR_H

#include "util/error.h"
#include <stdbool.h>
#include <stdint.h>

struct expr; /* an immutable tree; threads may share it */

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
/* The same where any number will do (cost), as a double. */
enum esp_status expr_eval_real(const struct expr *expr, const struct scope *scope, double *result,
                               struct esp_error *error);
/* The same where a truth value is wanted (preconditions, error conditions). */
enum esp_status expr_eval_bool(const struct expr *expr, const struct scope *scope, bool *result,
                               struct esp_error *error);

/* True and the index when the expression is nothing but the name of an argument. */
bool expr_is_name(const struct expr *expr, uint32_t *index);

/* The source text of the expression as it was written, for messages and help. */
const char *expr_text(const struct expr *expr);

void expr_destroy(struct expr *expr);

#endif
