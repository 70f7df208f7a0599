/* SPDX-License-Identifier: Apache-2.0
 *
 * ScaLAPACK against LAPACK with the same data: what a worker gives is what ranks give, up to rounding where
 * the mathematics leaves one answer, and by what it leaves of it where there are several. A row for each
 * problem with a parallel implementation; on the grid that the rig has.
 */
#include "tests/problems/alike.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const int alike_sizes[N_SIZES] = {3, 23, 61};

static bool run_once(struct twice *twice, give_inputs *give_them, struct process_grid grid,
                     const char *const *outputs, struct mat *results)
{
    struct trial *trial = twice->trial;
    random_seed(&trial->lab.random, (uint64_t)twice->n);
    trial->rig->grid = (struct process_grid){0}; /* what inputs are made by is LAPACK's */
    use(trial, NULL);
    give_them(twice);
    trial->rig->grid = grid;
    if (!run(trial))
        return false;
    for (int i = 0; i < MOST_OUTPUTS && outputs[i]; i++)
        results[i] = result(trial, outputs[i]);
    return true;
}

bool run_twice(struct twice *twice, give_inputs *give_them, const char *const *outputs)
{
    struct trial *trial = twice->trial;
    const struct process_grid grid = trial->rig->grid;
    trial_case(trial, "n=%d flags=%s on %u x %u ranks, blocks of %u", twice->n, twice->flags, grid.rows,
               grid.cols, grid.block);
    const bool ran = run_once(twice, give_them, (struct process_grid){0}, outputs, twice->alone) &&
                     run_once(twice, give_them, grid, outputs, twice->together);
    trial->rig->grid = grid;
    return ran;
}

/* Elements of some size: those of well conditioned problems of order n differ by rounding alone. */
static void are_alike(struct twice *twice, const char *const *outputs, double slack)
{
    for (int i = 0; i < MOST_OUTPUTS && outputs[i]; i++) {
        const struct mat alone = twice->alone[i];
        near(twice->trial, outputs[i], twice->together[i], alone,
             slack * (twice->n + 10) * twice->trial->eps * (mat_max(alone) + 1));
    }
}

static void compare(struct trial *trial, const char *flags, give_inputs *give_them,
                    const char *const *outputs, double slack)
{
    struct twice twice = {.trial = trial};
    snprintf(twice.flags, sizeof twice.flags, "%s", flags);
    for (int i = 0; i < N_SIZES; i++) {
        twice.n = alike_sizes[i];
        if (run_twice(&twice, give_them, outputs))
            are_alike(&twice, outputs, slack);
    }
}

/* ---- products ---- */

void give_flags(struct twice *twice, const char *first, const char *second)
{
    give_flag(twice->trial, first, twice->flags[0]);
    give_flag(twice->trial, second, twice->flags[1]);
}

static void give_scalars(struct twice *twice)
{
    give_number(twice->trial, "alpha", 0.75);
    give_number(twice->trial, "beta", -1.5);
}

static void give_gemm(struct twice *twice)
{
    struct lab *lab = &twice->trial->lab;
    const int m = twice->n + 2, n = twice->n, k = 2 * twice->n + 1;
    const bool plain_a = twice->flags[0] == 'N', plain_b = twice->flags[1] == 'N';
    give_flags(twice, "transa", "transb");
    give_scalars(twice);
    give(twice->trial, "A", mat_random(lab, plain_a ? m : k, plain_a ? k : m));
    give(twice->trial, "B", mat_random(lab, plain_b ? k : n, plain_b ? n : k));
    give(twice->trial, "C", mat_random(lab, m, n));
}

static const char *const out_c[MOST_OUTPUTS] = {"C"};

static void gemm(struct trial *trial)
{
    static const char *const flags[] = {"NN", "TN", "NC", "TT"};
    for (int i = 0; i < 4; i++)
        compare(trial, flags[i], give_gemm, out_c, 4);
}

static void give_one_sided(struct twice *twice)
{
    struct lab *lab = &twice->trial->lab;
    const int m = twice->n + 3, n = twice->n, order = twice->flags[0] == 'L' ? m : n;
    const bool conjugate = strstr(twice->trial->problem->name, "hemm") != NULL;
    give_flags(twice, "side", "uplo");
    give_scalars(twice);
    give(twice->trial, "A", mat_half(lab, mat_hermitian(lab, order, conjugate), twice->flags[1]));
    give(twice->trial, "B", mat_random(lab, m, n));
    give(twice->trial, "C", mat_random(lab, m, n));
}

static void one_sided(struct trial *trial)
{
    static const char *const flags[] = {"LU", "LL", "RU", "RL"};
    for (int i = 0; i < 4; i++)
        compare(trial, flags[i], give_one_sided, out_c, 4);
}

