/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier data put. What cannot be put is told before the file is read, where its beginning tells what it
 * will be; a put that is interrupted, also by the end of the process, is gone on with by the next one.
 */
#include "config.h"

#include "command/layout.h"
#include "command/lines.h"
#include "command/moving.h"
#include "command/put_note.h"
#include "command/put_view.h"
#include "command/session.h"
#include "command/values.h"
#include "command/verbs.h"
#include "command/waiting.h"
#include "core/values/values_storage.h"
#include "core/matrix/matrix_peek.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct put {
    const struct command_line *command;
    const char *server;
    enum datum_mode mode;
    bool in_pieces;
    struct esp_data_layout layout;
    struct put_note note;
    bool is_reserved; /* the server has room for this: */
    struct esp_argument room;
};

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
        "--type: expected char, short, int, long, int64, float, double, complex, double complex or string, "
        "found %s",
        word);
}

/* Without its elements. */
static struct esp_argument shape_of(const struct matrix_file *file, enum esp_type type)
{
    const struct matrix *matrix = &file->matrix;
    struct esp_argument array = {.type = type, .n_dims = file->is_vector ? 1 : 2};
    array.dims[0] = file->is_vector ? matrix->rows * matrix->cols : matrix->rows;
    array.dims[1] = file->is_vector ? 0 : matrix->cols;
    return array;
}

/* All of it, for who needs it as a whole. */
static enum esp_status make_whole(const struct esp_data_source *source, struct esp_argument *array,
                                  struct esp_error *error)
{
    const uint64_t bytes =
        (uint64_t)(array->dims[0] * (array->n_dims > 1 ? array->dims[1] : 1)) * esp_type_size(array->type);
    array->data = malloc(bytes ? bytes : 1);
    return array->data ? source->fill(source->arg, 0, bytes, array->data, error)
                       : error_no_memory(error, "the matrix");
}

/* Whether it can be put, and as what. */
static enum esp_status check_file(const struct command_line *command, const struct matrix_file *file,
                                  enum esp_type *type, struct esp_error *error)
{
    if (file->n_dims > 2)
        return error_set(error, ESP_SYNTAX, "%s: expected at most two dimensions, found %u",
                         command->operands[0], file->n_dims);
    return type_of(command, &file->matrix, type, error);
}

/* Dense, with integers of all 64 bits where they are to be such. */
static enum esp_status load(const struct command_line *command, struct matrix_file *file, enum esp_type *type,
                            struct esp_error *error)
{
    const char *path = command->operands[0];
    struct matrix_reading reading;
    enum esp_status status = values_reading(command, &reading, error);
    if (status == ESP_OK)
        status = matrix_load_array(path, &reading, file, error);
    if (status != ESP_OK)
        return status;
    status = check_file(command, file, type, error);
    if (status == ESP_OK)
        status = matrix_make_dense(&file->matrix, reading.max_bytes, error);
    if (status == ESP_OK && file->field == FIELD_INTEGER && *type != ESP_TYPE_INT64 &&
        *type != ESP_TYPE_LONG && (status = matrix_check_doubles(&file->matrix, error)) != ESP_OK)
        error_prefix(error, "%s", path);
    if (status != ESP_OK)
        matrix_file_clear(file);
    return status;
}

/* ---- putting ---- */

/* What the beginning of the file tells is enough to know whether there is room for it. */
static enum esp_status reserve(struct put *put)
{
    struct matrix_file file;
    struct esp_error error;
    enum esp_type type;
    if (put->in_pieces || !matrix_peek(put->command->operands[0], &file) || file.n_dims > 2 ||
        type_of(put->command, &file.matrix, &type, &error) != ESP_OK)
        return ESP_OK; /* what is wrong with it is told when it is read */
    put->room = shape_of(&file, type);
    if (put->room.dims[0] == 0 || (put->room.n_dims > 1 && put->room.dims[1] == 0))
        return ESP_OK; /* it needs none, and room for nothing would be all of it, there to be seen */
    const enum esp_status status =
        esp_data_reserve(put->server, &put->room, (enum esp_data_mode)put->mode, put->note.id);
    put->is_reserved = status == ESP_OK;
    return status;
}

/* The rest of the file is not what its beginning says, or there is no memory for it here: others may have the
 * room. */
