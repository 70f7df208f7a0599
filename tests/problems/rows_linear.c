/* SPDX-License-Identifier: Apache-2.0
 *
 * Linear systems of every kind: solved, factored, inverted, refined, and how well they are conditioned.
 */
#include "tests/problems/kinds.h"
#include "tests/problems/table.h"

#include <float.h>
#include <math.h>

#define NRHS 3

static const char *uplos(const struct kind *kind)
{
    return kind_has_uplo(kind) ? "UL" : "-";
}

/* ---- drivers ---- */

static void solve(struct trial *trial, const struct kind *kind, struct mat A, char uplo)
{
    struct mat B = mat_random(&trial->lab, A.n, NRHS);
    kind_give(trial, kind, A, uplo);
    give(trial, "B", B);
    if (run(trial))
        solves(trial, A, result(trial, has(trial, "X") ? "X" : "B"), B);
}

static bool fits(const struct kind *kind, bool is_positive)
{
    if (kind->storage == KEPT_TRIDIAGONAL || kind->storage == KEPT_PT)
        return false;
    return is_positive || kind->matrix == GENERAL;
}

static void solve_examples(struct trial *trial, const struct kind *kind)
{
    static const struct {
        const char *file;
        bool is_positive;
    } examples[] = {
        {"pores_1.mtx", false}, {"utm300.rua", false}, {"lund_a.mtx", true}, {"lund_a.rsa", true}};
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        if (fits(kind, examples[i].is_positive)) {
            trial_case(trial, "%s", examples[i].file);
            solve(trial, kind, example(trial, examples[i].file), 'L');
        }
}

static void driver(struct trial *trial)
{
    const struct kind *kind = kind_of(trial);
    EACH_SIZE (n)
        EACH_FLAG (uplo, uplos(kind)) {
            trial_case(trial, "n=%d uplo=%c", n, *uplo);
            solve(trial, kind, kind_matrix(trial, kind, n), *uplo);
        }
    solve_examples(trial, kind);
    trial_case(trial, "no right-hand side");
    kind_give(trial, kind, kind_matrix(trial, kind, 4), 'U');
    give(trial, "B", mat_new(&trial->lab, 4, 0));
    if (kind->storage == KEPT_TRIDIAGONAL) /* LAPACK's routine would write into B */
        run_fails(trial, "expected nrhs >= 1");
    else
        run(trial);
    trial_case(trial, "a matrix of zeros");
    kind_give(trial, kind, mat_new(&trial->lab, 3, 3), 'U');
    give(trial, "B", mat_new(&trial->lab, 3, 1));
    run_fails(trial, kind->matrix == POSITIVE ? "not positive definite" : "singular");
    trial_case(trial, "a right-hand side that is too short");
    kind_give(trial, kind, kind_matrix(trial, kind, 5), 'U');
    give(trial, "B", mat_new(&trial->lab, 4, 1));
    run_fails(trial, "B has 4 rows, but n = 5");
}

/* The solved system is the equilibrated one, if it was equilibrated. */
static struct mat scaled_back(struct trial *trial, struct mat B)
{
    char equed = (char)creal(result_number(trial, "equed"));
    struct mat scale = result(trial, has(trial, "R") ? "R" : "S"), C = mat_copy(&trial->lab, B);
    bool rows = equed == 'R' || equed == 'B' || equed == 'Y';
    for (int j = 0; j < B.n; j++)
        for (int i = 0; rows && i < B.m; i++)
            AT(C, i, j) /= scale.v[i];
    return C;
}

static void looks_like_rcond(struct trial *trial, double rcond, struct mat A, bool infinity);