static void give_update(struct twice *twice)
{
    struct lab *lab = &twice->trial->lab;
    const int n = twice->n, k = n / 2 + 1;
    const bool plain = twice->flags[1] == 'N',
               conjugate = strstr(twice->trial->problem->name, "herk") != NULL;
    give_flags(twice, "uplo", "trans");
    give_scalars(twice);
    give(twice->trial, "A", mat_random(lab, plain ? n : k, plain ? k : n));
    give(twice->trial, "C", mat_half(lab, mat_hermitian(lab, n, conjugate), twice->flags[0]));
}

static void syrk(struct trial *trial)
{
    static const char *const flags[] = {"UN", "LN", "UT", "LT"};
    for (int i = 0; i < 4; i++)
        compare(trial, flags[i], give_update, out_c, 4);
}

static void herk(struct trial *trial)
{
    static const char *const flags[] = {"UN", "LN", "UC", "LC"};
    for (int i = 0; i < 4; i++)
        compare(trial, flags[i], give_update, out_c, 4);
}

/* ---- systems ---- */

static const char *const out_b[MOST_OUTPUTS] = {"B"}, *const out_a[MOST_OUTPUTS] = {"A"},
                         *const out_lu[MOST_OUTPUTS] = {"A", "ipiv"},
                         *const out_system[MOST_OUTPUTS] = {"A", "ipiv", "B"},
                         *const out_pair[MOST_OUTPUTS] = {"A", "B"},
                         *const out_reflectors[MOST_OUTPUTS] = {"A", "tau"};

static void give_trsm(struct twice *twice)
{
    struct lab *lab = &twice->trial->lab;
    const int m = twice->n + 4, n = twice->n;
    give_flags(twice, "side", "uplo");
    give_flag(twice->trial, "transa", twice->flags[2]);
    give_number(twice->trial, "alpha", 0.5);
    give(twice->trial, "A", mat_triangular(lab, twice->flags[0] == 'L' ? m : n, twice->flags[1], false));
    give(twice->trial, "B", mat_random(lab, m, n));
}

static void trsm(struct trial *trial)
{
    static const char *const flags[] = {"LUN", "LUT", "LLN", "LLC", "RUN", "RUC", "RLN", "RLT"};
    for (int i = 0; i < 8; i++)
        compare(trial, flags[i], give_trsm, out_b, 10);
}

static void give_general(struct twice *twice)
{
    give(twice->trial, "A", mat_general(&twice->trial->lab, twice->n));
}

static void give_rectangle(struct twice *twice)
{
    const int m = twice->flags[0] == 'T' ? twice->n + 9 : twice->n, n = 2 * twice->n + 9 - m;
    give(twice->trial, "A", mat_random(&twice->trial->lab, m, n));
}

/* Tall and flat. */
static void getrf(struct trial *trial)
{
    compare(trial, "T", give_rectangle, out_lu, 100);
    compare(trial, "F", give_rectangle, out_lu, 100);
    compare(trial, "", give_general, out_lu, 10);
}

static void give_general_system(struct twice *twice)
{
    give_general(twice);
    give(twice->trial, "B", mat_random(&twice->trial->lab, twice->n, twice->flags[0] == '1' ? 1 : 7));
}

static void gesv(struct trial *trial)
{
    compare(trial, "1", give_general_system, out_system, 10);
    compare(trial, "7", give_general_system, out_system, 10);
}

/* With the factors of LAPACK. */
static void give_factors(struct twice *twice, const char *root, struct mat A, bool pivots)
{
    struct trial *trial = twice->trial;
    const char uplo = twice->flags[0];
    use(trial, root);
    give(trial, "A", A);
    if (has(trial, "uplo"))
        give_flag(trial, "uplo", uplo);
    run(trial);
    const struct mat factors = result(trial, "A"), ipiv = pivots ? result(trial, "ipiv") : factors;
    use(trial, NULL);
    give(trial, "A", factors);
    if (pivots)
        give(trial, "ipiv", ipiv);
    if (has(trial, "uplo"))
        give_flag(trial, "uplo", uplo);
}

static void give_lu(struct twice *twice)
{
    struct lab *lab = &twice->trial->lab;
    give_factors(twice, "getrf", mat_general(lab, twice->n), true);
    if (has(twice->trial, "B")) {
        give_flag(twice->trial, "trans", twice->flags[0]);
        give(twice->trial, "B", mat_random(lab, twice->n, 5));
    }
}

static void getrs(struct trial *trial)
{
    compare(trial, "N", give_lu, out_b, 10);
    compare(trial, "T", give_lu, out_b, 10);
    compare(trial, "C", give_lu, out_b, 10);
}

static void getri(struct trial *trial)
{
    compare(trial, "", give_lu, out_a, 10);
}

