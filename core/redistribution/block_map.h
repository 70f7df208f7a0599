/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws a block-cyclic matrix: which rank owns which block, with a zoom, as text for a terminal and as
 * SVG. Rows and columns are numbered from 1, as in matrices, ranks from 0, as in MPI. Functions only write
 * into a text; its length says how large a buffer must be (call again with a larger one). */
#ifndef CORE_BLOCK_MAP_H
#define CORE_BLOCK_MAP_H

#include "core/redistribution/block_cyclic.h"
#include "core/redistribution/redistribution.h"
#include "util/text.h"

/* The part that is shown. Zeros: from the first element, to the last. Parts outside the matrix are cut. */
struct block_map_window {
    int64_t row, col, rows, cols;
};

/* ESP_INVALID: an invalid layout, or a window outside a non-empty matrix. */
enum esp_status block_map_check(const struct block_cyclic_matrix *matrix,
                                const struct block_map_window *window, struct esp_error *error);

/* Writes one cell per block with the rank's number, the first row and column of each, as many as fit
 * `width` x `height` characters, and says what was left out. Below the whole matrix, for up to `height`
 * ranks, writes how many elements each has. */
void block_map_text(const struct block_cyclic_matrix *matrix, const struct block_map_window *window,
                    size_t width, size_t height, struct text *text);

/* Writes an SVG of `width` pixels, with the height of the window's shape. A few blocks get tooltips and
 * numbers; many are drawn as one repeated period of the layout. The lines of `note` (NULL: none) stand
 * below the heading. */
void block_map_svg(const struct block_cyclic_matrix *matrix, const struct block_map_window *window,
                   double width, const char *title, const char *note, struct text *text);

/* Writes a few lines: the cost and steps of a redistribution, and its distance from the lower bounds. */
void block_map_move_text(const struct redistribution_summary *summary, double element_bytes,
                         struct text *text);
/* Writes a line about a redistribution within one server: that many ranks copy it, in that many seconds. */
void block_map_copy_text(const char *server, int64_t ranks, double bytes, double seconds, struct text *text);

#endif
