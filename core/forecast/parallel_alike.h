/* SPDX-License-Identifier: Apache-2.0
 *
 * Maps ScaLAPACK routines without their own model to a routine with one (core/forecast/parallel_model.h),
 * whose time they take, or a known fraction of it: other types than double, products with a symmetric
 * matrix, solvers that factorise. */
#ifndef CORE_PARALLEL_ALIKE_H
#define CORE_PARALLEL_ALIKE_H

#include <stdbool.h>

struct parallel_alike {
    const char *model; /* "pdgemm", ... */
    double part;       /* fraction of the model routine's operations, for the same type */
    double type;       /* factor from operations of this type to real double ones */
    bool unequal;      /* faster ranks get more columns (solvers/unequal.h) */
};

/* Accepts "pdgemm", "pzposv_", "esp_pdgesv_unequal_", with or without Fortran's final underscore. For an
 * unknown name it returns false, with the type of the second letter and the model pdgetrf: an unknown
 * routine counts as an LU with the same work. */
bool parallel_alike(const char *name, struct parallel_alike *alike);

/* Whether the model has a number of right-hand sides (struct parallel_problem's k): pdgetrs, pdposv,
 * pdgels. */
bool parallel_alike_has_rhs(const struct parallel_alike *alike);

/* Lists the names without "p" and the type: "gemm, symm, ... or gels". */
const char *parallel_alike_names(char *text, unsigned size);

#endif
