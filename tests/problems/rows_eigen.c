/* SPDX-License-Identifier: Apache-2.0
 *
 * Eigenvalues: eigenpairs, orthogonality, reconstruction, and the invariants of the spectrum where there are
 * no vectors.
 */
#include "tests/problems/kinds.h"
#include "tests/problems/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what eigenvalues must be ---- */

/* Sum and sum of squares of the eigenvalues of a Hermitian matrix. */
static void is_spectrum(struct trial *trial, struct mat A, struct mat w)
{
    double complex trace = 0, sum = 0, squares = 0;
    for (int i = 0; i < A.n; i++) {
        trace += AT(A, i, i);
        sum += w.v[i];
        squares += w.v[i] * w.v[i];
    }
    double scale = mat_norm_f(A), bound = 10 * (A.n + 1) * trial->eps;
    at_most(trial, "the sum of the eigenvalues minus the trace", cabs(sum - trace), bound * scale);
    at_most(trial, "their sum of squares minus that of the elements", fabs(creal(squares) - scale * scale),
            bound * scale * scale);
    ascending(trial, "the eigenvalues", w);
}

/* A Z = B Z diag(w), relative to the norms; columns of Z of a moderate size. */
static void are_eigenpairs(struct trial *trial, const char *quantity, struct mat A, struct mat B,
                           struct mat Z, struct mat w)
{
    struct lab *lab = &trial->lab;
    struct mat right = mat_mul(lab, mat_mul(lab, B, Z), mat_diagonal(lab, w));
    double scale = (mat_norm_f(A) + mat_max(w) * mat_norm_f(B)) * mat_norm_f(Z);
    vanishes(trial, quantity, mat_sum(lab, 1, mat_mul(lab, A, Z), -1, right), scale, A.n);
}

static void are_hermitian_eigenpairs(struct trial *trial, struct mat A, struct mat Z, struct mat w)
{
    are_eigenpairs(trial, "A Z - Z diag(w)", A, mat_identity(&trial->lab, A.n), Z, w);
    orthonormal(trial, "Z", Z);
    ascending(trial, "the eigenvalues", w);
}

/* ---- Hermitian ---- */

static void give_hermitian(struct trial *trial, struct mat A, char uplo)
{
    give(trial, has(trial, "AP") ? "AP" : has(trial, "AB") ? "AB" : "A", mat_half(&trial->lab, A, uplo));
    give_flag(trial, "uplo", uplo);
}

static struct mat hermitian(struct trial *trial, int n)
{
    if (!has(trial, "AB"))
        return mat_hermitian(&trial->lab, n, true);
    give_number(trial, "kd", 2);
    return mat_hermitian_band(&trial->lab, n, 2, true);
}

static const char *vectors_name(const struct trial *trial)
{
    return has(trial, "Z") ? "Z" : "A";
}

static void syev(struct trial *trial)
{
    EACH_SIZE (n)
        EACH_FLAG (uplo, "UL")
            EACH_FLAG (jobz, "VN") {
                trial_case(trial, "n=%d uplo=%c jobz=%c", n, *uplo, *jobz);
                struct mat A = hermitian(trial, n);
                give_hermitian(trial, A, *uplo);
                give_flag(trial, "jobz", *jobz);
                if (!run(trial))
                    continue;
                struct mat w = result(trial, "w");
                if (*jobz == 'V')
                    are_hermitian_eigenpairs(trial, A, result(trial, vectors_name(trial)), w);
                else
                    is_spectrum(trial, A, w);
            }
    trial_case(trial, "lund_a.mtx");
    struct mat A = example(trial, "lund_a.mtx");
    if (has(trial, "AB"))
        A = mat_within_band(&trial->lab, A, 2, 2), give_number(trial, "kd", 2);
    give_hermitian(trial, A, 'L');
    if (run(trial))
        are_hermitian_eigenpairs(trial, A, result(trial, vectors_name(trial)), result(trial, "w"));
}

