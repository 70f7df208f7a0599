/* SPDX-License-Identifier: Apache-2.0
 *
 * The GridRPC data management API: what each function means is said in include/grpc_data.h.
 */
#include "client/data.h"
#include "client/grid_file.h"
#include "client/grid_transfer.h"
#include "client/library.h"
#include "client/outcome.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RANKS ((size_t)1 << 20)
#define MOST_WAITS 65536

static grpc_error_t not_inside(void)
{
    return library_error()->status == ESP_REFUSED ? GRPC_OTHER_ERROR_CODE : GRPC_NOT_INITIALIZED;
}

static grpc_error_t wrong(const char *text)
{
    error_set(library_error(), ESP_INVALID, "%s", text);
    return GRPC_OTHER_ERROR_CODE;
}

/* Of functions that move nothing themselves. */
static grpc_error_t code_of(enum esp_status status)
{
    return status == ESP_OK ? GRPC_NO_ERROR : GRPC_OTHER_ERROR_CODE;
}

/* How every function on data begins, and ends. */
static struct library *enter(const grpc_data_t *data, struct grid_data **grid, grpc_error_t *code)
{
    struct library *library = library_enter(library_error());
    if (!library) {
        *code = not_inside();
        return NULL;
    }
    *code = GRPC_NO_ERROR;
    *grid = grid_use(data);
    if (*grid)
        return library;
    error_set(library_error(), ESP_INVALID, "the data were never initialized, or were freed or unbound");
    *code = GRPC_INVALID_DATA;
    library_leave();
    return NULL;
}

static grpc_error_t leave(struct grid_data *grid, grpc_error_t code)
{
    grid_release(grid);
    library_leave();
    return code;
}

/* ---- making ---- */

