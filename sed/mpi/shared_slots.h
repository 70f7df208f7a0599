/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory in which the ranks of one host pack messages for each other: the receiver unpacks directly from
 * it, which saves MPI's copy. Kept between redistributions. */
#ifndef SED_MPI_SHARED_SLOTS_H
#define SED_MPI_SHARED_SLOTS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct shared_slots;

/* All ranks of the communicator create and destroy together, and destroy before MPI_Finalize(). NULL when
 * they are not on one host or memory is short: then messages go through MPI. Destroy ignores NULL. */
struct shared_slots *shared_slots_create(MPI_Comm comm);
void shared_slots_destroy(struct shared_slots *slots);

/* Makes room for `room` bytes of every rank, all ranks with the same number; earlier contents are lost.
 * False, on all ranks: one has no such memory. */
bool shared_slots_resize(struct shared_slots *slots, size_t room);
size_t shared_slots_room(const struct shared_slots *slots);
/* Returns where a rank's bytes begin. */
char *shared_slots_base(const struct shared_slots *slots, int rank);
/* Call it between writing and informing another rank, and between being informed and reading. */
void shared_slots_sync(void);

#endif