static void expert(struct trial *trial)
{
    const struct kind *kind = kind_of(trial);
    EACH_SIZE (n)
        EACH_FLAG (fact, "EN") {
            trial_case(trial, "n=%d fact=%c", n, *fact);
            struct mat A = kind_matrix(trial, kind, n), B = mat_random(&trial->lab, n, NRHS);
            for (int i = 0; i < n && *fact == 'E'; i++) /* badly scaled in rows and columns */
                for (int j = 0; j < n; j++)
                    AT(A, i, j) *= exp2(i % 5 == 0 ? 10 : 0) * exp2(j % 5 == 0 ? 10 : 0);
            kind_give(trial, kind, A, 'L');
            give(trial, "B", B);
            give_flag(trial, "fact", *fact);
            if (!run(trial))
                continue;
            solves(trial, A, result(trial, "X"), B);
            at_most(trial, "the reported componentwise backward error", mat_max(result(trial, "berr")),
                    (n + 2) * trial->eps);
            at_most(trial, "the reported error bound", mat_max(result(trial, "ferr")),
                    1e5 * trial->eps * (n + 1));
            near(trial, "B, scaled back", scaled_back(trial, result(trial, "B")), B, 4 * trial->eps);
            if (*fact == 'N')
                looks_like_rcond(trial, creal(result_number(trial, "rcond")), A, false);
        }
}

static void mixed(struct trial *trial)
{
    driver(trial);
    trial_case(trial, "refinement succeeds");
    const struct kind *kind = kind_of(trial);
    kind_give(trial, kind, kind_matrix(trial, kind, 50), 'U');
    give(trial, "B", mat_random(&trial->lab, 50, 1));
    if (run(trial))
        at_most(trial, "minus the number of iterations", -creal(result_number(trial, "iter")), 0);
}

/* ---- factorisations ---- */

static void getrf(struct trial *trial)
{
    struct lab *lab = &trial->lab;
    EACH_SIZE (size)
        for (int more = -2; more <= 2; more += 2) {
            int m = size, n = size + more > 0 ? size + more : 0, k = m < n ? m : n;
            trial_case(trial, "m=%d n=%d", m, n);
            struct mat A = mat_random(lab, m, n);
            give(trial, "A", A);
            if (!run(trial))
                continue;
            struct mat LU = result(trial, "A");
            struct mat L = mat_triangle(lab, mat_block(lab, LU, 0, 0, m, k), 'L', true);
            struct mat U = mat_triangle(lab, mat_block(lab, LU, 0, 0, k, n), 'U', false);
            struct mat PA = mat_interchanged(lab, A, result(trial, "ipiv"));
            vanishes(trial, "P A - L U", mat_sum(lab, 1, PA, -1, mat_mul(lab, L, U)), mat_norm_f(A) + 1, k);
            at_most(trial, "the largest multiplier", mat_max(L),
                    trial->lab.is_complex ? 1.5 : 1 + 4 * trial->eps);
        }
    trial_case(trial, "a matrix of rank 1");
    struct mat ones = mat_new(lab, 3, 3);
    for (int i = 0; i < 9; i++)
        ones.v[i] = 1;
    give(trial, "A", ones);
    if (run(trial)) {
        struct mat U = mat_triangle(lab, result(trial, "A"), 'U', false);
        struct mat row = mat_new(lab, 3, 3);
        for (int j = 0; j < 3; j++)
            AT(row, 0, j) = 1;
        vanishes(trial, "U but for its first row", mat_sum(lab, 1, U, -1, row), 1, 3);
    }
}

static void laswp(struct trial *trial)
{
    struct lab *lab = &trial->lab;
    EACH_SIZE (size)
        for (int k = 0; k <= size; k += size > 3 ? size / 3 : 1) {
            trial_case(trial, "m=%d k=%d", size, k);
            struct mat A = mat_random(lab, size, 3), ipiv = mat_new(lab, k, 1);
            for (int i = 0; i < k; i++)
                ipiv.v[i] = i + (7 * i + 3) % (size - i) + 1;
            give(trial, "A", A);
            give(trial, "ipiv", ipiv);
            if (run(trial))
                vanishes(trial, "the difference",
                         mat_sum(lab, 1, result(trial, "A"), -1, mat_interchanged(lab, A, ipiv)), 0, 1);
        }
}

