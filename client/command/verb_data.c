/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier data: put, get, ls, info, rm, cp, mv.
 */
#include "config.h"

#include "client/command/bar.h"
#include "client/command/layout.h"
#include "client/command/session.h"
#include "client/command/table.h"
#include "client/command/values.h"
#include "client/values_storage.h"
#include "core/datum.h"
#include "core/matrix.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- progress ---- */

struct moving {
    pthread_mutex_t lock; /* several threads tell */
    struct bar bar;
};

static void on_moved(void *arg, double fraction)
{
    struct moving *moving = arg;
    pthread_mutex_lock(&moving->lock);
    bar_draw(&moving->bar, fraction, "moved");
    pthread_mutex_unlock(&moving->lock);
}

static void moving_begin(struct moving *moving)
{
    pthread_mutex_init(&moving->lock, NULL);
    bar_init(&moving->bar);
}

static void moving_end(struct moving *moving)
{
    bar_clear(&moving->bar);
    pthread_mutex_destroy(&moving->lock);
}

/* "data:" in front of an identity, as `call` has it, may stay. */
static const char *identity(const char *word)
{
    return strncmp(word, "data:", 5) == 0 ? word + 5 : word;
}

/* ---- what is shown ---- */

static const char *shape_text(const struct esp_data_info *info, char *text, size_t size)
{
    struct datum_shape shape = {.type = (enum base_type)(info->type - 1), .n_dims = info->n_dims};
    memcpy(shape.dims, info->dims, sizeof shape.dims);
    if (info->layout.rows > 0) {
        const struct block_cyclic_matrix layout = layout_of(info, &info->layout);
        datum_shape_spread(&shape, &layout, NULL);
    }
    return datum_shape_text(&shape, text, size);
}

static const char *place_text(const struct esp_data_info *info)
{
    return info->in_memory && info->on_disk ? "memory, disk" : info->on_disk ? "disk" : "memory";
}

static json_t *info_json(const struct esp_data_info *info)
{
    json_t *dims = json_array();
    for (unsigned i = 0; i < info->n_dims; i++)
        json_array_append_new(dims, json_integer(info->dims[i]));
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:I, s:s, s:b, s:b, s:b, s:i, s:I, s:I, s:I, s:f, s:f}",
                     "id", info->id, "server", info->server, "address", info->address, "owner", info->owner,
                     "type", esp_type_name(info->type), "dims", dims, "bytes", (json_int_t)info->bytes,
                     "mode", datum_mode_name((enum datum_mode)info->mode), "replica", info->replica,
                     "in_memory", info->in_memory, "on_disk", info->on_disk, "users", (int)info->users,
                     "gets", (json_int_t)info->gets, "bytes_in", (json_int_t)info->bytes_in, "bytes_out",
                     (json_int_t)info->bytes_out, "created", info->created_s, "idle_s", info->idle_s);
}

static json_t *list_json(const struct esp_data_info *infos, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, info_json(&infos[i]));
    return list;
}

static void print_list(const struct esp_data_info *infos, size_t n)
{
    static const char *const headings[] = {"DATUM", "WHAT", ">SIZE", "MODE", "SERVER", "WHERE", ">IDLE"};
    char shape[DATUM_SHAPE_TEXT], bytes[QUANTITY_TEXT], idle[QUANTITY_TEXT];
    struct table table;
    table_init(&table, 7, headings);
    for (size_t i = 0; i < n; i++) {
        table_cell(&table, "%s", infos[i].id);
        table_cell(&table, "%s", shape_text(&infos[i], shape, sizeof shape));
        table_cell(&table, "%s", quantity_bytes(infos[i].bytes, bytes));
        table_cell(&table, "%s%s", datum_mode_name((enum datum_mode)infos[i].mode),
                   infos[i].replica ? ", replica" : "");
        table_cell(&table, "%s", infos[i].server);
        table_cell(&table, "%s", place_text(&infos[i]));
        table_cell(&table, "%s", quantity_seconds(infos[i].idle_s, idle));
    }
    table_print(&table, 0, stdout);
}

