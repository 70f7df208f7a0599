/* SPDX-License-Identifier: Apache-2.0
 *
 * MUMPS: sparse multifrontal factorisation (Amestoy, Duff, L'Excellent and Koster, SIAM J. Matrix Anal. 23,
 * 2001).
 */
#include "solvers/mumps.h"

#include <zmumps_c.h>

#define FUNCTION    esp_zmumps
#define OPEN        esp_zmumps_open
#define SOLVE       esp_zmumps_solve
#define REFINED     esp_zmumps_refined
#define DETERMINANT esp_zmumps_det
#define CONDITION   condition_z
#define LETTER      'z'
#define NUMBER      double complex
#define REAL        double
#define STRUCTURE   ZMUMPS_STRUC_C
#define CALL        zmumps_c
#include "solvers/mumps_type.h"
