/* SPDX-License-Identifier: Apache-2.0
 *
 * How an agent ranks the servers that could take a request: a registry with one row for each way.
 */
#ifndef CORE_SCHEDULER_H
#define CORE_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known of one server for one request. */
struct scheduler_view {
    double wait_s;     /* until it can start */
    double compute_s;  /* forecast of the computation */
    double transfer_s; /* to bring the data */
    double line;       /* sessions there, by slot: no score looks at it, it decides between equal ones */
    uint64_t turn;     /* when it was last chosen, counted in choices; 0: never */
};

struct scheduler {
    const char *name;
    const char *text; /* one line for people */
    /* The lower, the better. Must not fall when a member of the view grows: the score of the least of each
     * member over a set of servers is taken as a bound for all of them (core/server_index.h). */
    double (*score)(const struct scheduler_view *view);
    bool random; /* candidates are drawn evenly; `score` is not asked */
};

/* The row of that name, the default for NULL or ""; NULL when there is none. */
const struct scheduler *scheduler_find(const char *name);
/* All rows, the default first. */
const struct scheduler *scheduler_table(size_t *n);

#endif
