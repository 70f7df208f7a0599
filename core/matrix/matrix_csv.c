/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of numbers: one row a line, elements between commas, semicolons, tabs or blanks (whichever the first
 * row has, in this order). A first line of names is passed over, and so are lines that begin with '#';
 * complex elements are written 1+2i. A first row that has numbers, but also what is none, is one with a
 * fault: it is told where. Decimal commas are not numbers. The last line has an end: without one the file is
 * taken to be cut. Nothing tells how many rows there are, so a file cut between two of them is whole.
 */
#include "config.h"

#include "core/matrix/matrix_format.h"

#include <inttypes.h>
#include <string.h>

#define PROBED_BYTES 65536

/* Cuts the next element off the line: false behind the last. Between blanks there may be several. */
static bool next_element(struct span *line, char separator, struct span *element)
{
    if (separator == ' ') {
        *element = span_word(line);
        return element->length > 0;
    }
    if (!line->text)
        return false;
    const char *stop = memchr(line->text, separator, line->length);
    size_t length = stop ? (size_t)(stop - line->text) : line->length;
    *element = span_trim((struct span){line->text, length});
    line->length -= stop ? length + 1 : length;
    line->text = stop ? stop + 1 : NULL;
    return true;
}

/* Quotes around a number are the spreadsheet's, parentheses around a complex one NumPy's. */
static struct span unwrap(struct span element)
{
    if (element.length >= 2 && ((element.text[0] == '"' && element.text[element.length - 1] == '"') ||
                                (element.text[0] == '(' && element.text[element.length - 1] == ')')))
        return (struct span){element.text + 1, element.length - 2};
    return element;
}

static bool is_too_large(struct span element)
{
    double value;
    return span_real(unwrap(element), 0, &value) == NUMBER_TOO_LARGE;
}

static bool read_number(struct span element, double value[2], bool *is_complex)
{
    char text[MATRIX_MAX_NUMBER + 1];
    element = unwrap(element);
    if (element.length == 0 || element.length > MATRIX_MAX_NUMBER || memchr(element.text, 0, element.length))
        return false;
    memcpy(text, element.text, element.length);
    text[element.length] = 0;
    char last = text[element.length - 1];
    *is_complex |= last == 'i' || last == 'j';
    return matrix_parse_number(text, &value[0], &value[1]);
}

static char separator_of(struct span line)
{
    return memchr(line.text, ',', line.length)    ? ','
           : memchr(line.text, ';', line.length)  ? ';'
           : memchr(line.text, '\t', line.length) ? '\t'
                                                  : ' ';
}

struct row_shape {
    int64_t elements, numbers;
    bool is_complex;
};

static struct row_shape measure(struct span line, char separator)
{
    struct row_shape shape = {0};
    struct span element;
    double value[2];
    while (next_element(&line, separator, &element)) {
        shape.elements++;
        shape.numbers += read_number(element, value, &shape.is_complex) || is_too_large(element);
    }
    return shape;
}

/* Finds the first row: *header tells whether a line of names comes before it. */
static bool find_first_row(struct lines *lines, bool *header, char *separator, int64_t *cols)
{
    struct span first, second;
    *header = false;
    if (!lines_next_content(lines, '#', &first))
        return false;
    *separator = separator_of(first);
    struct row_shape shape = measure(first, *separator);
    *cols = shape.elements;
    if (shape.numbers == shape.elements)
        return true;
    /* A line of names has no number among them. Titles of other formats do not have separators. */
    if (shape.numbers > 0)
        return *separator != ' ' || 2 * shape.numbers > shape.elements;
    if (*separator == ' ' || !lines_next_content(lines, '#', &second))
        return false;
    *header = true;
    return measure(second, *separator).numbers > 0;
}

