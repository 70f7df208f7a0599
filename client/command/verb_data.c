/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier data: get, ls, info, rm, cp, mv.
 */
#include "config.h"

#include "client/command/layout.h"
#include "client/command/moving.h"
#include "client/command/session.h"
#include "client/command/table.h"
#include "client/command/values.h"
#include "client/arguments/values_storage.h"
#include "core/data/datum.h"
#include "core/matrix/matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
    enum esp_status status = esp_data_get(info->id, memory, info->bytes, moving_told, &moving);
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
    enum esp_status status = esp_data_copy(id, to, move, moving_told, &moving);
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

static enum exit_code copy_each(const struct command_line *command, const char *to, bool move)
{
    enum exit_code worst = EXIT_DONE;
    for (int i = 0; i < command->n_operands - 1; i++) {
        enum exit_code code = copy_one(command, identity(command->operands[i]), to, move);
        worst = code != EXIT_DONE ? code : worst; /* the others go all the same */
    }
    return worst;
}

static enum exit_code print_identity(const struct command_line *command, const char *id)
{
    if (command->json)
        return command_json(json_pack("{s:s}", "id", id));
    puts(id);
    return command_flush();
}

/* Another datum of the same value, that lies otherwise. */
static enum exit_code redistribute(const struct command_line *command, const char *id, const char *to,
                                   const struct esp_data_layout *layout, bool move)
{
    char *made = NULL;
    struct moving moving;
    moving_begin(&moving);
    enum esp_status status = esp_data_redistribute(id, to, layout, moving_told, &moving, &made);
    moving_end(&moving);
    if (status != ESP_OK)
        return session_fail(command);
    enum exit_code code = print_identity(command, made);
    free(made);
    return move && esp_data_drop(id) != ESP_OK ? session_fail(command) : code;
}

static enum exit_code copy(const struct command_line *command, bool move)
{
    struct esp_error error = {0};
    struct esp_data_layout layout;
    bool in_pieces;
    const char *from = command_option_value(command, "from");
    if (from && command->n_operands > 1)
        return command_usage(command, "expected an ID, or --from for all data of a server, found both");
    if (!from && command->n_operands == 1)
        return command_usage(command, "expected the IDs of data and a server, or --from SERVER and a server");
    if (layout_option(command, &in_pieces, &layout, &error) != ESP_OK)
        return command_usage(command, "%s", error.text);
    if (in_pieces && (from || command->n_operands != 2))
        return command_usage(command, "expected one ID and a server with --grid and --block");
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    const char *to = command->operands[command->n_operands - 1];
    if (in_pieces)
        code = redistribute(command, identity(command->operands[0]), to, &layout, move);
    else
        code = from ? copy_all(command, from, to, move) : copy_each(command, to, move);
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
