/* SPDX-License-Identifier: Apache-2.0
 *
 * The abstract problems, by what they are called for double: X(name) for each. tests/e2e/plain_steps.c has a
 * check of the mathematics for each, and tests/problems/test_coverage.c looks that no shipped one is missing.
 */
#ifndef TESTS_PROBLEMS_PLAIN_NAMES_H
#define TESTS_PROBLEMS_PLAIN_NAMES_H

/* The formatter never comes to an end with these. */
/* clang-format off */
/* There are s..., c... and z... too. */
#define PLAIN_NAMES(X) \
    X(solve) X(linsolve) X(lsq) X(leastsq) X(itersolve) X(inv) X(pinv) X(det) X(rcond) X(cond) \
    X(chol) X(lu) X(qr) X(hess) X(schur) X(svd) X(spec) X(eig) X(mul) X(size) \
    X(norm) X(rank) X(null) X(orth) X(expm) X(trace) X(kron)

/* For double only: other letters are the problems themselves. */
#define PLAIN_DOUBLE_NAMES(X) \
    X(add) X(subtract) X(times) X(divide) X(sin) X(cos) X(exp) X(log) X(transpose)
/* clang-format on */

#endif
