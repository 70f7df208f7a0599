/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"
#include "core/matrix/fortran_format.h"
#include "core/matrix/matrix_format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool take_digits(struct span *span, unsigned *value)
{
    size_t digits = 0;
    *value = 0;
    while (span->length && span->text[0] >= '0' && span->text[0] <= '9' && digits < 4) {
        *value = *value * 10 + (unsigned)(span->text[0] - '0');
        span->text++;
        span->length--;
        digits++;
    }
    return digits > 0;
}

static bool take_char(struct span *span, const char *set, char *found)
{
    if (!span->length || !span->text[0] || !strchr(set, span->text[0]))
        return false;
    *found = span->text[0];
    span->text++;
    span->length--;
    return true;
}

/* The unread part of a format, and the column where the next field begins. */
struct format_parser {
    struct span text;
    struct fortran_format *format;
    unsigned column, depth;
    int scale;
    bool has_kind;
};

#define MOST_GROUPS 3 /* within each other */

/* Parses w[.d[Ee]], `repeat` times. */
static bool parse_fields(struct format_parser *parser, char kind, unsigned repeat)
{
    struct fortran_format *format = parser->format;
    struct fortran_field field = {.scale = parser->scale};
    unsigned ignored;
    char c;
    const bool is_integer = kind == 'i' || kind == 'I';
    if (!is_integer && (kind == 'e' || kind == 'E'))
        take_char(&parser->text, "nNsS", &c); /* ES and EN are read like E */
    if ((parser->has_kind && is_integer != format->is_integer) || !take_digits(&parser->text, &field.width) ||
        (take_char(&parser->text, ".", &c) && !take_digits(&parser->text, &field.decimals)) ||
        (take_char(&parser->text, "eE", &c) && !take_digits(&parser->text, &ignored)))
        return false;
    parser->has_kind = true;
    format->is_integer = is_integer;
    if (repeat < 1 || repeat > FORTRAN_MAX_FIELDS - format->n_fields || field.width < 1 ||
        field.width > MATRIX_MAX_NUMBER)
        return false;
    for (unsigned i = 0; i < repeat; i++) {
        field.column = parser->column;
        parser->column += field.width;
        format->fields[format->n_fields++] = field;
    }
    return true;
}

static bool parse_list(struct format_parser *parser);

static bool parse_group(struct format_parser *parser, unsigned repeat)
{
    struct fortran_format *format = parser->format;
    const struct span text = parser->text;
    if (parser->depth == MOST_GROUPS || repeat < 1)
        return false;
    if (parser->depth == 1) { /* Fortran continues with the last group that is not nested */
        format->again = format->n_fields;
        format->again_column = parser->column;
    }
    for (unsigned i = 0; i < repeat; i++) {
        const unsigned before = format->n_fields;
        parser->text = text;
        if (!parse_list(parser) || format->n_fields == before)
            return false;
    }
    return true;
}

/* Parses kP, nX, [r]Iw and so on, [r](...), with or without commas between them, up to the closing
 * parenthesis. */
static bool parse_list(struct format_parser *parser)
{
    char c;
    parser->depth++;
    while (!take_char(&parser->text, ")", &c)) {
        unsigned number;
        if (take_char(&parser->text, ",", &c))
            continue;
        bool is_signed = take_char(&parser->text, "+-", &c), negative = is_signed && c == '-';
        bool counted = take_digits(&parser->text, &number), good = !is_signed;
        number = counted ? number : 1;
        if (take_char(&parser->text, "pP", &c)) {
            good = counted && number < 100;
            parser->scale = negative ? -(int)number : (int)number;
        } else if (take_char(&parser->text, "xX", &c)) {
            parser->column += number;
        } else if (take_char(&parser->text, "(", &c)) {
            good = good && parse_group(parser, number);
        } else {
            good = good && take_char(&parser->text, "iIfFeEdDgG", &c) && parse_fields(parser, c, number);
        }
        if (!good)
            return false;
    }
    parser->depth--;
    return true;
}

static bool parse_format_text(struct span text, struct fortran_format *format)
{
    struct format_parser parser = {.text = text, .format = format};
    char c;
    return take_char(&parser.text, "(", &c) && parse_list(&parser) && parser.text.length == 0 &&
           format->n_fields > format->again;
}

/* Returns the number of lines of `count` numbers. */
static int64_t fortran_format_lines(const struct fortran_format *format, int64_t count)
{
    const int64_t first = format->n_fields, more = first - format->again;
    return count == 0 ? 0 : count <= first ? 1 : 1 + (count - first - 1) / more + 1;
}

/* Parses `field`, the format of the `what`: I, F, E, D and G descriptors, all of integers or all of reals,
 * with repeat counts, X, P and groups. ESP_SYNTAX otherwise. */