/* The first `m` elements, as a column; the first `m` columns. */
static struct mat first(struct trial *trial, struct mat A, int m, bool columns)
{
    return columns ? mat_block(&trial->lab, A, 0, 0, A.m, m) : mat_block(&trial->lab, A, 0, 0, m, 1);
}

static void chosen(struct trial *trial)
{
    trial->slack = 5; /* relatively robust representations do without reorthogonalization */
    EACH_SIZE (n)
        EACH_FLAG (range, "AVI")
            EACH_FLAG (uplo, "UL") {
                trial_case(trial, "n=%d range=%c uplo=%c", n, *range, *uplo);
                struct mat A = mat_hermitian(&trial->lab, n, true);
                int il = n / 3 + 1, iu = n - n / 4;
                give_hermitian(trial, A, *uplo);
                give_flag(trial, "range", *range);
                if (*range == 'V') {
                    give_number(trial, "vl", -0.5);
                    give_number(trial, "vu", 1);
                } else if (*range == 'I' && n > 0) {
                    give_number(trial, "il", il);
                    give_number(trial, "iu", iu);
                }
                if (!run(trial))
                    continue;
                int m = (int)creal(result_number(trial, "m"));
                struct mat w = first(trial, result(trial, "w"), m, false);
                struct mat Z = first(trial, result(trial, "Z"), m, true);
                if (*range == 'A')
                    is_spectrum(trial, A, w);
                if (*range == 'I' && n > 0)
                    at_most(trial, "the distance from the number that was asked for", abs(m - (iu - il + 1)),
                            0);
                for (int i = 0; i < m && *range == 'V'; i++)
                    at_most(trial, "the distance from the middle of the interval", fabs(creal(w.v[i]) - 0.25),
                            0.75 + 100 * trial->eps);
                are_hermitian_eigenpairs(trial, A, Z, w);
            }
    trial_case(trial, "an empty interval");
    give_hermitian(trial, mat_identity(&trial->lab, 2), 'U');
    give_flag(trial, "range", 'V');
    run_fails(trial, "vl must be below vu");
}

/* ---- tridiagonal ---- */

static struct mat give_tridiagonal(struct trial *trial, int n)
{
    struct lab *lab = &trial->lab;
    bool kept = lab->is_complex;
    lab->is_complex = false;
    struct mat A = mat_hermitian_band(lab, n, 1, true);
    lab->is_complex = kept;
    give(trial, "d", mat_get_diagonal(lab, A, 0));
    give(trial, "e", mat_get_diagonal(lab, A, -1));
    return A;
}

static void stev(struct trial *trial)
{
    EACH_SIZE (n)
        EACH_FLAG (jobz, has(trial, "jobz") ? "VN" : "-") {
            trial_case(trial, "n=%d jobz=%c", n, *jobz);
            struct mat A = give_tridiagonal(trial, n);
            if (has(trial, "jobz"))
                give_flag(trial, "jobz", *jobz);
            if (!run(trial))
                continue;
            if (*jobz == 'V' || has(trial, "compz"))
                are_hermitian_eigenpairs(trial, A, result(trial, "Z"), result(trial, "d"));
            is_spectrum(trial, A, result(trial, "d"));
        }
}

/* The tridiagonal form and the matrix of the reduction together give back A, and then its eigenvectors. */
static void reduced(struct trial *trial)
{
    struct lab *lab = &trial->lab;
    EACH_SIZE (n)
        EACH_FLAG (uplo, "UL") {
            trial_case(trial, "n=%d uplo=%c", n, *uplo);
            struct mat A = mat_hermitian(lab, n, true);
            use(trial, lab->is_complex ? "hetrd" : "sytrd");
            give_hermitian(trial, A, *uplo);
            if (!run(trial))
                continue;
            struct mat d = result(trial, "d"), e = result(trial, "e"), tau = result(trial, "tau");
            struct mat reflectors = result(trial, "A");
            use(trial, lab->is_complex ? "ungtr" : "orgtr");
            give(trial, "A", reflectors);
            give(trial, "tau", tau);
            give_flag(trial, "uplo", *uplo);
            if (!run(trial))
                continue;
            struct mat Q = result(trial, "A"), T = mat_tridiagonal(lab, e, d, e);
            orthonormal(trial, "Q", Q);
            struct mat product = mat_mul(lab, mat_mul(lab, Q, T), mat_transposed(lab, Q, true));
            vanishes(trial, "A - Q T Q^H", mat_sum(lab, 1, A, -1, product), mat_norm_f(A), n);
        }
}

