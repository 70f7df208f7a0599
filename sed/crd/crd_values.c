/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/crd/crd_values.h"

#include "core/matrix/matrix_text.h"
#include "core/problem/texts.h"

#include <inttypes.h>
#include <string.h>

static uint64_t count_of(const struct ring_file *file)
{
    return file->bytes / base_type_size((enum base_type)file->type);
}

static bool is_complex(const struct ring_file *file)
{
    return file->type == TYPE_COMPLEX || file->type == TYPE_DOUBLE_COMPLEX;
}

/* The place in memory of the element that is written as number `i`: matrices go row by row. */
static uint64_t element_at(const struct ring_file *file, uint64_t i)
{
    if (file->n_dims != 2 || file->row_major || file->dims[1] == 0)
        return i;
    uint64_t rows = (uint64_t)file->dims[0], columns = (uint64_t)file->dims[1];
    return i % columns * rows + i / columns;
}

/* The place in memory of the element that Matrix Market has as number `i`: column by column. */
static uint64_t market_element_at(const struct ring_file *file, uint64_t i)
{
    if (file->n_dims != 2 || !file->row_major || file->dims[0] == 0)
        return i;
    uint64_t rows = (uint64_t)file->dims[0], columns = (uint64_t)file->dims[1];
    return i % rows * columns + i / rows;
}

static const char *address_of(const struct ring_file *file, const void *value, uint64_t element)
{
    return (const char *)value + element * base_type_size((enum base_type)file->type);
}

/* ---- writing ---- */

static void write_number(FILE *stream, enum base_type type, const void *raw)
{
    float single[2];
    double twice[2];
    struct number number;
    switch (type) {
    case TYPE_CHAR:
        fputc(*(const char *)raw, stream);
        break;
    case TYPE_FLOAT:
        memcpy(single, raw, sizeof *single);
        fprintf(stream, "%.9g", (double)single[0]);
        break;
    case TYPE_DOUBLE:
        memcpy(twice, raw, sizeof *twice);
        fprintf(stream, "%.17g", twice[0]);
        break;
    case TYPE_COMPLEX:
        memcpy(single, raw, sizeof single);
        fprintf(stream, "%.9g %.9g", (double)single[0], (double)single[1]);
        break;
    case TYPE_DOUBLE_COMPLEX:
        memcpy(twice, raw, sizeof twice);
        fprintf(stream, "%.17g %.17g", twice[0], twice[1]);
        break;
    default:
        number = number_load(type, raw);
        fprintf(stream, "%" PRId64, number.integer);
    }
}

static void write_text(FILE *stream, const struct ring_file *file, const void *value)
{
    uint64_t n = count_of(file), columns = file->n_dims >= 2 ? (uint64_t)file->dims[1] : 1;
    for (uint64_t i = 0; i < n; i++) {
        write_number(stream, (enum base_type)file->type, address_of(file, value, element_at(file, i)));
        fputc((i + 1) % columns == 0 ? '\n' : ' ', stream);
    }
}

static void write_market(FILE *stream, const struct ring_file *file, const void *value)
{
    uint64_t n = count_of(file);
    fprintf(stream, "%s matrix array %s general\n%" PRId64 " %" PRId64 "\n", MATRIX_MARKET_BANNER,
            is_complex(file)           ? "complex"
            : file->type >= TYPE_FLOAT ? "real"
                                       : "integer",
            file->n_dims > 0 ? file->dims[0] : 1, file->n_dims > 1 ? file->dims[1] : 1);
    for (uint64_t i = 0; i < n; i++) {
        write_number(stream, (enum base_type)file->type, address_of(file, value, market_element_at(file, i)));
        fputc('\n', stream);
    }
}

/* An array of strings: a line for each. */
static void write_lines(FILE *stream, const struct ring_file *file, const void *value)
{
    struct text_item item = {0};
    if (texts_check(value, file->bytes, (uint64_t)file->dims[0], true, NULL) != ESP_OK)
        return; /* the daemon has looked at it */
    for (uint64_t i = 0; i < (uint64_t)file->dims[0]; i++) {
        texts_next(value, i, &item);
        fwrite(item.bytes, 1, item.length, stream);
        fputc('\n', stream);
    }
}

void value_write(FILE *stream, const struct ring_file *file, const void *value)
{
    if (file->format == FORMAT_TEXT)
        write_text(stream, file, value);
    else if (file->format == FORMAT_MATRIX_MARKET)
        write_market(stream, file, value);
    else if (file->type == TYPE_STRING && file->n_dims > 0)
        write_lines(stream, file, value);
    else if (file->bytes > 0)
        fwrite(value, 1, file->bytes, stream);
}

/* ---- reading ---- */

static struct span next_word(const char **at, const char *end)
{
    while (*at < end && strchr(" \t\r\n,;", **at) && **at)
        (*at)++;
    struct span word = {.text = *at};
    while (*at < end && (!strchr(" \t\r\n,;", **at) || !**at))
        (*at)++;
    word.length = (size_t)(*at - word.text);
    return word;
}

/* A component of a number; 1: there is one, 0: the file ends, -1: it is something else. */
static int read_component(const char **at, const char *end, enum base_type type, void *raw, struct span *word)
{
    struct number number = {.kind = NUMBER_INTEGER};
    *word = next_word(at, end);
    if (word->length == 0)
        return 0;
    if (type == TYPE_CHAR) {
        *(char *)raw = word->text[0];
        return word->length == 1 ? 1 : -1;
    }
    if (type >= TYPE_FLOAT) {
        number.kind = NUMBER_REAL;
        if (span_real(*word, 0, &number.real) != NUMBER_GOOD)
            return -1;
        if (type == TYPE_FLOAT) {
            float single = (float)number.real;
            memcpy(raw, &single, sizeof single);
        } else {
            memcpy(raw, &number.real, sizeof number.real);
        }
        return 1;
    }
    if (!span_integer(*word, &number.integer))
        return -1;
    return number_store(&number, type, raw, NULL) == ESP_OK ? 1 : -1;
}

