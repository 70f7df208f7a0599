/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of data between the places that their URIs name.
 */
#include "client/arguments/contents.h"
#include "client/data/data.h"
#include "client/data/grid_data.h"
#include "client/data/sequence.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- files: the bytes of the array and nothing else ---- */

static enum esp_status read_file(const char *path, uint64_t bytes, void *memory, struct esp_error *error)
{
    int fd;
    uint64_t size;
    if (contents_open(path, &fd, &size, error) != ESP_OK)
        return error->status;
    FILE *file = fdopen(fd, "rb");
    if (!file) {
        close(fd);
        return error_no_memory(error, path);
    }
    uint64_t found = fread(memory, 1, bytes, file);
    bool longer = found == bytes && fgetc(file) != EOF;
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed)
        return error_set(error, ESP_SYSTEM, "%s: cannot be read: %s", path, strerror(errno));
    if (found == bytes && !longer)
        return ESP_OK;
    return error_set(error, ESP_INVALID, "%s: expected the %llu bytes of the array, found %s%llu", path,
                     (unsigned long long)bytes, longer ? "more than " : "", (unsigned long long)found);
}

/* ---- in ---- */

static enum esp_status take_file(struct grid_data *grid, const char *path, struct esp_error *error)
{
    void *memory = malloc(grid->shape.bytes);
    enum esp_status status =
        memory ? read_file(path, grid->shape.bytes, memory, error) : error_no_memory(error, path);
    if (status == ESP_OK)
        status = grid_own_memory(grid, memory, error);
    if (status != ESP_OK)
        free(memory);
    return status;
}

/* What is there has to be what the program has described: nobody looks at it again where it is read. */
static enum esp_status take_datum(const struct grid_data *grid, const char *id, struct engine *engine,
                                  struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    struct message request = {.kind = MESSAGE_DATA, .data = {.datum = id, .after = ""}}, reply = {0};
    size_t n = 0;
    enum esp_status status = data_find(engine, id, false, holders, &n, error);
    if (status == ESP_OK)
        status = data_ask(engine, holders[0].address, &request, &reply, error);
    if (status == ESP_OK && reply.data_reply.n == 0)
        status = error_set(error, ESP_NOT_FOUND, "the datum has just been deleted");
    if (status == ESP_OK)
        status = data_fits(&reply.data_reply.items[0], &grid->shape, error);
    message_clear(&reply);
    return status;
}

static enum esp_status take_one(struct grid_data *grid, const struct grid_uri *uri, struct engine *engine,
                                struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    void *memory = uri->place == GRID_MEMORY ? grid_mapping(uri->rest) : NULL;
    if (uri->place == GRID_MEMORY && !memory)
        return error_set(error, ESP_NOT_FOUND,
                         "memory:%s: no memory has this name (grpc_data_memory_mapping_set)", uri->rest);
    if (uri->place == GRID_DATUM)
        status = take_datum(grid, uri->rest, engine, error);
    else if (uri->place == GRID_FILE)
        status = take_file(grid, uri->rest, error);
    if (status != ESP_OK)
        return status;
    if (uri->place != GRID_FILE)
        grid_set_memory(grid, memory);
    holding_set(grid->holding, uri->place == GRID_DATUM ? uri->rest : NULL);
    return ESP_OK;
}

enum esp_status grid_sync(struct grid_data *grid, struct esp_error *error)
{
    const void *memory = grid_memory(grid);
    enum esp_status status = memory ? sequence_sync(memory, grid->shape.bytes, error) : ESP_OK;
    for (size_t i = 0; status == ESP_OK && i < grid->inputs.n; i++) {
        const struct grid_uri *uri = &grid->inputs.items[i];
        const void *named = uri->place == GRID_MEMORY ? grid_mapping(uri->rest) : NULL;
        if (named && named != memory)
            status = sequence_sync(named, grid->shape.bytes, error);
    }
    return status;
}

enum esp_status grid_take_in(struct grid_data *grid, struct engine *engine, bool anew,
                             struct esp_error *error)
{
    char datum[DATUM_TEXT];
    enum esp_status status = ESP_NOT_FOUND;
    bool has_value = grid_memory(grid) || holding_datum(grid->holding, datum);
    if (has_value && (!anew || grid->inputs.n == 0))
        return ESP_OK;
    for (size_t i = 0; i < grid->inputs.n; i++) {
        status = take_one(grid, &grid->inputs.items[i], engine, error);
        if (status == ESP_OK)
            return ESP_OK;
    }
    if (grid->inputs.n > 0)
        return status;
    return error_set(error, ESP_NOT_FOUND, "the data have no value: no input says where it is");
}

