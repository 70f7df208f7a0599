/* SPDX-License-Identifier: Apache-2.0 */
#include "solvers/unequal.h"

#define NAME(root)   esp_ps##root
#define LAPACK(root) s##root##_
#define SCALAR       float
#define MPI_SCALAR   MPI_FLOAT
#define IS_COMPLEX   0
#include "solvers/unequal_type.h"
