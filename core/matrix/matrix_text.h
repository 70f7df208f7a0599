/* SPDX-License-Identifier: Apache-2.0
 *
 * Internal to the readers of matrix files: lines and words of a text with their position, numbers
 * independent of the locale, and building a matrix from entries. */
#ifndef CORE_MATRIX_TEXT_H
#define CORE_MATRIX_TEXT_H

#include "core/matrix/matrix.h"

#define MATRIX_MARKET_BANNER "%%MatrixMarket"

#define MATRIX_MAX_NUMBER 511 /* characters of one number */

/* A piece of the text; not terminated. */
struct span {
    const char *text;
    size_t length;
};

struct lines {
    const char *name; /* of the file */
    const char *begin, *at, *end;
    uint64_t number; /* number of the line read last, from 1 */
    uint64_t max_bytes;
    bool sum_duplicates;
};

/* Reads the next line without its end (LF or CR LF). False at the end of the text. */
bool lines_next(struct lines *lines, struct span *line);
/* Reads the next line that is not blank and does not begin with `comment` (0: no comments). */
bool lines_next_content(struct lines *lines, char comment, struct span *line);

/* Notes in `file` that the text does not end with a line end: a number at the end of the text may have
 * been cut. */
void lines_note_end(const struct lines *lines, struct matrix_file *file);

/* ESP_SYNTAX with "file:line: " in front. */
enum esp_status lines_error(const struct lines *lines, struct esp_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* ESP_SYNTAX "expected ..., found ..." where found is shown safely; an empty span is "the end of the line".
 */
enum esp_status lines_expected(const struct lines *lines, struct esp_error *error, struct span found,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Removes the next word from the line; an empty span when there is none. */
struct span span_word(struct span *line);
struct span span_trim(struct span span);
/* Returns columns `from` (from 0) to `from + width`, cut at the end of the line. */
struct span span_columns(struct span line, size_t from, size_t width);
/* Makes a terminated copy without trailing blanks and control characters, cut at `size`. */
void span_copy(char *to, size_t size, struct span span);
bool span_equal_case(struct span span, const char *word);
/* Quotes the span for messages, without control characters. Returns `text`. */
const char *span_show(struct span span, char *text, size_t size);

/* Parses a decimal integer with an optional sign. False when the span is anything else or does not fit. */
bool span_integer(struct span span, int64_t *value);

/* Whether a double can represent the integer exactly. */
static inline bool integer_is_exact(int64_t integer)
{
    return integer <= INT64_C(1) << 62 && integer >= -(INT64_C(1) << 62) &&
           (int64_t)(double)integer == integer;
}

enum number_verdict { NUMBER_GOOD, NUMBER_MALFORMED, NUMBER_TOO_LARGE };

/* Parses a decimal number as C and Fortran write it: 1.5, .5e-3, 1.5D+03, nan, inf. The value is
 * multiplied by 10^shift before it is rounded, once. */
enum number_verdict span_real(struct span span, int shift, double *value);

/* Collects the entries of a file one after the other, with checks of bounds and repetitions, and mirrored
 * triangles. A sparse file becomes a sparse matrix, any other a dense one. */
struct entry_sink {
    const struct lines *lines;
    struct matrix_file *file; /* is_sparse, field and symmetry are set */
    int64_t rows, cols;
    int64_t n, capacity;        /* sparse: entries so far, and as announced */
    struct entry_place *places; /* sparse */
    double *values;             /* sparse, in the file's order */
};

/* `entries`: as the header announces them. Errors as for matrix_init(), with the position in front. */
enum esp_status entry_sink_init(struct entry_sink *sink, const struct lines *lines, struct matrix_file *file,
                                int64_t rows, int64_t cols, int64_t entries, struct esp_error *error);
/* Indices as in the file, from 1; at most as many as announced. */
enum esp_status entry_sink_put(struct entry_sink *sink, int64_t row, int64_t col, const double value[2],
                               struct esp_error *error);
/* Builds file->matrix from the entries. */
enum esp_status entry_sink_finish(struct entry_sink *sink, struct esp_error *error);
void entry_sink_clear(struct entry_sink *sink);

/* Refuses a count of values that the rest of the text cannot contain, each with at least `min_chars`
 * characters, before memory is allocated for them. */
enum esp_status lines_plausible(const struct lines *lines, uint64_t count, unsigned min_chars,
                                const char *what, struct esp_error *error);

#endif
