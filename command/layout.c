/* SPDX-License-Identifier: Apache-2.0 */
#include "command/layout.h"
#include "command/ranks_ask.h"

#include "core/data/datum.h"
#include "core/redistribution/pieces.h"

#include <stdio.h>

/* "64" is both. */
static bool read_two(const char *word, bool one_will_do, long long *first, long long *second)
{
    int length = 0;
    if (sscanf(word, "%lldx%lld%n", first, second, &length) == 2 && word[length] == 0)
        return *first > 0 && *second > 0;
    length = 0;
    if (!one_will_do || sscanf(word, "%lld%n", first, &length) != 1 || word[length] != 0)
        return false;
    *second = *first;
    return *first > 0;
}

enum esp_status layout_option(const struct command_line *command, bool *given, struct esp_data_layout *layout,
                              struct esp_error *error)
{
    const char *grid = command_option_value(command, "grid"), *block = command_option_value(command, "block");
    long long rows, cols, row_block, col_block;
    *given = grid && block;
    if (!grid && !block)
        return ESP_OK;
    if (!grid || !block)
        return error_set(error, ESP_INVALID, "expected both --grid and --block, or neither");
    if (!read_two(grid, false, &rows, &cols))
        return error_set(error, ESP_INVALID,
                         "--grid: expected rows and columns of ranks, as in 2x3, found %s", grid);
    if (rows > DATUM_MOST_PIECES || cols > DATUM_MOST_PIECES || rows * cols > DATUM_MOST_PIECES)
        return error_set(error, ESP_INVALID,
                         "--grid: expected rows and columns of ranks with at most %d pieces in all, found %s",
                         DATUM_MOST_PIECES, grid);
    if (!read_two(block, true, &row_block, &col_block))
        return error_set(error, ESP_INVALID,
                         "--block: expected rows and columns of a block, as in 64 or 64x32, found %s", block);
    *layout = (struct esp_data_layout){(unsigned)rows, (unsigned)cols, row_block, col_block};
    return ESP_OK;
}

void layout_remark(const struct command_line *command, const struct esp_data_layout *layout,
                   const char *server)
{
    const unsigned ranks = ranks_ask_number(server);
    const unsigned long long wanted = (unsigned long long)layout->rows * layout->cols;
    if (ranks > 0 && wanted > ranks)
        fprintf(stderr,
                "espalier %s: --grid %ux%u: server %s has %u ranks, and no grid of %llu: it keeps the "
                "pieces, but "
                "each call there copies the matrix to where it computes\n",
                command->verb->name, layout->rows, layout->cols, server, ranks, wanted);
}

struct block_cyclic_matrix layout_of(const struct esp_data_info *info, const struct esp_data_layout *layout)
{
    return pieces_grid(info->n_dims > 0 ? info->dims[0] : 1, info->n_dims > 1 ? info->dims[1] : 1,
                       layout->rows, layout->cols, layout->row_block, layout->col_block);
}