static void give_up(struct put *put)
{
    put_note_remove(&put->note);
    if (put->is_reserved)
        esp_data_unreserve(put->server, &put->room, (enum esp_data_mode)put->mode, put->note.id);
}

/* The server does not take it, or the file cannot be read to its end: there is nothing to go on with. (A put
 * that the network or time ended is.) */
static void forget_refused(const struct put *put)
{
    switch (esp_last_error()->status) {
    case ESP_REFUSED:
    case ESP_LIMIT:
    case ESP_NO_MEMORY:
    case ESP_INVALID:
    case ESP_NOT_FOUND:
    case ESP_SYNTAX:
    case ESP_SYSTEM:
        put_note_remove(&put->note);
        break;
    default:
        break;
    }
}

static enum esp_status send(struct put *put, const struct esp_argument *array,
                            const struct esp_data_source *source)
{
    struct moving moving;
    char *id = NULL;
    enum esp_status status;
    moving_begin(&moving);
    if (put->in_pieces) {
        status = esp_data_put_pieces(put->server, array, &put->layout, NULL, (enum esp_data_mode)put->mode,
                                     moving_told, &moving, &id);
        snprintf(put->note.id, sizeof put->note.id, "%s", id ? id : "");
        free(id);
    } else {
        status = esp_data_put_parts(put->server, array, (enum esp_data_mode)put->mode, source, moving_told,
                                    &moving, put->note.id);
    }
    moving_end(&moving);
    return status;
}

/* Where --server does not say: the server with the most free memory of those that take sessions. A put that
 * was interrupted goes on where it began. */
static enum exit_code choose_server(struct put *put)
{
    struct esp_node *nodes = NULL;
    size_t n = 0;
    const struct esp_node *best = NULL;
    struct esp_error error;
    if (put->server)
        return EXIT_DONE;
    if (*put->note.server) {
        put->server = put->note.server;
        return EXIT_DONE;
    }
    if (esp_tree(NULL, &nodes, &n) != ESP_OK)
        return session_fail(put->command);
    for (size_t i = 0; i < n; i++)
        if (nodes[i].role == ESP_ROLE_SERVER && !nodes[i].unreachable && !nodes[i].draining &&
            (!best || nodes[i].memory_free > best->memory_free))
            best = &nodes[i];
    if (best)
        snprintf(put->note.server, sizeof put->note.server, "%s", best->name);
    esp_tree_free(nodes);
    if (best) {
        put->server = put->note.server;
        return EXIT_DONE;
    }
    error_set(&error, ESP_NO_SERVER, "the platform has no server that takes data now");
    return command_fail(put->command, &error);
}

static enum exit_code print_id(const struct put *put, const char *id)
{
    if (put->command->json)
        return command_json(json_pack("{s:s, s:s}", "id", id, "server", put->server));
    puts(id);
    return command_flush();
}

/* The file as it lies, or part by part. `known`: it is one that can be looked at so. */
static enum exit_code put_mapped(struct put *put, bool *known)
{
    struct esp_error error = {0};
    struct matrix_file about;
    struct matrix_view *mapped = NULL;
    struct put_view view = {0};
    enum esp_status status =
        put->in_pieces ? ESP_OK : matrix_view_open(put->command->operands[0], &mapped, &about, &error);
    *known = mapped || status != ESP_OK;
    if (!*known)
        return EXIT_DONE;
    if (status == ESP_OK)
        status = check_file(put->command, &about, &view.type, &error);
    if (status != ESP_OK) {
        matrix_view_close(mapped);
        give_up(put);
        return command_fail(put->command, &error);
    }
    view.view = mapped;
    view.integers = about.field == FIELD_INTEGER;
    view.rows = about.matrix.rows;
    struct esp_argument array = shape_of(&about, view.type);
    const struct esp_data_source source = put_view_source(&view);
    array.data = (void *)(uintptr_t)put_view_elements(&view);
    status = send(put, &array, array.data ? NULL : &source);
    matrix_view_close(mapped);
    if (status != ESP_OK)
        forget_refused(put);
    return status == ESP_OK ? EXIT_DONE : session_fail(put->command);
}

