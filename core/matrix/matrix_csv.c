/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of numbers, one row a line. Elements are separated by semicolons, tabs, commas or blanks: the
 * first of these that splits the whole first row into numbers. If semicolons or tabs separate, a number
 * may have a decimal comma, as German spreadsheets write it. Complex elements are written 1+2i. Comments
 * are lines that begin with '#' and a blank. The first line may be a heading: different names, none of
 * which can be a missing value. Every other line must consist of numbers.
 *
 * A table does not say how many rows it has, so a file that was cut between two rows is not recognised as
 * cut. */
#include "config.h"

#include "core/matrix/matrix_format.h"
#include "util/real_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PROBED_BYTES 65536

/* The form of a table. */
struct table {
    char separator; /* ' ': any blanks */
    bool has_heading;
    int64_t cols;
};

/* The rows of a table and how its numbers are written. */
struct survey {
    int64_t rows;
    bool is_complex;
    uint64_t point_line,
        comma_line; /* the first line with a decimal point, and with a decimal comma; 0: none */
};

/* Spreadsheets and programs write these for a value that is missing or not a number. */
static const char *const missing_values[] = {
    "na",   "n/a",   "nan", "null", "nil",  "none",   "missing", "void", "empty", "error",    "undefined",
    "true", "false", "yes", "no",   "wahr", "falsch", "vrai",    "faux", "inf",   "infinity",
};

/* Removes the next element from the line: false at the end. A separator within quotes does not count.
 * Several blanks count as one. */
static bool next_element(struct span *line, char separator, struct span *element)
{
    if (separator == ' ') {
        *element = span_word(line);
        return element->length > 0;
    }
    if (!line->text)
        return false;
    struct span trimmed = span_trim(*line);
    const char *from = line->text, *end = line->text + line->length;
    if (trimmed.length && trimmed.text[0] == '"') {
        const char *quote = memchr(trimmed.text + 1, '"', (size_t)(end - trimmed.text - 1));
        from = quote ? quote : from;
    }
    const char *stop = memchr(from, separator, (size_t)(end - from));
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

static bool may_have_commas(char separator)
{
    return separator == ';' || separator == '\t';
}

/* Copies the element with points for decimal commas, terminated. False when it cannot be a number. */
static bool copy_number(struct span element, char separator, char text[MATRIX_MAX_NUMBER + 1],
                        bool *has_comma)
{
    element = unwrap(element);
    *has_comma = false;
    if (element.length == 0 || element.length > MATRIX_MAX_NUMBER || memchr(element.text, 0, element.length))
        return false;
    for (size_t i = 0; i < element.length; i++) {
        text[i] = element.text[i];
        if (text[i] != ',')
            continue;
        if (!may_have_commas(separator) || i + 1 == element.length || element.text[i + 1] < '0' ||
            element.text[i + 1] > '9')
            return false;
        text[i] = '.';
        *has_comma = true;
    }
    text[element.length] = 0;
    return true;
}

static bool is_too_large(struct span element, char separator)
{
    char text[MATRIX_MAX_NUMBER + 1];
    double value;
    bool has_comma;
    return copy_number(element, separator, text, &has_comma) &&
           span_real((struct span){text, strlen(text)}, 0, &value) == NUMBER_TOO_LARGE;
}

static bool read_number(struct span element, char separator, double value[2], bool *is_complex,
                        bool *has_comma)
{
    char text[MATRIX_MAX_NUMBER + 1];
    if (!copy_number(element, separator, text, has_comma))
        return false;
    char last = text[strlen(text) - 1];
    *is_complex |= last == 'i' || last == 'j';
    return matrix_parse_number(text, &value[0], &value[1]);
}

struct row_shape {
    int64_t elements, numbers;
};

static struct row_shape measure(struct span line, char separator)
{
    struct row_shape shape = {0};
    struct span element;
    double value[2];
    bool is_complex = false, has_comma;
    while (next_element(&line, separator, &element)) {
        shape.elements++;
        shape.numbers += read_number(element, separator, value, &is_complex, &has_comma) ||
                         is_too_large(element, separator);
    }
    return shape;
}

/* Whether the text stands for a missing value or for not-a-number, such as Microsoft's nan(ind) and
 * LibreOffice's Err:502. */
static bool is_missing(struct span text)
{
    for (size_t i = 0; i < sizeof missing_values / sizeof *missing_values; i++)
        if (span_equal_case(text, missing_values[i]))
            return true;
    return text.length > 4 && (strncasecmp(text.text, "nan(", 4) == 0 || strncmp(text.text, "Err:", 4) == 0);
}

/* Whether the element can be the name of a column: a row of missing values must not count as a heading. */
static bool is_name(struct span element)
{
    element = span_trim(unwrap(element));
    if (!element.length || is_missing(element))
        return false;
    unsigned char first = (unsigned char)element.text[0];
    return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_' || first >= 0x80;
}

static int compare_names(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    int order = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);
    return order ? order : a->length < b->length ? -1 : a->length > b->length;
}