static void cholesky(struct trial *trial)
{
    const struct kind *kind = kind_of(trial);
    struct lab *lab = &trial->lab;
    EACH_SIZE (n)
        EACH_FLAG (uplo, "UL") {
            trial_case(trial, "n=%d uplo=%c", n, *uplo);
            struct mat A = kind_matrix(trial, kind, n);
            kind_give(trial, kind, A, *uplo);
            if (!run(trial))
                continue;
            struct mat F = mat_triangle(lab, result(trial, kind->factors[0]), *uplo, false);
            struct mat H = mat_transposed(lab, F, true);
            struct mat product = *uplo == 'U' ? mat_mul(lab, H, F) : mat_mul(lab, F, H);
            vanishes(trial, "A minus the product of its factors", mat_sum(lab, 1, A, -1, product),
                     mat_norm_f(A), n);
        }
    trial_case(trial, "an indefinite matrix");
    struct mat A = mat_identity(lab, 3);
    AT(A, 1, 1) = -1;
    kind_give(trial, kind, A, 'U');
    run_fails(trial, "the leading minor of order 2 is not positive");
}

static void pttrf(struct trial *trial)
{
    struct lab *lab = &trial->lab;
    EACH_SIZE (n) {
        trial_case(trial, "n=%d", n);
        struct mat A = kind_matrix(trial, kind_of(trial), n), none = mat_new(lab, n, 1);
        kind_give(trial, kind_of(trial), A, '-');
        if (!run(trial))
            continue;
        struct mat L = mat_tridiagonal(lab, result(trial, "e"), none, none),
                   D = mat_diagonal(lab, result(trial, "d"));
        L = mat_sum(lab, 1, L, 1, mat_identity(lab, n));
        struct mat product = mat_mul(lab, mat_mul(lab, L, D), mat_transposed(lab, L, true));
        vanishes(trial, "A - L D L^H", mat_sum(lab, 1, A, -1, product), mat_norm_f(A), n);
    }
}

/* Solves with the factors: of the problem that is tried (xxxTRS), or (xxxTRF) to see whether they are good.
 */
static void solve_with_factors(struct trial *trial, struct mat A, char uplo, char trans)
{
    const struct kind *kind = kind_of(trial);
    struct factors factors;
    if (!kind_factor(trial, kind, A, uplo, &factors))
        return;
    char root[] = "xxtrs";
    memcpy(root, kind->name, 2);
    use(trial, root);
    struct mat B = mat_random(&trial->lab, A.n, NRHS);
    kind_give_factors(trial, kind, &factors, NULL, uplo);
    give(trial, "B", B);
    if (has(trial, "trans"))
        give_flag(trial, "trans", trans);
    if (run(trial))
        solves(trial, mat_op(&trial->lab, trans, A), result(trial, "B"), B);
}

static void factored(struct trial *trial)
{
    const struct kind *kind = kind_of(trial);
    EACH_SIZE (n)
        EACH_FLAG (uplo, uplos(kind))
            EACH_FLAG (trans, kind->matrix == GENERAL ? "NTC" : "N") {
                trial_case(trial, "n=%d uplo=%c trans=%c", n, *uplo, *trans);
                solve_with_factors(trial, kind_matrix(trial, kind, n), *uplo, *trans);
            }
}

/* ---- inverses ---- */

static void is_inverse(struct trial *trial, struct mat A, struct mat X)
{
    struct mat R = mat_sum(&trial->lab, 1, mat_mul(&trial->lab, X, A), -1, mat_identity(&trial->lab, A.n));
    vanishes(trial, "X A - I", R, mat_norm_f(A) * mat_norm_f(X), A.n);
}