/* ---- out ---- */

static struct datum_info describe(struct grid_data *grid, grpc_data_mode_t grid_mode)
{
    enum datum_mode mode = DATUM_VOLATILE;
    uint32_t flags = 0;
    datum_of_grid_mode((enum datum_grid_mode)grid_mode, &mode, &flags);
    return (struct datum_info){.type = grid->shape.type,
                               .dims = grid->shape.dims,
                               .n_dims = grid->shape.n_dims,
                               .bytes = grid->shape.bytes,
                               .mode = mode,
                               .flags = flags,
                               .created_s = (int64_t)time(NULL)};
}

static bool is_on(struct engine *engine, const char *datum, const char *server)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    size_t n = 0;
    if (data_find(engine, datum, true, holders, &n, NULL) != ESP_OK)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(holders[i].server, server) == 0)
            return true;
    return false;
}

/* What is durable is so there, whatever becomes of it where it comes from. */
static enum esp_status bring_from_servers(const char *datum, const char *server, grpc_data_mode_t grid_mode,
                                          struct engine *engine, struct esp_error *error)
{
    enum datum_mode mode = DATUM_VOLATILE;
    uint32_t flags = 0;
    datum_of_grid_mode((enum datum_grid_mode)grid_mode, &mode, &flags);
    if (datum_is_durable(mode, flags))
        return data_copy_kept(engine, datum, server, mode, flags, error);
    return is_on(engine, datum, server)
               ? ESP_OK
               : data_copy(engine, datum, server, false, (struct data_told){0}, error);
}

static enum esp_status bring_to_server(struct grid_data *grid, const struct grid_uri *uri,
                                       struct engine *engine, struct esp_error *error)
{
    char datum[DATUM_TEXT], address[CAP_ADDRESS + 1];
    const char *server = uri->rest;
    if (!*server)
        return ESP_OK; /* it is left where a call needs it, or was (grid_keep()) */
    if (!holding_claim(grid->holding, datum))
        return bring_from_servers(datum, server, uri->mode, engine, error);
    const struct datum_info info = describe(grid, uri->mode);
    enum esp_status status = engine_await_name(engine, server, address, error);
    struct grid_bytes *loan = NULL;
    const void *memory = grid_borrow(grid, &loan);
    if (status == ESP_OK)
        status = data_put(engine, server, address, &info, memory, (struct data_told){0}, datum, error);
    grid_return(loan);
    if (status == ESP_OK)
        grid_note_sent(grid);
    holding_put_done(grid->holding, status == ESP_OK ? datum : NULL);
    return status;
}

/* ---- kept, wherever that is ---- */

#define MOST_SERVERS 64 /* that are asked to take it */

struct servers {
    struct data_holder items[MOST_SERVERS];
    size_t n;
    size_t n_near; /* of these, the first: below the nearest master agent */
};

static enum esp_status note_server(void *arg, const struct data_holder *server, struct esp_error *error)
{
    struct servers *servers = arg;
    (void)error;
    if (servers->n < MOST_SERVERS)
        servers->items[servers->n++] = *server;
    if (!server->is_far)
        servers->n_near = servers->n;
    return ESP_OK;
}

/* The first that takes it, from any one of the near ones on: programs are not to meet on the same. Servers
 * below other master agents come last. */
static enum esp_status put_somewhere(struct grid_data *grid, grpc_data_mode_t mode, struct engine *engine,
                                     struct esp_error *error)
{
    char datum[DATUM_TEXT];
    struct servers servers = {.n = 0};
    const struct datum_info info = describe(grid, mode);
    if (!holding_claim(grid->holding, datum))
        return ESP_OK;
    enum esp_status status = data_each_server(engine, NULL, note_server, &servers, NULL, error);
    if (status == ESP_OK && servers.n == 0)
        status = error_set(error, ESP_NO_SERVER, "the data are to stay on a server, and there is none");
    struct grid_bytes *loan = NULL;
    const void *memory = grid_borrow(grid, &loan);
    const uint64_t first = engine->client_low;
    for (size_t i = 0; i < servers.n; i++) {
        const bool is_near = i < servers.n_near;
        const struct data_holder *server = &servers.items[is_near ? (first + i) % servers.n_near : i];
        datum[0] = 0;
        status = data_put(engine, server->server, server->address, &info, memory, (struct data_told){0},
                          datum, error);
        if (status == ESP_OK)
            break;
    }
    grid_return(loan);
    if (status == ESP_OK)
        grid_note_sent(grid);
    holding_put_done(grid->holding, status == ESP_OK ? datum : NULL);
    return status;
}

