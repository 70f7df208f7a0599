/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/matrix/fortran_format.h"

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

/* The rest of a format, and the column where the next field begins. */
struct format_parser {
    struct span text;
    struct fortran_format *format;
    unsigned column, depth;
    int scale;
    bool has_kind;
};

#define MOST_GROUPS 3 /* within each other */

/* w[.d[Ee]], `repeat` times */
static bool parse_fields(struct format_parser *parser, char kind, unsigned repeat)
{
    struct fortran_format *format = parser->format;
    struct fortran_field field = {.scale = parser->scale};
    unsigned ignored;
    char c;
    const bool is_integer = kind == 'i' || kind == 'I';
    if (!is_integer && (kind == 'e' || kind == 'E'))
        take_char(&parser->text, "nNsS", &c); /* ES and EN are read as E is */
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
    if (parser->depth == 1) { /* Fortran goes back to the last group that is in no other one */
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

/* kP, nX, [r]Iw and so on, [r](...), with or without commas between them, up to the closing parenthesis */
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

int64_t fortran_format_lines(const struct fortran_format *format, int64_t count)
{
    const int64_t first = format->n_fields, more = first - format->again;
    return count == 0 ? 0 : count <= first ? 1 : 1 + (count - first - 1) / more + 1;
}

enum esp_status fortran_format_parse(const struct lines *lines, struct span field, const char *what,
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

void field_new_record(struct field_reader *reader)
{
    reader->begun = false;
}

/* Whether the text ends within the field, not even with a line end: what is missing may be digits, and a
 * shorter number would be believed. A line that ends early was written without its blanks. */
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

enum esp_status field_integer(struct field_reader *reader, int64_t *value, struct esp_error *error)
{
    struct span field;
    const struct fortran_field *at;
    enum esp_status status = next_field(reader, &at, &field, error);
    if (status == ESP_OK && !span_integer(field, value))
        status = lines_expected(reader->lines, error, field, "an integer of the %s (format %s)", reader->what,
                                reader->format->text);
    return status;
}

/* Fortran ignores blanks inside a number, may leave the letter out before the exponent's sign, puts the point
 * where the format says when there is none, and applies P only when there is no exponent. */
enum esp_status field_real(struct field_reader *reader, double *value, struct esp_error *error)
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
