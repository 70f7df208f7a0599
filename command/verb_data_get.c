/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier data get: data into matrix files, arrays of strings into files with a line for each.
 */
#include "config.h"

#include "core/values/values_storage.h"
#include "command/lines.h"
#include "command/moving.h"
#include "command/put_view.h"
#include "command/session.h"
#include "command/values.h"
#include "command/verb_data.h"
#include "command/verbs.h"
#include "core/data/datum.h"
#include "core/matrix/matrix.h"
#include "core/matrix/matrix_view.h"
#include "util/scratch.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static struct matrix_file describe(const struct esp_data_info *info)
{
    int64_t rows = info->n_dims > 0 ? info->dims[0] : 1, cols = 1;
    for (unsigned i = 1; i < info->n_dims; i++)
        if (__builtin_mul_overflow(cols, info->dims[i], &cols))
            cols = 0; /* an empty array: check() knows that its elements can be counted */
    bool is_complex = info->type == ESP_TYPE_COMPLEX || info->type == ESP_TYPE_DOUBLE_COMPLEX;
    const struct matrix shape = {.rows = rows, .cols = cols, .is_complex = is_complex};
    struct matrix_file file = matrix_as_file(&shape);
    if (info->type <= ESP_TYPE_INT64)
        file.field = FIELD_INTEGER;
    file.is_short = esp_type_size(info->type) <= 4 || info->type == ESP_TYPE_COMPLEX;
    file.is_vector = info->n_dims == 1;
    return file;
}

/* What there are bytes of can be read: nothing beyond is, whatever the server says. */
static enum esp_status check(const struct esp_data_info *info, struct esp_error *error)
{
    struct datum_shape shape;
    data_info_shape(info, &shape);
    enum esp_status status = datum_shape_check(&shape, error);
    if (status != ESP_OK)
        error_prefix(error, "what %s says of the datum makes no sense", info->server);
    else if (esp_type_size(info->type) == 0)
        status = error_set(error, ESP_INVALID,
                           "expected an array of numbers or characters, found a datum of type %s",
                           esp_type_name(info->type));
    return status;
}

/* Where, in what is stored, the element is that comes as number `at` when columns come one by one; -1: it is
 * not stored. */
static int64_t place_of(const struct esp_data_info *info, const struct layout *places, size_t at)
{
    const struct esp_problem_argument formal = {.properties = info->by_rows ? ESP_PROPERTY_ROW_MAJOR : 0};
    struct esp_argument extents = {.n_dims = info->n_dims};
    if (info->storage != ESP_DATA_FULL)
        return layout_index(places, (int64_t)at % places->rows, (int64_t)at / places->rows);
    memcpy(extents.dims, info->dims, sizeof extents.dims);
    return (int64_t)values_place(&formal, &extents, at);
}

/* The whole matrix, zero where nothing is stored, as calls give it. */
static enum esp_status load(const struct esp_data_info *info, const void *memory, struct matrix *matrix,
                            struct esp_error *error)
{
    struct datum_shape shape;
    struct layout places;
    const uint64_t stored = info->bytes / esp_type_size(info->type);
    data_info_shape(info, &shape);
    datum_shape_places(&shape, &places);
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < (size_t)(matrix->rows * matrix->cols) && status == ESP_OK; i++) {
        int64_t from = place_of(info, &places, i);
        if (from >= (int64_t)stored)
            return error_set(error, ESP_INVALID, "element %zu of the datum lies beyond its %llu bytes", i + 1,
                             (unsigned long long)info->bytes);
        if (from >= 0)
            status = value_load_element(info->type, memory, (size_t)from, matrix, i, error);
    }
    return status;
}

/* Whether the elements are those of a matrix as they lie. */
static bool holds_doubles(const struct esp_data_info *info)
{
    return (info->type == ESP_TYPE_DOUBLE || info->type == ESP_TYPE_DOUBLE_COMPLEX) &&
           info->storage == ESP_DATA_FULL && !(info->by_rows && info->n_dims > 1);
}

