/* SPDX-License-Identifier: Apache-2.0 */
#define P(root)      esp_pc##root
#define LAPACK(root) c##root##_
#define ALL_TRIALS   trials_c
#define SCALAR       float complex
#define REAL         float
#define IS_COMPLEX   1
#include "tests/mpi/unequal_type.h"