static enum esp_status fortran_format_parse(const struct lines *lines, struct span field, const char *what,
                                            bool want_integer, struct fortran_format *format,
                                            struct esp_error *error)
{
    char packed[21];
    size_t length = 0;
    *format = (struct fortran_format){0};
    for (size_t i = 0; i < field.length && length < 20; i++)
        if (field.text[i] != ' ')
            packed[length++] = field.text[i];
    span_copy(format->text, sizeof format->text, (struct span){packed, length});
    if (parse_format_text((struct span){packed, length}, format) && format->is_integer == want_integer)
        return ESP_OK;
    return lines_expected(lines, error, field, "the Fortran format of the %s, such as %s", what,
                          want_integer ? "(16I5)" : "(5E16.8)");
}

/* Makes the next number the first one of a new line. */
static void field_new_record(struct field_reader *reader)
{
    reader->begun = false;
}

/* Whether the text ends within the field without a line end: the missing part may be digits, so the number
 * cannot be trusted. A line that ends early was written without its trailing blanks. */
static bool is_cut(const struct field_reader *reader, unsigned column, unsigned width)
{
    const struct lines *lines = reader->lines;
    bool is_last = lines->at == lines->end && reader->line.text + reader->line.length == lines->end;
    return is_last && reader->line.length < (size_t)column + width;
}

static enum esp_status next_field(struct field_reader *reader, const struct fortran_field **at,
                                  struct span *field, struct esp_error *error)
{
    const struct fortran_format *format = reader->format;
    if (!reader->begun || reader->place == format->n_fields) {
        reader->place = reader->begun ? format->again : 0;
        reader->shift = reader->begun ? format->again_column : 0;
        reader->begun = true;
        if (!lines_next(reader->lines, &reader->line))
            return lines_error(reader->lines, error, "expected %lld %s, found %lld and the end of the file",
                               (long long)reader->total, reader->what, (long long)reader->taken);
    }
    *at = &format->fields[reader->place];
    const unsigned column = (*at)->column - reader->shift, width = (*at)->width;
    *field = span_trim(span_columns(reader->line, column, width));
    if (field->length == 0)
        return lines_error(reader->lines, error,
                           "expected %s number %lld of %lld in columns %u to %u (format %s), "
                           "found blanks",
                           reader->what, (long long)reader->taken + 1, (long long)reader->total, column + 1,
                           column + width, format->text);
    if (is_cut(reader, column, width))
        return lines_error(
            reader->lines, error,
            "expected %s number %lld of %lld in columns %u to %u (format %s), found the end of "
            "the file in column %zu: it seems to be cut",
            reader->what, (long long)reader->taken + 1, (long long)reader->total, column + 1, column + width,
            format->text, reader->line.length);
    reader->taken++;
    reader->place++;
    return ESP_OK;
}

/* Reads the next number. A blank field is an error: Fortran would read 0, but no program writes 0 as
 * blanks. */
static enum esp_status field_integer(struct field_reader *reader, int64_t *value, struct esp_error *error)
{
    struct span field;
    const struct fortran_field *at;
    enum esp_status status = next_field(reader, &at, &field, error);
    if (status == ESP_OK && !span_integer(field, value))
        status = lines_expected(reader->lines, error, field, "an integer of the %s (format %s)", reader->what,
                                reader->format->text);
    return status;
}

/* Reads a real as Fortran does: blanks inside are ignored, the exponent's letter may be missing before its
 * sign, the format gives the place of a missing point, and P applies only without an exponent. */
static enum esp_status field_real(struct field_reader *reader, double *value, struct esp_error *error)
{
    struct span field;
    const struct fortran_field *at;
    enum esp_status status = next_field(reader, &at, &field, error);
    if (status != ESP_OK)
        return status;
    char packed[MATRIX_MAX_NUMBER + 1];
    struct span number = {packed, 0};
    bool point = false, exponent = false;
    for (size_t i = 0; i < field.length; i++) {
        char c = field.text[i];
        bool is_letter = memchr("eEdDqQ", c, 6) != NULL;
        if (c == ' ')
            continue;
        if (number.length && !exponent && (c == '+' || c == '-'))
            packed[number.length++] = 'e';
        exponent = exponent || is_letter || (number.length && (c == '+' || c == '-'));
        point = point || c == '.';
        packed[number.length++] = c;
    }
    int shift = (point ? 0 : -(int)at->decimals) - (exponent ? 0 : at->scale);
    switch (span_real(number, shift, value)) {
    case NUMBER_GOOD:
        return ESP_OK;
    case NUMBER_TOO_LARGE: {
        char shown[64];
        return lines_error(reader->lines, error, "%s is beyond the range of a double",
                           span_show(field, shown, sizeof shown));
    }
    default:
        return lines_expected(reader->lines, error, field, "a number of the %s (format %s)", reader->what,
                              reader->format->text);
    }
}

/* The Harwell-Boeing format: Duff, Grimes, Lewis, Users' Guide for the Harwell-Boeing Sparse Matrix
 * Collection (1992); and Rutherford-Boeing, The Rutherford-Boeing Sparse Matrix Collection (1997), which
 * differs: its header has neither a count nor a format of right-hand sides, and it has integers. Numbers
 * stand in columns that a Fortran format of the header describes. */