/* Whether the line of `n` elements consists of different names. */
static bool is_heading(struct span line, char separator, int64_t n)
{
    struct span *names = malloc((size_t)n * sizeof *names);
    int64_t found = 0;
    bool good = names != NULL;
    while (good && found < n && next_element(&line, separator, &names[found]))
        good = is_name(names[found++]);
    if (good)
        qsort(names, (size_t)found, sizeof *names, compare_names);
    for (int64_t i = 1; good && i < found; i++)
        good = compare_names(&names[i - 1], &names[i]) != 0;
    free(names);
    return good && found > 0;
}

/* Returns the separator that splits the whole line into numbers; else the one found in the line. */
static char separator_of(struct span line)
{
    static const char separators[] = ";\t, ";
    char present = ' ';
    for (size_t i = sizeof separators - 1; i-- > 0;) {
        char separator = separators[i];
        if (separator != ' ' && !memchr(line.text, separator, line.length))
            continue;
        present = separator == '\t' && present == ',' ? ',' : separator;
    }
    for (size_t i = 0; i < sizeof separators - 1; i++) {
        struct row_shape shape;
        if (separators[i] != ' ' && !memchr(line.text, separators[i], line.length))
            continue;
        shape = measure(line, separators[i]);
        if (shape.numbers == shape.elements)
            return separators[i];
    }
    return present;
}

/* The next line that is neither blank nor a comment. */
static bool next_row(struct lines *lines, struct span *line)
{
    while (lines_next_content(lines, 0, line)) {
        struct span trimmed = span_trim(*line);
        size_t marks = 0;
        while (marks < trimmed.length && trimmed.text[marks] == '#')
            marks++;
        /* "#N/A" and "#DIV/0!" are cells of spreadsheets. */
        bool comment = marks > 0 &&
                       (marks == trimmed.length || trimmed.text[marks] == ' ' || trimmed.text[marks] == '\t');
        if (!comment)
            return true;
    }
    return false;
}

/* The name of a single column has no separator, but may contain blanks. */
static void take_one_column(struct table *table, struct span first, struct span second)
{
    struct row_shape shape = measure(second, ' ');
    bool is_number =
        shape.numbers == 1 || memchr(second.text, ',', second.length); /* reported when the table is read */
    bool named = shape.elements == 1 && is_number && is_name(first);
    for (struct span word; named && (word = span_word(&first)).length;)
        named = !is_missing(word);
    if (named)
        *table = (struct table){',', true, 1};
}

/* Examines the first lines. False when they contain no number. */
static bool find_table(struct lines *lines, struct table *table)
{
    struct span first, second;
    *table = (struct table){' ', false, 0};
    if (!next_row(lines, &first))
        return false;
    table->separator = separator_of(first);
    struct row_shape shape = measure(first, table->separator);
    table->cols = shape.elements;
    if (shape.numbers > 0)
        return true;
    if (!next_row(lines, &second))
        return false;
    if (table->separator != ' ')
        table->has_heading = is_heading(first, table->separator, shape.elements);
    else
        take_one_column(table, first, second);
    return measure(second, table->has_heading ? table->separator : separator_of(second)).numbers > 0;
}

