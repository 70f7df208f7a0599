/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/accuracy_line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool accuracy_figures_possible(const struct accuracy_figures *figures)
{
    return figures->mean >= 0 && figures->median >= 0 && figures->ninth >= 0 && isfinite(figures->mean) &&
           isfinite(figures->median) && isfinite(figures->ninth) && isfinite(figures->bias);
}

double accuracy_line_off(const struct accuracy_line *line)
{
    return (line->actual_s - line->forecast_s) / line->actual_s;
}

static bool is_end(const char *rest)
{
    return rest[strspn(rest, "\r\n")] == '\0';
}

/* Reads the rest of a line after the times: nothing, the ranks that computed the session, or what several
 * sessions have in common. */
static bool read_rest(const char *rest, struct accuracy_line *line)
{
    struct accuracy_figures *f = &line->figures;
    int length = 0;
    if (is_end(rest) || strncmp(rest, "\trank", 5) == 0)
        return true;
    return sscanf(rest, "\t%u\t%lf\t%lf\t%lf\t%lf%n", &line->together, &f->mean, &f->median, &f->ninth,
                  &f->bias, &length) == 5 &&
           is_end(rest + length) && line->together > 0 && accuracy_figures_possible(f);
}

bool accuracy_line_read(const char *text, struct accuracy_line *line)
{
    int length = 0;
    *line = (struct accuracy_line){.together = 0};
    return sscanf(text, "%*d\t%63s\t%lf\t%lf%n", line->problem, &line->forecast_s, &line->actual_s,
                  &length) == 3 &&
           line->forecast_s >= 0 && isfinite(line->forecast_s) && line->actual_s > 0 &&
           isfinite(line->actual_s) && isfinite((float)accuracy_line_off(line)) &&
           read_rest(text + length, line);
}
