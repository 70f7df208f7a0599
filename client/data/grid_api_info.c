/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/data.h"
#include "client/data/grid_api.h"
#include "client/data/grid_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- knowing ---- */

/* For free(); NULL without memory, as is told. */
static char *copy_of(const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        error_no_memory(library_error(), "a text");
    return copy;
}

static char *dimensions_text(const struct grid_data *grid)
{
    char text[CAP_DIMS * 24] = "";
    size_t length = 0;
    if (grid->is_container)
        snprintf(text, sizeof text, "%zu", grid->n_items);
    for (uint32_t i = 0; i < grid->shape.n_dims; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%" PRId64, i ? " " : "",
                                   grid->shape.dims[i]);
    return copy_of(text);
}

static const char *const status_names[] = {"ready", "empty", "moving", "failed"};

static int status_of(struct grid_data *grid)
{
    char datum[DATUM_TEXT];
    if (!holding_is_settled(grid->holding))
        return 2;
    if (holding_wait(grid->holding, NULL) != ESP_OK)
        return 3;
    return grid_memory(grid) || holding_datum(grid->holding, datum) ? 0 : 1;
}

/* Words with blanks between them, as many as there are. */
struct words {
    FILE *file; /* NULL: no memory */
    char *text;
    size_t size;
    bool any;
};

static struct words *words_begin(struct words *words)
{
    *words = (struct words){0};
    words->file = open_memstream(&words->text, &words->size);
    return words;
}

static void add_word(struct words *words, const char *word)
{
    if (words->file)
        fprintf(words->file, "%s%s", words->any ? " " : "", word);
    words->any = true;
}

/* For free(); NULL without memory, or where finding them failed. */
static char *words_end(struct words *words, enum esp_status status)
{
    const bool whole = words->file && fclose(words->file) == 0;
    if (whole && status == ESP_OK)
        return words->text;
    free(words->text);
    if (status == ESP_OK)
        error_no_memory(library_error(), "a text");
    return NULL;
}

static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += length)
        if ((at == text || at[-1] == ' ') && (at[length] == 0 || at[length] == ' '))
            return true;
    return false;
}

/* Servers that are named already, by data of the same container, are not named again. What is gone is on
 * none, which only those say who are reached: where they are not, nobody knows. */
static enum esp_status add_places(struct words *words, const char *datum, const char *server,
                                  struct engine *engine)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    size_t n = 0;
    const enum esp_status status =
        *datum ? data_find(engine, datum, true, holders, &n, library_error()) : ESP_OK;
    if (status == ESP_NOT_FOUND)
        return ESP_OK;
    if (status != ESP_OK)
        return status;
    for (size_t i = 0; words->file && fflush(words->file) == 0 && i < n; i++)
        if ((!server || strcmp(server, holders[i].server) == 0) && !has_word(words->text, holders[i].server))
            add_word(words, holders[i].server);
    return ESP_OK;
}

static const char *mode_text(const struct grid_data *grid)
{
    return grid_mode_name(grid_mode(grid));
}

static char *tell(struct grid_data *grid, grpc_data_info_type_t tag, const char *server,
                  struct engine *engine)
{
    char datum[DATUM_TEXT] = "";
    struct words words;
    holding_datum(grid->holding, datum);
    switch (tag) {
    case GRPC_INFO_STATUS:
        return copy_of(status_names[status_of(grid)]);
    case GRPC_INFO_TYPE:
        return copy_of(base_type_name(grid->shape.type));
    case GRPC_INFO_DIMENSIONS:
        return dimensions_text(grid);
    case GRPC_INFO_MODE:
        return copy_of(mode_text(grid));
    case GRPC_INFO_INPUTS:
        return grid_uris_text(&grid->inputs);
    case GRPC_INFO_OUTPUTS:
        return grid_uris_text(&grid->outputs);
    case GRPC_INFO_IDENTITY:
        if (*datum)
            holding_tell(grid->holding);
        return copy_of(datum);
    case GRPC_INFO_PLACES:
        return words_end(&words, add_places(words_begin(&words), datum, server, engine));
    }
    return NULL;
}

