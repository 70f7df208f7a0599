/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures of a block-cyclic matrix: which rank owns which block, with a zoom, as text for a terminal and as
 * SVG. They number rows and columns from 1, as matrices are, and ranks from 0, as MPI does. Functions write
 * into a text and have no other effect; the text's length tells what a buffer must hold (call again with a
 * larger one).
 */
#ifndef CORE_BLOCK_MAP_H
#define CORE_BLOCK_MAP_H

#include "core/redistribution/block_cyclic.h"
#include "core/redistribution/redistribution.h"
#include "util/text.h"

/* The part that is shown. Zeros: from the first element, to the last. What is beyond the matrix is cut. */
struct block_map_window {
    int64_t row, col, rows, cols;
};

/* ESP_INVALID: a bad layout, or a window that holds nothing of a matrix that has something. */
enum esp_status block_map_check(const struct block_cyclic_matrix *matrix,
                                const struct block_map_window *window, struct esp_error *error);

/* One cell per block with the rank's number, the first row and column of each, as many as fit `width` x
 * `height` characters; what is left out is told. Below the whole matrix, for up to `height` ranks, what each
 * holds. */
void block_map_text(const struct block_cyclic_matrix *matrix, const struct block_map_window *window,
                    size_t width, size_t height, struct text *text);

/* In `width` pixels, as high as the window's shape wants. Few blocks have tooltips and numbers; many are
 * drawn as one period of the layout, repeated. The lines of `note` (NULL: none) stand below the heading. */
void block_map_svg(const struct block_cyclic_matrix *matrix, const struct block_map_window *window,
                   double width, const char *title, const char *note, struct text *text);

/* A few lines: what moving takes, by which steps, and how far from the least possible. */
void block_map_move_text(const struct redistribution_summary *summary, double element_bytes,
                         struct text *text);
/* A line: the same where it is, on that server: so many ranks copy it, in so many seconds. */
void block_map_copy_text(const char *server, int64_t ranks, double bytes, double seconds, struct text *text);

#endif