bool matrix_csv_probe(const char *text, size_t length)
{
    struct lines lines = {
        .name = "", .at = text, .end = text + (length < PROBED_BYTES ? length : PROBED_BYTES)};
    /* If the first row is longer than the examined part, its last element may be cut. */
    if (length > PROBED_BYTES && !memchr(text, '\n', PROBED_BYTES))
        lines.end = text + length;
    struct table table;
    return !matrix_octave_probe(text, length) && find_table(&lines, &table);
}

int64_t matrix_csv_columns(const char *text, size_t length)
{
    const char *end = memrchr(text, '\n', length);
    struct lines lines = {.name = "", .begin = text, .at = text, .end = end ? end + 1 : text};
    struct table table;
    for (const struct matrix_format *format = matrix_formats; format->parse != matrix_csv_parse; format++)
        if (format->probe(text, length))
            return 0;
    return find_table(&lines, &table) ? table.cols : 0;
}

static enum esp_status wrong_element(const struct lines *lines, const struct table *table,
                                     struct span element, int64_t col, bool is_first, struct esp_error *error)
{
    char shown[64];
    const char *what = is_too_large(element, table->separator) ? "a number that a double holds"
                       : is_first && table->cols > 0 ? "a number (or a heading of names that differ)"
                                                     : "a number";
    const char *hint = !may_have_commas(table->separator) && memchr(element.text, ',', element.length)
                           ? "; where numbers have decimal commas, write ';' between them"
                       : element.length && element.text[0] == '#' ? "; a comment begins with '#' and a blank"
                                                                  : "";
    return lines_error(lines, error, "expected %s as element %lld, found %s%s", what, (long long)col,
                       element.length ? span_show(element, shown, sizeof shown) : "nothing", hint);
}

/* ESP_SYNTAX when decimal points and decimal commas come together. */
static enum esp_status note_decimals(const struct lines *lines, struct span element, bool has_comma,
                                     struct survey *survey, struct esp_error *error)
{
    char shown[64];
    if (has_comma && !survey->comma_line)
        survey->comma_line = lines->number;
    if (!has_comma && !survey->point_line && memchr(element.text, '.', element.length))
        survey->point_line = lines->number;
    if (!survey->comma_line || !survey->point_line)
        return ESP_OK;
    return lines_error(lines, error, "expected a decimal %s as in line %llu, found %s",
                       has_comma ? "point" : "comma",
                       (unsigned long long)(has_comma ? survey->point_line : survey->comma_line),
                       span_show(element, shown, sizeof shown));
}

static enum esp_status wrong_length(const struct lines *lines, const struct table *table, int64_t found,
                                    const struct survey *survey, struct esp_error *error)
{
    const char *hint = "";
    if (table->separator == ',' && table->cols <= 2 && found <= 2)
        hint = "; if these are decimal commas, write decimal points";
    else if (!table->has_heading && survey->rows == 2 &&
             ((table->cols == 2 && found == 1) || (table->cols == 3 && (found == 2 || found == 4))))
        hint = "; if the first row has the sizes of a Matrix Market file, its first line is missing: "
               "%%MatrixMarket matrix ...";
    return lines_error(lines, error, "expected %lld element%s as in the first row, found %lld%s",
                       (long long)table->cols, table->cols == 1 ? "" : "s", (long long)found, hint);
}

/* Counts the rows and checks the text of every element. */
static enum esp_status survey_table(struct lines *lines, const struct table *table, struct survey *survey,
                                    struct esp_error *error)
{
    struct span line, element;
    double value[2];
    while (next_row(lines, &line)) {
        int64_t col = 0;
        survey->rows++;
        while (next_element(&line, table->separator, &element)) {
            bool has_comma;
            col++;
            if (!read_number(element, table->separator, value, &survey->is_complex, &has_comma))
                return wrong_element(lines, table, element, col, survey->rows == 1 && !table->has_heading,
                                     error);
            enum esp_status status = note_decimals(lines, element, has_comma, survey, error);
            if (status != ESP_OK)
                return status;
        }
        if (col != table->cols)
            return wrong_length(lines, table, col, survey, error);
    }
    return ESP_OK;
}

