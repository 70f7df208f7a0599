/* SPDX-License-Identifier: Apache-2.0
 *
 * What the four types of MUMPS share.
 */
#ifndef SOLVERS_MUMPS_H
#define SOLVERS_MUMPS_H

#include "solvers/condition.h"
#include "solvers/kept.h"
#include "solvers/sparse_structure.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Coordinates from 1, as MUMPS wants them; element k is number from[k] of the compressed columns. */
struct triplets {
    int count;
    int *rows, *columns, *from;
};

static inline void triplets_clear(struct triplets *list)
{
    free(list->rows);
    free(list->columns);
    free(list->from);
}

/* All elements, or those of the lower triangle. */
static inline bool triplets_make(int n, const int *pointers, const int *rows, bool lower,
                                 struct triplets *list)
{
    size_t bytes = ((size_t)pointers[n] + 1) * sizeof(int);
    *list = (struct triplets){.rows = malloc(bytes), .columns = malloc(bytes), .from = malloc(bytes)};
    if (!list->rows || !list->columns || !list->from)
        return false;
    for (int j = 0; j < n; j++)
        for (int k = pointers[j]; k < pointers[j + 1]; k++) {
            if (lower && rows[k] < j)
                continue;
            list->rows[list->count] = rows[k] + 1;
            list->columns[list->count] = j + 1;
            list->from[list->count++] = k;
        }
    return true;
}

/* Whether its work space was too small for what the pivots made of the matrix. */
static inline bool mumps_wants_room(int info)
{
    return info == -8 || info == -9 || info == -11 || info == -12 || info == -14 || info == -15 ||
           info == -17 || info == -20;
}

/* INFOG(1), MUMPS Users' Guide, section 8. */
static inline int mumps_meaning(int info)
{
    switch (info) {
    case -6:  /* structurally singular */
    case -10: /* numerically */
    case -40: /* not positive definite */
        return SOLVER_SINGULAR;
    case -5:
    case -7:
    case -13:
        return SOLVER_NO_MEMORY;
    default:
        return info < 0 ? SOLVER_FAILED : SOLVER_OK;
    }
}

#endif
