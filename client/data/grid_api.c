/* SPDX-License-Identifier: Apache-2.0
 *
 * The GridRPC data management API: what each function means is said in include/grpc_data.h.
 */
#include "client/data/data.h"
#include "client/data/grid_api.h"
#include "client/data/grid_transfer.h"
#include "client/session/outcome.h"

grpc_error_t grid_api_not_inside(void)
{
    return library_error()->status == ESP_REFUSED ? GRPC_OTHER_ERROR_CODE : GRPC_NOT_INITIALIZED;
}

grpc_error_t grid_api_wrong(const char *text)
{
    error_set(library_error(), ESP_INVALID, "%s", text);
    return GRPC_OTHER_ERROR_CODE;
}

/* Of functions that move nothing themselves. */
grpc_error_t grid_api_code_of(enum esp_status status)
{
    return status == ESP_OK ? GRPC_NO_ERROR : GRPC_OTHER_ERROR_CODE;
}

/* How every function on data begins, and ends. */
struct library *grid_api_enter(const grpc_data_t *data, struct grid_data **grid, grpc_error_t *code)
{
    struct library *library = library_enter(library_error());
    if (!library) {
        *code = grid_api_not_inside();
        return NULL;
    }
    *code = GRPC_NO_ERROR;
    *grid = grid_use(data);
    if (*grid)
        return library;
    error_set(library_error(), ESP_INVALID, "the data were never initialized, or were freed or unbound");
    *code = GRPC_INVALID_DATA;
    library_leave(false);
    return NULL;
}

grpc_error_t grid_api_leave(struct grid_data *grid, grpc_error_t code)
{
    grid_release(grid);
    library_leave(code == GRPC_NO_ERROR);
    return code;
}

enum esp_status grid_api_each(struct grid_data *grid,
                              enum esp_status (*what)(struct grid_data *grid, void *arg,
                                                      struct esp_error *error),
                              void *arg, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    if (!grid->is_container)
        return what(grid, arg, error);
    for (size_t i = 0; i < grid->n_items; i++) {
        struct esp_error another;
        struct grid_data *item = grid->items[i] ? grid_use_number(grid->items[i]) : NULL;
        const enum esp_status own = item ? what(item, arg, status == ESP_OK ? error : &another) : ESP_OK;
        status = status == ESP_OK ? own : status;
        grid_release(item);
    }
    return status;
}

/* ---- making ---- */

static enum esp_status read_shape(grpc_data_type_t type, const size_t *dimensions, struct datum_shape *shape,
                                  struct esp_error *error)
{
    *shape = (struct datum_shape){.type = (enum base_type)(type - 1)};
    if (type < GRPC_CHAR || type > GRPC_STRING)
        return error_set(error, ESP_INVALID,
                         "expected a type from GRPC_CHAR to GRPC_STRING, or a container, found %d",
                         (int)type);
    for (; dimensions && dimensions[shape->n_dims]; shape->n_dims++) {
        if (shape->n_dims == CAP_DIMS)
            return error_set(error, ESP_INVALID, "expected at most %d dimensions, then 0, found more",
                             CAP_DIMS);
        if (dimensions[shape->n_dims] > INT64_MAX)
            return error_set(error, ESP_INVALID, "dimension %u: expected less than 2^63", shape->n_dims + 1);
        shape->dims[shape->n_dims] = (int64_t)dimensions[shape->n_dims];
    }
    if (shape->n_dims == 0)
        return error_set(error, ESP_INVALID, "expected the dimensions of an array, then 0, found none");
    if (type == GRPC_STRING && shape->n_dims > 1)
        return error_set(error, ESP_INVALID, "expected one dimension of an array of strings, found %u",
                         shape->n_dims);
    return datum_shape_complete(shape, error);
}

enum esp_status grid_api_check_places(const struct grid_uris *uris, const struct datum_shape *shape,
                                      struct esp_error *error)
{
    for (size_t i = 0; shape->type == TYPE_STRING && i < uris->n; i++)
        if (uris->items[i].place == GRID_MEMORY || uris->items[i].place == GRID_FILE)
            return error_set(error, ESP_INVALID,
                             "strings: expected \"data:IDENTITY\" or \"server:NAME\", found \"%s:%s\" "
                             "(esp_data_put() puts them, esp_data_get_strings() gets them)",
                             uris->items[i].place == GRID_MEMORY ? "memory" : "file", uris->items[i].rest);
    return ESP_OK;
}

