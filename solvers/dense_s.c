/* SPDX-License-Identifier: Apache-2.0 */
#include "solvers/solvers.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>

#define NAME(root)    esp_s##root
#define LAPACK(root)  s##root##_
#define UNITARY(root) sor##root##_
#define SCALAR        float
#define REAL          float
#define IS_COMPLEX    0
#include "solvers/dense.h"
#include "solvers/composed.h"
#define CONDITION condition_s
#include "solvers/conditioned.h"
#include "solvers/functions.h"
