/* SPDX-License-Identifier: Apache-2.0
 *
 * The text format of Octave's save and load: a variable of each kind of number, as a scalar, a matrix, a
 * diagonal matrix, a sparse matrix or an array. Lines that begin with '#' are keywords: "# rows: 3". A dense
 * matrix has a line for each row, an array (with "ndims") a line for each element, a sparse matrix a line for
 * each entry.
 */
#include "config.h"

#include "core/matrix/matrix_format.h"
#include "util/real_text.h"

#include <inttypes.h>
#include <string.h>

/* The field and the shape that the type of a variable names. */
struct octave {
    enum matrix_field field;
    enum { SHAPE_SCALAR, SHAPE_MATRIX, SHAPE_DIAGONAL, SHAPE_SPARSE } shape;
};

/* Cuts "keyword: value" out of a comment. False for another line. */
static bool take_keyword(struct span line, const char *keyword, struct span *value)
{
    size_t length = strlen(keyword);
    line = span_trim(line);
    if (!line.length || (line.text[0] != '#' && line.text[0] != '%'))
        return false;
    line = span_trim((struct span){line.text + 1, line.length - 1});
    if (line.length <= length || strncmp(line.text, keyword, length) != 0 || line.text[length] != ':')
        return false;
    *value = span_trim((struct span){line.text + length + 1, line.length - length - 1});
    return true;
}

/* Finds the keyword among the next comments; `lines` is after it then. */
static bool find_keyword(struct lines *lines, const char *keyword, struct span *value)
{
    struct lines ahead = *lines;
    struct span line;
    while (lines_next_content(&ahead, 0, &line)) {
        line = span_trim(line);
        if (line.text[0] != '#' && line.text[0] != '%')
            return false;
        if (!take_keyword(line, keyword, value))
            continue;
        *lines = ahead;
        return true;
    }
    return false;
}

bool matrix_octave_probe(const char *text, size_t length)
{
    static const char *const keywords[] = {"type", "nnz", "rows", "columns", "ndims"};
    struct span value;
    if (length == 0 || (text[0] != '#' && text[0] != '%'))
        return false;
    for (unsigned i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        struct lines lines = {.name = "", .begin = text, .at = text, .end = text + length};
        if (find_keyword(&lines, keywords[i], &value))
            return true;
    }
    return false;
}

static enum esp_status parse_type(const struct lines *lines, struct span type, struct octave *octave,
                                  struct esp_error *error)
{
    struct span rest = type;
    bool known = true, has_shape = false;
    *octave = (struct octave){FIELD_REAL, SHAPE_SCALAR};
    for (struct span word; known && (word = span_word(&rest)).length;) {
        bool is_integer =
            word.length > 3 && (memcmp(word.text, "int", 3) == 0 || memcmp(word.text, "uint", 4) == 0);
        known = !has_shape;
        if (span_equal_case(word, "complex"))
            octave->field = FIELD_COMPLEX;
        else if (span_equal_case(word, "bool") || is_integer)
            octave->field = FIELD_INTEGER;
        else if (span_equal_case(word, "sparse"))
            octave->shape = SHAPE_SPARSE;
        else if (span_equal_case(word, "diagonal"))
            octave->shape = SHAPE_DIAGONAL;
        else if (span_equal_case(word, "matrix") || span_equal_case(word, "scalar"))
            has_shape = true;
        else
            known = span_equal_case(word, "float");
        if (span_equal_case(word, "matrix") && octave->shape == SHAPE_SCALAR)
            octave->shape = SHAPE_MATRIX;
    }
    if (known && (has_shape || span_equal_case(type, "bool")))
        return ESP_OK;
    return lines_expected(lines, error, type, "the type of a matrix or a scalar (Octave's full() makes one)");
}

static enum esp_status take_keyword_line(struct lines *lines, const char *keyword, struct span *value,
                                         struct esp_error *error)
{
    struct lines ahead = *lines;
    struct span next = {lines->end, 0};
    if (find_keyword(lines, keyword, value))
        return ESP_OK;
    lines_next_content(&ahead, 0, &next);
    return lines_expected(&ahead, error, next, "a line '# %s: ...'", keyword);
}

static enum esp_status take_count(struct lines *lines, const char *keyword, int64_t *count,
                                  struct esp_error *error)
{
    struct span value;
    enum esp_status status = take_keyword_line(lines, keyword, &value, error);
    if (status == ESP_OK && (!span_integer(value, count) || *count < 0))
        return lines_expected(lines, error, value, "a number of %s", keyword);
    return status;
}

