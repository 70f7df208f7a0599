/* SPDX-License-Identifier: Apache-2.0
 *
 * The forecast of a parallel routine on all grids, as figure 4.2 of the FAST paper shows it: rows and columns
 * of ranks against time. What parallel_grids() made (core/forecast/parallel_model.h), as a table and as SVG.
 * Pure; the text's length tells what a buffer must hold.
 */
#ifndef CORE_GRID_TABLE_H
#define CORE_GRID_TABLE_H

#include "core/forecast/parallel_model.h"
#include "util/text.h"

/* Rows p, columns q, times in the unit below; the fastest is marked with *. Numbers of rows and columns that
 * do not fit `width` characters are thinned out (1, 2, 3, 4, 6, 8, 12, ..., the fastest grid's always shown).
 * "-" is a grid whose ranks have too little memory. The last line names the fastest grid with its block size.
 */
void grid_table_text(const struct parallel_forecast *forecasts, size_t n, size_t width, struct text *text);
/* What the table's times are in: "seconds", "milliseconds" or "microseconds", by the fastest. */
const char *grid_table_unit(const struct parallel_forecast *forecasts, size_t n);

/* A square for each grid, green to red by the logarithm of its time, the fastest framed. */
void grid_table_svg(const struct parallel_forecast *forecasts, size_t n, double width, const char *title,
                    struct text *text);

#endif
