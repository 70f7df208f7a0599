/* SPDX-License-Identifier: Apache-2.0
 *
 * Executes a plan of a redistribution on the ranks of an MPI communicator, directly from sender to
 * receiver. */
#ifndef SED_MPI_REDISTRIBUTE_H
#define SED_MPI_REDISTRIBUTE_H

#include "core/redistribution/redistribution.h"
#include "sed/mpi/shared_slots.h"

#include <mpi.h>

/* A rank's parts of the matrix, by columns; NULL where it has none. */
struct mpi_parts {
    const void *from;                 /* before */
    void *to;                         /* afterwards; must not overlap with it */
    int64_t from_leading, to_leading; /* elements from one column to the next; 0: without gaps */
    size_t bytes;                     /* of an element */
};

/* Called by every rank of `comm` with the same plan of the same redistribution, whose ids are ranks of
 * `comm`. Elements that stay are copied. A message of the next step is packed while that of a step is
 * being sent, so each rank buffers two messages: in `shared` slots of the same communicator, or (NULL) on
 * both sides of MPI. ESP_NO_MEMORY, on all ranks before anything moves; ESP_FAILED with MPI's text (when
 * the communicator returns errors). The communicator must not be used otherwise meanwhile. */
enum esp_status mpi_redistribute(const struct redistribution *what, const struct redistribution_plan *plan,
                                 MPI_Comm comm, struct shared_slots *shared, const struct mpi_parts *parts,
                                 struct esp_error *error);

#endif
