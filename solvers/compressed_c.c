/* SPDX-License-Identifier: Apache-2.0 */
#include "solvers/solvers.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>

#define NAME(root) esp_c##root
#define CONDITION  condition_c
#define SCALAR     float complex
#include "solvers/compressed.h"
