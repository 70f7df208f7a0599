/* SPDX-License-Identifier: Apache-2.0
 *
 * The GridRPC data management API: include/grpc_data.h describes the functions.
 */
#include "client/data/data.h"
#include "client/data/grid_data.h"
#include "client/session/library.h"
#include "client/session/session.h"
#include "grpc_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The code of a function that is called outside of initialize .. finalize. */
static grpc_error_t grid_api_not_inside(void)
{
    return library_error()->status == ESP_REFUSED ? GRPC_OTHER_ERROR_CODE : GRPC_NOT_INITIALIZED;
}

/* A wrong use, with its text: GRPC_OTHER_ERROR_CODE. */
static grpc_error_t grid_api_wrong(const char *text)
{
    error_set(library_error(), ESP_INVALID, "%s", text);
    return GRPC_OTHER_ERROR_CODE;
}

/* For functions that move nothing themselves. */
static grpc_error_t grid_api_code_of(enum esp_status status)
{
    return status == ESP_OK ? GRPC_NO_ERROR : GRPC_OTHER_ERROR_CODE;
}

/* Begins each function on data: enters the library and uses *grid. Returns NULL with the reason in *code
 * on failure. */
static struct library *grid_api_enter(const grpc_data_t *data, struct grid_data **grid, grpc_error_t *code)
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

/* Ends each function on data; returns the code. */
static grpc_error_t grid_api_leave(struct grid_data *grid, grpc_error_t code)
{
    grid_release(grid);
    library_leave(code == GRPC_NO_ERROR);
    return code;
}

/* Calls `what` with the datum, or with each datum of a container, also after a failure. Returns the first
 * failure. */
