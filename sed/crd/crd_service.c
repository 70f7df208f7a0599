/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions for routines in the worker that calls them (espalier_server.h). */
#include "sed/crd/crd.h"

#include "espalier_server.h"
#include "sed/crd/checkpoint.h"

#include <errno.h>

static struct ring *our_ring;

void service_install(struct ring *ring)
{
    our_ring = ring;
}

__attribute__((visibility("default"))) void esp_progress(double fraction)
{
    if (our_ring)
        ring_tell_progress(our_ring, fraction);
}

/* ---- checkpoints ---- */

__attribute__((visibility("default"))) int esp_checkpoint_save(const void *state, size_t bytes)
{
    if (!our_ring || !*our_ring->job.checkpoint)
        return ENOENT;
    if (!state && bytes > 0)
        return EINVAL;
    const uint64_t number = atomic_load_explicit(&our_ring->saved, memory_order_relaxed) + 1;
    const int why = checkpoint_save(our_ring->job.checkpoint, number, state, bytes);
    if (why == 0)
        atomic_store_explicit(&our_ring->saved, number, memory_order_release);
    return why;
}

__attribute__((visibility("default"))) size_t esp_checkpoint_load(void *state, size_t capacity)
{
    uint64_t bytes = 0;
    if (!our_ring || !*our_ring->job.checkpoint || our_ring->job.checkpoint_number == 0 || !state)
        return 0;
    return checkpoint_load(our_ring->job.checkpoint, state, capacity, &bytes) ? bytes : 0;
}

/* Fortran's interface: integers of 32 bits by reference. */
void esp_checkpoint_save_(const void *state, const int *bytes, int *status);
void esp_checkpoint_load_(void *state, const int *capacity, int *bytes);

__attribute__((visibility("default"))) void esp_checkpoint_save_(const void *state, const int *bytes,
                                                                 int *status)
{
    *status = *bytes < 0 ? EINVAL : esp_checkpoint_save(state, (size_t)*bytes);
}

__attribute__((visibility("default"))) void esp_checkpoint_load_(void *state, const int *capacity, int *bytes)
{
    const size_t found = *capacity > 0 ? esp_checkpoint_load(state, (size_t)*capacity) : 0;
    *bytes = (int)found;
}

/* ---- ranks: a worker has none, but a library for both kinds of routines may be loaded here ---- */

__attribute__((visibility("default"))) int esp_redistribute(int communicator, int m, int n,
                                                            size_t element_bytes,
                                                            const struct esp_layout *from, const void *before,
                                                            const struct esp_layout *to, void *after)
{
    (void)communicator;
    (void)m;
    (void)n;
    (void)element_bytes;
    (void)from;
    (void)before;
    (void)to;
    (void)after;
    return ENOTSUP;
}

void esp_redistribute_(const int *communicator, const int *m, const int *n, const int *bytes,
                       const struct esp_layout *from, const void *before, const struct esp_layout *to,
                       void *after, int *status);

__attribute__((visibility("default"))) void esp_redistribute_(const int *communicator, const int *m,
                                                              const int *n, const int *bytes,
                                                              const struct esp_layout *from,
                                                              const void *before, const struct esp_layout *to,
                                                              void *after, int *status)
{
    (void)bytes;
    *status = esp_redistribute(*communicator, *m, *n, 1, from, before, to, after);
}
