/* SPDX-License-Identifier: Apache-2.0
 *
 * The Matrix Market exchange format: Boisvert, Pozo, Remington, NIST report IR 5935 (1996);
 * and the field unsigned-integer, which SciPy writes.
 */
#include "config.h"

#include "core/matrix/matrix_format.h"
#include "util/real_text.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

static const char banner[] = MATRIX_MARKET_BANNER;

bool matrix_market_probe(const char *text, size_t length)
{
    return length >= strlen(banner) && strncasecmp(text, banner, strlen(banner)) == 0;
}

/* One of `choices`, by its index. */
static enum esp_status take_choice(const struct lines *lines, struct span *line, const char *what,
                                   const char *const *choices, unsigned *choice, struct esp_error *error)
{
    struct span word = span_word(line);
    char list[128] = "";
    for (*choice = 0; choices[*choice]; ++*choice) {
        if (span_equal_case(word, choices[*choice]))
            return ESP_OK;
        if (*choice)
            strcat(list, choices[*choice + 1] ? ", " : " or ");
        strcat(list, choices[*choice]);
    }
    return lines_expected(lines, error, word, "the %s: %s", what, list);
}

static enum esp_status end_of_line(const struct lines *lines, struct span line, struct esp_error *error)
{
    struct span word = span_word(&line);
    return word.length ? lines_expected(lines, error, word, "the end of the line") : ESP_OK;
}

static enum esp_status parse_banner(struct lines *lines, struct matrix_file *file, struct esp_error *error)
{
    static const char *const objects[] = {"matrix", NULL};
    static const char *const forms[] = {"array", "coordinate", NULL};
    static const char *const fields[] = {"real", "integer", "complex", "pattern", "unsigned-integer", NULL};
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric", "hermitian", NULL};
    struct span line;
    unsigned object, form, field, symmetry;
    lines_next(lines, &line);
    line.text += strlen(banner);
    line.length -= strlen(banner);
    enum esp_status status;
    if ((status = take_choice(lines, &line, "object", objects, &object, error)) != ESP_OK ||
        (status = take_choice(lines, &line, "format", forms, &form, error)) != ESP_OK ||
        (status = take_choice(lines, &line, "field", fields, &field, error)) != ESP_OK ||
        (status = take_choice(lines, &line, "symmetry", symmetries, &symmetry, error)) != ESP_OK ||
        (status = end_of_line(lines, line, error)) != ESP_OK)
        return status;
    file->is_sparse = form == 1;
    file->is_unsigned = field > FIELD_PATTERN;
    file->field = field > FIELD_PATTERN ? FIELD_INTEGER : (enum matrix_field)field;
    file->symmetry = (enum matrix_symmetry)symmetry;
    if (file->field == FIELD_PATTERN && !file->is_sparse)
        return lines_error(lines, error, "a pattern needs coordinates, found an array");
    if (file->field == FIELD_PATTERN && file->symmetry == SYMMETRY_SKEW)
        return lines_error(lines, error, "a pattern has no sign: it cannot be skew-symmetric");
    if (file->symmetry == SYMMETRY_HERMITIAN && file->field != FIELD_COMPLEX)
        return lines_error(lines, error, "a Hermitian matrix is complex, found %s",
                           matrix_field_name(file->field));
    return ESP_OK;
}

static enum esp_status take_count(const struct lines *lines, struct span *line, const char *what,
                                  int64_t *count, struct esp_error *error)
{
    struct span word = span_word(line);
    if (!span_integer(word, count) || *count < 0)
        return lines_expected(lines, error, word, "the number of %s", what);
    return ESP_OK;
}

/* The line with the extents. */
static enum esp_status parse_extents(struct lines *lines, struct matrix_file *file, struct esp_error *error)
{
    struct span line = {lines->end, 0};
    struct matrix *matrix = &file->matrix;
    enum esp_status status;
    if (!lines_next_content(lines, '%', &line))
        return lines_error(lines, error,
                           "expected the line with the numbers of rows and columns, found the "
                           "end of the file");
    if ((status = take_count(lines, &line, "rows", &matrix->rows, error)) != ESP_OK ||
        (status = take_count(lines, &line, "columns", &matrix->cols, error)) != ESP_OK ||
        (file->is_sparse &&
         (status = take_count(lines, &line, "entries", &file->entries, error)) != ESP_OK) ||
        (status = end_of_line(lines, line, error)) != ESP_OK)
        return status;
    if (file->symmetry != SYMMETRY_GENERAL && matrix->rows != matrix->cols)
        return lines_error(lines, error, "a %s matrix is square, found %lld rows and %lld columns",
                           matrix_symmetry_name(file->symmetry), (long long)matrix->rows,
                           (long long)matrix->cols);
    return ESP_OK;
}