struct header {
    int64_t pointer_lines, index_lines, value_lines, rhs_lines;
    int64_t rows, cols, entries, elements;
    struct fortran_format pointers, indices, values, rhs;
    char rhs_type[4];
    int64_t n_rhs;
    struct esp_error rhs_fault; /* why the right-hand sides cannot be read; ESP_OK: they can */
};

static bool is_matrix_type(struct span type)
{
    return type.length == 3 && memchr("RCPIQrcpiq", type.text[0], 10) &&
           memchr("SUHZRsuhzr", type.text[1], 10) && memchr("AEae", type.text[2], 4);
}

/* Finds the second and the third line, if the third has a type. */
static bool probe_header(const char *text, size_t length, struct span *counts, struct span *type)
{
    struct lines lines = {.name = "", .at = text, .end = text + length};
    struct span line = {text, 0};
    for (int i = 0; i < 3; i++) {
        if (!lines_next(&lines, &line) || line.length > 256)
            return false;
        if (i == 1)
            *counts = line;
    }
    *type = line;
    return is_matrix_type(span_columns(line, 0, 3)) && (line.length == 3 || line.text[3] == ' ');
}

static bool is_rutherford(struct span counts, struct span type)
{
    return memchr("IQiq", type.text[0], 4) || span_trim(span_columns(counts, 56, 200)).length == 0;
}

bool harwell_boeing_probe(const char *text, size_t length)
{
    struct span counts, type;
    return probe_header(text, length, &counts, &type) && !is_rutherford(counts, type);
}

bool rutherford_boeing_probe(const char *text, size_t length)
{
    struct span counts, type;
    return probe_header(text, length, &counts, &type) && is_rutherford(counts, type);
}

bool harwell_boeing_is_near(const char *text, size_t length)
{
    struct lines lines = {.name = "", .at = text, .end = text + length};
    struct span line = {text, 0};
    for (int i = 0; i < 4; i++)
        if (!lines_next(&lines, &line) || line.length > 256)
            return false;
    return span_trim(line).length && span_trim(line).text[0] == '(';
}

static enum esp_status header_line(struct lines *lines, struct span *line, const char *what,
                                   struct esp_error *error)
{
    if (lines_next(lines, line))
        return ESP_OK;
    return lines_error(lines, error, "expected %s, found the end of the file", what);
}

/* Reads a count in 14 columns; blank is 0 if `optional`. */
static enum esp_status header_count(const struct lines *lines, struct span line, size_t from,
                                    const char *what, bool optional, int64_t *count, struct esp_error *error)
{
    struct span field = span_trim(span_columns(line, from, 14));
    *count = 0;
    if (optional && field.length == 0)
        return ESP_OK;
    if (!span_integer(field, count) || *count < 0)
        return lines_expected(lines, error, field, "the number of %s in columns %zu to %zu", what, from + 1,
                              from + 14);
    return ESP_OK;
}

static enum esp_status parse_type(const struct lines *lines, struct span type, struct matrix_file *file,
                                  struct esp_error *error)
{
    static const char fields[] = "RCPI";
    static const enum matrix_field field_of[] = {FIELD_REAL, FIELD_COMPLEX, FIELD_PATTERN, FIELD_INTEGER};
    char letters[4];
    for (int i = 0; i < 3; i++)
        letters[i] = (char)(type.text[i] & ~0x20);
    letters[3] = 0;
    if (!is_matrix_type(type))
        return lines_expected(lines, error, type, "a type such as RUA");
    if (letters[0] == 'Q') {
        error_set(
            error, ESP_SYNTAX,
            "type %s: expected values in the file, found a pattern whose values are in another file, which "
            "is not supported",
            letters);
        error_prefix(error, "%s:%llu", lines->name, (unsigned long long)lines->number);
        return ESP_SYNTAX;
    }
    file->field = field_of[strchr(fields, letters[0]) - fields];
    file->symmetry = letters[1] == 'S'   ? SYMMETRY_SYMMETRIC
                     : letters[1] == 'Z' ? SYMMETRY_SKEW
                     : letters[1] == 'H' ? SYMMETRY_HERMITIAN
                                         : SYMMETRY_GENERAL;
    if (letters[2] == 'E') {
        error_set(error, ESP_SYNTAX,
                  "type %s: expected an assembled matrix (such as %c%cA), found unassembled "
                  "elements, which are not supported",
                  letters, letters[0], letters[1]);
        error_prefix(error, "%s:%llu", lines->name, (unsigned long long)lines->number);
        return ESP_SYNTAX;
    }
    if (letters[1] == 'H' && letters[0] != 'C')
        return lines_error(lines, error, "type %s: a Hermitian matrix is complex", letters);
    return ESP_OK;
}