/* The next element of a line: 1.5, or (1.5,2) when complex. */
static enum esp_status take_element(const struct lines *lines, struct span *line, enum matrix_field field,
                                    struct matrix *matrix, int64_t at, double value[2],
                                    struct esp_error *error)
{
    char shown[64];
    struct span word = span_word(line), parts[2] = {word, {word.text, 0}};
    int64_t integer;
    value[1] = 0;
    if (field == FIELD_INTEGER && span_integer(word, &integer)) {
        value[0] = (double)integer;
        if (matrix)
            return matrix_set_integer(matrix, (size_t)at, integer, error);
        return integer_is_exact(integer)
                   ? ESP_OK
                   : lines_error(lines, error, "integer %s does not fit a double exactly",
                                 span_show(word, shown, sizeof shown));
    }
    const char *comma =
        field == FIELD_COMPLEX && word.length > 3 ? memchr(word.text, ',', word.length) : NULL;
    if (comma && word.text[0] == '(' && word.text[word.length - 1] == ')') {
        parts[0] = (struct span){word.text + 1, (size_t)(comma - word.text - 1)};
        parts[1] = (struct span){comma + 1, word.length - (size_t)(comma - word.text) - 2};
    }
    for (unsigned part = 0; part < (field == FIELD_COMPLEX ? 2 : 1); part++)
        switch (field == FIELD_INTEGER ? NUMBER_MALFORMED : span_real(parts[part], 0, &value[part])) {
        case NUMBER_GOOD:
            break;
        case NUMBER_TOO_LARGE:
            return lines_error(lines, error, "%s is beyond the range of a double",
                               span_show(word, shown, sizeof shown));
        default:
            return lines_expected(lines, error, word, "%s",
                                  field == FIELD_COMPLEX   ? "a complex number (1.5,2)"
                                  : field == FIELD_INTEGER ? "an integer of 64 bits with a sign"
                                                           : "a number");
        }
    if (matrix && field == FIELD_COMPLEX)
        memcpy(matrix->values + 2 * at, value, 2 * sizeof *value);
    else if (matrix)
        matrix->values[at] = value[0];
    return ESP_OK;
}

static enum esp_status next_line(struct lines *lines, struct span *line, int64_t expected, int64_t found,
                                 const char *what, struct esp_error *error)
{
    if (lines_next_content(lines, 0, line))
        return ESP_OK;
    return lines_error(lines, error, "expected %lld %s, found %lld and the end of the file",
                       (long long)expected, what, (long long)found);
}

static enum esp_status end_of_line(const struct lines *lines, struct span line, struct esp_error *error)
{
    struct span word = span_word(&line);
    return word.length ? lines_expected(lines, error, word, "the end of the line") : ESP_OK;
}

/* `n` lines of `per_line` elements; element k of line i is stored at start + i * step + k * stride. */
struct walk {
    int64_t n, per_line, step, stride;
};

static enum esp_status read_dense(struct lines *lines, struct matrix_file *file, const struct walk *walk,
                                  struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    double value[2];
    struct span line;
    for (int64_t i = 0; i < walk->n && status == ESP_OK; i++) {
        status = next_line(lines, &line, walk->n, i, "lines of elements", error);
        for (int64_t k = 0; k < walk->per_line && status == ESP_OK; k++)
            status = take_element(lines, &line, file->field, &file->matrix, i * walk->step + k * walk->stride,
                                  value, error);
        if (status == ESP_OK)
            status = end_of_line(lines, line, error);
    }
    return status;
}

static enum esp_status init_dense(const struct lines *lines, struct matrix_file *file, int64_t rows,
                                  int64_t cols, int64_t stored, struct esp_error *error)
{
    enum esp_status status = lines_plausible(lines, (uint64_t)stored, 2, "elements", error);
    if (status != ESP_OK)
        return status;
    file->entries = stored;
    status = matrix_init(&file->matrix, rows, cols, file->field == FIELD_COMPLEX, lines->max_bytes, error);
    return status == ESP_OK ? ESP_OK : error_prefix(error, "%s", lines->name);
}