bool matrix_csv_probe(const char *text, size_t length)
{
    struct lines lines = {
        .name = "", .at = text, .end = text + (length < PROBED_BYTES ? length : PROBED_BYTES)};
    /* A first row that is longer than what is looked at has no end here: its last element may be cut. */
    if (length > PROBED_BYTES && !memchr(text, '\n', PROBED_BYTES))
        lines.end = text + length;
    bool header;
    char separator;
    int64_t cols;
    return find_first_row(&lines, &header, &separator, &cols);
}

/* Counts rows and learns whether there are complex elements; checks every element's text. */
static enum esp_status survey(struct lines *lines, char separator, int64_t cols, int64_t *rows,
                              bool *is_complex, struct esp_error *error)
{
    struct span line, element;
    double value[2];
    while (lines_next_content(lines, '#', &line)) {
        int64_t col = 0;
        ++*rows;
        while (next_element(&line, separator, &element)) {
            col++;
            if (!read_number(element, value, is_complex)) {
                char shown[64];
                return lines_error(lines, error, "expected a number%s as element %lld, found %s",
                                   is_too_large(element) ? " that a double holds" : "", (long long)col,
                                   element.length ? span_show(element, shown, sizeof shown) : "nothing");
            }
        }
        if (col != cols)
            return lines_error(lines, error, "expected %lld elements as in the first row, found %lld",
                               (long long)cols, (long long)col);
    }
    return lines_check_end(lines, error);
}

static enum esp_status fill(struct lines *lines, char separator, struct matrix *matrix,
                            struct esp_error *error)
{
    struct span line, element;
    double value[2];
    int64_t integer;
    bool ignored = false;
    enum esp_status status = ESP_OK;
    for (int64_t i = 0; i < matrix->rows && lines_next_content(lines, '#', &line); i++)
        for (int64_t j = 0; j < matrix->cols && next_element(&line, separator, &element) && status == ESP_OK;
             j++) {
            size_t to = (size_t)(j * matrix->rows + i);
            if (!read_number(element, value, &ignored))
                continue;
            if (matrix->is_complex)
                memcpy(matrix->values + 2 * to, value, sizeof value);
            else if (span_integer(element, &integer))
                status = matrix_set_integer(matrix, to, integer, error);
            else
                matrix->values[to] = value[0];
        }
    return status;
}

enum esp_status matrix_csv_parse(struct lines *lines, struct matrix_file *file, struct esp_error *error)
{
    struct lines probing = *lines;
    struct span names;
    int64_t rows = 0, cols;
    bool header, is_complex = false;
    char separator;
    find_first_row(&probing, &header, &separator, &cols);
    if (header)
        lines_next_content(lines, '#', &names);
    struct lines again = *lines;
    enum esp_status status = survey(lines, separator, cols, &rows, &is_complex, error);
    if (status != ESP_OK)
        return status;
    file->field = is_complex ? FIELD_COMPLEX : FIELD_REAL;
    file->entries = rows * cols;
    status = matrix_init(&file->matrix, rows, cols, is_complex, lines->max_bytes, error);
    if (status != ESP_OK)
        return error_prefix(error, "%s", lines->name);
    return fill(&again, separator, &file->matrix, error);
}

enum esp_status matrix_csv_write(FILE *stream, const struct matrix_file *file, struct esp_error *error)
{
    const struct matrix *matrix = &file->matrix;
    if (matrix->rows == 0 || matrix->cols == 0)
        return error_set(error, ESP_INVALID, "a CSV file cannot hold a matrix of %lld x %lld elements",
                         (long long)matrix->rows, (long long)matrix->cols);
    for (int64_t i = 0; i < matrix->rows; i++)
        for (int64_t j = 0; j < matrix->cols; j++) {
            double re, im;
            matrix_element(matrix, i, j, &re, &im);
            if (matrix->wide)
                fprintf(stream, "%" PRId64, matrix_integer(matrix, (size_t)(j * matrix->rows + i)));
            else
                fprintf(stream, matrix->is_complex ? "%.17g%+.17gi" : "%.17g", re, im);
            fputc(j + 1 < matrix->cols ? ',' : '\n', stream);
        }
    return ESP_OK;
}