enum esp_status matrix_market_announce(struct lines *lines, struct matrix_file *file, struct esp_error *error)
{
    enum esp_status status = parse_banner(lines, file, error);
    if (status == ESP_OK)
        status = parse_extents(lines, file, error);
    file->matrix.is_complex = file->field == FIELD_COMPLEX;
    return status;
}

static enum esp_status parse_size(struct lines *lines, struct matrix_file *file, struct entry_sink *sink,
                                  struct esp_error *error)
{
    enum esp_status status = parse_extents(lines, file, error);
    if (status != ESP_OK)
        return status;
    int64_t rows = file->matrix.rows, cols = file->matrix.cols, entries = file->entries;
    file->matrix = (struct matrix){0};
    if (!file->is_sparse) {
        if (__builtin_mul_overflow(rows, cols, &entries))
            return lines_error(lines, error, "%lld x %lld elements are too many", (long long)rows,
                               (long long)cols);
        /* rows * cols did not overflow, so the size of a triangle does not either */
        if (file->symmetry == SYMMETRY_SKEW)
            entries = (entries - rows) / 2;
        else if (file->symmetry != SYMMETRY_GENERAL)
            entries = (entries - rows) / 2 + rows;
    }
    /* "1\n", "1 1\n", "1 1 1\n", and one more number when complex */
    unsigned min_chars = file->field == FIELD_COMPLEX ? 4 : file->field == FIELD_PATTERN ? 0 : 2;
    if (file->is_sparse)
        min_chars += 4;
    if ((status = lines_plausible(lines, (uint64_t)entries, min_chars, "entries", error)) != ESP_OK)
        return status;
    file->entries = entries;
    return entry_sink_init(sink, lines, file, rows, cols, entries, error);
}

/* An integer; ESP_SYNTAX for anything else. */
static enum esp_status read_integer(const struct lines *lines, struct span word, bool is_unsigned,
                                    int64_t *integer, struct esp_error *error)
{
    if (span_integer(word, integer) && !(is_unsigned && *integer < 0))
        return ESP_OK;
    return lines_expected(lines, error, word,
                          is_unsigned ? "an integer value that is not negative" : "an integer value");
}

static enum esp_status take_integer(const struct lines *lines, struct span *line, struct matrix_file *file,
                                    size_t index, struct esp_error *error)
{
    int64_t integer = 0;
    enum esp_status status = read_integer(lines, span_word(line), file->is_unsigned, &integer, error);
    if (status == ESP_OK)
        status = matrix_set_integer(&file->matrix, index, integer, error);
    return status == ESP_OK ? end_of_line(lines, *line, error) : status;
}

static enum esp_status take_number(const struct lines *lines, struct span *line,
                                   const struct matrix_file *file, double *value, struct esp_error *error)
{
    struct span word = span_word(line);
    char shown[64];
    if (file->field == FIELD_INTEGER) {
        int64_t integer;
        enum esp_status status = read_integer(lines, word, file->is_unsigned, &integer, error);
        if (status != ESP_OK)
            return status;
        *value = (double)integer;
        if (!integer_is_exact(integer))
            return lines_error(lines, error, "integer %s does not fit a double exactly",
                               span_show(word, shown, sizeof shown));
        return ESP_OK;
    }
    switch (span_real(word, 0, value)) {
    case NUMBER_GOOD:
        return ESP_OK;
    case NUMBER_TOO_LARGE:
        return lines_error(lines, error, "%s is beyond the range of a double",
                           span_show(word, shown, sizeof shown));
    default:
        return lines_expected(lines, error, word,
                              file->field == FIELD_COMPLEX ? "two real numbers" : "a real number");
    }
}

static enum esp_status take_value(const struct lines *lines, struct span *line,
                                  const struct matrix_file *file, double value[2], struct esp_error *error)
{
    value[0] = 1;
    value[1] = 0;
    enum esp_status status = ESP_OK;
    if (file->field != FIELD_PATTERN)
        status = take_number(lines, line, file, &value[0], error);
    if (status == ESP_OK && file->field == FIELD_COMPLEX)
        status = take_number(lines, line, file, &value[1], error);
    return status == ESP_OK ? end_of_line(lines, *line, error) : status;
}

static enum esp_status take_index(const struct lines *lines, struct span *line, const char *what,
                                  int64_t *index, struct esp_error *error)
{
    struct span word = span_word(line);
    return span_integer(word, index) ? ESP_OK : lines_expected(lines, error, word, "a %s index", what);
}

/* Moves to the next element of an array: column after column, only the lower triangle of a symmetric one,
 * without the diagonal of a skew-symmetric one. */
static void next_place(const struct matrix_file *file, int64_t *row, int64_t *col)
{
    if (++*row <= file->matrix.rows)
        return;
    ++*col;
    *row = file->symmetry == SYMMETRY_GENERAL ? 1 : file->symmetry == SYMMETRY_SKEW ? *col + 1 : *col;
}