static void print_info(const struct esp_data_info *info)
{
    char shape[DATUM_SHAPE_TEXT], text[QUANTITY_TEXT], when[64] = "";
    time_t created = (time_t)info->created_s;
    struct tm local;
    printf("%s\n", info->id);
    printf("  on         %s (%s), %s%s\n", info->server, info->address, place_text(info),
           info->replica ? ", a replica" : "");
    printf("  what       %s, %s\n", shape_text(info, shape, sizeof shape), quantity_bytes(info->bytes, text));
    printf("  mode       %s\n", datum_mode_name((enum datum_mode)info->mode));
    if (*info->owner)
        printf("  owner      %s\n", info->owner);
    if (localtime_r(&created, &local) && strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local))
        printf("  made       %s\n", when);
    printf("  used       %llu times, by %u now, last %s ago\n", (unsigned long long)info->gets, info->users,
           quantity_seconds(info->idle_s, text));
    printf("  moved      %s in", quantity_bytes(info->bytes_in, text));
    printf(", %s out\n", quantity_bytes(info->bytes_out, text));
}

/* ---- put ---- */

static enum esp_status type_of(const struct command_line *command, const struct matrix *matrix,
                               enum esp_type *type, struct esp_error *error)
{
    const char *word = command_option_value(command, "type");
    *type = matrix->is_complex ? ESP_TYPE_DOUBLE_COMPLEX : ESP_TYPE_DOUBLE;
    if (!word)
        return ESP_OK;
    for (int t = ESP_TYPE_CHAR; t <= ESP_TYPE_DOUBLE_COMPLEX; t++)
        if (strcmp(esp_type_name((enum esp_type)t), word) == 0) {
            *type = (enum esp_type)t;
            return ESP_OK;
        }
    return error_set(
        error, ESP_INVALID,
        "--type: expected char, short, int, long, int64, float, double, complex or double complex, "
        "found %s",
        word);
}

static enum esp_status to_array(const struct matrix_file *file, enum esp_type type,
                                struct esp_argument *array, struct esp_error *error)
{
    const struct matrix *matrix = &file->matrix;
    size_t n = (size_t)(matrix->rows * matrix->cols);
    *array = (struct esp_argument){.type = type, .n_dims = file->is_vector ? 1 : 2};
    array->dims[0] = file->is_vector ? (int64_t)n : matrix->rows;
    array->dims[1] = file->is_vector ? 0 : matrix->cols;
    array->data = calloc(n ? n : 1, esp_type_size(type));
    if (!array->data)
        return error_no_memory(error, "the matrix");
    for (size_t i = 0; i < n; i++) {
        double re = matrix->values[matrix->is_complex ? 2 * i : i];
        double im = matrix->is_complex ? matrix->values[2 * i + 1] : 0;
        if (!value_store_element(type, array->data, i, matrix, i))
            return error_set(error, ESP_INVALID, "element (%lld, %lld), %g%+gi, does not fit type %s",
                             (long long)(i % (size_t)matrix->rows + 1),
                             (long long)(i / (size_t)matrix->rows + 1), re, im, esp_type_name(type));
    }
    return ESP_OK;
}

static enum exit_code put(const struct command_line *command, const struct esp_argument *array,
                          const struct esp_data_layout *layout, enum datum_mode mode)
{
    char *id = NULL;
    struct moving moving;
    moving_begin(&moving);
    const char *server = command_option_value(command, "server");
    enum esp_status status =
        layout ? esp_data_put_pieces(server, array, layout, NULL, (enum esp_data_mode)mode, on_moved, &moving,
                                     &id)
               : esp_data_put(server, array, (enum esp_data_mode)mode, on_moved, &moving, &id);
    moving_end(&moving);
    if (status != ESP_OK)
        return session_fail(command);
    enum exit_code code;
    if (command->json) {
        code = command_json(json_pack("{s:s}", "id", id));
    } else {
        puts(id);
        code = command_flush();
    }
    free(id);
    return code;
}

