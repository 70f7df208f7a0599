/* SPDX-License-Identifier: Apache-2.0
 *
 * Values as they are written: numbers, letters, matrices, texts and files become memory of the type that is
 * wanted.
 */
#include "config.h"

#include "util/contents.h"
#include "core/values/signature.h"
#include "core/values/values_storage.h"
#include "core/values/values_texts.h"
#include "util/bytes.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_integer_type(enum esp_type type)
{
    return type == ESP_TYPE_CHAR || type == ESP_TYPE_SHORT || type == ESP_TYPE_INT || type == ESP_TYPE_LONG ||
           type == ESP_TYPE_INT64;
}

static bool is_complex_type(enum esp_type type)
{
    return type == ESP_TYPE_COMPLEX || type == ESP_TYPE_DOUBLE_COMPLEX;
}

static bool fits_integer(enum esp_type type, int64_t value)
{
    switch (type) {
    case ESP_TYPE_CHAR:
        return value >= INT8_MIN && value <= UINT8_MAX;
    case ESP_TYPE_SHORT:
        return value >= INT16_MIN && value <= INT16_MAX;
    case ESP_TYPE_INT:
        return value >= INT32_MIN && value <= INT32_MAX;
    default:
        return true;
    }
}

static void store_integer(enum esp_type type, void *memory, size_t index, int64_t value)
{
    switch (type) {
    case ESP_TYPE_CHAR:
        ((char *)memory)[index] = (char)value;
        break;
    case ESP_TYPE_SHORT:
        ((int16_t *)memory)[index] = (int16_t)value;
        break;
    case ESP_TYPE_INT:
        ((int32_t *)memory)[index] = (int32_t)value;
        break;
    default:
        ((int64_t *)memory)[index] = value;
        break;
    }
}

/* False when the type cannot hold the value. */
bool value_store(enum esp_type type, void *memory, size_t index, double re, double im)
{
    if (is_integer_type(type)) {
        if (im != 0 || !(fabs(re) < 9.2e18) || re != floor(re) || !fits_integer(type, (int64_t)re))
            return false;
        store_integer(type, memory, index, (int64_t)re);
        return true;
    }
    if (im != 0 && !is_complex_type(type))
        return false;
    bool is_single = type == ESP_TYPE_FLOAT || type == ESP_TYPE_COMPLEX;
    size_t parts = is_complex_type(type) ? 2 : 1;
    if (is_single) {
        ((float *)memory)[parts * index] = (float)re;
        if (parts == 2)
            ((float *)memory)[2 * index + 1] = (float)im;
        return !(isfinite(re) && isinf((float)re)) && !(isfinite(im) && isinf((float)im));
    }
    ((double *)memory)[parts * index] = re;
    if (parts == 2)
        ((double *)memory)[2 * index + 1] = im;
    return true;
}

static bool is_wide_type(enum esp_type type)
{
    return type == ESP_TYPE_LONG || type == ESP_TYPE_INT64;
}

bool value_store_element(enum esp_type type, void *memory, size_t to, const struct matrix *matrix,
                         size_t from)
{
    if (matrix->wide && matrix->wide[from] && is_wide_type(type)) {
        store_integer(type, memory, to, matrix->wide[from]);
        return true;
    }
    return value_store(type, memory, to, matrix->values[matrix->is_complex ? 2 * from : from],
                       matrix->is_complex ? matrix->values[2 * from + 1] : 0);
}