static void inverse(struct trial *trial)
{
    const struct kind *kind = kind_of(trial);
    EACH_SIZE (n)
        EACH_FLAG (uplo, uplos(kind)) {
            trial_case(trial, "n=%d uplo=%c", n, *uplo);
            struct mat A = kind_matrix(trial, kind, n);
            struct factors factors;
            if (!kind_factor(trial, kind, A, *uplo, &factors))
                continue;
            kind_give_factors(trial, kind, &factors, NULL, *uplo);
            if (!run(trial))
                continue;
            struct mat X = result(trial, kind->factors[0]);
            if (kind->storage != KEPT_FULL)
                X = mat_mirrored(&trial->lab, X, *uplo, kind->matrix != SYMMETRIC);
            is_inverse(trial, A, X);
        }
}

/* ---- condition ---- */

/* Estimates are never below the true value but for rounding, and seldom far above it (Higham, Accuracy and
 * Stability, 15.3). */
static void looks_like_rcond(struct trial *trial, double rcond, struct mat A, bool infinity)
{
    if (A.n == 0 || A.n > 50)
        return;
    double (*norm)(struct mat) = infinity ? mat_norm_inf : mat_norm_one;
    double true_rcond = 1 / norm(A) / norm(mat_inverse(&trial->lab, A));
    at_most(trial, "the estimate over the true reciprocal condition number", rcond / true_rcond, 10);
    at_most(trial, "the true reciprocal condition number over the estimate", true_rcond / rcond, 1.01);
}

static void condition(struct trial *trial)
{
    const struct kind *kind = kind_of(trial);
    EACH_SIZE (n)
        EACH_FLAG (uplo, uplos(kind))
            EACH_FLAG (norm, has(trial, "norm") ? "1I" : "1") {
                trial_case(trial, "n=%d uplo=%c norm=%c", n, *uplo, *norm);
                struct mat A = kind_matrix(trial, kind, n);
                struct factors factors;
                if (!kind_factor(trial, kind, A, *uplo, &factors))
                    continue;
                kind_give_factors(trial, kind, &factors, NULL, *uplo);
                give_number(trial, "anorm", *norm == 'I' ? mat_norm_inf(A) : mat_norm_one(A));
                if (has(trial, "norm"))
                    give_flag(trial, "norm", *norm);
                if (run(trial))
                    looks_like_rcond(trial, creal(result_number(trial, "rcond")), A, *norm == 'I');
            }
}

/* ---- refinement ---- */

static void refine(struct trial *trial)
{
    const struct kind *kind = kind_of(trial);
    struct lab *lab = &trial->lab;
    EACH_SIZE (n)
        EACH_FLAG (uplo, uplos(kind)) {
            trial_case(trial, "n=%d uplo=%c", n, *uplo);
            struct mat A = kind_matrix(trial, kind, n), right = mat_random(lab, n, NRHS);
            struct factors factors;
            if (!kind_factor(trial, kind, A, *uplo, &factors))
                continue;
            struct mat B = mat_mul(lab, A, right);
            kind_give(trial, kind, A, *uplo);
            kind_give_factors(trial, kind, &factors, "AF", *uplo);
            give(trial, "B", B);
            give(trial, "X", mat_sum(lab, 1, right, 0x1p-10, mat_random(lab, n, NRHS)));
            if (!run(trial))
                continue;
            struct mat X = result(trial, "X");
            solves(trial, A, X, B);
            double error = mat_max(mat_sum(lab, 1, X, -1, right)), told = mat_max(result(trial, "ferr"));
            at_most(trial, "the true error", error, (told + 10 * trial->eps) * (mat_max(X) + 1));
            at_most(trial, "the reported componentwise backward error", mat_max(result(trial, "berr")),
                    (n + 2) * trial->eps);
        }
}

/* ---- scaling ---- */

static double taxicab(double complex x)
{
    return fabs(creal(x)) + fabs(cimag(x));
}