static enum esp_status parse_header(struct lines *lines, struct header *header, struct matrix_file *file,
                                    struct esp_error *error)
{
    struct span line;
    int64_t total;
    enum esp_status status;
    if ((status = header_line(lines, &line, "the title", error)) != ESP_OK)
        return status;
    span_copy(file->title, sizeof file->title, span_columns(line, 0, 72));
    span_copy(file->key, sizeof file->key, span_columns(line, 72, 8));

    if ((status = header_line(lines, &line, "the numbers of lines", error)) != ESP_OK ||
        (status = header_count(lines, line, 0, "lines", false, &total, error)) != ESP_OK ||
        (status = header_count(lines, line, 14, "lines of pointers", false, &header->pointer_lines, error)) !=
            ESP_OK ||
        (status = header_count(lines, line, 28, "lines of row indices", false, &header->index_lines,
                               error)) != ESP_OK ||
        (status = header_count(lines, line, 42, "lines of values", false, &header->value_lines, error)) !=
            ESP_OK ||
        (status = header_count(lines, line, 56, "lines of right-hand sides", true, &header->rhs_lines,
                               error)) != ESP_OK)
        return status;

    if ((status = header_line(lines, &line, "the type and size", error)) != ESP_OK ||
        (status = parse_type(lines, span_columns(line, 0, 3), file, error)) != ESP_OK ||
        (status = header_count(lines, line, 14, "rows", false, &header->rows, error)) != ESP_OK ||
        (status = header_count(lines, line, 28, "columns", false, &header->cols, error)) != ESP_OK ||
        (status = header_count(lines, line, 42, "row indices", false, &header->entries, error)) != ESP_OK ||
        (status = header_count(lines, line, 56, "elements", true, &header->elements, error)) != ESP_OK)
        return status;
    if (file->symmetry != SYMMETRY_GENERAL && header->rows != header->cols)
        return lines_error(lines, error, "a %s matrix is square, found %lld rows and %lld columns",
                           matrix_symmetry_name(file->symmetry), (long long)header->rows,
                           (long long)header->cols);

    if ((status = header_line(lines, &line, "the formats", error)) != ESP_OK ||
        (status = fortran_format_parse(lines, span_columns(line, 0, 16), "pointers", true, &header->pointers,
                                       error)) != ESP_OK ||
        (status = fortran_format_parse(lines, span_columns(line, 16, 16), "row indices", true,
                                       &header->indices, error)) != ESP_OK)
        return status;
    if (file->field != FIELD_PATTERN &&
        (status = fortran_format_parse(lines, span_columns(line, 32, 20), "values",
                                       file->field == FIELD_INTEGER, &header->values, error)) != ESP_OK)
        return status;
    struct lines formats = *lines;
    if (header->rhs_lines == 0)
        return ESP_OK;
    struct span rhs_format = span_columns(line, 52, 20);
    if ((status = header_line(lines, &line, "the kind of the right-hand sides", error)) != ESP_OK)
        return status;
    /* The matrix is read even if the right-hand sides are malformed. */
    span_copy(header->rhs_type, sizeof header->rhs_type, span_columns(line, 0, 3));
    if ((header->rhs_type[0] & ~0x20) != 'F')
        lines_error(lines, &header->rhs_fault, "right-hand sides of type \"%s\": expected full vectors (F..)",
                    header->rhs_type);
    else if (header_count(lines, line, 14, "right-hand sides", false, &header->n_rhs, &header->rhs_fault) ==
             ESP_OK)
        fortran_format_parse(&formats, rhs_format, "right-hand sides", false, &header->rhs,
                             &header->rhs_fault);
    return ESP_OK;
}

/* Checks the header's line counts: wrong ones would make the reader take numbers from the wrong part. */
static enum esp_status check_lines(const struct lines *lines, const char *what, int64_t announced,
                                   int64_t count, const struct fortran_format *format,
                                   struct esp_error *error)
{
    const int64_t needed = fortran_format_lines(format, count);
    if (announced == needed)
        return ESP_OK;
    return lines_error(lines, error,
                       "the header announces %lld lines of %s, but %lld of them in format %s take "
                       "%lld",
                       (long long)announced, what, (long long)count, format->text, (long long)needed);
}

