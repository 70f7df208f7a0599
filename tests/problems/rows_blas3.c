/* SPDX-License-Identifier: Apache-2.0
 *
 * BLAS 3: matrices and matrices.
 */
#include "tests/problems/table.h"

#include <math.h>

/* C := alpha A B + beta C was computed, within the bound of an inner product. */
static void is_product(struct trial *trial, const char *argument, double complex alpha, struct mat A,
                       struct mat B, double complex beta, struct mat C)
{
    struct mat wanted = mat_sum(&trial->lab, alpha, mat_mul(&trial->lab, A, B), beta, C);
    double most = cabs(alpha) * mat_norm_inf(A) * mat_max(B) + cabs(beta) * mat_max(C);
    near(trial, argument, result(trial, argument), wanted, 4 * (A.n + 2) * trial->eps * (most + 1));
}

static void gemm(struct trial *trial)
{
    EACH_SIZE (n)
        EACH_FLAG (transa, "NTC")
            EACH_FLAG (transb, "NTC") {
                int m = n + 1, k = n + 2;
                if (n > 100 && *transa != *transb) /* the long products: each letter once */
                    continue;
                trial_case(trial, "m=%d n=%d k=%d transa=%c transb=%c", m, n, k, *transa, *transb);
                bool plain_a = *transa == 'N', plain_b = *transb == 'N';
                struct mat A = mat_random(&trial->lab, plain_a ? m : k, plain_a ? k : m);
                struct mat B = mat_random(&trial->lab, plain_b ? k : n, plain_b ? n : k);
                struct mat C = mat_random(&trial->lab, m, n);
                double complex alpha = lab_number(&trial->lab), beta = lab_number(&trial->lab);
                give_flag(trial, "transa", *transa);
                give_flag(trial, "transb", *transb);
                give_number(trial, "alpha", alpha);
                give_number(trial, "beta", beta);
                give(trial, "A", A);
                give(trial, "B", B);
                give(trial, "C", C);
                if (run(trial))
                    is_product(trial, "C", alpha, mat_op(&trial->lab, *transa, A),
                               mat_op(&trial->lab, *transb, B), beta, C);
            }
}

static void one_sided(struct trial *trial, bool conjugate)
{
    EACH_SIZE (n)
        EACH_FLAG (side, "LR")
            EACH_FLAG (uplo, "UL") {
                trial_case(trial, "m=%d n=%d side=%c uplo=%c", n + 1, n, *side, *uplo);
                struct mat A = mat_hermitian(&trial->lab, *side == 'L' ? n + 1 : n, conjugate);
                struct mat B = mat_random(&trial->lab, n + 1, n), C = mat_random(&trial->lab, n + 1, n);
                double complex alpha = lab_number(&trial->lab), beta = lab_number(&trial->lab);
                give_flag(trial, "side", *side);
                give_flag(trial, "uplo", *uplo);
                give_number(trial, "alpha", alpha);
                give_number(trial, "beta", beta);
                give(trial, "A", mat_half(&trial->lab, A, *uplo));
                give(trial, "B", B);
                give(trial, "C", C);
                if (run(trial))
                    is_product(trial, "C", alpha, *side == 'L' ? A : B, *side == 'L' ? B : A, beta, C);
            }
}

static void symm(struct trial *trial)
{
    one_sided(trial, false);
}

static void hemm(struct trial *trial)
{
    one_sided(trial, true);
}

/* ---- updates of rank k and 2k ---- */

/* alpha A B^H (or B^T) plus its mirror image, for op(A) = A. */
static struct mat both_products(struct trial *trial, double complex alpha, struct mat A, struct mat B,
                                bool conjugate)
{
    struct lab *lab = &trial->lab;
    struct mat product = mat_mul(lab, A, mat_transposed(lab, B, conjugate));
    return mat_sum(lab, alpha, product, conjugate ? conj(alpha) : alpha,
                   mat_transposed(lab, product, conjugate));
}

