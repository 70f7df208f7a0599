/* SPDX-License-Identifier: Apache-2.0
 *
 * Estimates the cost of factorising a square sparse matrix. The number of elements in the factors and the
 * number of operations depend on the pattern and on the order of elimination, not only on the number of
 * elements. The symbolic analysis computes both from the pattern; without the pattern, a formula estimates
 * them. */
#ifndef CORE_FILL_H
#define CORE_FILL_H

#include "core/problem/expr.h"

/* Size and cost of the factor L of L L^T, for the pattern of A + A^T. */
struct fill {
    double elements; /* including the diagonal */
    double flop;
};

/* Estimates the fill of a matrix of order n with that many stored elements: up to 6 elements a column as
 * for grids in two dimensions, more as for grids in three. The constants come from measurements with the
 * order of AMD: five-point grids from 100^2 to 600^2, seven-point grids from 20^3 to 58^3; the error is at
 * most half of the fill for these. */
struct fill fill_by_sizes(int64_t n, int64_t elements);

/* Computes the fill by symbolic analysis with an approximate minimum degree order (Amestoy, Davis and
 * Duff, SIAM J. Matrix Anal. Appl. 17, 1996; library AMD). `pointers` (n + 1) and `indices` count from
 * `base`, and are int64_t if `wide`, else int32_t; rows in a column may be in any order. Takes a few
 * percent of the time of the factorisation, and about 40 bytes an element. The latest results are cached
 * by a hash of the pattern, so a repeated call only reads the pattern. False without memory, with more
 * than FILL_MOST_ELEMENTS, or if the arrays are no compressed columns. Any thread. */
#define FILL_MOST_ELEMENTS 30000000
bool fill_by_pattern(int64_t n, const void *pointers, const void *indices, bool wide, int base,
                     struct fill *fill);

/* Converts the fill to the value of a compressed matrix in the scope of an expression, where factor_flop()
 * and factor_nz() find it. */
static inline struct number fill_number(const struct fill *fill)
{
    const double most = 0x1p62;
    return (struct number){.kind = NUMBER_REAL,
                           .integer = (int64_t)(fill->elements < most ? fill->elements : most),
                           .real = fill->flop};
}

/* Tag of an extension of a call_request: the fill of compressed inputs that the client knows, FILL_BYTES
 * each: the argument's index (4 bytes), elements and flop (doubles of 8 bytes), little-endian. */
#define EXTENSION_FILL 160
#define FILL_BYTES     20

#endif
