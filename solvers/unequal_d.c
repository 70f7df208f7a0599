/* SPDX-License-Identifier: Apache-2.0 */
#include "solvers/unequal.h"

#define NAME(root)   esp_pd##root
#define LAPACK(root) d##root##_
#define SCALAR       double
#define MPI_SCALAR   MPI_DOUBLE
#define IS_COMPLEX   0
#include "solvers/unequal_type.h"
