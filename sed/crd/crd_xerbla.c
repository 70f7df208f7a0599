/* SPDX-License-Identifier: Apache-2.0
 *
 * What BLAS and LAPACK call when an argument is illegal. The reference versions print and stop the program;
 * these, which the dynamic linker finds before a library's own, note it for the answer and return, and so
 * does the routine.
 */
#include "sed/crd/crd.h"

#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void xerbla_(const char *routine, const int32_t *number, size_t length);
EXPORTED void xerbla_array_(const char *routine, const int32_t *length, const int32_t *number);
EXPORTED void cblas_xerbla(int number, const char *routine, const char *format, ...);
EXPORTED void LAPACKE_xerbla(const char *routine, int32_t number);

EXPORTED void xerbla_(const char *routine, const int32_t *number, size_t length)
{
    faults_note_illegal(routine, strnlen(routine, length < 32 ? length : 32), abs(*number));
}

EXPORTED void xerbla_array_(const char *routine, const int32_t *length, const int32_t *number)
{
    xerbla_(routine, number, *length < 0 ? 0 : (size_t)*length);
}

EXPORTED void cblas_xerbla(int number, const char *routine, const char *format, ...)
{
    (void)format;
    faults_note_illegal(routine, strnlen(routine, 32), abs(number));
}

EXPORTED void LAPACKE_xerbla(const char *routine, int32_t number)
{
    faults_note_illegal(routine, strnlen(routine, 32), abs(number));
}