static void steqr(struct trial *trial)
{
    stev(trial);
    trial_case(trial, "eigenvectors of the matrix that was reduced");
    struct lab *lab = &trial->lab;
    struct mat T = give_tridiagonal(trial, 20), Q = mat_identity(lab, 20);
    for (int i = 0; i < 20; i++) /* a reversed order is orthogonal */
        AT(Q, i, i) = 0, AT(Q, 19 - i, i) = 1;
    give(trial, "Z", Q);
    give_flag(trial, "compz", 'V');
    if (run(trial))
        are_hermitian_eigenpairs(trial, mat_mul(lab, mat_mul(lab, Q, T), Q), result(trial, "Z"),
                                 result(trial, "d"));
}

/* ---- generalized Hermitian ---- */

static void sygv(struct trial *trial)
{
    struct lab *lab = &trial->lab;
    EACH_SIZE (n)
        EACH_FLAG (uplo, "UL")
            for (int itype = 1; itype <= 3; itype++) {
                trial_case(trial, "n=%d uplo=%c itype=%d", n, *uplo, itype);
                struct mat A = mat_hermitian(lab, n, true), B = mat_positive(lab, n);
                give(trial, "A", mat_half(lab, A, *uplo));
                give(trial, "B", mat_half(lab, B, *uplo));
                give_flag(trial, "uplo", *uplo);
                give_number(trial, "itype", itype);
                if (!run(trial))
                    continue;
                struct mat Z = result(trial, "A"), w = result(trial, "w"), one = mat_identity(lab, n);
                struct mat left = itype == 1 ? A : itype == 2 ? mat_mul(lab, A, B) : mat_mul(lab, B, A);
                are_eigenpairs(trial, "the residual of the eigenpairs", left, itype == 1 ? B : one, Z, w);
                ascending(trial, "the eigenvalues", w);
                struct mat H = mat_transposed(lab, Z, true);
                struct mat G = itype == 3 ? mat_mul(lab, H, mat_mul(lab, mat_inverse(lab, B), Z))
                                          : mat_mul(lab, H, mat_mul(lab, B, Z));
                if (n <= 50)
                    vanishes(trial, "the distance from normalized eigenvectors", mat_sum(lab, 1, G, -1, one),
                             10 + n, n);
            }
    trial_case(trial, "an indefinite B");
    struct mat B = mat_identity(lab, 3);
    AT(B, 1, 1) = -1;
    give(trial, "A", mat_identity(lab, 3));
    give(trial, "B", B);
    run_fails(trial, "the leading minor of order 2 of B is not positive");
}

/* ---- general ---- */

/* The eigenvalues as complex numbers: wr + i wi, or w (alpha likewise). */
static struct mat eigenvalues(struct trial *trial, const char *root)
{
    char re[10], im[10];
    snprintf(re, sizeof re, "%sr", root);
    snprintf(im, sizeof im, "%si", root);
    return has(trial, root) ? result(trial, root)
                            : mat_sum(&trial->lab, 1, result(trial, re), I, result(trial, im));
}

/* Real types store a pair of conjugate eigenvectors as real and imaginary part. */
static struct mat eigenvectors(struct trial *trial, const char *argument, struct mat w)
{
    struct mat V = result(trial, argument);
    if (trial->lab.is_complex)
        return V;
    for (int j = 0; j + 1 < V.n; j++)
        if (cimag(w.v[j]) > 0)
            for (int i = 0; i < V.m; i++) {
                double complex x = AT(V, i, j) + I * AT(V, i, j + 1);
                AT(V, i, j) = x;
                AT(V, i, j + 1) = conj(x);
            }
    return V;
}

