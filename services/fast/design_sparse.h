/* SPDX-License-Identifier: Apache-2.0
 *
 * Compressed matrices to measure with: where a problem has them, which sizes they have, and their elements.
 * What a sparse routine takes depends on the pattern; this one is that of a grid in two dimensions, as
 * discretised equations have it.
 */
#ifndef SERVICES_FAST_DESIGN_SPARSE_H
#define SERVICES_FAST_DESIGN_SPARSE_H

#include "services/fast/design.h"

/* Fills in which of the design's sizes count elements, of how many columns (csr: rows) they are, and which
 * are no extents of a compressed matrix. ESP_INVALID with the reason: extents or counts that are no names of
 * sizes, or numbers of outputs. Problems without compressed inputs have nothing to fill in. */
enum esp_status design_sparse_begin(struct design *design, struct esp_error *error);

/* Whether compressed inputs of those shapes can have so many elements: each column of a square one its
 * diagonal, none more than there are places. */
bool design_sparse_fits(const struct problem *problem, const struct shape *shapes);

/* Fills argument `index` when it belongs to a compressed input, as its elements, pointers or numbers; false:
 * it does not. A square matrix is symmetric positive definite, about as well conditioned as a Laplacian. */
bool design_sparse_fill(const struct design_point *point, const struct problem *problem, uint32_t index,
                        void *data);

/* Puts the fill of compressed inputs (core/problem/fill.h) into the scope where the costs of the problem
 * depend on it. Without memory the law counts. */
void design_sparse_analyse(const struct design_point *point, const struct problem *problem,
                           struct number *scope);

#endif
