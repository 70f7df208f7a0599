/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/redistribution/block_map.h"
#include "util/svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_BOXES = 2500,       /* most blocks of a picture that are drawn one by one */
    MOST_PERIOD_BOXES = 4096 /* ranks of a repeated period */
};

/* One dimension of the window in elements, [begin, end). */
struct span {
    const struct block_cyclic *layout;
    int64_t begin, end;
};

static struct span span_of(const struct block_cyclic *layout, int64_t begin, int64_t length)
{
    int64_t left = layout->n - begin;
    return (struct span){layout, begin, length > 0 && length < left ? begin + length : layout->n};
}

/* Returns the first element after i's block, or the span's end. */
static int64_t next_block(const struct span *span, int64_t i)
{
    int64_t in_block = span->layout->block - i % span->layout->block;
    return in_block < span->end - i ? i + in_block : span->end;
}

static int64_t blocks_of(const struct span *span)
{
    return span->begin < span->end
               ? (span->end - 1) / span->layout->block - span->begin / span->layout->block + 1
               : 0;
}

static enum esp_status check_span(const struct block_cyclic *layout, int64_t begin, int64_t length,
                                  const char *name, struct esp_error *error)
{
    if (length >= 0 && begin >= 0 && (begin < layout->n || (begin == 0 && layout->n == 0)))
        return ESP_OK;
    return error_set(error, ESP_INVALID,
                     "expected a window inside of %" PRId64 " %s, found one of %" PRId64 " from %" PRId64
                     " on",
                     layout->n, name, length, begin + 1);
}

enum esp_status block_map_check(const struct block_cyclic_matrix *matrix,
                                const struct block_map_window *window, struct esp_error *error)
{
    enum esp_status status = block_cyclic_matrix_check(matrix, "matrix", error);
    if (status == ESP_OK)
        status = check_span(&matrix->rows, window->row, window->rows, "rows", error);
    if (status == ESP_OK)
        status = check_span(&matrix->cols, window->col, window->cols, "columns", error);
    return status;
}

static int64_t rank_of(const struct block_cyclic_matrix *matrix, int64_t i, int64_t j)
{
    return block_cyclic_matrix_owner(matrix, i, j);
}

static size_t digits(int64_t number)
{
    char written[24];
    return (size_t)snprintf(written, sizeof written, "%" PRId64, number);
}

/* ---- text ---- */

static bool is_all(const struct span *span)
{
    return span->begin == 0 && span->end == span->layout->n;
}

static void put_window(const struct span *rows, const struct span *cols, struct text *text)
{
    text_printf(text, "rows %" PRId64 " to %" PRId64 ", columns %" PRId64 " to %" PRId64 "\n",
                rows->begin + 1, rows->end, cols->begin + 1, cols->end);
}

static void put_heading(const struct block_cyclic_matrix *matrix, struct text *text)
{
    text_printf(text,
                "%" PRId64 " x %" PRId64 " in blocks of %" PRId64 " x %" PRId64 " over %" PRId64 " x %" PRId64
                " ranks\n",
                matrix->rows.n, matrix->cols.n, matrix->rows.block, matrix->cols.block, matrix->rows.ranks,
                matrix->cols.ranks);
}

static void put_number(struct text *text, int64_t number, size_t width)
{
    text_printf(text, "%*" PRId64, (int)width, number);
}

/* Writes how many elements each rank has, and how much more than a fair share the fullest has. */
static void put_holdings(const struct block_cyclic_matrix *matrix, size_t most, struct text *text)
{
    int64_t ranks = block_cyclic_matrix_ranks(matrix);
    double all = (double)matrix->rows.n * (double)matrix->cols.n, fullest = 0;
    for (int64_t rank = 0; rank < ranks; rank++) {
        int64_t row, col, rows, cols;
        block_cyclic_matrix_place(matrix, rank, &row, &col);
        block_cyclic_matrix_shape(matrix, rank, &rows, &cols);
        double share = all > 0 ? (double)rows * (double)cols / all : 0;
        fullest = fmax(fullest, share);
        if ((size_t)rank < most)
            text_printf(text,
                        "rank %" PRId64 " (%" PRId64 ", %" PRId64 "): %" PRId64 " x %" PRId64 ", %.1f %%\n",
                        rank, row, col, rows, cols, 100 * share);
    }
    if ((size_t)ranks > most)
        text_printf(text, "... and %" PRId64 " ranks more\n", ranks - (int64_t)most);
    if (all > 0)
        text_printf(text, "the fullest rank has %.2f times its share\n", fullest * (double)ranks);
}

