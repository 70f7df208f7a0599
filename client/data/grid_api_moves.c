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
    return grid_api_leave(grid, grid_api_code_of(grid_api_each(grid, transfer, &wanted, library_error())));
}

static enum esp_status settle(struct grid_data *grid, void *arg, struct esp_error *error)
{
    (void)arg;
    return holding_wait(grid->holding, error);
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
        if (grid_api_each(waiting->grids[i], settle, NULL, &why) == ESP_OK || failed < waiting->n)
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
    *status = holding_wait(waiting->holdings[found], library_error());
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
    library_leave(code == GRPC_NO_ERROR);
    return code;
}
