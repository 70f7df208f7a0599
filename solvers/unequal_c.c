/* SPDX-License-Identifier: Apache-2.0 */
#include "solvers/unequal.h"

#include <complex.h>

#define NAME(root)   esp_pc##root
#define LAPACK(root) c##root##_
#define SCALAR       float complex
#define MPI_SCALAR   MPI_C_FLOAT_COMPLEX
#define IS_COMPLEX   1
#include "solvers/unequal_type.h"
