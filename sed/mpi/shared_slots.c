/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory is an unnamed file of the first rank, which the others open through /proc, instead of an MPI
 * window: that is a file in /dev/shm, which is small in many containers, and if one rank finds no room
 * there the others wait for it for ever. */
#include "config.h"

#include "sed/mpi/shared_slots.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct shared_slots {
    MPI_Comm comm;
    char *memory; /* NULL without room */
    size_t room;  /* of each rank */
    int rank, ranks;
};

static bool on_one_host(MPI_Comm comm, int ranks)
{
    MPI_Comm host;
    int of_host = 0;
    if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host) != MPI_SUCCESS)
        return false;
    MPI_Comm_size(host, &of_host);
    MPI_Comm_free(&host);
    return of_host == ranks; /* the same result on all ranks */
}

static bool all(MPI_Comm comm, bool mine)
{
    int can = mine, everybody = 0;
    return MPI_Allreduce(&can, &everybody, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && everybody;
}

struct shared_slots *shared_slots_create(MPI_Comm comm)
{
    struct shared_slots *slots = calloc(1, sizeof *slots);
    int ranks;
    MPI_Comm_size(comm, &ranks);
    if (!all(comm, slots != NULL) || !on_one_host(comm, ranks)) {
        free(slots);
        return NULL;
    }
    slots->comm = comm;
    slots->ranks = ranks;
    MPI_Comm_rank(comm, &slots->rank);
    return slots;
}

static void unmap(struct shared_slots *slots)
{
    if (slots->memory)
        munmap(slots->memory, slots->room * (size_t)slots->ranks);
    slots->memory = NULL;
    slots->room = 0;
}

void shared_slots_destroy(struct shared_slots *slots)
{
    if (!slots)
        return;
    unmap(slots);
    free(slots);
}

/* Opens the first rank's file of that many bytes on each rank; -1: not possible on this one. */
static int open_file(const struct shared_slots *slots, size_t bytes)
{
    char path[64];
    int fd = -1, of_first[2] = {getpid(), -1};
    if (slots->rank == 0)
        fd = of_first[1] = memfd_create("espalier-slots", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) != 0)
        of_first[1] = -1;
    if (MPI_Bcast(of_first, 2, MPI_INT, 0, slots->comm) == MPI_SUCCESS && of_first[1] >= 0 &&
        slots->rank > 0) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", of_first[0], of_first[1]);
        fd = open(path, O_RDWR | O_CLOEXEC);
    }
    return fd;
}

/* Each rank allocates its own slots now, because a rank that touched missing memory later would be killed. */
static char *map(const struct shared_slots *slots, int fd, size_t room)
{
    const size_t bytes = room * (size_t)slots->ranks;
    if (fd < 0 || posix_fallocate(fd, (off_t)((size_t)slots->rank * room), (off_t)room) != 0)
        return NULL;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

bool shared_slots_resize(struct shared_slots *slots, size_t room)
{
    if (slots->room >= room)
        return true;
    unmap(slots);
    const int fd = open_file(slots, room * (size_t)slots->ranks);
    slots->memory = map(slots, fd, room);
    slots->room = slots->memory ? room : 0;
    const bool can = all(slots->comm, slots->memory != NULL); /* the first rank's file is still open */
    if (!can)
        unmap(slots);
    if (fd >= 0)
        close(fd);
    return can;
}

size_t shared_slots_room(const struct shared_slots *slots)
{
    return slots->room;
}

char *shared_slots_base(const struct shared_slots *slots, int rank)
{
    return slots->memory + (size_t)rank * slots->room;
}

void shared_slots_sync(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}