static enum esp_status read_array(struct lines *lines, struct matrix_file *file, struct esp_error *error)
{
    int64_t n_dims, elements = 1;
    struct span line;
    enum esp_status status = take_count(lines, "ndims", &n_dims, error);
    if (status == ESP_OK && (n_dims < 2 || n_dims > MATRIX_MAX_DIMS))
        return lines_error(lines, error, "expected 2 to %d dimensions, found %lld", MATRIX_MAX_DIMS,
                           (long long)n_dims);
    if (status == ESP_OK)
        status = next_line(lines, &line, 1, 0, "line of extents", error);
    for (int64_t d = 0; d < n_dims && status == ESP_OK; d++) {
        struct span word = span_word(&line);
        if (!span_integer(word, &file->dims[d]) || file->dims[d] < 0)
            return lines_expected(lines, error, word, "an extent");
        if (__builtin_mul_overflow(elements, file->dims[d], &elements))
            return lines_error(lines, error, "its dimensions are more elements than 63 bits count");
    }
    if (status == ESP_OK)
        status = end_of_line(lines, line, error);
    if (status == ESP_OK)
        status = init_dense(lines, file, file->dims[0], file->dims[0] ? elements / file->dims[0] : 0,
                            elements, error);
    file->n_dims = n_dims > 2 ? (unsigned)n_dims : 0;
    const struct walk walk = {elements, 1, 1, 0};
    return status == ESP_OK ? read_dense(lines, file, &walk, error) : status;
}

static enum esp_status read_matrix(struct lines *lines, struct matrix_file *file, bool is_diagonal,
                                   struct esp_error *error)
{
    int64_t rows, cols, stored;
    enum esp_status status = take_count(lines, "rows", &rows, error);
    if (status == ESP_OK)
        status = take_count(lines, "columns", &cols, error);
    if (status != ESP_OK)
        return status;
    if (__builtin_mul_overflow(rows, cols, &stored))
        return lines_error(lines, error, "%lld x %lld elements are too many", (long long)rows,
                           (long long)cols);
    int64_t on_diagonal = rows < cols ? rows : cols;
    status = init_dense(lines, file, rows, cols, is_diagonal ? on_diagonal : stored, error);
    const struct walk by_rows = {cols ? rows : 0, cols, 1, rows}, diagonal = {on_diagonal, 1, rows + 1, 0};
    return status == ESP_OK ? read_dense(lines, file, is_diagonal ? &diagonal : &by_rows, error) : status;
}

static enum esp_status read_entries(struct lines *lines, struct entry_sink *sink, int64_t n,
                                    struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (int64_t k = 0; k < n && status == ESP_OK; k++) {
        struct span line, word;
        int64_t place[2] = {0};
        double value[2];
        status = next_line(lines, &line, n, k, "entries", error);
        for (unsigned i = 0; i < 2 && status == ESP_OK; i++)
            if (!span_integer(word = span_word(&line), &place[i]))
                status = lines_expected(lines, error, word, "a %s index", i ? "column" : "row");
        if (status == ESP_OK)
            status = take_element(lines, &line, sink->file->field, NULL, 0, value, error);
        if (status == ESP_OK)
            status = end_of_line(lines, line, error);
        if (status == ESP_OK)
            status = entry_sink_put(sink, place[0], place[1], value, error);
    }
    return status == ESP_OK ? entry_sink_finish(sink, error) : status;
}

static enum esp_status read_sparse(struct lines *lines, struct matrix_file *file, struct esp_error *error)
{
    struct entry_sink sink = {0};
    int64_t n, rows, cols;
    enum esp_status status = take_count(lines, "nnz", &n, error);
    if (status == ESP_OK)
        status = take_count(lines, "rows", &rows, error);
    if (status == ESP_OK)
        status = take_count(lines, "columns", &cols, error);
    if (status == ESP_OK)
        status = lines_plausible(lines, (uint64_t)n, 6, "entries", error);
    if (status != ESP_OK)
        return status;
    file->is_sparse = true;
    file->entries = n;
    status = entry_sink_init(&sink, lines, file, rows, cols, n, error);
    if (status == ESP_OK)
        status = read_entries(lines, &sink, n, error);
    entry_sink_clear(&sink);
    return status;
}

static enum esp_status read_scalar(struct lines *lines, struct matrix_file *file, struct esp_error *error)
{
    const struct walk one = {1, 1, 0, 0};
    enum esp_status status = init_dense(lines, file, 1, 1, 1, error);
    return status == ESP_OK ? read_dense(lines, file, &one, error) : status;
}

