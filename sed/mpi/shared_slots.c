/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sed/mpi/shared_slots.h"

#include <stdlib.h>

struct shared_slots {
    MPI_Comm comm;
    MPI_Win window; /* MPI_WIN_NULL without room */
    size_t room;
    int ranks;
    char *bases[]; /* of each rank */
};

static bool on_one_host(MPI_Comm comm, int ranks)
{
    MPI_Comm host;
    int of_host = 0;
    if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host) != MPI_SUCCESS)
        return false;
    MPI_Comm_size(host, &of_host);
    MPI_Comm_free(&host);
    return of_host == ranks; /* the same answer in all */
}

struct shared_slots *shared_slots_create(MPI_Comm comm)
{
    int ranks, made, all;
    MPI_Comm_size(comm, &ranks);
    struct shared_slots *slots = calloc(1, sizeof *slots + (size_t)ranks * sizeof *slots->bases);
    made = slots != NULL;
    MPI_Allreduce(&made, &all, 1, MPI_INT, MPI_MIN, comm);
    if (!all || !on_one_host(comm, ranks)) {
        free(slots);
        return NULL;
    }
    slots->comm = comm;
    slots->window = MPI_WIN_NULL;
    slots->ranks = ranks;
    return slots;
}

static void close_window(struct shared_slots *slots)
{
    if (slots->window == MPI_WIN_NULL)
        return;
    MPI_Win_unlock_all(slots->window);
    MPI_Win_free(&slots->window);
    slots->room = 0;
}

void shared_slots_destroy(struct shared_slots *slots)
{
    if (!slots)
        return;
    close_window(slots);
    free(slots);
}

bool shared_slots_resize(struct shared_slots *slots, size_t room)
{
    void *base = NULL;
    if (slots->room >= room)
        return true;
    close_window(slots);
    if (MPI_Win_allocate_shared((MPI_Aint)room, 1, MPI_INFO_NULL, slots->comm, &base, &slots->window) !=
        MPI_SUCCESS) {
        slots->window = MPI_WIN_NULL;
        return false;
    }
    slots->room = room;
    for (int rank = 0; rank < slots->ranks; rank++) {
        MPI_Aint size;
        int unit;
        MPI_Win_shared_query(slots->window, rank, &size, &unit, &slots->bases[rank]);
    }
    MPI_Win_lock_all(MPI_MODE_NOCHECK, slots->window);
    return true;
}

size_t shared_slots_room(const struct shared_slots *slots)
{
    return slots->room;
}

char *shared_slots_base(const struct shared_slots *slots, int rank)
{
    return slots->bases[rank];
}

void shared_slots_sync(struct shared_slots *slots)
{
    MPI_Win_sync(slots->window);
}