static enum esp_status read_shape(grpc_data_type_t type, const size_t *dimensions, struct datum_shape *shape,
                                  struct esp_error *error)
{
    *shape = (struct datum_shape){.type = (enum base_type)(type - 1)};
    if (type < GRPC_CHAR || type > GRPC_DOUBLE_COMPLEX)
        return error_set(error, ESP_INVALID,
                         "expected a type from GRPC_CHAR to GRPC_DOUBLE_COMPLEX, or a container, found %d",
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
    return datum_shape_complete(shape, error);
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
    if (status != ESP_OK)
        grid_release(*grid);
    return status;
}

static enum esp_status make_container(struct grid_data **grid, const char **inputs, const char **outputs,
                                      const size_t *dimensions, struct esp_error *error)
{
    if ((inputs && *inputs) || (outputs && *outputs))
        return error_set(error, ESP_INVALID, "expected no URIs for a container: those in it have their own");
    if (!dimensions || !dimensions[0] || dimensions[1] || dimensions[0] > MOST_RANKS)
        return error_set(error, ESP_INVALID, "a container: expected one dimension, from 1 to %zu, then 0",
                         MOST_RANKS);
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
        return not_inside();
    enum esp_status status =
        !data ? error_set(error, ESP_INVALID, "data: expected a pointer, found a null pointer")
        : type == GRPC_CONTAINER_OF_GRPC_DATA
            ? make_container(&grid, input_URIs, output_URIs, dimensions, error)
            : make_array(&grid, input_URIs, output_URIs, type, dimensions, modes, error);
    if (status == ESP_OK && (status = grid_add(grid, data, error)) != ESP_OK)
        grid_release(grid);
    library_leave();
    return code_of(status);
}

grpc_error_t grpc_data_memory_mapping_set(const char *key, void *memory)
{
    if (!library_enter(library_error()))
        return not_inside();
    grpc_error_t code =
        !key || !*key ? wrong("key: expected a name") : code_of(grid_map(key, memory, library_error()));
    library_leave();
    return code;
}

grpc_error_t grpc_data_memory_mapping_get(const char *key, void **memory)
{
    if (!library_enter(library_error()))
        return not_inside();
    if (memory)
        *memory = key ? grid_mapping(key) : NULL;
    grpc_error_t code = memory && *memory ? GRPC_NO_ERROR : wrong("no memory has this name");
    library_leave();
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
    if (!enter(container, &grid, &code))
        return code;
    if (!(item = grid_use(data))) {
        error_set(library_error(), ESP_INVALID,
                  "the data to be put into the container were never initialized");
        return leave(grid, GRPC_INVALID_DATA);
    }
    if (!has_rank(grid, rank))
        code = wrong("expected a container and a rank within it");
    else if (item->is_container)
        code = wrong("a container cannot be put into a container");
    else
        grid->items[rank] = item->number;
    grid_release(item);
    return leave(grid, code);
}

grpc_error_t grpc_data_container_get(const grpc_data_t *container, int rank, grpc_data_t *data)
{
    struct grid_data *grid, *item = NULL;
    grpc_error_t code;
    if (!enter(container, &grid, &code))
        return code;
    if (data && has_rank(grid, rank) && grid->items[rank])
        item = grid_use_number(grid->items[rank]);
    if (item)
        grid_name(item, data);
    else
        code = wrong("expected a rank of a container at which there are data");
    grid_release(item);
    return leave(grid, code);
}

/* Of all in a container, or of the one. Stops at the first failure. */
static enum esp_status each(struct grid_data *grid,
                            enum esp_status (*what)(struct grid_data *grid, void *arg,
                                                    struct esp_error *error),
                            void *arg, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    if (!grid->is_container)
        return what(grid, arg, error);
    for (size_t i = 0; status == ESP_OK && i < grid->n_items; i++) {
        struct grid_data *item = grid->items[i] ? grid_use_number(grid->items[i]) : NULL;
        if (item)
            status = what(item, arg, error);
        grid_release(item);
    }
    return status;
}

/* ---- moving ---- */

struct wanted {
    struct engine *engine;
    const char **inputs, **outputs;
    const grpc_data_mode_t *modes;
};

static enum esp_status replace(struct grid_uris *uris, const char **list, const grpc_data_mode_t *modes,
                               bool outputs, struct esp_error *error)
{
    struct grid_uris read;
    if (!list)
        return ESP_OK;
    enum esp_status status = grid_uris_read(&read, list, modes, outputs, error);
    if (status != ESP_OK) {
        grid_uris_clear(&read);
        return status;
    }
    grid_uris_clear(uris);
    *uris = read;
    return ESP_OK;
}

static enum esp_status transfer(struct grid_data *grid, void *arg, struct esp_error *error)
{
    const struct wanted *wanted = arg;
    holding_wait(grid->holding, 0, NULL); /* who moves it now reads the lists */
    enum esp_status status = replace(&grid->inputs, wanted->inputs, NULL, false, error);
    if (status == ESP_OK)
        status = replace(&grid->outputs, wanted->outputs, wanted->modes, true, error);
    return status == ESP_OK ? grid_transfer(grid, wanted->engine, error) : status;
}

grpc_error_t grpc_data_transfer(grpc_data_t *data, const char **input_URIs, const char **output_URIs,
                                const grpc_data_mode_t *output_modes)
{
    struct grid_data *grid;
    grpc_error_t code;
    struct library *library = enter(data, &grid, &code);
    if (!library)
        return code;
    struct wanted wanted = {library->engine, input_URIs, output_URIs, output_modes};
    return leave(grid, code_of(each(grid, transfer, &wanted, library_error())));
}

static enum esp_status settle(struct grid_data *grid, void *arg, struct esp_error *error)
{
    (void)arg;
    return holding_wait(grid->holding, 0, error);
}

struct waiting {
    struct grid_data **grids; /* used */
    struct holding **holdings;
    size_t n;
};

static enum esp_status gather(const grpc_data_t **list, struct waiting *waiting, struct esp_error *error)
{
    size_t n = 0;
    while (list[n] && n < MOST_WAITS)
        n++;
    if (list[n])
        return error_set(error, ESP_LIMIT, "expected at most %d data, found more", MOST_WAITS);
    waiting->grids = calloc(n + 1, sizeof *waiting->grids);
    waiting->holdings = calloc(n + 1, sizeof *waiting->holdings);
    if (!waiting->grids || !waiting->holdings)
        return error_no_memory(error, "a list of data");
    for (; waiting->n < n; waiting->n++) {
        struct grid_data *grid = waiting->grids[waiting->n] = grid_use(list[waiting->n]);
        if (!grid)
            return error_set(error, ESP_INVALID, "data %zu of the list were never initialized, or were freed",
                             waiting->n + 1);
        waiting->holdings[waiting->n] = grid->holding;
    }
    return ESP_OK;
}

/* Returns which one it is about; `n`: none. */
static size_t wait_for_all(const struct waiting *waiting, enum esp_status *status)
{
    struct esp_error why;
    size_t failed = waiting->n;
    *status = ESP_OK;
    for (size_t i = 0; i < waiting->n; i++) {
        if (each(waiting->grids[i], settle, NULL, &why) == ESP_OK || failed < waiting->n)
            continue;
        failed = i;
        *status = error_set(library_error(), why.status, "%s", why.text);
    }
    return failed;
}

static size_t wait_for_any(const struct waiting *waiting, enum esp_status *status)
{
    for (size_t i = 0; i < waiting->n; i++)
        if (waiting->grids[i]->is_container) {
            *status = error_set(library_error(), ESP_INVALID,
                                "a container can be waited for with GRPC_WAIT_ALL only");
            return waiting->n;
        }
    if (waiting->n == 0)
        return 0;
    size_t found = holding_wait_any(waiting->holdings, waiting->n);
    *status = holding_wait(waiting->holdings[found], 0, library_error());
    return found;
}

grpc_error_t grpc_data_wait(const grpc_data_t **list, grpc_completion_mode_t mode, grpc_data_t **returned)
{
    struct waiting waiting = {0};
    if (!library_enter(library_error()))
        return not_inside();
    if (returned)
        *returned = NULL;
    enum esp_status status =
        list ? gather(list, &waiting, library_error())
             : error_set(library_error(), ESP_INVALID, "list: expected a list, found NULL");
    grpc_error_t code = status == ESP_OK ? GRPC_NO_ERROR : GRPC_INVALID_DATA;
    if (status == ESP_OK) {
        size_t at = mode == GRPC_WAIT_ANY ? wait_for_any(&waiting, &status) : wait_for_all(&waiting, &status);
        if (returned && at < waiting.n)
            *returned = (grpc_data_t *)list[at];
        code = status == ESP_OK        ? GRPC_NO_ERROR
               : status == ESP_INVALID ? GRPC_OTHER_ERROR_CODE
                                       : GRPC_SESSION_FAILED;
    }
    for (size_t i = 0; i < waiting.n; i++)
        grid_release(waiting.grids[i]);
    free(waiting.grids);
    free(waiting.holdings);
    library_leave();
    return code;
}

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
    if (holding_wait(grid->holding, 0, NULL) != ESP_OK)
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
            length += (size_t)sprintf(text + length, "%s%s", length ? " " : "", holders[i].server);
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
    struct library *library = enter(data, &grid, &code);
    if (!library)
        return code;
    if (!info || (int)tag < GRPC_INFO_STATUS || tag > GRPC_INFO_PLACES)
        return leave(grid, wrong("expected what is to be told, and a place for it"));
    *info = tell(grid, tag, server, library->engine);
    if (!*info)
        code = code_of(error_no_memory(library_error(), "a text"));
    return leave(grid, code);
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
    if (!enter(data, &grid, &code))
        return code;
    enum esp_status status = file_of(uri_output, &path, library_error());
    if (status == ESP_OK && grid->is_container)
        status = error_set(library_error(), ESP_INVALID, "a container cannot be saved: save what is in it");
    if (status == ESP_OK)
        status = grid_file_write(path, grid, library_error());
    free(path);
    return leave(grid, code_of(status));
}