static enum esp_status parse_entry(const struct lines *lines, const struct matrix_file *file,
                                   struct entry_sink *sink, struct span line, int64_t *row, int64_t *col,
                                   struct esp_error *error)
{
    double value[2];
    enum esp_status status = ESP_OK;
    if (file->is_sparse) {
        status = take_index(lines, &line, "row", row, error);
        if (status == ESP_OK)
            status = take_index(lines, &line, "column", col, error);
    } else {
        next_place(file, row, col);
    }
    if (!file->is_sparse && file->field == FIELD_INTEGER && file->symmetry == SYMMETRY_GENERAL)
        return take_integer(lines, &line, sink->file,
                            (size_t)((*col - 1) * sink->file->matrix.rows + *row - 1), error);
    if (status == ESP_OK)
        status = take_value(lines, &line, file, value, error);
    return status == ESP_OK ? entry_sink_put(sink, *row, *col, value, error) : status;
}

static enum esp_status parse_entries(struct lines *lines, struct matrix_file *file, struct entry_sink *sink,
                                     struct esp_error *error)
{
    int64_t row = file->symmetry == SYMMETRY_SKEW ? 1 : 0, col = 1;
    struct span line;
    for (int64_t k = 0; k < file->entries; k++) {
        if (!lines_next_content(lines, '%', &line))
            return lines_error(lines, error, "expected %lld entries, found %lld and the end of the file",
                               (long long)file->entries, (long long)k);
        enum esp_status status = parse_entry(lines, file, sink, line, &row, &col, error);
        if (status != ESP_OK)
            return status;
    }
    if (lines_next_content(lines, '%', &line))
        return lines_expected(lines, error, line, "the end of the file after %lld entries",
                              (long long)file->entries);
    lines_note_end(lines, file);
    return ESP_OK;
}

enum esp_status matrix_market_parse(struct lines *lines, struct matrix_file *file, struct esp_error *error)
{
    struct entry_sink sink = {0};
    enum esp_status status = parse_banner(lines, file, error);
    if (status == ESP_OK)
        status = parse_size(lines, file, &sink, error);
    if (status == ESP_OK)
        status = parse_entries(lines, file, &sink, error);
    if (status == ESP_OK)
        status = entry_sink_finish(&sink, error);
    entry_sink_clear(&sink);
    return status;
}

static void write_value(FILE *stream, const struct matrix_file *file, int64_t entry)
{
    const double *values = file->matrix.values;
    char re[REAL_TEXT], im[REAL_TEXT];
    if (file->field == FIELD_INTEGER) {
        fprintf(stream, "%" PRId64 "\n", matrix_integer(&file->matrix, (size_t)entry));
        return;
    }
    const bool is_complex = file->field == FIELD_COMPLEX;
    real_text(values[is_complex ? 2 * entry : entry], re);
    fputs(re, stream);
    if (is_complex) {
        real_text(values[2 * entry + 1], im);
        fputc(' ', stream);
        fputs(im, stream);
    }
    fputc('\n', stream);
}

static void write_coordinates(FILE *stream, const struct matrix_file *file)
{
    const struct matrix *matrix = &file->matrix;
    for (int64_t j = 0; j < matrix->cols; j++)
        for (int64_t k = column_begin(matrix, j); k < column_begin(matrix, j + 1); k++) {
            int64_t i = entry_row(matrix, j, k);
            if (!entry_is_listed(file, i, j, k))
                continue;
            fprintf(stream, "%" PRId64 " %" PRId64 "%s", i + 1, j + 1,
                    file->field == FIELD_PATTERN ? "\n" : " ");
            if (file->field != FIELD_PATTERN)
                write_value(stream, file, k);
        }
}

static void write_array(FILE *stream, const struct matrix_file *file)
{
    int64_t rows = file->matrix.rows;
    for (int64_t j = 0; j < file->matrix.cols; j++) {
        int64_t first = file->symmetry == SYMMETRY_GENERAL ? 0 : file->symmetry == SYMMETRY_SKEW ? j + 1 : j;
        for (int64_t i = first; i < rows; i++)
            write_value(stream, file, j * rows + i);
    }
}

enum esp_status matrix_market_write(FILE *stream, const struct matrix_file *file, struct esp_error *error)
{
    (void)error;
    /* A pattern in array form is written as ones. */
    struct matrix_file shown = *file;
    if (!file->is_sparse && file->field == FIELD_PATTERN)
        shown.field = FIELD_INTEGER;
    fprintf(stream, "%s matrix %s %s %s\n%" PRId64 " %" PRId64, banner,
            file->is_sparse ? "coordinate" : "array", matrix_field_name(shown.field),
            matrix_symmetry_name(file->symmetry), file->matrix.rows, file->matrix.cols);
    if (file->is_sparse)
        fprintf(stream, " %" PRId64, entries_listed(file));
    fputc('\n', stream);
    if (file->is_sparse)
        write_coordinates(stream, &shown);
    else
        write_array(stream, &shown);
    return ESP_OK;
}
