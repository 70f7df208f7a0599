/* SPDX-License-Identifier: Apache-2.0
 *
 * The weather as nodes tell it, and its table.
 */
#ifndef COMMAND_WEATHER_H
#define COMMAND_WEATHER_H

#include "command/missing.h"
#include "core/forecast/outlook.h"
#include "util/hash.h"

#define WEATHER_MOST_ROWS 100000

struct weather_row {
    struct outlook outlook;
    UT_hash_handle hh; /* in the order in which they came */
};

/* All-zero is empty. All lies in the arena. */
struct weather_rows {
    struct arena arena;
    struct weather_row *first;
};
void weather_clear(struct weather_rows *rows);
/* What is not of this node and its links (NULL: of any), or not this resource, goes. */
void weather_narrow(struct weather_rows *rows, const char *node, const char *resource);

/* Asks these nodes for all that they know, side by side: `wanted` are their indexes in the view. Those that
 * did not tell are missing. EXIT_DONE, or the message has been printed. A link that both its ends, or the
 * agent above, tell of has the rows of the first of them here. */
enum exit_code weather_ask_all(const struct command_line *command, const struct view *view,
                               const size_t *wanted, size_t n, struct weather_rows *rows,
                               struct missing *missing);

/* A row for each, for people: "?" where one measurement is all there is, and nothing can be forecast. */
void weather_print(const struct weather_rows *rows);
/* A list of objects, in NWS's units; what is "?" is null. Behind them those that are missing. */
enum exit_code weather_print_json(const struct weather_rows *rows, struct missing *missing);

#define WEATHER_PLOT 16 /* characters */
/* One character for at most as many values as make all of them WEATHER_PLOT characters, their mean; from an
 * eighth of `most` to all of it. Returns `text`. */
const char *weather_plot(const double *values, unsigned n, double most, char text[4 * WEATHER_PLOT + 1]);

#endif
