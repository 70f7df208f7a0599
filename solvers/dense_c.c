/* SPDX-License-Identifier: Apache-2.0 */
#include "solvers/solvers.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>

#define NAME(root)    esp_c##root
#define LAPACK(root)  c##root##_
#define UNITARY(root) cun##root##_
#define SCALAR        float complex
#define REAL          float
#define IS_COMPLEX    1
#include "solvers/dense.h"
#include "solvers/composed.h"
#define CONDITION condition_c
#include "solvers/conditioned.h"
#include "solvers/functions.h"