enum esp_status grid_keep(struct grid_data *grid, struct engine *engine, struct esp_error *error)
{
    char datum[DATUM_TEXT];
    struct data_holder holders[DATA_MOST_HOLDERS];
    size_t n = 0;
    enum esp_status status = ESP_OK;
    for (size_t i = 0; status == ESP_OK && i < grid->outputs.n; i++) {
        const struct grid_uri *uri = &grid->outputs.items[i];
        if (uri->place != GRID_SERVER || *uri->rest || !grid_mode_stays(uri->mode))
            continue;
        if (!holding_datum(grid->holding, datum)) {
            status = put_somewhere(grid, uri->mode, engine, error);
            continue;
        }
        status = data_find(engine, datum, false, holders, &n, error);
        if (status == ESP_OK)
            status = bring_from_servers(datum, holders[0].server, uri->mode, engine, error);
    }
    return status;
}

/* Memory with the value; NULL: that is on servers, and the program may have written over what was sent. */
static const void *borrow_value(struct grid_data *grid, struct grid_bytes **loan)
{
    char datum[DATUM_TEXT];
    const void *memory = grid_borrow(grid, loan);
    if (!memory || !holding_datum(grid->holding, datum) || grid_is_as_sent(grid, memory))
        return memory;
    grid_return(*loan);
    *loan = NULL;
    return NULL;
}

/* The value into memory of the program. */
static enum esp_status fetch(struct grid_data *grid, struct engine *engine, void *memory,
                             struct esp_error *error)
{
    char datum[DATUM_TEXT];
    struct grid_bytes *loan = NULL;
    const void *from = borrow_value(grid, &loan);
    if (from && from != memory)
        memmove(memory, from, grid->shape.bytes);
    grid_return(loan);
    if (from)
        return ESP_OK;
    if (!holding_datum(grid->holding, datum))
        return error_set(error, ESP_NOT_FOUND, "the data have no value");
    enum esp_status status = sequence_sync(memory, grid->shape.bytes, error);
    if (status == ESP_OK)
        status = data_get(engine, datum, memory, grid->shape.bytes, (struct data_told){0}, error);
    return status;
}

static enum esp_status bring_to_file(struct grid_data *grid, const char *path, struct engine *engine,
                                     struct esp_error *error)
{
    struct grid_bytes *loan = NULL;
    const void *from = borrow_value(grid, &loan);
    void *memory = from ? NULL : malloc(grid->shape.bytes);
    enum esp_status status = from     ? ESP_OK
                             : memory ? fetch(grid, engine, memory, error)
                                      : error_no_memory(error, path);
    if (status == ESP_OK)
        status = contents_save(path, from ? from : memory, grid->shape.bytes, error);
    grid_return(loan);
    free(memory);
    return status;
}

static enum esp_status bring_to_memory(struct grid_data *grid, const char *key, struct engine *engine,
                                       struct esp_error *error)
{
    void *memory = grid_mapping(key);
    if (!memory)
        return error_set(error, ESP_NOT_FOUND,
                         "memory:%s: no memory has this name (grpc_data_memory_mapping_set)", key);
    enum esp_status status = fetch(grid, engine, memory, error);
    if (status == ESP_OK && memory != grid_memory(grid))
        grid_set_memory(grid, memory);
    return status;
}

/* As programs write it. */
static const char *place_word(const struct grid_uri *uri)
{
    return uri->place == GRID_SERVER ? "server" : uri->place == GRID_FILE ? "file" : "memory";
}

/* An output that cannot be reached does not keep the value from the other outputs: the first failure is told.
 */
