/* SPDX-License-Identifier: Apache-2.0
 *
 * What happened in a simulation, as files: a Gantt chart in SVG, and a trace for chrome://tracing and
 * Perfetto.
 */
#ifndef SIMULATE_PICTURE_H
#define SIMULATE_PICTURE_H

#include "simulate/simulation.h"

#include <stdio.h>

#define PICTURE_MOST_ROWS 500

/* Both take a result with events and its graph, and tell by ferror(file) whether writing succeeded. */

/* One row for each thread that computed, time from left to right, a colour for each kind of computation. Rows
 * beyond PICTURE_MOST_ROWS are left out, and the picture says so. */
void picture_gantt(const struct simulation_result *result, const struct flow_graph *graph, FILE *file);
/* JSON of the Trace Event Format: a process for each node, a line for each thread; transfers are lines of the
 * sending node. */
void picture_trace(const struct simulation_result *result, const struct flow_graph *graph, FILE *file);

#endif
