/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/grid_api.h"
#include "client/data/grid_transfer.h"

#include <stdlib.h>

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

/* Of a container nothing happens to any, where the lists are wrong for one. */
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
    holding_wait(grid->holding, NULL); /* who moves it now reads the lists */
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

/* What is waited for: of each of the list its value, or those of all that are in it. */
struct waiting {
    struct grid_data **grids; /* used, as those with the values are: */
    struct grid_data **members;
    struct holding **holdings;
    size_t *ends; /* of each of the list, behind its last member */
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

/* All of that one of the list, also behind one that failed. Whether none has; *why is the first failure. */
static bool wait_for(const struct waiting *waiting, size_t at, struct esp_error *why)
{
    bool good = true;
    for (size_t i = at > 0 ? waiting->ends[at - 1] : 0; i < waiting->ends[at]; i++) {
        struct esp_error another;
        good = holding_wait(waiting->holdings[i], good ? why : &another) == ESP_OK && good;
    }
    return good;
}

/* Returns the first one that failed; `n`: none. */
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

/* Which one it is; whether that has failed. */
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
