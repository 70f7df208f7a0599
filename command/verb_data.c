/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier data: ls, info.
 */
#include "config.h"

#include "command/layout.h"
#include "command/left_note.h"
#include "command/verb_data.h"
#include "command/session.h"
#include "command/table.h"
#include "command/verbs.h"
#include "core/data/datum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- what is shown ---- */

void data_info_shape(const struct esp_data_info *info, struct datum_shape *shape)
{
    *shape = (struct datum_shape){.type = (enum base_type)(info->type - 1),
                                  .n_dims = info->n_dims,
                                  .row_major = info->by_rows,
                                  .bytes = info->bytes};
    memcpy(shape->dims, info->dims, sizeof shape->dims);
    if (info->storage == ESP_DATA_BANDED) {
        shape->storage = STORAGE_BANDED;
        shape->layout[0] = info->below;
        shape->layout[1] = info->above;
        shape->layout[2] = info->front;
    } else if (info->storage != ESP_DATA_FULL) {
        shape->storage = STORAGE_PACKED;
        shape->layout[0] = info->storage == ESP_DATA_PACKED_LOWER ? 'L' : 'U';
    } else if (info->layout.rows > 0) {
        const struct block_cyclic_matrix layout = layout_of(info, &info->layout);
        datum_shape_spread(shape, &layout, NULL);
    }
}

static const char *shape_text(const struct esp_data_info *info, char *text, size_t size)
{
    struct datum_shape shape;
    data_info_shape(info, &shape);
    return datum_shape_text(&shape, text, size);
}

/* "full", "packed (U)", "banded" with its diagonals, "pieces": what programs look for. */
static void storage_json(const struct esp_data_info *info, json_t *json)
{
    static const char *const names[] = {"full", "packed (U)", "packed (L)", "banded"};
    json_object_set_new(json, "storage",
                        command_json_text(info->layout.rows > 0 ? "pieces" : names[info->storage]));
    json_object_set_new(json, "by_rows", json_boolean(info->by_rows));
    if (info->storage == ESP_DATA_BANDED)
        json_object_set_new(json, "band",
                            json_pack("{s:I, s:I, s:I}", "below", (json_int_t)info->below, "above",
                                      (json_int_t)info->above, "front", (json_int_t)info->front));
}

static const char *place_text(const struct esp_data_info *info)
{
    return info->in_memory && info->on_disk ? "memory, disk" : info->on_disk ? "disk" : "memory";
}

json_t *data_info_json(const struct esp_data_info *info)
{
    json_t *dims = json_array();
    for (unsigned i = 0; i < info->n_dims; i++)
        json_array_append_new(dims, json_integer(info->dims[i]));
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:o, s:I, s:s, s:b, s:b, s:b, s:b, s:i, s:I, s:I, s:I, s:f, s:f}", "id",
        info->id, "server", info->server, "address", info->address, "owner", info->owner, "type",
        esp_type_name(info->type), "dims", dims, "bytes", (json_int_t)info->bytes, "mode",
        datum_mode_name((enum datum_mode)info->mode), "replica", info->replica, "unique", info->unique,
        "in_memory", info->in_memory, "on_disk", info->on_disk, "users", (int)info->users, "gets",
        (json_int_t)info->gets, "bytes_in", (json_int_t)info->bytes_in, "bytes_out",
        (json_int_t)info->bytes_out, "created", info->created_s, "idle_s", info->idle_s);
    storage_json(info, json);
    return json;
}

static json_t *list_json(const struct esp_data_info *infos, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, data_info_json(&infos[i]));
    return list;
}

static enum exit_code print_list(const struct esp_data_info *infos, size_t n)
{
    static const char *const headings[] = {"DATUM", "WHAT", ">SIZE", "MODE", "SERVER", "WHERE", ">IDLE"};
    char shape[DATUM_SHAPE_TEXT], bytes[QUANTITY_TEXT], idle[QUANTITY_TEXT];
    struct table table;
    table_init(&table, 7, headings);
    for (size_t i = 0; i < n; i++) {
        table_cell(&table, "%s", infos[i].id);
        table_cell(&table, "%s", shape_text(&infos[i], shape, sizeof shape));
        table_cell(&table, "%s", quantity_bytes(infos[i].bytes, bytes));
        table_cell(&table, "%s%s%s", datum_mode_name((enum datum_mode)infos[i].mode),
                   infos[i].unique ? ", unique" : "", infos[i].replica ? ", replica" : "");
        table_cell(&table, "%s", infos[i].server);
        table_cell(&table, "%s", place_text(&infos[i]));
        table_cell(&table, "%s", quantity_seconds(infos[i].idle_s, idle));
    }
    table_print(&table, 0, stdout);
    return command_flush();
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
    printf("  mode       %s%s\n", datum_mode_name((enum datum_mode)info->mode),
           info->unique ? ", unique (no copies on other servers)" : "");
    if (*info->owner)
        printf("  owner      %s\n", info->owner);
    if (localtime_r(&created, &local) && strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local))
        printf("  made       %s\n", when);
    printf("  used       %llu times, by %u now, last %s ago\n", (unsigned long long)info->gets, info->users,
           quantity_seconds(info->idle_s, text));
    printf("  moved      %s in", quantity_bytes(info->bytes_in, text));
    printf(", %s out\n", quantity_bytes(info->bytes_out, text));
}

