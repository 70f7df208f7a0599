/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of square systems as LAPACK's names tell them (ge, po, sy, gb, ...): what their matrices look like
 * and by which arguments they are given.
 */
#ifndef TESTS_PROBLEMS_KINDS_H
#define TESTS_PROBLEMS_KINDS_H

#include "tests/problems/trial.h"

enum kept { KEPT_FULL, KEPT_HALF, KEPT_PACKED, KEPT_BAND, KEPT_HALF_BAND, KEPT_TRIDIAGONAL, KEPT_PT };

struct kind {
    char name[3];
    enum kept storage;
    enum { GENERAL, POSITIVE, SYMMETRIC, HERMITIAN } matrix;
    const char *factors[6]; /* arguments that hold the factors after xxxTRF */
};

#define KIND_KL 3 /* bandwidths of the band matrices that are made */
#define KIND_KU 2

/* The kind of the problem that is tried, by its name. */
const struct kind *kind_of(const struct trial *trial);

/* Whether one triangle is stored, so that there is an uplo. */
bool kind_has_uplo(const struct kind *kind);

/* A matrix of that kind, well conditioned. */
struct mat kind_matrix(struct trial *trial, const struct kind *kind, int n);
/* Gives a matrix in its storage (and uplo, kl). */
void kind_give(struct trial *trial, const struct kind *kind, struct mat A, char uplo);

/* Factors A by xxxTRF of the same type, keeps the factors, and goes on with the problem that is tried; false:
 * the factorisation failed (noted). */
struct factors {
    struct mat values[6];
    int kl, ku; /* of A */
};
bool kind_factor(struct trial *trial, const struct kind *kind, struct mat A, char uplo,
                 struct factors *factors);
/* Gives the factors, the matrix's own arguments under the name `as` (A: NULL) where a problem has both. */
void kind_give_factors(struct trial *trial, const struct kind *kind, const struct factors *factors,
                       const char *as, char uplo);

#endif
