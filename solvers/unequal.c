/* SPDX-License-Identifier: Apache-2.0
 *
 * What the four types of solvers/unequal_type.h share.
 */
#include "solvers/unequal.h"

#include <stdlib.h>
#include <string.h>

void Cblacs_gridinfo(int context, int *rows, int *cols, int *row, int *col);

/* A descriptor of ScaLAPACK. */
enum { CONTEXT = 1, ROW_BLOCK = 4, LEADING = 8 };

struct grid_part unequal_part(void *data, const int *desc, int rows, int cols)
{
    struct grid_part part = {
        .rows = rows, .cols = cols, .block = desc[ROW_BLOCK], .leading = desc[LEADING], .data = data};
    Cblacs_gridinfo(desc[CONTEXT], &part.p, &part.q, &part.row, &part.col);
    return part;
}

int unequal_share(const struct grid_part *part, bool rows)
{
    const int n = rows ? part->rows : part->cols, ranks = rows ? part->p : part->q,
              mine = rows ? part->row : part->col;
    return columns_share(n, part->block, ranks, mine);
}

void unequal_spread(const struct grid_part *part, bool with_rows, int n, int element, const void *all,
                    void *local)
{
    const int ranks = with_rows ? part->p : part->q, mine = with_rows ? part->row : part->col;
    char *to = local;
    for (int at = mine * part->block; at < n; at += ranks * part->block) {
        const size_t bytes = (size_t)(n - at < part->block ? n - at : part->block) * (size_t)element;
        memcpy(to, (const char *)all + (size_t)at * (size_t)element, bytes);
        to += bytes;
    }
}

#define PHASES 16 /* of a factorisation, where nobody says how long one is */

static int phase_set = -1;

void unequal_set_phase(int blocks)
{
    phase_set = blocks;
}

int unequal_phase(int blocks)
{
    return phase_set >= 0 ? phase_set : blocks / PHASES;
}

static double speed_set;

void unequal_set_speed(double cycle_time)
{
    speed_set = cycle_time;
}

double unequal_speed(double seconds, double least, double flop)
{
    if (speed_set > 0)
        return speed_set;
    return seconds > least ? seconds / flop : 0;
}

static int redistributions;

int unequal_redistributions(void)
{
    return redistributions;
}

void unequal_redistributed(void)
{
    redistributions++;
}
