/* SPDX-License-Identifier: Apache-2.0
 *
 * The equation that a problem solves, according to its description: which argument is the matrix, which
 * the right-hand sides and which the solution. */
#ifndef CORE_PROBLEM_SOLVES_H
#define CORE_PROBLEM_SOLVES_H

#include "core/problem/problem.h"
#include "util/text.h"

#include <float.h>

#define SOLVES_NOTHING UINT32_MAX

struct solves {
    bool fits; /* `fits`: X minimises the residual of a system that may have no solution */
    uint32_t matrix, rhs, solution; /* indexes of arguments; solution may equal rhs */
    const char *unknown;            /* the solution's name in the equation */
    uint32_t transposed; /* the char argument with 'N', 'T' or 'C'; SOLVES_NOTHING: there is none */
    uint32_t times;      /* the scalar factor of the right-hand sides; SOLVES_NOTHING: 1 */
    struct expr *right;  /* condition for the equation X op(A) = B; NULL: never */
    struct expr *within; /* the relative residual that is small enough; NULL: that of rounding */
    struct expr *where;  /* condition for the equation to hold; NULL: always */
};

/* Whether the description says that the problem solves or inverts: by an equation, or by the GAMS classes
 * D2 (systems of equations, inverses) and D9 (least squares). */
bool problem_is_solver(const struct problem *problem);

/* How one call reads its matrix. */
struct system_shape {
    struct layout layout; /* not of csc and csr */
    int64_t nrhs;
    int64_t rhs_rows, solution_rows; /* distance between the columns of these arrays */
    bool triangle, upper;            /* only that triangle is read */
    bool mirrored, conjugated;       /* the other triangle follows by symmetry (conjugated: hermitian) */
    bool unit;                       /* the diagonal is 1; stored values are ignored */
    /* 'N', 'T' or 'C'; for X op(A) = B this is the transposition of the transposed equation, and may be
     * 'J', the conjugate of A */
    char transposed;
    bool right;       /* right-hand sides and solutions are rows of their arrays */
    double tolerance; /* the largest backward error of a correct solution */
};

/* Returns the index of element i of right-hand side or solution k in an array with `rows` rows. */
static inline int64_t solves_place(const struct system_shape *shape, int64_t rows, int64_t i, int64_t k)
{
    return shape->right ? k + i * rows : i + k * rows;
}

/* Evaluates the equation for a call with these scalars (n_arguments of them). False: the problem has none,
 * or it does not hold for this call, or the matrix is not square and X must solve the system. */
bool solves_shape(const struct problem *problem, const struct number *scope, struct system_shape *shape);

/* The largest backward error ||B - A X|| / (||A|| ||X|| + ||B||) of a solution with rounding errors only. */
static inline double solves_tolerance(bool is_single, int64_t n)
{
    return is_single ? 1e-4 + 4 * (double)n * FLT_EPSILON : 1e-10 + 4 * (double)n * DBL_EPSILON;
}

/* Whether this call reads only one triangle of argument `index`; *upper: which. */
bool argument_reads_triangle(const struct problem *problem, uint32_t index, const struct number *scope,
                             bool *upper);

/* Whether this call assumes the diagonal of argument `index` to be 1 and ignores stored values. */
bool argument_has_unit_diagonal(const struct problem *problem, uint32_t index, const struct number *scope);

/* Writes the clause of the canonical form, or nothing. */
void solves_write(const struct problem *problem, struct text *text);

#endif
