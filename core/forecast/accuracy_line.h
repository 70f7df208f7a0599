/* SPDX-License-Identifier: Apache-2.0
 *
 * The lines in which servers note how good forecasts were (sed/server/accuracy.h says what is in them), as
 * those who read them see them.
 */
#ifndef CORE_ACCURACY_LINE_H
#define CORE_ACCURACY_LINE_H

#include <stdbool.h>

#define ACCURACY_FILE "accuracy.tsv" /* in a server's state_dir */
#define ACCURACY_LINE 512            /* bytes of the longest one, and more */

/* Of the size of the relative error (actual - forecast) / actual the mean, the median, and what nine of ten
 * do not exceed; and its mean. */
struct accuracy_figures {
    double mean, median, ninth, bias;
};

struct accuracy_line {
    char problem[64];
    double forecast_s, actual_s; /* finite, not below 0, and above 0 */
    unsigned together; /* short sessions that share the line, the times being means; 0: it is of one */
    struct accuracy_figures figures; /* of the latest of these */
};

/* False: that is no line as a server writes it, or what it says cannot be. */
bool accuracy_line_read(const char *text, struct accuracy_line *line);
bool accuracy_figures_possible(const struct accuracy_figures *figures);
/* (actual - forecast) / actual. */
double accuracy_line_off(const struct accuracy_line *line);

#endif
