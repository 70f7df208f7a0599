/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices as users type them: [1, 2; 3, 4], with semicolons or line ends between the rows. */
#include "config.h"

#include "core/matrix/matrix_text.h"

#include <stdlib.h>
#include <string.h>

/* Returns where an element's real part ends and a signed imaginary part begins ("1e-3-2i": at the last
 * sign that is no exponent's); the length when there is only one part. */
static size_t split_parts(struct span word)
{
    for (size_t i = word.length; i-- > 1;)
        if ((word.text[i] == '+' || word.text[i] == '-') && !memchr("eEdD", word.text[i - 1], 4))
            return i;
    return word.length;
}

static bool take_part(struct span word, double *value)
{
    return span_real(word, 0, value) == NUMBER_GOOD;
}

static bool imaginary_part(struct span word, double *value)
{
    struct span number = {word.text, word.length - 1}; /* without the i */
    if (number.length == 0 || (number.length == 1 && (number.text[0] == '+' || number.text[0] == '-'))) {
        *value = number.length && number.text[0] == '-' ? -1 : 1;
        return true;
    }
    return take_part(number, value);
}

static bool parse_element(struct span word, double value[2], bool *is_complex)
{
    value[0] = value[1] = 0;
    if (!word.length)
        return false;
    char last = word.text[word.length - 1];
    if (last != 'i' && last != 'j')
        return take_part(word, &value[0]);
    *is_complex = true;
    size_t split = split_parts(word);
    if (split == word.length)
        return imaginary_part(word, &value[1]);
    struct span imaginary = {word.text + split, word.length - split};
    return take_part((struct span){word.text, split}, &value[0]) && imaginary_part(imaginary, &value[1]);
}

bool matrix_parse_number(const char *text, double *re, double *im)
{
    double value[2];
    bool is_complex = false;
    if (!parse_element((struct span){text, strlen(text)}, value, &is_complex))
        return false;
    *re = value[0];
    *im = value[1];
    return true;
}

/* The first pass finds the shape; the second one stores the values. */
struct inline_reading {
    int64_t rows, cols;
    bool is_complex;
    struct matrix *matrix; /* NULL in the first pass */
};

static enum esp_status read_element(struct inline_reading *reading, struct span word, int64_t row,
                                    int64_t col, struct esp_error *error)
{
    double value[2];
    char shown[64];
    if (!parse_element(word, value, &reading->is_complex))
        return error_set(error, ESP_INVALID, "row %lld, column %lld: expected a number, found %s",
                         (long long)row + 1, (long long)col + 1, span_show(word, shown, sizeof shown));
    if (!reading->matrix)
        return ESP_OK;
    size_t element = (size_t)(col * reading->rows + row);
    int64_t integer;
    if (reading->is_complex)
        memcpy(reading->matrix->values + 2 * element, value, sizeof value);
    else if (span_integer(word, &integer))
        return matrix_set_integer(reading->matrix, element, integer, error);
    else
        reading->matrix->values[element] = value[0];
    return ESP_OK;
}

static enum esp_status read_row(struct inline_reading *reading, struct span text, int64_t row,
                                struct esp_error *error)
{
    int64_t col = 0;
    size_t at = 0;
    while (at < text.length) {
        size_t start = at;
        while (at < text.length && !memchr(", \t\n", text.text[at], 4))
            at++;
        struct span word = {text.text + start, at - start};
        bool comma = at < text.length && text.text[at] == ',';
        if (word.length || comma) {
            enum esp_status status = read_element(reading, word, row, col, error);
            if (status != ESP_OK)
                return status;
            col++;
        }
        while (at < text.length && memchr(" \t\n", text.text[at], 3))
            at++;
        if (!comma && at < text.length && text.text[at] == ',')
            comma = true;
        if (comma)
            at++;
        if (comma && span_trim((struct span){text.text + at, text.length - at}).length == 0)
            return error_set(error, ESP_INVALID, "row %lld: expected a number behind the last comma",
                             (long long)row + 1);
    }
    if (row == 0 && !reading->matrix)
        reading->cols = col;
    if (col != reading->cols)
        return error_set(error, ESP_INVALID, "row %lld has %lld element%s, the first row %lld",
                         (long long)row + 1, (long long)col, col == 1 ? "" : "s", (long long)reading->cols);
    return ESP_OK;
}

static enum esp_status read_rows(struct inline_reading *reading, struct span body, struct esp_error *error)
{
    int64_t row = 0;
    bool is_new_line = true; /* the text before ended with a line end */
    body = span_trim(body);
    while (body.length) {
        size_t length = 0;
        while (length < body.length && body.text[length] != ';' && body.text[length] != '\n')
            length++;
        const char *stop = length < body.length ? body.text + length : NULL;
        struct span line = span_trim((struct span){body.text, length});
        /* A line end beside a semicolon does not make another row. */
        bool is_row = line.length || (stop && *stop == ';' && (!is_new_line || row == 0));
        enum esp_status status = is_row ? read_row(reading, line, row++, error) : ESP_OK;
        if (status != ESP_OK)
            return status;
        is_new_line = stop && *stop == '\n';
        body.text += stop ? length + 1 : length;
        body.length -= stop ? length + 1 : length;
    }
    reading->rows = row;
    return ESP_OK;
}

enum esp_status matrix_parse_inline(const char *text, struct matrix *matrix, struct esp_error *error)
{
    struct span all = span_trim((struct span){text, strlen(text)});
    if (all.length < 2 || all.text[0] != '[' || all.text[all.length - 1] != ']') {
        char shown[64];
        return error_set(error, ESP_INVALID, "expected a matrix such as [1, 2; 3, 4], found %s",
                         span_show(all, shown, sizeof shown));
    }
    struct span body = {all.text + 1, all.length - 2};
    struct inline_reading reading = {0};
    enum esp_status status = read_rows(&reading, body, error);
    if (status == ESP_OK)
        status = matrix_init(matrix, reading.rows, reading.cols, reading.is_complex, 0, error);
    if (status != ESP_OK)
        return status;
    reading.matrix = matrix;
    status = read_rows(&reading, body, error);
    if (status != ESP_OK)
        matrix_clear(matrix);
    return status;
}
