/* SPDX-License-Identifier: Apache-2.0 */
#define P(root)      esp_ps##root
#define LAPACK(root) s##root##_
#define ALL_TRIALS   trials_s
#define SCALAR       float
#define REAL         float
#define IS_COMPLEX   0
#include "tests/mpi/unequal_type.h"
