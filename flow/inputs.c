/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "flow/inputs.h"
#include "core/matrix/matrix.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA_PREFIX "data:"

struct input {
    struct input *next;
    char *name, *value; /* in one block */
};

enum esp_status inputs_add(struct inputs *inputs, const char *word, struct esp_error *error)
{
    const char *equals = strchr(word, '=');
    if (!equals || equals == word || !equals[1])
        return error_set(error, ESP_INVALID, "expected NAME=VALUE, found '%.60s'", word);
    size_t length = (size_t)(equals - word);
    struct input *input = calloc(1, sizeof *input);
    char *copy = strdup(word);
    if (!input || !copy) {
        free(input);
        free(copy);
        return error_no_memory(error, "the inputs of a flow");
    }
    copy[length] = 0;
    *input = (struct input){.name = copy, .value = copy + length + 1, .next = inputs->inputs};
    inputs->inputs = input;
    return ESP_OK;
}

void inputs_clear(struct inputs *inputs)
{
    while (inputs->inputs) {
        struct input *next = inputs->inputs->next;
        free(inputs->inputs->name);
        free(inputs->inputs);
        inputs->inputs = next;
    }
}

uint64_t inputs_mix(const struct inputs *inputs, uint64_t digest,
                    void (*mix)(uint64_t *digest, const void *bytes, size_t n))
{
    for (const struct input *input = inputs->inputs; input; input = input->next) {
        mix(&digest, input->name, strlen(input->name) + 1);
        mix(&digest, input->value, strlen(input->value) + 1);
    }
    return digest;
}

/* The one given last: of the element itself before one of all elements. */
static const struct input *find(const struct inputs *inputs, const char *element)
{
    size_t base = strcspn(element, "[");
    const struct input *of_all = NULL;
    for (const struct input *input = inputs->inputs; input; input = input->next) {
        if (strcmp(input->name, element) == 0)
            return input;
        if (!of_all && strlen(input->name) == base && strncmp(input->name, element, base) == 0)
            of_all = input;
    }
    return of_all;
}

bool inputs_have(const struct inputs *inputs, const char *element)
{
    return find(inputs, element) != NULL;
}

/* The k-th subscript, from 1, of "A[1,2]"; *length is 0 when it has none. */
static const char *subscript(const char *element, unsigned k, size_t *length)
{
    const char *at = strchr(element, '[');
    *length = 0;
    while (at && k > 1) {
        at = strchr(at + 1, ',');
        k--;
    }
    if (at)
        *length = strcspn(++at, ",]");
    return at;
}

