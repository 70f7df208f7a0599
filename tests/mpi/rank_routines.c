/* SPDX-License-Identifier: Apache-2.0
 *
 * Routines that ranks call together, good and bad, as a maintainer may have them: a library of plain
 * functions with a communicator.
 */
#include "espalier_server.h"

#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void count_ranks(MPI_Comm ranks, int *n, int *has_context, int context);
int die(MPI_Comm ranks, int which);
int leave(MPI_Comm ranks, int which, int how);
void rest(MPI_Comm ranks, double seconds);
void tell(MPI_Comm ranks, double fraction, double seconds);
void linger(MPI_Comm ranks, double seconds, const int *desc, double *part);
void scale(double factor, const int *desc, double *part);
void gate(MPI_Comm ranks);
void chatter(MPI_Comm ranks);
void stray(const int *desc, double *part);
void mark(int *stamp, const int *desc, double *part);
int accumulate(MPI_Comm ranks, int rows, int block, const int *desc, double *part);
int misplace(MPI_Comm ranks, int which);
int window(MPI_Comm ranks);
int take(MPI_Comm ranks, int which, int mib, int how);
int forsake(MPI_Comm ranks, int which, int mib, double seconds);

void count_ranks(MPI_Comm ranks, int *n, int *has_context, int context)
{
    int one = 1;
    MPI_Allreduce(&one, n, 1, MPI_INT, MPI_SUM, ranks);
    *has_context = context >= 0;
}

/* One rank is killed in the middle; the others wait for it. */
int die(MPI_Comm ranks, int which)
{
    int rank;
    MPI_Comm_rank(ranks, &rank);
    if (rank == which)
        raise(SIGKILL);
    MPI_Barrier(ranks);
    return 0;
}

/* One rank ends in the middle, otherwise each time; the others wait for it. A write to nowhere is
 * for the ranks to see. */
__attribute__((no_sanitize("undefined"))) int leave(MPI_Comm ranks, int which, int how)
{
    int rank;
    MPI_Comm_rank(ranks, &rank);
    if (rank == which && how == 0)
        raise(SIGSEGV);
    if (rank == which && how == 1)
        _exit(3);
    if (rank == which && how == 2)
        exit(4);
    if (rank == which && how == 3)
        MPI_Abort(ranks, 7);
    if (rank == which && how == 4)
        *(volatile int *)0 = 1;
    if (rank == which && how == 5)
        _Exit(5);
    MPI_Barrier(ranks);
    return 0;
}

void rest(MPI_Comm ranks, double seconds)
{
    usleep((useconds_t)(seconds * 1e6));
    MPI_Barrier(ranks);
}

/* The first rank tells how far it is, others that they are through; then all go on for so long. */
void tell(MPI_Comm ranks, double fraction, double seconds)
{
    int rank;
    MPI_Comm_rank(ranks, &rank);
    esp_progress(rank == 0 ? fraction : 1);
    usleep((useconds_t)(seconds * 1e6));
    MPI_Barrier(ranks);
}

/* The first rank is through with its part at once, the others are not for long. */
void linger(MPI_Comm ranks, double seconds, const int *desc, double *part)
{
    int rank;
    MPI_Comm_rank(ranks, &rank);
    for (int i = 0; i < desc[8]; i++)
        part[i] *= 2;
    if (rank > 0)
        usleep((useconds_t)(seconds * 1e6));
}

/* Until that file is there. */
void gate(MPI_Comm ranks)
{
    const char *file = getenv("ESPALIER_TEST_GATE");
    while (file && access(file, F_OK) != 0)
        usleep(10000);
    MPI_Barrier(ranks);
}

/* Gets its part alone: the descriptor has the leading dimension last. */
void scale(double factor, const int *desc, double *part)
{
    int rows = desc[8];
    for (int i = 0; i < rows; i++)
        part[i] *= factor;
}

void chatter(MPI_Comm ranks)
{
    int rank;
    MPI_Comm_rank(ranks, &rank);
    printf("rank %d is here\n", rank);
}

/* Each rank its part, without a word to the others. */
void mark(int *stamp, const int *desc, double *part)
{
    int rows = desc[8];
    for (int i = 0; i < rows; i++)
        part[i] = *stamp;
    ++*stamp;
}

/* One element too far, on every rank that has any. */
void stray(const int *desc, double *part)
{
    part[desc[8]] = 1;
}