static enum esp_status read_number(const char **at, const char *end, const char *name,
                                   const struct ring_file *file, uint64_t i, void *raw,
                                   struct esp_error *error)
{
    enum base_type type = (enum base_type)file->type, part = type;
    unsigned parts = is_complex(file) ? 2 : 1;
    if (is_complex(file))
        part = type == TYPE_COMPLEX ? TYPE_FLOAT : TYPE_DOUBLE;
    struct span word;
    char shown[64];
    for (unsigned p = 0; p < parts; p++) {
        int found = read_component(at, end, part, (char *)raw + p * base_type_size(part), &word);
        if (found == 0)
            return error_set(error, ESP_FAILED, "%s: expected %" PRIu64 " numbers (%s), found %" PRIu64, name,
                             count_of(file), base_type_name(type), i);
        if (found < 0)
            return error_set(error, ESP_FAILED,
                             "%s: expected number %" PRIu64 " of %" PRIu64 " (%s), found %s", name, i + 1,
                             count_of(file), base_type_name(type), span_show(word, shown, sizeof shown));
    }
    return ESP_OK;
}

static enum esp_status read_text(const char **at, const char *end, const char *name,
                                 const struct ring_file *file, char *value, struct esp_error *error)
{
    size_t size = base_type_size((enum base_type)file->type);
    enum esp_status status = ESP_OK;
    for (uint64_t i = 0, n = count_of(file); status == ESP_OK && i < n; i++)
        status = read_number(at, end, name, file, i, value + element_at(file, i) * size, error);
    return status;
}

static enum esp_status store_market(const struct ring_file *file, const struct matrix *matrix,
                                    const char *name, char *value, struct esp_error *error)
{
    enum base_type type = (enum base_type)file->type;
    for (uint64_t i = 0, n = count_of(file); i < n; i++) {
        char *raw = value + market_element_at(file, i) * base_type_size(type);
        const double *from = matrix->is_complex ? &matrix->values[2 * i] : &matrix->values[i];
        double twice[2] = {from[0], matrix->is_complex ? from[1] : 0};
        float single[2] = {(float)twice[0], (float)twice[1]};
        struct number number = {.kind = NUMBER_INTEGER, .integer = (int64_t)from[0]};
        if (type == TYPE_FLOAT || type == TYPE_COMPLEX)
            memcpy(raw, single, base_type_size(type));
        else if (type >= TYPE_FLOAT)
            memcpy(raw, twice, base_type_size(type));
        else if ((double)number.integer != from[0] || number_store(&number, type, raw, NULL) != ESP_OK)
            return error_set(error, ESP_FAILED, "%s: expected values that are %s, found %.17g", name,
                             base_type_name(type), from[0]);
    }
    return ESP_OK;
}

static enum esp_status read_market(const char *at, const char *end, const char *name,
                                   const struct ring_file *file, char *value, struct esp_error *error)
{
    struct matrix_file market;
    int64_t rows = file->n_dims > 0 ? file->dims[0] : 1, columns = file->n_dims > 1 ? file->dims[1] : 1;
    const struct matrix_reading reading = {.max_bytes = 16 * count_of(file) + (1 << 20)};
    enum esp_status status = matrix_parse(at, (size_t)(end - at), name, &reading, &market, error);
    if (status != ESP_OK)
        return status;
    if (market.n_dims > 2)
        status = error_set(error, ESP_FAILED, "%s: expected a matrix, found an array of %u dimensions", name,
                           market.n_dims);
    else if (market.matrix.rows != rows || market.matrix.cols != columns)
        status = error_set(error, ESP_FAILED,
                           "%s: expected a matrix of %" PRId64 " x %" PRId64 ", found %" PRId64 " x %" PRId64,
                           name, rows, columns, market.matrix.rows, market.matrix.cols);
    else if (market.matrix.is_complex && !is_complex(file))
        status = error_set(error, ESP_FAILED, "%s: expected a real matrix, found a complex one", name);
    else
        status = store_market(file, &market.matrix, name, value, error);
    matrix_file_clear(&market);
    return status;
}

enum esp_status value_read(const char **at, const char *end, const char *name, const struct ring_file *file,
                           void *value, struct esp_error *error)
{
    if (file->format == FORMAT_TEXT)
        return read_text(at, end, name, file, value, error);
    enum esp_status status = ESP_OK;
    if (file->format == FORMAT_MATRIX_MARKET)
        status = read_market(*at, end, name, file, value, error);
    else if ((uint64_t)(end - *at) != file->bytes)
        status = error_set(error, ESP_FAILED, "%s: expected %" PRIu64 " bytes, found %td", name, file->bytes,
                           end - *at);
    else if (file->bytes > 0)
        memcpy(value, *at, file->bytes);
    *at = end;
    return status;
}

enum esp_status value_read_rest(const char *at, const char *end, const char *name, struct esp_error *error)
{
    char shown[64];
    struct span word = next_word(&at, end);
    if (word.length == 0)
        return ESP_OK;
    return error_set(error, ESP_FAILED, "%s: expected its end, found %s", name,
                     span_show(word, shown, sizeof shown));
}
