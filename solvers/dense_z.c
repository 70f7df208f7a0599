/* SPDX-License-Identifier: Apache-2.0 */
#include "solvers/solvers.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>

#define NAME(root)    esp_z##root
#define LAPACK(root)  z##root##_
#define UNITARY(root) zun##root##_
#define SCALAR        double complex
#define REAL          double
#define IS_COMPLEX    1
#include "solvers/dense.h"
#include "solvers/composed.h"
#define CONDITION condition_z
#include "solvers/conditioned.h"
#define SHORTER(root) c##root##_
#define MIXED(root)   zc##root##_
#define SHORT_SCALAR  float complex
#include "solvers/mixed.h"
#include "solvers/functions.h"