static void put_left_out(int64_t blocks, int64_t shown, const char *name, struct text *text)
{
    if (blocks > shown)
        text_printf(text, "... and %" PRId64 " %s of blocks more\n", blocks - shown, name);
}

void block_map_text(const struct block_cyclic_matrix *matrix, const struct block_map_window *window,
                    size_t width, size_t height, struct text *text)
{
    struct span rows = span_of(&matrix->rows, window->row, window->rows),
                cols = span_of(&matrix->cols, window->col, window->cols);
    size_t label = digits(rows.end), rank = digits(block_cyclic_matrix_ranks(matrix) - 1),
           cell = 1 + (digits(cols.end) > rank ? digits(cols.end) : rank);
    int64_t fit = width > label + cell ? (int64_t)((width - label) / cell) : 1;
    int64_t shown_cols = blocks_of(&cols) < fit ? blocks_of(&cols) : fit,
            shown_rows = blocks_of(&rows) < (int64_t)height ? blocks_of(&rows) : (int64_t)height;
    const bool all = is_all(&rows) && is_all(&cols);
    put_heading(matrix, text);
    if (!all)
        put_window(&rows, &cols, text);
    text_pad(text, label);
    for (int64_t n = 0, j = cols.begin; n < shown_cols; n++, j = next_block(&cols, j))
        put_number(text, j + 1, cell);
    text_put(text, "\n");
    for (int64_t n = 0, i = rows.begin; n < shown_rows; n++, i = next_block(&rows, i)) {
        put_number(text, i + 1, label);
        for (int64_t m = 0, j = cols.begin; m < shown_cols; m++, j = next_block(&cols, j))
            put_number(text, rank_of(matrix, i, j), cell);
        text_put(text, "\n");
    }
    put_left_out(blocks_of(&rows), shown_rows, "rows", text);
    put_left_out(blocks_of(&cols), shown_cols, "columns", text);
    if (all)
        put_holdings(matrix, height, text);
}

/* ---- SVG ---- */

/* From elements to pixels. */
struct frame {
    double left, top, scale;
    const struct span *rows, *cols;
};

static struct svg_box place(const struct frame *frame, int64_t i, int64_t j, int64_t rows, int64_t cols)
{
    return (struct svg_box){frame->left + (double)(j - frame->cols->begin) * frame->scale,
                            frame->top + (double)(i - frame->rows->begin) * frame->scale,
                            (double)cols * frame->scale, (double)rows * frame->scale};
}

static void draw_block(const struct frame *frame, const struct block_cyclic_matrix *matrix, int64_t i,
                       int64_t j, struct text *text)
{
    int64_t below = next_block(frame->rows, i), right = next_block(frame->cols, j), row, col;
    int64_t rank = rank_of(matrix, i, j);
    char colour[SVG_COLOUR], tooltip[160], number[24];
    block_cyclic_matrix_place(matrix, rank, &row, &col);
    svg_hue(rank, colour);
    snprintf(tooltip, sizeof tooltip,
             "rank %" PRId64 " (%" PRId64 ", %" PRId64 "): rows %" PRId64 " to %" PRId64 ", columns %" PRId64
             " to %" PRId64,
             rank, row, col, i + 1, below, j + 1, right);
    struct svg_box box = place(frame, i, j, below - i, right - j);
    svg_box(text, box, colour, "#888", tooltip);
    snprintf(number, sizeof number, "%" PRId64, rank);
    double size = fmin(box.height * 0.6, fmin(16, 1.4 * box.width / (double)digits(rank)));
    if (size >= 5)
        svg_label(text, box.x + box.width / 2, box.y + box.height / 2, size, "middle", number);
}