static enum esp_status save(const char *path, const struct matrix_format *format,
                            const struct esp_data_info *info, void *memory, struct esp_error *error)
{
    struct matrix_file file = describe(info);
    /* A band may be next to nothing of its matrix. */
    const uint64_t most = info->storage == ESP_DATA_BANDED ? 0 : UINT64_MAX;
    int64_t rows = file.matrix.rows, cols = file.matrix.cols;
    if (holds_doubles(info)) {
        file.matrix.values = memory;
        return matrix_save(path, &file, format, error);
    }
    enum esp_status status = matrix_init(&file.matrix, rows, cols, file.matrix.is_complex, most, error);
    if (status != ESP_OK)
        return status;
    status = load(info, memory, &file.matrix, error);
    if (status == ESP_OK)
        status = matrix_save(path, &file, format, error);
    matrix_clear(&file.matrix);
    return status;
}

static enum esp_status bring(const struct esp_data_info *info, void *memory)
{
    struct moving moving;
    moving_begin(&moving);
    enum esp_status status = esp_data_get(info->id, memory, info->bytes, moving_told, &moving);
    moving_end(&moving);
    return status;
}

/* Whether such a file holds the elements as they are, so that they can come to where they are to lie. */
static bool lies_so(const char *path, const struct matrix_format *format, const struct esp_data_info *info)
{
    struct stat there;
    size_t length = strlen(path);
    if (!format)
        format = matrix_format_of_path(path);
    bool is_npy = format && strcmp(matrix_format_word(format), "npy") == 0 &&
                  !(length > 3 && strcasecmp(path + length - 3, ".gz") == 0);
    is_npy = is_npy && info->storage == ESP_DATA_FULL && !(info->by_rows && info->n_dims > 1);
    bool may_replace = strcmp(path, "-") != 0 && (lstat(path, &there) != 0 || S_ISREG(there.st_mode));
    return is_npy && may_replace && put_view_kind(info->type) && esp_type_size(info->type) >= 4;
}

/* Straight into the file. */
static enum exit_code get_in_place(const struct command_line *command, const struct esp_data_info *info,
                                   const char *path)
{
    struct esp_error error = {0};
    struct matrix_place *place;
    void *elements;
    const struct matrix_file about = describe(info);
    if (matrix_place_create(path, &about, &place, &elements, &error) != ESP_OK)
        return command_fail(command, &error);
    enum esp_status status = bring(info, elements);
    enum esp_status ended = matrix_place_end(place, status == ESP_OK, &error);
    if (status != ESP_OK)
        return session_fail_kept(command);
    return ended == ESP_OK ? EXIT_DONE : command_fail(command, &error);
}

static enum exit_code get_strings(const struct command_line *command, const char *id, const char *path,
                                  const struct matrix_format *format)
{
    struct esp_error error = {0};
    char **strings;
    size_t n;
    if (format)
        return command_usage(command, "--format: an array of strings goes to a file with a line for each");
    if (esp_data_get_strings(id, &strings, &n) != ESP_OK)
        return session_fail_kept(command);
    enum esp_status status = lines_write(path, strings, n, &error);
    free(strings);
    return status == ESP_OK ? EXIT_DONE : command_fail(command, &error);
}

static enum exit_code get(const struct command_line *command, const struct esp_data_info *info,
                          const char *path, const struct matrix_format *format)
{
    struct esp_error error = {0};
    if (check(info, &error) != ESP_OK || (!format && matrix_check_ending(path, &error) != ESP_OK))
        return command_fail(command, &error);
    if (lies_so(path, format, info))
        return get_in_place(command, info, path);
    struct scratch datum = {0};
    if (!scratch_grow(&datum, info->bytes ? info->bytes : 1)) {
        error_no_memory(&error, "the datum");
        return command_fail(command, &error);
    }
    enum exit_code code = EXIT_DONE;
    if (bring(info, datum.memory) != ESP_OK)
        code = session_fail_kept(command);
    else if (save(path, format, info, datum.memory, &error) != ESP_OK)
        code = command_fail(command, &error);
    scratch_clear(&datum);
    return code;
}