enum esp_status matrix_octave_parse(struct lines *lines, struct matrix_file *file, struct esp_error *error)
{
    struct octave octave;
    struct span value, line;
    enum esp_status status = take_keyword_line(lines, "name", &value, error);
    if (status == ESP_OK)
        status = take_keyword_line(lines, "type", &value, error);
    if (status == ESP_OK)
        status = parse_type(lines, value, &octave, error);
    if (status != ESP_OK)
        return status;
    file->field = octave.field;
    struct lines ahead = *lines;
    if (octave.shape == SHAPE_SPARSE)
        status = read_sparse(lines, file, error);
    else if (octave.shape == SHAPE_SCALAR)
        status = read_scalar(lines, file, error);
    else if (octave.shape == SHAPE_MATRIX && find_keyword(&ahead, "ndims", &value))
        status = read_array(lines, file, error);
    else
        status = read_matrix(lines, file, octave.shape == SHAPE_DIAGONAL, error);
    if (status != ESP_OK)
        return status;
    if (lines_next_content(lines, 0, &line))
        return lines_expected(
            lines, error, line,
            "the end of the file behind the variable (Octave's save writes the variables that it "
            "names)");
    lines_note_end(lines, file);
    return ESP_OK;
}

static void write_element(FILE *stream, const struct matrix_file *file, int64_t at)
{
    const double *values = file->matrix.values;
    char re[REAL_TEXT], im[REAL_TEXT];
    if (file->matrix.is_complex) {
        real_text(values[2 * at], re);
        real_text(values[2 * at + 1], im);
        fprintf(stream, "(%s,%s)", re, im);
    } else if (file->field == FIELD_INTEGER && !file->is_sparse) {
        fprintf(stream, "%" PRId64, matrix_integer(&file->matrix, (size_t)at));
    } else {
        real_text(values[at], re);
        fputs(re, stream);
    }
}

static void write_entries(FILE *stream, const struct matrix_file *file)
{
    const struct matrix *matrix = &file->matrix;
    for (int64_t j = 0; j < matrix->cols; j++)
        for (int64_t k = column_begin(matrix, j); k < column_begin(matrix, j + 1); k++) {
            if (!entry_is_listed(file, entry_row(matrix, j, k), j, k))
                continue;
            fprintf(stream, "%" PRId64 " %" PRId64 " ", entry_row(matrix, j, k) + 1, j + 1);
            write_element(stream, file, k);
            fputc('\n', stream);
        }
}

/* Writes integers as an array of int64, which has one element a line. */
static void write_integers(FILE *stream, const struct matrix_file *file)
{
    const struct matrix *matrix = &file->matrix;
    fprintf(stream, "# type: int64 matrix\n# ndims: 2\n %" PRId64 " %" PRId64 "\n", matrix->rows,
            matrix->cols);
    for (int64_t k = 0; k < matrix_stored(matrix); k++) {
        write_element(stream, file, k);
        fputc('\n', stream);
    }
}

static void write_rows(FILE *stream, const struct matrix_file *file)
{
    const struct matrix *matrix = &file->matrix;
    fprintf(stream, "# type: %smatrix\n# rows: %" PRId64 "\n# columns: %" PRId64 "\n",
            matrix->is_complex ? "complex " : "", matrix->rows, matrix->cols);
    for (int64_t i = 0; i < matrix->rows; i++) {
        for (int64_t j = 0; j < matrix->cols; j++) {
            fputc(' ', stream);
            write_element(stream, file, j * matrix->rows + i);
        }
        fputc('\n', stream);
    }
}

enum esp_status matrix_octave_write(FILE *stream, const struct matrix_file *file, struct esp_error *error)
{
    struct matrix_file shown = *file;
    (void)error;
    shown.symmetry = SYMMETRY_GENERAL; /* both triangles are written */
    fputs("# Created by Espalier\n# name: X\n", stream);
    if (file->is_sparse) {
        fprintf(stream,
                "# type: sparse %smatrix\n# nnz: %" PRId64 "\n# rows: %" PRId64 "\n# columns: %" PRId64 "\n",
                file->matrix.is_complex ? "complex " : "", entries_listed(&shown), file->matrix.rows,
                file->matrix.cols);
        write_entries(stream, &shown);
    } else if (file->field == FIELD_INTEGER) {
        write_integers(stream, &shown);
    } else {
        write_rows(stream, &shown);
    }
    fputs("\n\n", stream);
    return ESP_OK;
}
