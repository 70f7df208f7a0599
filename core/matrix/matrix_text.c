/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/matrix/matrix_text.h"

#include <locale.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool lines_next(struct lines *lines, struct span *line)
{
    if (lines->at == lines->end)
        return false;
    const char *newline = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
    const char *stop = newline ? newline : lines->end;
    line->text = lines->at;
    line->length = (size_t)(stop - lines->at);
    if (line->length && line->text[line->length - 1] == '\r')
        line->length--;
    lines->at = newline ? newline + 1 : lines->end;
    lines->number++;
    return true;
}

bool lines_next_content(struct lines *lines, char comment, struct span *line)
{
    while (lines_next(lines, line)) {
        struct span trimmed = span_trim(*line);
        if (trimmed.length && !(comment && trimmed.text[0] == comment))
            return true;
    }
    return false;
}

void lines_note_end(const struct lines *lines, struct matrix_file *file)
{
    if (lines->end > lines->begin && lines->end[-1] != '\n')
        snprintf(file->note, sizeof file->note,
                 "%.200s: its last line has no end: if the file was cut there, its last number is wrong",
                 lines->name);
}

enum esp_status lines_error(const struct lines *lines, struct esp_error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error_vset(error, ESP_SYNTAX, format, arguments);
    va_end(arguments);
    error_prefix(error, "%s:%llu", lines->name, (unsigned long long)(lines->number ? lines->number : 1));
    return ESP_SYNTAX;
}

enum esp_status lines_expected(const struct lines *lines, struct esp_error *error, struct span found,
                               const char *format, ...)
{
    char expected[256], shown[64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    return lines_error(lines, error, "expected %s, found %s", expected,
                       span_trim(found).length ? span_show(found, shown, sizeof shown)
                                               : "the end of the line");
}

enum esp_status lines_plausible(const struct lines *lines, uint64_t count, unsigned min_chars,
                                const char *what, struct esp_error *error)
{
    uint64_t left = (uint64_t)(lines->end - lines->at) + 1; /* the last one needs no separator */
    if (count <= left / min_chars)
        return ESP_OK;
    return lines_error(lines, error,
                       "%llu %s are announced, but the file holds only %llu more bytes: it is truncated or "
                       "its header is wrong",
                       (unsigned long long)count, what, (unsigned long long)(left - 1));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

struct span span_word(struct span *line)
{
    size_t start = 0;
    while (start < line->length && is_blank(line->text[start]))
        start++;
    size_t stop = start;
    while (stop < line->length && !is_blank(line->text[stop]))
        stop++;
    struct span word = {line->text + start, stop - start};
    line->text += stop;
    line->length -= stop;
    return word;
}

struct span span_trim(struct span span)
{
    while (span.length && is_blank(span.text[0])) {
        span.text++;
        span.length--;
    }
    while (span.length && is_blank(span.text[span.length - 1]))
        span.length--;
    return span;
}

struct span span_columns(struct span line, size_t from, size_t width)
{
    if (from >= line.length)
        return (struct span){line.text + line.length, 0};
    return (struct span){line.text + from, line.length - from < width ? line.length - from : width};
}

void span_copy(char *to, size_t size, struct span span)
{
    while (span.length && span.text[span.length - 1] == ' ')
        span.length--;
    size_t length = span.length < size - 1 ? span.length : size - 1;
    for (size_t i = 0; i < length; i++)
        to[i] = span.text[i] >= ' ' && span.text[i] < 127 ? span.text[i] : '?';
    to[length] = 0;
}

bool span_equal_case(struct span span, const char *word)
{
    return strlen(word) == span.length && strncasecmp(span.text, word, span.length) == 0;
}

const char *span_show(struct span span, char *text, size_t size)
{
    span = span_trim(span);
    size_t used = 0;
    text[used++] = '\'';
    for (size_t i = 0; i < span.length && used + 5 < size; i++) {
        unsigned char c = (unsigned char)span.text[i];
        text[used++] = c >= ' ' && c < 127 ? (char)c : '?';
    }
    if (used + 5 >= size) {
        memcpy(text + used, "...", 3);
        used += 3;
    }
    text[used++] = '\'';
    text[used] = 0;
    return text;
}

bool span_integer(struct span span, int64_t *value)
{
    size_t i = 0;
    bool negative = false;
    if (i < span.length && (span.text[i] == '-' || span.text[i] == '+'))
        negative = span.text[i++] == '-';
    if (i == span.length)
        return false;
    int64_t result = 0;
    for (; i < span.length; i++) {
        if (span.text[i] < '0' || span.text[i] > '9' ||
            __builtin_mul_overflow(result, (int64_t)10, &result) ||
            __builtin_add_overflow(result, (int64_t)(span.text[i] - '0'), &result))
            return false;
    }
    *value = negative ? -result : result;
    return true;
}

static bool special_real(struct span span, double *value)
{
    bool negative = span.length && span.text[0] == '-';
    if (span.length && (span.text[0] == '-' || span.text[0] == '+')) {
        span.text++;
        span.length--;
    }
    if (span_equal_case(span, "nan"))
        *value = NAN;
    else if (span_equal_case(span, "inf") || span_equal_case(span, "infinity"))
        *value = INFINITY;
    else
        return false;
    if (negative)
        *value = -*value;
    return true;
}

/* Returns the length of a number's digits and point, before its exponent; 0 when malformed. */
static size_t mantissa_length(struct span span)
{
    size_t i = 0, digits = 0, points = 0;
    if (i < span.length && (span.text[i] == '-' || span.text[i] == '+'))
        i++;
    for (; i < span.length; i++) {
        if (span.text[i] >= '0' && span.text[i] <= '9')
            digits++;
        else if (span.text[i] == '.')
            points++;
        else
            break;
    }
    return digits && points <= 1 ? i : 0;
}

/* Returns the C locale, which glibc neither allocates nor frees: threads that run this at the same time
 * store the same value. */
static locale_t c_locale(void)
{
    static _Atomic(locale_t) known;
    locale_t locale = atomic_load_explicit(&known, memory_order_relaxed);
    if (!locale) {
        locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        atomic_store_explicit(&known, locale, memory_order_relaxed);
    }
    return locale;
}

/* Parses the exponent as an integer, cut far beyond the range of doubles. */
static bool span_exponent(struct span tail, int *exponent)
{
    int64_t value;
    if (tail.length < 2 || !memchr("eEdDqQ", tail.text[0], 6) ||
        !span_integer((struct span){tail.text + 1, tail.length - 1}, &value))
        return false;
    *exponent = value > 100000 ? 100000 : value < -100000 ? -100000 : (int)value;
    return true;
}

enum number_verdict span_real(struct span span, int shift, double *value)
{
    char text[MATRIX_MAX_NUMBER + 16];
    int exponent = 0;
    if (special_real(span, value))
        return NUMBER_GOOD;
    size_t length = mantissa_length(span);
    if (!length || length > MATRIX_MAX_NUMBER)
        return NUMBER_MALFORMED;
    if (length < span.length &&
        !span_exponent((struct span){span.text + length, span.length - length}, &exponent))
        return NUMBER_MALFORMED;
    memcpy(text, span.text, length);
    text[length] = 0;
    if (exponent + shift != 0)
        snprintf(text + length, sizeof text - length, "e%d", exponent + shift);
    *value = strtod_l(text, NULL, c_locale());
    return isinf(*value) ? NUMBER_TOO_LARGE : NUMBER_GOOD;
}
