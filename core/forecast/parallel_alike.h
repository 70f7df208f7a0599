/* SPDX-License-Identifier: Apache-2.0
 *
 * Routines of ScaLAPACK that take what one with a model (core/forecast/parallel_model.h) takes, or a known
 * part of it: other types than double, products with a symmetric matrix, solvers that factorise.
 */
#ifndef CORE_PARALLEL_ALIKE_H
#define CORE_PARALLEL_ALIKE_H

#include <stdbool.h>

struct parallel_alike {
    const char *model; /* "pdgemm", ... */
    double part;       /* of what that one computes, for the same type */
    double type;       /* real work takes so many times that of doubles */
    bool unequal;      /* it gives faster ranks more columns (solvers/unequal.h) */
};

/* "pdgemm", "pzposv_", "esp_pdgesv_unequal_"; the underscore of Fortran's symbols may be there. Of another
 * name false, with the type that its second letter tells, and pdgetrf as the model: what is not known counts
 * as an LU of the same work.
 */
bool parallel_alike(const char *name, struct parallel_alike *alike);

/* Whether the model counts right-hand sides, as struct parallel_problem's k: pdgetrs, pdposv, pdgels. */
bool parallel_alike_has_rhs(const struct parallel_alike *alike);

/* Their names, less "p" and the type: "gemm, symm, ... or gels". */
const char *parallel_alike_names(char *text, unsigned size);

#endif