static enum esp_status bring_out(struct grid_data *grid, struct engine *engine, struct esp_error *error)
{
    enum esp_status first = ESP_OK;
    for (size_t i = 0; i < grid->outputs.n; i++) {
        const struct grid_uri *uri = &grid->outputs.items[i];
        struct esp_error why = {0};
        enum esp_status status = uri->place == GRID_SERVER ? bring_to_server(grid, uri, engine, &why)
                                 : uri->place == GRID_FILE ? bring_to_file(grid, uri->rest, engine, &why)
                                                           : bring_to_memory(grid, uri->rest, engine, &why);
        if (status == ESP_OK || first != ESP_OK)
            continue;
        if (grid->outputs.n > 1)
            error_prefix(&why, "to \"%s:%s\"", place_word(uri), uri->rest);
        *error = why;
        first = status;
    }
    return first;
}

const char *grid_only_server(const struct grid_data *grid)
{
    const struct grid_uri *only = grid->outputs.n == 1 ? &grid->outputs.items[0] : NULL;
    return only && only->place == GRID_SERVER && *only->rest ? only->rest : NULL;
}

void grid_left_mode(const struct grid_data *grid, enum datum_mode *mode, uint32_t *flags)
{
    *mode = grid->holding->mode;
    *flags = grid->holding->flags;
    if (!grid_only_server(grid) || !datum_mode_sticks(*mode))
        return;
    *mode = DATUM_VOLATILE;
    *flags = 0;
}

/* It moves there, and becomes what it is to be. */
static enum esp_status bring_away(const struct grid_uri *only, const char *datum, struct engine *engine,
                                  struct esp_error *error)
{
    enum datum_mode mode = DATUM_VOLATILE;
    uint32_t flags = 0;
    datum_of_grid_mode((enum datum_grid_mode)only->mode, &mode, &flags);
    return is_on(engine, datum, only->rest) ? bring_from_servers(datum, only->rest, only->mode, engine, error)
                                            : data_move_as(engine, datum, only->rest, mode, flags, error);
}

static bool is_input(const struct grid_data *grid, const char *datum)
{
    for (size_t i = 0; i < grid->inputs.n; i++)
        if (grid->inputs.items[i].place == GRID_DATUM && strcmp(grid->inputs.items[i].rest, datum) == 0)
            return true;
    return false;
}

/* Whether a server other than `server` has the value (*elsewhere), and keeps it for ever (*sticks). */
static enum esp_status look_elsewhere(struct engine *engine, const char *datum, const char *server,
                                      bool *elsewhere, bool *sticks, struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    struct message request = {.kind = MESSAGE_DATA, .data = {.datum = datum, .after = ""}};
    size_t n = 0;
    *elsewhere = *sticks = false;
    enum esp_status status = data_find(engine, datum, true, holders, &n, error);
    for (size_t i = 0; status == ESP_OK && i < n; i++) {
        struct message reply = {0};
        if (strcmp(holders[i].server, server) == 0)
            continue;
        *elsewhere = true;
        if (data_ask(engine, holders[i].address, &request, &reply, NULL) == ESP_OK &&
            reply.data_reply.n > 0 && datum_mode_sticks((enum datum_mode)reply.data_reply.items[0].mode))
            *sticks = true;
        message_clear(&reply);
    }
    return status;
}

enum esp_status grid_bring_transferred(struct grid_data *grid, struct engine *engine, struct esp_error *error)
{
    char datum[DATUM_TEXT];
    const char *server = grid_only_server(grid);
    bool elsewhere, sticks;
    if (!server || !holding_datum(grid->holding, datum) || is_input(grid, datum))
        return bring_out(grid, engine, error);
    enum esp_status status = look_elsewhere(engine, datum, server, &elsewhere, &sticks, error);
    if (status != ESP_OK)
        return status;
    if (!elsewhere || sticks)
        return bring_out(grid, engine, error);
    enum datum_mode mode = DATUM_VOLATILE;
    uint32_t flags = 0;
    datum_of_grid_mode((enum datum_grid_mode)grid->outputs.items[0].mode, &mode, &flags);
    return data_move_as(engine, datum, server, mode, flags, error);
}

enum esp_status grid_bring_result(struct grid_data *grid, struct engine *engine, struct esp_error *error)
{
    char datum[DATUM_TEXT];
    return grid_only_server(grid) && holding_datum(grid->holding, datum)
               ? bring_away(&grid->outputs.items[0], datum, engine, error)
               : bring_out(grid, engine, error);
}

void *grid_only_memory(const struct grid_data *grid)
{
    const struct grid_uri *only = grid->outputs.n == 1 ? &grid->outputs.items[0] : NULL;
    return only && only->place == GRID_MEMORY && !grid_mode_stays(only->mode) ? grid_mapping(only->rest)
                                                                              : NULL;
}
