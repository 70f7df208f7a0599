/* SPDX-License-Identifier: Apache-2.0
 *
 * MUMPS: sparse multifrontal factorisation (Amestoy, Duff, L'Excellent and Koster, SIAM J. Matrix Anal. 23,
 * 2001).
 */
#include "solvers/mumps.h"

#include <dmumps_c.h>

#define FUNCTION    esp_dmumps
#define OPEN        esp_dmumps_open
#define SOLVE       esp_dmumps_solve
#define REFINED     esp_dmumps_refined
#define DETERMINANT esp_dmumps_det
#define CONDITION   condition_d
#define LETTER      'd'
#define NUMBER      double
#define REAL        double
#define STRUCTURE   DMUMPS_STRUC_C
#define CALL        dmumps_c
#include "solvers/mumps_type.h"
