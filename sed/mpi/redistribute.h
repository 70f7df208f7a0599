/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan of a redistribution carried out by the ranks of an MPI communicator, directly from sender to
 * receiver.
 */
#ifndef SED_MPI_REDISTRIBUTE_H
#define SED_MPI_REDISTRIBUTE_H

#include "core/redistribution/redistribution.h"
#include "sed/mpi/shared_slots.h"

#include <mpi.h>

/* Called by every rank of `comm` with the same plan of the same redistribution, whose ids are ranks of
 * `comm`. `from` is this rank's part before (NULL when it has none), `to` its part after, both column by
 * column without gaps; an element has `bytes` bytes. Elements that stay are copied; a message of the next
 * step is packed while that of a step is under way, so that each rank buffers two messages: in `shared` slots
 * of the same communicator, or (NULL) on both sides of MPI. ESP_NO_MEMORY, ESP_FAILED with MPI's words (when
 * the communicator returns errors); nothing else may use the communicator meanwhile. */
enum esp_status mpi_redistribute(const struct redistribution *what, const struct redistribution_plan *plan,
                                 MPI_Comm comm, struct shared_slots *shared, const void *from, void *to,
                                 size_t bytes, struct esp_error *error);

#endif
