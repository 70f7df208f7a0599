/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/problems/kinds.h"

#include <stdio.h>
#include <stdlib.h>

static const struct kind kinds[] = {
    {"ge", KEPT_FULL, GENERAL, {"A", "ipiv"}},
    {"po", KEPT_HALF, POSITIVE, {"A"}},
    {"sy", KEPT_HALF, SYMMETRIC, {"A", "ipiv"}},
    {"he", KEPT_HALF, HERMITIAN, {"A", "ipiv"}},
    {"pp", KEPT_PACKED, POSITIVE, {"AP"}},
    {"sp", KEPT_PACKED, SYMMETRIC, {"AP", "ipiv"}},
    {"hp", KEPT_PACKED, HERMITIAN, {"AP", "ipiv"}},
    {"gb", KEPT_BAND, GENERAL, {"AB", "ipiv"}},
    {"pb", KEPT_HALF_BAND, POSITIVE, {"AB"}},
    {"gt", KEPT_TRIDIAGONAL, GENERAL, {"dl", "d", "du", "du2", "ipiv"}},
    {"pt", KEPT_PT, POSITIVE, {"d", "e"}},
};

const struct kind *kind_of(const struct trial *trial)
{
    const char *name = trial->tried->name;
    bool mixed = strlen(name) == 6 && strcmp(name + 4, "sv") == 0; /* dsgesv */
    for (int skip = mixed ? 2 : 1; skip > 0; skip--)
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            if (strncmp(name + skip, kinds[i].name, 2) == 0)
                return &kinds[i];
    fail_msg("%s tells no kind of matrix", name);
    return NULL;
}

bool kind_has_uplo(const struct kind *kind)
{
    return kind->storage == KEPT_HALF || kind->storage == KEPT_PACKED || kind->storage == KEPT_HALF_BAND;
}

struct mat kind_matrix(struct trial *trial, const struct kind *kind, int n)
{
    struct lab *lab = &trial->lab;
    switch (kind->storage) {
    case KEPT_BAND:
        return mat_band(lab, n, n, KIND_KL, KIND_KU, 2);
    case KEPT_TRIDIAGONAL:
        return mat_band(lab, n, n, 1, 1, 1);
    case KEPT_HALF_BAND:
        return mat_positive_band(lab, n, KIND_KL);
    case KEPT_PT:
        return mat_positive_band(lab, n, 1);
    default:
        break;
    }
    if (kind->matrix == GENERAL)
        return mat_general(lab, n);
    if (kind->matrix == POSITIVE)
        return mat_positive(lab, n);
    struct mat A = mat_hermitian(lab, n, kind->matrix == HERMITIAN);
    for (int i = 0; i + 1 < n; i += 2) { /* blocks of order 2 that keep it from being nearly singular */
        AT(A, i, i + 1) += 2 * (int)(1 + n / 8);
        AT(A, i + 1, i) += 2 * (int)(1 + n / 8);
    }
    return A;
}

void kind_give(struct trial *trial, const struct kind *kind, struct mat A, char uplo)
{
    struct lab *lab = &trial->lab;
    int down, right;
    switch (kind->storage) {
    case KEPT_FULL:
        give(trial, "A", A);
        break;
    case KEPT_HALF:
        give(trial, "A", mat_half(lab, A, uplo));
        break;
    case KEPT_PACKED:
        give(trial, "AP", mat_half(lab, A, uplo));
        break;
    case KEPT_BAND:
        mat_bandwidths(A, &down, &right);
        give(trial, "AB", A);
        give_number(trial, "kl", down);
        give_number(trial, "ku", right);
        break;
    case KEPT_HALF_BAND:
        mat_bandwidths(A, &down, &right);
        give(trial, "AB", mat_half(lab, A, uplo));
        give_number(trial, "kd", down);
        break;
    case KEPT_TRIDIAGONAL:
        give(trial, "dl", mat_get_diagonal(lab, A, -1));
        give(trial, "d", mat_get_diagonal(lab, A, 0));
        give(trial, "du", mat_get_diagonal(lab, A, 1));
        break;
    case KEPT_PT:
        give(trial, "d", mat_get_diagonal(lab, A, 0));
        give(trial, "e", mat_get_diagonal(lab, A, -1));
    }
    if (kind_has_uplo(kind))
        give_flag(trial, "uplo", uplo);
}

bool kind_factor(struct trial *trial, const struct kind *kind, struct mat A, char uplo,
                 struct factors *factors)
{
    char root[8];
    snprintf(root, sizeof root, "%strf", kind->name);
    use(trial, root);
    kind_give(trial, kind, A, uplo);
    bool good = run(trial);
    for (int i = 0; good && kind->factors[i]; i++)
        factors->values[i] = result(trial, kind->factors[i]);
    mat_bandwidths(A, &factors->kl, &factors->ku);
    use(trial, NULL);
    return good;
}

void kind_give_factors(struct trial *trial, const struct kind *kind, const struct factors *factors,
                       const char *as, char uplo)
{
    for (int i = 0; kind->factors[i]; i++) {
        const char *name = i == 0 && as ? as : kind->factors[i];
        if (has(trial, name)) /* condition numbers need no interchanges */
            give(trial, name, factors->values[i]);
    }
    if (kind_has_uplo(kind))
        give_flag(trial, "uplo", uplo);
    if (kind->storage == KEPT_HALF_BAND)
        give_number(trial, "kd", factors->kl);
    if (kind->storage == KEPT_BAND) {
        give_number(trial, "kl", factors->kl);
        give_number(trial, "ku", factors->ku);
    }
}