/* ---- of a container ---- */

/* One after the other, by rank. The worst state is that of all; a rank without data is an empty one. */
static char *tell_items(struct grid_data *container, grpc_data_info_type_t tag, const char *server,
                        struct engine *engine)
{
    char datum[DATUM_TEXT];
    struct words words;
    int worst = 0;
    enum esp_status found = ESP_OK;
    words_begin(&words);
    for (size_t i = 0; found == ESP_OK && i < container->n_items; i++) {
        struct grid_data *item = container->items[i] ? grid_use_number(container->items[i]) : NULL;
        const int status = item ? status_of(item) : 1;
        worst = status > worst ? status : worst;
        datum[0] = 0;
        if (item && holding_datum(item->holding, datum) && tag == GRPC_INFO_IDENTITY)
            holding_tell(item->holding);
        if (tag == GRPC_INFO_PLACES)
            found = add_places(&words, datum, server, engine);
        else if (tag == GRPC_INFO_IDENTITY)
            add_word(&words, *datum ? datum : "-");
        else if (tag == GRPC_INFO_MODE)
            add_word(&words, item ? mode_text(item) : "-");
        grid_release(item);
    }
    if (tag == GRPC_INFO_STATUS)
        add_word(&words, status_names[worst]);
    return words_end(&words, found);
}

static char *tell_container(struct grid_data *container, grpc_data_info_type_t tag, const char *server,
                            struct engine *engine)
{
    if (tag == GRPC_INFO_TYPE)
        return copy_of("container");
    return tag == GRPC_INFO_DIMENSIONS ? dimensions_text(container)
                                       : tell_items(container, tag, server, engine);
}

grpc_error_t grpc_data_getinfo(const grpc_data_t *data, grpc_data_info_type_t tag, const char *server,
                               char **info)
{
    struct grid_data *grid;
    grpc_error_t code;
    struct library *library = grid_api_enter(data, &grid, &code);
    if (!library)
        return code;
    if (!info || (int)tag < GRPC_INFO_STATUS || tag > GRPC_INFO_PLACES)
        return grid_api_leave(grid, grid_api_wrong("expected what is to be told, and a place for it"));
    *info = (grid->is_container ? tell_container : tell)(grid, tag, server, library->engine);
    if (!*info)
        code = GRPC_OTHER_ERROR_CODE; /* which has been told */
    return grid_api_leave(grid, code);
}

/* ---- files ---- */

static enum esp_status file_of(const char *uri, char **path, struct esp_error *error)
{
    enum grid_place place;
    *path = NULL;
    if (!uri)
        return error_set(error, ESP_INVALID, "expected a URI, found a null pointer");
    enum esp_status status = grid_uri_read(uri, &place, path, error);
    if (status == ESP_OK && place != GRID_FILE)
        status = error_set(error, ESP_INVALID, "expected file:PATH, found \"%.200s\"", uri);
    return status;
}

grpc_error_t grpc_data_save(const grpc_data_t *data, const char *uri_output)
{
    struct grid_data *grid;
    grpc_error_t code;
    char *path;
    if (!grid_api_enter(data, &grid, &code))
        return code;
    enum esp_status status = file_of(uri_output, &path, library_error());
    if (status == ESP_OK)
        status = grid_file_write(path, grid, library_error());
    free(path);
    return grid_api_leave(grid, grid_api_code_of(status));
}

grpc_error_t grpc_data_load(grpc_data_t *data, const char *uri_input)
{
    struct grid_data *grid = NULL;
    char *path = NULL;
    if (!library_enter(library_error()))
        return grid_api_not_inside();
    enum esp_status status =
        data ? file_of(uri_input, &path, library_error())
             : error_set(library_error(), ESP_INVALID, "data: expected a pointer, found a null pointer");
    if (status == ESP_OK)
        status = grid_file_read(path, &grid, library_error());
    if (status == ESP_OK && (status = grid_add(grid, data, library_error())) != ESP_OK)
        grid_release(grid);
    free(path);
    library_leave(status == ESP_OK);
    return grid_api_code_of(status);
}
