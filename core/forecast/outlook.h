/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports of the weather: for each resource of the Network Weather Service that is measured, the last
 * value, the forecast with its error, and recent values. Nodes send it in reply to the order "weather"
 * (services/duty.h), a line each, in pages:
 *
 *     RESOURCE  FROM  TO  NOW  FORECAST  ERROR  AGE_S  STEP_S  VALUE,VALUE,...
 *     next  N
 *
 * separated by tabs. "next" says that more lines follow, from number N. Units are those of
 * outlook_units(). */
#ifndef CORE_OUTLOOK_H
#define CORE_OUTLOOK_H

#include "util/arena.h"

#include <stdbool.h>
#include <stddef.h>

#define OUTLOOK_RECENT     48
#define OUTLOOK_PAGE_BYTES 60000 /* the text of a reply has at most 64 KiB */

struct outlook {
    const char *resource;
    const char *from, *to; /* nodes; of a machine `to` is "". latencyTcp and connectTimeTcp are round trips,
                              the same in both orders */
    double now, forecast;
    double error;  /* mean absolute error of such forecasts */
    double age_s;  /* time since the measurement */
    double step_s; /* between the values of `recent`; 0: irregular */
    unsigned n;
    double recent[OUTLOOK_RECENT]; /* the oldest first */
};

/* Returns the resource with that number, from 0; NULL after the last. Those of links come last. */
const char *outlook_resource(unsigned number);
/* Returns "fraction", "MB" (of 10^6 bytes), "Mb/s" (10^6 bits per second), "ms"; NULL: unknown resource. */
const char *outlook_unit(const char *resource);

/* Whether there is only one measurement, so that no forecast could be compared with a value yet. */
bool outlook_is_single(const struct outlook *outlook);

/* Lines from number `first` on, as many as fit. */
struct outlook_page {
    size_t first, told; /* number of lines added, including those that did not fit */
    size_t next;        /* number of the first line that did not fit; 0: all fit */
    char *text;
    size_t used;
};
/* Starts a page whose text lies in the arena. False: without memory. */
bool outlook_page_begin(struct outlook_page *page, size_t first, struct arena *arena);
/* Adds a line. Names with tabs or line ends are skipped. */
void outlook_page_add(struct outlook_page *page, const struct outlook *outlook);
/* Returns the page as text. */
const char *outlook_page_end(struct outlook_page *page);

enum outlook_line { OUTLOOK_LINE, OUTLOOK_NEXT, OUTLOOK_NONSENSE };
/* Parses a line by splitting it in place: names point into it. OUTLOOK_NEXT sets *next. Values that no
 * sensor can have measured are rejected: negative or not finite numbers, unknown resources. */
enum outlook_line outlook_read(char *line, struct outlook *outlook, size_t *next);

#endif