static enum esp_status fill(struct lines *lines, char separator, struct matrix *matrix,
                            struct esp_error *error)
{
    struct span line, element;
    double value[2];
    int64_t integer;
    bool ignored = false, has_comma;
    enum esp_status status = ESP_OK;
    for (int64_t i = 0; i < matrix->rows && next_row(lines, &line); i++)
        for (int64_t j = 0; j < matrix->cols && next_element(&line, separator, &element) && status == ESP_OK;
             j++) {
            size_t to = (size_t)(j * matrix->rows + i);
            if (!read_number(element, separator, value, &ignored, &has_comma))
                continue;
            if (matrix->is_complex)
                memcpy(matrix->values + 2 * to, value, sizeof value);
            else if (span_integer(unwrap(element), &integer))
                status = matrix_set_integer(matrix, to, integer, error);
            else
                matrix->values[to] = value[0];
        }
    return status;
}

static bool is_index(double value, double most)
{
    return value >= 1 && value <= most && value == (double)(int64_t)value;
}

/* Whether the rows may be sizes and entries of a Matrix Market file without its first line: such a table
 * is refused, because a matrix of three columns is rarely meant. */
static bool is_coordinates(const struct matrix *matrix, char separator)
{
    const double *rows = matrix->values, *cols = rows + matrix->rows, *entries = cols + matrix->rows;
    if (may_have_commas(separator) ? separator == ';' : separator == ',')
        return false;
    if (matrix->is_complex || matrix->cols != 3 || matrix->rows < 2 ||
        entries[0] != (double)(matrix->rows - 1))
        return false;
    bool all = is_index(rows[0], 1e15) && is_index(cols[0], 1e15);
    for (int64_t i = 1; i < matrix->rows && all; i++)
        all = is_index(rows[i], rows[0]) && is_index(cols[i], cols[0]);
    return all;
}

enum esp_status matrix_csv_parse(struct lines *lines, struct matrix_file *file, struct esp_error *error)
{
    struct lines probing = *lines;
    struct span names;
    struct table table;
    struct survey survey = {0};
    find_table(&probing, &table);
    if (table.has_heading)
        next_row(lines, &names);
    struct lines again = *lines;
    enum esp_status status = survey_table(lines, &table, &survey, error);
    if (status != ESP_OK)
        return status;
    file->field = survey.is_complex ? FIELD_COMPLEX : FIELD_REAL;
    file->entries = survey.rows * table.cols;
    status = matrix_init(&file->matrix, survey.rows, table.cols, survey.is_complex, lines->max_bytes, error);
    if (status != ESP_OK)
        return error_prefix(error, "%s", lines->name);
    struct lines first = again;
    status = fill(&again, table.separator, &file->matrix, error);
    if (status != ESP_OK)
        return status;
    if (!table.has_heading && is_coordinates(&file->matrix, table.separator)) {
        next_row(&first, &names);
        return lines_expected(
            &first, error, names,
            "'%s matrix coordinate real general' in front of the sizes of a Matrix Market file "
            "(or commas between the elements of a table)",
            MATRIX_MARKET_BANNER);
    }
    lines_note_end(lines, file);
    return ESP_OK;
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
            char text[REAL_TEXT];
            matrix_element(matrix, i, j, &re, &im);
            if (matrix->wide) {
                fprintf(stream, "%" PRId64, matrix_integer(matrix, (size_t)(j * matrix->rows + i)));
            } else {
                real_text(re, text);
                fputs(text, stream);
            }
            if (matrix->is_complex)
                fprintf(stream, "%+.17gi", im);
            fputc(j + 1 < matrix->cols ? ',' : '\n', stream);
        }
    return ESP_OK;
}