static struct mat conjugated(struct trial *trial, struct mat w)
{
    struct mat v = mat_copy(&trial->lab, w);
    for (int i = 0; i < w.m; i++)
        v.v[i] = conj(w.v[i]);
    return v;
}

static void general_pairs(struct trial *trial, struct mat A)
{
    struct lab *lab = &trial->lab;
    give(trial, "A", A);
    give_flag(trial, "jobvl", 'V');
    if (!run(trial))
        return;
    struct mat w = eigenvalues(trial, "w"), identity = mat_identity(lab, A.n);
    struct mat VR = eigenvectors(trial, "VR", w), VL = eigenvectors(trial, "VL", w);
    are_eigenpairs(trial, "A VR - VR diag(w)", A, identity, VR, w);
    are_eigenpairs(trial, "A^H VL - VL diag(conj(w))", mat_transposed(lab, A, true), identity, VL,
                   conjugated(trial, w));
    for (int j = 0; j < A.n; j++)
        at_most(trial, "the distance of an eigenvector's norm from 1",
                fabs(mat_norm_f(mat_column(lab, VR, j)) - 1), 20 * (A.n + 1) * trial->eps);
}

static void geev(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "n=%d", n);
        general_pairs(trial, mat_random(&trial->lab, n, n));
    }
    trial_case(trial, "pores_1.mtx");
    general_pairs(trial, example(trial, "pores_1.mtx"));
    trial_case(trial, "a rotation");
    struct mat A = mat_new(&trial->lab, 2, 2);
    AT(A, 0, 1) = -1, AT(A, 1, 0) = 1;
    give(trial, "A", A);
    if (run(trial))
        at_most(trial, "the distance of the eigenvalues from +-i",
                fabs(fabs(cimag(eigenvalues(trial, "w").v[0])) - 1) +
                    fabs(creal(eigenvalues(trial, "w").v[0])),
                10 * trial->eps);
}

/* Upper triangular, for real types with blocks of order 2 on the diagonal. */
static void is_schur_form(struct trial *trial, const char *quantity, struct mat T)
{
    double most = 0;
    for (int j = 0; j < T.n; j++)
        for (int i = j + (trial->lab.is_complex ? 1 : 2); i < T.m; i++)
            most = fmax(most, cabs(AT(T, i, j)));
    for (int j = 0; j + 2 < T.n && !trial->lab.is_complex; j++)
        most = fmax(most, fmin(cabs(AT(T, j + 1, j)), cabs(AT(T, j + 2, j + 1))));
    at_most(trial, quantity, most, 0);
}

static void is_similar(struct trial *trial, struct mat A, struct mat Q, struct mat T)
{
    struct lab *lab = &trial->lab;
    orthonormal(trial, "Q", Q);
    struct mat product = mat_mul(lab, mat_mul(lab, Q, T), mat_transposed(lab, Q, true));
    vanishes(trial, "A - Q T Q^H", mat_sum(lab, 1, A, -1, product), mat_norm_f(A), A.n);
}

static void gees(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "n=%d", n);
        struct mat A = mat_random(&trial->lab, n, n);
        give(trial, "A", A);
        if (!run(trial))
            continue;
        struct mat T = result(trial, "A");
        is_similar(trial, A, result(trial, "VS"), T);
        is_schur_form(trial, "what should be zero in T", T);
        struct mat w = eigenvalues(trial, "w");
        for (int i = 0; i < n; i++)
            at_most(trial, "an eigenvalue minus the diagonal of T", fabs(creal(w.v[i] - AT(T, i, i))),
                    10 * trial->eps * mat_norm_f(A));
    }
}

static struct mat hessenberg_part(struct trial *trial, struct mat A)
{
    return mat_within_band(&trial->lab, A, 1, A.n);
}