static void draw_blocks(const struct frame *frame, const struct block_cyclic_matrix *matrix,
                        struct text *text)
{
    for (int64_t i = frame->rows->begin; i < frame->rows->end; i = next_block(frame->rows, i))
        for (int64_t j = frame->cols->begin; j < frame->cols->end; j = next_block(frame->cols, j))
            draw_block(frame, matrix, i, j, text);
}

/* Draws one block of each rank as a tile that fills the window, aligned with the matrix. */
static void draw_period(const struct frame *frame, const struct block_cyclic_matrix *matrix,
                        struct text *text)
{
    const struct block_cyclic *rows = &matrix->rows, *cols = &matrix->cols;
    struct svg_box all = place(frame, frame->rows->begin, frame->cols->begin,
                               frame->rows->end - frame->rows->begin, frame->cols->end - frame->cols->begin);
    double height = (double)rows->block * frame->scale, width = (double)cols->block * frame->scale;
    text_printf(
        text,
        "<defs><pattern id=\"period\" patternUnits=\"userSpaceOnUse\" x=\"%.9g\" y=\"%.9g\" width=\"%.9g\" "
        "height=\"%.9g\">\n",
        all.x - (double)frame->cols->begin * frame->scale, all.y - (double)frame->rows->begin * frame->scale,
        width * (double)cols->ranks, height * (double)rows->ranks);
    for (int64_t i = 0; i < rows->ranks; i++)
        for (int64_t j = 0; j < cols->ranks; j++) {
            char colour[SVG_COLOUR];
            svg_hue(block_cyclic_matrix_rank(matrix, block_cyclic_rank_at(rows, i),
                                             block_cyclic_rank_at(cols, j)),
                    colour);
            svg_box(text, (struct svg_box){(double)j * width, (double)i * height, width, height}, colour,
                    NULL, NULL);
        }
    text_put(text, "</pattern></defs>\n");
    svg_box(text, all, "url(#period)", "#888", NULL);
}

/* Labels the edges of the picture with first and last rows and columns. */
static void draw_edges(const struct frame *frame, struct text *text)
{
    struct svg_box all = place(frame, frame->rows->begin, frame->cols->begin,
                               frame->rows->end - frame->rows->begin, frame->cols->end - frame->cols->begin);
    char number[24];
    const int64_t ends[4] = {frame->rows->begin + 1, frame->rows->end, frame->cols->begin + 1,
                             frame->cols->end};
    const double at[4][2] = {{all.x - 4, all.y + 6},
                             {all.x - 4, all.y + all.height - 6},
                             {all.x, all.y - 8},
                             {all.x + all.width, all.y - 8}};
    static const char *const anchors[4] = {"end", "end", "start", "end"};
    for (int i = 0; i < 4; i++) {
        snprintf(number, sizeof number, "%" PRId64, ends[i]);
        svg_label(text, at[i][0], at[i][1], 11, anchors[i], number);
    }
}

#define NOTE_LINE 15. /* pixels */

static double lines_of(const char *note)
{
    double lines = 0;
    for (; note && *note; note += strcspn(note, "\n"), note += *note == '\n')
        lines++;
    return lines;
}

/* Writes the note below the heading. */
static void draw_note(const char *note, double left, struct text *text)
{
    char line[200];
    for (double y = 16 + NOTE_LINE; note && *note; y += NOTE_LINE) {
        const size_t length = strcspn(note, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, note);
        svg_label(text, left, y, 11, "start", line);
        note += length + (note[length] == '\n');
    }
}

static bool fits_boxes(const struct span *rows, const struct span *cols)
{
    int64_t n_rows = blocks_of(rows);
    return n_rows == 0 || blocks_of(cols) <= MOST_BOXES / n_rows;
}