static enum esp_status make_array(struct grid_data **grid, const char **inputs, const char **outputs,
                                  grpc_data_type_t type, const size_t *dimensions,
                                  const grpc_data_mode_t *modes, struct esp_error *error)
{
    struct datum_shape shape;
    grpc_data_mode_t mode = modes && *modes != GRPC_END_LIST ? *modes : GRPC_VOLATILE;
    enum esp_status status = read_shape(type, dimensions, &shape, error);
    if (status == ESP_OK)
        status = grid_mode_check(mode, error);
    if (status != ESP_OK)
        return status;
    *grid = grid_create(&shape, 0, mode);
    if (!*grid)
        return error_no_memory(error, "data");
    status = grid_uris_read(&(*grid)->inputs, inputs, NULL, false, error);
    if (status == ESP_OK)
        status = grid_uris_read(&(*grid)->outputs, outputs, modes, true, error);
    if (status == ESP_OK)
        status = grid_api_check_places(&(*grid)->inputs, &shape, error);
    if (status == ESP_OK)
        status = grid_api_check_places(&(*grid)->outputs, &shape, error);
    if (status != ESP_OK)
        grid_release(*grid);
    return status;
}

static enum esp_status make_container(struct grid_data **grid, const char **inputs, const char **outputs,
                                      const size_t *dimensions, struct esp_error *error)
{
    if ((inputs && *inputs) || (outputs && *outputs))
        return error_set(error, ESP_INVALID, "expected no URIs for a container: those in it have their own");
    if (!dimensions || !dimensions[0] || dimensions[1] || dimensions[0] > GRID_MOST_RANKS)
        return error_set(error, ESP_INVALID, "a container: expected one dimension, from 1 to %zu, then 0",
                         GRID_MOST_RANKS);
    *grid = grid_create(NULL, dimensions[0], GRPC_VOLATILE);
    return *grid ? ESP_OK : error_no_memory(error, "a container");
}

grpc_error_t grpc_data_init(grpc_data_t *data, const char **input_URIs, const char **output_URIs,
                            grpc_data_type_t type, const size_t *dimensions, const grpc_data_mode_t *modes)
{
    struct esp_error *error = library_error();
    struct grid_data *grid = NULL;
    struct library *library = library_enter(error);
    if (!library)
        return grid_api_not_inside();
    enum esp_status status =
        !data ? error_set(error, ESP_INVALID, "data: expected a pointer, found a null pointer")
        : type == GRPC_CONTAINER_OF_GRPC_DATA
            ? make_container(&grid, input_URIs, output_URIs, dimensions, error)
            : make_array(&grid, input_URIs, output_URIs, type, dimensions, modes, error);
    if (status == ESP_OK && (status = grid_add(grid, data, error)) != ESP_OK)
        grid_release(grid);
    library_leave(status == ESP_OK);
    return grid_api_code_of(status);
}

grpc_error_t grpc_data_memory_mapping_set(const char *key, void *memory)
{
    if (!library_enter(library_error()))
        return grid_api_not_inside();
    grpc_error_t code = !key || !*key ? grid_api_wrong("key: expected a name")
                                      : grid_api_code_of(grid_map(key, memory, library_error()));
    library_leave(code == GRPC_NO_ERROR);
    return code;
}

grpc_error_t grpc_data_memory_mapping_get(const char *key, void **memory)
{
    if (!library_enter(library_error()))
        return grid_api_not_inside();
    if (memory)
        *memory = key ? grid_mapping(key) : NULL;
    grpc_error_t code = memory && *memory ? GRPC_NO_ERROR : grid_api_wrong("no memory has this name");
    library_leave(code == GRPC_NO_ERROR);
    return code;
}

/* ---- containers ---- */

static bool has_rank(const struct grid_data *container, int rank)
{
    return container->is_container && rank >= 0 && (size_t)rank < container->n_items;
}

grpc_error_t grpc_data_container_set(grpc_data_t *container, int rank, const grpc_data_t *data)
{
    struct grid_data *grid, *item;
    grpc_error_t code;
    if (!grid_api_enter(container, &grid, &code))
        return code;
    if (!(item = grid_use(data))) {
        error_set(library_error(), ESP_INVALID,
                  "the data to be put into the container were never initialized");
        return grid_api_leave(grid, GRPC_INVALID_DATA);
    }
    if (!has_rank(grid, rank))
        code = grid_api_wrong("expected a container and a rank within it");
    else if (item->is_container)
        code = grid_api_wrong("a container cannot be put into a container");
    else if (grid->items[rank] != item->number) {
        grid_remove_unnamed(grid->items[rank]);
        grid->items[rank] = item->number;
    }
    grid_release(item);
    return grid_api_leave(grid, code);
}