grpc_error_t grpc_data_load(grpc_data_t *data, const char *uri_input)
{
    struct grid_data *grid = NULL;
    char *path = NULL;
    if (!library_enter(library_error()))
        return not_inside();
    enum esp_status status =
        data ? file_of(uri_input, &path, library_error())
             : error_set(library_error(), ESP_INVALID, "data: expected a pointer, found a null pointer");
    if (status == ESP_OK)
        status = grid_file_read(path, &grid, library_error());
    if (status == ESP_OK && (status = grid_add(grid, data, library_error())) != ESP_OK)
        grid_release(grid);
    free(path);
    library_leave();
    return code_of(status);
}

/* ---- the end ---- */

grpc_error_t grpc_data_unbind(grpc_data_t *data)
{
    struct grid_data *grid;
    grpc_error_t code;
    if (!enter(data, &grid, &code))
        return code;
    grid_remove(grid);
    return leave(grid, code);
}

struct filter {
    struct engine *engine;
    struct grid_uris servers;
};

static enum esp_status free_one(struct grid_data *grid, void *arg, struct esp_error *error)
{
    const struct filter *filter = arg;
    char datum[DATUM_TEXT];
    enum esp_status status = ESP_OK;
    holding_wait(grid->holding, 0, NULL);
    if (!holding_datum(grid->holding, datum))
        return ESP_OK;
    for (size_t i = 0; status == ESP_OK && i < filter->servers.n; i++)
        status = data_drop(filter->engine, datum, filter->servers.items[i].rest, error);
    if (filter->servers.n == 0)
        status = data_drop(filter->engine, datum, NULL, error);
    /* What servers have dropped already need not be dropped. */
    if (status == ESP_NOT_FOUND)
        status = ESP_OK;
    if (status == ESP_OK && filter->servers.n == 0)
        holding_unset(grid->holding, datum);
    return status;
}

static enum esp_status read_filter(struct filter *filter, const char **list, struct esp_error *error)
{
    enum esp_status status = grid_uris_read(&filter->servers, list, NULL, true, error);
    for (size_t i = 0; status == ESP_OK && i < filter->servers.n; i++)
        if (filter->servers.items[i].place != GRID_SERVER || !*filter->servers.items[i].rest)
            status = error_set(error, ESP_INVALID, "expected server:NAME, found another place");
    return status;
}

grpc_error_t grpc_data_free(grpc_data_t *data, const char **URIs_filter)
{
    struct grid_data *grid;
    grpc_error_t code;
    struct library *library = enter(data, &grid, &code);
    if (!library)
        return code;
    struct filter filter = {.engine = library->engine};
    enum esp_status status = read_filter(&filter, URIs_filter, library_error());
    if (status == ESP_OK)
        status = each(grid, free_one, &filter, library_error());
    grid_uris_clear(&filter.servers);
    if (status == ESP_OK)
        grid_remove(grid);
    return leave(grid, status == ESP_OK ? GRPC_NO_ERROR : outcome_code(status));
}