static void update(struct trial *trial, bool conjugate)
{
    struct lab *lab = &trial->lab;
    EACH_SIZE (n)
        EACH_FLAG (uplo, "UL")
            EACH_FLAG (trans, conjugate ? "NC" : "NT") {
                int k = n / 2 + 1;
                trial_case(trial, "n=%d k=%d uplo=%c trans=%c", n, k, *uplo, *trans);
                bool two = has(trial, "B"), plain = *trans == 'N';
                struct mat A = mat_random(lab, plain ? n : k, plain ? k : n);
                struct mat B = two ? mat_random(lab, A.m, A.n) : A, C = mat_hermitian(lab, n, conjugate);
                double complex alpha = lab_number(lab), beta = lab_number(lab);
                if (conjugate)
                    alpha = two ? alpha : creal(alpha), beta = creal(beta);
                give_flag(trial, "uplo", *uplo);
                give_flag(trial, "trans", *trans);
                give_number(trial, "alpha", alpha);
                give_number(trial, "beta", beta);
                give(trial, "A", A);
                if (two)
                    give(trial, "B", B);
                give(trial, "C", mat_half(lab, C, *uplo));
                if (!run(trial))
                    continue;
                struct mat left = mat_op(lab, *trans, A), right = mat_op(lab, *trans, B);
                struct mat sum = two ? both_products(trial, alpha, left, right, conjugate)
                                     : mat_mul(lab, left, mat_transposed(lab, right, conjugate));
                struct mat wanted = mat_sum(lab, two ? 1 : alpha, sum, beta, C);
                near(trial, "C", result(trial, "C"), mat_half(lab, wanted, *uplo), 32 * (k + 2) * trial->eps);
            }
}

static void syrk(struct trial *trial)
{
    update(trial, false);
}

static void herk(struct trial *trial)
{
    update(trial, true);
}

/* ---- triangular ---- */

static void triangular(struct trial *trial, bool solve)
{
    struct lab *lab = &trial->lab;
    EACH_SIZE (n)
        EACH_FLAG (side, "LR")
            EACH_FLAG (transa, "NTC")
                EACH_FLAG (uplo, "UL")
                    EACH_FLAG (diag, "NU") {
                        if (n > 100 && (*side == 'R') != (*diag == 'U'))
                            continue;
                        trial_case(trial, "m=%d n=%d side=%c uplo=%c transa=%c diag=%c", n + 1, n, *side,
                                   *uplo, *transa, *diag);
                        bool left = *side == 'L';
                        struct mat A = mat_triangular(lab, left ? n + 1 : n, *uplo, *diag == 'U');
                        struct mat B = mat_random(lab, n + 1, n);
                        double complex alpha = lab_number(lab);
                        give_flag(trial, "side", *side);
                        give_flag(trial, "uplo", *uplo);
                        give_flag(trial, "transa", *transa);
                        give_flag(trial, "diag", *diag);
                        give_number(trial, "alpha", alpha);
                        give(trial, "A", mat_half(lab, A, *uplo));
                        give(trial, "B", B);
                        if (!run(trial))
                            continue;
                        A = mat_op(lab, *transa, A);
                        if (!solve) {
                            is_product(trial, "B", alpha, left ? A : B, left ? B : A, 0, B);
                            continue;
                        }
                        struct mat X = result(trial, "B"), right = mat_sum(lab, alpha, B, 0, B);
                        if (left)
                            solves(trial, A, X, right);
                        else
                            solves(trial, mat_op(lab, 'T', A), mat_op(lab, 'T', X), mat_op(lab, 'T', right));
                    }
}

static void trmm(struct trial *trial)
{
    triangular(trial, false);
}

static void trsm(struct trial *trial)
{
    triangular(trial, true);
}

static const struct row blas3[] = {
    ROWS(gemm, gemm),          ROWS(symm, symm),         COMPLEX_ROWS(hemm, hemm),
    ROWS(syrk, syrk),          COMPLEX_ROWS(herk, herk), ROWS(syr2k, syrk),
    COMPLEX_ROWS(her2k, herk), ROWS(trmm, trmm),         ROWS(trsm, trsm),
};
const struct group blas3_group = GROUP(blas3);
