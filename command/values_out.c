/* SPDX-License-Identifier: Apache-2.0
 *
 * From typed memory to tables, JSON and files.
 */
#include "config.h"

#include "command/table.h"
#include "command/texts_out.h"
#include "command/values.h"
#include "core/values/signature.h"
#include "core/values/values_storage.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_ROWS 10 /* of an array, for people */
#define SHOWN_COLS 6

static bool is_integer(enum esp_type type)
{
    return type >= ESP_TYPE_CHAR && type <= ESP_TYPE_INT64;
}

static enum esp_status write_text(const char *path, const char *text, struct esp_error *error)
{
    FILE *stream = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
    if (!stream)
        return error_errno(error, "cannot write %s", path);
    bool good = fputs(text, stream) >= 0 && fflush(stream) == 0;
    if (stream != stdout)
        good = fclose(stream) == 0 && good;
    return good ? ESP_OK : error_errno(error, "cannot write %s", path);
}

/* A compressed matrix stays sparse. */
static enum esp_status result_matrix(const struct values *values, size_t index, struct matrix *matrix,
                                     struct esp_error *error)
{
    if (values->slots[index].sparse.starts)
        return matrix_to_sparse(&values->slots[index].sparse, matrix, error);
    return values_argument(values, index)->storage >= STORAGE_CSC
               ? values_sparse(values, index, matrix, error)
               : values_matrix(values, index, matrix, error);
}

/* Letters go as lines of a text, unless a format for matrices is asked for. */
static bool is_written_as_text(const struct values *values, size_t index)
{
    const struct value_slot *slot = &values->slots[index];
    const struct matrix_format *format = values->format ? values->format : matrix_format_of_path(slot->path);
    bool text = !format || (!values->format && strcmp(matrix_format_word(format), "csv") == 0);
    return text && values_is_characters(values, index);
}

/* Extents beyond two, where the format has them; others get the elements one after the other. */
static void tell_extents(const struct values *values, size_t index, struct matrix_file *file)
{
    const struct esp_argument *argument = &values->arguments[index];
    const char *path = values->slots[index].path;
    const struct matrix_format *format = values->format ? values->format : matrix_format_of_path(path);
    file->is_vector = values->problem->arguments[index].n_dims == 1;
    if (argument->n_dims <= 2 || !format || !matrix_format_has_arrays(format))
        return;
    file->n_dims = argument->n_dims;
    memcpy(file->dims, argument->dims, argument->n_dims * sizeof *file->dims);
}

static enum esp_status write_one(const struct values *values, size_t index, struct esp_error *error)
{
    const struct value_slot *slot = &values->slots[index];
    enum esp_type type = values->problem->arguments[index].type;
    if (type == ESP_TYPE_FILE && slot->has_spools)
        return values_copy_files(values, index, error);
    if (type == ESP_TYPE_FILE)
        return slot->spool ? values_copy_file(values, index, error) : ESP_OK; /* others are written already */
    if (is_texts(&values->problem->arguments[index]))
        return values_write_texts(values, index, error);
    if (is_text(type))
        return write_text(slot->path, slot->text ? slot->text : "", error);
    if (is_written_as_text(values, index))
        return values_write_characters(values, index, error);
    struct matrix matrix;
    enum esp_status status = result_matrix(values, index, &matrix, error);
    if (status != ESP_OK)
        return status;
    struct matrix_file file = matrix_as_file(&matrix);
    if (is_integer(type))
        file.field = FIELD_INTEGER;
    file.is_short = esp_type_size(type) <= 4 || type == ESP_TYPE_COMPLEX;
    tell_extents(values, index, &file);
    status = matrix_save(slot->path, &file, values->format, error);
    matrix_clear(&matrix);
    return status;
}

enum esp_status values_format(const struct command_line *command, const struct matrix_format **format,
                              struct esp_error *error)
{
    const char *word = command_option_value(command, "format");
    char list[128] = "";
    *format = word ? matrix_format_find(word) : NULL;
    if (!word || *format)
        return ESP_OK;
    for (unsigned i = 0; matrix_format_at(i); i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                 matrix_format_word(matrix_format_at(i)));
    }
    return error_set(error, ESP_INVALID, "--format: expected one of %s, found '%.40s'", list, word);
}

static bool goes_into_json(const struct values *values, size_t index)
{
    const char *path = values->slots[index].path;
    return values->as_json && path && strcmp(path, "-") == 0;
}