static enum esp_status check_counts(const struct lines *lines, const struct header *header,
                                    const struct matrix_file *file, struct esp_error *error)
{
    int64_t n_values = file->field == FIELD_PATTERN ? 0 : header->entries;
    enum esp_status status;
    if (header->entries > INT64_MAX / 4 || header->cols == INT64_MAX)
        return lines_error(lines, error, "%lld entries are too many", (long long)header->entries);
    if (file->field == FIELD_COMPLEX)
        n_values *= 2;
    if ((status = check_lines(lines, "pointers", header->pointer_lines, header->cols + 1, &header->pointers,
                              error)) != ESP_OK ||
        (status = check_lines(lines, "row indices", header->index_lines, header->entries, &header->indices,
                              error)) != ESP_OK)
        return status;
    if (file->field == FIELD_PATTERN && header->value_lines != 0)
        return lines_error(lines, error,
                           "a pattern has no values, but the header announces %lld lines of them",
                           (long long)header->value_lines);
    if (file->field != FIELD_PATTERN && (status = check_lines(lines, "values", header->value_lines, n_values,
                                                              &header->values, error)) != ESP_OK)
        return status;
    if ((status = lines_plausible(lines, (uint64_t)header->cols + 1, 1, "column pointers", error)) != ESP_OK)
        return status;
    return lines_plausible(lines, (uint64_t)header->entries + (uint64_t)n_values, 1, "row indices and values",
                           error);
}

static enum esp_status read_pointers(struct lines *lines, const struct header *header, int64_t *pointers,
                                     struct esp_error *error)
{
    struct field_reader reader = {
        .lines = lines, .format = &header->pointers, .what = "column pointers", .total = header->cols + 1};
    for (int64_t j = 0; j <= header->cols; j++) {
        enum esp_status status = field_integer(&reader, &pointers[j], error);
        if (status != ESP_OK)
            return status;
        if (j == 0 && pointers[0] != 1)
            return lines_error(lines, error, "column pointer %lld: the first one is 1",
                               (long long)pointers[0]);
        if (j > 0 && pointers[j] < pointers[j - 1])
            return lines_error(lines, error, "column pointer %lld follows %lld: they never decrease",
                               (long long)pointers[j], (long long)pointers[j - 1]);
        if (pointers[j] > header->entries + 1)
            return lines_error(lines, error, "column pointer %lld, but the header announces %lld entries",
                               (long long)pointers[j], (long long)header->entries);
    }
    if (pointers[header->cols] != header->entries + 1)
        return lines_error(lines, error,
                           "the last column pointer is %lld, but the header announces %lld entries",
                           (long long)pointers[header->cols], (long long)header->entries);
    return ESP_OK;
}

/* Reads the row indices into `rows`, and checks each immediately, while its line is known. */
static enum esp_status read_rows(struct lines *lines, const struct header *header, int64_t *rows,
                                 struct esp_error *error)
{
    struct field_reader reader = {
        .lines = lines, .format = &header->indices, .what = "row indices", .total = header->entries};
    for (int64_t k = 0; k < header->entries; k++) {
        enum esp_status status = field_integer(&reader, &rows[k], error);
        if (status != ESP_OK)
            return status;
        if (rows[k] < 1)
            return lines_error(lines, error, "row %lld: indices start at 1", (long long)rows[k]);
        if (rows[k] > header->rows)
            return lines_error(lines, error, "row %lld: the matrix has %lld rows", (long long)rows[k],
                               (long long)header->rows);
    }
    return ESP_OK;
}

static enum esp_status read_value(struct field_reader *reader, enum matrix_field field, double value[2],
                                  struct esp_error *error)
{
    int64_t integer = 1;
    value[0] = 1;
    value[1] = 0;
    if (field == FIELD_PATTERN)
        return ESP_OK;
    if (field == FIELD_INTEGER) {
        enum esp_status status = field_integer(reader, &integer, error);
        value[0] = (double)integer;
        if (status == ESP_OK && !integer_is_exact(integer))
            status = lines_error(reader->lines, error, "integer %lld does not fit a double exactly",
                                 (long long)integer);
        return status;
    }
    enum esp_status status = field_real(reader, &value[0], error);
    if (status == ESP_OK && field == FIELD_COMPLEX)
        status = field_real(reader, &value[1], error);
    return status;
}

static enum esp_status read_entries(struct lines *lines, const struct header *header, struct entry_sink *sink,
                                    const int64_t *pointers, const int64_t *rows, struct esp_error *error)
{
    enum matrix_field field = sink->file->field;
    int64_t parts = field == FIELD_COMPLEX ? 2 : 1;
    struct field_reader reader = {
        .lines = lines, .format = &header->values, .what = "values", .total = header->entries * parts};
    enum esp_status status = ESP_OK;
    for (int64_t j = 0; j < header->cols && status == ESP_OK; j++)
        for (int64_t k = pointers[j] - 1; k < pointers[j + 1] - 1 && status == ESP_OK; k++) {
            double value[2];
            status = read_value(&reader, field, value, error);
            if (status == ESP_OK)
                status = entry_sink_put(sink, rows[k], j + 1, value, error);
        }
    return status == ESP_OK ? entry_sink_finish(sink, error) : status;
}

static bool has_guesses(const struct header *header)
{
    return (header->rhs_type[1] & ~0x20) == 'G';
}

/* Returns the name of a block of vectors: 0 is that of the right-hand sides. */
static const char *block_name(const struct header *header, int64_t block)
{
    if (block == 0)
        return "values of right-hand sides";
    return block == 1 && has_guesses(header) ? "values of starting guesses" : "values of solutions";
}