static void gehrd(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "n=%d", n);
        struct mat A = mat_random(&trial->lab, n, n);
        use(trial, "gehrd");
        give(trial, "A", A);
        if (!run(trial))
            continue;
        struct mat stored = result(trial, "A"), tau = result(trial, "tau");
        use(trial, trial->lab.is_complex ? "unghr" : "orghr");
        give(trial, "A", stored);
        give(trial, "tau", tau);
        if (run(trial))
            is_similar(trial, A, result(trial, "A"), hessenberg_part(trial, stored));
    }
}

static void hseqr(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "n=%d", n);
        struct mat H = hessenberg_part(trial, mat_random(&trial->lab, n, n));
        give(trial, "H", H);
        if (!run(trial))
            continue;
        is_similar(trial, H, result(trial, "Z"), result(trial, "H"));
        is_schur_form(trial, "what should be zero in T", result(trial, "H"));
    }
}

static void gebal(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "n=%d job=S", n);
        struct mat A = mat_random(&trial->lab, n, n), D = mat_identity(&trial->lab, n), E = D;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                AT(A, i, j) *= exp2(i % 3 * 8 - j % 3 * 8);
        give(trial, "A", A);
        give_flag(trial, "job", 'S');
        if (!run(trial))
            continue;
        struct mat scale = result(trial, "scale"), B = result(trial, "A");
        E = mat_copy(&trial->lab, D);
        for (int i = 0; i < n; i++)
            AT(D, i, i) = scale.v[i], AT(E, i, i) = 1 / scale.v[i];
        struct mat wanted = mat_mul(&trial->lab, E, mat_mul(&trial->lab, A, D));
        near(trial, "D^-1 A D", B, wanted, 4 * trial->eps * mat_max(wanted));
        at_most(trial, "the norm of the balanced matrix over that of the matrix", mat_norm_f(B),
                (n > 2 ? 0.1 : 1.01) * mat_norm_f(A));
    }
}

static void trsyl(struct trial *trial)
{
    struct lab *lab = &trial->lab;
    EACH_SIZE (n)
        for (int isgn = -1; isgn <= 1; isgn += 2)
            EACH_FLAG (tran, "NC") {
                trial_case(trial, "m=%d n=%d isgn=%d tran=%c", n + 1, n, isgn, *tran);
                struct mat A = mat_triangular(lab, n + 1, 'U', false), B = mat_triangular(lab, n, 'U', false);
                for (int i = 0; i < n && isgn < 0; i++)
                    AT(B, i, i) = -AT(B, i, i); /* away from the eigenvalues of A */
                struct mat C = mat_random(lab, n + 1, n);
                give(trial, "A", A);
                give(trial, "B", B);
                give(trial, "C", C);
                give_number(trial, "isgn", isgn);
                give_flag(trial, "trana", *tran);
                give_flag(trial, "tranb", *tran);
                if (!run(trial))
                    continue;
                struct mat X = result(trial, "C");
                struct mat left = mat_sum(lab, 1, mat_mul(lab, mat_op(lab, *tran, A), X), isgn,
                                          mat_mul(lab, X, mat_op(lab, *tran, B)));
                struct mat R = mat_sum(lab, 1, left, -result_number(trial, "scale"), C);
                vanishes(trial, "op(A) X + isgn X op(B) - scale C", R,
                         (mat_norm_f(A) + mat_norm_f(B)) * mat_norm_f(X) + mat_norm_f(C), n + 1);
            }
}

/* ---- generalized ---- */

