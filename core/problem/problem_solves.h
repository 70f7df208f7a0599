/* SPDX-License-Identifier: Apache-2.0
 *
 * The equation that a problem solves, as its description says it: which argument is the matrix, which the
 * right-hand sides and which the solution.
 */
#ifndef CORE_PROBLEM_SOLVES_H
#define CORE_PROBLEM_SOLVES_H

#include "core/problem/problem.h"
#include "util/text.h"

#include <float.h>

#define SOLVES_NOTHING UINT32_MAX

struct solves {
    bool fits; /* `fits`: X minimises the residual of a system that may have no solution */
    uint32_t matrix, rhs, solution; /* indexes of arguments; solution may be rhs */
    const char *unknown;            /* the solution's name in the equation */
    uint32_t transposed; /* the char argument with 'N', 'T' or 'C'; SOLVES_NOTHING: there is none */
    uint32_t times;      /* the scalar that the right-hand sides are multiplied by; SOLVES_NOTHING: 1 */
    struct expr *right;  /* the calls whose equation is X op(A) = B; NULL: none */
    struct expr *within; /* the relative residual that is small enough; NULL: rounding alone */
    struct expr *where;  /* the calls for which the equation holds; NULL: all */
};

/* Whether its description says that the problem solves or inverts: by an equation, or by the GAMS classes D2
 * (systems of equations, inverses) and D9 (least squares). */
bool problem_is_solver(const struct problem *problem);

/* How one call reads its matrix. */
struct system_shape {
    struct layout layout; /* not of csc and csr */
    int64_t nrhs;
    int64_t rhs_rows, solution_rows; /* from one column of these arrays to the next */
    bool triangle, upper;            /* only that triangle is read */
    bool mirrored, conjugated;       /* the other triangle follows from the one that is read */
    bool unit;                       /* the diagonal is 1, whatever is stored */
    /* 'N', 'T' or 'C'; for X op(A) = B what transposes that equation, and then 'J' is the conjugate of A */
    char transposed;
    bool right;       /* right-hand sides and solutions are rows of their arrays */
    double tolerance; /* the largest backward error of a right solution */
};

/* Where element i of right-hand side or solution k lies in an array with so many rows. */
static inline int64_t solves_place(const struct system_shape *shape, int64_t rows, int64_t i, int64_t k)
{
    return shape->right ? k + i * rows : i + k * rows;
}

/* The equation of a call with these scalars (n_arguments of them). False: the problem has none, or it does
 * not hold for this call, or the matrix is not square and X has to solve the system. */
bool solves_shape(const struct problem *problem, const struct number *scope, struct system_shape *shape);

/* The backward error ||B - A X|| / (||A|| ||X|| + ||B||) up to which a solution counts as right, where
 * rounding is all that is wrong with it. */
static inline double solves_tolerance(bool is_single, int64_t n)
{
    return is_single ? 1e-4 + 4 * (double)n * FLT_EPSILON : 1e-10 + 4 * (double)n * DBL_EPSILON;
}

/* Whether this call reads only one triangle of argument `index`; *upper: which. */
bool argument_reads_triangle(const struct problem *problem, uint32_t index, const struct number *scope,
                             bool *upper);

/* Whether this call takes the diagonal of argument `index` to be 1, whatever is stored there. */
bool argument_has_unit_diagonal(const struct problem *problem, uint32_t index, const struct number *scope);

/* The clause of the canonical form; nothing when there is none. */
void solves_write(const struct problem *problem, struct text *text);

#endif
