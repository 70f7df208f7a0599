/* SPDX-License-Identifier: Apache-2.0
 *
 * Orthogonal factorisations, singular values, and least squares.
 */
#include "tests/problems/table.h"

#include <math.h>
#include <stdlib.h>

/* Shapes around each size: tall, square, wide. */
#define EACH_SHAPE(m, n)                                                                                     \
    EACH_SIZE (m##_size)                                                                                     \
        for (int m##_more = -3, m = m##_size, n = m > 3 ? m - 3 : 0; m##_more <= 3;                          \
             m##_more += 3, n = m + m##_more > 0 ? m + m##_more : 0)

static int least(int a, int b)
{
    return a < b ? a : b;
}

static struct mat matrix_of(struct trial *trial, int m, int n)
{
    trial_case(trial, "m=%d n=%d", m, n);
    return mat_random(&trial->lab, m, n);
}

static void is_product(struct trial *trial, const char *quantity, struct mat A, struct mat Q, struct mat R)
{
    struct mat difference = mat_sum(&trial->lab, 1, A, -1, mat_mul(&trial->lab, Q, R));
    vanishes(trial, quantity, difference, mat_norm_f(A), A.m > A.n ? A.m : A.n);
}

/* ---- QR ---- */

/* xxxQR and xxxQ of the first columns: Q of a factorisation that lies in `stored`. */
static bool make_q(struct trial *trial, struct mat stored, struct mat tau, bool rows, struct mat *Q)
{
    struct lab *lab = &trial->lab;
    int k = tau.m;
    use(trial, rows ? lab->is_complex ? "unglq" : "orglq" : lab->is_complex ? "ungqr" : "orgqr");
    give(trial, "A",
         rows ? mat_block(lab, stored, 0, 0, k, stored.n) : mat_block(lab, stored, 0, 0, stored.m, k));
    give(trial, "tau", tau);
    bool good = run(trial);
    if (good)
        *Q = result(trial, "A");
    return good;
}

static void qr(struct trial *trial)
{
    struct lab *lab = &trial->lab;
    EACH_SHAPE (m, n) {
        struct mat A = matrix_of(trial, m, n), Q;
        use(trial, "geqrf");
        give(trial, "A", A);
        if (!run(trial))
            continue;
        int k = least(m, n);
        struct mat stored = result(trial, "A"), tau = result(trial, "tau");
        if (!make_q(trial, stored, tau, false, &Q))
            continue;
        orthonormal(trial, "Q", Q);
        is_product(trial, "A - Q R", A, Q, mat_triangle(lab, mat_block(lab, stored, 0, 0, k, n), 'U', false));
    }
}

static void lq(struct trial *trial)
{
    struct lab *lab = &trial->lab;
    EACH_SHAPE (m, n) {
        struct mat A = matrix_of(trial, m, n), Q;
        use(trial, "gelqf");
        give(trial, "A", A);
        if (!run(trial))
            continue;
        int k = least(m, n);
        struct mat stored = result(trial, "A"), tau = result(trial, "tau");
        if (!make_q(trial, stored, tau, true, &Q))
            continue;
        orthonormal(trial, "Q^H", mat_transposed(lab, Q, true));
        is_product(trial, "A - L Q", A, mat_triangle(lab, mat_block(lab, stored, 0, 0, m, k), 'L', false), Q);
    }
}

static void geqp3(struct trial *trial)
{
    struct lab *lab = &trial->lab;
    EACH_SHAPE (m, n) {
        struct mat A = matrix_of(trial, m, n), Q;
        give(trial, "A", A);
        if (!run(trial))
            continue;
        int k = least(m, n);
        struct mat stored = result(trial, "A"), tau = result(trial, "tau"), order = result(trial, "jpvt");
        struct mat R = mat_triangle(lab, mat_block(lab, stored, 0, 0, k, n), 'U', false);
        for (int i = 0; i + 1 < k; i++)
            at_most(trial, "an element of the diagonal over the one before", cabs(AT(R, i + 1, i + 1)),
                    (1 + 100 * trial->eps) * cabs(AT(R, i, i)));
        if (make_q(trial, stored, tau, false, &Q))
            is_product(trial, "A P - Q R", mat_permuted(lab, A, order), Q, R);
    }
}

/* Products with Q and its transpose undo each other, and Q^H A = R. */
static void ormqr(struct trial *trial)
{
    struct lab *lab = &trial->lab;
    EACH_SIZE (n) {
        int m = n + 2;
        struct mat A = matrix_of(trial, m, n);
        char transposed = lab->is_complex ? 'C' : 'T';
        use(trial, "geqrf");
        give(trial, "A", A);
        if (!run(trial))
            continue;
        struct mat stored = result(trial, "A"), tau = result(trial, "tau");
        use(trial, NULL);
        give(trial, "A", stored);
        give(trial, "tau", tau);
        give(trial, "C", A);
        if (run(trial)) {
            struct mat R = mat_triangle(lab, stored, 'U', false);
            vanishes(trial, "Q^H A - R", mat_sum(lab, 1, result(trial, "C"), -1, R), mat_norm_f(A), m);
        }
        EACH_FLAG (side, "LR") {
            struct mat C = *side == 'L' ? mat_random(lab, m, 4) : mat_random(lab, 4, m);
            use(trial, NULL);
            give(trial, "A", stored);
            give(trial, "tau", tau);
            give(trial, "C", C);
            give_flag(trial, "side", *side);
            give_flag(trial, "trans", 'N');
            if (!run(trial))
                continue;
            struct mat D = result(trial, "C");
            at_most(trial, "the change of the norm", fabs(mat_norm_f(D) - mat_norm_f(C)),
                    10 * m * trial->eps * mat_norm_f(C));
            give(trial, "A", stored);
            give(trial, "C", D);
            give_flag(trial, "trans", transposed);
            if (run(trial))
                vanishes(trial, "the product with Q and its inverse, minus C",
                         mat_sum(lab, 1, result(trial, "C"), -1, C), mat_norm_f(C), m);
        }
    }
}

/* ---- singular values ---- */

static void give_jobs(struct trial *trial, char job)
{
    if (has(trial, "jobz"))
        give_flag(trial, "jobz", job);
    else
        give_flag(trial, "jobu", job), give_flag(trial, "jobvt", job);
}

static void decomposes(struct trial *trial, struct mat A, char job)
{
    struct lab *lab = &trial->lab;
    int k = least(A.m, A.n);
    struct mat s = result(trial, "s");
    descending(trial, "the singular values", s);
    at_most(trial, "minus the smallest singular value", k > 0 ? -creal(s.v[k - 1]) : 0, 0);
    at_most(trial, "their sum of squares minus that of the elements", fabs(mat_norm_f(s) - mat_norm_f(A)),
            10 * (k + 1) * trial->eps * mat_norm_f(A));
    if (job == 'N' || k == 0) /* for an empty matrix LAPACK sets no vectors */
        return;
    struct mat U = result(trial, "U"), VT = result(trial, "VT");
    orthonormal(trial, "U", U);
    orthonormal(trial, "V", mat_transposed(lab, VT, true));
    struct mat first_u = mat_block(lab, U, 0, 0, A.m, k), first_v = mat_block(lab, VT, 0, 0, k, A.n);
    is_product(trial, "A - U diag(s) VT", A, mat_mul(lab, first_u, mat_diagonal(lab, s)), first_v);
}

static void svd(struct trial *trial)
{
    EACH_SHAPE (m, n)
        EACH_FLAG (job, "SAN") {
            trial_case(trial, "m=%d n=%d job=%c", m, n, *job);
            struct mat A = mat_random(&trial->lab, m, n);
            give(trial, "A", A);
            give_jobs(trial, *job);
            if (run(trial))
                decomposes(trial, A, *job);
        }
    trial_case(trial, "pores_1.mtx");
    struct mat A = example(trial, "pores_1.mtx");
    give(trial, "A", A);
    if (run(trial))
        decomposes(trial, A, 'S');
}

/* The bidiagonal form has the singular values of A: the sums of their second and fourth powers. */
static void gebrd(struct trial *trial)
{
    struct lab *lab = &trial->lab;
    EACH_SHAPE (m, n) {
        struct mat A = matrix_of(trial, m, n);
        give(trial, "A", A);
        if (!run(trial))
            continue;
        struct mat d = result(trial, "d"), e = result(trial, "e");
        struct mat B = mat_tridiagonal(lab, mat_new(lab, d.m, 1), d, e), H = mat_transposed(lab, B, true);
        double scale = mat_norm_f(A), bound = 20 * (m + n + 1) * trial->eps;
        at_most(trial, "the norm of B minus that of A", fabs(mat_norm_f(B) - scale), bound * scale);
        double fourth = mat_norm_f(mat_mul(lab, mat_transposed(lab, A, true), A));
        at_most(trial, "the norm of B^H B minus that of A^H A", fabs(mat_norm_f(mat_mul(lab, H, B)) - fourth),
                bound * scale * scale);
    }
}

/* ---- least squares ---- */

#define NRHS 2

/* A X = B in the sense of least squares: the residual is orthogonal to the columns of A, and X to A's null
 * space, which for full rank means X = A^H Y when A is wide. */
static void is_least_squares(struct trial *trial, struct mat A, struct mat X, struct mat B)
{
    struct lab *lab = &trial->lab;
    struct mat R = mat_sum(lab, 1, mat_mul(lab, A, X), -1, B);
    double scale = mat_norm_f(A) * (mat_norm_f(A) * mat_norm_f(X) + mat_norm_f(B));
    vanishes(trial, "A^H (A X - B)", mat_mul(lab, mat_transposed(lab, A, true), R), scale, A.m + A.n);
}

/* B in a matrix of max(m, n) rows. */
static struct mat padded(struct trial *trial, struct mat B, int rows)
{
    struct mat P = mat_new(&trial->lab, rows, B.n);
    for (int j = 0; j < B.n; j++)
        for (int i = 0; i < B.m; i++)
            AT(P, i, j) = AT(B, i, j);
    return P;
}

static void gels(struct trial *trial)
{
    struct lab *lab = &trial->lab;
    char transposed = trial->type == 'c' || trial->type == 'z' ? 'C' : 'T';
    EACH_SHAPE (m, n)
        for (int t = 0; t < 2; t++) {
            trial_case(trial, "m=%d n=%d trans=%c", m, n, t ? transposed : 'N');
            struct mat A = mat_random(lab, m, n), op = mat_op(lab, t ? transposed : 'N', A);
            struct mat B = mat_random(lab, op.m, NRHS);
            give(trial, "A", A);
            give(trial, "B", padded(trial, B, m > n ? m : n));
            give_flag(trial, "trans", t ? transposed : 'N');
            if (run(trial))
                is_least_squares(trial, op, mat_block(lab, result(trial, "B"), 0, 0, op.n, NRHS), B);
        }
    trial_case(trial, "a matrix without full rank");
    give(trial, "A", mat_new(lab, 3, 2));
    give(trial, "B", mat_random(lab, 3, 1));
    if (run(trial)) /* LAPACK answers a matrix of zeros with zeros */
        at_most(trial, "the solution", mat_max(mat_block(lab, result(trial, "B"), 0, 0, 2, 1)), 0);
    trial_case(trial, "a column of zeroes");
    struct mat A = mat_random(lab, 60, 40);
    for (int i = 0; i < A.m; i++)
        AT(A, i, 7) = 0;
    give(trial, "A", A);
    give(trial, "B", mat_random(lab, 60, 2));
    run_fails(trial, "diagonal element 8 of the triangular factor is exactly zero");
    trial_case(trial, "one equation"); /* which p?gels answers wrongly on some grids */
    struct mat row = mat_random(lab, 1, 2), b = mat_random(lab, 1, 1);
    give(trial, "A", row);
    give(trial, "B", padded(trial, b, 2));
    if (run(trial))
        is_least_squares(trial, row, mat_block(lab, result(trial, "B"), 0, 0, 2, 1), b);
}

/* Whatever rcond is by default, rounding errors of the matrix must not count as its rank. */
static void any_rank_with(struct trial *trial, bool default_rcond)
{
    struct lab *lab = &trial->lab;
    EACH_SHAPE (m, n) {
        int rank = least(m, n) > 2 ? least(m, n) - 2 : least(m, n);
        trial_case(trial, "m=%d n=%d rank=%d%s", m, n, rank, default_rcond ? " rcond by default" : "");
        struct mat A = mat_of_rank(lab, m, n, rank), B = mat_random(lab, m, NRHS);
        if (default_rcond) /* with rounding errors */
            A = mat_sum(lab, 1.0 / 3, A, 0, A);
        if (mat_norm_f(A) == 0)
            continue;
        give(trial, "A", A);
        give(trial, "B", padded(trial, B, m > n ? m : n));
        if (!default_rcond)
            give_number(trial, "rcond", trial->eps > 1e-10 ? 1e-4 : 1e-10);
        if (!run(trial))
            continue;
        if (m <= 50)
            at_most(trial, "the distance of the rank from the true one",
                    cabs(result_number(trial, "rank") - rank), 0);
        struct mat X = mat_block(lab, result(trial, "B"), 0, 0, n, NRHS);
        is_least_squares(trial, A, X, B);
        if (has(trial, "s"))
            descending(trial, "the singular values", result(trial, "s"));
    }
}

static void any_rank(struct trial *trial)
{
    any_rank_with(trial, false);
    any_rank_with(trial, true);
}

static void gglse(struct trial *trial)
{
    struct lab *lab = &trial->lab;
    EACH_SIZE (n) {
        int m = n + 3, p = n / 3;
        trial_case(trial, "m=%d n=%d p=%d", m, n, p);
        struct mat A = mat_random(lab, m, n), B = mat_random(lab, p, n), c = mat_random(lab, m, 1);
        struct mat d = mat_random(lab, p, 1);
        give(trial, "A", A);
        give(trial, "B", B);
        give(trial, "c", c);
        give(trial, "d", d);
        if (!run(trial))
            continue;
        struct mat x = result(trial, "x"), R = mat_sum(lab, 1, mat_mul(lab, A, x), -1, c);
        vanishes(trial, "B x - d", mat_sum(lab, 1, mat_mul(lab, B, x), -1, d),
                 4 * (mat_norm_f(B) * mat_norm_f(x) + 1), m);
        /* The gradient lies in the space of the constraints: it is B^H y for the y that fits it best. */
        struct mat g = mat_mul(lab, mat_transposed(lab, A, true), R), H = mat_transposed(lab, B, true);
        if (n > 50)
            continue;
        struct mat y = mat_mul(lab, mat_inverse(lab, mat_mul(lab, B, H)), mat_mul(lab, B, g));
        vanishes(trial, "what is left of the gradient", mat_sum(lab, 1, g, -1, mat_mul(lab, H, y)),
                 100 * mat_norm_f(A) * (mat_norm_f(A) * mat_norm_f(x) + mat_norm_f(c)), m);
    }
}

static void ggglm(struct trial *trial)
{
    struct lab *lab = &trial->lab;
    EACH_SIZE (n) {
        int m = n / 2, p = n - m + 1;
        trial_case(trial, "n=%d m=%d p=%d", n, m, p);
        struct mat A = mat_random(lab, n, m), B = mat_random(lab, n, p), d = mat_random(lab, n, 1);
        give(trial, "A", A);
        give(trial, "B", B);
        give(trial, "d", d);
        if (!run(trial))
            continue;
        struct mat x = result(trial, "x"), y = result(trial, "y");
        struct mat sum = mat_sum(lab, 1, mat_mul(lab, A, x), 1, mat_mul(lab, B, y));
        double scale = mat_norm_f(A) * mat_norm_f(x) + mat_norm_f(B) * mat_norm_f(y) + 1;
        vanishes(trial, "A x + B y - d", mat_sum(lab, 1, sum, -1, d), 4 * scale, n);
    }
}

static const struct row orthogonal[] = {
    ROWS(geqrf, qr),       REAL_ROWS(orgqr, qr),    COMPLEX_ROWS(ungqr, qr),
    ROWS(gelqf, lq),       REAL_ROWS(orglq, lq),    COMPLEX_ROWS(unglq, lq),
    ROWS(geqp3, geqp3),    REAL_ROWS(ormqr, ormqr), COMPLEX_ROWS(unmqr, ormqr),
    ROWS(gesvd, svd),      ROWS(gesdd, svd),        ROWS(gebrd, gebrd),
    ROWS(gels, gels),      ROWS(gelss, any_rank),   ROWS(gelsd, any_rank),
    ROWS(gelsy, any_rank), ROWS(gglse, gglse),      ROWS(ggglm, ggglm),
};
const struct group orthogonal_group = GROUP(orthogonal);