static void ggev(struct trial *trial)
{
    struct lab *lab = &trial->lab;
    EACH_SIZE (n) {
        trial_case(trial, "n=%d", n);
        struct mat A = mat_random(lab, n, n), B = mat_random(lab, n, n);
        give(trial, "A", A);
        give(trial, "B", B);
        give_flag(trial, "jobvl", 'V');
        if (!run(trial))
            continue;
        struct mat alpha = eigenvalues(trial, "alpha"), beta = result(trial, "beta");
        struct mat VR = eigenvectors(trial, "VR", alpha), VL = eigenvectors(trial, "VL", alpha);
        struct mat AV = mat_mul(lab, mat_mul(lab, A, VR), mat_diagonal(lab, beta));
        struct mat BV = mat_mul(lab, mat_mul(lab, B, VR), mat_diagonal(lab, alpha));
        double scale = mat_norm_f(A) * mat_norm_f(B) * (mat_norm_f(VR) + 1);
        vanishes(trial, "A VR diag(beta) - B VR diag(alpha)", mat_sum(lab, 1, AV, -1, BV), scale, n);
        struct mat H = mat_transposed(lab, VL, true);
        AV = mat_mul(lab, mat_diagonal(lab, beta), mat_mul(lab, H, A));
        BV = mat_mul(lab, mat_diagonal(lab, alpha), mat_mul(lab, H, B));
        scale = mat_norm_f(A) * mat_norm_f(B) * (mat_norm_f(VL) + 1);
        vanishes(trial, "diag(beta) VL^H A - diag(alpha) VL^H B", mat_sum(lab, 1, AV, -1, BV), scale, n);
    }
}

static void is_equivalent(struct trial *trial, const char *quantity, struct mat A, struct mat U, struct mat S,
                          struct mat V)
{
    struct lab *lab = &trial->lab;
    struct mat product = mat_mul(lab, mat_mul(lab, U, S), mat_transposed(lab, V, true));
    vanishes(trial, quantity, mat_sum(lab, 1, A, -1, product), mat_norm_f(A), A.n);
}

static void gges(struct trial *trial)
{
    EACH_SIZE (n) {
        trial_case(trial, "n=%d", n);
        struct mat A = mat_random(&trial->lab, n, n), B = mat_random(&trial->lab, n, n);
        give(trial, "A", A);
        give(trial, "B", B);
        if (!run(trial))
            continue;
        struct mat VSL = result(trial, "VSL"), VSR = result(trial, "VSR");
        orthonormal(trial, "VSL", VSL);
        orthonormal(trial, "VSR", VSR);
        is_equivalent(trial, "A - VSL S VSR^H", A, VSL, result(trial, "A"), VSR);
        is_equivalent(trial, "B - VSL T VSR^H", B, VSL, result(trial, "B"), VSR);
        is_schur_form(trial, "what should be zero in S", result(trial, "A"));
    }
}

static const struct row eigen[] = {
    REAL_ROWS(syev, syev),
    COMPLEX_ROWS(heev, syev),
    REAL_ROWS(syevd, syev),
    COMPLEX_ROWS(heevd, syev),
    REAL_ROWS(syevr, chosen),
    COMPLEX_ROWS(heevr, chosen),
    REAL_ROWS(syevx, chosen),
    COMPLEX_ROWS(heevx, chosen),
    REAL_ROWS(spev, syev),
    COMPLEX_ROWS(hpev, syev),
    REAL_ROWS(sbev, syev),
    COMPLEX_ROWS(hbev, syev),
    REAL_ROWS(stev, stev),
    REAL_ROWS(sterf, stev),
    ROWS(steqr, steqr),
    REAL_ROWS(sytrd, reduced),
    COMPLEX_ROWS(hetrd, reduced),
    REAL_ROWS(orgtr, reduced),
    COMPLEX_ROWS(ungtr, reduced),
    REAL_ROWS(sygv, sygv),
    COMPLEX_ROWS(hegv, sygv),
    REAL_ROWS(sygvd, sygv),
    COMPLEX_ROWS(hegvd, sygv),
    ROWS(geev, geev),
    ROWS(geevx, geev),
    ROWS(gees, gees),
    ROWS(gehrd, gehrd),
    REAL_ROWS(orghr, gehrd),
    COMPLEX_ROWS(unghr, gehrd),
    ROWS(gebal, gebal),
    ROWS(hseqr, hseqr),
    ROWS(trsyl, trsyl),
    ROWS(ggev, ggev),
    ROWS(gges, gges),
};
const struct group eigen_group = GROUP(eigen);
