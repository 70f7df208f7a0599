/* SPDX-License-Identifier: Apache-2.0
 *
 * Lets ranks on other hosts fetch pieces in addition to the porters of their daemon's host, each its own
 * piece, into its cache (sed/porter/porter.c). This is optional: the daemon's host fetches everything, and
 * sends with a call the parts that a rank does not have. */
#ifndef SED_PORTER_FAR_H
#define SED_PORTER_FAR_H

#include "sed/porter/porter_wire.h"

struct porter_far;

/* Each of these ranks that has a place on the grid of order->to begins to fetch the piece that a call on
 * that grid would need from it. ranks->secret is that of PORTER_ORDERS, ranks->name the name of the value
 * in calls. Copies both. NULL: no rank has to fetch, or it is not possible. */
struct porter_far *porter_far_begin(const struct porter_lenders *ranks, const struct porter_order *order);
/* Waits that long for unfinished ranks, ends them, and frees it. Returns how many ranks have their piece.
 * NULL is ignored. */
uint32_t porter_far_end(struct porter_far *far, int wait_ms);

#endif
