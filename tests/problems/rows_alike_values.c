/* SPDX-License-Identifier: Apache-2.0
 *
 * Eigenvalues and singular values of ranks against those of LAPACK; vectors, of which there are several, by
 * what they belong to.
 */
#include "tests/problems/alike.h"

#include <stdio.h>

static void give_symmetric(struct twice *twice)
{
    struct lab *lab = &twice->trial->lab;
    give_flags(twice, "jobz", "uplo");
    give(twice->trial, "A", mat_half(lab, mat_hermitian(lab, twice->n, true), twice->flags[1]));
}

static struct mat of_this_seed(struct twice *twice, struct mat (*make)(struct twice *twice))
{
    random_seed(&twice->trial->lab.random, (uint64_t)twice->n);
    return make(twice);
}

static struct mat symmetric(struct twice *twice)
{
    return mat_hermitian(&twice->trial->lab, twice->n, true);
}

static void compare_eigen(struct trial *trial, const char *flags)
{
    static const char *const outputs[MOST_OUTPUTS] = {"w", "A"};
    struct twice twice = {.trial = trial};
    struct lab *lab = &trial->lab;
    snprintf(twice.flags, sizeof twice.flags, "%s", flags);
    for (int k = 0; k < N_SIZES; k++) {
        twice.n = alike_sizes[k];
        if (!run_twice(&twice, give_symmetric, outputs))
            continue;
        const struct mat A = of_this_seed(&twice, symmetric), w = twice.alone[0], V = twice.together[1];
        near(trial, "the eigenvalues", twice.together[0], w, 10 * twice.n * trial->eps * mat_norm_f(A));
        if (flags[0] != 'V')
            continue;
        orthonormal(trial, "the eigenvectors of the ranks", V);
        vanishes(trial, "A V - V w",
                 mat_sum(lab, 1, mat_mul(lab, A, V), -1, mat_mul(lab, V, mat_diagonal(lab, w))),
                 mat_norm_f(A), twice.n);
    }
}

void eigen_alike(struct trial *trial)
{
    compare_eigen(trial, "VU");
    compare_eigen(trial, "VL");
    compare_eigen(trial, "NL");
}

/* By divide and conquer ScaLAPACK has them with vectors only. */
void divided_eigen_alike(struct trial *trial)
{
    compare_eigen(trial, "VU");
    compare_eigen(trial, "VL");
}

static struct mat rectangle(struct twice *twice)
{
    const int more = twice->n + 9, less = twice->n + 3;
    const bool tall = twice->flags[2] == 'T';
    return mat_random(&twice->trial->lab, tall ? more : less, tall ? less : more);
}

static void give_singular(struct twice *twice)
{
    give_flags(twice, "jobu", "jobvt");
    give(twice->trial, "A", rectangle(twice));
}

static void compare_singular(struct trial *trial, const char *flags)
{
    static const char *const all[MOST_OUTPUTS] = {"s", "U", "VT"}, *const values[MOST_OUTPUTS] = {"s"};
    const bool vectors = flags[0] == 'S' && flags[1] == 'S';
    struct twice twice = {.trial = trial};
    struct lab *lab = &trial->lab;
    snprintf(twice.flags, sizeof twice.flags, "%s", flags);
    for (int k = 0; k < N_SIZES; k++) {
        twice.n = alike_sizes[k];
        if (!run_twice(&twice, give_singular, vectors ? all : values))
            continue;
        const struct mat A = of_this_seed(&twice, rectangle), s = twice.alone[0];
        near(trial, "the singular values", twice.together[0], s, 10 * A.m * trial->eps * mat_norm_f(A));
        if (!vectors)
            continue;
        const struct mat U = twice.together[1], VT = twice.together[2];
        orthonormal(trial, "the left singular vectors of the ranks", U);
        orthonormal(trial, "the right ones", mat_transposed(lab, VT, true));
        vanishes(trial, "A - U s VT",
                 mat_sum(lab, 1, A, -1, mat_mul(lab, mat_mul(lab, U, mat_diagonal(lab, s)), VT)),
                 mat_norm_f(A), A.m + A.n);
    }
}

void singular_alike(struct trial *trial)
{
    compare_singular(trial, "SST");
    compare_singular(trial, "SSF");
    compare_singular(trial, "NNT");
    compare_singular(trial, "NSF");
}
