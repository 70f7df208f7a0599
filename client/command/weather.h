/* SPDX-License-Identifier: Apache-2.0
 *
 * The weather as nodes tell it, and its table.
 */
#ifndef CLIENT_COMMAND_WEATHER_H
#define CLIENT_COMMAND_WEATHER_H

#include "client/command/admin.h"
#include "client/command/bar.h"
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

/* Asks the node for all that it knows. EXIT_DONE, or what was wrong has been printed on standard error, where
 * `bar` is taken away first. A link that both its ends, or the agent above, tell of has the rows of the one
 * that was asked first. */
enum exit_code weather_ask(const struct command_line *command, const struct view *view,
                           const struct esp_node *node, struct bar *bar, struct weather_rows *rows);

/* A row for each, for people. */
void weather_print(const struct weather_rows *rows);
/* A list of objects, in NWS's units. */
enum exit_code weather_print_json(const struct weather_rows *rows);

#define WEATHER_PLOT 16 /* characters */
/* One character for at most as many values as make all of them WEATHER_PLOT characters, their mean; from an
 * eighth of `most` to all of it. Returns `text`. */
const char *weather_plot(const double *values, unsigned n, double most, char text[4 * WEATHER_PLOT + 1]);

#endif