/* Reads the right-hand sides; starting guesses (G) and solutions (X) after them are skipped. Each of these
 * blocks starts a new line; in some files each vector does, in others no block. The number of lines shows
 * which. *has_rhs: all right-hand sides were read, even when it fails. */
static enum esp_status read_rhs(struct lines *lines, const struct header *header, struct matrix_file *file,
                                bool *has_rhs, struct esp_error *error)
{
    const bool is_complex = file->field == FIELD_COMPLEX;
    const int64_t blocks = 1 + has_guesses(header) + ((header->rhs_type[2] & ~0x20) == 'X');
    int64_t per_vector, per_block, total;
    if (__builtin_mul_overflow(header->rows, is_complex ? 2 : 1, &per_vector) ||
        __builtin_mul_overflow(per_vector, header->n_rhs, &per_block) ||
        __builtin_mul_overflow(per_block, blocks, &total))
        return lines_error(lines, error, "%lld right-hand sides are too many", (long long)header->n_rhs);
    const int64_t vector_lines = fortran_format_lines(&header->rhs, per_vector);
    const bool by_blocks = header->rhs_lines == blocks * fortran_format_lines(&header->rhs, per_block);
    bool by_vectors = false;
    enum esp_status status = ESP_OK;
    if (!by_blocks) {
        int64_t needed;
        by_vectors = !__builtin_mul_overflow(vector_lines, header->n_rhs * blocks, &needed) &&
                     header->rhs_lines == needed;
        if (!by_vectors)
            status = check_lines(lines, "right-hand sides", header->rhs_lines, total, &header->rhs, error);
    }
    if (status == ESP_OK)
        status = lines_plausible(lines, (uint64_t)total, 1, "values of right-hand sides", error);
    if (status == ESP_OK)
        status = matrix_init(&file->rhs, header->rows, header->n_rhs, is_complex, lines->max_bytes, error);
    struct field_reader reader = {.lines = lines, .format = &header->rhs, .total = total};
    for (int64_t k = 0; k < total && status == ESP_OK; k++) {
        double value;
        reader.what = block_name(header, k / per_block);
        if ((by_blocks && k % per_block == 0) || (by_vectors && k % per_vector == 0))
            field_new_record(&reader);
        status = field_real(&reader, &value, error);
        if (status == ESP_OK && k < per_block)
            file->rhs.values[k] = value;
        *has_rhs = status == ESP_OK ? k + 1 >= per_block : *has_rhs;
    }
    return status;
}

/* If guesses or solutions are damaged, the right-hand sides before them are still used. */
static void take_rhs(struct lines *lines, struct header *header, struct matrix_file *file)
{
    struct esp_error *fault = &header->rhs_fault;
    struct lines behind = *lines;
    struct span line;
    bool has_rhs = false;
    if (fault->status == ESP_OK && read_rhs(lines, header, file, &has_rhs, fault) == ESP_OK)
        return;
    if (!has_rhs)
        matrix_clear(&file->rhs);
    snprintf(file->note, sizeof file->note, "%.230s: what stands behind the %s is left out", fault->text,
             has_rhs ? "right-hand sides" : "matrix");
    for (int64_t k = 0; k < header->rhs_lines && lines_next(&behind, &line); k++)
        ;
    *lines = behind;
}

static enum esp_status read_body(struct lines *lines, struct header *header, struct entry_sink *sink,
                                 int64_t *pointers, int64_t *rows, struct esp_error *error)
{
    enum esp_status status;
    struct span line;
    if ((status = read_pointers(lines, header, pointers, error)) != ESP_OK ||
        (status = read_rows(lines, header, rows, error)) != ESP_OK ||
        (status = read_entries(lines, header, sink, pointers, rows, error)) != ESP_OK)
        return status;
    if (header->rhs_lines)
        take_rhs(lines, header, sink->file);
    if (lines_next_content(lines, 0, &line))
        return lines_expected(lines, error, line, "the end of the file after what the header announces");
    return ESP_OK;
}

static enum esp_status parse_with(struct header *header, struct lines *lines, struct matrix_file *file,
                                  struct esp_error *error)
{
    struct entry_sink sink = {0};
    file->is_sparse = true;
    enum esp_status status = parse_header(lines, header, file, error);
    if (status == ESP_OK)
        status = check_counts(lines, header, file, error);
    if (status == ESP_OK)
        status = entry_sink_init(&sink, lines, file, header->rows, header->cols, header->entries, error);
    if (status == ESP_OK) {
        file->entries = header->entries;
        int64_t *pointers = calloc((size_t)header->cols + 1, sizeof *pointers);
        int64_t *rows = calloc((size_t)header->entries + 1, sizeof *rows);
        status = pointers && rows ? read_body(lines, header, &sink, pointers, rows, error)
                                  : error_no_memory(error, "the indices of a matrix");
        free(pointers);
        free(rows);
    }
    entry_sink_clear(&sink);
    return status;
}