/* ---- damaged files ---- */

static json_t *damaged_json(const struct esp_data_info *infos, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        const struct esp_data_info *info = &infos[i];
        json_t *json = json_pack("{s:s, s:s, s:s, s:I, s:b}", "id", info->id, "server", info->server,
                                 "address", info->address, "bytes", (json_int_t)info->bytes,
                                 "header_is_whole", info->type != ESP_TYPE_ANY);
        if (info->type != ESP_TYPE_ANY)
            json_object_update_missing_new(json, json_pack("{s:s, s:s, s:s, s:f}", "owner", info->owner,
                                                           "type", esp_type_name(info->type), "mode",
                                                           datum_mode_name((enum datum_mode)info->mode),
                                                           "created", info->created_s));
        json_array_append_new(list, json);
    }
    return list;
}

static enum exit_code print_damaged(const struct esp_data_info *infos, size_t n)
{
    static const char *const headings[] = {"DATUM", "WHAT", ">SIZE", "MODE", "SERVER"};
    char shape[DATUM_SHAPE_TEXT], bytes[QUANTITY_TEXT];
    struct table table;
    table_init(&table, 5, headings);
    for (size_t i = 0; i < n; i++) {
        const bool is_known = infos[i].type != ESP_TYPE_ANY;
        table_cell(&table, "%s", infos[i].id);
        table_cell(&table, "%s",
                   is_known ? shape_text(&infos[i], shape, sizeof shape)
                            : "its header, length or name is wrong");
        table_cell(&table, "%s", quantity_bytes(infos[i].bytes, bytes));
        table_cell(&table, "%s", is_known ? datum_mode_name((enum datum_mode)infos[i].mode) : "");
        table_cell(&table, "%s", infos[i].server);
    }
    table_print(&table, 0, stdout);
    return command_flush();
}

/* ---- ls, info ---- */

/* Also where a server did not answer: what the others have, and that it is not all. */
enum exit_code verb_data_ls(const struct command_line *command)
{
    struct esp_data_info *infos;
    size_t n;
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    const bool damaged = command_option_value(command, "damaged");
    const char *server = command_option_value(command, "server");
    const enum esp_status status =
        damaged ? esp_data_list_damaged(server, &infos, &n) : esp_data_list(server, &infos, &n);
    enum exit_code listed = EXIT_DONE;
    if (status != ESP_OK && infos && command->json) { /* one document only */
        command_complain(command->verb->name, esp_last_error()->text);
        listed = command_exit_code(status);
    } else if (status != ESP_OK) {
        listed = session_fail(command);
    }
    if (infos && command->json)
        code = command_json((damaged ? damaged_json : list_json)(infos, n));
    else if (infos)
        code = (damaged ? print_damaged : print_list)(infos, n);
    esp_data_free(infos);
    grpc_finalize();
    return listed != EXIT_DONE ? listed : code;
}

/* Where only replicas are seen: the servers that may have the original, and do not answer; NULL: none. For
 * free(). */
static char *find_missing(const char *id, const struct esp_data_info *infos, size_t n)
{
    char *names = NULL;
    for (size_t i = 0; i < n; i++)
        if (!infos[i].replica)
            return NULL;
    if (esp_data_silent(id, &names) == ESP_OK && *names)
        return names;
    free(names);
    return NULL;
}

/* One paragraph for each server that has it. */
static enum exit_code info_of(const struct command_line *command, const struct meant_datum *datum,
                              json_t *all)
{
    struct esp_data_info *infos;
    size_t n;
    if (esp_data_look(datum->id, &infos, &n) != ESP_OK)
        return session_fail_kept(command);
    if (*datum->argument && !command->json)
        printf("%s, %s\n", datum->argument, datum->is_output ? "an output" : "an input");
    char *missing = find_missing(datum->id, infos, n);
    for (size_t i = 0; i < n; i++) {
        if (!command->json) {
            print_info(&infos[i]);
            continue;
        }
        json_t *json = data_info_json(&infos[i]);
        if (missing)
            json_object_set_new(json, "original_unreached", command_json_text(missing));
        json_array_append_new(all, json);
    }
    if (missing && !command->json)
        printf("  original   on %s, which cannot be reached\n", missing);
    free(missing);
    esp_data_free(infos);
    return EXIT_DONE;
}

enum exit_code verb_data_info(const struct command_line *command)
{
    struct meant meant;
    enum exit_code code = data_meant(command, command->operands[0], &meant);
    if (code != EXIT_DONE)
        return code;
    code = session_open(command);
    if (code == EXIT_DONE) {
        json_t *all = json_array();
        for (size_t i = 0; i < meant.n; i++) {
            enum exit_code one = info_of(command, &meant.data[i], all);
            code = one != EXIT_DONE ? one : code;
        }
        if (command->json && code == EXIT_DONE)
            code = command_json(json_incref(all));
        else if (code == EXIT_DONE)
            code = command_flush();
        json_decref(all);
        grpc_finalize();
    }
    free(meant.data);
    return code;
}

enum exit_code data_meant(const struct command_line *command, const char *word, struct meant *meant)
{
    struct esp_error error = {0};
    if (left_note_expand(word, meant, &error) == ESP_OK)
        return EXIT_DONE;
    enum exit_code code = command_fail(command, &error);
    return error.status == ESP_NOT_FOUND ? EXIT_GONE : code;
}
