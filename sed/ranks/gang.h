/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of each rank of a call's grid in the shared ring when the rank has finished the call. A rank of
 * this host takes them itself; a rank of another host, through its envoy (sed/ranks/envoy.h). */
#ifndef SED_GANG_H
#define SED_GANG_H

#include "sed/pool/ring.h"

/* Whether that rank is outside the grid: it only sends its parts of data to other ranks. */
bool gang_is_beside(const struct ring_job *job, uint32_t rank);
/* Whether each rank has only its part of that argument. */
bool gang_is_distributed(const struct ring_job *job, uint32_t argument);
/* Whether the rank at that place of a grid of rows x cols puts its elements of the part back: of equal
 * copies of a vector, the first one does. */
bool gang_puts_back(const struct ring_part *part, const struct process_grid *grid, int64_t row, int64_t col);

/* Copies the small values of one arena into another, except distributed results. Both point to the byte
 * job->front. */
void gang_copy_values(const struct ring_job *job, unsigned char *to, const unsigned char *from);

/* Whether the first rank of the grid puts that array back when it is on another host: it is whole, and not
 * the rank's own memory. */
bool gang_takes_back(const struct ring_job *job, const struct ring_area *area);

/* The first rank has put back its results, and the routine has returned: stores the verdict of all ranks
 * on the results. */
void gang_returned(struct ring *ring, const struct ring_verdict *verdict);
/* Stores why this rank cannot make the call: the reason of the first such rank is kept. `place`: in the
 * grid of n. `starved`: it has no memory left. */
void gang_cannot(struct ring *ring, uint32_t place, uint32_t n, const char *why, bool starved);
/* Stores how long the routine took on this rank, and beside the part of which argument it wrote (-1:
 * none). */
void gang_note(struct ring_gang *gang, uint64_t compute_ns, int64_t strayed);
/* The rank at that place has returned from the routine, in which an allocation of that many bytes failed;
 * 0: none failed. The first rank's is kept. */
void gang_refused(struct ring_gang *gang, uint32_t place, uint64_t bytes);
/* This rank has finished the call; the last one answers. False: the bell is closed. */
bool gang_leave(struct ring *ring, int bell);

#endif