static enum exit_code get_one(const struct command_line *command, const char *id, const char *path,
                              const struct matrix_format *format, json_t *told)
{
    struct esp_data_info *infos;
    size_t n;
    if (esp_data_look(id, &infos, &n) != ESP_OK)
        return session_fail_kept(command);
    enum exit_code code = infos[0].type == ESP_TYPE_STRING ? get_strings(command, id, path, format)
                                                           : get(command, &infos[0], path, format);
    if (code == EXIT_DONE)
        json_array_append_new(told, data_info_json(&infos[0]));
    esp_data_free(infos);
    return code;
}

/* All that is meant of a session, each into a file of its name. What cannot come is told, and the others come
 * all the same. */
static enum exit_code get_several(const struct command_line *command, const struct meant *meant,
                                  const struct matrix_format *format, json_t *told)
{
    enum exit_code worst = EXIT_DONE;
    for (size_t i = 0; i < meant->n; i++) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof path, "%s/%s.%s", command->operands[1], meant->data[i].argument,
                     format ? matrix_format_word(format) : "mtx") >= (int)sizeof path)
            return command_usage(command, "the path of the folder is longer than %d bytes", PATH_MAX);
        enum exit_code code = get_one(command, meant->data[i].id, path, format, told);
        worst = code != EXIT_DONE ? code : worst;
    }
    return worst;
}

static enum exit_code check_place(const struct command_line *command, const struct meant *meant)
{
    struct esp_error error = {0};
    struct stat there;
    const char *path = command->operands[1];
    const bool is_there = stat(path, &there) == 0, is_folder = is_there && S_ISDIR(there.st_mode);
    if (meant->n == 1 && !is_folder) {
        if (command_check_output(path, &error) != ESP_OK)
            return command_fail(command, &error);
        return EXIT_DONE;
    }
    if (!meant->is_session) {
        command_check_output(path, &error);
        return command_fail(command, &error);
    }
    if (!is_folder)
        return command_usage(command, "expected a folder for %zu arrays, found %s, which %s", meant->n, path,
                             is_there ? "is none: say another name" : "is not there: make it with mkdir");
    for (size_t i = 1; i < meant->n; i++)
        if (strcmp(meant->data[i].argument, meant->data[i - 1].argument) == 0)
            return command_usage(command,
                                 "%s went in and came out, and has one file: say session:%s:inputs or "
                                 "session:%s:outputs",
                                 meant->data[i].argument, meant->session, meant->session);
    return EXIT_DONE;
}

static enum exit_code get_meant(const struct command_line *command, const struct meant *meant,
                                const struct matrix_format *format)
{
    struct stat there;
    bool is_folder = stat(command->operands[1], &there) == 0 && S_ISDIR(there.st_mode);
    enum exit_code code = check_place(command, meant);
    if (code == EXIT_DONE)
        code = session_open_for_data(command);
    if (code != EXIT_DONE)
        return code;
    json_t *told = json_array();
    code = is_folder ? get_several(command, meant, format, told)
                     : get_one(command, meant->data[0].id, command->operands[1], format, told);
    if (code == EXIT_DONE && command->json)
        code = command_json(json_incref(is_folder ? told : json_array_get(told, 0)));
    json_decref(told);
    grpc_finalize();
    return code;
}

enum exit_code verb_data_get(const struct command_line *command)
{
    struct esp_error error = {0};
    const struct matrix_format *format;
    struct meant meant;
    if (values_format(command, &format, &error) != ESP_OK)
        return command_fail(command, &error);
    enum exit_code code = data_meant(command, command->operands[0], &meant);
    if (code != EXIT_DONE)
        return code;
    code = get_meant(command, &meant, format);
    free(meant.data);
    return code;
}
