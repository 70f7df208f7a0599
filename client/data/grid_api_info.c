/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/data.h"
#include "client/data/grid_api.h"
#include "client/data/grid_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- knowing ---- */

static char *dimensions_text(const struct grid_data *grid)
{
    char text[CAP_DIMS * 24] = "";
    size_t length = 0;
    if (grid->is_container)
        snprintf(text, sizeof text, "%zu", grid->n_items);
    for (uint32_t i = 0; i < grid->shape.n_dims; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%" PRId64, i ? " " : "",
                                   grid->shape.dims[i]);
    return strdup(text);
}

static const char *status_text(struct grid_data *grid)
{
    char datum[DATUM_TEXT];
    if (grid->is_container)
        return "ready";
    if (!holding_is_settled(grid->holding))
        return "moving";
    if (holding_wait(grid->holding, NULL) != ESP_OK)
        return "failed";
    return grid_memory(grid) || holding_datum(grid->holding, datum) ? "ready" : "empty";
}

static char *places_text(const char *datum, const char *server, struct engine *engine)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    size_t n = 0, length = 0;
    char *text = calloc(DATA_MOST_HOLDERS, CAP_NAME + 2);
    if (*datum && data_find(engine, datum, true, holders, &n, library_error()) != ESP_OK)
        n = 0;
    for (size_t i = 0; text && i < n; i++)
        if (!server || strcmp(server, holders[i].server) == 0)
            length +=
                (size_t)sprintf(text + length, "%s%.*s", length ? " " : "", CAP_NAME, holders[i].server);
    return text;
}

static char *tell(struct grid_data *grid, grpc_data_info_type_t tag, const char *server,
                  struct engine *engine)
{
    char datum[DATUM_TEXT] = "";
    if (!grid->is_container)
        holding_datum(grid->holding, datum);
    switch (tag) {
    case GRPC_INFO_STATUS:
        return strdup(status_text(grid));
    case GRPC_INFO_TYPE:
        return strdup(grid->is_container ? "container" : base_type_name(grid->shape.type));
    case GRPC_INFO_DIMENSIONS:
        return dimensions_text(grid);
    case GRPC_INFO_MODE:
        return strdup(grid_mode_name(grid->outputs.n > 0 ? grid->outputs.items[0].mode : grid->first_mode));
    case GRPC_INFO_INPUTS:
        return grid_uris_text(&grid->inputs);
    case GRPC_INFO_OUTPUTS:
        return grid_uris_text(&grid->outputs);
    case GRPC_INFO_IDENTITY:
        if (*datum)
            holding_tell(grid->holding);
        return strdup(datum);
    case GRPC_INFO_PLACES:
        return places_text(datum, server, engine);
    }
    return NULL;
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
    *info = tell(grid, tag, server, library->engine);
    if (!*info)
        code = grid_api_code_of(error_no_memory(library_error(), "a text"));
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
    if (status == ESP_OK && grid->is_container)
        status = error_set(library_error(), ESP_INVALID, "a container cannot be saved: save what is in it");
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
