/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/mpi/prd.h"

#include <stdlib.h>

/* The BLACS have no header. */
int Csys2blacs_handle(MPI_Comm communicator);
void Cblacs_gridinit(int *context, const char *order, int rows, int cols);
void Cblacs_gridinfo(int context, int *rows, int *cols, int *row, int *col);

static struct rank_grid *grids;

/* Makes a communicator of these ranks alone, because the others compute, or sleep. */
static int make_communicator(uint32_t first, uint32_t n, MPI_Comm *communicator)
{
    MPI_Group world, group;
    int range[1][3] = {{(int)first, (int)(first + n - 1), 1}};
    int code = MPI_Comm_group(MPI_COMM_WORLD, &world);
    if (code != MPI_SUCCESS)
        return code;
    code = MPI_Group_range_incl(world, 1, range, &group);
    MPI_Group_free(&world);
    if (code != MPI_SUCCESS)
        return code;
    code = MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, communicator);
    MPI_Group_free(&group);
    return code;
}

static enum esp_status make_grid(struct rank_grid *grid, struct esp_error *error)
{
    char words[MPI_MAX_ERROR_STRING] = "";
    int length, rows, cols;
    int code = make_communicator(grid->first, grid->rows * grid->cols, &grid->communicator);
    if (code != MPI_SUCCESS) {
        MPI_Error_string(code, words, &length);
        return error_set(error, ESP_FAILED, "cannot make a grid of %u x %u ranks: %s", grid->rows, grid->cols,
                         words);
    }
    grid->handle = MPI_Comm_c2f(grid->communicator);
    grid->context = Csys2blacs_handle(grid->communicator);
    Cblacs_gridinit(&grid->context, "Row", (int)grid->rows, (int)grid->cols);
    Cblacs_gridinfo(grid->context, &rows, &cols, &grid->row, &grid->col);
    return ESP_OK;
}

enum esp_status rank_grid_find(uint32_t first, uint32_t rows, uint32_t cols, const struct rank_grid **grid,
                               struct esp_error *error)
{
    for (struct rank_grid *at = grids; at; at = at->next)
        if (at->first == first && at->rows == rows && at->cols == cols) {
            *grid = at;
            return ESP_OK;
        }
    struct rank_grid *made = calloc(1, sizeof *made);
    if (!made)
        return error_no_memory(error, "a process grid");
    *made = (struct rank_grid){.first = first, .rows = rows, .cols = cols};
    enum esp_status status = make_grid(made, error);
    if (status != ESP_OK) {
        free(made);
        return status;
    }
    made->next = grids;
    grids = made;
    *grid = made;
    return ESP_OK;
}