/* Dense, with integers of all 64 bits where they are to be such. */
static enum esp_status load(const struct command_line *command, struct matrix_file *file, enum esp_type *type,
                            struct esp_error *error)
{
    const char *path = command->operands[0];
    enum esp_status status = matrix_load_array(path, 0, file, error);
    if (status != ESP_OK)
        return status;
    if (file->n_dims > 2)
        status = error_set(error, ESP_INVALID, "%s: expected at most two dimensions, found %u", path,
                           file->n_dims);
    if (status == ESP_OK)
        status = matrix_make_dense(&file->matrix, 0, error);
    if (status == ESP_OK)
        status = type_of(command, &file->matrix, type, error);
    if (status == ESP_OK && file->field == FIELD_INTEGER && *type != ESP_TYPE_INT64 &&
        *type != ESP_TYPE_LONG && (status = matrix_check_doubles(&file->matrix, error)) != ESP_OK)
        error_prefix(error, "%s", path);
    if (status != ESP_OK)
        matrix_file_clear(file);
    return status;
}

enum exit_code verb_data_put(const struct command_line *command)
{
    struct esp_error error = {0};
    struct matrix_file file = {0};
    struct esp_argument array = {0};
    enum datum_mode mode = DATUM_VOLATILE;
    enum esp_type type = ESP_TYPE_DOUBLE;
    const char *word = command_option_value(command, "mode");
    if (!command_option_value(command, "server"))
        return command_usage(command, "expected the server on which the datum is to live: --server NAME");
    if (word && datum_mode_parse(word, &mode, &error) != ESP_OK)
        return command_usage(command, "--mode: %s", error.text);
    struct esp_data_layout layout;
    bool in_pieces;
    if (layout_option(command, &in_pieces, &layout, &error) != ESP_OK)
        return command_usage(command, "%s", error.text);
    if (matrix_file_fault(load(command, &file, &type, &error), &error) != ESP_OK)
        return command_fail(command, &error);
    enum esp_status status = to_array(&file, type, &array, &error);
    matrix_file_clear(&file);
    enum exit_code code = status == ESP_OK ? session_open(command) : command_fail(command, &error);
    if (code == EXIT_DONE) {
        code = put(command, &array, in_pieces ? &layout : NULL, mode);
        grpc_finalize();
    }
    free(array.data);
    return code;
}

/* ---- get ---- */

static enum esp_status save(const char *path, const struct matrix_format *format,
                            const struct esp_data_info *info, const void *memory, struct esp_error *error)
{
    struct matrix matrix;
    int64_t rows = info->n_dims > 0 ? info->dims[0] : 1, cols = 1;
    for (unsigned i = 1; i < info->n_dims; i++)
        cols *= info->dims[i];
    bool is_complex = info->type == ESP_TYPE_COMPLEX || info->type == ESP_TYPE_DOUBLE_COMPLEX;
    enum esp_status status = matrix_init(&matrix, rows, cols, is_complex, UINT64_MAX, error);
    if (status != ESP_OK)
        return status;
    for (size_t i = 0; i < (size_t)(rows * cols) && status == ESP_OK; i++)
        status = value_load_element(info->type, memory, i, &matrix, i, error);
    struct matrix_file file = matrix_as_file(&matrix);
    if (info->type <= ESP_TYPE_INT64)
        file.field = FIELD_INTEGER;
    file.is_short = esp_type_size(info->type) <= 4 || info->type == ESP_TYPE_COMPLEX;
    file.is_vector = info->n_dims == 1;
    if (status == ESP_OK)
        status = matrix_save(path, &file, format, error);
    matrix_clear(&matrix);
    return status;
}

static enum exit_code get(const struct command_line *command, const struct esp_data_info *info,
                          const struct matrix_format *format)
{
    struct esp_error error = {0};
    struct moving moving;
    void *memory = malloc(info->bytes ? info->bytes : 1);
    if (!memory) {
        error_no_memory(&error, "the datum");
        return command_fail(command, &error);
    }
    moving_begin(&moving);
    enum esp_status status = esp_data_get(info->id, memory, info->bytes, on_moved, &moving);
    moving_end(&moving);
    enum exit_code code = EXIT_DONE;
    if (status != ESP_OK)
        code = session_fail_kept(command);
    else if (save(command->operands[1], format, info, memory, &error) != ESP_OK)
        code = command_fail(command, &error);
    else if (command->json)
        code = command_json(info_json(info));
    free(memory);
    return code;
}

