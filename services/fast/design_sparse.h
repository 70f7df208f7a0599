/* SPDX-License-Identifier: Apache-2.0
 *
 * Compressed matrices to measure with: where a problem has them, which sizes they have, and their elements.
 * What a sparse routine takes depends on the pattern; this one is that of a grid in two dimensions, as
 * discretised equations have it.
 */
#ifndef SERVICES_FAST_DESIGN_SPARSE_H
#define SERVICES_FAST_DESIGN_SPARSE_H

#include "services/fast/design.h"

#endif