char *inputs_spell(const char *value, const char *element)
{
    size_t size = 0;
    char *text = NULL;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return NULL;
    for (const char *at = value; *at; at++) {
        size_t length = 0;
        const char *put = NULL;
        if (at[0] == '{' && at[1] >= '1' && at[1] <= '9' && at[2] == '}')
            put = subscript(element, (unsigned)(at[1] - '0'), &length);
        if (length) {
            fwrite(put, 1, length, stream);
            at += 2;
        } else {
            fputc(*at, stream);
        }
    }
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

char *inputs_datum(const struct inputs *inputs, const char *element)
{
    const struct input *input = find(inputs, element);
    size_t prefix = strlen(DATA_PREFIX);
    if (!input || strncmp(input->value, DATA_PREFIX, prefix) != 0)
        return NULL;
    return inputs_spell(input->value + prefix, element);
}

static enum esp_status load(const struct input *input, const char *element, uint64_t most_bytes,
                            struct matrix *matrix, struct esp_error *error)
{
    if (input->value[0] != '@')
        return matrix_parse_inline(input->value, matrix, error);
    struct matrix_reading reading = {.max_bytes = most_bytes};
    struct matrix_file file;
    char *path = inputs_spell(input->value + 1, element);
    if (!path)
        return error_no_memory(error, "the name of a file");
    enum esp_status status = matrix_load_dense(path, &reading, &file, error);
    free(path);
    if (status != ESP_OK)
        return status;
    *matrix = file.matrix;
    file.matrix = (struct matrix){0};
    matrix_file_clear(&file);
    return ESP_OK;
}

static bool fits(const struct shape *shape, const struct matrix *matrix)
{
    if (shape->n_dims == 2 && matrix->rows == shape->dims[0] && matrix->cols == shape->dims[1])
        return true;
    bool is_vector = matrix->rows == 1 || matrix->cols == 1;
    return shape->n_dims == 1 && is_vector && matrix->rows * matrix->cols == shape->dims[0];
}

static void put(enum base_type type, void *memory, size_t index, const double *value, bool is_complex)
{
    double im = is_complex ? value[1] : 0;
    switch (type) {
    case TYPE_FLOAT:
        ((float *)memory)[index] = (float)value[0];
        break;
    case TYPE_DOUBLE:
        ((double *)memory)[index] = value[0];
        break;
    case TYPE_COMPLEX:
        ((float *)memory)[2 * index] = (float)value[0];
        ((float *)memory)[2 * index + 1] = (float)im;
        break;
    default:
        ((double *)memory)[2 * index] = value[0];
        ((double *)memory)[2 * index + 1] = im;
    }
}

static enum esp_status put_integer(enum base_type type, void *memory, size_t index, double value,
                                   struct esp_error *error)
{
    struct number number = {.kind = NUMBER_INTEGER, .integer = (int64_t)value};
    if (!(fabs(value) < 9e15) || value != floor(value))
        return error_set(error, ESP_INVALID, "expected integers, found %g", value);
    return number_store(&number, type, (char *)memory + index * base_type_size(type), error);
}

static enum esp_status convert(const struct matrix *matrix, const struct flow_array *array, void *memory,
                               struct esp_error *error)
{
    bool holds_complex = array->type == TYPE_COMPLEX || array->type == TYPE_DOUBLE_COMPLEX;
    bool holds_reals = holds_complex || array->type == TYPE_FLOAT || array->type == TYPE_DOUBLE;
    size_t width = matrix->is_complex ? 2 : 1, n = (size_t)(matrix->rows * matrix->cols);
    if (matrix->is_complex && !holds_complex)
        return error_set(error, ESP_INVALID, "expected real numbers, found complex ones");
    for (size_t i = 0; i < n; i++) {
        size_t row = i % (size_t)matrix->rows, col = i / (size_t)matrix->rows;
        size_t to = array->row_major ? row * (size_t)matrix->cols + col : i;
        const double *value = &matrix->values[i * width];
        if (holds_reals)
            put(array->type, memory, to, value, matrix->is_complex);
        else if (put_integer(array->type, memory, to, *value, error) != ESP_OK)
            return error->status;
    }
    return ESP_OK;
}

enum esp_status inputs_read(const struct inputs *inputs, const char *element, const struct flow_array *array,
                            void *memory, struct esp_error *error)
{
    const struct input *input = find(inputs, element);
    const struct shape *shape = &array->shape;
    struct matrix matrix;
    if (!input)
        return error_set(error, ESP_INVALID,
                         "input '%s': nothing is given: expected %s=@FILE, a matrix, or data:ID", element,
                         element);
    if (array->storage != STORAGE_FULL || shape->n_dims > 2)
        return error_set(error, ESP_INVALID,
                         "input '%s': only vectors and matrices that are stored in full are read from files, "
                         "not a %s array of %u dimensions: expected data:ID",
                         element, storage_name(array->storage), shape->n_dims);
    enum esp_status status = load(input, element, 16 * (shape->count + 1), &matrix, error);
    if (status == ESP_OK) {
        if (!fits(shape, &matrix))
            status = error_set(
                error, ESP_INVALID, "expected %" PRId64 " x %" PRId64 ", found %" PRId64 " x %" PRId64,
                shape->dims[0], shape->n_dims == 2 ? shape->dims[1] : 1, matrix.rows, matrix.cols);
        else
            status = convert(&matrix, array, memory, error);
        matrix_clear(&matrix);
    }
    return status == ESP_OK ? ESP_OK : error_prefix(error, "input '%s'", element);
}