grpc_error_t grpc_data_container_get(const grpc_data_t *container, int rank, grpc_data_t *data)
{
    struct grid_data *grid, *item = NULL;
    grpc_error_t code;
    if (!grid_api_enter(container, &grid, &code))
        return code;
    if (data && has_rank(grid, rank) && grid->items[rank])
        item = grid_use_number(grid->items[rank]);
    if (item)
        grid_name(item, data);
    else
        code = grid_api_wrong("expected a rank of a container at which there are data");
    grid_release(item);
    return grid_api_leave(grid, code);
}

/* ---- the end ---- */

grpc_error_t grpc_data_unbind(grpc_data_t *data)
{
    struct grid_data *grid;
    grpc_error_t code;
    if (!grid_api_enter(data, &grid, &code))
        return code;
    grid_remove(grid);
    return grid_api_leave(grid, code);
}

struct filter {
    struct engine *engine;
    struct grid_uris servers;
};

/* Who has a name that there is none of is told; that one of that name has no copy is no failure. */
static enum esp_status drop_on(struct engine *engine, const char *datum, const char *server,
                               struct esp_error *error)
{
    char address[CAP_ADDRESS + 1];
    enum esp_status status = data_drop(engine, datum, server, false, error);
    return status == ESP_NOT_FOUND ? engine_resolve(engine, server, address, error) : status;
}

/* Of such data it matters that a server which is away has them still. */
static bool is_to_stay(const struct grid_data *grid)
{
    bool stays = grid->holding->required;
    for (size_t i = 0; i < grid->outputs.n; i++)
        stays |= grid->outputs.items[i].place == GRID_SERVER && grid_mode_stays(grid->outputs.items[i].mode);
    return stays;
}

static enum esp_status free_one(struct grid_data *grid, void *arg, struct esp_error *error)
{
    const struct filter *filter = arg;
    char datum[DATUM_TEXT];
    enum esp_status status = ESP_OK;
    holding_wait(grid->holding, NULL);
    if (filter->servers.n == 0) {
        atomic_store(&grid->freed_by, filter->engine);
        if (holding_doom(grid->holding)) /* what a running call takes stays as long as that */
            return ESP_OK;
        grid_drop_old(grid, filter->engine, true);
    }
    if (!holding_datum(grid->holding, datum))
        return ESP_OK;
    for (size_t i = 0; status == ESP_OK && i < filter->servers.n; i++)
        status = drop_on(filter->engine, datum, filter->servers.items[i].rest, error);
    if (filter->servers.n > 0)
        return status;
    status = data_drop(filter->engine, datum, NULL, false, error);
    /* What servers have dropped already need not be dropped, nor what has gone with its server. */
    if (status == ESP_NOT_FOUND || (status == ESP_UNREACHABLE && !is_to_stay(grid)))
        status = ESP_OK;
    if (status == ESP_OK)
        holding_unset(grid->holding, datum);
    return status;
}

static enum esp_status read_filter(struct filter *filter, const char **list, struct esp_error *error)
{
    enum esp_status status = grid_uris_read(&filter->servers, list, NULL, true, error);
    for (size_t i = 0; status == ESP_OK && i < filter->servers.n; i++)
        if (filter->servers.items[i].place != GRID_SERVER || !*filter->servers.items[i].rest)
            status = error_set(error, ESP_INVALID,
                               "URIs_filter: expected servers only (server:NAME), found \"%.200s\"", list[i]);
    return status;
}

grpc_error_t grpc_data_free(grpc_data_t *data, const char **URIs_filter)
{
    struct grid_data *grid;
    grpc_error_t code;
    struct library *library = grid_api_enter(data, &grid, &code);
    if (!library)
        return code;
    struct filter filter = {.engine = library->engine};
    enum esp_status status = read_filter(&filter, URIs_filter, library_error());
    if (status == ESP_OK)
        status = grid_api_each(grid, free_one, &filter, library_error());
    grid_uris_clear(&filter.servers);
    if (status == ESP_OK)
        grid_remove(grid);
    return grid_api_leave(grid, grid_api_code_of(status));
}