static void give_positive(struct twice *twice)
{
    struct lab *lab = &twice->trial->lab;
    const char uplo = twice->flags[0];
    give_flag(twice->trial, "uplo", uplo);
    give(twice->trial, "A", mat_half(lab, mat_positive(lab, twice->n), uplo));
    if (has(twice->trial, "B"))
        give(twice->trial, "B", mat_random(lab, twice->n, 4));
}

static void potrf(struct trial *trial)
{
    compare(trial, "U", give_positive, out_a, 10);
    compare(trial, "L", give_positive, out_a, 10);
}

static void posv(struct trial *trial)
{
    compare(trial, "U", give_positive, out_pair, 10);
    compare(trial, "L", give_positive, out_pair, 10);
}

static void give_cholesky(struct twice *twice)
{
    struct lab *lab = &twice->trial->lab;
    give_factors(twice, "potrf", mat_half(lab, mat_positive(lab, twice->n), twice->flags[0]), false);
    give(twice->trial, "B", mat_random(lab, twice->n, 6));
}

static void potrs(struct trial *trial)
{
    compare(trial, "U", give_cholesky, out_b, 10);
    compare(trial, "L", give_cholesky, out_b, 10);
}

/* ---- orthogonal matrices: LAPACK and ScaLAPACK make reflectors alike ---- */

static void geqrf(struct trial *trial)
{
    compare(trial, "T", give_rectangle, out_reflectors, 20);
    compare(trial, "F", give_rectangle, out_reflectors, 20);
}

static void gehrd(struct trial *trial)
{
    compare(trial, "", give_general, out_reflectors, 100);
}

static void give_fit(struct twice *twice)
{
    struct lab *lab = &twice->trial->lab;
    const bool tall = twice->flags[0] == 'T';
    const int less = twice->n, more = twice->n + 8;
    give_flag(twice->trial, "trans", twice->flags[1] == 'N' ? 'N' : twice->trial->lab.is_complex ? 'C' : 'T');
    give(twice->trial, "A",
         mat_sum(lab, 1, mat_random(lab, tall ? more : less, tall ? less : more), 4,
                 mat_block(lab, mat_identity(lab, more), 0, 0, tall ? more : less, tall ? less : more)));
    give(twice->trial, "B", mat_random(lab, more, 3));
}

/* The solution is one; of what is below it the sum of squares is the residual's. */
static void gels(struct trial *trial)
{
    static const char *const flags[] = {"TN", "TT", "FN", "FT"};
    for (int i = 0; i < 4; i++) {
        struct twice twice = {.trial = trial};
        snprintf(twice.flags, sizeof twice.flags, "%s", flags[i]);
        const bool fits = flags[i][0] == 'T' ? flags[i][1] == 'N' : flags[i][1] != 'N';
        for (int k = 0; k < N_SIZES; k++) {
            twice.n = alike_sizes[k];
            if (!run_twice(&twice, give_fit, out_b))
                continue;
            struct lab *lab = &trial->lab;
            const int rows = fits ? twice.n : twice.n + 8, rest = twice.n + 8 - rows;
            const double bound = 20 * (twice.n + 10) * trial->eps * (mat_max(twice.alone[0]) + 1);
            near(trial, "the solution", mat_block(lab, twice.together[0], 0, 0, rows, 3),
                 mat_block(lab, twice.alone[0], 0, 0, rows, 3), bound);
            for (int j = 0; j < 3 && rest > 0; j++)
                at_most(trial, "the difference of residuals",
                        fabs(mat_norm_f(mat_block(lab, twice.together[0], rows, j, rest, 1)) -
                             mat_norm_f(mat_block(lab, twice.alone[0], rows, j, rest, 1))),
                        bound);
        }
    }
}

/* ---- the rows ---- */

static const struct row alike[] = {
    ROWS(gemm, gemm),
    ROWS(symm, one_sided),
    COMPLEX_ROWS(hemm, one_sided),
    ROWS(syrk, syrk),
    COMPLEX_ROWS(herk, herk),
    ROWS(trsm, trsm),
    ROWS(getrf, getrf),
    ROWS(getrs, getrs),
    ROWS(gesv, gesv),
    ROWS(getri, getri),
    ROWS(potrf, potrf),
    ROWS(potrs, potrs),
    ROWS(posv, posv),
    ROWS(geqrf, geqrf),
    ROWS(gels, gels),
    ROWS(gehrd, gehrd),
    REAL_ROWS(syev, eigen_alike),
    COMPLEX_ROWS(heev, eigen_alike),
    REAL_ROWS(syevd, divided_eigen_alike),
    COMPLEX_ROWS(heevd, divided_eigen_alike),
    ROWS(gesvd, singular_alike),
};
const struct group alike_group = GROUP(alike);
