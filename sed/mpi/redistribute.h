/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan of a redistribution carried out by the ranks of an MPI communicator, directly from sender to
 * receiver.
 */
#ifndef SED_MPI_REDISTRIBUTE_H
#define SED_MPI_REDISTRIBUTE_H

#include "core/redistribution.h"

#include <mpi.h>

/* Called by every rank of `comm` with the same plan of the same redistribution, whose ids are ranks of
 * `comm`. `from` is this rank's part before (NULL when it has none), `to` its part after, both column by
 * column without gaps; an element has `bytes` bytes. Elements that stay are copied; a message of the next
 * step is packed while that of a step is under way, and as much is buffered as the longest two messages.
 * ESP_NO_MEMORY, ESP_FAILED with MPI's words (when the communicator returns errors); the communicator must
 * not be used for other things meanwhile. */
enum esp_status mpi_redistribute(const struct redistribution *what, const struct redistribution_plan *plan,
                                 MPI_Comm comm, const void *from, void *to, size_t bytes,
                                 struct esp_error *error);

#endif