enum esp_status values_write(const struct values *values, struct esp_error *error)
{
    fflush(stdout);
    for (size_t i = 0; i < values->problem->n_arguments; i++) {
        if (!values->slots[i].path || goes_into_json(values, i))
            continue;
        enum esp_status status = write_one(values, i, error);
        if (status != ESP_OK)
            return status;
    }
    return ESP_OK;
}

/* Of a dense matrix, exactly. */
static int64_t integer_at(const struct matrix *matrix, int64_t row, int64_t col)
{
    double re, im;
    matrix_element(matrix, row, col, &re, &im);
    return matrix->wide ? matrix_integer(matrix, (size_t)(col * matrix->rows + row)) : (int64_t)re;
}

static const char *element_text(const struct matrix *matrix, int64_t row, int64_t col, bool integers,
                                char text[64])
{
    double re, im;
    matrix_element(matrix, row, col, &re, &im);
    if (integers)
        snprintf(text, 64, "%lld", (long long)integer_at(matrix, row, col));
    else if (matrix->is_complex)
        snprintf(text, 64, "%.6g%+.6gi", re, im);
    else
        snprintf(text, 64, "%.7g", re);
    return text;
}

void matrix_print(const struct matrix *matrix, bool integers)
{
    int64_t rows = matrix->rows > SHOWN_ROWS ? SHOWN_ROWS : matrix->rows;
    int64_t cols = matrix->cols > SHOWN_COLS ? SHOWN_COLS : matrix->cols;
    char text[64];
    int width = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            int length = (int)strlen(element_text(matrix, i, j, integers, text));
            width = length > width ? length : width;
        }
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++)
            printf("  %*s", width, element_text(matrix, i, j, integers, text));
        puts(cols < matrix->cols ? "  ..." : "");
    }
    if (rows < matrix->rows)
        printf("  %*s\n", width, "...");
}

/* Whether the value is here to be shown: an output that was fetched. */
static bool is_shown(const struct values *values, size_t index)
{
    const struct value_slot *slot = &values->slots[index];
    if (!argument_out(&values->problem->arguments[index]))
        return false;
    if (slot->is_kept)
        return slot->kept;
    if (goes_into_json(values, index))
        return slot->memory || slot->text || slot->spool;
    if (slot->path || values->problem->arguments[index].type == ESP_TYPE_FILE)
        return false;
    if (values->some_saved && values->problem->arguments[index].n_dims)
        return false;
    return slot->memory || slot->text;
}

static int64_t integer_value(enum esp_type type, const void *memory)
{
    double re, im;
    if (type == ESP_TYPE_LONG || type == ESP_TYPE_INT64)
        return *(const int64_t *)memory; /* all 64 bits */
    value_load(type, memory, 0, &re, &im);
    return (int64_t)re;
}

/* One letter, as it would be given; of another code its number. *text is "" then. */
static bool is_letter(const struct values *values, size_t index, char text[2])
{
    const char *memory = values->slots[index].memory;
    bool letter = values->problem->arguments[index].type == ESP_TYPE_CHAR && *memory >= ' ' && *memory <= '~';
    text[0] = letter ? *memory : 0;
    text[1] = 0;
    return letter;
}

static void print_scalar(const struct values *values, size_t index)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    const void *memory = values->slots[index].memory;
    double re, im;
    char letter[2];
    if (is_text(formal->type)) {
        printf("%s = %s\n", formal->name, values->slots[index].text ? values->slots[index].text : "");
    } else if (is_letter(values, index, letter)) {
        printf("%s = %s\n", formal->name, letter);
    } else if (is_integer(formal->type)) {
        printf("%s = %lld\n", formal->name, (long long)integer_value(formal->type, memory));
    } else {
        value_load(formal->type, memory, 0, &re, &im);
        printf("%s = %.*g", formal->name, formal->type == ESP_TYPE_FLOAT ? 9 : 17, re);
        if (formal->type == ESP_TYPE_COMPLEX || formal->type == ESP_TYPE_DOUBLE_COMPLEX)
            printf("%+.17gi", im);
        puts("");
    }
}

/* "A (4 x 4, 7 elements stored):" */
static void print_extents(const char *name, const struct esp_argument *extents, const struct matrix *matrix)
{
    printf("%s (", name);
    for (unsigned d = 0; d < extents->n_dims; d++)
        printf("%s%lld", d ? " x " : "", (long long)extents->dims[d]);
    if (matrix_is_sparse(matrix))
        printf(", %lld elements stored", (long long)matrix_stored(matrix));
    puts("):");
}

