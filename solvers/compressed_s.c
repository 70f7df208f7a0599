/* SPDX-License-Identifier: Apache-2.0 */
#include "solvers/solvers.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>

#define NAME(root) esp_s##root
#define CONDITION  condition_s
#define SCALAR     float
#include "solvers/compressed.h"
