/* SPDX-License-Identifier: Apache-2.0 */
#include "solvers/unequal.h"

#include <complex.h>

#define NAME(root)   esp_pz##root
#define LAPACK(root) z##root##_
#define SCALAR       double complex
#define MPI_SCALAR   MPI_C_DOUBLE_COMPLEX
#define IS_COMPLEX   1
#include "solvers/unequal_type.h"
