/* SPDX-License-Identifier: Apache-2.0 */
#include "solvers/solvers.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>

#define NAME(root)    esp_d##root
#define LAPACK(root)  d##root##_
#define UNITARY(root) dor##root##_
#define SCALAR        double
#define REAL          double
#define IS_COMPLEX    0
#include "solvers/dense.h"
#include "solvers/composed.h"
#define CONDITION condition_d
#include "solvers/conditioned.h"
#define SHORTER(root) s##root##_
#define MIXED(root)   ds##root##_
#define SHORT_SCALAR  float
#include "solvers/mixed.h"
#include "solvers/functions.h"
