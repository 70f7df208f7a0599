/* SPDX-License-Identifier: Apache-2.0
 *
 * BLAS 2: matrices and vectors, in every way of storing them, against the same formula on the whole matrix.
 */
#include "tests/problems/table.h"

#include <math.h>

/* y := alpha A x + beta y was computed; the bound is that of an inner product. */
static void is_product(struct trial *trial, const char *argument, double complex alpha, struct mat A,
                       struct mat x, double complex beta, struct mat y)
{
    struct mat product = mat_mul(&trial->lab, A, x), wanted = mat_sum(&trial->lab, alpha, product, beta, y);
    double most = cabs(alpha) * mat_norm_inf(A) * mat_max(x) + cabs(beta) * mat_max(y);
    near(trial, argument, result(trial, argument), wanted, 4 * (A.n + 2) * trial->eps * (most + 1));
}

/* Gives alpha, x, beta and y for y := alpha op(A) x + beta y and looks at the result. */
static void multiplies(struct trial *trial, struct mat A)
{
    double complex alpha = lab_number(&trial->lab), beta = lab_number(&trial->lab);
    struct mat x = mat_random(&trial->lab, A.n, 1), y = mat_random(&trial->lab, A.m, 1);
    give_number(trial, "alpha", alpha);
    give_number(trial, "beta", beta);
    give(trial, "x", x);
    give(trial, "y", y);
    if (!run(trial))
        return;
    if (A.n > 0)
        is_product(trial, "y", alpha, A, x, beta, y);
    else /* BLAS does not even multiply by beta */
        near(trial, "y", result(trial, "y"), y, 0);
}

static void gemv(struct trial *trial)
{
    EACH_SIZE (n)
        EACH_FLAG (trans, "NTC") {
            trial_case(trial, "m=%d n=%d trans=%c", n + 2, n, *trans);
            struct mat A = mat_random(&trial->lab, n + 2, n);
            give(trial, "A", A);
            give_flag(trial, "trans", *trans);
            multiplies(trial, mat_op(&trial->lab, *trans, A));
        }
}

static void gbmv(struct trial *trial)
{
    EACH_SIZE (n)
        EACH_FLAG (trans, "NTC") {
            trial_case(trial, "m=%d n=%d kl=2 ku=1 trans=%c", n + 1, n, *trans);
            struct mat A = mat_band(&trial->lab, n + 1, n, 2, 1, 0);
            give(trial, "AB", A);
            give_number(trial, "ku", 1);
            give_number(trial, "kl", 2);
            give_flag(trial, "trans", *trans);
            multiplies(trial, mat_op(&trial->lab, *trans, A));
        }
}

static void symv(struct trial *trial)
{
    EACH_SIZE (n)
        EACH_FLAG (uplo, "UL") {
            trial_case(trial, "n=%d uplo=%c", n, *uplo);
            struct mat A = mat_hermitian(&trial->lab, n, true);
            give(trial, "A", mat_half(&trial->lab, A, *uplo));
            give_flag(trial, "uplo", *uplo);
            multiplies(trial, A);
        }
}

static void spmv(struct trial *trial)
{
    EACH_SIZE (n)
        EACH_FLAG (uplo, "UL") {
            trial_case(trial, "n=%d uplo=%c", n, *uplo);
            struct mat A = mat_hermitian(&trial->lab, n, true);
            give(trial, "AP", mat_half(&trial->lab, A, *uplo));
            give_flag(trial, "uplo", *uplo);
            multiplies(trial, A);
        }
}

static void sbmv(struct trial *trial)
{
    EACH_SIZE (n)
        EACH_FLAG (uplo, "UL") {
            trial_case(trial, "n=%d k=3 uplo=%c", n, *uplo);
            struct mat A = mat_hermitian_band(&trial->lab, n, 3, true);
            give(trial, "AB", mat_half(&trial->lab, A, *uplo));
            give_number(trial, "k", 3);
            give_flag(trial, "uplo", *uplo);
            multiplies(trial, A);
        }
}

/* ---- updates ---- */

/* A := alpha x y^H + A; y is x for one vector. */
static void update(struct trial *trial, bool conjugate)
{
    EACH_SIZE (n) {
        trial_case(trial, "m=%d n=%d", n + 2, n);
        struct mat A = mat_random(&trial->lab, n + 2, n);
        struct mat x = mat_random(&trial->lab, n + 2, 1), y = mat_random(&trial->lab, n, 1);
        double complex alpha = lab_number(&trial->lab);
        give(trial, "A", A);
        give(trial, "x", x);
        give(trial, "y", y);
        give_number(trial, "alpha", alpha);
        if (run(trial))
            is_product(trial, "A", alpha, x, mat_transposed(&trial->lab, y, conjugate), 1, A);
    }
}

static void ger(struct trial *trial)
{
    update(trial, false);
}

static void gerc(struct trial *trial)
{
    update(trial, true);
}

static struct mat rank_one(struct trial *trial, struct mat x, struct mat y)
{
    return mat_mul(&trial->lab, x, mat_transposed(&trial->lab, y, true));
}