static enum esp_status grid_api_each(struct grid_data *grid,
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

/* ---- creation ---- */

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

/* Checks the places of an array of strings. Only servers know the length of the strings, so memory and
 * files cannot be inputs or outputs. Returns ESP_INVALID. */
static enum esp_status grid_api_check_places(const struct grid_uris *uris, const struct datum_shape *shape,
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

/* ---- deletion ---- */

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

/* A name that no server has is an error; a server without a copy is not. */
static enum esp_status drop_on(struct engine *engine, const char *datum, const char *server,
                               struct esp_error *error)
{
    char address[CAP_ADDRESS + 1];
    enum esp_status status = data_drop(engine, datum, server, false, error);
    return status == ESP_NOT_FOUND ? engine_resolve(engine, server, address, error) : status;
}

/* Whether the value was to stay on servers. Then deleting it must not leave a copy on an absent server. */
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
        if (holding_doom(grid->holding)) /* data that a running call takes stay until it ends */
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
    /* Data that servers have dropped, or that were lost with their server, need no deletion. */
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

/* ---- information ---- */

/* For free(); NULL without memory, with the error set. */
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

/* Any number of words, separated by blanks. */
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

/* For free(); NULL without memory, or if collecting the words failed. */
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

/* Servers that other data of the same container have named are not named again. A lost datum is on no
 * server, but only reachable servers can say so; if they are not reached, its places are unknown. */
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

/* ---- containers ---- */

/* Joins the ranks in order. The worst state counts for the whole container; a rank without data is an
 * empty item. */
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
        code = GRPC_OTHER_ERROR_CODE; /* its error is set already */
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

#define MOST_WAITS 65536

struct wanted {
    struct engine *engine;
    const char **inputs, **outputs;
    const grpc_data_mode_t *modes;
};

static enum esp_status read_list(const struct grid_data *grid, struct grid_uris *uris, const char **list,
                                 const grpc_data_mode_t *modes, bool outputs, struct esp_error *error)
{
    enum esp_status status = grid_uris_read(uris, list, modes, outputs, error);
    return status == ESP_OK ? grid_api_check_places(uris, &grid->shape, error) : status;
}

static void replace(struct grid_uris *uris, struct grid_uris *read)
{
    grid_uris_clear(uris);
    *uris = *read;
    *read = (struct grid_uris){0};
}

/* If the lists are wrong for one datum of a container, none is changed. */
static enum esp_status check(struct grid_data *grid, void *arg, struct esp_error *error)
{
    const struct wanted *wanted = arg;
    struct grid_uris read = {0};
    enum esp_status status = read_list(grid, &read, wanted->inputs, NULL, false, error);
    grid_uris_clear(&read);
    if (status == ESP_OK)
        status = read_list(grid, &read, wanted->outputs, wanted->modes, true, error);
    grid_uris_clear(&read);
    return status;
}

/* Both lists are replaced, or none. */
static enum esp_status transfer(struct grid_data *grid, void *arg, struct esp_error *error)
{
    const struct wanted *wanted = arg;
    struct grid_uris inputs = {0}, outputs = {0};
    holding_wait(grid->holding, NULL); /* a transfer under way still reads the lists */
    enum esp_status status = read_list(grid, &inputs, wanted->inputs, NULL, false, error);
    if (status == ESP_OK)
        status = read_list(grid, &outputs, wanted->outputs, wanted->modes, true, error);
    if (status == ESP_OK && wanted->inputs)
        replace(&grid->inputs, &inputs);
    if (status == ESP_OK && wanted->outputs)
        replace(&grid->outputs, &outputs);
    grid_uris_clear(&inputs);
    grid_uris_clear(&outputs);
    return status == ESP_OK ? grid_transfer(grid, wanted->engine, wanted->inputs != NULL, error) : status;
}

grpc_error_t grpc_data_transfer(grpc_data_t *data, const char **input_URIs, const char **output_URIs,
                                const grpc_data_mode_t *output_modes)
{
    struct grid_data *grid;
    grpc_error_t code;
    struct library *library = grid_api_enter(data, &grid, &code);
    if (!library)
        return code;
    struct wanted wanted = {library->engine, input_URIs, output_URIs, output_modes};
    enum esp_status status = grid_api_each(grid, check, &wanted, library_error());
    if (status == ESP_OK)
        status = grid_api_each(grid, transfer, &wanted, library_error());
    return grid_api_leave(grid, grid_api_code_of(status));
}

/* The data to wait for: those of the list, or all in the list's containers. */
struct waiting {
    struct grid_data **grids; /* in use, together with their values */
    struct grid_data **members;
    struct holding **holdings;
    size_t *ends; /* for each of the list: the index behind its last datum */
    size_t n, n_members;
};

static void add_member(struct waiting *waiting, uint64_t number)
{
    struct grid_data *grid = number ? grid_use_number(number) : NULL;
    if (!grid)
        return;
    waiting->holdings[waiting->n_members] = grid->holding;
    waiting->members[waiting->n_members++] = grid;
}

static enum esp_status add_members(struct waiting *waiting, struct esp_error *error)
{
    size_t most = 0;
    for (size_t i = 0; i < waiting->n; i++)
        most += waiting->grids[i]->is_container ? waiting->grids[i]->n_items : 1;
    waiting->members = calloc(most + 1, sizeof *waiting->members);
    waiting->holdings = calloc(most + 1, sizeof *waiting->holdings);
    waiting->ends = calloc(waiting->n + 1, sizeof *waiting->ends);
    if (!waiting->members || !waiting->holdings || !waiting->ends)
        return error_no_memory(error, "a list of data");
    for (size_t i = 0; i < waiting->n; i++) {
        const struct grid_data *grid = waiting->grids[i];
        if (!grid->is_container)
            add_member(waiting, grid->number);
        for (size_t k = 0; grid->is_container && k < grid->n_items; k++)
            add_member(waiting, grid->items[k]);
        waiting->ends[i] = waiting->n_members;
    }
    return ESP_OK;
}

static enum esp_status gather(const grpc_data_t **list, struct waiting *waiting, struct esp_error *error)
{
    size_t n = 0;
    while (list[n] && n < MOST_WAITS)
        n++;
    if (list[n])
        return error_set(error, ESP_LIMIT, "expected at most %d data, found more", MOST_WAITS);
    waiting->grids = calloc(n + 1, sizeof *waiting->grids);
    if (!waiting->grids)
        return error_no_memory(error, "a list of data");
    for (; waiting->n < n; waiting->n++)
        if (!(waiting->grids[waiting->n] = grid_use(list[waiting->n])))
            return error_set(error, ESP_INVALID, "data %zu of the list were never initialized, or were freed",
                             waiting->n + 1);
    return add_members(waiting, error);
}

static void release(struct waiting *waiting)
{
    for (size_t i = 0; i < waiting->n; i++)
        grid_release(waiting->grids[i]);
    for (size_t i = 0; i < waiting->n_members; i++)
        grid_release(waiting->members[i]);
    free(waiting->grids);
    free(waiting->members);
    free(waiting->holdings);
    free(waiting->ends);
}

/* Waits for all data of one entry of the list, also after a failure. Returns whether none failed; *why is
 * the first failure. */
static bool wait_for(const struct waiting *waiting, size_t at, struct esp_error *why)
{
    bool good = true;
    for (size_t i = at > 0 ? waiting->ends[at - 1] : 0; i < waiting->ends[at]; i++) {
        struct esp_error another;
        good = holding_wait(waiting->holdings[i], good ? why : &another) == ESP_OK && good;
    }
    return good;
}

/* Returns the first entry that failed; `n`: none. */
static size_t wait_for_all(const struct waiting *waiting, struct esp_error *why)
{
    size_t failed = waiting->n;
    for (size_t i = 0; i < waiting->n; i++) {
        struct esp_error another;
        if (!wait_for(waiting, i, failed == waiting->n ? why : &another) && failed == waiting->n)
            failed = i;
    }
    return failed;
}

/* Returns which entry has ended, and whether it failed. */
static size_t wait_for_any(const struct waiting *waiting, bool *failed, struct esp_error *why)
{
    const size_t found = waiting->n > 0 ? holding_wait_any(waiting->holdings, waiting->ends, waiting->n) : 0;
    *failed = found < waiting->n && !wait_for(waiting, found, why);
    return found;
}

grpc_error_t grpc_data_wait(const grpc_data_t **list, grpc_completion_mode_t mode, grpc_data_t **returned)
{
    struct waiting waiting = {0};
    if (!library_enter(library_error()))
        return grid_api_not_inside();
    if (returned)
        *returned = NULL;
    const bool is_mode = mode == GRPC_WAIT_ALL || mode == GRPC_WAIT_ANY;
    enum esp_status status =
        !is_mode ? error_set(library_error(), ESP_INVALID,
                             "mode: expected GRPC_WAIT_ALL or GRPC_WAIT_ANY, found %d", (int)mode)
        : list   ? gather(list, &waiting, library_error())
                 : error_set(library_error(), ESP_INVALID, "list: expected a list, found NULL");
    grpc_error_t code = status == ESP_OK ? GRPC_NO_ERROR
                        : is_mode        ? GRPC_INVALID_DATA
                                         : GRPC_OTHER_ERROR_CODE;
    if (status == ESP_OK) {
        bool failed;
        size_t at;
        if (mode == GRPC_WAIT_ANY)
            at = wait_for_any(&waiting, &failed, library_error());
        else
            failed = (at = wait_for_all(&waiting, library_error())) < waiting.n;
        if (returned && at < waiting.n)
            *returned = (grpc_data_t *)list[at];
        code = failed ? GRPC_SESSION_FAILED : GRPC_NO_ERROR;
    }
    release(&waiting);
    library_leave(code == GRPC_NO_ERROR);
    return code;
}
