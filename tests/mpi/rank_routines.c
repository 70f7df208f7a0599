/* SPDX-License-Identifier: Apache-2.0
 *
 * Routines that ranks call together, good and bad, as a maintainer may have them: a library of plain
 * functions with a communicator.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void count_ranks(MPI_Comm ranks, int *n, int *has_context, int context);
int die(MPI_Comm ranks, int which);
void rest(MPI_Comm ranks, double seconds);
void scale(double factor, const int *desc, double *part);
void chatter(MPI_Comm ranks);
void stray(const int *desc, double *part);
void mark(int *stamp, const int *desc, double *part);

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

void rest(MPI_Comm ranks, double seconds)
{
    usleep((useconds_t)(seconds * 1e6));
    MPI_Barrier(ranks);
}

/* Its part alone: the descriptor has the leading dimension last. */
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