enum esp_status harwell_boeing_parse(struct lines *lines, struct matrix_file *file, struct esp_error *error)
{
    struct header *header = calloc(1, sizeof *header); /* its formats are large */
    if (!header)
        return error_no_memory(error, "the header of a matrix");
    enum esp_status status = parse_with(header, lines, file, error);
    free(header);
    return status;
}

/* Writes Harwell-Boeing and Rutherford-Boeing files. core/matrix/harwell_boeing.c cites the formats. */

#define REALS_PER_LINE 3 /* of 25 characters: 17 significant digits and an exponent of three */
#define REAL_FORMAT                                                                                          \
    "(3E25.16E3)" /* without 1P, which SciPy cannot read; a written point overrides it anyway */
#define REAL_WIDTH 25

/* Integers in columns as wide as the largest of them. */
struct integer_column {
    int width, per_line;
    char format[17];
};

static void plan_integers(struct integer_column *column, int64_t largest)
{
    column->width = snprintf(NULL, 0, "%" PRId64, largest) + 1;
    column->per_line = 80 / column->width;
    snprintf(column->format, sizeof column->format, "(%dI%d)", column->per_line, column->width);
}

static int64_t lines_of(int64_t n, int per_line)
{
    return n / per_line + (n % per_line != 0);
}

static void end_item(FILE *stream, int64_t *n, int per_line)
{
    if (++*n % per_line == 0)
        fputc('\n', stream);
}

static void end_items(FILE *stream, int64_t n, int per_line)
{
    if (n % per_line != 0)
        fputc('\n', stream);
}

static void put_real(FILE *stream, double value, int64_t *n)
{
    fprintf(stream, "%*.16E", REAL_WIDTH, value);
    end_item(stream, n, REALS_PER_LINE);
}

static void write_pointers(FILE *stream, const struct matrix_file *file, const struct integer_column *column)
{
    const struct matrix *matrix = &file->matrix;
    int64_t n = 0, next = 1;
    for (int64_t j = 0; j <= matrix->cols; j++) {
        fprintf(stream, "%*" PRId64, column->width, next);
        end_item(stream, &n, column->per_line);
        for (int64_t k = column_begin(matrix, j); j < matrix->cols && k < column_begin(matrix, j + 1); k++)
            next += entry_is_listed(file, entry_row(matrix, j, k), j, k);
    }
    end_items(stream, n, column->per_line);
}

/* Calls `put` for each entry that the file lists. */
static void each_entry(FILE *stream, const struct matrix_file *file, const struct integer_column *column,
                       void (*put)(FILE *, const struct matrix_file *, const struct integer_column *,
                                   int64_t row, int64_t entry, int64_t *n),
                       int per_line)
{
    const struct matrix *matrix = &file->matrix;
    int64_t n = 0;
    for (int64_t j = 0; j < matrix->cols; j++)
        for (int64_t k = column_begin(matrix, j); k < column_begin(matrix, j + 1); k++)
            if (entry_is_listed(file, entry_row(matrix, j, k), j, k))
                put(stream, file, column, entry_row(matrix, j, k), k, &n);
    end_items(stream, n, per_line);
}

static void put_row(FILE *stream, const struct matrix_file *file, const struct integer_column *column,
                    int64_t row, int64_t entry, int64_t *n)
{
    (void)file, (void)entry;
    fprintf(stream, "%*" PRId64, column->width, row + 1);
    end_item(stream, n, column->per_line);
}

static void put_value(FILE *stream, const struct matrix_file *file, const struct integer_column *column,
                      int64_t row, int64_t entry, int64_t *n)
{
    const double *values = file->matrix.values;
    (void)row;
    if (file->field == FIELD_INTEGER) {
        fprintf(stream, "%*" PRId64, column->width, matrix_integer(&file->matrix, (size_t)entry));
        end_item(stream, n, column->per_line);
    } else if (file->field == FIELD_COMPLEX) {
        put_real(stream, values[2 * entry], n);
        put_real(stream, values[2 * entry + 1], n);
    } else {
        put_real(stream, values[entry], n);
    }
}

static void write_rhs(FILE *stream, const struct matrix *rhs)
{
    int64_t n = 0, doubles = matrix_stored(rhs) * (rhs->is_complex ? 2 : 1);
    for (int64_t k = 0; k < doubles; k++)
        put_real(stream, rhs->values[k], &n);
    end_items(stream, n, REALS_PER_LINE);
}

static char type_letter(enum matrix_field field)
{
    return field == FIELD_COMPLEX ? 'C' : field == FIELD_PATTERN ? 'P' : field == FIELD_INTEGER ? 'I' : 'R';
}

static char symmetry_letter(const struct matrix_file *file)
{
    static const char letters[] = {[SYMMETRY_GENERAL] = 'U',
                                   [SYMMETRY_SYMMETRIC] = 'S',
                                   [SYMMETRY_SKEW] = 'Z',
                                   [SYMMETRY_HERMITIAN] = 'H'};
    return file->matrix.rows != file->matrix.cols ? 'R' : letters[file->symmetry];
}