void values_warn(const struct values *values, FILE *stream)
{
    for (size_t i = 0; i < values->problem->n_arguments; i++)
        if (values->slots[i].is_whole)
            fprintf(
                stream,
                "%s: %s was to stay in pieces, and stays whole, as no ranks computed it: 'espalier data cp "
                "--grid PxQ --block R %s SERVER' makes a datum in pieces of it\n",
                values->problem->name, values->problem->arguments[i].name, values->slots[i].kept);
}

void values_print(const struct values *values)
{
    for (size_t i = 0; i < values->problem->n_arguments; i++) {
        const struct esp_problem_argument *formal = &values->problem->arguments[i];
        if (!is_shown(values, i))
            continue;
        if (values->slots[i].is_kept) {
            printf("%s = data:%s\n", formal->name, values->slots[i].kept);
            if (!values->slots[i].comes || values->slots[i].path)
                continue;
        }
        if (formal->n_dims == 0) {
            print_scalar(values, i);
            continue;
        }
        if (is_texts(formal)) {
            values_print_texts(values, i);
            continue;
        }
        if (values_is_characters(values, i)) {
            values_print_characters(values, i);
            continue;
        }
        struct matrix matrix;
        struct esp_error error = {0};
        if (result_matrix(values, i, &matrix, &error) != ESP_OK) {
            printf("%s: %s\n", formal->name, error.text);
            continue;
        }
        print_extents(formal->name, &values->arguments[i], &matrix);
        matrix_print(&matrix, is_integer(formal->type));
        matrix_clear(&matrix);
    }
}

static json_t *element_json(double re, double im, bool is_complex)
{
    return is_complex ? json_pack("[o,o]", command_json_real(re), command_json_real(im))
                      : command_json_real(re);
}

static json_t *matrix_element_json(const struct matrix *matrix, int64_t row, int64_t col, bool integers)
{
    double re, im;
    if (integers)
        return json_integer((json_int_t)integer_at(matrix, row, col));
    matrix_element(matrix, row, col, &re, &im);
    return element_json(re, im, matrix->is_complex);
}

json_t *matrix_json(const struct matrix *matrix, bool as_vector, bool integers)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < matrix->rows; i++) {
        if (as_vector) {
            json_array_append_new(list, matrix_element_json(matrix, i, 0, integers));
            continue;
        }
        json_t *row = json_array();
        for (int64_t j = 0; j < matrix->cols; j++)
            json_array_append_new(row, matrix_element_json(matrix, i, j, integers));
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *fetched_json(const struct values *values, size_t index);

/* What it is, and where it comes besides and is not in a file, the value. */
static json_t *kept_json(const struct values *values, size_t index)
{
    const struct value_slot *slot = &values->slots[index];
    json_t *json = json_pack("{s:s}", "datum", slot->kept);
    if (json && values->arguments[index].kept_in_pieces)
        json_object_set_new(json, "in_pieces", json_boolean(!slot->is_whole));
    if (json && slot->comes && (!slot->path || goes_into_json(values, index)))
        json_object_set_new(json, "value", fetched_json(values, index));
    return json;
}

static json_t *value_json(const struct values *values, size_t index)
{
    return values->slots[index].is_kept ? kept_json(values, index) : fetched_json(values, index);
}

static json_t *fetched_json(const struct values *values, size_t index)
{
    const struct esp_problem_argument *formal = &values->problem->arguments[index];
    const struct value_slot *slot = &values->slots[index];
    double re, im;
    if (slot->spool)
        return values_json_file(values, index);
    if (is_texts(formal))
        return values_json_texts(values, index);
    if (is_text(formal->type))
        return command_json_text(slot->text ? slot->text : "");
    char letter[2];
    if (formal->n_dims == 0 && is_letter(values, index, letter))
        return command_json_text(letter);
    if (formal->n_dims == 0 && is_integer(formal->type))
        return json_integer(integer_value(formal->type, slot->memory));
    if (formal->n_dims == 0) {
        value_load(formal->type, slot->memory, 0, &re, &im);
        return element_json(re, im, formal->type >= ESP_TYPE_COMPLEX);
    }
    json_t *texts = values_is_characters(values, index) ? values_json_characters(values, index) : NULL;
    if (texts)
        return texts;
    struct matrix matrix;
    if (result_matrix(values, index, &matrix, NULL) != ESP_OK)
        return json_null();
    json_t *list = matrix_json(&matrix, values->arguments[index].n_dims != 2, is_integer(formal->type));
    matrix_clear(&matrix);
    return list;
}

json_t *values_json(const struct values *values)
{
    json_t *object = json_object();
    for (size_t i = 0; i < values->problem->n_arguments; i++)
        if (is_shown(values, i))
            json_object_set_new(object, values->problem->arguments[i].name, value_json(values, i));
    return object;
}
