/* SPDX-License-Identifier: Apache-2.0
 *
 * What routines find in the worker that calls them (espalier_server.h).
 */
#include "sed/crd.h"

#include "espalier_server.h"

static struct ring *our_ring;

void service_install(struct ring *ring)
{
    our_ring = ring;
}

__attribute__((visibility("default"))) void esp_progress(double fraction)
{
    if (our_ring && fraction == fraction)
        atomic_store_explicit(&our_ring->progress,
                              fraction < 0   ? 0
                              : fraction > 1 ? 1
                                             : fraction,
                              memory_order_relaxed);
}
