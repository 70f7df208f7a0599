/* SPDX-License-Identifier: Apache-2.0 */
#define P(root)      esp_pz##root
#define LAPACK(root) z##root##_
#define ALL_TRIALS   trials_z
#define SCALAR       double complex
#define REAL         double
#define IS_COMPLEX   1
#include "tests/mpi/unequal_type.h"
