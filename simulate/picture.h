/* SPDX-License-Identifier: Apache-2.0
 *
 * What happened in a run of a flow graph, as files: a Gantt chart in SVG, and a trace for chrome://tracing
 * and Perfetto.
 */
#ifndef SIMULATE_PICTURE_H
#define SIMULATE_PICTURE_H

#include "core/flow/flow_record.h"

#include <stdio.h>

#define PICTURE_MOST_ROWS 500

struct picture {
    const struct flow_record *record;
    const struct flow_graph *graph;
    double seconds; /* of the whole run */
    unsigned n_nodes;
    const char *const *nodes; /* names; NULL: "node 0" and so on */
};

/* Both tell by ferror(file) whether writing succeeded. */

/* One row for each thread that computed, time from left to right, a colour for each kind of computation. Rows
 * beyond PICTURE_MOST_ROWS are left out, and the picture says so. */
void picture_gantt(const struct picture *picture, FILE *file);
/* JSON of the Trace Event Format: a process for each node, a line for each thread; transfers are lines of the
 * sending node. */
void picture_trace(const struct picture *picture, FILE *file);

#endif
