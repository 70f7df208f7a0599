/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses the lines in which servers record how accurate forecasts were (sed/forecast/accuracy.h describes
 * them). */
#ifndef CORE_ACCURACY_LINE_H
#define CORE_ACCURACY_LINE_H

#include <stdbool.h>

#define ACCURACY_FILE "accuracy.tsv" /* in a server's state_dir */
#define ACCURACY_LINE 512            /* more bytes than the longest line has */

/* Of the absolute value of the relative error (actual - forecast) / actual: the mean, the median, and the
 * 90 % quantile; and the mean of the relative error itself. */
struct accuracy_figures {
    double mean, median, ninth, bias;
};

struct accuracy_line {
    char problem[64];
    double forecast_s, actual_s; /* finite, not below 0, and above 0 */
    unsigned together; /* number of short sessions that share the line, with mean times; 0: one session */
    struct accuracy_figures figures; /* statistics of the latest of these sessions */
};

/* False when the text is no such line, or its values are implausible. */
bool accuracy_line_read(const char *text, struct accuracy_line *line);
bool accuracy_figures_possible(const struct accuracy_figures *figures);
/* Returns (actual - forecast) / actual. */
double accuracy_line_off(const struct accuracy_line *line);

#endif