/* Columns of a rank's own, of which each has all. */
static double *sum_down(double *columns, int m, int n)
{
    for (int j = 0; j < n; j++)
        for (int i = 1; i < m; i++)
            columns[i + j * m] += columns[i - 1 + j * m];
    return columns;
}

/* Each element becomes the sum of those above it and itself: for that each rank is given whole columns, in
 * blocks of `block`, and gives them back. It tells how far it is, as a routine for workers would. */
int accumulate(MPI_Comm ranks, int rows, int block, const int *desc, double *part)
{
    int size, rank, own = 0;
    MPI_Comm_size(ranks, &size);
    MPI_Comm_rank(ranks, &rank);
    const int m = desc[2], n = desc[3];
    const struct esp_layout here = {.rows = rows,
                                    .cols = size / rows,
                                    .row_block = desc[4],
                                    .col_block = desc[5],
                                    .leading = desc[8]},
                            whole = {.rows = 1,
                                     .cols = size,
                                     .row_block = m,
                                     .col_block = block,
                                     .source_col = size - 1};
    for (int j = 0; j < n; j++)
        own += (j / block + size - 1) % size == rank;
    double *columns = calloc((size_t)m * (size_t)own + 1, sizeof *columns);
    int status = esp_redistribute(MPI_Comm_c2f(ranks), m, n, sizeof *part, &here, part, &whole, columns);
    esp_progress(0.5);
    if (status == 0)
        status = esp_redistribute(MPI_Comm_c2f(ranks), m, n, sizeof *part, &whole, sum_down(columns, m, own),
                                  &here, part);
    free(columns);
    return status;
}

/* A mistake in the arguments of one rank is reported to all ranks: returns 0 if it is. */
int misplace(MPI_Comm ranks, int which)
{
    double x[64] = {0}, y[64] = {0};
    int size, rank;
    MPI_Comm_size(ranks, &size);
    MPI_Comm_rank(ranks, &rank);
    const struct esp_layout sound = {.rows = size, .cols = 1, .row_block = 1, .col_block = 1},
                            wrong[] = {
                                {.rows = size + 1, .cols = 1, .row_block = 1, .col_block = 1},
                                {.first = 1, .rows = size, .cols = 1, .row_block = 1, .col_block = 1},
                                {.rows = size, .cols = 1, .row_block = 0, .col_block = 1},
                                {.rows = size, .cols = 1, .row_block = 1, .col_block = 1, .source_row = size},
                                {.rows = size, .cols = 1, .row_block = 1, .col_block = 1, .leading = 1}};
    const struct esp_layout *to = rank == size - 1 || which != 4 ? &wrong[which] : &sound;
    return esp_redistribute(MPI_Comm_c2f(ranks), 2 * size, 2, sizeof *x, &sound, x, to, y) == EINVAL ? 0 : 1;
}

/* A window of its own, which stays open. */
int window(MPI_Comm ranks)
{
    static MPI_Win opened;
    void *base;
    return MPI_Win_allocate_shared(1 << 16, 1, MPI_INFO_NULL, ranks, &base, &opened);
}

/* One rank allocates so many MiB: 0: and frees them; 1: and keeps them; 2: and uses them, whether it got them
 * or not. 1 where there are none. */
int take(MPI_Comm ranks, int which, int mib, int how)
{
    int rank, lacks = 0, any = 0;
    MPI_Comm_rank(ranks, &rank);
    if (rank == which) {
        volatile char *memory = malloc((size_t)mib << 20);
        lacks = memory == NULL;
        if (how == 2)
            memory[0] = 1;
        if (how == 0)
            free((void *)(uintptr_t)memory);
    }
    MPI_Allreduce(&lacks, &any, 1, MPI_INT, MPI_MAX, ranks);
    return any;
}

/* One rank allocates so many MiB, and returns where there are none. The others wait for it, or, when
 * `seconds` is not 0, go on for so long without it. */
int forsake(MPI_Comm ranks, int which, int mib, double seconds)
{
    int rank;
    MPI_Comm_rank(ranks, &rank);
    if (rank == which) {
        volatile char *memory = malloc((size_t)mib << 20);
        if (!memory)
            return seconds == 0;
        memory[0] = 1;
        free((void *)(uintptr_t)memory);
    }
    if (seconds > 0)
        usleep((useconds_t)(seconds * 1e6));
    else
        MPI_Barrier(ranks);
    return 0;
}