static enum exit_code put_read(struct put *put)
{
    struct esp_error error = {0};
    struct matrix_file file = {0};
    struct put_view view = {.matrix = &file.matrix, .type = ESP_TYPE_DOUBLE};
    waiting_begin(put->command->verb->name, put->command->operands[0]);
    enum esp_status status = matrix_file_fault(load(put->command, &file, &view.type, &error), &error);
    waiting_end();
    struct esp_argument array = shape_of(&file, view.type);
    view.rows = file.matrix.rows;
    const struct esp_data_source source = put_view_source(&view);
    array.data = (void *)(uintptr_t)(status == ESP_OK ? put_view_elements(&view) : NULL);
    const bool is_made = status == ESP_OK && !array.data && put->in_pieces;
    if (is_made)
        status = make_whole(&source, &array, &error);
    enum exit_code code = EXIT_DONE;
    if (status != ESP_OK) {
        give_up(put);
        code = command_fail(put->command, &error);
    } else if (send(put, &array, array.data ? NULL : &source) != ESP_OK) {
        forget_refused(put);
        code = session_fail(put->command);
    }
    if (is_made)
        free(array.data);
    matrix_file_clear(&file);
    return code;
}

/* Between the beginning and the end of the library's use. */
static enum exit_code put_file(struct put *put)
{
    bool is_mapped;
    if (reserve(put) != ESP_OK) {
        forget_refused(put);
        return session_fail(put->command);
    }
    if (!put->in_pieces && put->note.id[0])
        put_note_write(&put->note);
    enum exit_code code = put_mapped(put, &is_mapped);
    if (!is_mapped)
        code = put_read(put);
    if (code == EXIT_DONE)
        code = print_id(put, put->note.id);
    if (code == EXIT_DONE) /* else the next put, of which it is there already, tells which one it is */
        put_note_remove(&put->note);
    return code;
}

/* Each line of the file is a string. */
static enum exit_code put_strings(struct put *put)
{
    struct esp_error error = {0};
    struct lines lines;
    struct moving moving;
    char *id = NULL;
    waiting_begin(put->command->verb->name, put->command->operands[0]);
    const enum esp_status read = lines_read(put->command->operands[0], &lines, &error);
    waiting_end();
    if (read != ESP_OK)
        return command_fail(put->command, &error);
    enum exit_code code = session_open_for_data(put->command);
    if (code == EXIT_DONE && (code = choose_server(put)) != EXIT_DONE)
        grpc_finalize();
    if (code != EXIT_DONE) {
        lines_clear(&lines);
        return code;
    }
    const struct esp_argument array = {
        .data = lines.strings, .type = ESP_TYPE_STRING, .n_dims = 1, .dims = {lines.n}};
    moving_begin(&moving);
    enum esp_status status =
        esp_data_put(put->server, &array, (enum esp_data_mode)put->mode, moving_told, &moving, &id);
    moving_end(&moving);
    code = status == ESP_OK ? print_id(put, id) : session_fail(put->command);
    if (status == ESP_OK)
        grpc_finalize();
    free(id);
    lines_clear(&lines);
    return code;
}

enum exit_code verb_data_put(const struct command_line *command)
{
    struct esp_error error = {0};
    struct put put = {.command = command, .server = command_option_value(command, "server")};
    const char *word = command_option_value(command, "mode"), *type = command_option_value(command, "type");
    char what[CAP_NAME + 64];
    enum esp_type checked;
    struct matrix none = {0};
    if (word && datum_mode_parse(word, &put.mode, &error) != ESP_OK)
        return command_usage(command, "--mode: %s", error.text);
    if (layout_option(command, &put.in_pieces, &put.layout, &error) != ESP_OK)
        return command_usage(command, "%s", error.text);
    if (type && strcmp(type, "string") == 0)
        return put.in_pieces ? command_usage(command, "--grid: an array of strings does not lie in pieces")
                             : put_strings(&put);
    if (put.in_pieces && !put.server)
        return command_usage(command, "expected --server NAME with --grid: its ranks are to have the pieces");
    if (type_of(command, &none, &checked, &error) != ESP_OK)
        return command_fail(command, &error);
    snprintf(what, sizeof what, "%.*s %s %s", CAP_NAME, put.server ? put.server : "", word ? word : "",
             type ? type : "");
    put_note_find(&put.note, command->operands[0], what);
    enum exit_code code = session_open_for_data(command);
    if (code == EXIT_DONE) {
        code = choose_server(&put);
        if (code == EXIT_DONE && put.in_pieces)
            layout_remark(command, &put.layout, put.server);
        if (code == EXIT_DONE)
            code = put_file(&put);
        grpc_finalize();
    }
    put_note_close(&put.note);
    return code;
}