static void geequ(struct trial *trial)
{
    EACH_SIZE (n) {
        if (n == 0)
            continue;
        trial_case(trial, "m=%d n=%d", n + 1, n);
        struct mat A = mat_random(&trial->lab, n + 1, n);
        give(trial, "A", A);
        if (!run(trial))
            continue;
        struct mat R = result(trial, "R"), C = result(trial, "C");
        for (int j = 0; j < n; j++) {
            double most = 0;
            for (int i = 0; i <= n; i++)
                most = fmax(most, taxicab(AT(A, i, j)) * creal(R.v[i]) * creal(C.v[j]));
            at_most(trial, "the distance of a column's largest element from 1", fabs(most - 1),
                    8 * trial->eps);
        }
    }
    trial_case(trial, "a row of zeros");
    give(trial, "A", mat_new(&trial->lab, 2, 2));
    run_fails(trial, "row 1 of A is zero");
}

static void poequ(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "n=%d", n);
        struct mat A = mat_positive(&trial->lab, n);
        give(trial, "A", A);
        if (!run(trial))
            continue;
        struct mat S = result(trial, "S");
        for (int i = 0; i < n; i++)
            at_most(trial, "the distance of a scaled diagonal element from 1",
                    cabs(S.v[i] * S.v[i] * AT(A, i, i) - 1), 8 * trial->eps);
    }
    trial_case(trial, "a negative diagonal element");
    struct mat A = mat_identity(&trial->lab, 2);
    AT(A, 1, 1) = -1;
    give(trial, "A", A);
    run_fails(trial, "diagonal element 2 is not positive");
}

/* ---- triangular ---- */

static struct mat give_triangle(struct trial *trial, int n, char uplo, char diag)
{
    struct lab *lab = &trial->lab;
    struct mat A = mat_triangular(lab, n, uplo, diag == 'U');
    if (has(trial, "AB")) {
        int kd = n > 3 ? 3 : n > 0 ? n - 1 : 0;
        A = mat_within_band(lab, A, kd, kd);
        give_number(trial, "kd", kd);
    }
    give(trial, has(trial, "AB") ? "AB" : has(trial, "AP") ? "AP" : "A", mat_half(lab, A, uplo));
    give_flag(trial, "uplo", uplo);
    give_flag(trial, "diag", diag);
    return A;
}

static void triangular(struct trial *trial)
{
    EACH_SIZE (n)
        EACH_FLAG (trans, "NTC")
            EACH_FLAG (uplo, "UL")
                EACH_FLAG (diag, "NU") {
                    trial_case(trial, "n=%d uplo=%c trans=%c diag=%c", n, *uplo, *trans, *diag);
                    struct mat A = mat_op(&trial->lab, *trans, give_triangle(trial, n, *uplo, *diag));
                    struct mat B = mat_random(&trial->lab, n, NRHS);
                    give_flag(trial, "trans", *trans);
                    give(trial, "B", B);
                    if (run(trial))
                        solves(trial, A, result(trial, "B"), B);
                }
}

static void triangular_inverse(struct trial *trial)
{
    EACH_SIZE (n)
        EACH_FLAG (uplo, "UL")
            EACH_FLAG (diag, "NU") {
                trial_case(trial, "n=%d uplo=%c diag=%c", n, *uplo, *diag);
                struct mat A = give_triangle(trial, n, *uplo, *diag);
                if (!run(trial))
                    continue;
                struct mat X = result(trial, has(trial, "AP") ? "AP" : "A");
                is_inverse(trial, A, mat_triangle(&trial->lab, X, *uplo, *diag == 'U'));
            }
}

static void triangular_condition(struct trial *trial)
{
    EACH_SIZE (n)
        EACH_FLAG (norm, "1I")
            EACH_FLAG (uplo, "UL")
                EACH_FLAG (diag, "NU") {
                    trial_case(trial, "n=%d norm=%c uplo=%c diag=%c", n, *norm, *uplo, *diag);
                    struct mat A = give_triangle(trial, n, *uplo, *diag);
                    give_flag(trial, "norm", *norm);
                    if (run(trial))
                        looks_like_rcond(trial, creal(result_number(trial, "rcond")), A, *norm == 'I');
                }
}