enum esp_status value_take_matrix(struct values *values, size_t index, const struct given_array *given,
                                  struct esp_error *error)
{
    const struct matrix *matrix = given->matrix;
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    size_t size = esp_type_size(formal->type);
    if (size == 0)
        return error_set(error, ESP_INVALID, "%s: expected a %s, found a matrix", formal->name,
                         esp_type_name(formal->type));
    enum storage storage = values_argument(values, index)->storage;
    if (storage == STORAGE_CSC || storage == STORAGE_CSR)
        return values_compress(values, index, matrix, error);
    if (matrix_is_sparse(matrix))
        return values_take_sparse(values, index, matrix, error);
    enum esp_status status = values_take_extents(values, index, given, error);
    if (status == ESP_OK)
        status = value_memory(values, index, (size_t)(matrix->rows * matrix->cols) * size, error);
    if (status != ESP_OK)
        return status;
    values->slots[index].is_full = true;
    values->slots[index].is_nothing = values_is_nothing(matrix, formal);
    for (int64_t j = 0; j < matrix->cols; j++)
        for (int64_t i = 0; i < matrix->rows; i++) {
            size_t from = (size_t)(j * matrix->rows + i);
            size_t to =
                storage == STORAGE_FULL ? values_place(formal, &values->arguments[index], from) : from;
            double re = matrix->values[matrix->is_complex ? 2 * from : from];
            double im = matrix->is_complex ? matrix->values[2 * from + 1] : 0;
            if (!value_store_element(formal->type, values->slots[index].memory, to, matrix, from))
                return error_set(error, ESP_INVALID,
                                 "%s: expected elements of type %s, found %.17g%s in row %lld, column %lld",
                                 formal->name, esp_type_name(formal->type), re,
                                 im != 0 ? " with an imaginary part" : "", (long long)i + 1,
                                 (long long)j + 1);
        }
    return ESP_OK;
}

enum esp_status values_too_large(enum esp_status status, struct esp_error *error)
{
    size_t length = strlen(error->text);
    if (status == ESP_LIMIT && length < sizeof error->text)
        snprintf(error->text + length, sizeof error->text - length, " (--max-input sets the limit)");
    return matrix_file_fault(status, error);
}

static enum esp_status take_matrix_file(struct values *values, size_t index, const char *path,
                                        struct esp_error *error)
{
    struct matrix_file file;
    enum storage storage = values_argument(values, index)->storage;
    bool keeps_sparse = storage != STORAGE_FULL;
    enum esp_status status = keeps_sparse ? matrix_load(path, &values->reading, &file, error)
                                          : matrix_load_array(path, &values->reading, &file, error);
    if (status == ESP_OK && !keeps_sparse &&
        (status = matrix_make_dense(&file.matrix, values->reading.max_bytes, error)) != ESP_OK) {
        error_prefix(error, "%s", path);
        matrix_file_clear(&file);
    }
    if (status != ESP_OK)
        return values_too_large(status, error);
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    if (file.field == FIELD_INTEGER && !is_wide_type(formal->type) &&
        (status = matrix_check_doubles(&file.matrix, error)) != ESP_OK) {
        error_prefix(error, "%s: %s", formal->name, path);
        matrix_file_clear(&file);
        return status;
    }
    status = value_take_matrix(
        values, index,
        &(struct given_array){.matrix = &file.matrix, .n_dims = file.n_dims, .dims = file.dims}, error);
    matrix_file_clear(&file);
    return status;
}

static enum esp_status take_inline(struct values *values, size_t index, const char *text,
                                   struct esp_error *error)
{
    struct matrix matrix;
    if (matrix_parse_inline(text, &matrix, error) != ESP_OK)
        return error_prefix(error, "%s", values->problem->arguments[index].name);
    enum esp_status status =
        value_take_matrix(values, index, &(struct given_array){.matrix = &matrix}, error);
    matrix_clear(&matrix);
    return status;
}

static enum esp_status wrong_scalar(const struct esp_problem_argument *formal, const char *text,
                                    struct esp_error *error)
{
    char shape[256];
    const bool is_number = text[0] && strspn(text, "+-0123456789") == strlen(text);
    if (formal->n_dims)
        return error_set(error, ESP_INVALID,
                         "%s: expected %s as [1, 2; 3, 4], @FILE or data:ID, found '%.80s'", formal->name,
                         signature_shape(formal, shape, sizeof shape), text);
    const char *range = !is_number                       ? ""
                        : formal->type == ESP_TYPE_INT   ? " (-2147483648 to 2147483647)"
                        : formal->type == ESP_TYPE_SHORT ? " (-32768 to 32767)"
                                                         : "";
    return error_set(error, ESP_INVALID, "%s: expected %s %s%s, found '%.80s'", formal->name,
                     formal->type == ESP_TYPE_INT || formal->type == ESP_TYPE_INT64 ? "an" : "a",
                     esp_type_name(formal->type), range, text);
}