/* A := alpha x x^H + A, or alpha x y^H + conj(alpha) y x^H + A, stored as `argument`. */
static void updates_half(struct trial *trial, const char *argument)
{
    EACH_SIZE (n)
        EACH_FLAG (uplo, "UL") {
            trial_case(trial, "n=%d uplo=%c", n, *uplo);
            bool two = has(trial, "y");
            struct mat A = mat_hermitian(&trial->lab, n, true), x = mat_random(&trial->lab, n, 1);
            struct mat y = two ? mat_random(&trial->lab, n, 1) : x;
            double complex alpha = two ? lab_number(&trial->lab) : creal(lab_number(&trial->lab));
            give(trial, argument, mat_half(&trial->lab, A, *uplo));
            give_flag(trial, "uplo", *uplo);
            give(trial, "x", x);
            if (two)
                give(trial, "y", y);
            give_number(trial, "alpha", alpha);
            if (!run(trial))
                continue;
            struct mat wanted = mat_sum(&trial->lab, alpha, rank_one(trial, x, y), 1, A),
                       stored = result(trial, argument);
            if (two)
                wanted = mat_sum(&trial->lab, conj(alpha), rank_one(trial, y, x), 1, wanted);
            wanted = mat_triangle(&trial->lab, wanted, *uplo, false);
            near(trial, argument, mat_triangle(&trial->lab, stored, *uplo, false), wanted, 32 * trial->eps);
        }
}

static void syr(struct trial *trial)
{
    updates_half(trial, "A");
}

static void spr(struct trial *trial)
{
    updates_half(trial, "AP");
}

/* ---- triangular ---- */

enum triangle_store { TRIANGLE_FULL, TRIANGLE_PACKED, TRIANGLE_BAND };

#define BANDWIDTH 3

static struct mat give_triangle(struct trial *trial, int n, enum triangle_store store, char uplo, char diag)
{
    struct mat A = mat_triangular(&trial->lab, n, uplo, diag == 'U'), stored;
    if (store == TRIANGLE_BAND)
        A = mat_within_band(&trial->lab, A, BANDWIDTH, BANDWIDTH);
    stored = mat_copy(&trial->lab, A);
    for (int i = 0; i < n && diag == 'U'; i++)
        AT(stored, i, i) = 55; /* must not be read */
    static const char *const names[] = {"A", "AP", "AB"};
    give(trial, names[store], mat_half(&trial->lab, stored, uplo));
    if (store == TRIANGLE_BAND)
        give_number(trial, "k", BANDWIDTH);
    give_flag(trial, "uplo", uplo);
    give_flag(trial, "diag", diag);
    return A;
}

static void triangular(struct trial *trial, enum triangle_store store, bool solve)
{
    EACH_SIZE (n)
        EACH_FLAG (trans, "NTC")
            EACH_FLAG (uplo, "UL")
                EACH_FLAG (diag, "NU") {
                    trial_case(trial, "n=%d uplo=%c trans=%c diag=%c", n, *uplo, *trans, *diag);
                    struct mat A = mat_op(&trial->lab, *trans, give_triangle(trial, n, store, *uplo, *diag));
                    struct mat x = mat_random(&trial->lab, n, 1);
                    give_flag(trial, "trans", *trans);
                    give(trial, "x", x);
                    if (!run(trial))
                        continue;
                    if (solve)
                        solves(trial, A, result(trial, "x"), x);
                    else
                        is_product(trial, "x", 1, A, x, 0, x);
                }
}

static void trmv(struct trial *trial)
{
    triangular(trial, TRIANGLE_FULL, false);
}

static void tpmv(struct trial *trial)
{
    triangular(trial, TRIANGLE_PACKED, false);
}

static void tbmv(struct trial *trial)
{
    triangular(trial, TRIANGLE_BAND, false);
}

static void trsv(struct trial *trial)
{
    triangular(trial, TRIANGLE_FULL, true);
}

static void tpsv(struct trial *trial)
{
    triangular(trial, TRIANGLE_PACKED, true);
}

static void tbsv(struct trial *trial)
{
    triangular(trial, TRIANGLE_BAND, true);
}

static const struct row blas2[] = {
    ROWS(gemv, gemv),        ROWS(gbmv, gbmv),         REAL_ROWS(symv, symv),    COMPLEX_ROWS(hemv, symv),
    REAL_ROWS(spmv, spmv),   COMPLEX_ROWS(hpmv, spmv), REAL_ROWS(sbmv, sbmv),    COMPLEX_ROWS(hbmv, sbmv),
    REAL_ROWS(ger, ger),     COMPLEX_ROWS(geru, ger),  COMPLEX_ROWS(gerc, gerc), REAL_ROWS(syr, syr),
    COMPLEX_ROWS(her, syr),  REAL_ROWS(spr, spr),      COMPLEX_ROWS(hpr, spr),   REAL_ROWS(syr2, syr),
    COMPLEX_ROWS(her2, syr), REAL_ROWS(spr2, spr),     COMPLEX_ROWS(hpr2, spr),  ROWS(trmv, trmv),
    ROWS(tpmv, tpmv),        ROWS(tbmv, tbmv),         ROWS(trsv, trsv),         ROWS(tpsv, tpsv),
    ROWS(tbsv, tbsv),
};
const struct group blas2_group = GROUP(blas2);
