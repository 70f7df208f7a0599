/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats the forecasts of a parallel routine on all grids, like figure 4.2 of the FAST paper: rows and
 * columns of ranks against time. Input are the results of parallel_grids()
 * (core/forecast/parallel_model.h), output is a table or SVG. Pure; the text's length says how large a
 * buffer must be. */
#ifndef CORE_GRID_TABLE_H
#define CORE_GRID_TABLE_H

#include "core/forecast/parallel_model.h"
#include "util/text.h"

/* Writes a table with rows p, columns q, and times in the unit of grid_table_unit(); the fastest is marked
 * with *. Rows and columns that do not fit `width` characters are thinned out (1, 2, 3, 4, 6, 8, 12, ...,
 * always including the fastest grid's). "-" is a grid whose ranks have too little memory. The last line
 * names the fastest grid with its block size. */
void grid_table_text(const struct parallel_forecast *forecasts, size_t n, size_t width, struct text *text);
/* Returns the unit of the table's times, which depends on the fastest: "seconds", "milliseconds" or
 * "microseconds". */
const char *grid_table_unit(const struct parallel_forecast *forecasts, size_t n);

/* Writes an SVG with a square for each grid, from green to red by the logarithm of its time, the fastest
 * framed. */
void grid_table_svg(const struct parallel_forecast *forecasts, size_t n, double width, const char *title,
                    struct text *text);

#endif