static enum esp_status take_integer(struct values *values, size_t index, const char *text,
                                    struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    bool is_number = end != text && *end == 0 && errno == 0;
    /* one letter is a letter, as for LAPACK's uplo */
    if (!is_number && formal->type == ESP_TYPE_CHAR && text[0] && !text[1]) {
        value = text[0];
        is_number = true;
    } else if (is_number && formal->type == ESP_TYPE_CHAR && !text[1]) {
        value = text[0]; /* the digit, not the code */
    }
    if (!is_number || !fits_integer(formal->type, value))
        return wrong_scalar(formal, text, error);
    enum esp_status status = value_memory(values, index, 16, error);
    if (status == ESP_OK)
        store_integer(formal->type, values->slots[index].memory, 0, value);
    return status;
}

static enum esp_status take_number(struct values *values, size_t index, const char *text,
                                   struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    double re, im;
    if (is_integer_type(formal->type))
        return take_integer(values, index, text, error);
    if (!matrix_parse_number(text, &re, &im))
        return wrong_scalar(formal, text, error);
    enum esp_status status = value_memory(values, index, 16, error);
    if (status == ESP_OK && !value_store(formal->type, values->slots[index].memory, 0, re, im))
        status = wrong_scalar(formal, text, error);
    return status;
}

static enum esp_status take_string(struct values *values, size_t index, const char *text,
                                   struct esp_error *error)
{
    struct value_slot *slot = &values->slots[index];
    char *copy = NULL;
    if (*text == '@') {
        enum esp_status status = contents_load_text(text + 1, &copy, error);
        if (status != ESP_OK)
            return status;
    } else if (!(copy = strdup(text))) {
        return error_no_memory(error, "a string");
    }
    slot->memory = slot->text = copy;
    values->arguments[index].type = values->problem->arguments[index].type;
    values->arguments[index].data =
        values->problem->arguments[index].mode == ESP_MODE_IN ? (void *)copy : (void *)&slot->text;
    return ESP_OK;
}

static enum esp_status take_file(struct values *values, size_t index, const char *text,
                                 struct esp_error *error)
{
    const char *path = *text == '@' ? text + 1 : text;
    uint64_t most = values->reading.max_bytes ? values->reading.max_bytes : MATRIX_DEFAULT_MAX_BYTES;
    char limit[BYTES_TEXT], size[BYTES_TEXT];
    struct stat is;
    if (stat(path, &is) == 0 && (uint64_t)is.st_size > most) {
        error_set(error, ESP_LIMIT, "%s: %s: expected at most %s, found %s",
                  values->problem->arguments[index].name, path, bytes_text(most, limit),
                  bytes_text((uint64_t)is.st_size, size));
        return values_too_large(ESP_LIMIT, error);
    }
    enum esp_status status = value_check_file(values->problem->arguments[index].name, path, error);
    if (status != ESP_OK)
        return status;
    char *copy = strdup(path);
    if (!copy)
        return error_no_memory(error, "a path");
    values->slots[index].memory = values->arguments[index].data = copy;
    values->arguments[index].type = ESP_TYPE_FILE;
    return ESP_OK;
}

/* A text for an array of characters. */
static enum esp_status take_characters(struct values *values, size_t index, const char *text,
                                       struct esp_error *error)
{
    size_t length = strlen(text);
    enum esp_status status = value_memory(values, index, length, error);
    if (status != ESP_OK)
        return status;
    memcpy(values->slots[index].memory, text, length);
    values->arguments[index].n_dims = 1;
    values->arguments[index].dims[0] = (int64_t)length;
    return ESP_OK;
}

enum esp_status value_take(struct values *values, size_t index, const char *text, struct esp_error *error)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    if (is_texts(formal))
        return values_take_texts(values, index, text, error);
    if (is_text(formal->type))
        return take_string(values, index, text, error);
    if (formal->type == ESP_TYPE_FILE)
        return take_file(values, index, text, error);
    if (*text == '@')
        return take_matrix_file(values, index, text + 1, error);
    if (*text == '[')
        return take_inline(values, index, text, error);
    if (formal->n_dims == 1 && formal->type == ESP_TYPE_CHAR)
        return take_characters(values, index, text, error);
    return formal->n_dims ? wrong_scalar(formal, text, error) : take_number(values, index, text, error);
}