static void norms(struct trial *trial)
{
    EACH_SIZE (n)
        EACH_FLAG (norm, "1IF") {
            trial_case(trial, "n=%d norm=%c", n, *norm);
            struct mat A = mat_random(&trial->lab, n, n + 2);
            double expected = *norm == '1' ? mat_norm_one(A) : *norm == 'I' ? mat_norm_inf(A) : mat_norm_f(A);
            give_flag(trial, "norm", *norm);
            give(trial, "A", A);
            if (run(trial))
                at_most(trial, "the error of the norm", fabs(creal(result_number(trial, "value")) - expected),
                        4 * (n + 2) * trial->eps * expected);
        }
}

static const struct row linear[] = {
    ROWS(gesv, driver),
    ROWS(getrf, getrf),
    ROWS(laswp, laswp),
    ROWS(getrs, factored),
    ROWS(getri, inverse),
    ROWS(gecon, condition),
    ROWS(gerfs, refine),
    ROWS(geequ, geequ),
    ROWS(gesvx, expert),
    {"dsgesv", 'd', mixed},
    {"zcgesv", 'z', mixed},
    ROWS(posv, driver),
    ROWS(potrf, cholesky),
    ROWS(potrs, factored),
    ROWS(potri, inverse),
    ROWS(pocon, condition),
    ROWS(porfs, refine),
    ROWS(poequ, poequ),
    ROWS(posvx, expert),
    {"dsposv", 'd', mixed},
    {"zcposv", 'z', mixed},
    ROWS(ppsv, driver),
    ROWS(pptrf, cholesky),
    ROWS(pptrs, factored),
    ROWS(pptri, inverse),
    ROWS(ppcon, condition),
    ROWS(sysv, driver),
    ROWS(sytrf, factored),
    ROWS(sytrs, factored),
    ROWS(sytri, inverse),
    ROWS(sycon, condition),
    ROWS(syrfs, refine),
    ROWS(spsv, driver),
    ROWS(sptrf, factored),
    ROWS(sptrs, factored),
    ROWS(sptri, inverse),
    COMPLEX_ROWS(hesv, driver),
    COMPLEX_ROWS(hetrf, factored),
    COMPLEX_ROWS(hetrs, factored),
    COMPLEX_ROWS(hetri, inverse),
    COMPLEX_ROWS(hecon, condition),
    COMPLEX_ROWS(herfs, refine),
    COMPLEX_ROWS(hpsv, driver),
    COMPLEX_ROWS(hptrf, factored),
    COMPLEX_ROWS(hptrs, factored),
    COMPLEX_ROWS(hptri, inverse),
    ROWS(gbsv, driver),
    ROWS(gbtrf, factored),
    ROWS(gbtrs, factored),
    ROWS(gbcon, condition),
    ROWS(pbsv, driver),
    ROWS(pbtrf, cholesky),
    ROWS(pbtrs, factored),
    ROWS(pbcon, condition),
    ROWS(gtsv, driver),
    ROWS(gttrf, factored),
    ROWS(gttrs, factored),
    ROWS(gtcon, condition),
    ROWS(ptsv, driver),
    ROWS(pttrf, pttrf),
    ROWS(pttrs, factored),
    ROWS(ptcon, condition),
    ROWS(trtrs, triangular),
    ROWS(trtri, triangular_inverse),
    ROWS(trcon, triangular_condition),
    ROWS(tptrs, triangular),
    ROWS(tptri, triangular_inverse),
    ROWS(lange, norms),
    ROWS(tpcon, triangular_condition),
    ROWS(tbtrs, triangular),
    ROWS(tbcon, triangular_condition),
};
const struct group linear_group = GROUP(linear);
