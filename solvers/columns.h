/* SPDX-License-Identifier: Apache-2.0
 *
 * A matrix whose column blocks belong to any ranks: whole columns on their owners, more of them on faster
 * ranks (core/unequal/allocation.h). All ranks of the communicator call each function together, unless it
 * says otherwise. A rank that waits here sleeps: a rank with a quota of processor time must not use it up in
 * waiting.
 */
#ifndef SOLVERS_COLUMNS_H
#define SOLVERS_COLUMNS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct columns {
    MPI_Comm comm;
    int rank, ranks;
    MPI_Datatype type; /* of an element */
    int element;       /* its bytes */
    int rows, leading; /* leading: max(1, rows) */
    int blocks;
    int *bounds;      /* blocks + 1: the first column of each block; the last is the number of columns */
    uint32_t *owners; /* of each block */
    int *from;        /* blocks + 1: own columns before each block */
    char *data;       /* rows x from[blocks], by columns */
};

/* A part of a matrix of ScaLAPACK: square blocks over a grid whose ranks are numbered row by row and that
 * begins with rank 0. */
struct grid_part {
    int rows, cols;     /* of the whole matrix */
    int block;          /* rows and columns of a block */
    int p, q, row, col; /* of the grid, and this rank's place in it */
    int leading;
    char *data;
};

/* ---- speed ---- */

/* This rank's time for a floating-point operation, as a call measured it; for tests also as they want it. 0:
 * unknown, to be measured. This rank alone. */
void columns_set_cycle_time(double seconds);
/* Cycle times of all ranks. Ranks measure a product of matrices together when one of them knows no time.
 * Times that differ by less than a tenth become equal. */
void columns_cycle_times(MPI_Comm comm, double *cycle_times);

/* ---- layout ---- */

/* An empty layout for matrices with first_columns and more_columns columns beside each other, in blocks of
 * `width`; each matrix begins with a new block. Owners follow cycle_times. False on all ranks: one of them
 * has no memory. columns_close() is allowed afterwards in both cases. */
bool columns_open(struct columns *columns, MPI_Comm comm, MPI_Datatype type, int rows, int first_columns,
                  int more_columns, int width, const double *cycle_times);
void columns_close(struct columns *columns);

/* Element (0, own column). This rank alone. */
void *columns_at(const struct columns *columns, int row, int own_column);
/* Blocks of a matrix with so many columns. */
int columns_blocks(int columns, int width);

/* How many of n elements, dealt in blocks to so many ranks, number `which` of them has. */
int columns_share(int n, int block, int ranks, int which);

/* Copies all of the grid's matrix to the blocks from `first` on, or back. The part's blocks have the layout's
 * width. */
void columns_take(struct columns *columns, int first, const struct grid_part *part);
void columns_give(const struct columns *columns, int first, const struct grid_part *part);

/* Gives the blocks from `first` on to other owners. False on all ranks, and nothing has changed: one of them
 * has no memory. */
bool columns_move(struct columns *columns, int first, const uint32_t *owners);

/* ---- waiting ---- */

/* This rank alone. */
void columns_wait(int n, MPI_Request *requests);
/* Whether all ranks say so. */
bool columns_all(MPI_Comm comm, bool mine);
/* all[] gets `mine` of each rank. */
void columns_gather(MPI_Comm comm, double mine, double *all);

#endif