enum exit_code verb_data_get(const struct command_line *command)
{
    struct esp_error error = {0};
    const struct matrix_format *format;
    struct esp_data_info *infos;
    size_t n;
    const char *path = command->operands[1];
    if (values_format(command, &format, &error) != ESP_OK)
        return command_fail(command, &error);
    if ((!format && matrix_check_ending(path, &error) != ESP_OK) ||
        command_check_output(path, &error) != ESP_OK)
        return command_fail(command, &error);
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    if (esp_data_look(identity(command->operands[0]), &infos, &n) == ESP_OK) {
        code = get(command, &infos[0], format);
        esp_data_free(infos);
    } else {
        code = session_fail_kept(command);
    }
    grpc_finalize();
    return code;
}

/* ---- ls, info ---- */

enum exit_code verb_data_ls(const struct command_line *command)
{
    struct esp_data_info *infos;
    size_t n;
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    if (esp_data_list(command_option_value(command, "server"), &infos, &n) != ESP_OK) {
        code = session_fail(command);
    } else if (command->json) {
        code = command_json(list_json(infos, n));
        esp_data_free(infos);
    } else {
        print_list(infos, n);
        esp_data_free(infos);
        code = command_flush();
    }
    grpc_finalize();
    return code;
}

enum exit_code verb_data_info(const struct command_line *command)
{
    struct esp_data_info *infos;
    size_t n;
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    if (esp_data_look(identity(command->operands[0]), &infos, &n) != ESP_OK) {
        code = session_fail_kept(command);
    } else {
        for (size_t i = 0; i < n && !command->json; i++)
            print_info(&infos[i]);
        code = command->json ? command_json(list_json(infos, n)) : command_flush();
        esp_data_free(infos);
    }
    grpc_finalize();
    return code;
}

/* ---- rm, cp, mv ---- */

enum exit_code verb_data_rm(const struct command_line *command)
{
    enum exit_code code = session_open(command), worst = code;
    for (int i = 0; code == EXIT_DONE && i < command->n_operands; i++)
        if (esp_data_drop(identity(command->operands[i])) != ESP_OK)
            worst = session_fail_kept(command); /* the others go all the same */
    if (code == EXIT_DONE)
        grpc_finalize();
    return worst;
}

static enum exit_code copy_one(const struct command_line *command, const char *id, const char *to, bool move)
{
    struct moving moving;
    moving_begin(&moving);
    enum esp_status status = esp_data_copy(id, to, move, on_moved, &moving);
    moving_end(&moving);
    return status == ESP_OK ? EXIT_DONE : session_fail(command);
}

/* What cannot go is told, and the others go all the same. Replicas have their originals elsewhere. */
static enum exit_code copy_all(const struct command_line *command, const char *from, const char *to,
                               bool move)
{
    struct esp_data_info *infos;
    size_t n;
    if (esp_data_list(from, &infos, &n) != ESP_OK)
        return session_fail(command);
    enum exit_code worst = EXIT_DONE;
    for (size_t i = 0; i < n; i++) {
        enum exit_code code = infos[i].replica && move ? EXIT_DONE : copy_one(command, infos[i].id, to, move);
        worst = code != EXIT_DONE ? code : worst;
    }
    esp_data_free(infos);
    return worst;
}

static enum exit_code copy(const struct command_line *command, bool move)
{
    const char *from = command_option_value(command, "from");
    if (from && command->n_operands == 2)
        return command_usage(command, "expected an ID, or --from for all data of a server, found both");
    if (!from && command->n_operands == 1)
        return command_usage(command,
                             "expected the ID of a datum and a server, or --from SERVER and a server");
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    code = from ? copy_all(command, from, command->operands[0], move)
                : copy_one(command, identity(command->operands[0]), command->operands[1], move);
    grpc_finalize();
    return code;
}

enum exit_code verb_data_cp(const struct command_line *command)
{
    return copy(command, false);
}

enum exit_code verb_data_mv(const struct command_line *command)
{
    return copy(command, true);
}
