/* SPDX-License-Identifier: Apache-2.0
 *
 * Compressed matrices for measurements: which arguments they are, which sizes they have, and their
 * elements. The time of a sparse routine depends on the pattern; the one here is that of a discretised
 * equation on a two-dimensional grid. */
#ifndef SERVICES_FAST_DESIGN_SPARSE_H
#define SERVICES_FAST_DESIGN_SPARSE_H

#include "services/fast/design.h"

#endif
