/* SPDX-License-Identifier: Apache-2.0
 *
 * MUMPS: sparse multifrontal factorisation (Amestoy, Duff, L'Excellent and Koster, SIAM J. Matrix Anal. 23,
 * 2001).
 */
#include "solvers/mumps.h"

#include <smumps_c.h>

#define FUNCTION    esp_smumps
#define OPEN        esp_smumps_open
#define SOLVE       esp_smumps_solve
#define REFINED     esp_smumps_refined
#define DETERMINANT esp_smumps_det
#define CONDITION   condition_s
#define LETTER      's'
#define NUMBER      float
#define REAL        float
#define STRUCTURE   SMUMPS_STRUC_C
#define CALL        smumps_c
#include "solvers/mumps_type.h"
