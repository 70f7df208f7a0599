/* SPDX-License-Identifier: Apache-2.0
 *
 * What each rank of a call's grid does in the ring that they share when it is through with the call: a rank
 * of this host by itself, one of another host by its envoy (sed/ranks/envoy.h).
 */
#ifndef SED_GANG_H
#define SED_GANG_H

#include "sed/pool/ring.h"

/* Whether that rank is beside the grid: it has no part in the call but to send others what it keeps. */
bool gang_is_beside(const struct ring_job *job, uint32_t rank);
/* Whether each rank has only its part of that argument. */
bool gang_is_distributed(const struct ring_job *job, uint32_t argument);
/* Whether the rank at that place of a grid of rows x cols puts its elements of the part back: of equal copies
 * of a vector the first one is taken. */
bool gang_puts_back(const struct ring_part *part, const struct process_grid *grid, int64_t row, int64_t col);

/* Copies the small values of one arena into another, but for those of which each rank has a part and which
 * come back. Both point to the byte job->front. */
void gang_copy_values(const struct ring_job *job, unsigned char *to, const unsigned char *from);

/* Whether the first rank of the grid puts that array back, when it is on another host: it is whole, and not
 * memory of the rank's own. */
bool gang_takes_back(const struct ring_job *job, const struct ring_area *area);

/* The first rank has put back what is its own, and the routine has returned; what all ranks know of the
 * results. */
void gang_returned(struct ring *ring, const struct ring_verdict *verdict);
/* Says why this rank cannot make the call: the first one's words are kept. `place`: in the grid of n.
 * `starved`: it has no memory left. */
void gang_cannot(struct ring *ring, uint32_t place, uint32_t n, const char *why, bool starved);
/* How long the routine took this rank, and beside the part of which argument it wrote (-1: none). */
void gang_note(struct ring_gang *gang, uint64_t compute_ns, int64_t strayed);
/* The rank at that place has returned from the routine, and could not allocate so many bytes in it; 0: it
 * could all. The first one's are kept. */
void gang_refused(struct ring_gang *gang, uint32_t place, uint64_t bytes);
/* This rank has done with the call; the last one answers. False: the bell is closed. */
bool gang_leave(struct ring *ring, int bell);

#endif
