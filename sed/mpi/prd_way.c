/* SPDX-License-Identifier: Apache-2.0
 *
 * Our own communication between the ranks of a communicator. */
#include "sed/mpi/prd.h"

#include <errno.h>
#include <stdlib.h>

/* Typical for the links of a host or a cluster; only the ratio of the two affects the order of messages. */
static const struct redistribution_costs costs = {2e-5, 8 / 3e9};

/* Cached with the communicator: a duplicate for our messages, and memory in which ranks of one host pack
 * them. */
struct rank_way {
    MPI_Comm communicator;
    struct shared_slots *slots;
};

static int forget_way(MPI_Comm communicator, int key, void *value, void *more)
{
    struct rank_way *way = value;
    (void)communicator;
    (void)key;
    (void)more;
    shared_slots_destroy(way->slots);
    MPI_Comm_free(&way->communicator);
    free(way);
    return MPI_SUCCESS;
}

struct rank_way *rank_way_of(MPI_Comm communicator)
{
    static int key = MPI_KEYVAL_INVALID;
    struct rank_way *way = NULL;
    int known = 0;
    if (key == MPI_KEYVAL_INVALID)
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_way, &key, NULL);
    MPI_Comm_get_attr(communicator, key, &way, &known);
    if (known)
        return way;
    MPI_Comm own;
    if (MPI_Comm_dup(communicator, &own) != MPI_SUCCESS)
        return NULL;
    struct shared_slots *slots = shared_slots_create(own);
    way = malloc(sizeof *way);
    if (!way)
        MPI_Abort(MPI_COMM_WORLD, 1); /* the others assume that this rank has it */
    *way = (struct rank_way){own, slots};
    MPI_Comm_set_attr(communicator, key, way);
    return way;
}

int rank_way_worst(const struct rank_way *way, int mine)
{
    int all = mine;
    return MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, way->communicator) == MPI_SUCCESS ? all : EIO;
}

int rank_way_gather(const struct rank_way *way, const void *mine, size_t bytes, void *all)
{
    const int n = (int)bytes;
    return MPI_Allgather(mine, n, MPI_BYTE, all, n, MPI_BYTE, way->communicator) == MPI_SUCCESS ? 0 : EIO;
}

static int move_by(const struct redistribution_plan *plan, const struct rank_way *way,
                   const struct redistribution *what, const struct mpi_parts *parts)
{
    const enum esp_status status = mpi_redistribute(what, plan, way->communicator, way->slots, parts, NULL);
    return status == ESP_OK ? 0 : status == ESP_NO_MEMORY ? ENOMEM : EIO;
}

int rank_way_move(const struct rank_way *way, const struct redistribution *what,
                  const struct mpi_parts *parts, int status)
{
    struct redistribution_plan *plan = NULL;
    if (status == 0 && redistribution_plan_create(what, REDISTRIBUTION_BEST, &costs, &plan, NULL) != ESP_OK)
        status = ENOMEM;
    status = rank_way_worst(way, status);
    if (status == 0)
        status = move_by(plan, way, what, parts);
    redistribution_plan_destroy(plan);
    return status;
}
