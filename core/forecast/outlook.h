/* SPDX-License-Identifier: Apache-2.0
 *
 * What is told of the weather: for each resource of the Network Weather Service that is measured somewhere,
 * the last value, the forecast with its error, and how it was. Nodes tell it in answer to the order "weather"
 * (services/duty.h), a line each, in pages:
 *
 *     RESOURCE  FROM  TO  NOW  FORECAST  ERROR  AGE_S  STEP_S  VALUE,VALUE,...
 *     next  N
 *
 * separated by tabs; "next" where more lines follow, from number N. Units are those of outlook_units().
 */
#ifndef CORE_OUTLOOK_H
#define CORE_OUTLOOK_H

#include "util/arena.h"

#include <stdbool.h>
#include <stddef.h>

#define OUTLOOK_RECENT     48
#define OUTLOOK_PAGE_BYTES 60000 /* an answer's text has 64 KiB at most */

struct outlook {
    const char *resource;
    const char *from, *to; /* nodes; of a machine `to` is "". latencyTcp and connectTimeTcp: from one side to
                              the other and back, however they are ordered */
    double now, forecast;
    double error;  /* the mean absolute error of such forecasts */
    double age_s;  /* since it was measured */
    double step_s; /* between the values of `recent`; 0: as it came */
    unsigned n;
    double recent[OUTLOOK_RECENT]; /* the oldest first */
};

/* The resource of that number, from 0; NULL behind the last. Those of links come last. */
const char *outlook_resource(unsigned number);
/* "fraction", "MB" (of 10^6 bytes), "Mb/s" (10^6 bits per second), "ms"; NULL: no resource is called so. */
const char *outlook_unit(const char *resource);

/* Whether there is only one measurement of it: nothing that was forecast could be compared with anything yet.
 */
bool outlook_is_single(const struct outlook *outlook);

/* Lines from number `first` on, as many as there is room for. */
struct outlook_page {
    size_t first, told; /* lines that were offered */
    size_t next;        /* the first that had no room; 0: all had */
    char *text;
    size_t used;
};
/* False: without memory. The text is in the arena. */
bool outlook_page_begin(struct outlook_page *page, size_t first, struct arena *arena);
/* A line more; names with tabs or ends of lines are nobody's, and left out. */
void outlook_page_add(struct outlook_page *page, const struct outlook *outlook);
/* The page as text. */
const char *outlook_page_end(struct outlook_page *page);

enum outlook_line { OUTLOOK_LINE, OUTLOOK_NEXT, OUTLOOK_NONSENSE };
/* Reads a line, which is cut into its parts: names point into it. *next is set by OUTLOOK_NEXT. What no
 * sensor can have measured is nonsense: numbers that are negative or not finite, resources that nobody knows.
 */
enum outlook_line outlook_read(char *line, struct outlook *outlook, size_t *next);

#endif
