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

/* ( [kP[,]] [r] I|F|E|D|G w[.d[Ee]] ), blanks removed */
static bool parse_format_text(struct span text, struct fortran_format *format)
{
    char c;
    unsigned number = 0, digits_of_exponent;
    if (!take_char(&text, "(", &c))
        return false;
    bool negative = take_char(&text, "+-", &c) && c == '-';
    bool counted = take_digits(&text, &number);
    if (take_char(&text, "pP", &c)) {
        if (!counted || number > 99)
            return false;
        format->scale = negative ? -(int)number : (int)number;
        negative = false;
        take_char(&text, ",", &c);
        counted = take_digits(&text, &number);
    }
    format->repeat = counted ? number : 1;
    if (negative || !take_char(&text, "iIfFeEdDgG", &c) || !take_digits(&text, &format->width))
        return false;
    format->is_integer = c == 'i' || c == 'I';
    if (take_char(&text, ".", &c) && !take_digits(&text, &format->decimals))
        return false;
    if (take_char(&text, "eE", &c) && !take_digits(&text, &digits_of_exponent))
        return false;
    return take_char(&text, ")", &c) && text.length == 0 && format->repeat >= 1 && format->width >= 1 &&
           format->width <= MATRIX_MAX_NUMBER;
}

enum esp_status fortran_format_parse(const struct lines *lines, struct span field, const char *what,
                                     bool want_integer, struct fortran_format *format,
                                     struct esp_error *error)
{
    char packed[21];
    size_t length = 0;
    for (size_t i = 0; i < field.length && length < 20; i++)
        if (field.text[i] != ' ')
            packed[length++] = field.text[i];
    span_copy(format->text, sizeof format->text, (struct span){packed, length});
    if (parse_format_text((struct span){packed, length}, format) && format->is_integer == want_integer)
        return ESP_OK;
    return lines_expected(lines, error, field, "the Fortran format of the %s, such as %s", what,
                          want_integer ? "(16I5)" : "(5E16.8)");
}

/* Whether the text ends within the field, not even with a line end: what is missing may be digits, and a
 * shorter number would be believed. A line that ends early was written without its blanks. */
static bool is_cut(const struct field_reader *reader, unsigned place)
{
    const struct lines *lines = reader->lines;
    bool is_last = lines->at == lines->end && reader->line.text + reader->line.length == lines->end;
    return is_last && reader->line.length < ((size_t)place + 1) * reader->format->width;
}

static enum esp_status next_field(struct field_reader *reader, struct span *field, struct esp_error *error)
{
    unsigned place = (unsigned)(reader->taken % reader->format->repeat);
    if (place == 0 && !lines_next(reader->lines, &reader->line))
        return lines_error(reader->lines, error, "expected %lld %s, found %lld and the end of the file",
                           (long long)reader->total, reader->what, (long long)reader->taken);
    *field =
        span_trim(span_columns(reader->line, (size_t)place * reader->format->width, reader->format->width));
    if (field->length == 0)
        return lines_error(reader->lines, error,
                           "expected %s number %lld of %lld in columns %u to %u (format %s), "
                           "found blanks",
                           reader->what, (long long)reader->taken + 1, (long long)reader->total,
                           place * reader->format->width + 1, (place + 1) * reader->format->width,
                           reader->format->text);
    if (is_cut(reader, place))
        return lines_error(
            reader->lines, error,
            "expected %s number %lld of %lld in columns %u to %u (format %s), found the end of "
            "the file in column %zu: it seems to be cut",
            reader->what, (long long)reader->taken + 1, (long long)reader->total,
            place * reader->format->width + 1, (place + 1) * reader->format->width, reader->format->text,
            reader->line.length);
    reader->taken++;
    return ESP_OK;
}

enum esp_status field_integer(struct field_reader *reader, int64_t *value, struct esp_error *error)
{
    struct span field;
    enum esp_status status = next_field(reader, &field, error);
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
    enum esp_status status = next_field(reader, &field, error);
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
    int shift = (point ? 0 : -(int)reader->format->decimals) - (exponent ? 0 : reader->format->scale);
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
