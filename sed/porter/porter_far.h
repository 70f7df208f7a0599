/* SPDX-License-Identifier: Apache-2.0
 *
 * What ranks on other hosts fetch beside the porters of their daemon's host, each its own piece, into what it
 * keeps (sed/porter/porter.c). Nothing depends on it: the daemon's host has everything, and sends in
 * calls what a rank has not.
 */
#ifndef SED_PORTER_FAR_H
#define SED_PORTER_FAR_H

#include "sed/porter/porter_wire.h"

struct porter_far;

/* Each of these ranks that has a place on the grid of order->to begins to fetch the piece that a call on that
 * grid would want of it. ranks->secret is that of PORTER_ORDERS, ranks->name what the value is called in
 * calls. Both are copied. NULL: no rank is to fetch, or it cannot be done. */
struct porter_far *porter_far_begin(const struct porter_lenders *ranks, const struct porter_order *order);
/* Gives those that are not through so long, ends them, and frees it. Returns how many ranks have all that
 * they were to have. NULL is nothing to do. */
uint32_t porter_far_end(struct porter_far *far, int wait_ms);

#endif