/* The layout of the numbers, and how many lines they take. */
struct plan {
    int64_t entries, pointer_lines, index_lines, value_lines, rhs_lines;
    struct integer_column pointers, indices, integers;
    const char *value_format;
    int values_per_line;
};

static int64_t largest_integer(const struct matrix *matrix)
{
    double largest = 0;
    for (int64_t k = 0; k < matrix_stored(matrix); k++) {
        double size =
            matrix->values[k] < 0 ? -10 * matrix->values[k] : matrix->values[k]; /* room for the sign */
        largest = size > largest ? size : largest;
    }
    return largest < 9e18 ? (int64_t)largest : INT64_MAX;
}

static void make_plan(const struct matrix_file *file, bool with_rhs, struct plan *plan)
{
    const struct matrix *matrix = &file->matrix;
    plan->entries = entries_listed(file);
    plan_integers(&plan->pointers, plan->entries + 1);
    plan_integers(&plan->indices, matrix->rows);
    plan->pointer_lines = lines_of(matrix->cols + 1, plan->pointers.per_line);
    plan->index_lines = lines_of(plan->entries, plan->indices.per_line);
    plan->values_per_line = REALS_PER_LINE;
    plan->value_format = REAL_FORMAT;
    if (file->field == FIELD_INTEGER) {
        plan_integers(&plan->integers, largest_integer(matrix));
        plan->value_format = plan->integers.format;
        plan->values_per_line = plan->integers.per_line;
    }
    int64_t values =
        file->field == FIELD_PATTERN ? 0 : plan->entries * (file->field == FIELD_COMPLEX ? 2 : 1);
    plan->value_lines = lines_of(values, plan->values_per_line);
    plan->rhs_lines =
        with_rhs ? lines_of(matrix_stored(&file->rhs) * (file->rhs.is_complex ? 2 : 1), REALS_PER_LINE) : 0;
    if (file->field == FIELD_PATTERN)
        plan->value_format = "";
}

static void write_header(FILE *stream, const struct matrix_file *file, const struct plan *plan,
                         bool is_rutherford)
{
    const struct matrix *matrix = &file->matrix;
    int64_t total = plan->pointer_lines + plan->index_lines + plan->value_lines + plan->rhs_lines;
    fprintf(stream, "%-72.72s%-8.8s\n", *file->title ? file->title : "Written by Espalier",
            *file->key ? file->key : "ESPALIER");
    fprintf(stream, "%14" PRId64 "%14" PRId64 "%14" PRId64 "%14" PRId64, total, plan->pointer_lines,
            plan->index_lines, plan->value_lines);
    if (!is_rutherford)
        fprintf(stream, "%14" PRId64, plan->rhs_lines);
    fprintf(stream, "\n%c%cA%11s%14" PRId64 "%14" PRId64 "%14" PRId64 "%14d\n", type_letter(file->field),
            symmetry_letter(file), "", matrix->rows, matrix->cols, plan->entries, 0);
    fprintf(stream, "%-16s%-16s%-20s", plan->pointers.format, plan->indices.format, plan->value_format);
    if (plan->rhs_lines)
        fprintf(stream, "%-20s\nF%13s%14" PRId64 "%14d", REAL_FORMAT, "", file->rhs.cols, 0);
    fputc('\n', stream);
}

static enum esp_status write_file(FILE *stream, const struct matrix_file *file, bool is_rutherford,
                                  struct esp_error *error)
{
    struct plan plan;
    if (file->matrix.rows != file->matrix.cols && file->symmetry != SYMMETRY_GENERAL)
        return error_set(error, ESP_INVALID, "a %s matrix is square, found %lld x %lld",
                         matrix_symmetry_name(file->symmetry), (long long)file->matrix.rows,
                         (long long)file->matrix.cols);
    make_plan(file, !is_rutherford && file->rhs.values, &plan);
    write_header(stream, file, &plan, is_rutherford);
    write_pointers(stream, file, &plan.pointers);
    each_entry(stream, file, &plan.indices, put_row, plan.indices.per_line);
    if (file->field != FIELD_PATTERN)
        each_entry(stream, file, &plan.integers, put_value, plan.values_per_line);
    if (plan.rhs_lines)
        write_rhs(stream, &file->rhs);
    return ESP_OK;
}

enum esp_status harwell_boeing_write(FILE *stream, const struct matrix_file *file, struct esp_error *error)
{
    struct matrix_file shown = *file;
    if (shown.field == FIELD_INTEGER) /* the format has no integers */
        shown.field = FIELD_REAL;
    return write_file(stream, &shown, false, error);
}

enum esp_status rutherford_boeing_write(FILE *stream, const struct matrix_file *file, struct esp_error *error)
{
    return write_file(stream, file, true, error);
}
