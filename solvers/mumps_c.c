/* SPDX-License-Identifier: Apache-2.0
 *
 * MUMPS: sparse multifrontal factorisation (Amestoy, Duff, L'Excellent and Koster, SIAM J. Matrix Anal. 23,
 * 2001).
 */
#include "solvers/mumps.h"

#include <cmumps_c.h>

#define FUNCTION    esp_cmumps
#define OPEN        esp_cmumps_open
#define SOLVE       esp_cmumps_solve
#define REFINED     esp_cmumps_refined
#define DETERMINANT esp_cmumps_det
#define CONDITION   condition_c
#define LETTER      'c'
#define NUMBER      float complex
#define REAL        float
#define STRUCTURE   CMUMPS_STRUC_C
#define CALL        cmumps_c
#include "solvers/mumps_type.h"