/* Returns the elements of at most 50 blocks from the span's first element on. */
static int64_t corner(const struct span *span)
{
    int64_t blocks = blocks_of(span) < 50 ? blocks_of(span) : 50, end = span->begin;
    for (int64_t i = 0; i < blocks; i++)
        end = next_block(span, end);
    return end - span->begin;
}

void block_map_svg(const struct block_cyclic_matrix *matrix, const struct block_map_window *window,
                   double width, const char *title, const char *note, struct text *text)
{
    struct span rows = span_of(&matrix->rows, window->row, window->rows),
                cols = span_of(&matrix->cols, window->col, window->cols);
    bool few = fits_boxes(&rows, &cols);
    if (!few && block_cyclic_matrix_ranks(matrix) > MOST_PERIOD_BOXES) {
        /* If a period has too many ranks for a tile, draws only its corner. */
        rows = span_of(&matrix->rows, rows.begin, corner(&rows));
        cols = span_of(&matrix->cols, cols.begin, corner(&cols));
        few = true;
    }
    double left = 14 + 7 * (double)digits(rows.end), top = 46 + NOTE_LINE * lines_of(note),
           high = (double)(rows.end - rows.begin), wide = (double)(cols.end - cols.begin);
    struct frame frame = {left, top, 1, &rows, &cols};
    char heading[200];
    frame.scale = wide > 0 && high > 0 ? fmin((width - left - 10) / wide, 4 * width / high) : 1;
    svg_open(text, width, top + high * frame.scale + 10, title);
    snprintf(heading, sizeof heading,
             "%" PRId64 " x %" PRId64 ", blocks of %" PRId64 " x %" PRId64 ", %" PRId64 " x %" PRId64
             " ranks",
             matrix->rows.n, matrix->cols.n, matrix->rows.block, matrix->cols.block, matrix->rows.ranks,
             matrix->cols.ranks);
    svg_label(text, left, 14, 13, "start", heading);
    draw_note(note, left, text);
    if (few)
        draw_blocks(&frame, matrix, text);
    else
        draw_period(&frame, matrix, text);
    if (high > 0 && wide > 0)
        draw_edges(&frame, text);
    svg_close(text);
}

/* ---- redistributions ---- */

static void put_bytes(struct text *text, double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    int unit = 0;
    for (; bytes >= 1000 && unit < 4; unit++)
        bytes /= 1000;
    text_printf(text, "%.3g %s", bytes, units[unit]);
}

void block_map_move_text(const struct redistribution_summary *summary, double element_bytes,
                         struct text *text)
{
    if (summary->messages == 0) {
        text_put(text, "nothing has to be sent: every process has its part already\n");
        return;
    }
    text_printf(text, "%zu messages, ", summary->messages);
    put_bytes(text, (double)summary->sent * element_bytes);
    text_put(text, " sent, ");
    put_bytes(text, (double)summary->kept * element_bytes);
    text_printf(text, " stay\n%" PRId32 " step%s, %s (no schedule has fewer than %" PRId32 ")\n",
                summary->steps, summary->steps == 1 ? "" : "s",
                redistribution_schedule_name(summary->schedule), summary->least_steps);
    text_put(text, "their longest messages: ");
    put_bytes(text, (double)summary->cost * element_bytes);
    text_put(text, " (none less than ");
    put_bytes(text, (double)summary->least_cost * element_bytes);
    text_printf(text, ")\nforecast %.3g s, at most %.1f %% above the least possible\n", summary->seconds,
                summary->least_seconds > 0 ? 100 * (summary->seconds / summary->least_seconds - 1) : 0.);
}

void block_map_copy_text(const char *server, int64_t ranks, double bytes, double seconds, struct text *text)
{
    text_printf(text, "where it is, on %s, no message is sent: ", server);
    if (ranks > 1)
        text_printf(text, "%" PRId64 " ranks copy ", ranks);
    put_bytes(text, bytes);
    text_printf(text, "%s from where it lies, forecast %.3g s\n", ranks > 1 ? "" : " are copied", seconds);
}
