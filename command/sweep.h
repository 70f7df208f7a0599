/* SPDX-License-Identifier: Apache-2.0
 *
 * What a parameter sweep varies: axes of values, and the points of their product.
 */
#ifndef COMMAND_SWEEP_H
#define COMMAND_SWEEP_H

#include "util/error.h"
#include <espalier.h>
#include <stddef.h>

#define SWEEP_MOST_POINTS 100000

/* One argument and the values that it takes, as text. */
struct sweep_axis {
    char *name;
    char **values;
    size_t n;
    enum { FILL_NOTHING, FILL_KNOWN, FILL_ALL } fills; /* which names in braces */
};

struct sweep {
    struct sweep_axis axes[ESP_MAX_ARGUMENTS];
    size_t n_axes;
    size_t n_points;
};

/* Takes "name=values" words. Numbers: "1..10", "0..1:0.25", "1,2,5", and these mixed; everything else is one
 * value, and a name that is given again adds one. The first axis changes slowest. ESP_INVALID names the word
 * and what is wrong; ESP_LIMIT: too many points. */
enum esp_status sweep_read(struct sweep *sweep, const struct esp_problem *problem, char *const *words,
                           size_t n, struct esp_error *error);
void sweep_clear(struct sweep *sweep);

/* Which value an axis has at that point. */
size_t sweep_index(const struct sweep *sweep, size_t point, size_t axis);

/* "x-{n}.mtx" with the values of the point in place of names in braces ('/' in a value becomes '_').
 * malloc'ed. ESP_INVALID: a name that is none of an axis. */
enum esp_status sweep_fill(const struct sweep *sweep, size_t point, const char *pattern, char **text,
                           struct esp_error *error);
/* The value that an axis has at that point; of an array, a string or a file with the values of others in the
 * place of their names in braces: "@a-{n}.mtx", "rand({n},{n})" (of a string only of names that vary).
 * malloc'ed.
 */
enum esp_status sweep_value(const struct sweep *sweep, size_t point, size_t axis, char **text,
                            struct esp_error *error);
/* ESP_INVALID: two points have the same text. */
enum esp_status sweep_check_pattern(const struct sweep *sweep, const char *pattern, struct esp_error *error);

#endif
